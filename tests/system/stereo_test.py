"""`submarine stereo` and `generate --stereo`: their bundles, and what is refused."""

import math
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import zlib

from submarine_support import (PROGRAM, Array, CommandTest, main, png_bytes, png_size, read_json, without_progress,
                               write_npy)

QUICK = ("--quiet",)
PLAIN = ("--unary", "census")


def grey16(path):
    """The samples of a 16-bit grey PNG without interlace, unfiltered by the rules of the format."""
    data = pathlib.Path(path).read_bytes()
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert (depth, colour) == (16, 0), (depth, colour)
    position, body = 8, b""
    while position < len(data):
        (length,) = struct.unpack(">I", data[position:position + 4])
        if data[position + 4:position + 8] == b"IDAT":
            body += data[position + 8:position + 8 + length]
        position += 12 + length
    raw, stride, samples = zlib.decompress(body), 2 * width, []
    above = bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left, corner = (row[i - 2], above[i - 2]) if i >= 2 else (0, 0)
            estimate = left + above[i] - corner
            paeth = min((left, above[i], corner), key=lambda value: abs(estimate - value))
            row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, paeth)[kind]) % 256
        samples += struct.unpack(f">{width}H", row)
        above = row
    return samples


class StereoTest(CommandTest):
    WIDTH, HEIGHT, DISPARITIES = 72, 40, 12

    def setUp(self):
        super().setUp()
        self.run_well("generate", "--stereo", "--width", self.WIDTH, "--height", self.HEIGHT, "--labels",
                      self.DISPARITIES, "--seed", 3, "-o", "scene")

    def stereo(self, *arguments, code=0):
        finished = self.run_command("stereo", "scene/left.png", "scene/right.png", "-o", "out", *QUICK, *arguments)
        self.assertEqual(finished.code, code, finished)
        return read_json(self.directory / "out/summary.json") if code == 0 else finished

    def test_bundle(self):
        half = [255 * (x >= self.WIDTH // 2) for _ in range(self.HEIGHT) for x in range(self.WIDTH)]
        self.write("mask.png", png_bytes(self.WIDTH, self.HEIGHT, 1, half))
        summary = self.stereo("--truth", "scene/disparity.png", "--mask", "mask.png", "--disparities", self.DISPARITIES)
        out = self.directory / "out"
        size = (self.WIDTH, self.HEIGHT)
        for name in ("disparity.png", "disparity_colour.png", "uncertainty_colour.png", "occluded.png", "left.png",
                     "error_colour.png", "truth_colour.png"):
            self.assertEqual(png_size(out / name), size, name)
        self.assertIn(b"<!doctype html>", (out / "report.html").read_bytes()[:200].lower())
        self.assertEqual((summary["lower"], summary["upper"]), (None, None))
        self.assertEqual((summary["kind"], summary["method"]), ("stereo", "mf"))
        self.assertEqual(summary["options"]["stereo"]["disparities"], self.DISPARITIES)
        self.assertEqual(summary["options"]["stereo"]["unary"], "semi-global")
        self.assertGreater(summary["seconds"], 0)

        disparity, uncertainty = Array(out / "disparity.npy"), Array(out / "uncertainty.npy")
        marginals, truth = Array(out / "marginals.npy"), Array(out / "truth.npy")
        self.assertEqual(disparity.shape, (self.HEIGHT, self.WIDTH))
        self.assertEqual(marginals.shape, (self.HEIGHT, self.WIDTH, self.DISPARITIES))
        self.assertEqual(grey16(out / "disparity.png"), [math.floor(256 * d + 0.5) for d in disparity.values])
        for row, d, u in zip(marginals.rows(), disparity.values, uncertainty.values, strict=True):
            self.assertAlmostEqual(sum(row), 1, delta=1e-4)
            inside = sum(p for k, p in enumerate(row) if abs(k - min(d, self.DISPARITIES - 1)) <= 1)
            self.assertAlmostEqual(u, 1 - inside, delta=1e-4)

        # The evaluation, from the arrays alone.
        def check(chosen, key):
            errors = [abs(d - t) for d, t, c in zip(disparity.values, truth.values, chosen, strict=True)
                      if c and not math.isnan(t)]
            written = summary["truth"][key]
            self.assertEqual(written["pixels"], len(errors))
            for threshold, name in ((0.5, "bad_0.5"), (1, "bad_1"), (2, "bad_2")):
                self.assertAlmostEqual(written[name], sum(e > threshold for e in errors) / len(errors), delta=1e-9)
            self.assertAlmostEqual(written["mean_absolute"], sum(errors) / len(errors), delta=1e-5)
        check([1] * len(half), "all")
        check(half, "not_occluded")
        check([not h for h in half], "occluded")
        self.assertLess(summary["truth"]["all"]["bad_1"], 0.15)
        sparsification = summary["truth"]["sparsification"]
        self.assertLessEqual(sparsification["oracle_area"], sparsification["area"])
        self.assertLess(sparsification["area"], 0.7 * sparsification["chance_area"])
        self.assertLess(summary["truth"]["calibration"]["expected_error"], 0.2)

    def test_a_proof_leaves_disparities_as_they_are(self):
        out = self.directory / "out"
        self.stereo("--disparities", self.DISPARITIES)
        plain = [(out / name).read_bytes() for name in ("disparity.npy", "marginals.npy", "uncertainty.npy")]
        summary = self.stereo("--disparities", self.DISPARITIES, "--certify", "--max-iterations", "50")
        self.assertEqual(plain, [(out / name).read_bytes() for name in ("disparity.npy", "marginals.npy", "uncertainty.npy")])
        self.assertLess(summary["lower"], summary["upper"])
        self.assertGreaterEqual(summary["energy"], -summary["upper"])

    def test_fast(self):
        summary = self.stereo("--disparities", self.DISPARITIES, "--fast", "--truth", "scene/disparity.png")
        names = sorted(path.name for path in (self.directory / "out").iterdir())
        for name in ("marginals.npy", "uncertainty.npy", "report.html"):
            self.assertNotIn(name, names)
        self.assertIn("occluded.png", names)
        self.assertLess(summary["truth"]["all"]["bad_1"], 0.15)
        self.assertNotIn("calibration", summary["truth"])
        self.refused("stereo", "scene/left.png", "scene/right.png", "-o", "x", "--fast", "--unary", "ad", mentions=["--fast"])

    def test_given_costs(self):
        """Of the right disparity everywhere, unknown ones among them, though the views say something else."""
        costs = [math.nan if x % 7 == 0 or (x + k) % 9 == 1 else math.inf if k > x else 50.0 + 3 * min(abs(k - 5), 4)
                 for _ in range(self.HEIGHT) for x in range(self.WIDTH) for k in range(self.DISPARITIES)]
        write_npy(self.directory / "costs.npy", (self.HEIGHT, self.WIDTH, self.DISPARITIES), costs)
        self.stereo("--cost", "costs.npy")
        for a, d in enumerate(Array(self.directory / "out/disparity.npy").values):
            if a % self.WIDTH >= 10:  # at the border, 5 is not known
                self.assertAlmostEqual(d, 5, delta=0.5)

    def test_ranges(self):
        pixels = range(self.WIDTH * self.HEIGHT)
        low = [math.nan if a % 3 else float(a % 5) for a in pixels]
        write_npy(self.directory / "low.npy", (self.HEIGHT, self.WIDTH), low)
        for options in ((), ("--fast",)):
            self.stereo("--disparities", self.DISPARITIES, "--range", "low.npy,6.5", *options)
            for name in ("disparity", "disparity_raw"):
                for d, l in zip(Array(self.directory / f"out/{name}.npy").values, low, strict=True):
                    self.assertFalse(d < l or d > 6.5, (name, d, l))
            if not options:
                for row, l in zip(Array(self.directory / "out/marginals.npy").rows(), low, strict=True):
                    self.assertLess(sum(p for k, p in enumerate(row) if k > 7 or k < l), 1e-6)

    def test_raw_disparities(self):
        self.stereo("--disparities", self.DISPARITIES)
        raw, occluded = Array(self.directory / "out/disparity_raw.npy").values, self.picture("out/occluded.png")
        self.assertEqual([math.isnan(d) for d in raw], [o > 0 for o in occluded])

    def picture(self, name):
        from PIL import Image  # see submarine_support.py
        with Image.open(self.directory / name) as image:
            return list(image.getdata())

    def test_frames(self):
        for side in ("left", "right"):
            for k in (9, 10, 11):
                (self.directory / side).mkdir(exist_ok=True)
                shutil.copy(self.directory / f"scene/{side}.png", self.directory / f"{side}/{side[0]}_{k:02}.png")
        command = ("stereo", "--frames", "left", "right", "-o", "video", "--disparities", self.DISPARITIES)
        finished = self.run_well(*command)
        self.assertIn("3 frames of 12 disparities", finished.stdout)
        self.assertIn("frames per second", finished.stdout)
        self.stereo("--disparities", self.DISPARITIES)
        names = {"disparity": "disparity", "occluded": "occluded"}
        for folder, alone in names.items():
            self.assertEqual(sorted(path.name for path in (self.directory / "video" / folder).iterdir()),
                             [f"l_{k:02}.png" for k in (9, 10, 11)])
            self.assertEqual(self.picture(f"video/{folder}/l_09.png"), self.picture(f"out/{alone}.png"))
        uncertainty = self.picture("video/uncertainty/l_10.png")
        self.assertEqual(uncertainty, [math.floor(255 * u + 0.5) for u in Array(self.directory / "out/uncertainty.npy").values])

        # It continues, and begins again for other settings.
        written = self.directory / "video/disparity"
        (written / "l_10.png").unlink()
        stamps = {path.name: path.stat().st_mtime_ns for path in written.iterdir()}
        self.assertIn("2 were there already", self.run_well(*command).stdout)
        again = {path.name: path.stat().st_mtime_ns for path in written.iterdir()}
        self.assertEqual({**again, **stamps}, again)
        self.assertIn("l_10.png", again)
        self.assertIn("3 frames", self.run_well(*command, "--fast").stdout)

        (self.directory / "right/r_11.png").write_text("no picture")
        finished = self.run_command(*command)
        self.assertEqual(finished.code, 2, finished)
        self.assertIn("l_11", finished.messages)
        self.assertIn("1 of 3 frames", finished.messages)
        (self.directory / "right/r_11.png").rename(self.directory / "right/r_12.png")
        self.refused(*command, mentions=["l_11.png", "r_12.png"])
        (self.directory / "right/r_12.png").unlink()
        self.refused(*command, mentions=["3 frames", "holds 2"])
        self.refused(*command, "--certify", mentions=["--certify", "--frames"])
        self.refused("stereo", "--frames", "left/l_09.png", "right", "-o", "x", mentions=["l_09.png", "not a directory"])

    def test_depth(self):
        self.stereo("--disparities", self.DISPARITIES, "--focal", "700", "--baseline", "0.2")
        out = self.directory / "out"
        disparity, depth, interval = (Array(out / f"{name}.npy") for name in ("disparity", "depth", "depth_interval"))
        self.assertEqual(interval.shape, (self.HEIGHT, self.WIDTH, 2))
        for d, z, (near, far) in zip(disparity.values, depth.values, interval.rows(), strict=True):
            self.assertAlmostEqual(z, 140 / d if d > 0 else math.inf, delta=1e-4 * z if d > 0 else 0)
            self.assertLessEqual(near, z)
            self.assertGreaterEqual(far, z)
        self.refused("stereo", "scene/left.png", "scene/right.png", "-o", "x", "--focal", "700", mentions=["--baseline"])

    def test_the_papers_model(self):
        summary = self.stereo("--preset", "paper", "--disparities", "8", "--max-iterations", "20")
        settings = summary["options"]["stereo"]
        self.assertEqual((settings["unary"], settings["metric"], settings["bilateral"]), ("ad", "potts", [50.84, 1.51, 1.1]))
        self.assertLessEqual(summary["dual"], summary["upper"])

    def test_every_unary_metric_and_method(self):
        for options in (("--unary", "ad", "--truncate", "60", "--metric", "potts"), ("--unary", "sad:1"),
                        ("--unary", "bt", "--scale", "0.2", "--metric", "linear"),
                        (*PLAIN, "--position", "2,1", "--bilateral", "5,10,0"), (*PLAIN, "--method", "mf"),
                        (*PLAIN, "--method", "fw"), (*PLAIN, "--method", "pdhg"),
                        (*PLAIN, "--shrink", "2", "--truth", "scene/disparity.png"),
                        (*PLAIN, "--marginals-of", "mean-field"), (*PLAIN, "--disparities", "auto")):
            with self.subTest(options=options):
                disparities = () if "--disparities" in options else ("--disparities", "8")
                summary = self.stereo("--gap", "0.1", "--max-iterations", "200", *disparities, *options)
                self.assertLess(summary["lower"], 0)
                if "mf" in options:
                    continue  # which has no upper bound
                self.assertLessEqual(summary["lower"], summary["upper"])
                self.assertLessEqual(summary["dual"], summary["upper"])
                self.assertEqual(summary["map"], {"lower": -summary["upper"], "upper": summary["energy"]})

    def test_top(self):
        self.stereo("--disparities", "8", "--top", "3")
        out = self.directory / "out"
        self.assertFalse((out / "marginals.npy").exists())
        values, labels = Array(out / "marginals_top.npy"), Array(out / "marginals_top_labels.npy")
        self.assertEqual(values.shape, (self.HEIGHT, self.WIDTH, 3))
        for row, chosen in zip(values.rows(), labels.rows(), strict=True):
            self.assertEqual(row, sorted(row, reverse=True))
            self.assertEqual(len(set(chosen)), 3)

    def test_grey_and_again(self):
        self.stereo("--disparities", "8", "--truth", "scene/disparity.png", "--bilateral", "10,5,1")
        half = [255 * (x >= self.WIDTH // 2) for _ in range(self.HEIGHT) for x in range(self.WIDTH)]
        self.write("scene/right.png", png_bytes(self.WIDTH, self.HEIGHT, 1, half))  # one view grey
        for options in ((), ("--shrink", "3"), ("--disparities", "auto")):
            self.assertNotIn("truth", self.stereo("--disparities", "8", *options) if "auto" not in options
                             else self.stereo(*options))

    def refused(self, *arguments, mentions):
        before = sorted(path for path in self.directory.rglob("*"))
        finished = self.run_command(*arguments)
        self.assert_one_sentence(finished, mentions)
        self.assertEqual(before, sorted(path for path in self.directory.rglob("*")), "files appeared")

    def test_bad_input(self):
        self.write("text.png", "this is no picture\n")
        self.write("one.png", png_bytes(1, 1, 1, [7]))
        self.write("small.png", png_bytes(10, 10, 3, [k % 251 for k in range(300)]))
        self.write("plain", "a file where a directory should be\n")
        write_npy(self.directory / "flat.npy", (2, 3), [1.0] * 6)
        write_npy(self.directory / "nan.npy", (self.HEIGHT, self.WIDTH, 2), [math.nan] * (2 * self.HEIGHT * self.WIDTH))
        left, right = "scene/left.png", "scene/right.png"
        for arguments, mentions in (
                ((left, "small.png", "-o", "x"), ["72 x 40", "10 x 10"]),
                ((left, "text.png", "-o", "x"), ["text.png"]),
                ((left, "missing.png", "-o", "x"), ["missing.png"]),
                (("one.png", "one.png", "-o", "x"), ["1 x 1", "too small"]),
                ((left, right, "-o", "x", "--disparities", "0"), ["--disparities is 0"]),
                ((left, right, "-o", "x", "--disparities", "1"), ["--disparities is 1"]),
                ((left, right, "-o", "x", "--disparities", "many"), ["many"]),
                ((left, right, "-o", "x", "--disparities", "73"), ["73", "72 columns"]),
                ((left, right, "-o", "x", "--unary", "ssd"), ["ssd"]),
                ((left, right, "-o", "x", "--unary", "ad", "--metric", "euclid"), ["euclid"]),
                ((left, right, "-o", "x", "--truncate", "3"), ["--truncate", "--unary"]),
                ((left, right, "-o", "x", "--position", "3,1"), ["--position", "--unary"]),
                ((left, right, "-o", "x", "--preset", "paper", "--unary", "ad"), ["--preset", "--unary"]),
                ((left, right, "-o", "x", "--max-memory", "0.001"), ["memory"]),
                ((left, right, "-o", "x", "--truncate", "0"), ["--truncate"]),
                ((left, right, "-o", "x", "--truncate", "nan"), ["--truncate"]),
                ((left, right, "-o", "x", "--unary", "ad", "--position", "0,1"), ["--position", "sigma"]),
                ((left, right, "-o", "x", "--position", "1"), ["--position"]),
                ((left, right, "-o", "x", "--bilateral", "3,4,-1"), ["--bilateral", "weight"]),
                ((left, right, "-o", "x", "--cost", "flat.npy"), ["flat.npy", "(2, 3)", "(40, 72, disparities)"]),
                ((left, right, "-o", "x", "--cost", "nan.npy"), ["finite"]),
                ((left, right, "-o", "x", "--cost", "nan.npy", "--unary", "ad"), ["--cost"]),
                ((left, right, "-o", "x", "--cost", "nan.npy", "--shrink", "2"), ["--shrink"]),
                ((left, right, "-o", "x", "--cost", "missing.npy"), ["missing.npy"]),
                ((left, right, "-o", "x", "--range", "flat.npy,9"), ["flat.npy", "(2, 3)", "(40, 72)"]),
                ((left, right, "-o", "x", "--range", "5,3"), ["5 to 3"]),
                ((left, right, "-o", "x", "--range", "9,20", "--disparities", "8"), ["9 to 20", "0 to 7"]),
                ((left, right, "-o", "x", "--range", "left,9"), ["left", ".npy"]),
                ((left, right, "-o", "x", "--shrink", "41"), ["too small"]),
                ((left, right, "-o", "x", "--truth", "small.png"), ["small.png", "10 x 10"]),
                ((left, right, "-o", "x", "--truth", "scene/disparity.png,0"), ["factor"]),
                ((left, right, "-o", "x", "--mask", "small.png"), ["--truth"]),
                ((left, right, "-o", "plain"), ["plain", "not a directory"]),
                ((left, right, "-o", "plain/x"), ["plain/x"]),
                ((left, right, "-o", "/proc/x"), ["/proc/x"])):
            with self.subTest(arguments=arguments):
                self.refused("stereo", *arguments, mentions=mentions)
        self.refused("generate", "--stereo", "--width", "4", "-o", "x", mentions=["4"])

    def test_no_time_for_the_page(self):
        finished = self.run_well("stereo", "scene/left.png", "scene/right.png", "-o", "out", "--disparities", self.DISPARITIES,
                                 "--time-limit", 1e-6)
        self.assertIn("no time for report.html", finished.stdout)
        self.assertFalse((self.directory / "out/report.html").exists())
        self.assertTrue((self.directory / "out/disparity.png").exists())

    def test_full_disk(self):
        """No file may grow beyond a few kilobytes: nothing half-written stays."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        before = sorted(path for path in self.directory.rglob("*"))
        finished = subprocess.run([PROGRAM, "stereo", "scene/left.png", "scene/right.png", "-o", "out", "--disparities",
                                   "8", *QUICK], cwd=self.directory, capture_output=True, text=True, timeout=120,
                                  check=False, preexec_fn=limit)
        self.assertEqual(finished.returncode, 2, finished)
        self.assertEqual(without_progress(finished.stderr).count("\n"), 1, finished)
        self.assertEqual(before, sorted(path for path in self.directory.rglob("*")))


if __name__ == "__main__":
    main()
