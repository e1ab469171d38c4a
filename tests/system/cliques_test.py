"""Cliques in bundles, and superpixels of `submarine segment`."""

import itertools
import math
import random

from submarine_support import Array, CommandTest, main, npy_bytes, png_bytes

BAD_CLIQUES = [
    ([{"members": [0, 0], "gamma": 1, "truncation": 0.5}], "clique 0 names variable 0 twice"),
    ([{"members": [0, 6], "gamma": 1, "truncation": 0.5}], "must be a list of variables from 0 to 5"),
    ([{"members": [], "gamma": 1, "truncation": 0.5}], "clique 0 has no variables"),
    ([{"members": [0, 1], "gamma": 1, "truncation": 1.5}], "the truncation Q of clique 0 is 1.5"),
    ([{"members": [0, 1], "gamma": -1, "truncation": 1}], "the gamma of clique 0 is -1"),
    ([{"members": [0, 1], "gamma": 1, "truncation": 1, "weights": [1, 0]}], "the weight of variable 1 in clique 0 is 0"),
    ([{"members": [0, 1], "gamma": 1}], 'key "truncation" is missing'),
    ([{"members": [0, 1], "gamma": 1, "truncation": 1, "theta": 1}], "unknown key"),
    ([5], "expected a JSON object"),
    ("elsewhere.json", "elsewhere.json"),
    (3, "cliques must be a list"),
]


class Cliques(CommandTest):

    def grid(self, cliques, kind="grid"):
        generator = random.Random(4)
        self.unary = [[generator.uniform(0, 2) for _ in range(3)] for _ in range(6)]
        self.write("u.npy", npy_bytes((2, 3, 3), [value for row in self.unary for value in row]))
        model = {"submarine": "grid", "width": 3, "height": 2, "labels": 3, "metric": "potts", "weight": 0.4,
                 "unary": "u.npy", "cliques": cliques}
        if kind == "dense":
            del model["weight"]
            model.update(submarine="dense", kernels=[])
        self.write("model.json", model)

    def exact(self, cliques, weight):
        edges = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
        energies = []
        for x in itertools.product(range(3), repeat=6):
            energy = sum(self.unary[a][i] for a, i in enumerate(x)) + weight * sum(x[a] != x[b] for a, b in edges)
            for clique in cliques:
                weights = clique.get("weights", [1.0] * len(clique["members"]))
                deviating = min(sum(u for a, u in zip(clique["members"], weights) if x[a] != i) for i in range(3))
                energy += min(clique["gamma"], clique["gamma"] / clique["truncation"] * deviating)
            energies.append(energy)
        return math.log(math.fsum(math.exp(-energy) for energy in energies))

    def test_bundles_have_valid_intervals(self):
        cliques = [{"members": [0, 1, 2, 4], "gamma": 2.0, "truncation": 1.2},
                   {"members": [1, 4, 5], "gamma": 1.0, "truncation": 0.5, "weights": [1, 2, 0.5]}]
        self.write("list.json", cliques)
        for kind, weight, methods in (("grid", 0.4, ("auto", "exact", "pdhg", "fw", "trw", "mf")),
                                      ("dense", 0.0, ("auto", "exact", "pdhg", "mf"))):
            for given, method in itertools.product((cliques, "list.json"), methods):
                self.grid(given, kind)
                exact = self.exact(cliques, weight)
                summary = self.solve("model.json", "--method", method)
                self.assertLessEqual(summary["lower"], exact + 1e-5)
                if method != "mf":
                    self.assertGreaterEqual(summary["upper"], exact - 1e-5)
                self.assertIn("2 cliques of up to 4 variables", summary["about"])

    def test_bad_cliques_are_refused_with_one_sentence(self):
        for cliques, message in BAD_CLIQUES:
            for kind in ("grid", "dense"):
                self.grid(cliques, kind)
                self.assert_one_sentence(self.run_command("solve", "model.json", "--json", "out.json"), [message])
                self.assertFalse((self.directory / "out.json").exists())

    def test_the_alternate_extension_is_refused(self):
        self.grid([{"members": [0, 1, 2], "gamma": 1, "truncation": 1}])
        self.assert_one_sentence(self.run_command("solve", "model.json", "--method", "fw", "--extension", "alternate"),
                                 ["cliques"])


class Superpixels(CommandTest):
    WIDTH, HEIGHT = 48, 32

    def setUp(self):
        super().setUp()
        generator = random.Random(9)
        pixels = [(x, y) for y in range(self.HEIGHT) for x in range(self.WIDTH)]
        self.truth = [int(x + y > 40) for x, y in pixels]
        self.write("photo.png", png_bytes(self.WIDTH, self.HEIGHT, 3, [50 + 130 * i for i in self.truth for _ in range(3)]))
        self.write("regions.png", png_bytes(self.WIDTH, self.HEIGHT, 1, [1 + i for i in self.truth]))
        self.write("wrong.png", png_bytes(4, 4, 1, [0] * 16))
        softmax = []
        for label in self.truth:
            label = 1 - label if generator.random() < 0.3 else label
            softmax += [0.4, 0.6] if label else [0.6, 0.4]
        self.write("softmax.npy", npy_bytes((self.HEIGHT, self.WIDTH, 2), softmax))

    def agreement(self, *superpixels, options=()):
        given = [text for one in superpixels for text in ("--superpixels", one)]
        self.run_well("segment", "photo.png", "--softmax", "softmax.npy", "-o", "out", "--position", "1,0",
                      "--bilateral", "1,10,0.01", "--no-report", *given, *options)
        labels = Array(self.directory / "out" / "labels.npy").values
        return sum(i == j for i, j in zip(labels, self.truth)) / len(labels)

    def test_superpixels_help_where_they_know_better(self):
        plain = self.agreement()
        for one in ("SLIC:8,2,0.5", "SLIC:8,20,2,0.5", "regions.png,2,0.5"):
            self.assertGreater(self.agreement(one), plain + 0.1)
        self.assertGreater(self.agreement("SLIC:6,1,0.5", "SLIC:16,1,0.5"), plain + 0.1)
        self.assertGreater(self.agreement("SLIC:8,0.3,0.5", options=("--certify", "--time-limit", "5")), plain)

    def test_bad_superpixels_are_refused(self):
        for text, message in (("SLIC", "expected SLIC"), ("SLIC:8,1,0.6", "the Q of superpixels is 0.6"),
                              ("SLIC:8,nan,0.1", "the gamma of superpixels"), ("SLIC:1,1,0.1", "the size of superpixels"),
                              ("missing.png,1,0.1", "missing.png"), ("wrong.png,1,0.1", "wrong.png")):
            finished = self.run_command("segment", "photo.png", "--softmax", "softmax.npy", "-o", "none", "--superpixels", text)
            self.assert_one_sentence(finished, [message])
            self.assertFalse((self.directory / "none" / "labels.npy").exists())


if __name__ == "__main__":
    main()
