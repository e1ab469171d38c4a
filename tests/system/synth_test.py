"""`submarine-experiments synth`: results survive kill -9, threads change nothing, bounds are ordered; and experiments/plot.py."""

import csv
import itertools
import math
import signal
import subprocess
import sys
import time

from submarine_support import EXPERIMENTS, SOURCE_DIR, CommandTest, main

TINY = ("--width", "6", "--height", "5", "--labels", "3", "--metrics", "potts", "truncated:2", "--weights", "0.5,2",
        "--instances", "2", "--deterministic")  # the only "2" is that of the instances
# Large enough to be killed in the middle.
SMALL = ("--width", "24", "--height", "20", "--labels", "6", "--metrics", "potts", "tree:3x2:1,0.5", "--weights", "1,3",
         "--instances", "3", "--deterministic")
METHODS = ["submod-fw", "submod", "alternate", "trw", "mf"]


class SynthTest(CommandTest):

    def synth(self, output, *arguments):
        return self.run_well("synth", *arguments, "-o", output)

    def table(self, output):
        return (self.directory / output / "results.csv").read_text(encoding="ascii")

    def rows(self, output):
        with open(self.directory / output / "results.csv", encoding="ascii", newline="") as file:
            return list(csv.DictReader(file))


class Results(SynthTest):

    def test_a_tiny_experiment_is_complete(self):
        finished = self.synth("out", *TINY)
        rows = self.rows("out")
        keys = {(row["metric"], float(row["weight"]), int(row["instance"]), row["method"]) for row in rows}
        self.assertEqual(keys, set(itertools.product(["potts", "truncated:2"], [0.5, 2.0], [0, 1], METHODS)))
        self.assertEqual(len(rows), len(keys))
        for row in rows:
            self.assertTrue(math.isfinite(float(row["value"])))
            self.assertEqual(row["seconds"], "")
        self.assertEqual(sorted(path.name for path in (self.directory / "out").iterdir()), ["results.csv", "runs"])
        self.assertEqual(len(list((self.directory / "out" / "runs").iterdir())), len(rows))
        self.assertEqual(finished.messages, "")
        self.assertEqual(len(finished.stdout.splitlines()), 1)

    def test_bounds_are_ordered(self):
        self.synth("out", *TINY, "--methods", "submod-fw,submod,alternate,trw,trw-opt,mf", "--gap", "1e-6",
                   "--trw-tolerance", "1e-10")
        cases = {}
        for row in self.rows("out"):
            cases.setdefault((row["metric"], row["weight"], row["instance"]), {})[row["method"]] = float(row["value"])
        self.assertEqual(len(cases), 8)
        for case, value in cases.items():
            with self.subTest(case=case):
                # Each may be as far from its optimum as its tolerance says.
                slack = 1e-5 * abs(value["submod"])
                for lower, upper in (("mf", "trw-opt"), ("trw-opt", "trw"), ("trw", "submod"),
                                     ("submod", "submod-fw"), ("submod-fw", "alternate")):
                    self.assertLessEqual(value[lower], value[upper] + slack, (lower, upper))
                # The optimum of the alternate extension is N log L.
                self.assertGreaterEqual(value["alternate"], 30 * math.log(3) - slack)

    def plot(self, output):
        return subprocess.run([sys.executable, SOURCE_DIR / "experiments" / "plot.py", output], cwd=self.directory, check=True,
                              capture_output=True, text=True)

    def test_the_table_of_ratios_follows_from_the_results(self):
        self.synth("out", *TINY, "--as-published")
        values = {(row["metric"], row["weight"], int(row["instance"]), row["method"]): float(row["value"])
                  for row in self.rows("out")}
        plotted = self.plot("out")
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in plotted.stdout.splitlines()[2:]]
        self.assertEqual(len(lines), 4 * (len(METHODS) + 2))
        for metric, weight, method, count, _, ratio, _ in lines:
            ratios = []
            for instance in range(2):
                trw = values[metric, weight, instance, "trw"]
                ratios.append((values[metric, weight, instance, method] - trw) / abs(trw))
            self.assertEqual(count, "2")
            self.assertEqual(ratio, f"{sum(ratios) / 2:.4f} ± {abs(ratios[0] - ratios[1]) / math.sqrt(2):.4f}")
        # The figure needs matplotlib, which the project does not ask for.
        drawn = (self.directory / "out" / "figure.png").exists() and (self.directory / "out" / "figure.svg").exists()
        self.assertNotEqual(drawn, "python3-matplotlib" in plotted.stderr)

    def test_without_trw_there_are_no_ratios(self):
        self.synth("out", *TINY, "--methods", "submod,mf")
        for line in self.plot("out").stdout.splitlines()[2:]:
            self.assertEqual(line.split("|")[6].strip(), "-")

    def test_published_potts_counts_weights_twice(self):
        """The published Submod of Potts at w is ours at 2w, but for the first step of Frank-Wolfe."""
        arguments = ("--width", "8", "--height", "8", "--labels", "4", "--metrics", "potts", "--instances", "1",
                     "--steps", "2000", "--deterministic", "--methods", "submod-fw,trw")
        self.synth("published", *arguments, "--weights", "1", "--as-published")
        self.synth("ours", *arguments, "--weights", "2")
        published = {row["method"]: float(row["value"]) for row in self.rows("published")}
        ours = {row["method"]: float(row["value"]) for row in self.rows("ours")}
        self.assertAlmostEqual(published["published-submod"], ours["submod-fw"], delta=2e-4 * abs(ours["submod-fw"]))
        self.assertGreater(abs(published["submod-fw"] - ours["submod-fw"]), 0.05 * abs(ours["submod-fw"]))


class Reproducible(SynthTest):

    def test_threads_change_nothing(self):
        self.synth("one", *SMALL, "--threads", 1)
        self.synth("two", *SMALL, "--threads", 2)
        self.assertEqual(self.table("one"), self.table("two"))

    def test_instances_do_not_depend_on_their_number(self):
        self.synth("two", *TINY)
        self.synth("one", *(1 if text == "2" else text for text in TINY))
        first = [row for row in self.rows("two") if row["instance"] == "0"]
        self.assertCountEqual(first, self.rows("one"))

    def test_seeds_name_unaries(self):
        self.synth("one", *TINY, "--methods", "trw")
        self.synth("other", *TINY, "--methods", "trw", "--seed", 2)
        self.assertNotEqual(self.table("one"), self.table("other"))

    def test_kill_and_resume(self):
        self.synth("whole", *SMALL)
        runs = self.directory / "killed" / "runs"
        kills = 0
        for wanted in (4, 20, 40):
            process = subprocess.Popen([EXPERIMENTS, "synth", *SMALL, "-o", "killed", "-q"], cwd=self.directory,
                                       stdin=subprocess.DEVNULL)
            deadline = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < deadline:
                if runs.is_dir() and sum(1 for _ in runs.glob("*.json")) > wanted:
                    process.send_signal(signal.SIGKILL)
                time.sleep(0.001)
            kills += process.wait() == -signal.SIGKILL
        self.assertGreaterEqual(kills, 2)
        stamps = {path: path.stat().st_mtime_ns for path in runs.glob("*.json")}
        self.synth("killed", *SMALL)
        self.assertEqual(self.table("killed"), self.table("whole"))
        self.assertEqual({path: path.stat().st_mtime_ns for path in stamps}, stamps)

    def test_other_settings_are_computed_again(self):
        self.synth("out", *TINY, "--methods", "mf,submod")
        first = self.table("out")
        self.synth("out", *TINY, "--methods", "mf,submod", "--seed", 5)
        self.assertNotEqual(self.table("out"), first)
        self.synth("out", *TINY, "--methods", "mf,submod")
        self.assertEqual(self.table("out"), first)
        runs = self.directory / "out" / "runs"
        stamps = {path.name: path.stat().st_mtime_ns for path in runs.iterdir()}
        self.synth("out", *TINY, "--methods", "mf,submod", "--gap", "1e-3")
        again = {path.name for path in runs.iterdir() if path.stat().st_mtime_ns != stamps[path.name]}
        self.assertEqual(again, {name for name in stamps if ".submod" in name})


class Refused(SynthTest):

    def assert_refused(self, *arguments, mentions=()):
        finished = self.run_command("synth", *arguments)
        self.assert_one_sentence(finished, mentions)

    def test_values(self):
        for option, value, word in (
                ("--labels", "1", "1"), ("--width", "0", "0 x"), ("--height", "-2", "-2"), ("--width", "100000000", "100000000"),
                ("--unary-range", "3,2", "3 to 2"), ("--unary-range", "3", "two numbers"), ("--unary-range", "0,nan", "nan"),
                ("--unary-range", "0,inf", "inf"), ("--weights", "-1", "-1"), ("--weights", "1,nan", "nan"),
                ("--weights", "1,1", "twice"), ("--metrics", "pots", "pots"), ("--metrics", "tree1", "20 labels"),
                ("--instances", "0", "--instances"), ("--methods", "magic", "magic"), ("--methods", "trw,trw", "twice"),
                ("--methods", "published-submod", "published-submod"), ("--seed", "-1", "--seed"),
                ("--gap", "-1", "--gap"), ("--threads", "-1", "--threads"), ("--nonsense", "1", "--nonsense")):
            with self.subTest(option=option, value=value):
                options = {"--width": "4", "--height": "3", "--labels": "3", "--metrics": "potts", option: value}
                self.assert_refused(*itertools.chain(*options.items()), "-o", "out", mentions=[word])
                self.assertFalse((self.directory / "out").exists())

    def test_outputs(self):
        self.assert_refused(*TINY, mentions=["--output"])
        self.write("file", "")
        self.assert_refused(*TINY, "-o", "file", mentions=["file"])
        self.assert_refused(*TINY, "-o", "file/below", mentions=["file/below"])

    def test_a_run_that_is_not_ours_is_not_taken_for_one(self):
        self.synth("out", *TINY, "--methods", "mf")
        for text in ("", "{}", "[]", '{"parameters": 1}'):
            self.write("out/runs/potts.0.5.0.mf.json", text)
            self.assert_refused(*TINY, "--methods", "mf", "-o", "out", mentions=["potts.0.5.0.mf.json"])


if __name__ == "__main__":
    main()
