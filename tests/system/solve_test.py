"""`submarine solve` on models small enough to know the answer: every method, every output."""

import itertools
import json
import math
import re
import subprocess
import time

from submarine_support import (PROGRAM, SOURCE_DIR, Array, Bundle, CommandTest, interval_sentence, main, png_size,
                               read_json, read_mar, read_pr, uai_text, write_npy)

# Sums of a few dozen doubles, added in another order.
ROUNDING = 1e-9

UPPER_METHODS = [
    ("pdhg",),
    ("fw",),
    ("fw", "--step", "harmonic"),
    ("fw", "--extension", "alternate"),
]
METRICS = ["potts", "linear", "truncated:2", "tree:2x2:1,0.5"]


class Bounds(CommandTest):

    def assert_records(self, records, *, keys=("upper", "dual")):
        self.assertGreater(len(records), 0)
        for record in records:
            self.assertLessEqual({"k", "seconds", "upper", "dual"}, set(record))
            for key in ("upper", "dual"):
                self.assertIsInstance(record[key], float if key in keys else type(None))
        for earlier, later in zip(records, records[1:]):
            self.assertLess(earlier["k"], later["k"])
            self.assertLessEqual(earlier["seconds"], later["seconds"])

    def test_exact_agrees_with_enumeration(self):
        for metric in METRICS:
            model = self.generate(width=3, height=2, labels=4, metric=metric, low=-1.0)
            bundle = Bundle(self.directory / model)
            for temperature in (1.0, 0.5, 0.0):
                with self.subTest(metric=metric, temperature=temperature):
                    exact = self.exact(model, "--temperature", temperature)
                    self.assertAlmostEqual(exact, bundle.log_partition(temperature), delta=ROUNDING)

    def test_interval_holds_the_exact_value(self):
        for metric in METRICS:
            model = self.generate(width=4, height=3, labels=4, metric=metric, low=-1.0)
            for temperature in (1.0, 0.5):
                exact = self.exact(model, "--temperature", temperature)
                for method, *options in UPPER_METHODS:
                    with self.subTest(metric=metric, temperature=temperature, method=method, options=options):
                        summary = self.solve(model, "--method", method, *options, "--temperature", temperature,
                                             "--gap", "1e-3")
                        self.assertLessEqual(summary["lower"], exact + ROUNDING)
                        self.assertLessEqual(exact - ROUNDING, summary["upper"])
                        self.assertLessEqual(summary["dual"], summary["upper"] + ROUNDING)
                        self.assertLessEqual(summary["upper"] - summary["dual"],
                                             1.001e-3 * max(1.0, abs(summary["upper"])))
                        self.assertEqual(summary["termination"], "gap reached")
                        self.assertEqual(summary["method"], method)
                        self.assertEqual(summary["temperature"], temperature)
                        self.assertEqual(summary["extension"], "alternate" if "alternate" in options else "optimal")
                        self.assertGreater(summary["seconds"], 0.0)
                        self.assert_records(summary["iterations"])

    def test_mean_field_is_a_lower_bound_only(self):
        model = self.generate()
        for temperature in (1.0, 0.5):
            summary = self.solve(model, "--method", "mf", "--temperature", temperature)
            self.assertLessEqual(summary["lower"], self.exact(model, "--temperature", temperature) + ROUNDING)
            self.assertIsNone(summary["upper"])
            self.assertIsNone(summary["dual"])
            self.assertIsInstance(summary["energy"], float)
            self.assert_records(summary["iterations"], keys=())

    def test_exact_has_no_iterations(self):
        model = self.write_grid()
        summary = self.solve(model, "--method", "exact")
        # The ends are apart by what rounding may have done.
        truth = Bundle(self.directory / model).log_partition()
        self.assertLess(summary["upper"] - summary["lower"], ROUNDING)
        self.assertLess(summary["lower"], truth)
        self.assertLess(truth, summary["upper"])
        self.assertIsNone(summary["dual"])
        self.assertEqual(summary["iterations"], [])
        self.assertEqual(summary["termination"], "exact")

    def test_temperature_zero_brackets_the_least_energy(self):
        for metric in METRICS:
            with self.subTest(metric=metric):
                model = self.generate(width=3, height=3, labels=4, weight=0.4, metric=metric)
                least = -self.exact(model, "--temperature", 0)
                for method in ("auto", "pdhg"):
                    summary = self.solve(model, "--method", method, "--temperature", 0, "--gap", "1e-5")
                    self.assertEqual(summary["map"]["upper"], summary["energy"])
                    self.assertEqual(summary["map"]["lower"], -summary["upper"])
                    self.assertLessEqual(summary["map"]["lower"], least + ROUNDING)
                    self.assertGreaterEqual(summary["map"]["upper"], least - ROUNDING)
                    self.assertAlmostEqual(summary["lower"], -summary["energy"],
                                           delta=ROUNDING if summary["method"] == "exact" else 0.0)
                self.assertEqual(summary["method"], "pdhg")

    def test_auto_is_exact_where_that_is_cheap(self):
        model = self.generate()
        for temperature in (1.0, 0.5, 0.0):
            summary = self.solve(model, "--temperature", temperature)
            self.assertEqual((summary["method"], summary["options"]["method"], summary["termination"]),
                             ("exact", "auto", "exact"))
            self.assertEqual(summary["upper"], self.exact(model, "--temperature", temperature))

    def test_auto_elsewhere(self):
        """20 columns of 8 labels are beyond elimination; at temperature 0 there are no forests. Such little work is done
        in any time."""
        model = self.generate(width=20, height=20, labels=8)
        for arguments, method in (([], "trw"), (["--temperature", 0], "pdhg"), (["--time-limit", 0], "trw")):
            with self.subTest(arguments=arguments):
                summary = self.solve(model, *arguments)
                self.assertEqual((summary["method"], summary["options"]["method"]), (method, "auto"))
                self.assertLess(summary["lower"], summary["upper"])

    def test_without_time_for_a_solver_the_unaries_prove_something(self):
        """A thousand labels on a line take a verifier seconds; what the unaries prove takes none."""
        model = self.generate(width=30, height=30, labels=1024, metric="linear")
        for method in ("pdhg", "fw", "trw"):
            with self.subTest(method=method):
                late = self.solve(model, "--method", method, "--time-limit", 0)
                self.assertEqual((late["method"], late["termination"]), (method, "time limit"))
                self.assertLess(late["lower"], late["upper"])
        summary = self.solve(model, "--time-limit", 0)
        self.assertEqual((summary["method"], summary["termination"]), ("auto", "time limit"))
        self.assertLess(summary["lower"], summary["upper"])
        (note,) = summary["notes"]
        self.assertIn("come from the unaries", note)

    def test_exact_labeling_at_temperature_zero_is_the_best_of_all(self):
        model = self.generate(width=3, height=2, labels=3)
        summary = self.solve(model, "--method", "exact", "--temperature", 0, "--labels", "labels.npy")
        bundle = Bundle(self.directory / model)
        best = min(bundle.all_energies())
        self.assertAlmostEqual(summary["energy"], best, delta=ROUNDING)
        self.assertAlmostEqual(bundle.energy(Array(self.directory / "labels.npy").values), best, delta=ROUNDING)

    def test_harmonic_steps_are_other_steps(self):
        model = self.generate()
        line = self.solve(model, "--method", "fw", "--max-iterations", 20, "--gap", 0)
        harmonic = self.solve(model, "--method", "fw", "--max-iterations", 20, "--gap", 0, "--step", "harmonic")
        for summary in (line, harmonic):
            self.assertEqual(summary["termination"], "iteration limit")
            self.assertEqual(summary["iterations"][-1]["k"], 20)
        self.assertNotEqual(line["upper"], harmonic["upper"])

    def test_other_grids_and_weights(self):
        self.generate("eight.json", width=3, height=3, connectivity=8)
        self.write_grid("weights.json", weights="weights.npy", constant=-3.5)
        write_npy(self.directory / "weights.npy", (7,), [0.0, 0.5, 1.0, 1.5, 0.1, 0.7, 2.0])
        self.generate("row.json", width=9, height=1)
        self.generate("one.json", width=1, height=1)
        for model in ("eight.json", "weights.json", "row.json", "one.json"):
            with self.subTest(model=model):
                expected = Bundle(self.directory / model).log_partition()
                self.assertAlmostEqual(self.exact(model), expected, delta=ROUNDING)
                for method in ("auto", "pdhg"):
                    summary = self.solve(model, "--method", method)
                    self.assertLessEqual(summary["lower"] - ROUNDING, expected)
                    self.assertGreaterEqual(summary["upper"] + ROUNDING, expected)

    def test_no_time_for_the_page(self):
        model = self.generate("model.json")
        finished = self.run_well("solve", model, "--bundle", "out", "--time-limit", 1e-6)
        self.assertIn("no time for report.html", finished.stdout)
        self.assertEqual(sorted(path.name for path in (self.directory / "out").iterdir()),
                         ["entropy.npy", "labels.npy", "marginals.npy", "summary.json"])
        self.run_well("solve", model, "--bundle", "out", "--time-limit", 60)
        self.assertTrue((self.directory / "out/report.html").exists())

    def test_graph_bundle(self):
        model = self.write_graph(weight=0.3)
        expected = Bundle(self.directory / model).log_partition()
        self.assertAlmostEqual(self.exact(model), expected, delta=ROUNDING)
        for method in ("auto", "pdhg"):
            summary = self.solve(model, "--method", method, "--marginals", "marginals.npy", "--labels", "labels.npy")
            self.assertLessEqual(summary["lower"], expected)
            self.assertGreaterEqual(summary["upper"], expected)
            self.assertEqual(Array(self.directory / "marginals.npy").shape, (4, 3))
            self.assertEqual(Array(self.directory / "labels.npy").shape, (4,))

    def test_tree_file_beside_the_header_and_the_same_tree_inline(self):
        self.write("tree.json", {"children": [
            {"length": 1, "children": [{"label": 0, "length": 0.5}, {"label": 1, "length": 0.5}]},
            {"length": 1, "children": [{"label": 2, "length": 0.5}, {"label": 3, "length": 0.5}]}]})
        values = [self.solve(self.generate(f"{k}.json", labels=4, metric=metric), "--method", "pdhg")["upper"]
                  for k, metric in enumerate(["tree:tree.json", "tree:2x2:1,0.5", "tree:((0,1):1,(2,3))"])]
        self.assertEqual(values[0], values[1])
        self.assertEqual(values[0], values[2])


class FactorGraphs(CommandTest):

    ENERGIES = [((0,), [0.1, 0.5]), ((1,), [0.9, 0.2]), ((0, 1), [0.0, 1.2, 1.2, 0.0]), ((1, 2), [0.3, 0.8, 1.9, 0.4])]

    def log_partition(self, fixed=None):
        total = 0.0
        for x in range(8):
            labels = [x & 1, x >> 1 & 1, x >> 2]
            if any(labels[a] != value for a, value in (fixed or {}).items()):
                continue
            energy = 0.0
            for scope, table in self.ENERGIES:
                position = 0
                for a in scope:
                    position = 2 * position + labels[a]
                energy += table[position]
            total += math.exp(-energy)
        return math.log(total)

    def fg_text(self):
        """libDAI has the first variable fastest."""
        blocks = []
        for scope, table in self.ENERGIES:
            order = [0, 2, 1, 3] if len(scope) == 2 else [0, 1]
            entries = "\n".join(f"{k} {math.exp(-table[position])!r}" for k, position in enumerate(order))
            blocks.append("\n".join([str(len(scope)), " ".join(map(str, scope)), " ".join(["2"] * len(scope)),
                                     str(len(table)), entries]))
        return f"# a comment\n{len(blocks)}\n\n" + "\n\n".join(blocks) + "\n"

    def test_uai_and_fg(self):
        self.write("model.uai", uai_text([2, 2, 2], self.ENERGIES))
        self.write("model.fg", self.fg_text())
        expected = self.log_partition()
        for model in ("model.uai", "model.fg"):
            with self.subTest(model=model):
                self.assertAlmostEqual(self.exact(model), expected, delta=ROUNDING)
                for method in ("auto", "pdhg", "trw"):
                    summary = self.solve(model, "--method", method)
                    self.assertLessEqual(summary["lower"], expected + ROUNDING)
                    self.assertGreaterEqual(summary["upper"], expected - ROUNDING)

    def test_evidence(self):
        self.write("model.uai", uai_text([2, 2, 2], self.ENERGIES))
        self.write("model.evid", "2 0 1 2 0\n")
        self.assertAlmostEqual(self.exact("model.uai", "--evidence", "model.evid"), self.log_partition({0: 1, 2: 0}),
                               delta=ROUNDING)

    def test_exact_takes_what_no_extension_can(self):
        self.write("model.uai", uai_text([2, 3, 2], [((0, 1, 2), [0.1 * k for k in range(12)])]))
        finished = self.run_well("solve", "model.uai", "--method", "exact", "--mar", "out.MAR", "--pr", "out.PR")
        expected = math.log(sum(math.exp(-0.1 * k) for k in range(12)))
        self.assertAlmostEqual(read_pr(self.directory / "out.PR") * math.log(10), expected, delta=ROUNDING)
        self.assertEqual([len(row) for row in read_mar(self.directory / "out.MAR")], [2, 3, 2])
        self.assertIn("Exact inference, rounding errors included: log Z lies between", finished.stdout)


class Outputs(CommandTest):

    def test_marginals_and_their_uai_form(self):
        model = self.generate(width=4, height=3, labels=3)
        for method in ("pdhg", "fw", "mf", "exact"):
            with self.subTest(method=method):
                summary = self.solve(model, "--method", method, "--marginals", "m.npy", "--mar", "m.MAR",
                                     "--pr", "m.PR")
                marginals = Array(self.directory / "m.npy")
                self.assertEqual(marginals.shape, (3, 4, 3))
                self.assertEqual(marginals.dtype, "<f8")
                for row in marginals.rows():
                    self.assertAlmostEqual(sum(row), 1.0, delta=1e-12)
                    self.assertGreaterEqual(min(row), 0.0)
                self.assertEqual(read_mar(self.directory / "m.MAR"), marginals.rows())
                log_z = summary["lower"] if summary["upper"] is None else summary["upper"]
                self.assertAlmostEqual(read_pr(self.directory / "m.PR") * math.log(10), log_z, delta=1e-12 * abs(log_z))

    def test_exact_marginals_agree_with_enumeration(self):
        model = self.write_grid(weight=0.8)
        self.solve(model, "--method", "exact", "--marginals", "m.npy")
        bundle = Bundle(self.directory / model)
        weights = [math.exp(-energy) for energy in bundle.all_energies()]
        for a, row in enumerate(Array(self.directory / "m.npy").rows()):
            for i, probability in enumerate(row):
                # Labelings are enumerated with the last variable fastest.
                mass = sum(w for x, w in enumerate(weights) if x // 3 ** (5 - a) % 3 == i)
                self.assertAlmostEqual(probability, mass / sum(weights), delta=ROUNDING)

    def test_labels_have_the_energy_of_the_summary(self):
        for metric in METRICS:
            model = self.generate(width=5, height=4, labels=4, metric=metric, connectivity=8)
            bundle = Bundle(self.directory / model)
            for options in ([], ["--method", "pdhg"], ["--method", "fw"], ["--method", "mf"],
                            ["--method", "trw"], ["--temperature", "0"],
                            ["--method", "pdhg", "--temperature", "0"], ["--method", "exact"]):
                with self.subTest(metric=metric, options=options):
                    summary = self.solve(model, *options, "--labels", "labels.npy")
                    labels = Array(self.directory / "labels.npy")
                    self.assertEqual(labels.shape, (4, 5))
                    self.assertEqual(labels.dtype, "<i4")
                    self.assertAlmostEqual(bundle.energy(labels.values), summary["energy"], delta=ROUNDING)

    def test_picture(self):
        for width, height in ((4, 3), (1, 40), (500, 2)):
            with self.subTest(width=width, height=height):
                self.run_well("solve", self.generate(width=width, height=height), "--picture", "p.png")
                picture_width, picture_height = png_size(self.directory / "p.png")
                zoom = picture_height // height
                self.assertGreaterEqual(zoom, 1)
                self.assertEqual(picture_height, zoom * height)
                self.assertEqual(picture_width, 2 * zoom * width + 8)

    def test_picture_of_a_long_strip_stays_small(self):
        self.run_well("solve", self.generate(width=1, height=20000, labels=2), "--picture", "p.png", "--gap", "0.1")
        self.assertEqual(png_size(self.directory / "p.png"), (10, 20000))

    def test_results_do_not_depend_on_the_number_of_threads(self):
        model = self.generate(width=40, height=30, labels=5, weight=2.0, high=10.0)
        for method in ("pdhg", "fw", "mf"):
            with self.subTest(method=method):
                outputs = []
                for threads in (1, 2):
                    summary = self.solve(model, "--method", method, "--threads", threads, "--max-iterations", 60,
                                         "--marginals", "m.npy", "--labels", "l.npy")
                    outputs.append(((self.directory / "m.npy").read_bytes(), (self.directory / "l.npy").read_bytes(),
                                    summary["lower"], summary["upper"], summary["energy"]))
                self.assertEqual(outputs[0], outputs[1])

    def test_time_limit(self):
        model = self.generate(width=200, height=200, labels=20, weight=5.0, high=10.0)
        for method in ("auto", "pdhg"):
            with self.subTest(method=method):
                begin = time.monotonic()
                summary = self.solve(model, "--method", method, "--gap", 0, "--time-limit", 1)
                self.assertLess(time.monotonic() - begin, 15.0)  # slow machines included
                self.assertEqual(summary["termination"], "time limit")
                # Part of the time is kept for the certificate, but not much of it.
                self.assertGreaterEqual(summary["seconds"], 0.5)
                self.assertGreater(len(summary["iterations"]), 0)
                self.assertEqual(summary["options"]["time_limit"], 1.0)
                self.assertLess(summary["lower"], summary["upper"])

    def test_the_sentence_names_the_interval(self):
        model = self.generate(weight=0.1)
        for method in ("auto", "pdhg", "exact", "trw"):
            with self.subTest(method=method):
                finished = self.run_well("solve", model, "--method", method, "--json", "s.json")
                summary = read_json(self.directory / "s.json")
                lines = finished.stdout.splitlines()
                self.assertEqual(lines[0], summary["about"])
                self.assertRegex(lines[1], rf"^Method {summary['method']}, \d+\.\d s on \d+ threads?: {summary['termination']}\.$")
                self.assertIn(interval_sentence(summary), lines)
                self.assertEqual(finished.messages, "")
                if method == "pdhg":
                    gap = 100 * (summary["upper"] - summary["dual"]) / max(1.0, abs(summary["upper"]))
                    self.assertIn("Optimality: no upper bound from the optimal extension is lower by more than "
                                  f"{gap:.2g}% (optimality gap).", lines)
                else:
                    self.assertNotIn("Optimality", finished.stdout)

    def test_a_loose_bound_is_called_loose(self):
        """Not the gap but the kind of bound makes such an interval wide."""
        word = "The interval is wide although the gap was reached"
        for weight, wide in ((0.0, False), (0.7, True)):
            finished = self.run_well("solve", self.generate(weight=weight), "--method", "pdhg", "--json", "s.json")
            summary = read_json(self.directory / "s.json")
            self.assertEqual(summary["interval"]["relative"] > 0.1, wide)
            self.assertEqual(word in finished.stdout, wide)

    def test_the_width_in_the_summary(self):
        summary = self.solve(self.generate(), "--method", "pdhg")
        width = summary["upper"] - summary["lower"]
        self.assertEqual(summary["interval"]["width"], width)
        self.assertAlmostEqual(summary["interval"]["per_variable"], width / 12, delta=1e-15)
        self.assertAlmostEqual(summary["interval"]["relative"],
                               width / max(1.0, abs(summary["upper"]), abs(summary["lower"])), delta=1e-15)
        self.assertNotIn("interval", self.solve("model.json", "--method", "mf"))

    def test_the_sentence_at_other_temperatures(self):
        model = self.generate()
        for method, (temperature, word) in itertools.product(
                ("auto", "pdhg"), ((0.5, "T log Z at T = 0.5 lies between"), (0, "the least energy lies between"))):
            with self.subTest(method=method, temperature=temperature):
                finished = self.run_well("solve", model, "--method", method, "--temperature", temperature, "--json",
                                         "s.json")
                sentence = interval_sentence(read_json(self.directory / "s.json"))
                self.assertIn(word, sentence)
                self.assertIn(sentence, finished.stdout.splitlines())

    def test_summary_to_standard_output(self):
        finished = subprocess.run([PROGRAM, "solve", self.generate(), "--quiet", "--json", "/dev/stdout"],
                                  cwd=self.directory, capture_output=True, timeout=60, check=True)
        self.write("copy.json", finished.stdout)
        self.assertIn("upper", read_json(self.directory / "copy.json"))

    def test_outputs_replace_older_ones_and_leave_nothing_else(self):
        model = self.generate()
        self.write("s.json", "old")
        self.run_well("solve", model, "--json", "s.json", "--marginals", "m.npy")
        self.assertIn("upper", read_json(self.directory / "s.json"))
        self.assertEqual(sorted(path.name for path in self.directory.iterdir()),
                         ["m.npy", "model.json", "model.unary.npy", "s.json"])

    def test_a_file_name_that_is_no_text(self):
        """Names are bytes; the summary, which is text, shows what it can."""
        name = b"model-\xff.json".decode(errors="surrogateescape")
        self.generate()
        (self.directory / "model.json").rename(self.directory / name)
        self.assertIn("model-", self.solve(name)["model"])

    def test_a_tree_that_is_no_hst_is_a_warning(self):
        model = self.generate(labels=4)
        self.write_grid("tree.json", metric="tree:((0:3,1:2):1,2)")
        finished = self.run_well("solve", "tree.json")
        self.assertEqual(len(finished.messages.splitlines()), 3, finished)
        for line in finished.messages.splitlines():
            self.assertTrue(line.startswith("submarine: warning: "), line)
        self.assertEqual(self.run_well("solve", model).messages, "")


class Documentation(CommandTest):
    """docs/formats.md means what it says."""

    def setUp(self):
        super().setUp()
        self.text = (SOURCE_DIR / "docs" / "formats.md").read_text(encoding="utf-8")
        self.examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", self.text, re.DOTALL)]

    def test_bundles(self):
        bundles = [example for example in self.examples if example.get("submarine") in ("grid", "graph")]
        self.assertEqual([bundle["submarine"] for bundle in bundles], ["grid", "graph"])
        for bundle in bundles:
            rows = bundle.get("variables") or bundle["width"] * bundle["height"]
            shape = (rows,) if "variables" in bundle else (bundle["height"], bundle["width"])
            write_npy(self.directory / bundle["unary"], (*shape, bundle["labels"]),
                      [0.1 * (k % 7) for k in range(rows * bundle["labels"])])
            chain = [end for a in range(rows - 1) for end in (a, a + 1)]
            write_npy(self.directory / "edges.npy", (rows - 1, 2), chain, "<i8")
            write_npy(self.directory / "weights.npy", (rows - 1,), [0.5] * (rows - 1), "<f4")
            self.assertIsNotNone(self.solve(self.write("model.json", bundle), "--gap", "0.01")["upper"])

    def test_trees(self):
        trees = [example for example in self.examples if "submarine" not in example and "page" not in example]
        self.assertEqual(len(trees), 2)
        for tree, labels in zip(trees, (4, 3)):
            self.write("tree.json", tree)
            self.generate(labels=labels, metric="tree:tree.json")
        for spec in ("5x4:1,0.5", "2x3x4:4,2,1", "((0,1):1,(2,3:0.25))"):
            self.assertIn(f"`{spec}`", self.text)
            labels = math.prod(map(int, spec.split(":")[0].split("x"))) if "x" in spec else 4
            self.generate(labels=labels, metric="tree:" + spec)

    def test_keys_of_the_summary(self):
        section = self.text.split("### The summary")[1].split("\n`segment --certify`")[0]
        first_columns = " ".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))
        sometimes = {"metric_loss", "label_names", "label_shares", "groups"}  # of metrics in files
        self.assertEqual(set(re.findall(r"`(\w+)`", first_columns)) - sometimes, set(self.solve(self.generate())))


class Help(CommandTest):

    def test_version_and_help(self):
        self.assertRegex(self.run_well("--version").stdout, r"^submarine \d+\.\d+\.\d+\n$")
        self.assertIn("solve", self.run_well("--help").stdout)
        text = self.run_well("solve", "--help").stdout
        for option in ("--method", "--temperature", "--gap", "--time-limit", "--json", "--marginals", "--mar",
                       "--labels"):
            self.assertIn(option, text)


if __name__ == "__main__":
    main()
