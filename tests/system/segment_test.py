"""`submarine segment`: labels that follow edges, several pictures in one call, and what is refused."""

import itertools
import math
import random
import re
import resource
import struct
import subprocess
import time
import zlib

from submarine_support import PROGRAM, Array, CommandTest, main, png_bytes, png_size, read_json, write_npy

WIDTH, HEIGHT = 24, 16
MODEL = ("--bilateral", "20,20,10")


def is_right(x):
    return x >= WIDTH // 2


def two_colours():
    """Blue on the left, red on the right."""
    picture = []
    for y in range(HEIGHT):
        for x in range(WIDTH):
            shade = (7 * x + 5 * y) % 9
            picture += [200 + shade, 40, 30] if is_right(x) else [30, 60 + shade, 180]
    return picture


def noisy_softmax(labels=3, seed=1):
    """Rows that favour label 0 on the left and 1 on the right, wrong at every seventh pixel."""
    numbers = random.Random(seed)
    rows = []
    for y in range(HEIGHT):
        for x in range(WIDTH):
            best = int(is_right(x)) ^ int((y * WIDTH + x) % 7 == 0)
            row = [0.05 + 0.02 * numbers.random() for _ in range(labels)]
            row[best] += 0.5
            rows.append([p / sum(row) for p in row])
    return rows


def truth_values():
    return [int(is_right(x)) for _ in range(HEIGHT) for x in range(WIDTH)]


def bmp_bytes(width, height, samples):
    rows = b""
    for y in reversed(range(height)):
        row = b"".join(bytes(reversed(samples[3 * (y * width + x):3 * (y * width + x) + 3])) for x in range(width))
        rows += row + bytes(-len(row) % 4)
    return (b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54)
            + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0) + rows)


def indexed_png(path):
    """(palette, indices) of a PNG with a palette, 8 bits, whose rows use no filter but those undone here."""
    data, place, chunks = path.read_bytes(), 8, {}
    while place < len(data):
        (length,) = struct.unpack(">I", data[place:place + 4])
        kind = data[place + 4:place + 8]
        chunks[kind] = chunks.get(kind, b"") + data[place + 8:place + 8 + length]
        place += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 3), (depth, colour)
    raw, indices = zlib.decompress(chunks[b"IDAT"]), []
    for y in range(height):
        assert raw[y * (width + 1)] == 0, "libpng filters no rows of indices"
        indices += raw[y * (width + 1) + 1:(y + 1) * (width + 1)]
    return [tuple(chunks[b"PLTE"][k:k + 3]) for k in range(0, len(chunks[b"PLTE"]), 3)], indices


class SegmentTest(CommandTest):

    def setUp(self):
        super().setUp()
        self.write("picture.png", png_bytes(WIDTH, HEIGHT, 3, two_colours()))

    def write_softmax(self, name="softmax.npy", labels=3):
        rows = noisy_softmax(labels)
        write_npy(self.directory / name, (HEIGHT, WIDTH, labels), [p for row in rows for p in row], "<f4")
        return rows

    def segment(self, *arguments, picture="picture.png"):
        model = () if "--bilateral" in arguments else MODEL
        finished = self.run_well("segment", picture, "-o", "out", *model, *arguments)
        self.summary = read_json(self.directory / "out/summary.json")
        self.assertEqual(self.summary["kind"], "segment")
        if self.summary["upper"] is not None:
            self.assertLessEqual(self.summary["lower"], self.summary["upper"])
        self.output = finished
        return Array(self.directory / "out/labels.npy")


class Labels(SegmentTest):

    def test_softmax_in_either_order_of_axes(self):
        rows = self.write_softmax()
        first = [rows[a][label] for label in range(3) for a in range(WIDTH * HEIGHT)]
        write_npy(self.directory / "first.npy", (3, HEIGHT, WIDTH), first, "<f4")
        labels = self.segment("--softmax", "softmax.npy")
        self.assertEqual(labels.values, truth_values())
        self.assertIn("was read as (height, width, labels)", self.output.stdout)
        marginals = Array(self.directory / "out/marginals.npy").values
        self.assertEqual(self.segment("--softmax", "first.npy").values, truth_values())
        self.assertIn("was read as (labels, height, width)", self.output.stdout)
        self.assertEqual(Array(self.directory / "out/marginals.npy").values, marginals)

    def test_a_proof_is_added_to_the_labels_of_five_updates(self):
        self.write_softmax()
        labels = self.segment("--softmax", "softmax.npy").values
        self.assertEqual(self.summary["iterations"][-1]["k"], 5)
        self.assertEqual((self.summary["lower"], self.summary["upper"]), (None, None))
        marginals = Array(self.directory / "out/marginals.npy").values
        for words in ((), ("exact",), ("operator",)):
            with self.subTest(words=words):
                self.assertEqual(self.segment("--softmax", "softmax.npy", "--certify", *words).values, labels)
                self.assertEqual(Array(self.directory / "out/marginals.npy").values, marginals)
                self.assertEqual(self.summary["provenance"]["energy"], "verified")
                self.assertLess(self.summary["lower"], self.summary["upper"])
                self.assertGreaterEqual(self.summary["energy"], self.summary["map"]["lower"])
                self.assertEqual(self.summary["options"]["time_limit"], 30)
                self.assertIn("pair weights as applied" if words == ("operator",) else "exact Gaussians",
                              self.summary["about"])
                self.assertIn("Labels of 5 updates: energy", self.output.stdout)
                self.assertGreaterEqual(self.summary["lower"], -self.summary["energy"])
                seen = [record["lower"] for record in self.summary["iterations"] if record.get("lower") is not None]
                # None looser than what was seen on the way, but for the rounding of single precision.
                self.assertGreaterEqual(self.summary["lower"], max(seen) - 1e-4 * abs(max(seen)))
        upper, energy = self.summary["upper"], self.summary["energy"]
        self.segment("--softmax", "softmax.npy", "--certify", "lower")
        self.assertLess(self.summary["lower"], upper)
        self.assertIsNone(self.summary["upper"])
        self.segment("--softmax", "softmax.npy", "--least-energy")
        self.assertLessEqual(self.summary["energy"], energy + 1e-6 * abs(energy))

    def test_a_proof_says_how_many_labels_are_right_and_how_large_classes_are(self):
        self.write_softmax()
        self.write("truth.png", png_bytes(WIDTH, HEIGHT, 1, truth_values()))
        self.write("region.png", png_bytes(WIDTH, HEIGHT, 1, [255 * (a % WIDTH < 6) for a in range(WIDTH * HEIGHT)]))
        self.write("black.png", png_bytes(WIDTH, HEIGHT, 1, [0] * (WIDTH * HEIGHT)))
        certified = ("--softmax", "softmax.npy", "--truth", "truth.png", "--certify")
        labels = self.segment(*certified).values
        agreement, *areas = self.summary["expectations"]
        self.assertEqual([area["name"] for area in areas], ["area of 0", "area of 1"])
        for value in (agreement, *areas):
            self.assertLessEqual(value["credible_lower"], value["lower"])
            self.assertLess(value["lower"], value["upper"])
            self.assertLessEqual(value["upper"], value["credible_upper"])
            self.assertLessEqual(0, value["credible_lower"])
            self.assertLessEqual(value["credible_upper"], 100)
            self.assertEqual(value["provenance"], "verified")
        self.assertEqual([area["labels"] for area in areas], [50, 50])
        self.assertEqual([area["truth"] for area in areas], [50, 50])
        self.assertGreater(agreement["claimed"], 90)
        self.assertRegex(self.output.stdout, r"Proven: with a probability of at least 99.9%, [\d.]+ to [\d.]+% of these labels are right "
                         r"if the model is. Mean field claims [\d.]+%")
        self.assertRegex(self.output.stdout, r"Areas in the picture, with the same certainty: 0 [\d.]+ to [\d.]+%, 1 ")
        self.assertEqual(self.segment(*certified, "--region", "region.png").values, labels)
        agreement, *areas = self.summary["expectations"]
        self.assertEqual([(area["name"], area["labels"]) for area in areas], [("area of 0 in the region", 100)])
        self.assertIn("Areas in the region", self.output.stdout)
        self.assert_one_sentence(
            self.run_command("segment", "picture.png", "-o", "out", *certified, "--region", "black.png"), ["black.png", "white"])

    def test_kernels_fit_the_picture_and_the_classifier(self):
        rows = self.write_softmax()
        self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "-o", "out")
        adapted = read_json(self.directory / "out/summary.json")["options"]["segment"]
        costs = [[-math.log(max(p, 1e-5)) for p in row] for row in rows]
        sure = sum(sorted(cost)[1] - min(cost) for cost in costs) / len(costs)
        best = [cost.index(min(cost)) for cost in costs]

        def differ(apart):
            pairs = [(a, a + apart * step)
                     for a in range(len(best))
                     for step, fits in ((1, a % WIDTH + apart < WIDTH), (WIDTH, a + apart * WIDTH < len(best))) if fits]
            return sum(best[a] != best[b] for a, b in pairs) / len(pairs)

        speckle = 2 * differ(1) - differ(2)
        self.assertGreater(speckle, 0.01)
        self.assertAlmostEqual(adapted["position"][1] / (8 * speckle * sure), 1, places=4)
        self.assertAlmostEqual(adapted["bilateral"][2] / ((0.5 + 2 * speckle) * sure), 1, places=4)
        calibrated = Array(self.directory / "out/marginals.npy").values
        labels = Array(self.directory / "out/labels.npy").values
        self.write("same.json", {"submarine": "segmentation", "position_sigma": adapted["position"][0], "position_weight":
                                 adapted["position"][1], "bilateral_sigma": adapted["bilateral"][0], "colour_sigma":
                                 adapted["bilateral"][1], "bilateral_weight": adapted["bilateral"][2]})
        self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "--parameters", "same.json", "-o", "out")
        raw = Array(self.directory / "out/marginals.npy").values
        self.assertEqual(Array(self.directory / "out/labels.npy").values, labels)
        self.assertLess(sum(p * p for p in calibrated), sum(p * p for p in raw))  # less sure
        self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "--preset", "pydensecrf", "-o", "out")
        settings = read_json(self.directory / "out/summary.json")["options"]["segment"]
        self.assertEqual((settings["position"], settings["bilateral"]), ([3, 3], [80, 13, 10]))
        self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "--position", "2,1", "-o", "out")
        settings = read_json(self.directory / "out/summary.json")["options"]["segment"]
        self.assertEqual((settings["position"], settings["bilateral"]), ([2, 1], adapted["bilateral"]))

    def test_parameters_of_a_file_and_options_beside_it(self):
        self.write_softmax()
        self.write("fit.json", {"submarine": "segmentation", "position_weight": 1, "bilateral_sigma": 20, "colour_sigma": 25,
                                "bilateral_weight": 4, "updates": 3, "softmax_temperature": 2})
        self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "--parameters", "fit.json", "--position", "2,5", "-o", "out")
        summary = read_json(self.directory / "out/summary.json")
        settings = summary["options"]["segment"]
        self.assertEqual((settings["position"], settings["bilateral"]), ([2, 5], [20, 25, 4]))
        self.assertEqual((settings["softmax_temperature"], summary["iterations"][-1]["k"]), (2, 3))
        # Those of the file are the updates of mean field, not the iterations of the proof.
        self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "--parameters", "fit.json", "--certify", "-o", "out")
        self.assertGreater(read_json(self.directory / "out/summary.json")["options"]["max_iterations"], 3)
        self.write("bad.json", {"submarine": "segmentation", "weight": 1})
        finished = self.run_command("segment", "picture.png", "--softmax", "softmax.npy", "--parameters", "bad.json", "-o", "out2")
        self.assert_one_sentence(finished, ["bad.json", "weight"])

    def test_scribbles_spread_over_their_colour(self):
        scribbles = []
        for y, x in itertools.product(range(HEIGHT), range(WIDTH)):
            marked = y == 8 and x in (3, 4, 5, 18, 19, 20)
            scribbles += ([250, 0, 0] if is_right(x) else [0, 0, 250]) if marked else [0, 0, 0]
        self.write("scribbles.png", png_bytes(WIDTH, HEIGHT, 3, scribbles))
        labels = self.segment("--scribbles", "scribbles.png", "--confidence", "0.99")
        # Labels are in the order of their colours' values: blue (0, 0, 250) before red.
        self.assertEqual((labels.shape, labels.values), ((HEIGHT, WIDTH), truth_values()))
        for name in ("image.png", "labels.png", "labels_before.png", "entropy_colour.png"):
            self.assertEqual(png_size(self.directory / "out" / name), (WIDTH, HEIGHT))
        self.assertEqual(indexed_png(self.directory / "out/labels.png"), ([(0, 0, 250), (250, 0, 0)], truth_values()))
        palette, before = indexed_png(self.directory / "out/labels_before.png")
        self.assertEqual((len(palette), before.count(255)), (256, WIDTH * HEIGHT - 6))

    def test_costs_and_a_warning_where_they_look_like_probabilities(self):
        costs = [c for y in range(HEIGHT) for x in range(WIDTH) for c in ((0, 2, 3) if y < 8 else (3, 0, 2))]
        write_npy(self.directory / "costs.npy", (HEIGHT, WIDTH, 3), costs, "<f4")
        labels = self.segment("--unary", "costs.npy", "--position", "1,0.1", "--bilateral", "5,5,0", "--normalisation",
                              "none", "--count", "ordered")
        self.assertEqual(labels.values, [int(y >= 8) for y in range(HEIGHT) for _ in range(WIDTH)])
        self.assertNotIn("warning", self.output.stderr)
        self.write_softmax()
        self.segment("--unary", "softmax.npy")
        self.assertIn("use --softmax", self.output.stderr)

    def test_bmp_is_read_like_png(self):
        self.write_softmax()
        expected = self.segment("--softmax", "softmax.npy").values
        self.write("picture.bmp", bmp_bytes(WIDTH, HEIGHT, two_colours()))
        self.assertEqual(self.segment("--softmax", "softmax.npy", picture="picture.bmp").values, expected)


class TimeLimits(SegmentTest):
    LEFT_OUT = "no time for report.html"

    def setUp(self):
        super().setUp()
        self.write_softmax()

    def test_the_page_is_left_out_where_there_is_no_time_for_it(self):
        self.segment("--softmax", "softmax.npy")
        self.assertTrue((self.directory / "out/report.html").exists())
        finished = self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "-o", "out", *MODEL, "--time-limit", 1e-6)
        self.assertIn(self.LEFT_OUT, finished.stdout)
        self.assertNotIn("Results: out/report.html", finished.stdout)
        self.assertFalse((self.directory / "out/report.html").exists(), "it would be of other results")
        self.assertTrue(any(self.LEFT_OUT in note for note in read_json(self.directory / "out/summary.json")["notes"]))
        for name in ("labels.png", "labels.npy", "marginals.npy", "entropy.npy", "image.png"):
            self.assertTrue((self.directory / "out" / name).exists(), name)
        self.run_well("report", "out")
        finished = self.run_well("segment", "picture.png", "--softmax", "softmax.npy", "-o", "out", *MODEL, "--time-limit", 60)
        self.assertNotIn(self.LEFT_OUT, finished.stdout)
        self.assertTrue((self.directory / "out/report.html").exists())

    def test_many_pictures_without_pages(self):
        for folder, name in (("pictures", "picture.png"), ("softmaxes", "softmax.npy")):
            (self.directory / folder).mkdir()
            (self.directory / folder / f"a{name[-4:]}").write_bytes((self.directory / name).read_bytes())
        arguments = ("segment", "pictures", "--softmax", "softmaxes", "-o", "out", *MODEL, "--time-limit", 1e-6)
        self.run_well(*arguments)
        first = (self.directory / "out/a/summary.json").stat().st_mtime_ns
        self.assertNotIn("link", read_json(self.directory / "out/summary.json")["page"]["gallery"][0])
        self.run_well(*arguments)
        self.assertEqual((self.directory / "out/a/summary.json").stat().st_mtime_ns, first)


class Truth(SegmentTest):

    def test_scores_before_and_after(self):
        rows = self.write_softmax()
        truth = [255 if a % 5 == 0 else value for a, value in enumerate(truth_values())]
        self.write("truth.png", png_bytes(WIDTH, HEIGHT, 1, truth))
        self.segment("--softmax", "softmax.npy", "--truth", "truth.png")
        known = [a for a in range(WIDTH * HEIGHT) if a % 5]
        before = sum(max(range(3), key=lambda i, a=a: rows[a][i]) == truth[a] for a in known) / len(known)
        result = self.summary["segmentation"]
        self.assertAlmostEqual(result["before"]["accuracy"], before)
        self.assertEqual(result["pixels_compared"], len(known))
        self.assertEqual((result["after"]["accuracy"], result["after"]["mean_iou"]), (1.0, 1.0))
        self.assertIn(f"Pixels right: 100.0% ({100 * before:.1f}% before)", self.output.stdout)
        self.assertRegex(self.output.stdout, r"Helps: mean IoU \d\d\.\d% before, 100\.0% after, \+\d+\.\d points\.")
        self.assertEqual(len(self.summary["segmentation"]["before"]["iou"]), 2)  # label 2 is nowhere in the truth
        errors = indexed_png(self.directory / "out/errors.png")[1]
        self.assertEqual(errors.count(0), round(before * len(known)))
        self.assertEqual(errors.count(1), len(known) - errors.count(0))
        self.assertEqual(errors.count(255), WIDTH * HEIGHT - len(known))
        self.assertEqual(self.summary["page"]["lead"][0][0], "100.0%")

    def test_another_value_for_unknown_and_an_array_of_labels(self):
        self.write_softmax()
        truth = [-1 if a % 5 == 0 else value for a, value in enumerate(truth_values())]
        write_npy(self.directory / "truth.npy", (HEIGHT, WIDTH), truth, "<i4")
        self.segment("--softmax", "softmax.npy", "--truth", "truth.npy", "--ignore=-1")
        self.assertEqual(self.summary["segmentation"]["after"]["accuracy"], 1.0)

    def test_names_and_colours(self):
        self.write_softmax()
        self.write("names.txt", "sky\nold barn \ncow\n\n")
        self.write("colours.txt", "#102030\n4 5 6\n7, 8, 9\n")
        self.segment("--softmax", "softmax.npy", "--classes", "names.txt", "--palette", "colours.txt")
        self.assertEqual(list(self.summary["segmentation"]["share"]), ["sky", "old barn"])
        (labels,) = [panel for panel in self.summary["page"]["panels"] if panel.get("role") == "after"]
        self.assertEqual([(entry["name"], entry["colour"]) for entry in labels["legend"]],
                         [("sky", "#102030"), ("old barn", "#040506")])
        self.assertEqual(indexed_png(self.directory / "out/labels.png")[0], [(16, 32, 48), (4, 5, 6), (7, 8, 9)])
        self.segment("--softmax", "softmax.npy")
        self.assertEqual(indexed_png(self.directory / "out/labels.png")[0], [(0, 0, 0), (128, 0, 0), (0, 128, 0)])


class Refused(SegmentTest):

    def test_bad_input(self):
        count = HEIGHT * WIDTH
        self.write_softmax()
        write_npy(self.directory / "flat.npy", (count, 3), [0] * (count * 3))
        write_npy(self.directory / "nan.npy", (HEIGHT, WIDTH, 2), [math.nan] * (count * 2))
        write_npy(self.directory / "turned.npy", (WIDTH, HEIGHT, 3), [1 / 3] * (count * 3), "<f4")
        write_npy(self.directory / "logits.npy", (HEIGHT, WIDTH, 3), [-4.0, 2.0, 1.0] * count, "<f4")
        self.write("black.png", png_bytes(WIDTH, HEIGHT, 3, [0] * (3 * count)))
        self.write("other.png", png_bytes(3, 3, 3, list(range(27))))
        self.write("small.png", png_bytes(3, 3, 1, [0] * 9))
        self.write("seven.png", png_bytes(WIDTH, HEIGHT, 1, [7] * count))
        self.write("unknown.png", png_bytes(WIDTH, HEIGHT, 1, [255] * count))
        self.write("two.txt", "sky\ncow\n")
        self.write("gap.txt", "sky\n\ncow\n")
        self.write("none.txt", "\n")
        self.write("colours.txt", "#102030\nred\n#000000\n")
        self.write("tree.tsv", "sky\tfar\ncow\tnear\nbarn\tnear\n")
        self.write("turned.txt", "sky\nbarn\ncow\n")
        (self.directory / "empty").mkdir()
        softmax = ("--softmax", "softmax.npy")
        for arguments, mentions in (
                ((), ["--softmax", "--unary", "--scribbles"]),
                ((*softmax, "--unary", "flat.npy"), ["not more than one"]),
                (("--scribbles", "black.png"), ["black.png", "0 colours"]),
                (("--scribbles", "other.png"), ["3 x 3"]),
                (("--unary", "flat.npy"), ["(384, 3)"]),
                (("--unary", "nan.npy"), ["finite"]),
                (("--softmax", "nan.npy"), ["nan.npy", "pixel (0, 0)"]),
                (("--softmax", "turned.npy"), ["(24, 16, 3)", "exchanged"]),
                (("--softmax", "logits.npy"), ["logits.npy", "-4"]),
                (("--softmax", "missing.npy"), ["missing.npy"]),
                ((*softmax, "--classes", "two.txt"), ["2 classes", "3 labels"]),
                ((*softmax, "--classes", "gap.txt"), ["gap.txt:2"]),
                ((*softmax, "--classes", "none.txt"), ["none.txt", "empty"]),
                ((*softmax, "--classes", "turned.txt", "--metric", "tree.tsv"), ["class 1", "barn", "label 2", "tree.tsv"]),
                ((*softmax, "--palette", "colours.txt"), ["colours.txt:2", "red"]),
                ((*softmax, "--palette", "two.txt"), ["two.txt:1"]),
                ((*softmax, "--truth", "small.png"), ["small.png", "3 x 3", "24 x 16"]),
                ((*softmax, "--truth", "seven.png"), ["label 7", "0 to 2"]),
                ((*softmax, "--truth", "unknown.png"), ["unknown", "every pixel"]),
                ((*softmax, "--truth", "picture.png"), ["one label per pixel"]),
                ((*softmax, "--least-energy", "--updates", "3"), ["--least-energy", "--updates"]),
                ((*softmax, "--parameters", "fit.json", "--preset", "pydensecrf"), ["--parameters", "--preset"]),
                ((*softmax, "--certify", "sure"), ["--certify", "auto", "sure"]),
                ((*softmax, "--bilateral", "80,13"), ["--bilateral", "3 numbers", "SXY,SRGB,WEIGHT", "grey levels", "80,13"]),
                ((*softmax, "--position", "3,x"), ["--position", "2 numbers", "SIGMA,WEIGHT"]),
                ((*softmax, "--position", "-3,3"), ["--position"])):
            with self.subTest(arguments=arguments):
                finished = self.run_command("segment", "picture.png", "-o", "out", *arguments)
                self.assert_one_sentence(finished, mentions)
                self.assertEqual(list(self.directory.glob(".out*")) + list(self.directory.glob("out*")), [])
        finished = self.run_command("segment", "empty", "-o", "out", "--softmax", "empty")
        self.assert_one_sentence(finished, ["empty", "no picture"])

    def test_a_cube_needs_to_be_told_where_its_labels_are(self):
        self.write("cube.png", png_bytes(4, 4, 1, list(range(16))))
        write_npy(self.directory / "cube.npy", (4, 4, 4), [0.25] * 64, "<f4")
        finished = self.run_command("segment", "cube.png", "-o", "out", "--softmax", "cube.npy")
        self.assert_one_sentence(finished, ["--layout"])
        self.run_well("segment", "cube.png", "-o", "out", "--softmax", "cube.npy", "--layout", "labels-first")


class Several(SegmentTest):
    COUNT = 6

    def setUp(self):
        super().setUp()
        for folder in ("pictures", "softmaxes", "truths"):
            (self.directory / folder).mkdir()
        values = [p for row in noisy_softmax() for p in row]
        for k in range(self.COUNT):
            self.write(f"pictures/p{k}.png", png_bytes(WIDTH, HEIGHT, 3, two_colours()))
            write_npy(self.directory / f"softmaxes/p{k}.npy", (HEIGHT, WIDTH, 3), values, "<f4")
            self.write(f"truths/p{k}.png", png_bytes(WIDTH, HEIGHT, 1, truth_values()))

    ALL = ("segment", "pictures", "--softmax", "softmaxes", "--truth", "truths", "-o", "out", *MODEL)

    def test_each_has_a_directory_and_all_one_page(self):
        finished = self.run_well(*self.ALL)
        self.assertIn(f"{self.COUNT} of {self.COUNT} pictures segmented", finished.stdout)
        self.assertRegex(finished.stdout, rf"Helps on {self.COUNT} of {self.COUNT} pictures: mean IoU \d\d\.\d% before, 100\.0% after, ")
        self.assertRegex(finished.stdout, r"Pixels right: 100\.0% \(\d\d\.\d% before\)")
        self.run_well("segment", "pictures/p2.png", "--softmax", "softmaxes/p2.npy", "-o", "single", *MODEL)
        single = (self.directory / "single/marginals.npy").read_bytes()
        for k in range(self.COUNT):
            self.assertEqual((self.directory / f"out/p{k}/marginals.npy").read_bytes(), single)
            self.assertTrue((self.directory / f"out/p{k}/report.html").exists())
        gallery = read_json(self.directory / "out/summary.json")["page"]["gallery"]
        self.assertEqual([item["name"] for item in gallery], [f"p{k}.png" for k in range(self.COUNT)])
        self.assertEqual(gallery[0]["link"], "p0/report.html")
        self.assertEqual([fact[0] for fact in gallery[0]["facts"]], ["mean IoU", "pixels right", "changed"])
        page = read_json(self.directory / "out/summary.json")["page"]
        self.assertIn(page["verdict"], finished.stdout)
        self.assertEqual([change["name"] for change in page["changes"]], ["0", "1"])
        # All pictures are the same, so that nothing is left to chance.
        low, high = page["changes"][0]["interval"]
        self.assertAlmostEqual(low, high)
        self.assertTrue((self.directory / "out/report.html").exists())

    def test_one_bad_picture_leaves_the_others_alone(self):
        self.write("pictures/p3.png", b"not a picture")
        (self.directory / "softmaxes/p4.npy").unlink()
        finished = self.run_command(*self.ALL, "--quiet")
        self.assertEqual(finished.code, 2, finished)
        lines = finished.stderr.splitlines()
        self.assertEqual(len(lines), 3, finished)
        self.assertTrue(any("pictures/p3.png" in line for line in lines) and any("p4.npy" in line for line in lines), lines)
        self.assertIn(f"2 of {self.COUNT} pictures could not be segmented", lines[-1])
        self.assertEqual(sorted(path.name for path in (self.directory / "out").glob("p*")), ["p0", "p1", "p2", "p5"])
        problems = [item for item in read_json(self.directory / "out/summary.json")["page"]["gallery"] if "problem" in item]
        self.assertEqual([item["name"] for item in problems], ["p3.png", "p4.png"])

    def test_what_does_not_fit_is_named_for_each(self):
        """A limit of file sizes is met as a full disk is."""
        limit = 2048
        finished = subprocess.run(
            [PROGRAM, *self.ALL, "--quiet", "--no-report", "--threads", "2"], cwd=self.directory, capture_output=True, text=True,
            check=False, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(finished.returncode, 2, finished)
        named = re.findall(r'^submarine: pictures/(p\d)\.png: cannot write "out/(p\d)/', finished.stderr, re.MULTILINE)
        self.assertEqual(sorted(named), [(f"p{k}", f"p{k}") for k in range(self.COUNT)], finished.stderr)
        problems = [item["problem"] for item in read_json(self.directory / "out/summary.json")["page"]["gallery"]]
        for k, problem in enumerate(problems):
            self.assertIn(f'"out/p{k}/', problem)

    def test_what_is_there_is_not_made_again_unless_something_changed(self):
        self.run_well(*self.ALL, "--quiet")
        def stamps():
            return [(self.directory / f"out/p{k}/summary.json").stat().st_mtime_ns for k in range(self.COUNT)]
        first = stamps()
        self.run_well(*self.ALL, "--quiet")
        self.assertEqual(stamps(), first)
        time.sleep(0.01)
        self.write("pictures/p1.png", png_bytes(WIDTH, HEIGHT, 3, [99] * (3 * WIDTH * HEIGHT)))
        self.run_well(*self.ALL, "--quiet")
        self.assertEqual([k for k in range(self.COUNT) if stamps()[k] != first[k]], [1])
        self.run_well(*self.ALL, "--quiet", "--updates", "2")
        self.assertFalse(set(stamps()) & set(first))

    def test_files_where_directories_are_needed(self):
        finished = self.run_command("segment", "pictures", "--softmax", "softmaxes/p0.npy", "-o", "out")
        self.assert_one_sentence(finished, ["--softmax", "directory", f"{self.COUNT} pictures"])
        finished = self.run_command("segment", "picture.png", "pictures/p0.png", "pictures/p0.png", "--softmax", "softmaxes",
                                    "-o", "out")
        self.assert_one_sentence(finished, ["p0", "tell"])

    def test_without_pages(self):
        self.run_well(*self.ALL, "--quiet", "--no-report")
        self.assertEqual(list((self.directory / "out").rglob("*.html")), [])
        self.assertTrue((self.directory / "out/p0/labels.png").exists())


if __name__ == "__main__":
    main()
