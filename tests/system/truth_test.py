"""Intervals against the truth: enumeration in decimals of the numbers as they are written, and published values. The models
of the audit, where they are, are those on which certificates once were wrong; each has a copy or its like here."""

import decimal
import itertools
import math
import os
import pathlib
import random
import re
import unittest

from submarine_support import SOURCE_DIR, Array, CommandTest, distance_function, main, read_json, read_pr, write_npy

DATA = pathlib.Path(os.environ.get("SUBMARINE_DATA", SOURCE_DIR / ".." / "shared" / "data"))
D = decimal.Decimal
# Far beyond what any comparison here needs: ends of intervals have 17 digits, energies up to 10^100 cancel.
DIGITS = 140


def setUpModule():
    decimal.getcontext().prec = DIGITS


# ---- The truth ----

class Tables:
    """Factors of energies, as decimals; None is an impossible entry. Small components, or few variables."""

    def __init__(self, cardinality, factors):
        self.cardinality = cardinality
        self.factors = factors  # scope, energies with the last variable fastest

    @classmethod
    def read_uai(cls, path):
        words = iter(pathlib.Path(path).read_text(encoding="ascii").split())
        assert next(words) == "MARKOV"
        cardinality = [int(next(words)) for _ in range(int(next(words)))]
        scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
        potentials = [[D(next(words)) for _ in range(int(next(words)))] for _ in scopes]
        logarithms = {p: -p.ln() if p else None for table in potentials for p in table}
        return cls(cardinality, [(scope, [logarithms[p] for p in table])
                                 for scope, table in zip(scopes, potentials, strict=True)])

    def components(self):
        owner = list(range(len(self.cardinality)))

        def root(a):
            while owner[a] != a:
                owner[a] = owner[owner[a]]
                a = owner[a]
            return a
        for scope, _ in self.factors:
            for a in scope:
                owner[root(a)] = root(scope[0])
        groups = {}
        for a in range(len(owner)):
            groups.setdefault(root(a), ([], []))[0].append(a)
        for scope, table in self.factors:
            groups[root(scope[0])][1].append((scope, table))
        return groups.values()

    def value(self, temperature=1):
        """T log Z_T, at T = 0 minus the least energy; None where no labeling is possible."""
        total = D(0)
        for variables, factors in self.components():
            energies = []
            for labels in itertools.product(*(range(self.cardinality[a]) for a in variables)):
                x = dict(zip(variables, labels))
                terms = [table[self.position(scope, x)] for scope, table in factors]
                if None not in terms:
                    energies.append(sum(terms, D(0)))
            if not energies:
                return None
            total += free_energy(energies, temperature)
        return total

    def position(self, scope, x):
        position = 0
        for a in scope:
            position = position * self.cardinality[a] + x[a]
        return position


def free_energy(energies, temperature):
    least = min(energies)
    if temperature == 0:
        return -least
    return -least + D(temperature) * sum(((least - e) / D(temperature)).exp() for e in energies).ln()


def pair_tables(unary, weights, metric, constant):
    """`weights` maps pairs to decimals."""
    labels = range(len(unary[0]))
    distance = distance_function(metric)
    factors = [([a], [D(cost) for cost in row]) for a, row in enumerate(unary)]
    factors.append(([0], [D(constant)] * len(labels)))
    for (a, b), weight in weights.items():
        factors.append(([a, b], [weight * D(distance(i, j)) for i in labels for j in labels]))
    return Tables([len(labels)] * len(unary), factors)


def graph_tables(path):
    """Of a graph bundle."""
    path = pathlib.Path(path)
    header = read_json(path)
    weights = {}
    for edge, weight in zip(Array(path.parent / header["edges"]).rows(), Array(path.parent / header["weights"]).values,
                            strict=True):
        weights[tuple(edge)] = weights.get(tuple(edge), D(0)) + D(weight)
    return pair_tables(Array(path.parent / header["unary"]).rows(), weights, header["metric"], header.get("constant", 0))


def dense_tables(path):
    """Of a dense bundle whose kernels are of features, with one sigma, or of positions."""
    path = pathlib.Path(path)
    header = read_json(path)
    unary = Array(path.parent / header["unary"]).rows()
    count = len(unary)
    factor = {"ordered": 2, "once": 1}[header.get("pairs", "ordered")]
    weights = {}
    for kernel in header["kernels"]:
        if kernel["type"] == "features":
            rows = Array(path.parent / kernel["features"]).rows()
        else:
            rows = [(a % header["width"], a // header["width"]) for a in range(count)]
        features = [[D(value) / D(kernel["sigma"]) for value in row] for row in rows]
        values = [[(-sum((p - q) ** 2 for p, q in zip(f, g)) / 2).exp() for g in features] for f in features]
        scales = [D(1)] * count
        if kernel.get("normalisation") == "symmetric":
            scales = [1 / sum(row).sqrt() for row in values]
        for a, b in itertools.combinations(range(count), 2):
            if values[a][b] * factor * D(kernel["weight"]) > 0:
                weights[a, b] = (weights.get((a, b), D(0))
                                 + factor * D(kernel["weight"]) * scales[a] * scales[b] * values[a][b])
    return pair_tables(unary, weights, header["metric"], header.get("constant", 0))


# ---- Comparisons ----

class TruthTest(CommandTest):

    def solve_anything(self, model, *arguments):
        """The summary of a solve; None where it is refused, in one sentence and without output."""
        (self.directory / "s.json").unlink(missing_ok=True)
        finished = self.run_command("solve", model, "--json", "s.json", *arguments)
        if finished.code != 0:
            self.assert_one_sentence(finished)
            self.assertFalse((self.directory / "s.json").exists())
            return None
        summary = read_json(self.directory / "s.json")
        summary["text"] = finished.stdout
        self.assert_provenance(summary)
        if summary["upper"] is not None and summary["lower"] is not None:
            self.assertEqual(summary["interval"]["width"], summary["upper"] - summary["lower"])
            self.assert_printed(summary)
        return summary

    def assert_provenance(self, summary):
        """Where every number comes from: there is no other way into a summary."""
        expected = {"exact"} if summary["termination"] == "exact" else {"verified"}
        self.assertEqual(set(summary["provenance"]), {"lower", "upper", "dual", "energy"})
        for key, provenance in summary["provenance"].items():
            if summary[key] is None:
                self.assertIsNone(provenance, key)
            else:
                self.assertIn(provenance, expected | ({"verified"} if key == "energy" else set()), key)

    def assert_printed(self, summary):
        """The terminal says the same, rounded outwards."""
        ends = re.search(r"(log Z|log Z at T = \S+|the least energy) lies between (\S+) and (\S+?)(?:\.$| \()",
                         summary["text"], re.MULTILINE).groups()[1:]
        summary["printed"] = [D(end) for end in ends]
        lower, upper = (D(summary[key]) for key in ("lower", "upper"))
        if summary["temperature"] == 0:
            lower, upper = -upper, -lower
        for end, printed, outwards in ((lower, summary["printed"][0], -1), (upper, summary["printed"][1], 1)):
            excess = (printed - end) * outwards
            self.assertGreaterEqual(excess, 0)
            # A unit of the last decimal, or where doubles are further apart than that, two of them.
            self.assertLessEqual(excess, D("1e-6") + 2 * D(math.ulp(float(end))))

    def assert_holds(self, summary, truth):
        """Without any tolerance, in the summary and, by the decimals that are printed, on the terminal."""
        least = D(summary["lower"])
        self.assertLessEqual(least, truth, f"by {float(least - truth):g}")
        if summary["upper"] is not None:
            most = D(summary["upper"])
            self.assertLessEqual(truth, most, f"by {float(truth - most):g}")
            value = -truth if summary["temperature"] == 0 else truth
            self.assertLessEqual(summary["printed"][0], value)
            self.assertLessEqual(value, summary["printed"][1])
            self.assertIsNotNone(summary["energy"])
            self.assertLessEqual(D(summary["map"]["lower"]), D(summary["energy"]))

    def check_overlaps(self, model):
        """Too large to enumerate: intervals about the same model overlap, and none is inverted."""
        lower, upper = {}, {}
        for method, pairs, certify in itertools.product(("auto", "pdhg", "fw", "mf"), ("auto", "list"),
                                                        ("exact", "operator")):
            with self.subTest(method=method, pairs=pairs, certify=certify):
                summary = self.solve_anything(model, "--method", method, "--pairs", pairs, "--certify",
                                              certify, "--cutoff", 0.3, "--gap", 0.1)
                about = summary["about"]
                lower[about] = max(summary["lower"], lower.get(about, -math.inf))
                if method != "mf":
                    self.assertLessEqual(summary["lower"], summary["upper"])
                    upper[about] = min(summary["upper"], upper.get(about, math.inf))
        # Mean field may choose another operator than methods that have an upper bound.
        both = lower.keys() & upper.keys()
        self.assertGreaterEqual(len(both), 2)
        for about in both:
            self.assertLessEqual(lower[about], upper[about], about)


# Bounds hold after any number of iterations; some models here would take all that they may.
SPARSE_RUNS = [("--method", method, "--temperature", temperature, "--max-iterations", 1000)
               for method in ("auto", "exact", "pdhg", "fw", "trw", "mf") for temperature in (1, 0.5, 0)]
DENSE_METHODS = ("auto", "pdhg", "fw", "routed", "mf", "exact")


class Written(TruthTest):
    """Models whose numbers are written here."""

    def check_uai(self, text, *, refused=()):
        name = self.write("model.uai", text)
        tables = Tables.read_uai(self.directory / name)
        solved = 0
        for arguments in SPARSE_RUNS:
            with self.subTest(arguments=arguments):
                summary = self.solve_anything(name, *arguments)
                smooth = arguments[1] in ("fw", "trw", "mf") and arguments[3] == 0
                self.assertEqual(summary is None, smooth or arguments[1] in refused)
                if summary is not None:
                    solved += 1
                    self.assert_holds(summary, tables.value(D(str(arguments[3]))))
        self.assertGreater(solved, 0)

    def test_one_variable(self):
        """The nearest decimals of its logarithm, 0.693147 and 0.693147, leave it out."""
        name = self.write("model.uai", "MARKOV 1 2 1 1 0 2 1 1")
        for method in ("auto", "exact", "pdhg", "trw"):
            self.assert_holds(self.solve_anything(name, "--method", method), D(2).ln())

    def test_subnormal_potentials(self):
        self.check_uai("MARKOV 1 2 1 1 0 2 3e-324 3e-324")
        self.check_uai("MARKOV 2 2 2 1 2 0 1 4 7e-4800 1e-4801 1e-4801 7e-4800")

    def test_tables_that_are_nearly_attractive(self):
        """What a method makes of them differs from what was given, by less than is worth a refusal."""
        for repulsion in ("1.0000005", "1.0000000001"):
            with self.subTest(repulsion=repulsion):
                self.check_uai(self.repulsive(repulsion))
        # Nearly symmetric.
        self.check_uai("MARKOV 2 3 3 2 1 0 2 0 1 3 1e260 2e260 3e260 "
                       "9 1e-260 5e-261 5e-261 5.0000001e-261 1e-260 5e-261 5e-261 5e-261 1e-260")
        # Two metrics, or nearly one.
        self.check_uai("MARKOV 3 3 3 3 2 2 0 1 2 1 2 9 1 1e-200 1e-200 1e-200 1 1e-200 1e-200 1e-200 1 "
                       "9 1 1e-200 1.0000001e-200 1e-200 1 1e-200 1.0000001e-200 1e-200 1")

    @staticmethod
    def repulsive(factor):
        """Energies of 600 that the unaries take back: a relative tolerance means more there."""
        return f"MARKOV 2 2 2 3 1 0 1 1 2 0 1 2 1e130 1e130 2 1e130 1e130 4 1e-260 {factor}e-260 {factor}e-260 1e-260"

    def test_tables_that_are_far_from_attractive(self):
        self.check_uai(self.repulsive("1.5"),
                       refused=("pdhg", "fw", "mf"))

    def test_the_defect_of_tables_is_named(self):
        name = self.write("model.uai", self.repulsive("1.0000005"))
        summary = self.solve_anything(name, "--method", "pdhg")
        # Half of the repulsion, ln 1.0000005, is the least that any attractive model differs by.
        self.assertGreater(summary["defect"], 2.4e-7)
        self.assertLess(summary["defect"], 1e-6)
        self.assertIn("The tables were turned into a model whose energies differ from theirs by at most", summary["text"])
        exact = self.solve_anything(name, "--method", "exact")
        self.assertEqual(exact["defect"], 0.0)
        self.assertNotIn("differ", exact["text"])

    def test_many_tables_that_are_nearly_attractive(self):
        """500 pairs, repulsive by 1e-9 of their energies, which adds up."""
        equal, unequal = "2.061153622438557828e-9", "2.0611536616004770263e-9"
        scopes = " ".join(f"2 {a} {a + 1}" for a in range(0, 1000, 2))
        tables = " ".join([f"4 {equal} {unequal} {unequal} {equal}"] * 500)
        self.check_uai(f"MARKOV 1000 {'2 ' * 1000} 500 {scopes} {tables}")

    def test_no_labeling_is_possible(self):
        for text in ("MARKOV 2 1 3 3 2 1 0 2 0 1 1 0 3 1e-54 2e81 0 3 3e-126 2e-51 3e53 1 0",
                     "MARKOV 2 2 2 2 1 0 2 0 1 2 1 0 4 0 0 1 1"):
            name = self.write("zero.uai", text)
            self.assertIsNone(Tables.read_uai(self.directory / name).value())
            for method in ("auto", "exact", "trw"):
                finished = self.run_command("solve", name, "--method", method, "--mar", "m.MAR", "--pr", "p.PR")
                self.assert_one_sentence(finished, mentions=["no labeling"])
                self.assertEqual([path.name for path in self.directory.iterdir()], ["zero.uai"])

    def graph(self, unary, edges, weights, **header):
        write_npy(self.directory / "u.npy", (len(unary), len(unary[0])), itertools.chain(*unary))
        write_npy(self.directory / "e.npy", (len(edges), 2), itertools.chain(*edges), "<i8")
        write_npy(self.directory / "w.npy", (len(edges),), weights)
        return self.write("graph.json", {"submarine": "graph", "variables": len(unary), "labels": len(unary[0]),
                                         "edges": "e.npy", "weights": "w.npy", "metric": "potts", "unary": "u.npy",
                                         **header})

    def test_energies_that_cancel(self):
        for name, arguments in (
                ("unaries", ([[1e16, 3e16], [1.0, 50.0], [-1e16, 3e16]], [], [], {})),
                ("edges", ([[1e16, 3e16], [1.0, 50.0], [-1e16, 3e16]], [(0, 1), (1, 2)], [0.1, 3.0], {})),
                ("constant", ([[1.0, 0.03, 1e16], [1e16, 1e16, 0.3]], [(0, 1)], [1e100], {"constant": -1e16})),
                ("decimals", ([[0.1, 0.2], [0.3, 0.7], [-0.9, 0.1]], [(0, 1), (1, 2), (0, 2)], [0.1, 0.2, 0.3],
                              {"constant": 1e9}))):
            *parts, header = arguments
            model = self.graph(*parts, **header)
            tables = graph_tables(self.directory / model)
            for options in SPARSE_RUNS:
                with self.subTest(name=name, options=options):
                    summary = self.solve_anything(model, *options)
                    self.assertEqual(summary is None,
                                     options[3] == 0 and options[1] in ("fw", "trw", "mf"))
                    if summary is not None:
                        self.assert_holds(summary, tables.value(D(str(options[3]))))

    def test_a_wide_interval_is_not_blamed_on_the_kind_of_bound(self):
        """Independent variables: the bound is as good as its arithmetic, which numbers of 1e16 spoil."""
        model = self.graph([[1e16, 3e16], [1.0, 50.0], [-1e16, 3e16]], [], [])
        summary = self.solve_anything(model, "--method", "pdhg")
        gap = (summary["upper"] - summary["dual"]) / max(1.0, abs(summary["upper"]))
        self.assertGreater(gap, 0.1)
        self.assertNotIn("nearly the best of its kind", summary["text"])

    def dense(self, *, unary, kernels, **header):
        write_npy(self.directory / "u.npy", (len(unary), len(unary[0])), itertools.chain(*unary), "<f4")
        return self.write("dense.json", {"submarine": "dense", "labels": len(unary[0]), "unary": "u.npy",
                                         "metric": "potts", "kernels": kernels, **header})

    def check_dense(self, model, temperatures, *options, methods=DENSE_METHODS):
        tables = dense_tables(self.directory / model)
        for temperature in temperatures:
            truth = tables.value(D(str(temperature)))
            for method in methods:
                if method in ("fw", "routed") and temperature == 0:
                    continue
                certify = () if method == "exact" else ("--certify", "exact")
                with self.subTest(temperature=temperature, method=method, options=options):
                    summary = self.solve_anything(model, "--temperature", temperature, "--method", method, *certify,
                                                  *options)
                    self.assertIn("exact Gaussians", summary["about"])
                    self.assert_holds(summary, truth)

    def test_dense_models_at_every_temperature(self):
        unary = [[0.1 * (7 * (4 * a + i) % 11) for i in range(3)] for a in range(6)]
        for metric in ("potts", "linear", "truncated:2"):
            model = self.dense(unary=unary, metric=metric, width=3, height=2,
                               kernels=[{"type": "position", "sigma": 1.5, "weight": 0.3}])
            self.check_dense(model, (0.1, 0.5, 1, 2, 10, 0))

    def test_features_far_from_zero(self):
        write_npy(self.directory / "near.npy", (2, 1), [16777216.0, 16777217.0])
        write_npy(self.directory / "late.npy", (2, 1), [1700000000, 1700000060], "<i8")
        for features, sigma in (("near.npy", 1), ("late.npy", 60)):
            kernel = {"type": "features", "features": features, "sigma": sigma, "weight": 2}
            model = self.dense(unary=[[0.0, 0.0], [0.0, 0.0]], variables=2, pairs="once", kernels=[kernel])
            self.check_dense(model, (1, 0))
            self.assertAlmostEqual(self.exact(model), 0.953421414, delta=1e-9)

    def test_normalisation_is_that_of_the_model(self):
        """Whichever operator applies the pairs."""
        write_npy(self.directory / "f.npy", (6, 6), [2.65 * (a == b) for a in range(6) for b in range(6)], "<f4")
        kernel = {"type": "features", "features": "f.npy", "sigma": 1, "weight": 100, "normalisation": "symmetric"}
        model = self.dense(unary=[[0.0, 9.0 + a] if a % 2 else [8.0, 0.0] for a in range(6)], variables=6,
                           kernels=[kernel])
        values = set()
        for pairs in ("auto", "list", "brute-force", "lattice"):
            self.check_dense(model, (1,), "--pairs", pairs)
            values.add(self.exact(model, "--pairs", pairs))
        self.assertEqual(len(values), 1, values)

    def test_large_costs_in_single_precision(self):
        """The solver's own value of this model is 69 nats below the truth, and takes 20 steps to say so."""
        model = self.dense(unary=[[33554432.0] * 2] * 100, variables=100, kernels=[])
        truth = D(-3355443200) + 100 * D(2).ln()
        for method, certify in itertools.product(("auto", "pdhg", "fw", "mf"), ("exact", "operator")):
            with self.subTest(method=method, certify=certify):
                self.assert_holds(self.solve_anything(model, "--method", method, "--certify", certify), truth)

    def test_a_model_of_130_variables(self):
        """Features of 0 and 1, of which many agree, and unaries that all but forbid all labels but one: intervals are narrow."""
        dice = random.Random(7)
        for name, dimension in (("few.npy", 2), ("many.npy", 5)):
            write_npy(self.directory / name, (130, dimension), [dice.randrange(2) for _ in range(130 * dimension)], "<f4")
        unary = [[30000.0] * 3 for _ in range(130)]
        for row in unary:
            row[dice.randrange(3)] = dice.random()
        self.check_overlaps(self.dense(unary=unary, variables=130, pairs="once", kernels=[
            {"type": "features", "features": "few.npy", "sigma": 1, "weight": 1.0},
            {"type": "features", "features": "many.npy", "sigma": 1, "weight": 0.01}]))

    def test_certify_none(self):
        model = self.dense(unary=[[0.1, 0.7]] * 4, width=2, height=2, kernels=[{"type": "position", "sigma": 1}])
        for method in ("auto", "pdhg", "fw", "mf"):
            with self.subTest(method=method):
                summary = self.solve_anything(model, "--method", method, "--certify", "none", "--labels", "l.npy",
                                              "--marginals", "m.npy")
                for key in ("lower", "upper", "dual", "energy"):
                    self.assertIsNone(summary[key], key)
                self.assertEqual(summary["map"], {"lower": None, "upper": None})
                self.assertNotIn("interval", summary)
                self.assertIn("Nothing was certified.", summary["text"].splitlines())
                for word in ("Certified", "exact Gaussians", "as applied by", "Optimality", "no labeling"):
                    self.assertNotIn(word, summary["text"])
                self.assertEqual(Array(self.directory / "l.npy").values, [0] * 4)
                for row in Array(self.directory / "m.npy").rows():
                    self.assertAlmostEqual(sum(row), 1.0, delta=1e-6)

    def test_certify_none_has_no_log_z_to_write(self):
        """An output that was asked for is written, or the command fails."""
        model = self.dense(unary=[[0.1, 0.7]] * 4, width=2, height=2, kernels=[])
        finished = self.run_command("solve", model, "--certify", "none", "--pr", "p.PR")
        self.assert_one_sentence(finished, mentions=["--pr", "--certify none"])
        self.assertFalse((self.directory / "p.PR").exists())


@unittest.skipUnless((DATA / "audit").is_dir(), f"no {DATA / 'audit'} (set SUBMARINE_DATA)")
class Audit(TruthTest):
    """Every model of the audit, by every method."""

    def audit(self, name):
        return DATA / "audit" / name

    def check(self, name, tables, runs):
        truths, solved = {}, 0
        for arguments in runs:
            with self.subTest(name=name, arguments=arguments):
                summary = self.solve_anything(self.audit(name), *arguments)
                if summary is None:
                    continue
                solved += 1
                temperature = D(str(summary["temperature"]))
                if temperature not in truths:
                    truths[temperature] = tables.value(temperature)
                self.assert_holds(summary, truths[temperature])
        self.assertGreater(solved, 2)

    def test_tables(self):
        for name in ("merge.uai", "one.uai", "pairs500.uai", "sub.uai", "tol_neg.uai", "tol_big_neg.uai"):
            self.check(name, Tables.read_uai(self.audit(name)), SPARSE_RUNS)

    def test_graphs(self):
        for name in ("canc.json", "m27.json"):
            self.check(name, graph_tables(self.audit(name)), SPARSE_RUNS)

    def test_dense(self):
        runs = [("--method", method, "--temperature", temperature, *certify, "--pairs", pairs)
                for method, pairs, temperature in itertools.product(DENSE_METHODS, ("auto", "list", "lattice", "brute-force"),
                                                                    (1, 0.5, 0))
                for certify in [() if method == "exact" else ("--certify", "exact")]]
        for name in ("ft.json", "ft3.json", "nm.json"):
            self.check(name, dense_tables(self.audit(name)), runs)

    def test_a_model_of_130_variables(self):
        self.check_overlaps(self.audit("m7.json"))

    def test_large_costs(self):
        truth = D(-3355443200) + 100 * D(2).ln()
        for method, certify in itertools.product(("auto", "fw"), ("exact", "operator")):
            summary = self.solve_anything(self.audit("sp1.json"), "--method", method, "--certify", certify)
            self.assert_holds(summary, truth)

    def test_values(self):
        self.assertAlmostEqual(self.exact(self.audit("ft.json")), 0.953421, delta=1e-6)
        values = {self.exact(self.audit("nm.json"), *pairs)
                  for pairs in ((), ("--pairs", "brute-force"), ("--pairs", "lattice"))}
        self.assertEqual(len(values), 1, values)

    def test_no_labeling_is_possible(self):
        self.assertIsNone(Tables.read_uai(self.audit("zero.uai")).value())
        for method in ("auto", "exact", "trw", "pdhg", "mf"):
            finished = self.run_command("solve", self.audit("zero.uai"), "--method", method, "--mar", "m.MAR", "--pr",
                                        "p.PR", "--json", "s.json")
            self.assert_one_sentence(finished)
            self.assertEqual(list(self.directory.iterdir()), [])


@unittest.skipUnless((DATA / "models").is_dir(), f"no {DATA / 'models'} (set SUBMARINE_DATA)")
class Published(TruthTest):
    """Public models, solved by nothing but their names."""

    @staticmethod
    def unit(text):
        """Of the last digit that is written."""
        return D(1).scaleb(D(text).as_tuple().exponent)

    def reference(self):
        lines = (DATA / "models" / "reference.tsv").read_text(encoding="utf-8").splitlines()
        columns = lines[0].split("\t")
        return {line.split("\t")[0]: dict(zip(columns, line.split("\t"))) for line in lines[1:]}

    def assert_near(self, summary, text, factor=D(1)):
        """Published values were rounded: they are off by up to one of their last digits."""
        value, slack = D(text) * factor, self.unit(text) * factor
        self.assertLessEqual(D(summary["lower"]), value + slack)
        self.assertLessEqual(value - slack, D(summary["upper"]))

    def test_every_model(self):
        reference = self.reference()
        models = sorted(path for path in (DATA / "models").iterdir() if path.suffix in (".uai", ".fg"))
        self.assertGreater(len(models), 5)
        compared = 0
        for path in models:
            with self.subTest(model=path.name):
                summary = self.solve_anything(path)
                self.assertIsNotNone(summary)
                self.assertLess(summary["lower"], summary["upper"])
                row = reference.get(path.name, {})
                if row.get("exact_lnZ"):
                    self.assert_near(summary, row["exact_lnZ"])
                    compared += 1
                answer = path.with_name(path.name + ".PR")
                if answer.exists():
                    self.assertTrue(math.isfinite(read_pr(answer)))
                    self.assert_near(summary, answer.read_text(encoding="ascii").split()[1], D(10).ln())
                if row.get("MAP_energy"):
                    least = D(row["MAP_energy"])
                    self.assertLessEqual(-least - self.unit(row["MAP_energy"]), D(summary["upper"]))
                    self.assertGreaterEqual(D(summary["energy"]), least - self.unit(row["MAP_energy"]))
        self.assertGreater(compared, 5)


if __name__ == "__main__":
    main()
