"""Bad input of every kind: exit code 2, one sentence that names what is at fault, and nothing written."""

import math
import os
import subprocess

from submarine_support import PROGRAM, CommandTest, main, npy_bytes, read_json, uai_text, write_npy

# More than reading a small file takes, much less than what the files of the tests below claim to need.
MODEST_MEGABYTES = 400
# Sanitizers have memory of their own; their builds are in build-asan and build-tsan.
INSTRUMENTED = os.environ.get("SUBMARINE_BUILD_DIR", "").endswith(("asan", "tsan"))

UNARIES = [0.1 * (7 * k % 11) for k in range(18)]


class BadInputTest(CommandTest):

    def snapshot(self):
        return {path.relative_to(self.directory): path.read_bytes() if path.is_file() else None
                for path in self.directory.rglob("*")}

    def assert_refused(self, *arguments, mentions=(), timeout=60):
        """No output may appear, whole or in part."""
        before = self.snapshot()
        finished = self.run_command(*arguments, timeout=timeout)
        self.assert_one_sentence(finished, mentions)
        self.assertEqual(self.snapshot(), before, "files changed")
        if not INSTRUMENTED:
            self.assertLess(finished.peak_megabytes, MODEST_MEGABYTES, finished)
        return finished

    def assert_model_refused(self, model, *options, mentions=()):
        return self.assert_refused("solve", model, "--json", "out.json", "--marginals", "out.npy", "--mar", "out.MAR",
                                   "--labels", "labels.npy", *options, mentions=mentions)


class ModelFiles(BadInputTest):

    def test_missing_file(self):
        for name in ("no.json", "no.uai", "no.fg", "nowhere/no.json"):
            with self.subTest(name=name):
                self.assert_model_refused(name, mentions=[name, "No such file"])

    def test_directory(self):
        for name in ("d.json", "d.uai", "d.fg"):
            (self.directory / name).mkdir()
            with self.subTest(name=name):
                self.assert_model_refused(name, mentions=[name, "directory"])

    def test_unknown_ending(self):
        for name in ("model.txt", "model", "model.npy"):
            self.write(name, "MARKOV")
            with self.subTest(name=name):
                self.assert_model_refused(name, mentions=[name, ".uai, .fg or .json"])

    def test_empty_and_blank_files(self):
        for ending in ("json", "uai", "fg"):
            for content in ("", "  \n\n"):
                with self.subTest(ending=ending, content=content):
                    name = self.write(f"empty.{ending}", content)
                    self.assert_model_refused(name, mentions=[name])

    def test_garbage(self):
        for ending in ("json", "uai", "fg"):
            for content in ("Lorem ipsum dolor sit amet", bytes(range(256)) * 40, b"\x00" * 100, b"\xff\xfe\n" * 9):
                with self.subTest(ending=ending, content=content[:10]):
                    name = self.write(f"garbage.{ending}", content)
                    self.assert_model_refused(name, mentions=[name])

    def test_every_truncation_of_a_uai_file(self):
        text = uai_text([2, 2], [((0,), [0.1, 0.4]), ((0, 1), [0.0, 1.0, 1.0, 0.0])]).rstrip()
        words = text.split()
        for count in range(len(words)):
            name = self.write("cut.uai", " ".join(words[:count]))
            with self.subTest(words=count):
                self.assert_model_refused(name, mentions=[name])

    def test_uai_with_words_to_spare(self):
        name = self.write("long.uai", uai_text([2], [((0,), [0.1, 0.4])]) + "0.5\n")
        self.assert_model_refused(name, mentions=[name, "0.5"])

    def test_uai_numbers(self):
        cases = {
            "nan": "MARKOV 1 2 1 1 0 2 nan 0.5",
            "inf": "MARKOV 1 2 1 1 0 2 0.5 inf",
            "-0.5": "MARKOV 1 2 1 1 0 2 -0.5 0.5",
            "twelve": "MARKOV 1 2 1 1 0 2 0.5 twelve",
            "-1": "MARKOV 1 -1 1 1 0 2 0.5 0.5",
            "variable": "MARKOV 1 2 1 1 7 2 0.5 0.5",
            "twice": "MARKOV 2 2 2 1 2 0 0 4 1 1 1 1",
            "3 entries": "MARKOV 1 2 1 1 0 3 0.5 0.5 0.5",
            "DIRECTED": "DIRECTED 1 2 1 1 0 2 0.5 0.5",
        }
        for word, text in cases.items():
            with self.subTest(word=word):
                self.assert_model_refused(self.write("bad.uai", text), mentions=["bad.uai", word])

    def test_huge_claims_in_uai(self):
        for text in ("MARKOV 2000000000 2 2 2", "MARKOV 99999999999999999999 2", "MARKOV 2 2 2 2000000000 1 0 1 1",
                     "MARKOV 2 1000000 1000000 1 2 0 1 1000000000000 1 1 1",
                     "MARKOV 9 " + "1000000 " * 9 + "1 9 0 1 2 3 4 5 6 7 8 9223372036854775807 1",
                     "MARKOV 2 2 2 1 1999999999 0 1"):
            with self.subTest(text=text):
                self.assert_model_refused(self.write("huge.uai", text), mentions=["huge.uai"])

    def test_huge_claims_in_fg(self):
        for text in ("2000000000\n\n1\n0\n2\n0\n",
                     "1\n\n1\n2000000000\n2\n0\n",
                     "1\n\n2\n0 1\n2000000000 2000000000\n0\n",
                     "1\n\n1\n0\n2\n2000000000\n0 1\n",
                     "1\n\n2000000000\n0 1\n2 2\n0\n"):
            with self.subTest(text=text):
                self.assert_model_refused(self.write("huge.fg", text), mentions=["huge.fg"])

    def test_evidence(self):
        self.write("model.uai", uai_text([2, 2], [((0, 1), [0.0, 1.0, 1.0, 0.0])]))
        for text, word in (("1 5 0", "variable 5"), ("1 0 7", "7"), ("2 0", "evid"), ("", "evid"), ("1 zero 0", "zero"),
                           ("2 0 0 0 1", "variable 0"), ("2000000000", "evid")):
            with self.subTest(text=text):
                self.write("model.evid", text)
                self.assert_model_refused("model.uai", "--evidence", "model.evid", mentions=[word])
        self.assert_model_refused("model.uai", "--evidence", "no.evid", mentions=["no.evid"])
        self.assert_model_refused(self.write_grid(), "--evidence", "model.evid", mentions=["evidence"])


class Bundles(BadInputTest):

    def test_broken_json(self):
        for text in ('{"submarine": "grid",', '{"submarine": "grid" "width": 3}', "{'submarine': 'grid'}", "[1, 2",
                     '{"a": 1} x'):
            with self.subTest(text=text):
                self.assert_model_refused(self.write("broken.json", text), mentions=["broken.json:1:", "JSON"])

    def test_other_json(self):
        for text in ("[]", "3", '"grid"', "null", "{}", '{"submarine": "torus"}', '{"submarine": 3}'):
            with self.subTest(text=text):
                self.assert_model_refused(self.write("other.json", text), mentions=["other.json", "grid", "graph"])

    def test_deeply_nested_json(self):
        self.assert_model_refused(self.write("deep.json", "[" * 200000), mentions=["deep.json"])
        self.assert_model_refused(self.write("deep.json", '{"submarine":' * 50000), mentions=["deep.json"])

    def test_unknown_repeated_and_missing_keys(self):
        self.assert_model_refused(self.write_grid(wieght=3), mentions=["model.json", "wieght"])
        self.assert_model_refused(self.write_graph(width=3), mentions=["model.json", "width"])
        self.write("twice.json", '{"submarine": "grid", "width": 3, "width": 2}')
        self.assert_model_refused("twice.json", mentions=["twice.json", "width", "twice"])
        for key in ("width", "height", "labels", "metric", "unary"):
            with self.subTest(key=key):
                self.assert_model_refused(self.write_grid(drop=[key]), mentions=["model.json", f'"{key}"', "missing"])
        for key in ("variables", "labels", "metric", "unary", "edges"):
            with self.subTest(key=key):
                self.assert_model_refused(self.write_graph(drop=[key]), mentions=["model.json", f'"{key}"', "missing"])

    def test_values_of_keys(self):
        cases = {
            "width": [0, -3, 2.5, "3", 10**10, 10**30, [3], True],
            "height": [0, -1, 2147483647],
            "labels": [1, 0, -2, 1025, 2.5],
            "connectivity": [5, 0, "four"],
            "weight": [-1, -1e-300, "heavy", [1]],
            "constant": ["zero", {}],
            "metric": [5, "", "pots", "truncated:", "truncated:0", "truncated:1.5", "truncated:-1", "tree:",
                       "tree", "Potts"],
            "unary": [3, ""],
        }
        for key, values in cases.items():
            for value in values:
                with self.subTest(key=key, value=value):
                    self.assert_model_refused(self.write_grid(**{key: value}), mentions=["model.json"])

    def test_numbers_beyond_double(self):
        header = '{"submarine": "grid", "width": 3, "height": 2, "labels": 3, "metric": "potts", "unary": "unary.npy", '
        self.write_grid()
        for number in ("1e999", "-1e999", "NaN", "Infinity"):
            with self.subTest(number=number):
                self.write("far.json", header + f'"weight": {number}}}')
                self.assert_model_refused("far.json", mentions=["far.json"])

    def test_not_finite_unaries(self):
        for value in (math.nan, math.inf, -math.inf):
            with self.subTest(value=value):
                unaries = UNARIES.copy()
                unaries[10] = value
                self.assert_model_refused(self.write_grid(unary=npy_bytes((2, 3, 3), unaries)),
                                          mentions=["unary.npy", str(value), "[1, 0, 1]"])

    def test_energies_whose_sum_overflows(self):
        self.write_grid("unaries.json", unary=npy_bytes((2, 3, 3), [1.7e308] * 18))
        for method in ("pdhg", "fw", "mf", "exact"):
            with self.subTest(method=method):
                self.assert_model_refused("unaries.json", "--method", method, mentions=["too large"])
        self.assert_model_refused(self.write_grid(weight=1e308), mentions=["too large"])
        self.assert_model_refused(self.write_grid(metric="tree:3:1.7e308"), mentions=["too large"])

    def test_shapes(self):
        for shape, count in (((2, 3, 2), 12), ((3, 2, 3), 18), ((6, 3), 18), ((18,), 18), ((), 1),
                             ((2, 3, 3, 1), 18), ((0, 3, 3), 0)):
            with self.subTest(shape=shape):
                self.assert_model_refused(self.write_grid(unary=npy_bytes(shape, [0.5] * count)),
                                          mentions=["unary.npy", "shape", "(2, 3, 3)"])
        self.assert_model_refused(self.write_grid(weights="w.npy"), mentions=["w.npy"])
        write_npy(self.directory / "w.npy", (6,), [1.0] * 6)
        self.assert_model_refused(self.write_grid(weights="w.npy"), mentions=["w.npy", "(6,)", "(7,)"])
        self.assert_model_refused(self.write_grid(weights="w.npy", weight=2), mentions=["weight"])

    def test_truncated_npy(self):
        whole = npy_bytes((2, 3, 3), UNARIES)
        for size in (0, 1, 5, 8, 9, 10, 40, len(whole) - 144, len(whole) - 8, len(whole) - 1):
            with self.subTest(size=size):
                self.assert_model_refused(self.write_grid(unary=whole[:size]), mentions=["unary.npy"])
        self.assert_model_refused(self.write_grid(unary=whole + b"\0"), mentions=["unary.npy", "too long"])

    def test_huge_claims_in_npy(self):
        for shape in ((1000000, 1000000, 20), (2**62, 4, 4), (2**63 - 1,), (10**30, 2), (2**32, 2**32, 1)):
            with self.subTest(shape=shape):
                header = npy_bytes(shape, [])
                self.assert_model_refused(self.write_grid(unary=header + b"\0" * 64), mentions=["unary.npy"])
        self.assert_model_refused(self.write_grid(unary=b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"),
                                  mentions=["unary.npy", "truncated"])
        self.assert_model_refused(self.write_grid(width=2000000000, height=1), mentions=["unary.npy", "shape"])

    def test_other_npy(self):
        whole = npy_bytes((2, 3, 3), UNARIES)
        cases = {
            "Fortran": whole.replace(b"False", b"True "),
            "big-endian": whole.replace(b"<f8", b">f8"),
            "objects": whole.replace(b"'<f8'", b"'|O' "),
            "type": whole.replace(b"<f8", b"<c8"),
            "version": whole[:6] + b"\x09" + whole[7:],
            "header": whole.replace(b"shape", b"shaep"),
            "NUMPY": b"PK\x03\x04" + whole,
        }
        for word, content in cases.items():
            with self.subTest(word=word):
                self.assert_model_refused(self.write_grid(unary=content), mentions=["unary.npy", word])

    def test_arrays_that_are_no_files(self):
        self.write_grid()
        (self.directory / "sub").mkdir()
        for name in ("nowhere.npy", "sub", "/dev/zero"):
            with self.subTest(name=name):
                header = {"submarine": "grid", "width": 3, "height": 2, "labels": 3, "metric": "potts", "unary": name}
                self.assert_model_refused(self.write("model.json", header), mentions=["model.json", name])

    def test_weights(self):
        for value in (-1.0, math.nan, math.inf):
            with self.subTest(value=value):
                write_npy(self.directory / "w.npy", (7,), [1.0, 1.0, 1.0, value, 1.0, 1.0, 1.0])
                self.assert_model_refused(self.write_grid(weights="w.npy"), mentions=["w.npy", "[3]", "weights"])
        self.assert_model_refused(self.write_grid(weight=-0.5), mentions=["weight", "-0.5"])

    def test_edges(self):
        for edges, word in (([(0, 4)], "4"), ([(-1, 2)], "-1"), ([(0, 1), (2, 2)], "itself")):
            with self.subTest(edges=edges):
                self.assert_model_refused(self.write_graph(edges=edges), mentions=["edges.npy", word])
        self.write_graph()
        for shape, dtype, word in (((4, 2), "<f8", "integers"), ((8,), "<i4", "shape"), ((2, 4), "<i4", "shape")):
            with self.subTest(shape=shape, dtype=dtype):
                write_npy(self.directory / "edges.npy", shape, [0] * 8, dtype)
                self.assert_model_refused("model.json", mentions=["edges.npy", word])


class Usage(BadInputTest):

    def test_unknown_options_and_commands_name_the_nearest(self):
        self.assert_refused("solve", "model.json", "--max-memroy", 3, mentions=["--max-memroy", "did you mean --max-memory?"])
        self.assert_refused("segment", "a.png", "--softmx=s.npy", mentions=["--softmx", "did you mean --softmax?"])
        self.assert_refused("sove", "model.json", mentions=['"sove"', "did you mean solve?"])
        self.assert_refused("solve", "model.json", "--fnord", mentions=["has no option --fnord"])


class HostileHeaders(BadInputTest):
    """What a few bytes can make of time, memory and stack, and files that are none of a model's business."""

    def test_nesting(self):
        nested = "[" * 100_000 + "]" * 100_000
        for text in ('{"submarine": "grid", "width": ' + nested + "}", '{"submarine": "dense", "kernels": ' + nested + "}",
                     '{"submarine":' * 50_000 + "1" + "}" * 50_000):
            self.write("model.json", text)
            self.assert_model_refused("model.json", mentions=["model.json", "nested deeper than the 600 levels"])
        self.write("model.json", "[" * 10_000_000)
        self.assert_model_refused("model.json", mentions=["more than the 1048576 bytes"])

    def test_many_kernels(self):
        self.write("model.json", '{"submarine":"dense","width":1,"height":1,"labels":2,"kernels":[' + "{}," * 239_999 + "{}]}")
        finished = self.assert_refused("solve", "model.json", mentions=["240000", "at most 64"], timeout=20)
        if not INSTRUMENTED:
            self.assertLess(finished.peak_megabytes, 100)

    def test_paths(self):
        for name in ("/etc/passwd", "../unary.npy", "sub/../unary.npy", "unary.npy\0.png", ""):
            with self.subTest(name=name):
                self.assert_model_refused(self.write_grid(weights=name),
                                          mentions=["model.json", '"weights"', "inside the directory of the header"])
        for name in ("/etc/passwd", "../tree.json", "tree.json\0"):
            with self.subTest(name=name):
                finished = self.assert_model_refused(self.write_grid(metric="tree:" + name),
                                                     mentions=["model.json", "inside the directory of the header"])
                self.assertNotIn("root", finished.stderr)

    def test_links_out_of_the_directory(self):
        """A model is given to others, and results would tell them what the files of whoever solves it hold."""
        folder = self.directory / "folder"
        folder.mkdir()
        header = read_json(self.directory / self.write_grid())
        (folder / "unary.npy").write_bytes((self.directory / "unary.npy").read_bytes())
        self.write("tree.json", "{}")
        for key, value, target in (("unary", "link", "unary.npy"), ("weights", "link", "unary.npy"),
                                   ("metric", "tree:link", "tree.json"), ("unary", "link/unary.npy", "")):
            with self.subTest(key=key, value=value):
                self.write("folder/model.json", {**header, key: value})
                (folder / "link").symlink_to(self.directory / target)
                self.assert_model_refused("folder/model.json", mentions=["link", "is a link out of the bundle"])
                (folder / "link").unlink()
        (folder / "link").symlink_to("unary.npy")
        self.run_well("solve", self.write("folder/model.json", {**header, "unary": "link"}), "-q")

    def test_endless_files(self):
        for ending in ("uai", "fg", "json"):
            (self.directory / f"zero.{ending}").symlink_to("/dev/zero")
            finished = self.run_command("solve", f"zero.{ending}")
            self.assert_one_sentence(finished, [f"zero.{ending}", "is not a text file"])
            if not INSTRUMENTED:
                self.assertLess(finished.peak_megabytes, 100)


class Trees(BadInputTest):

    def refuse_tree(self, tree, mentions):
        self.write("tree.json", tree)
        self.assert_model_refused(self.write_grid(metric="tree:tree.json"), mentions=["tree.json", *mentions])

    def test_cycle(self):
        self.refuse_tree({"nodes": [{"id": "root"}, {"id": "a", "parent": "b"}, {"id": "b", "parent": "a"},
                                    {"id": "x", "parent": "a", "label": 0}, {"id": "y", "parent": "b", "label": 1},
                                    {"id": "z", "parent": "root", "label": 2}]}, ["cycle"])
        self.refuse_tree({"nodes": [{"id": "r", "parent": "r"}, {"id": "x", "parent": "r", "label": 0}]}, ["cycle"])

    def test_labels(self):
        leaf = lambda k: {"label": k}
        self.refuse_tree({"children": [leaf(0), leaf(1)]}, ["2 labels", "3"])
        self.refuse_tree({"children": [leaf(0), leaf(1), leaf(3)]}, ["label 3"])
        self.refuse_tree({"children": [leaf(0), leaf(1), leaf(1)]}, ["label 1"])
        self.refuse_tree({"children": [leaf(0), leaf(1), {"length": 2}]}, ["neither"])
        self.refuse_tree({"children": [leaf(0), leaf(1), {"label": 2, "children": [leaf(3)]}]}, ["label 2"])
        self.refuse_tree({"children": [leaf(0), leaf(1), leaf(-1)]}, ["label"])

    def test_structure(self):
        self.refuse_tree({"nodes": []}, ["nodes"])
        self.refuse_tree({"nodes": [{"id": 1}, {"id": 2}]}, ["root"])
        self.refuse_tree({"nodes": [{"id": 1}, {"id": 1}]}, ["1"])
        self.refuse_tree({"nodes": [{"id": 1}, {"id": 2, "parent": 5, "label": 0}]}, ["5"])
        self.refuse_tree({"nodes": [{"id": 1, "lenght": 2}]}, ["lenght"])
        self.refuse_tree({"children": [{"label": 0, "length": -1}, {"label": 1}, {"label": 2}]}, ["length", "-1"])
        self.refuse_tree({"children": 5}, ["children"])
        self.refuse_tree([1, 2], ["matrix"])
        self.refuse_tree("{", ["JSON"])
        for levels, word in ((270, "256"), (5000, "nested")):
            self.refuse_tree('{"children": [' * levels + '{"label": 0}' + "]}" * levels, [word])
        self.assert_model_refused(self.write_grid(metric="tree:nowhere.json"), mentions=["nowhere.json"])

    def test_inline(self):
        for spec in ("3", "3:", "3:1,2", "0:1", "3:-1", "99999x99999:1,1", "((0,1),2", "(0,1,2))", "(0,1,1)", "(0,1,5)",
                     "(0,,1)", "()", "(" * 400, "(0:x,1,2)", "4:1", "2x2:1,0.5"):
            with self.subTest(spec=spec):
                self.assert_model_refused(self.write_grid(metric="tree:" + spec), mentions=["model.json", "metric"])

    def test_strict_hst(self):
        for spec in ("((0,1):0.6,2:0.6)", "(0:1,1:0.5,2:0.5)"):
            with self.subTest(spec=spec):
                self.write_grid(metric="tree:" + spec)
                self.assert_model_refused("model.json", "--strict-hst", mentions=["model.json", "r-HST", "length"])
                self.assertIn("warning", self.run_well("solve", "model.json").stderr)


class Expressibility(BadInputTest):

    def refuse_pair(self, table, mentions):
        factors = [((0,), [0.2, 0.7, 0.1]), ((1,), [0.4, 0.3, 0.9]), ((0, 1), table)]
        self.write("model.uai", uai_text([3, 3], factors))
        for method in ("pdhg", "fw", "mf"):
            self.assert_model_refused("model.uai", "--method", method, mentions=["(0,1)", *mentions])
        self.run_well("solve", "model.uai", "--method", "exact")

    def test_triangle_inequality(self):
        self.refuse_pair([0, 1, 5, 1, 0, 1, 5, 1, 0], ["metric", "d(0,2)"])

    def test_repulsive_pair(self):
        self.refuse_pair([1, 0, 0, 0, 1, 0, 0, 0, 1], ["repulsive"])

    def test_spin_glass(self):
        self.write("glass.uai", uai_text([2] * 3, [((0, 1), [0, 1, 1, 0]), ((1, 2), [1, 0, 0, 1])]))
        self.assert_model_refused("glass.uai", "--method", "pdhg", mentions=["(1,2)", "repulsive"])
        self.assertAlmostEqual(self.solve("glass.uai")["upper"], math.log(2 * (1 + math.exp(-1)) ** 2), delta=1e-9)

    def test_asymmetric_beyond_unaries(self):
        self.refuse_pair([0, 1, 2, 2, 0, 1, 1, 2, 0], ["asymmetric"])

    def test_cardinalities(self):
        self.write("model.uai", uai_text([2, 3], [((0, 1), [0, 1, 1, 1, 0, 1])]))
        self.assert_refused("solve", "model.uai", "--json", "out.json", "--method", "pdhg",
                            mentions=["variable 0", "2", "3"])
        self.assertAlmostEqual(self.solve("model.uai")["upper"], math.log(2 + 4 * math.exp(-1)), delta=1e-9)

    def test_three_variables(self):
        self.write("model.uai", uai_text([2, 2, 2], [((0, 1, 2), [0.1 * k for k in range(8)])]))
        for method in ("pdhg", "trw"):
            self.assert_model_refused("model.uai", "--method", method, mentions=["factor 0", "3 variables"])
        self.assertAlmostEqual(self.solve("model.uai")["upper"], math.log(sum(math.exp(-0.1 * k) for k in range(8))),
                               delta=1e-9)
        # Too many of them for exact inference, too, on a torus of 60 x 60.
        triples = [tuple(y % 60 * 60 + x % 60 for x, y in ((x, y), (x + 1, y), (x, y + 1)))
                   for y in range(60) for x in range(60)]
        self.write("large.uai", uai_text([2] * 3600, [(scope, [0.1 * k for k in range(8)]) for scope in triples]))
        self.assert_model_refused("large.uai", mentions=["factor 0", "3 variables"])

    def test_forbidden_labelings(self):
        self.write("model.uai", "MARKOV 2 2 2 1 2 0 1 4 1 0 0 1")
        self.assert_model_refused("model.uai", "--method", "pdhg", mentions=["factor 0", "infinite"])
        self.assertAlmostEqual(self.solve("model.uai")["upper"], math.log(2), delta=1e-9)
        self.write("never.uai", "MARKOV 1 2 1 1 0 2 0 0")
        for method in ("auto", "exact", "trw"):
            self.assert_model_refused("never.uai", "--method", method, "--pr", "out.PR", mentions=["no labeling"])


class OutputFiles(BadInputTest):

    OPTIONS = ("--json", "--marginals", "--mar", "--pr", "--labels", "--picture")

    def setUp(self):
        super().setUp()
        # At gap 0 this solve takes minutes: a refusal that comes soon came before it.
        self.slow = self.generate(width=150, height=150, labels=20, weight=5.0, high=10.0)
        (self.directory / "folder").mkdir()

    def test_unwritable_outputs_are_known_before_solving(self):
        for option in self.OPTIONS:
            for path in ("nowhere/out", "model.json/out", "folder", "folder/", "n" * 300):
                with self.subTest(option=option, path=path[:20]):
                    self.assert_refused("solve", self.slow, "--gap", 0, option, path, mentions=[path], timeout=20)

    def test_one_bad_output_spoils_none_of_the_good(self):
        self.assert_refused("solve", self.slow, "--gap", 0, "--json", "good.json", "--marginals", "good.npy",
                            "--labels", "nowhere/out.npy", mentions=["nowhere/out.npy"], timeout=20)

    def test_full_disk(self):
        small = self.generate("small.json")
        for option in self.OPTIONS:
            with self.subTest(option=option):
                self.assert_refused("solve", small, "--quiet", option, "/dev/full", mentions=["/dev/full", "No space"])

    def test_outputs_that_collide(self):
        (self.directory / "link.json").symlink_to(self.slow)
        for arguments, word in ((["--json", self.slow], "model"), (["--json", f"folder/../{self.slow}"], "model"),
                                (["--labels", "link.json"], "model"), (["--json", "x", "--mar", "./x"], "--json")):
            with self.subTest(arguments=arguments):
                self.assert_refused("solve", self.slow, "--gap", 0, *arguments, mentions=[arguments[-2], word],
                                    timeout=20)

    def test_picture_of_what_is_no_grid(self):
        self.assert_refused("solve", self.write_graph("graph.json"), "--picture", "p.png",
                            mentions=["--picture", "grid"])

    def test_pr_at_another_temperature(self):
        self.assert_refused("solve", self.slow, "--pr", "out.PR", "--temperature", 2,
                            mentions=["--pr", "--temperature 1"])

    def test_ragged_marginals(self):
        self.write("ragged.uai", uai_text([2, 3], [((0, 1), [0, 1, 1, 1, 0, 1])]))
        self.assert_refused("solve", "ragged.uai", "--method", "exact", "--marginals", "out.npy",
                            mentions=["--marginals", "--mar"])


class Options(BadInputTest):

    def test_values(self):
        model = self.generate()
        cases = [
            (["--method", "magic"], ["--method", "magic", "pdhg"]), (["--method", "0"], ["--method"]),
            (["--method", ""], ["--method"]), (["--extension", "best"], ["--extension", "best"]),
            (["--step", "long"], ["--step", "long"]),
            (["--temperature", "-1"], ["--temperature", "-1"]), (["--temperature", "nan"], ["--temperature", "nan"]),
            (["--temperature", "inf"], ["--temperature", "inf"]),
            (["--temperature", "warm"], ["--temperature", "warm"]),
            (["--gap", "-1e-3"], ["--gap"]), (["--gap", "nan"], ["--gap"]), (["--gap"], ["--gap"]),
            (["--time-limit", "-1"], ["--time-limit"]), (["--time-limit", "nan"], ["--time-limit"]),
            (["--max-iterations", "-1"], ["--max-iterations"]), (["--max-iterations", "2.5"], ["--max-iterations"]),
            (["--max-iterations", "99999999999999999999"], ["--max-iterations"]),
            (["--rounding", "-1"], ["--rounding"]), (["--starts", "0"], ["--starts"]), (["--seed", "-1"], ["--seed"]),
            (["--threads", "-1"], ["--threads"]),
            (["--max-memory", "-1"], ["--max-memory"]), (["--max-memory", "nan"], ["--max-memory"]),
            (["--certify", "none"], ["--certify", "dense"]),
            (["--nonsense"], ["--nonsense"]), (["another.json"], ["another.json"]),
            (["--extension", "alternate"], ["alternate", "auto"]),
            (["--method", "fw", "--temperature", "0"], ["temperature", "0"]),
            (["--method", "mf", "--temperature", "0"], ["temperature", "0"]),
        ]
        for arguments, mentions in cases:
            with self.subTest(arguments=arguments):
                self.assert_refused("solve", model, "--json", "out.json", *arguments, mentions=mentions)

    def test_commands(self):
        self.assert_refused(mentions=["--help"])
        self.assert_refused("solve", mentions=["MODEL"])
        self.assert_refused("slove", "model.json", mentions=["slove"])
        self.assert_refused("--nonsense", mentions=["--help"])

    def test_exact_refuses_what_does_not_fit_into_memory(self):
        model = self.generate(width=100, height=100, labels=20)
        self.assert_model_refused(model, "--method", "exact", mentions=["memory", "GiB"])
        small = self.generate("small.json", width=8, height=8, labels=4)
        self.assert_model_refused(small, "--method", "exact", "--max-memory", "1e-5", mentions=["memory"])
        # The pair tables alone would take 17 GB, and on machines that have them it is known before they are built.
        wide = self.generate("wide.json", width=50, height=20, labels=1024, metric="linear")
        self.assert_model_refused(wide, "--method", "exact", "--max-memory", "8", mentions=["memory", "tables"])
        self.assert_model_refused(wide, "--method", "exact", mentions=["memory"])

    def test_full_standard_output(self):
        model = self.generate()
        with open("/dev/full", "w", encoding="utf-8") as full:
            finished = subprocess.run([PROGRAM, "solve", model, "--json", "s.json"], cwd=self.directory,
                                      stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=60, check=False)
        self.assertEqual(finished.returncode, 2)
        self.assertRegex(finished.stderr, "^submarine: cannot write to standard output: [^\n]*\n$")
        self.assertTrue((self.directory / "s.json").exists())


if __name__ == "__main__":
    main()
