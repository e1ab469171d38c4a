"""`submarine fit`: parameters that score better held out, the same ones after an interrupt, bad input refused."""

import signal
import subprocess
import time

from submarine_support import PROGRAM, CommandTest, main, read_json

KEYS = ["position_sigma", "position_weight", "bilateral_sigma", "colour_sigma", "bilateral_weight", "updates",
        "normalisation", "softmax_temperature"]


class FitTest(CommandTest):

    def pictures(self, count=4, directory="pictures", width=48, height=36, labels=20):
        (self.directory / directory).mkdir(exist_ok=True)
        for seed in range(1, count + 1):
            self.run_well("generate", "--segmentation", f"--width={width}", f"--height={height}", f"--labels={labels}",
                          f"--seed={seed}", "--cell=2", "-o", f"{directory}/p{seed}")

    def fit(self, *arguments, output="fit"):
        return self.run_well("fit", "pictures", "-o", output, "--evaluations", 15, *arguments)

    def parameters(self, output="fit"):
        return read_json(self.directory / output / "parameters.json")


class Results(FitTest):

    def test_parameters_are_better_held_out_and_can_be_used(self):
        self.pictures(6)
        # Kernels as strong as the defaults' make probabilities too certain where patches are this small.
        finished = self.fit("--score", "nll")
        parameters = self.parameters()
        self.assertEqual([key for key in parameters if key not in ("submarine", "fit")], KEYS)
        fit = parameters["fit"]
        held_out = fit["held_out"]["nll"]
        self.assertLess(held_out["fitted"], held_out["defaults"])
        self.assertLess(held_out["fitted"], held_out["classifier"])
        self.assertEqual(fit["advice"], "fitted")
        self.assertIn("Held out, the fitted parameters are best", finished.stdout)
        self.assertEqual(fit["pictures"], [f"p{seed}" for seed in range(1, 7)])
        self.assertIn("held out", finished.stdout)
        self.assertIn("parameters.json", finished.stdout)
        self.assertEqual(sorted(path.name for path in (self.directory / "fit").iterdir()),
                         ["parameters.json", "runs", "summary.json", "table.md"])
        (plot,) = read_json(self.directory / "fit" / "summary.json")["page"]["plots"]
        self.assertEqual(len(plot["series"]), 1 + 3)
        self.assertEqual({len(series["values"]) for series in plot["series"]}, {len(plot["x"]["values"])})
        self.run_well("segment-bench", "pictures", "-o", "bench", "--methods", "mf5", "--parameters",
                      "fitted=fit/parameters.json")
        self.run_well("report", "fit")

    def test_a_metric_takes_part(self):
        self.pictures(3, width=24, height=18, labels=4)
        tree = "tree:2x2:1,0.5"
        self.write("potts.csv", "\n".join(",".join(str(int(i != j)) for j in range(4)) for i in range(4)))
        runs = {metric: self.fit("--metric", metric, output=f"of-{k}") and self.parameters(f"of-{k}")
                for k, metric in enumerate(("potts", "potts.csv", tree))}
        for metric, parameters in runs.items():
            self.assertEqual(parameters["fit"].pop("metric"), metric)
        self.assertEqual(runs["potts.csv"], runs["potts"])
        self.assertNotEqual(runs[tree]["fit"]["held_out"], runs["potts"]["fit"]["held_out"])
        # Kept evaluations are those of the metric.
        again = self.fit("--metric", tree, output="of-0") and self.parameters("of-0")
        again["fit"].pop("metric")
        self.assertEqual(again, runs[tree])
        self.assert_one_sentence(self.run_command("fit", "pictures", "-o", "no", "--metric", "tree:2x3:1,0.5"), ["6 labels", "has 4"])
        self.assertFalse((self.directory / "no").exists())

    def test_threads_change_nothing(self):
        self.pictures(3)
        self.fit("--threads", 1)
        self.fit("--threads", 2, output="other")
        self.assertEqual(self.parameters(), self.parameters("other"))


class Resume(FitTest):

    def test_interrupted_and_resumed_it_ends_at_the_same_place(self):
        self.pictures(3, width=96, height=72)
        self.fit()
        command = [PROGRAM, "fit", "pictures", "-o", "again", "--evaluations", "15"]
        process = subprocess.Popen(command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        runs = self.directory / "again" / "runs"
        deadline = time.monotonic() + 60
        while not (runs.is_dir() and any(runs.iterdir())) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, stderr)
        self.assertIn(b"run the same command again to continue", stderr)
        self.assertFalse((self.directory / "again" / "parameters.json").exists())
        kept = {path.name for path in runs.iterdir()}
        self.assertTrue(kept)
        self.fit(output="again")
        self.assertEqual(self.parameters(), self.parameters("again"))
        self.assertEqual((self.directory / "fit/table.md").read_text(encoding="utf-8"),
                         (self.directory / "again/table.md").read_text(encoding="utf-8"))

    def test_values_that_are_known_are_not_computed_again(self):
        self.pictures(3)
        self.fit()
        stamps = {path: path.stat().st_mtime_ns for path in (self.directory / "fit/runs").iterdir()}
        self.fit()
        self.assertEqual({path: path.stat().st_mtime_ns for path in stamps}, stamps)


class BadInput(FitTest):

    def refused(self, *arguments, mentions):
        self.assert_one_sentence(self.run_command("fit", *arguments, "-o", "refused"), mentions)
        self.assertFalse((self.directory / "refused").exists())

    def test_is_refused_in_one_sentence(self):
        (self.directory / "empty").mkdir()
        self.refused("empty", mentions=["empty has no picture with a softmax"])
        self.pictures(1)
        self.refused("pictures", mentions=["expected at least 2"])
        self.pictures(2)
        self.refused("pictures", mentions=["number of folds is 3, expected 2 to 2"])
        self.refused("pictures", "--folds", 2, "--score", "beauty", mentions=["--score"])
        self.refused("pictures", "--folds", 2, "--evaluations", 0, mentions=["--evaluations"])
        self.refused("pictures", "--folds", 2, "--pixels", 5, mentions=["--pixels"])
        self.pictures(1, directory="more", labels=21)
        (self.directory / "more/p1.png").rename(self.directory / "pictures/p3.png")
        (self.directory / "more/p1.labels.png").rename(self.directory / "pictures/p3.labels.png")
        (self.directory / "more/p1.softmax.npy").rename(self.directory / "pictures/p3.softmax.npy")
        self.refused("pictures", mentions=["p3 has 21 labels, that of p1 has 20"])


if __name__ == "__main__":
    main()
