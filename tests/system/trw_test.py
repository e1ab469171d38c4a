"""`submarine solve --method trw`: bounds on the right side of the truth, also for spin glasses."""

import math
import random

from submarine_support import CommandTest, main, png_size, read_json, read_mar, read_pr, uai_text


def spin_glass(width, height, strength, seed):
    """Couplings of both signs on a grid: no submodular extension."""
    rng = random.Random(seed)
    factors = [((a,), [rng.uniform(-1, 1), rng.uniform(-1, 1)]) for a in range(width * height)]
    for y in range(height):
        for x in range(width):
            for dx, dy in ((1, 0), (0, 1)):
                if x + dx < width and y + dy < height:
                    coupling = rng.uniform(-strength, strength)
                    factors.append(((y * width + x, (y + dy) * width + x + dx),
                                    [coupling, -coupling, -coupling, coupling]))
    return uai_text([2] * (width * height), factors)


class Trw(CommandTest):

    def test_grids(self):
        for metric in ("potts", "linear", "truncated:2"):
            model = self.generate(metric=metric)
            exact = self.exact(model)
            submod = self.solve(model, "--method", "pdhg")
            trw = self.solve(model, "--method", "trw")
            self.assertLessEqual(trw["lower"], exact)
            self.assertLessEqual(exact, trw["upper"])
            self.assertLess(trw["upper"], submod["upper"])
            self.assertIsNone(trw["dual"])
            self.assertIsNone(trw["extension"])
            self.assertEqual((trw["method"], trw["termination"]), ("trw", "converged"))
            uppers = [record["upper"] for record in trw["iterations"]]
            for before, after in zip(uppers, uppers[1:]):
                self.assertLessEqual(after, before + 1e-9)
            self.assertAlmostEqual(uppers[-1], trw["upper"], delta=1e-8)

    def test_a_spin_glass(self):
        for strength in (0.5, 3.0):
            model = self.write("spins.uai", spin_glass(5, 4, strength, 3))
            for method in ("pdhg", "fw", "mf"):
                finished = self.run_command("solve", model, "--method", method)
                self.assert_one_sentence(finished, mentions=["repulsive"])
            exact = self.exact(model, "--mar", "exact.MAR")
            self.assertEqual(self.solve(model)["upper"], exact)
            trw = self.solve(model, "--method", "trw", "--mar", "trw.MAR", "--pr", "trw.PR")
            self.assertLessEqual(trw["lower"], exact)
            self.assertLess(exact, trw["upper"])
            self.assertAlmostEqual(trw["lower"], -trw["energy"])
            self.assertAlmostEqual(read_pr(self.directory / "trw.PR"), trw["upper"] / math.log(10), delta=1e-6)
            better = self.solve(model, "--method", "trw", "--rho-steps", "20")
            self.assertLess(better["upper"], trw["upper"])
            self.assertLessEqual(exact, better["upper"])
            marginals, truth = read_mar(self.directory / "trw.MAR"), read_mar(self.directory / "exact.MAR")
            for row, true_row in zip(marginals, truth, strict=True):
                self.assertAlmostEqual(sum(row), 1.0, delta=1e-6)
                if strength == 0.5:
                    self.assertAlmostEqual(row[0], true_row[0], delta=0.1)

    def test_a_spin_glass_too_large_for_exact_inference(self):
        """Goes to TRW by itself, which says why."""
        model = self.write("spins.uai", spin_glass(60, 60, 1.0, 3))
        auto = self.solve(model)
        self.assertEqual((auto["method"], auto["options"]["method"]), ("trw", "auto"))
        self.assertEqual(auto["upper"], self.solve(model, "--method", "trw")["upper"])
        (note,) = auto["notes"]
        self.assertIn("trw", note)
        self.assertIn("repulsive", note)
        self.assertIn(note, self.run_well("solve", model).stdout.splitlines())
        # There is no bound for such tables at temperature 0.
        self.assert_one_sentence(self.run_command("solve", model, "--temperature", 0), mentions=["temperature"])

    def test_a_chain_is_exact(self):
        tables = [((a, a + 1), [math.sin(7 * a + k) for k in range(2 * 3)]) for a in (0, 2)]
        tables += [((1, 2), [math.cos(5 * k) for k in range(6)])]
        model = self.write("chain.uai", uai_text([2, 3, 2, 3], tables))
        exact = self.exact(model, "--mar", "exact.MAR")
        trw = self.solve(model, "--method", "trw", "--mar", "trw.MAR")
        self.assertAlmostEqual(trw["upper"], exact, delta=1e-9)
        for row, true_row in zip(read_mar(self.directory / "trw.MAR"), read_mar(self.directory / "exact.MAR"), strict=True):
            self.assertEqual(len(row), len(true_row))
            for p, q in zip(row, true_row):
                self.assertAlmostEqual(p, q, delta=1e-6)

    def test_time_that_is_given_improves_the_forests(self):
        model = self.generate(width=30, height=30, labels=4, weight=1.5, connectivity=8)
        even = self.solve(model)
        better = self.solve(model, "--time-limit", 30)
        self.assertEqual((even["method"], better["method"]), ("trw", "trw"))
        self.assertLess(better["upper"] - better["lower"], 0.9 * (even["upper"] - even["lower"]))

    def test_temperature(self):
        model = self.generate(weight=1.5)
        for temperature in ("0.5", "2"):
            exact = self.exact(model, "--temperature", temperature)
            trw = self.solve(model, "--method", "trw", "--temperature", temperature)
            self.assertLessEqual(trw["lower"], exact)
            self.assertLessEqual(exact, trw["upper"])

    def test_text_and_picture(self):
        finished = self.run_well("solve", self.generate(), "--method", "trw", "--picture", "picture.png")
        self.assertIn("Certified: log Z lies between", finished.stdout)
        self.assertGreater(png_size(self.directory / "picture.png")[0], 0)


class MeanFieldBetweenTrees(CommandTest):

    def test_raises_the_lower_bound(self):
        model = self.generate(width=6, height=5, weight=1)
        exact = self.exact(model)
        for method in ("mf", "trw", "pdhg"):
            with self.subTest(method=method):
                naive = self.solve(model, "--method", method, "--mean-field", "naive")["lower"]
                forest = self.solve(model, "--method", method, "--mean-field", "forest")["lower"]
                default = self.solve(model, "--method", method)["lower"]
                self.assertLess(naive, forest)
                self.assertLessEqual(forest, exact)
                self.assertEqual(default, naive if method == "mf" else forest)


class Refused(CommandTest):

    def assert_refused(self, *arguments, mentions=()):
        finished = self.run_command("solve", *arguments)
        self.assertEqual(finished.code, 2, finished)
        self.assertEqual(len(finished.messages.splitlines()), 1, finished)
        for word in mentions:
            self.assertIn(word, finished.stderr)

    def test_options(self):
        model = self.generate()
        self.assert_refused(model, "--rho-steps", "5", mentions=["--rho-steps", "trw"])
        self.assert_refused(model, "--method", "exact", "--mean-field", "forest", mentions=["--mean-field", "exact"])
        self.assert_refused(model, "--mean-field", "oak", mentions=["oak"])
        self.assert_refused(model, "--method", "trw", "--temperature", "0", mentions=["temperature"])
        self.assert_refused(model, "--method", "trw", "--extension", "alternate", mentions=["alternate", "trw"])

    def test_models(self):
        model = self.write("triple.uai", uai_text([2, 2, 2], [((0, 1, 2), [0.1 * k for k in range(8)])]))
        self.assert_refused(model, "--method", "trw", mentions=["3 variables"])
        self.run_well("generate", "--dense", "--width", 4, "--height", 3, "--labels", 3, "-o", "dense.json")
        self.assert_refused("dense.json", "--method", "trw", mentions=["trw", "dense"])


if __name__ == "__main__":
    main()
