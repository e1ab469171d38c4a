"""`submarine generate`: a seed names a model, and bad options are refused before anything is written."""

import itertools

from submarine_support import Array, Bundle, CommandTest, main, read_json


class Generate(CommandTest):

    def contents(self, folder):
        return {path.name: path.read_bytes() for path in (self.directory / folder).iterdir()}

    def generate_into(self, folder, **options):
        (self.directory / folder).mkdir()
        self.generate(f"{folder}/model.json", **options)
        return self.contents(folder)

    def test_a_seed_names_a_model(self):
        first = self.generate_into("first", width=7, height=5, labels=4, seed=11)
        again = self.generate_into("again", width=7, height=5, labels=4, seed=11)
        other = self.generate_into("other", width=7, height=5, labels=4, seed=12)
        self.assertEqual(sorted(first), ["model.json", "model.unary.npy"])
        self.assertEqual(first, again)
        self.assertEqual(first["model.json"], other["model.json"])
        self.assertNotEqual(first["model.unary.npy"], other["model.unary.npy"])

    def test_the_header_says_what_was_asked_for(self):
        self.generate(width=7, height=5, labels=6, weight=2.5, connectivity=8, metric="truncated:3")
        header = read_json(self.directory / "model.json")
        self.assertEqual(header, {"submarine": "grid", "width": 7, "height": 5, "labels": 6, "connectivity": 8,
                                  "weight": 2.5, "metric": "truncated:3", "unary": "model.unary.npy"})
        self.assertEqual(Array(self.directory / "model.unary.npy").shape, (5, 7, 6))
        # 6 * 5 to the right, 7 * 4 down, 6 * 4 along each diagonal.
        self.assertEqual(len(Bundle(self.directory / "model.json").edges), 30 + 28 + 48)

    def test_unaries_fill_their_range(self):
        self.generate(width=40, height=30, labels=5, low=-3.0, high=7.0)
        values = Array(self.directory / "model.unary.npy").values
        self.assertGreaterEqual(min(values), -3.0)
        self.assertLess(max(values), 7.0)
        # The standard deviation of the mean of 6000 such values is 0.037.
        self.assertAlmostEqual(sum(values) / len(values), 2.0, delta=0.2)
        self.assertLess(min(values), -2.9)
        self.assertGreater(max(values), 6.9)

    def test_one_sentence_says_what_was_written(self):
        finished = self.run_well("generate", "--width", 4, "--height", 3, "--labels", 3, "-o", "model.json")
        self.assertEqual(len(finished.stdout.splitlines()), 1)
        for word in ("model.json", "12 variables", "17 edges", "3 labels", "potts"):
            self.assertIn(word, finished.stdout)
        self.assertEqual(finished.messages, "")

    def test_a_tree_file_is_found_beside_the_output(self):
        (self.directory / "sub").mkdir()
        self.write("sub/tree.json", {"children": [{"label": 0}, {"label": 1}, {"label": 2}]})
        self.generate("sub/model.json", metric="tree:tree.json")
        self.assertIsNotNone(self.solve("sub/model.json")["upper"])

    def test_a_tree_that_is_no_hst(self):
        arguments = ["generate", "--width", 2, "--height", 2, "--labels", 3, "--metric", "tree:(0:1,1:2,2:2)", "-o",
                     "model.json"]
        self.assertIn("warning", self.run_well(*arguments).stderr)
        self.assertEqual(self.run_command(*arguments, "--strict-hst").code, 2)


class BadOptions(CommandTest):

    def assert_refused(self, *arguments, mentions=()):
        (self.directory / "folder.json").mkdir(exist_ok=True)
        before = sorted(self.directory.rglob("*"))
        finished = self.run_command("generate", *arguments)
        self.assert_one_sentence(finished, mentions)
        self.assertEqual(sorted(self.directory.rglob("*")), before)

    def test_values(self):
        for option, value, word in (
                ("--labels", "1", "1"), ("--labels", "1025", "1025"), ("--labels", "-3", "-3"),
                ("--labels", "many", "many"),
                ("--width", "0", "0 x"), ("--width", "-5", "-5 x"), ("--height", "0", "x 0"), ("--width", "2.5", "2.5"),
                ("--connectivity", "6", "6"),
                ("--weight", "-1", "-1"), ("--weight", "nan", "nan"), ("--weight", "inf", "inf"),
                ("--low", "11", "11"), ("--low", "nan", "nan"), ("--high", "nan", "nan"), ("--low", "-inf", "nan"),
                ("--high", "inf", "inf"), ("--metric", "pots", "pots"), ("--metric", "tree:2x2:1,0.5", "4 labels"),
                ("--metric", "tree:no.json", "no.json"), ("--seed", "-1", "--seed"), ("--seed", "x", "--seed"),
                ("--nonsense", "1", "--nonsense")):
            with self.subTest(option=option, value=value):
                options = {"--width": "4", "--height": "3", "--labels": "3", option: value}
                self.assert_refused(*itertools.chain(*options.items()), "-o", "model.json", mentions=[word])

    def test_too_many_variables(self):
        self.assert_refused("--width", 100000, "--height", 100000, "-o", "model.json", mentions=["100000 x 100000"])

    def test_outputs(self):
        self.assert_refused(mentions=["--output"])
        self.write("file", "")
        for name, word in (("nowhere/model.json", "nowhere/model.json"), ("file/model.json", "file/model.json"),
                           ("folder.json", "folder.json"), ("model", ".json"), ("model.npy", ".json"), ("", ".json")):
            with self.subTest(name=name):
                self.assert_refused("--width", 4, "--height", 3, "-o", name, mentions=[word])


if __name__ == "__main__":
    main()
