"""`submarine-experiments stereo-bench`: the table is complete and consistent, finished runs are kept, bad input is refused."""

import csv
import math
import re
import signal
import subprocess
import sys
import time

from submarine_support import EXPERIMENTS, SOURCE_DIR, CommandTest, main, read_json, without_progress

METHODS = ["mf", "fw", "auto", "constant"]


class BenchTest(CommandTest):

    def scene(self, name, width=32, height=24, labels=8, seed=1):
        self.run_well("generate", "--stereo", f"--width={width}", f"--height={height}", f"--labels={labels}",
                      f"--seed={seed}", "-o", name)
        return name

    def bench(self, *arguments, output="out"):
        return self.run_well("stereo-bench", *arguments, "-o", output)

    def rows(self, output="out"):
        with open(self.directory / output / "results.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def stamps(self, output="out"):
        return {path.name: path.stat().st_mtime_ns for path in (self.directory / output / "runs").iterdir()}


class Search(BenchTest):

    def test_pairs_are_held_out(self):
        pairs = [self.scene("one", width=48), self.scene("two", width=48, seed=2)]
        command = ("stereo-search", *pairs, "-o", "search", "--leave", "1", "--sweeps", "1")
        finished = self.run_well(*command)
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in finished.stdout.splitlines()]
        scores = {line[0]: [float(cell) for cell in line[1:]] for line in lines if "held out" in line[0] or "mean" in line[0]}
        self.assertEqual(list(scores), ["one, held out", "two, held out", "mean, held out", "mean, searched on all",
                                        "mean, literature", "mean, defaults"])
        for column, mean in enumerate(scores["mean, held out"]):
            self.assertAlmostEqual(mean, (scores["one, held out"][column] + scores["two, held out"][column]) / 2, delta=0.011)
        stamps = {path.name: path.stat().st_mtime_ns for path in (self.directory / "search/runs").iterdir()}
        self.assertGreater(len(stamps), 60)
        self.assertEqual(self.run_well(*command).stdout, finished.stdout)
        self.assertEqual({path.name: path.stat().st_mtime_ns for path in (self.directory / "search/runs").iterdir()}, stamps)
        self.assert_one_sentence(self.run_command("stereo-search", "one", "-o", "x"), ["expected more than the 2"])


class Results(BenchTest):

    def test_every_pair_has_every_method(self):
        pairs = [self.scene("one"), self.scene("two", seed=2)]
        finished = self.bench(*pairs)
        rows = self.rows()
        self.assertEqual([(row["pair"], row["method"]) for row in rows], [(p, m) for p in pairs for m in METHODS])
        for row in rows:
            for key in ("energy", "seconds", "bad_1", "refined_bad_1", "refined_mean_absolute"):
                self.assertTrue(math.isfinite(float(row[key])), row)
            self.assertEqual(row["published_energy"], "")
        self.assertEqual(sorted(path.name for path in (self.directory / "out").iterdir()), ["results.csv", "runs"])
        self.assertEqual(len(finished.stdout.splitlines()), 1)
        self.assertEqual(finished.messages, "")

    def test_bounds_and_energies_are_ordered(self):
        self.bench(self.scene("one"), "--gap", "0.02")
        rows = {row["method"]: row for row in self.rows()}
        lower, upper = float(rows["auto"]["lower"]), float(rows["auto"]["upper"])
        self.assertLess(lower, upper)
        self.assertLessEqual(upper - float(rows["auto"]["dual"]), 0.02 * abs(upper))
        self.assertEqual(rows["auto"]["termination"], "gap reached")
        for row in rows.values():
            # No labeling has more probability than all of them: -E(x) <= log Z.
            self.assertLessEqual(-float(row["energy"]), upper)
        self.assertGreaterEqual(float(rows["fw"]["upper"]), lower)
        self.assertLessEqual(float(rows["auto"]["energy"]), float(rows["constant"]["energy"]))
        self.assertEqual(rows["fw"]["iterations"], "100")

    def test_the_table_is_relative_to_mean_field(self):
        self.bench(self.scene("one"), "--methods", "mf,constant")
        mean_field, constant = self.rows()
        lines = subprocess.run([sys.executable, SOURCE_DIR / "experiments" / "plot.py", "out"], cwd=self.directory, check=True,
                               capture_output=True, text=True).stdout.splitlines()
        self.assertRegex(lines[2], r"\| one \| mf \| [0-9.e+]+ \| 1\.000 \|")
        ratio = float(constant["energy"]) / float(mean_field["energy"])
        self.assertIn(f"energy {ratio:.3f}", lines[-1])

    def test_the_papers_model_of_other_pairs(self):
        """With 16 disparities, and by Middlebury's names of 2006; the truth of a third of the size is three times the disparity."""
        self.scene("one")
        for ours, theirs in (("left", "view1"), ("right", "view5")):
            (self.directory / f"one/{ours}.png").rename(self.directory / f"one/{theirs}.png")
        (self.directory / "one/disparity.png").unlink()
        from PIL import Image  # see submarine_support.py
        Image.new("L", (32, 24), 9).save(self.directory / "one/disp1.png")
        self.bench("one", "--preset", "paper", "--methods", "mf-self,constant")
        runs = [read_json(path) for path in (self.directory / "out/runs").iterdir()]
        self.assertEqual({run["parameters"]["disparities"] for run in runs}, {16})
        constant = {row["method"]: row for row in self.rows()}["constant"]
        chosen = int(constant["termination"].split()[-1])
        self.assertEqual(float(constant["mean_absolute"]), abs(chosen - 3))

    def test_without_truth_there_are_no_errors(self):
        self.scene("one")
        (self.directory / "one" / "disparity.png").unlink()
        self.bench("one", "--methods", "constant")
        self.assertEqual([row["bad_1"] for row in self.rows()], [""])

    def test_a_factor_scales_the_truth(self):
        self.scene("one")
        self.bench("one", "--methods", "constant")
        (usual,) = self.rows()
        self.bench("one", "--methods", "constant", "--truth-factor", "one=256", output="same")
        (same,) = self.rows("same")
        self.assertEqual(usual["bad_1"], same["bad_1"])
        self.bench("one", "--methods", "constant", "--truth-factor", "one=1", output="large")
        (large,) = self.rows("large")
        self.assertEqual(float(large["bad_1"]), 1.0)


class Preset(BenchTest):

    def test_the_paper_has_its_own_model(self):
        self.scene("venus", width=40, height=24, labels=12)
        self.bench("venus", "--preset", "paper", "--methods", "mf-published,mf-self,mf,constant")
        rows = {row["method"]: row for row in self.rows()}
        self.assertNotEqual(rows["mf-published"]["published_energy"], "")
        self.assertEqual([row["termination"] for method, row in rows.items() if method.startswith("mf")], ["converged"] * 3)
        # Self terms hold variables where they are: the labeling is no better.
        self.assertGreaterEqual(float(rows["mf-self"]["energy"]), float(rows["mf"]["energy"]))
        parameters = read_json(self.directory / "out" / "runs" / "venus.mf.paper.json")["parameters"]
        self.assertEqual((parameters["disparities"], parameters["truncate"], parameters["metric"], parameters["guide"]),
                         (20, 48.0, "potts", "left"))

    def test_the_slip_guides_by_the_right_view(self):
        for name, guide in (("Tsukuba", "right"), ("venus", "left"), ("teddy", "right")):
            self.scene(name, width=80, height=16, labels=8)
            self.bench(name, "--preset", "paper-slip", "--methods", "constant", output=name + "-out")
            parameters = read_json(self.directory / f"{name}-out" / "runs" / f"{name}.constant.paper-slip.json")
            self.assertEqual(parameters["parameters"]["guide"], guide)


class Resuming(BenchTest):

    def test_finished_runs_are_kept_as_long_as_their_parameters_agree(self):
        self.scene("one")
        self.bench("one", "--methods", "mf,auto")
        before, rows = self.stamps(), self.rows()
        self.bench("one", "--methods", "mf,auto,constant")
        after = self.stamps()
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertEqual(self.rows()[:2], rows)
        self.bench("one", "--methods", "mf,auto", "--gap", "0.017")
        again = self.stamps()
        self.assertEqual(again["one.mf.default.json"], before["one.mf.default.json"])
        self.assertNotEqual(again["one.auto.default.json"], before["one.auto.default.json"])
        self.scene("one", seed=3)
        self.bench("one", "--methods", "mf")
        self.assertNotEqual(self.stamps()["one.mf.default.json"], before["one.mf.default.json"])

    def test_an_interrupt_keeps_what_is_finished(self):
        self.scene("one", width=160, height=120, labels=24)
        process = subprocess.Popen([EXPERIMENTS, "stereo-bench", "one", "-o", "out", "--methods", "constant,fw"],
                                   cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        finished = self.directory / "out" / "runs" / "one.constant.default.json"
        deadline = time.monotonic() + 60
        while not finished.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, problems = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 3)
        self.assertIn("1 results", output)
        self.assertEqual(without_progress(problems), "submarine: interrupted: 1 of 2 results are missing; "
                                   "run the same command again to continue\n")
        self.assertEqual([row["method"] for row in self.rows()], ["constant"])
        self.assertEqual(list(self.stamps()), ["one.constant.default.json"])

    def test_a_file_of_others_is_not_overwritten(self):
        self.scene("one")
        (self.directory / "out" / "runs").mkdir(parents=True)
        self.write("out/runs/one.constant.default.json", {"parameters": 3})
        self.write("out/runs/one.mf.default.json", "{}")
        refused = self.run_command("stereo-bench", "one", "-o", "out", "--methods", "mf")
        self.assertEqual(refused.code, 2)
        self.assertIn("one.mf.default.json is not what submarine-experiments stereo-bench wrote", refused.stderr)


class BadInput(BenchTest):

    def assert_refused(self, *arguments, saying):
        finished = self.run_command("stereo-bench", *arguments)
        self.assertEqual(finished.code, 2, finished)
        self.assertRegex(finished.stderr, saying)
        self.assertEqual(len(finished.messages.splitlines()), 1, finished)
        self.assertFalse((self.directory / "out").exists())

    def test_is_refused_in_one_sentence(self):
        self.scene("one")
        self.scene("other/one")
        (self.directory / "empty").mkdir()
        for arguments, saying in (
                (("one", "--methods", "mf-published"), "needs --preset paper"),
                (("one", "--methods", "mf,nothing"), "nothing"),
                (("one", "--gap", "-1"), "--gap"),
                (("one", "other/one"), 'two directories are called "one"'),
                (("missing",), '"missing" is not a directory'),
                (("empty",), re.escape("left.png")),
                (("one", "--truth-factor", "one=0"), "expected NAME=F"),
                (("one", "--truth-factor", "one"), "expected NAME=F"),
                (("one", "--truth-factor", "two=3"), 'names "two", but no directory has that name')):
            with self.subTest(arguments=arguments):
                self.assert_refused(*arguments, "-o", "out", saying=saying)

    def test_an_output_that_is_a_file(self):
        self.scene("one")
        self.write("out.txt", "mine")
        finished = self.run_command("stereo-bench", "one", "-o", "out.txt", "--methods", "constant")
        self.assertEqual(finished.code, 2)
        self.assertIn("out.txt", finished.stderr)
        self.assertEqual((self.directory / "out.txt").read_text(encoding="utf-8"), "mine")


if __name__ == "__main__":
    main()
