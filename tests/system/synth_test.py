"""`submarine synth`: results survive kill -9, threads and shards change nothing, bounds are ordered."""

import csv
import itertools
import math
import signal
import subprocess
import time

from submarine_support import PROGRAM, CommandTest, main, png_size, read_json

TINY = ("--width", "6", "--height", "5", "--labels", "3", "--metrics", "potts", "truncated:2", "--weights", "0.5,2",
        "--instances", "2", "--deterministic")  # the only "2" is that of the instances
# Large enough to be killed in the middle.
SMALL = ("--width", "24", "--height", "20", "--labels", "6", "--metrics", "potts", "tree:3x2:1,0.5", "--weights", "1,3",
         "--instances", "3", "--deterministic")
METHODS = ["submod-fw", "submod", "alternate", "trw", "mf", "hybrid"]


class SynthTest(CommandTest):

    def synth(self, output, *arguments):
        return self.run_well("synth", *arguments, "-o", output)

    def lines(self, output):
        """The results as text, whatever the order in which they came."""
        text = (self.directory / output / "results.csv").read_text(encoding="ascii")
        self.assertTrue(text.endswith("\n"))
        header, *rest = text.splitlines()
        return [header, *sorted(rest)]

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
        self.assertEqual(sorted(path.name for path in (self.directory / "out").iterdir()),
                         ["figure.png", "figure.svg", "results.csv", "settings.json", "summary.json"])
        self.assertEqual(finished.messages, "")
        self.assertEqual(len(finished.stdout.splitlines()), 1 + 2 * 2 * len(METHODS))

    def test_bounds_are_ordered(self):
        self.synth("out", *TINY, "--methods", "submod-fw,submod,alternate,trw,trw-opt,mf,hybrid", "--gap", "1e-6",
                   "--hybrid-gap", "1e-6", "--trw-tolerance", "1e-10")
        cases = {}
        for row in self.rows("out"):
            cases.setdefault((row["metric"], row["weight"], row["instance"]), {})[row["method"]] = float(row["value"])
        self.assertEqual(len(cases), 8)
        for case, value in cases.items():
            with self.subTest(case=case):
                # Each may be as far from its optimum as its tolerance says.
                slack = 1e-5 * abs(value["submod"])
                for lower, upper in (("mf", "trw-opt"), ("trw-opt", "trw"), ("trw", "submod"), ("mf", "hybrid"),
                                     ("hybrid", "submod"), ("submod", "submod-fw"), ("submod-fw", "alternate")):
                    self.assertLessEqual(value[lower], value[upper] + slack, (lower, upper))
                # The optimum of the alternate extension is N log L.
                self.assertGreaterEqual(value["alternate"], 30 * math.log(3) - slack)

    def test_the_summary_follows_from_the_results(self):
        self.synth("out", *TINY, "--as-published")
        values = {(row["metric"], float(row["weight"]), int(row["instance"]), row["method"]): float(row["value"])
                  for row in self.rows("out")}
        summary = read_json(self.directory / "out" / "summary.json")
        self.assertEqual(summary["settings"]["weights"], [0.5, 2.0])
        self.assertEqual(len(summary["rows"]), 4 * (len(METHODS) + 2))
        for row in summary["rows"]:
            ratios = []
            for instance in range(2):
                trw = values[row["metric"], row["weight"], instance, "trw"]
                ratios.append((values[row["metric"], row["weight"], instance, row["method"]] - trw) / abs(trw))
            mean = sum(ratios) / 2
            self.assertEqual(row["ratio"]["count"], 2)
            self.assertAlmostEqual(row["ratio"]["mean"], mean, delta=1e-12)
            self.assertAlmostEqual(row["ratio"]["deviation"], abs(ratios[0] - ratios[1]) / math.sqrt(2), delta=1e-12)

    def test_the_figure_names_its_curves(self):
        self.synth("out", *TINY, "--as-published")
        self.assertGreater(min(png_size(self.directory / "out" / "figure.png")), 500)
        self.assertIn("<svg", (self.directory / "out" / "figure.svg").read_text(encoding="utf-8")[:400])

    def test_without_trw_there_are_no_ratios(self):
        self.synth("out", *TINY, "--methods", "submod,mf")
        for row in read_json(self.directory / "out" / "summary.json")["rows"]:
            self.assertIsNone(row["ratio"])

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
        self.assertEqual(self.lines("one"), self.lines("two"))

    def test_instances_do_not_depend_on_their_number(self):
        self.synth("two", *TINY)
        self.synth("one", *(1 if text == "2" else text for text in TINY))
        first = [row for row in self.rows("two") if row["instance"] == "0"]
        self.assertCountEqual(first, self.rows("one"))

    def test_seeds_name_unaries(self):
        self.synth("one", *TINY, "--methods", "trw")
        self.synth("other", *TINY, "--methods", "trw", "--seed", 2)
        self.assertNotEqual(self.lines("one"), self.lines("other"))

    def test_kill_and_resume(self):
        self.synth("whole", *SMALL)
        expected = self.lines("whole")
        results = self.directory / "killed" / "results.csv"
        kills = 0
        for wanted in (4, 20, 40):
            process = subprocess.Popen([PROGRAM, "synth", *SMALL, "-o", "killed", "-q"], cwd=self.directory,
                                       stdin=subprocess.DEVNULL)
            deadline = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < deadline:
                if results.exists() and results.read_bytes().count(b"\n") > wanted:
                    process.send_signal(signal.SIGKILL)
                time.sleep(0.001)
            kills += process.wait() == -signal.SIGKILL
            # A line that was cut off in the middle.
            whole = results.read_bytes()
            if kills == 1:
                results.write_bytes(whole[:-7])
            self.assertLess(len(self.text_lines(results)), len(expected))
        self.assertGreaterEqual(kills, 2)
        self.synth("killed", *SMALL)
        self.assertEqual(self.lines("killed"), expected)
        self.assertEqual(read_json(self.directory / "killed" / "summary.json"),
                         read_json(self.directory / "whole" / "summary.json"))

    @staticmethod
    def text_lines(path):
        return path.read_text(encoding="ascii").splitlines()

    def test_every_place_to_be_cut_off(self):
        self.synth("whole", *TINY, "--methods", "trw,mf")
        text = (self.directory / "whole" / "results.csv").read_bytes()
        for length in (0, 5, 71, 72, 73, 100, len(text) - 1, len(text)):
            (self.directory / "whole" / "results.csv").write_bytes(text[:length])
            self.synth("whole", *TINY, "--methods", "trw,mf")
            self.assertEqual(sorted((self.directory / "whole" / "results.csv").read_bytes().splitlines()),
                             sorted(text.splitlines()), length)

    def test_a_finished_run_computes_nothing_again(self):
        self.synth("out", *TINY)
        before = (self.directory / "out" / "results.csv").read_bytes()
        self.synth("out", *TINY)
        self.assertEqual((self.directory / "out" / "results.csv").read_bytes(), before)

    def test_shards_make_up_the_whole(self):
        self.synth("whole", *TINY)
        for part in (1, 2, 3):
            self.synth(f"part{part}", *TINY, "--shard", f"{part}/3")
        parts = [self.lines(f"part{part}")[1:] for part in (1, 2, 3)]
        self.assertEqual(sorted(sum(parts, [])), self.lines("whole")[1:])
        self.assertTrue(all(parts))
        self.run_well("synth", "merge", "part1", "part2", "-o", "merged")
        incomplete = self.run_well("synth", "merge", "part1", "part2", "-o", "merged")
        self.assertIn("missing", incomplete.stdout)
        complete = self.run_well("synth", "merge", "part3", "-o", "merged")
        self.assertNotIn("missing", complete.stdout)
        self.assertEqual(self.lines("merged"), self.lines("whole"))
        self.assertEqual(read_json(self.directory / "merged" / "summary.json"),
                         read_json(self.directory / "whole" / "summary.json"))


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
                ("--methods", "published-submod", "published-submod"), ("--shard", "0/2", "0/2"),
                ("--shard", "3/2", "3/2"), ("--shard", "2", "i/n"), ("--shard", "1/2x", "1/2x"), ("--seed", "-1", "--seed"),
                ("--gap", "-1", "--gap"), ("--threads", "-1", "--threads"), ("--nonsense", "1", "--nonsense")):
            with self.subTest(option=option, value=value):
                options = {"--width": "4", "--height": "3", "--labels": "3", "--metrics": "potts", option: value}
                self.assert_refused(*itertools.chain(*options.items()), "-o", "out", mentions=[word])
                self.assertFalse((self.directory / "out").exists())

    def test_outputs(self):
        self.assert_refused(*TINY, mentions=["-o"])
        self.write("file", "")
        self.assert_refused(*TINY, "-o", "file", mentions=["file"])
        self.assert_refused(*TINY, "-o", "file/below", mentions=["file/below"])

    def test_other_settings(self):
        self.synth("out", *TINY, "--methods", "mf")
        before = self.lines("out")
        self.assert_refused(*TINY, "--methods", "mf,trw", "-o", "out", mentions=["out", "methods"])
        self.assert_refused(*TINY, "--methods", "mf", "--seed", 5, "-o", "out", mentions=["out", "seed"])
        self.assert_refused(*TINY, "--methods", "mf", "--shard", "1/2", "-o", "out", mentions=["out", "1/2"])
        self.assertEqual(self.lines("out"), before)

    def test_damaged_directories(self):
        self.synth("out", *TINY, "--methods", "mf")
        results = self.directory / "out" / "results.csv"
        settings = self.directory / "out" / "settings.json"
        whole, kept = results.read_text(), settings.read_text()
        lines = whole.splitlines()
        for text, word in ((whole + "rubbish\n", "line 10"), (whole.replace("mf", "trw"), "line 2"),
                           (whole + lines[1].replace("-", "-1", 1) + "\n", "line 10"), ("a,b\n", "line 1"),
                           (whole.replace(",0,mf,", ",7,mf,"), "line")):
            results.write_text(text)
            self.assert_refused(*TINY, "--methods", "mf", "-o", "out", mentions=["results.csv", word])
            self.assertEqual(results.read_text(), text)
        results.write_text(whole)
        for text in ("", "{}", "[]", kept.replace('"seed": 1', '"seed": "x"'), kept.replace('"mf"', '"magic"')):
            settings.write_text(text)
            self.assert_refused(*TINY, "--methods", "mf", "-o", "out", mentions=["settings.json"])
        settings.unlink()
        self.assert_refused(*TINY, "--methods", "mf", "-o", "out", mentions=["settings.json"])

    def test_merging(self):
        self.synth("one", *TINY, "--methods", "mf")
        self.synth("other", *TINY, "--methods", "mf", "--seed", 2)
        self.assert_refused("merge", "one", "other", "-o", "merged", mentions=["one", "other", "seed"])
        self.assert_refused("merge", "one", "nowhere", "-o", "merged", mentions=["nowhere"])
        self.assert_refused("merge", "one", mentions=["--output"])
        self.assert_refused("merge", "-o", "merged", mentions=["DIR"])
        self.synth("again", *TINY, "--methods", "mf")
        results = self.directory / "again" / "results.csv"
        lines = results.read_text().splitlines()
        fields = lines[1].split(",")
        fields[4] = "-1.5"
        results.write_text("\n".join([lines[0], ",".join(fields), *lines[2:], ""]))
        self.assert_refused("merge", "one", "again", "-o", "merged", mentions=["again", "contradicts"])
        self.assertFalse((self.directory / "merged").exists())


if __name__ == "__main__":
    main()
