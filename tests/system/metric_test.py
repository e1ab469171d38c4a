"""Label metrics from files: `submarine metric`, and the same files in the other commands."""

import itertools
import json
import math

from submarine_support import Array, CommandTest, main, npy_bytes, read_json

# Distances of the graph K_{2,3}, which are no sum of cuts.
K23 = [[0 if i == j else 1 if (i < 2) != (j < 2) else 2 for j in range(5)] for i in range(5)]
TREE = "label\tparent\ncat\tanimal\ndog\tanimal\ncar\tcar\nsky\tbackground\nroad\tbackground\n"


class Metric(CommandTest):

    def report(self, metric, *arguments):
        self.run_well("metric", metric, "--json", "metric.json", *arguments)
        return read_json(self.directory / "metric.json")

    def enumerate(self, unary, edges, distance):
        """log Z by its definition."""
        labels = len(distance)
        energies = [sum(unary[a][i] for a, i in enumerate(x)) + sum(distance[x[a]][x[b]] for a, b in edges)
                    for x in itertools.product(range(labels), repeat=len(unary))]
        least = min(energies)
        return math.log(math.fsum(math.exp(least - energy) for energy in energies)) - least

    def square(self, metric, distance):
        """A 2 x 2 grid whose metric is in a file, solved by pdhg: its summary and log Z."""
        labels = len(distance)
        unary = [[0.3 * ((5 * a + 3 * i) % 7) for i in range(labels)] for a in range(4)]
        self.write("u.npy", npy_bytes((2, 2, labels), [value for row in unary for value in row]))
        self.write("model.json", {"submarine": "grid", "width": 2, "height": 2, "labels": labels, "metric": metric,
                                  "unary": "u.npy"})
        return self.solve("model.json", "--method", "pdhg"), self.enumerate(unary, [(0, 1), (2, 3), (0, 2), (1, 3)], distance)

    def test_a_matrix_that_is_no_sum_of_cuts_has_a_valid_interval(self):
        self.write("k23.json", K23)
        report = self.report("k23.json")
        self.assertFalse(report["exact"])
        self.assertGreaterEqual(report["worst_ratio"], 4 / 3 - 1e-9)
        below = [[math.fsum(cut["length"] for cut in report["cuts"] if (i in cut["labels"]) != (j in cut["labels"]))
                  for j in range(5)] for i in range(5)]
        for i, j in itertools.product(range(5), repeat=2):
            self.assertLessEqual(below[i][j], K23[i][j] + 1e-12)
        summary, exact = self.square("k23.json", K23)
        self.assertLessEqual(summary["lower"], exact + 1e-9)
        self.assertGreaterEqual(summary["upper"], exact - 1e-9)
        self.assertIn("worst ratio d/d'", summary["about"])
        self.assertEqual(summary["metric_loss"]["worst_ratio"], report["worst_ratio"])

    def test_what_is_no_metric_is_refused_repaired_or_kept(self):
        costs = [[0, 1, 5], [1, 0, 1], [5, 1, 0]]
        self.write("costs.csv", "\n".join(",".join(map(str, row)) for row in costs))
        self.assert_one_sentence(self.run_command("metric", "costs.csv"), ["costs.csv", "d(0,2) = 5", "repair:FILE"])
        summary, exact = self.square("compatibility:costs.csv", costs)
        self.assertLessEqual(summary["lower"], exact + 1e-9)
        self.assertGreaterEqual(summary["upper"], exact - 1e-9)
        self.assertIn("no metric", summary["about"])
        summary, exact = self.square("repair:costs.csv", [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
        self.assertLessEqual(summary["lower"], exact + 1e-9)
        self.assertGreaterEqual(summary["upper"], exact - 1e-9)
        self.assertNotIn("metric_loss", summary)

    def test_a_tree_is_drawn_and_its_groups_have_marginals(self):
        self.write("tree.tsv", TREE)
        finished = self.run_well("metric", "tree.tsv", "--picture", "tree.svg")
        for words in ("5 labels in 3 groups", "d' = d", "animal (1)", "0 cat (0.5)"):
            self.assertIn(words, finished.stdout)
        self.assertIn(">animal</text>", (self.directory / "tree.svg").read_text())
        self.write("u.npy", npy_bytes((3, 2, 5), [0.1 * (7 * k % 11) for k in range(30)]))
        self.write("model.json", {"submarine": "grid", "width": 2, "height": 3, "labels": 5, "metric": "tree.tsv",
                                  "unary": "u.npy"})
        finished = self.run_well("solve", "model.json", "--bundle", "out")
        self.assertIn("Groups: ", finished.stdout)
        groups = read_json(self.directory / "out/summary.json")["groups"]
        self.assertEqual([(group["name"], group["labels"]) for group in groups],
                         [("animal", [0, 1]), ("car", [2]), ("background", [3, 4])])
        marginals = Array(self.directory / "out/marginals.npy")
        sums = Array(self.directory / "out/groups.npy")
        self.assertEqual(sums.shape, (3, 2, 3))
        rows = [marginals.values[k:k + 5] for k in range(0, 30, 5)]
        for k, row in enumerate(rows):
            for found, expected in zip(sums.values[3 * k:3 * k + 3], (row[0] + row[1], row[2], row[3] + row[4])):
                self.assertAlmostEqual(found, expected, places=6)
        share = sum(row[0] + row[1] for row in rows) / 6
        self.assertAlmostEqual(groups[0]["share"], share, places=6)
        self.assertAlmostEqual(groups[0]["of_which"]["cat"], sum(row[0] for row in rows) / 6 / share, places=5)
        self.assertAlmostEqual(sum(group["share"] for group in groups), 1.0, places=6)

    def test_bad_files_are_refused_and_nothing_is_written(self):
        cases = {
            "wide.csv": ("0,1,2\n1,0,1\n", "2 x 3"),
            "nan.csv": ("0,nan\nnan,0\n", "nan"),
            "asymmetric.csv": ("0,1\n2,0\n", "not symmetric"),
            "cycle.tsv": ("a\tx\nx\ty\ny\tx\n", "cycle"),
            "roots.tsv": ("a\tx\nb\ty\nx\t\ny\t\n", "two roots"),
            "twice.tsv": ("a\tx\nb\tx\na\tx\n", "lines 1 and 3"),
            "twice.csv": ("a,b,a\n0,1,1\n1,0,1\n1,1,0\n", 'two labels are called "a"'),
            "twice.json": ('{"children": [{"id": "g", "children": [{"id": "x"}, {"id": "x"}]}, {"id": "y"}]}',
                           'two labels are called "x"'),
            "groups.json": ('{"children": [{"id": "g", "children": [{"id": "x"}]}, {"id": "g", "children": [{"id": "y"}]}]}',
                            'two groups are called "g"'),
            "beyond.csv": ("0,1e999\n1e999,0\n", "beyond the range"),
            "many.tsv": ("".join(f"l{k}\tg{k % 9}\n" for k in range(100000)), "1024"),
            "missing.npy": (None, "missing.npy"),
            "metric.xyz": ("0,1\n1,0\n", "needs --labels"),
        }
        for name, (text, reason) in cases.items():
            with self.subTest(name=name):
                if text is not None:
                    self.write(name, text)
                before = sorted(path.name for path in self.directory.iterdir())
                self.assert_one_sentence(self.run_command("metric", name, "--json", "out.json", "--picture", "out.svg"),
                                         [reason])
                self.assertEqual(sorted(path.name for path in self.directory.iterdir()), before)

    def test_a_picture_is_for_trees_only(self):
        self.write("m.json", json.dumps(K23))
        self.assert_one_sentence(self.run_command("metric", "m.json", "--picture", "out.svg"), ["label trees"])
        self.assertFalse((self.directory / "out.svg").exists())

    def test_names_of_metrics(self):
        self.assertEqual(len(self.report("tree2b", "--labels", 20)["cuts"]), 26)
        self.run_well("metric", "tree2b", "--picture", "tree.svg")
        self.assertIn("19", (self.directory / "tree.svg").read_text())
        self.assert_one_sentence(self.run_command("metric", "tree2b", "--labels", 21), ["21", "20 labels"])
        self.assertEqual(self.report("truncated:3", "--labels", 16)["worst_ratio"], 1.0)


if __name__ == "__main__":
    main()
