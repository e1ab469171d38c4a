"""`submarine solve` on dense bundles: every method and operator, degenerate models, and what is refused."""

import itertools
import json
import math
import pathlib
import re
import signal
import subprocess
import time

from submarine_support import (PROGRAM, PROGRESS_LINE, SOURCE_DIR, Array, CommandTest, distance_function,
                               interval_sentence, main, npy_bytes, png_size, read_json, read_mar, read_pr, rounded_down,
                               write_npy)

UPPER_METHODS = ("auto", "pdhg", "fw")
METHODS = (*UPPER_METHODS, "mf")
OPERATORS = ("auto", "list", "lattice", "brute-force")
# Exact inference adds the same doubles in another order; bounds are rounded to their safe side.
ROUNDING = 1e-9


class DenseBundle:
    """A dense bundle with an image as .npy, read without the program under test."""

    def __init__(self, path):
        path = pathlib.Path(path)
        header = read_json(path)
        self.width, self.height, self.labels = header["width"], header["height"], header["labels"]
        self.unary = Array(path.parent / header["unary"]).rows()
        self.image = Array(path.parent / header["image"]).rows() if "image" in header else None
        self.constant = header.get("constant", 0.0)
        self.distance = distance_function(header["metric"])
        self.factor = {"ordered": 2.0, "once": 1.0}[header.get("pairs", "ordered")]
        self.kernels = header["kernels"]
        self.scales = [self.scale(kernel) for kernel in self.kernels]

    def value(self, kernel, a, b):
        """exp(-|f(a) - f(b)|^2 / 2)."""
        dx, dy = a % self.width - b % self.width, a // self.width - b // self.width
        square = (dx * dx + dy * dy) / kernel["sigma"] ** 2
        if kernel["type"] == "bilateral":
            square += sum((p - q) ** 2 for p, q in zip(self.image[a], self.image[b])) / kernel["colour_sigma"] ** 2
        return math.exp(-square / 2)

    def scale(self, kernel):
        count = self.width * self.height
        if kernel.get("normalisation") != "symmetric":
            return [1.0] * count
        return [1 / math.sqrt(sum(self.value(kernel, a, b) for b in range(count))) for a in range(count)]

    def pair_weights(self):
        count = self.width * self.height
        return {(a, b): self.factor * sum(kernel["weight"] * r[a] * r[b] * self.value(kernel, a, b)
                                          for kernel, r in zip(self.kernels, self.scales))
                for a, b in itertools.combinations(range(count), 2)}

    def energy(self, labels, weights):
        return (self.constant + sum(row[i] for row, i in zip(self.unary, labels, strict=True))
                + sum(w * self.distance(labels[a], labels[b]) for (a, b), w in weights.items()))

    def log_partition(self, temperature=1.0):
        """T log Z_T, at T = 0 minus the least energy."""
        weights = self.pair_weights()
        energies = [self.energy(x, weights)
                    for x in itertools.product(range(self.labels), repeat=self.width * self.height)]
        least = min(energies)
        if temperature == 0.0:
            return -least
        return -least + temperature * math.log(math.fsum(math.exp((least - e) / temperature) for e in energies))


class DenseTest(CommandTest):

    def generate_dense(self, name="dense.json", *, width=3, height=3, labels=2, **options):
        arguments = {"width": width, "height": height, "labels": labels, "high": 2.0, "seed": 3, **options}
        self.run_well("generate", "--dense", "-o", name,
                      *(f"--{key.replace('_', '-')}={value}" for key, value in arguments.items()))
        return name

    def change(self, model, **changes):
        """Rewrites a header; None drops a key."""
        header = {**read_json(self.directory / model), **changes}
        return self.write(model, {key: value for key, value in header.items() if value is not None})

    def change_kernels(self, model, **changes):
        kernels = [{**kernel, **{key: value for key, value in changes.items() if key in kernel or key != "colour_sigma"}}
                   for kernel in read_json(self.directory / model)["kernels"]]
        return self.change(model, kernels=kernels)

    def assert_limited_interval(self, summary):
        """The same for a solve that was cut short, which says so where a busy machine left no time for all of it."""
        notes = " ".join(summary["notes"])
        if "before there was a first bound" in notes or "the energy" in notes:
            self.assertLessEqual(summary["lower"], summary["upper"])
            self.assertEqual(summary["map"]["lower"], -summary["upper"])
        else:
            self.assert_interval(summary)

    def assert_interval(self, summary, *, has_upper=True):
        self.assertIsInstance(summary["lower"], float)
        self.assertIsInstance(summary["energy"], float)
        if has_upper:
            self.assertLessEqual(summary["lower"], summary["upper"])
            self.assertLessEqual(summary["dual"], summary["upper"])
            self.assertEqual(summary["map"]["lower"], -summary["upper"])
            self.assertLessEqual(-summary["upper"], summary["energy"])
        else:
            self.assertIsNone(summary["upper"])
            self.assertIsNone(summary["dual"])
        self.assertGreater(len(summary["iterations"]), 0)
        for record in summary["iterations"]:
            self.assertLessEqual({"k", "seconds", "upper", "dual"}, set(record))
            self.assertGreaterEqual(record["k"], 0)
        seconds = [record["seconds"] for record in summary["iterations"]]
        self.assertEqual(seconds, sorted(seconds))


class Bounds(DenseTest):

    def test_exact_agrees_with_enumeration(self):
        for metric, pairs in (("potts", "ordered"), ("linear", "once"), ("truncated:2", "ordered")):
            with self.subTest(metric=metric):
                model = self.change(self.generate_dense(labels=3, width=3, height=2, metric=metric), pairs=pairs,
                                    constant=-1.5)
                expected = DenseBundle(self.directory / model).log_partition()
                self.assertAlmostEqual(self.exact(model), expected, delta=ROUNDING)

    def test_interval_holds_the_exact_value(self):
        for metric in ("potts", "linear", "truncated:2", "tree:2x2:1,0.5"):
            model = self.generate_dense(width=3, height=2, labels=4, metric=metric)
            exact = self.exact(model)
            for method, pairs in itertools.product(METHODS, OPERATORS):
                with self.subTest(metric=metric, method=method, pairs=pairs):
                    summary = self.solve(model, "--method", method, "--pairs", pairs, "--certify", "exact")
                    self.assert_interval(summary, has_upper=method != "mf")
                    self.assertLessEqual(summary["lower"], exact + ROUNDING)
                    if method != "mf":
                        self.assertGreaterEqual(summary["upper"], exact - ROUNDING)
                    # auto takes the routed bound where the plain one cannot say much.
                    self.assertIn(summary["method"], (method, "routed") if method == "auto" else (method,))
                    self.assertEqual(summary["options"]["pairs"], pairs)
                    self.assertEqual(summary["options"]["certify"], "exact")
                    self.assertIn("exact Gaussians", summary["about"])

    def test_temperatures(self):
        for metric in ("potts", "truncated:2"):
            model = self.generate_dense(width=3, height=2, labels=3, metric=metric)
            for temperature in (0.0, 0.1, 1.0, 10.0):
                exact = self.exact(model, "--temperature", temperature)
                expected = DenseBundle(self.directory / model).log_partition(temperature)
                self.assertAlmostEqual(exact, expected, delta=1e-5)
                for method, certify in itertools.product(METHODS, ("exact", "operator")):
                    if method == "fw" and temperature == 0.0:
                        continue
                    with self.subTest(metric=metric, temperature=temperature, method=method, certify=certify):
                        # All pairs: the operator's model is the exact one but for rounding.
                        summary = self.solve(model, "--temperature", temperature, "--method", method,
                                             "--certify", certify, "--pairs", "brute-force", "--gap", "1e-3")
                        self.assert_interval(summary, has_upper=method != "mf")
                        self.assertEqual(summary["temperature"], temperature)
                        self.assertLessEqual(summary["lower"], exact + ROUNDING)
                        if method != "mf":
                            self.assertGreaterEqual(summary["upper"], exact - ROUNDING)
                        if summary["method"] == "routed":  # no looser than the plain extension
                            plain = self.solve(model, "--temperature", temperature, "--method", "pdhg",
                                               "--certify", certify, "--pairs", "brute-force", "--gap", "1e-3")
                            self.assertLessEqual(summary["upper"], plain["upper"] + 1e-3 * max(1, abs(plain["upper"])))
                        elif method in ("auto", "pdhg"):
                            gap = (summary["upper"] - summary["dual"]) / max(1.0, abs(summary["upper"]))
                            self.assertLessEqual(gap, 1.1e-3)

    def test_temperature_zero_encloses_the_least_energy(self):
        model = self.generate_dense()
        finished = self.run_well("solve", model, "--temperature", "0", "--gap", "1e-5", "--json", "s.json")
        summary = read_json(self.directory / "s.json")
        self.assertEqual(summary["lower"], -summary["energy"])
        self.assertIn("Certified: the least energy lies between", finished.stdout)
        self.assertAlmostEqual(summary["energy"], -self.exact(model, "--temperature", 0), delta=1e-4)

    def test_normalised_kernels(self):
        model = self.change_kernels(self.generate_dense(), normalisation="symmetric", weight=0.8)
        exact = DenseBundle(self.directory / model).log_partition()
        plain = self.exact(self.change_kernels(model, normalisation="none"))
        self.assertGreater(abs(exact - plain), 0.1)
        model = self.change_kernels(model, normalisation="symmetric")
        for pairs in OPERATORS:
            with self.subTest(pairs=pairs):
                # Whoever applies the pairs, the model is the same, and so is its name.
                options = ["--pairs", pairs, "--cutoff", 0.3]
                self.assertAlmostEqual(self.exact(model, *options), exact, delta=ROUNDING)
                for certify in ("exact", "auto"):
                    summary = self.solve(model, *options, "--certify", certify)
                    self.assertLessEqual(summary["lower"], exact + ROUNDING)
                    self.assertGreaterEqual(summary["upper"], exact - ROUNDING)
                    self.assertIn("(weight 0.8, normalised)", summary["about"])
                    self.assertIn("exact Gaussians", summary["about"])

    def test_normalisation_by_an_operator_is_named(self):
        # Large enough that mean field does not wait for exact row sums.
        model = self.change_kernels(self.generate_dense(width=80, height=60), normalisation="symmetric")
        options = ["--method", "mf", "--pairs", "lattice", "--max-iterations", 2]
        self.assertRegex(self.solve(model, *options)["about"], r"normalised by the row sums of lattice of \d+ vertices")
        self.assertNotIn("row sums", self.solve(model, *options, "--certify", "exact")["about"])

    def test_features_far_from_zero(self):
        """What counts are differences, to the digits that the file has."""
        for name, start, sigma in (("seconds", 1.7e9, 60.0), ("offset", 1e12, 60.0), ("tiny", 1e6 + 0.5, 1e-3)):
            with self.subTest(name=name):
                values = [start, start + 91 / 60 * sigma]
                write_npy(self.directory / "u.npy", (2, 2), [0.0] * 4)
                write_npy(self.directory / "f.npy", (2, 1), values)
                model = self.write("far.json", {
                    "submarine": "dense", "variables": 2, "labels": 2, "unary": "u.npy", "metric": "potts", "pairs": "once",
                    "kernels": [{"type": "features", "features": "f.npy", "sigma": sigma, "weight": 2}]})
                apart = (values[1] - values[0]) / sigma
                expected = math.log(2 + 2 * math.exp(-2 * math.exp(-apart ** 2 / 2)))
                self.assertAlmostEqual(self.exact(model), expected, delta=ROUNDING)
                summary = self.solve(model, "--certify", "exact")
                self.assertLessEqual(summary["lower"], expected + ROUNDING)
                self.assertGreaterEqual(summary["upper"], expected - ROUNDING)

    def test_certificates_about_the_operator(self):
        model = self.generate_dense(width=16, height=12, labels=3)
        for pairs, word in (("lattice", "lattice"), ("list", "list"), ("brute-force", "")):
            with self.subTest(pairs=pairs):
                summary = self.solve(model, "--pairs", pairs, "--certify", "operator")
                self.assert_interval(summary)
                self.assertIn("pair weights as applied by", summary["about"])
                self.assertIn(summary["pairs"], summary["about"])
                self.assertIn(word, summary["pairs"])

    def test_options_reach_the_operator(self):
        model = self.generate_dense(width=20, height=15, labels=3)
        lattice = ["--pairs", "lattice", "--method", "fw", "--max-iterations", 5, "--certify", "operator"]
        values = [self.solve(model, *lattice, *options)["upper"]
                  for options in ([], ["--levels", 4])]
        self.assertEqual(len(set(values)), 2, values)
        coarse, fine = (self.solve(model, "--pairs", "list", "--cutoff", cutoff) for cutoff in (0.5, 1e-6))
        self.assertNotEqual(coarse["pairs"], fine["pairs"])
        self.assertEqual(coarse["options"]["cutoff"], 0.5)

    def test_default_gap_is_one_percent(self):
        summary = self.solve(self.generate_dense(width=24, height=16, labels=4), "--certify", "operator")
        self.assertEqual(summary["options"]["gap"], 1e-2)
        self.assertEqual(summary["termination"], "gap reached")
        # The gap is that of the operator's model, which leaves out what the certificate has to pay for.
        upper, dual = (summary["iterations"][-1][key] for key in ("upper", "dual"))
        self.assertLessEqual(upper - dual, 1e-2 * max(1.0, abs(upper)))
        sparse = self.solve(self.generate(), "--method", "pdhg")
        self.assertEqual((sparse["options"]["gap"], sparse["method"]), (1e-4, "pdhg"))
        self.assertIsNone(sparse["pairs"])

    def test_steps_of_frank_wolfe(self):
        model = self.generate_dense(width=8, height=6, labels=3)
        line, harmonic = (self.solve(model, "--method", "fw", "--gap", 0, "--max-iterations", 9, "--step", step)
                          for step in ("line-search", "harmonic"))
        self.assertNotEqual(line["upper"], harmonic["upper"])

    def test_no_iterations_and_no_time_still_prove_something(self):
        model = self.generate_dense(width=4, height=3, labels=2)
        exact = self.exact(model)
        for method, limit in itertools.product(METHODS, (["--max-iterations", 0], ["--time-limit", 0])):
            with self.subTest(method=method, limit=limit):
                summary = self.solve(model, "--method", method, "--gap", 0, *limit)
                self.assert_interval(summary, has_upper=method != "mf")
                self.assertLessEqual(summary["lower"], exact + ROUNDING)
                self.assertNotEqual(summary["termination"], "")
                if method != "mf":
                    self.assertGreaterEqual(summary["upper"], exact - ROUNDING)


class Outputs(DenseTest):

    def test_all_of_them(self):
        model = self.generate_dense(width=5, height=4, labels=3)
        for method in (*METHODS, "exact"):
            if method == "exact":
                model = self.generate_dense(width=3, height=2, labels=3)
            height, width = (2, 3) if method == "exact" else (4, 5)
            with self.subTest(method=method):
                summary = self.solve(model, "--method", method, "--marginals", "m.npy", "--mar", "m.MAR", "--labels",
                                     "l.npy", "--entropy", "e.npy", "--picture", "p.png", "--pr", "out.PR")
                marginals = Array(self.directory / "m.npy")
                self.assertEqual((marginals.shape, marginals.dtype), ((height, width, 3), "<f4"))
                for row in marginals.rows():
                    # Three roundings to single precision, and the solver's own.
                    self.assertAlmostEqual(sum(row), 1.0, delta=1e-5)
                    self.assertGreaterEqual(min(row), 0.0)
                for read, row in zip(read_mar(self.directory / "m.MAR"), marginals.rows(), strict=True):
                    for p, q in zip(read, row, strict=True):
                        self.assertAlmostEqual(p, q, delta=1e-7)
                labels = Array(self.directory / "l.npy")
                self.assertEqual((labels.shape, labels.dtype), ((height, width), "<i4"))
                bundle = DenseBundle(self.directory / model)
                energy = bundle.energy(labels.values, bundle.pair_weights())
                self.assertAlmostEqual(summary["energy"], energy, delta=1e-3 * max(1.0, energy))
                entropy = Array(self.directory / "e.npy")
                self.assertEqual((entropy.shape, entropy.dtype), ((height, width), "<f4"))
                for h, row in zip(entropy.values, marginals.rows(), strict=True):
                    self.assertAlmostEqual(h, -sum(p * math.log(p) for p in row if p > 0), delta=1e-5)
                self.assertEqual(png_size(self.directory / "p.png")[1] % height, 0)
                log_z = summary["lower"] if summary["upper"] is None else summary["upper"]
                self.assertAlmostEqual(read_pr(self.directory / "out.PR") * math.log(10), log_z,
                                       delta=1e-12 * abs(log_z))

    def test_entropy_of_sparse_models(self):
        for method in ("auto", "mf", "exact"):
            self.solve(self.generate(), "--method", method, "--marginals", "m.npy", "--entropy", "e.npy")
            entropy = Array(self.directory / "e.npy")
            self.assertEqual((entropy.shape, entropy.dtype), ((3, 4), "<f4"))
            for h, row in zip(entropy.values, Array(self.directory / "m.npy").rows(), strict=True):
                self.assertAlmostEqual(h, -sum(p * math.log(p) for p in row if p > 0), delta=1e-6)

    def test_volumes_and_features(self):
        write_npy(self.directory / "u.npy", (2, 3, 4, 2), [0.1 * (7 * k % 11) for k in range(48)])
        kernel = {"type": "position", "sigma": 1.5, "weight": 0.2}
        self.write("volume.json", {"submarine": "dense", "width": 4, "height": 3, "depth": 2, "labels": 2,
                                   "unary": "u.npy", "metric": "potts", "kernels": [kernel]})
        write_npy(self.directory / "flat.npy", (24, 2), [0.1 * (7 * k % 11) for k in range(48)])
        write_npy(self.directory / "f.npy", (24, 3), [0.3 * (5 * k % 7) for k in range(72)])
        kernel = {"type": "features", "features": "f.npy", "sigma": [1, 2, 0.5]}
        self.write("features.json", {"submarine": "dense", "variables": 24, "labels": 2, "unary": "flat.npy",
                                     "metric": "potts", "kernels": [kernel]})
        for model, shape in (("volume.json", (2, 3, 4)), ("features.json", (24,))):
            for pairs in OPERATORS:
                with self.subTest(model=model, pairs=pairs):
                    self.assert_interval(self.solve(model, "--pairs", pairs, "--marginals", "m.npy", "--labels",
                                                    "l.npy", "--entropy", "e.npy"))
                    self.assertEqual(Array(self.directory / "m.npy").shape, (*shape, 2))
                    self.assertEqual(Array(self.directory / "l.npy").shape, shape)
                    self.assertEqual(Array(self.directory / "e.npy").shape, shape)
            finished = self.run_command("solve", model, "--picture", "p.png")
            self.assertEqual(finished.code, 2)
            self.assertIn("--picture", finished.stderr)

    def test_results_do_not_depend_on_the_number_of_threads(self):
        model = self.generate_dense(width=40, height=30, labels=4)
        for method, pairs in itertools.product(METHODS, OPERATORS):
            with self.subTest(method=method, pairs=pairs):
                outputs = []
                for threads in (1, 2):
                    summary = self.solve(model, "--method", method, "--pairs", pairs, "--threads", threads,
                                         "--deterministic", "--max-iterations", 20, "--marginals", "m.npy",
                                         "--labels", "l.npy", "--entropy", "e.npy")
                    del summary["seconds"], summary["threads"]
                    for record in summary["iterations"]:
                        del record["seconds"]
                    outputs.append((summary, *((self.directory / name).read_bytes()
                                               for name in ("m.npy", "l.npy", "e.npy"))))
                self.assertEqual(outputs[0], outputs[1])

    def test_the_sentence_names_the_interval_and_the_operator(self):
        finished = self.run_well("solve", self.generate_dense(), "--json", "s.json")
        summary = read_json(self.directory / "s.json")
        lines = finished.stdout.splitlines()
        self.assertIn(interval_sentence(summary), lines)
        self.assertEqual(any(line.startswith("The interval is wide") for line in lines),
                         summary["interval"]["relative"] > 0.1 and summary["termination"] == "gap reached")
        self.assertEqual(lines[0], summary["about"])
        # Not twice: the description of the model may say it already.
        described = all(part in summary["about"] for part in summary["pairs"].split("; "))
        self.assertEqual(f"Pairs applied by {summary['pairs']}." in lines, not described)
        self.assertEqual(finished.messages, "")
        finished = self.run_well("solve", self.generate_dense(), "--method", "mf", "--json", "s.json")
        lower = read_json(self.directory / "s.json")["lower"]
        self.assertEqual(finished.stdout.splitlines()[-1], f"Certified: log Z is at least {rounded_down(lower)}.")


class Limits(DenseTest):

    def slow(self):
        return self.generate_dense(width=120, height=90, labels=8, high=10.0)

    def test_time_limit(self):
        model = self.slow()
        for method in ("auto", "pdhg"):
            with self.subTest(method=method):
                begin = time.monotonic()
                summary = self.solve(model, "--method", method, "--gap", 0, "--max-iterations", 2000000, "--time-limit",
                                     1)
                self.assertLess(time.monotonic() - begin, 30.0)  # certifying and slow machines included
                self.assertEqual(summary["termination"], "time limit")
                self.assert_limited_interval(summary)
                # Part of the time is kept for the certificate, but not much of it.
                self.assertGreaterEqual(summary["seconds"], 0.5)

    def test_signals(self):
        model = self.slow()
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                process = subprocess.Popen(
                    [PROGRAM, "solve", model, "--gap", "0", "--max-iterations", "2000000", "--json", "s.json",
                     "--marginals", "m.npy"], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
                time.sleep(1.5)
                process.send_signal(number)
                output, problems = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0)
                for line in problems.splitlines():
                    self.assertRegex(line, PROGRESS_LINE)
                summary = read_json(self.directory / "s.json")
                self.assertEqual(summary["termination"], "interrupted")
                self.assert_limited_interval(summary)
                self.assertIn(interval_sentence(summary), output.splitlines())
                self.assertEqual(Array(self.directory / "m.npy").shape, (90, 120, 8))


class Degenerate(DenseTest):

    def assert_solved(self, model, operators=OPERATORS):
        """By every method, with an interval that holds the exact value."""
        exact = self.exact(model)
        for method, pairs in itertools.product(METHODS, operators):
            with self.subTest(method=method, pairs=pairs):
                summary = self.solve(model, "--method", method, "--pairs", pairs, "--certify", "exact", "--marginals",
                                     "m.npy")
                self.assert_interval(summary, has_upper=method != "mf")
                self.assertLessEqual(summary["lower"], exact + ROUNDING)
                if method != "mf":
                    self.assertGreaterEqual(summary["upper"], exact - ROUNDING)
                for row in Array(self.directory / "m.npy").rows():
                    self.assertAlmostEqual(sum(row), 1.0, delta=1e-5)
        return exact

    def independent(self, model):
        return sum(math.log(sum(math.exp(-cost) for cost in row)) for row in DenseBundle(self.directory / model).unary)

    def test_one_colour(self):
        model = self.generate_dense(width=4, height=2)
        write_npy(self.directory / "dense.image.npy", (2, 4, 3), [100.0] * 24)
        self.assert_solved(model)

    def test_one_pixel(self):
        for labels in (2, 5):
            model = self.generate_dense(width=1, height=1, labels=labels)
            self.assertAlmostEqual(self.assert_solved(model), self.independent(model), delta=1e-6)

    def test_tiny_sigmas_leave_the_variables_independent(self):
        for sigma, operators in ((1e-2, OPERATORS), (1e-6, ("auto", "list", "brute-force"))):
            with self.subTest(sigma=sigma):
                model = self.change_kernels(self.generate_dense(width=4, height=2), sigma=sigma, colour_sigma=sigma)
                self.assertAlmostEqual(self.assert_solved(model, operators), self.independent(model), delta=1e-6)
        finished = self.run_command("solve", model, "--pairs", "lattice", "--json", "s.json")
        self.assertEqual((finished.code, len(finished.messages.splitlines())), (2, 1), finished)
        self.assertIn("its sigma is too small", finished.stderr)
        self.assertFalse((self.directory / "s.json").exists())

    def test_huge_sigmas_join_all_equally(self):
        model = self.change_kernels(self.generate_dense(width=4, height=2), sigma=1e6, colour_sigma=1e6)
        self.assertAlmostEqual(self.assert_solved(model), DenseBundle(self.directory / model).log_partition(),
                               delta=1e-5)

    def test_no_weight_and_no_kernels(self):
        model = self.change_kernels(self.generate_dense(width=4, height=2), weight=0)
        self.assertAlmostEqual(self.assert_solved(model), self.independent(model), delta=1e-6)
        model = self.change(model, kernels=[])
        self.assertAlmostEqual(self.assert_solved(model), self.independent(model), delta=1e-6)

    def test_huge_and_tiny_weights(self):
        for weight in (1e8, 1e-30):
            with self.subTest(weight=weight):
                self.assert_solved(self.change_kernels(self.generate_dense(width=3, height=2), weight=weight))

    def test_costs_beyond_any_probability(self):
        model = self.generate_dense(width=3, height=2)
        self.write("dense.unary.npy", npy_bytes((2, 3, 2), [1e6 * (k % 3) for k in range(12)], "<f4"))
        self.assert_solved(model)


class Refused(DenseTest):

    def assert_refused(self, *arguments, mentions=()):
        before = {path: path.read_bytes() for path in self.directory.rglob("*") if path.is_file()}
        finished = self.run_command(*arguments)
        self.assert_one_sentence(finished, mentions)
        after = {path: path.read_bytes() for path in self.directory.rglob("*") if path.is_file()}
        self.assertEqual(after, before, "files changed")
        return finished

    def assert_model_refused(self, model, *options, mentions=()):
        return self.assert_refused("solve", model, "--json", "s.json", "--marginals", "m.npy", "--labels", "l.npy",
                                   "--entropy", "e.npy", *options, mentions=mentions)

    def test_options_that_do_not_apply(self):
        model = self.generate_dense()
        for arguments, mentions in (
                (["--method", "trw"], ["trw", "dense"]), (["--extension", "alternate"], ["alternate", "dense"]),
                (["--temperature", "-1"], ["--temperature", "-1"]), (["--temperature", "1e-40"], ["temperature"]),
                (["--method", "fw", "--temperature", "0"], ["temperature", "0"]),
                (["--rounding", "3"], ["--rounding", "dense"]), (["--starts", "3"], ["--starts", "dense"]),
                (["--seed", "3"], ["--seed", "dense"]), (["--evidence", "e.evid"], ["evidence"]),
                (["--pairs", "list", "--levels", "8"], ["--levels", "list"]),
                (["--pairs", "brute-force", "--levels", "8"], ["--levels", "brute-force"]),
                (["--method", "exact", "--certify", "operator"], ["--certify", "exact"])):
            with self.subTest(arguments=arguments):
                self.assert_model_refused(model, *arguments, mentions=mentions)
        self.solve(model, "--temperature", "1", "--extension", "optimal")
        sparse = self.generate()
        for arguments in (["--pairs", "list"], ["--cutoff", "0.1"], ["--levels", "4"], ["--certify", "exact"], ["--certify", "none"], ["--marginals-of", "mean-field"]):
            with self.subTest(arguments=arguments):
                self.assert_model_refused(sparse, *arguments, mentions=[arguments[0], "dense", sparse])
        self.assert_model_refused(sparse, "--method", "routed", mentions=["routed", "not for sparse models"])
        self.solve(sparse, "--deterministic", "--max-memory", "1")

    def test_values(self):
        model = self.generate_dense()
        for option, values in (("--cutoff", ("0", "1", "-0.1", "2", "nan", "small")),
                               ("--levels", ("1", "65", "2.5", "nan")),
                               ("--pairs", ("table", "")), ("--certify", ("maybe",)),
                               ("--max-memory", ("-1", "nan", "much"))):
            for value in values:
                with self.subTest(option=option, value=value):
                    self.assert_model_refused(model, option, value, mentions=[option])

    def test_outputs(self):
        model = self.generate_dense()
        for arguments, word in ((["--entropy", "nowhere/e.npy"], "nowhere/e.npy"),
                                (["--labels", "x.npy", "--entropy", "./x.npy"], "--labels"),
                                (["--entropy", model], "the model"), (["--entropy", "/dev/full"], "No space")):
            with self.subTest(arguments=arguments):
                self.assert_refused("solve", model, "--quiet", *arguments, mentions=["--entropy" if "model" in word or
                                    word == "--labels" else arguments[-1], word])

    def test_numbers_that_are_none(self):
        model = self.generate_dense(width=2, height=2)
        self.write("dense.image.npy", npy_bytes((2, 2, 3), [1.0] * 5 + [math.nan] + [1.0] * 6, "<f4"))
        self.assert_model_refused(model, mentions=["dense.json", "image", "nan"])
        write_npy(self.directory / "f.npy", (4, 1), [0.0, math.nan, 1.0, 2.0])
        features = {"type": "features", "features": "f.npy", "sigma": 1}
        self.assert_model_refused(self.change(model, kernels=[features]), mentions=["f.npy", "nan"])
        self.generate_dense(width=2, height=2)
        self.write("dense.unary.npy", npy_bytes((2, 2, 2), [math.inf] + [1.0] * 7, "<f4"))
        self.assert_model_refused(model, mentions=["dense.unary.npy", "inf"])

    def test_headers(self):
        for changes, mentions in (({"labels": 1}, ["labels"]), ({"width": 0}, ["width"]), ({"kernels": 3}, ["kernels"]),
                                  ({"kernels": None}, ["kernels"]), ({"metric": "pots"}, ["pots"]),
                                  ({"pairs": "twice"}, ["pairs"]), ({"image": None}, ["image"]),
                                  ({"colour": 1}, ["colour"]), ({"submarine": "tense"}, ["submarine", "dense"])):
            with self.subTest(changes=changes):
                self.assert_model_refused(self.change(self.generate_dense(), **changes),
                                          mentions=["dense.json", *mentions])

    def test_kernels(self):
        for changes, mentions in (({"sigma": 0}, ["sigma"]), ({"sigma": -1}, ["sigma"]), ({"sigma": []}, ["sigma"]),
                                  ({"sigma": [1, 2, 3]}, ["sigma"]), ({"weight": -1}, ["weight"]),
                                  ({"type": "round"}, ["type"]), ({"normalisation": "before"}, ["normalisation"])):
            with self.subTest(changes=changes):
                self.assert_model_refused(self.change_kernels(self.generate_dense(), **changes),
                                          mentions=["dense.json", "kernel 0", *mentions])

    def test_exact_refuses_what_does_not_fit_into_memory(self):
        for width, height in ((5, 6), (8, 8), (60, 50)):
            with self.subTest(width=width, height=height):
                model = self.generate_dense(width=width, height=height, labels=7)
                self.assert_model_refused(model, "--method", "exact", mentions=["memory"])

    def test_lists_and_lattices_refuse_what_does_not_fit_into_memory(self):
        model = self.generate_dense(width=150, height=100)
        for pairs in ("list", "lattice"):
            with self.subTest(pairs=pairs):
                finished = self.assert_model_refused(model, "--pairs", pairs, "--max-memory", "0.002")
                self.assertRegex(finished.stderr, r"needs about [1-9]\d*(\.\d)? (GB|MB|MiB)")

    def test_generate(self):
        for option, value, word in (("--sigma", "0", "sigma"), ("--sigma", "nan", "sigma"), ("--labels", "1", "label"),
                                    ("--bilateral-sigma", "-1", "sigma"), ("--colour-sigma", "0", "sigma"),
                                    ("--weight", "-1", "weight"), ("--width", "0", "0 x"), ("--height", "-3", "x -3"),
                                    ("--metric", "pots", "pots"), ("--connectivity", "8", "--connectivity"),
                                    ("--high", "inf", "inf")):
            with self.subTest(option=option, value=value):
                options = {"--width": "4", "--height": "3", "--labels": "3", option: value}
                self.assert_refused("generate", "--dense", *itertools.chain(*options.items()), "-o", "model.json",
                                    mentions=[word])
        self.assert_refused("generate", "--sigma", "2", "-o", "model.json", mentions=["--sigma", "--dense"])
        self.assert_refused("generate", "--dense", "--width", "100000", "--height", "100000", "-o", "model.json",
                            mentions=["100000 x 100000"])


class Generate(DenseTest):

    def contents(self, **options):
        self.generate_dense(width=7, height=5, labels=4, **options)
        return {path.name: path.read_bytes() for path in self.directory.iterdir()}

    def test_a_seed_names_a_model(self):
        first, again, other = (self.contents(seed=seed) for seed in (11, 11, 12))
        self.assertEqual(sorted(first), ["dense.image.npy", "dense.json", "dense.unary.npy"])
        self.assertEqual(first, again)
        self.assertNotEqual(first["dense.image.npy"], other["dense.image.npy"])
        self.assertNotEqual(first["dense.unary.npy"], other["dense.unary.npy"])

    def test_the_header_says_what_was_asked_for(self):
        self.generate_dense(width=7, height=5, labels=4, weight=0.5, sigma=3, bilateral_sigma=9, colour_sigma=11,
                            metric="linear")
        header = read_json(self.directory / "dense.json")
        self.assertEqual((header["width"], header["height"], header["labels"], header["metric"]), (7, 5, 4, "linear"))
        self.assertEqual(header["kernels"], [{"type": "position", "sigma": 3, "weight": 0.5},
                                             {"type": "bilateral", "sigma": 9, "colour_sigma": 11, "weight": 0.5}])
        unary = Array(self.directory / "dense.unary.npy")
        self.assertEqual(unary.shape, (5, 7, 4))
        self.assertTrue(all(0.0 <= value < 2.0 for value in unary.values))
        image = Array(self.directory / "dense.image.npy")
        self.assertEqual(image.shape, (5, 7, 3))
        self.assertTrue(all(0.0 <= value <= 255.0 for value in image.values))


class Documentation(DenseTest):
    """docs/formats.md and the help mean what they say."""

    def test_the_example(self):
        text = (SOURCE_DIR / "docs" / "formats.md").read_text(encoding="utf-8")
        examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
        (bundle,) = [example for example in examples if example.get("submarine") == "dense"]
        # The picture of the example is a PNG of 640 x 480 pixels; here it is a small array.
        bundle.update(width=8, height=6, labels=3, image="picture.npy")
        write_npy(self.directory / "unary.npy", (6, 8, 3), [0.1 * (k % 7) for k in range(144)])
        write_npy(self.directory / "picture.npy", (6, 8, 3), [k % 256 for k in range(144)], "|u1")
        write_npy(self.directory / "f.npy", (48, 2), [0.1 * (k % 5) for k in range(96)])
        self.assert_interval(self.solve(self.write("model.json", bundle)))

    def test_keys_of_the_summary_are_those_of_sparse_models(self):
        dense = self.solve(self.generate_dense())
        self.assertEqual(set(dense), set(self.solve(self.generate())))
        self.assertEqual(set(dense["options"]), {"method", "gap", "max_iterations", "time_limit", "step", "pairs",
                                                 "cutoff", "levels", "certify", "marginals_of", "updates"})

    def test_help(self):
        text = self.run_well("solve", "--help").stdout
        group = text.split("Dense models:")[1]
        for option in ("--pairs", "--cutoff", "--levels", "--certify", "--marginals-of"):
            self.assertIn(option, group)
        for word in ("--max-memory", "--deterministic", "--entropy", "solve dense.json"):
            self.assertIn(word, text)
        self.assertIn("--dense", self.run_well("generate", "--help").stdout)


if __name__ == "__main__":
    main()
