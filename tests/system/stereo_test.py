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

QUICK = ("--quiet", "--gap", "0.1", "--max-iterations", "200")


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
        summary = self.stereo("--truth", "scene/disparity.png", "--disparities", self.DISPARITIES)
        out = self.directory / "out"
        size = (self.WIDTH, self.HEIGHT)
        for name in ("disparity.png", "disparity_colour.png", "entropy_colour.png", "left.png", "error_colour.png",
                     "truth_colour.png"):
            self.assertEqual(png_size(out / name), size, name)
        self.assertIn(b"<!doctype html>", (out / "report.html").read_bytes()[:200].lower())
        self.assertLessEqual(summary["lower"], summary["upper"])
        self.assertLessEqual(summary["dual"], summary["upper"])
        self.assertEqual(summary["map"], {"lower": -summary["upper"], "upper": summary["energy"]})
        self.assertGreaterEqual(summary["energy"], -summary["upper"])
        self.assertEqual(summary["kind"], "stereo")
        self.assertEqual(summary["options"]["stereo"]["disparities"], self.DISPARITIES)
        self.assertGreater(len(summary["iterations"]), 1)
        self.assertGreater(summary["seconds"], 0)

        disparity, entropy = Array(out / "disparity.npy"), Array(out / "entropy.npy")
        marginals, truth = Array(out / "marginals.npy"), Array(out / "truth.npy")
        self.assertEqual(disparity.shape, (self.HEIGHT, self.WIDTH))
        self.assertEqual(marginals.shape, (self.HEIGHT, self.WIDTH, self.DISPARITIES))
        self.assertEqual(grey16(out / "disparity.png"), [math.floor(256 * d + 0.5) for d in disparity.values])
        for row, h in zip(marginals.rows(), entropy.values, strict=True):
            self.assertAlmostEqual(sum(row), 1, delta=1e-4)
            self.assertAlmostEqual(h, -sum(p * math.log(p) for p in row if p > 0), delta=1e-3)

        # The judgement, from the arrays alone.
        errors = [abs(d - t) for d, t in zip(disparity.values, truth.values, strict=True) if not math.isnan(t)]
        judged = summary["truth"]["all"]
        self.assertEqual(judged["pixels"], len(errors))
        for threshold, key in ((0.5, "bad_0.5"), (1, "bad_1"), (2, "bad_2")):
            self.assertAlmostEqual(judged[key], sum(e > threshold for e in errors) / len(errors), delta=1e-9)
        self.assertAlmostEqual(judged["mean_absolute"], sum(errors) / len(errors), delta=1e-5)
        self.assertLess(judged["bad_1"], 0.25)
        sparsification = summary["truth"]["sparsification"]
        self.assertLessEqual(sparsification["oracle_area"], sparsification["area"])
        self.assertLess(sparsification["area"], sparsification["chance_area"])

    def test_every_unary_metric_and_method(self):
        for options in (("--unary", "ad", "--truncate", "60", "--metric", "potts"), ("--unary", "sad:1"),
                        ("--unary", "bt", "--scale", "0.2", "--metric", "linear"),
                        ("--spatial", "2,1", "--bilateral", "5,10,0"), ("--method", "mf"), ("--method", "fw"),
                        ("--method", "pdhg"), ("--shrink", "2", "--truth", "scene/disparity.png"),
                        ("--marginals-of", "mean-field"), ("--disparities", "auto")):
            with self.subTest(options=options):
                disparities = () if "--disparities" in options else ("--disparities", "8")
                summary = self.stereo(*disparities, *options)
                self.assertLess(summary["lower"], 0)

    def test_top(self):
        self.stereo("--disparities", "8", "--top", "3")
        out = self.directory / "out"
        self.assertFalse((out / "marginals.npy").exists())
        values, labels = Array(out / "marginals_top.npy"), Array(out / "marginals_top_labels.npy")
        self.assertEqual(values.shape, (self.HEIGHT, self.WIDTH, 3))
        for row, chosen in zip(values.rows(), labels.rows(), strict=True):
            self.assertEqual(row, sorted(row, reverse=True))
            self.assertEqual(len(set(chosen)), 3)

    def test_mask_and_grey_and_again(self):
        half = [255 * (x >= self.WIDTH // 2) for _ in range(self.HEIGHT) for x in range(self.WIDTH)]
        self.write("mask.png", png_bytes(self.WIDTH, self.HEIGHT, 1, half))
        summary = self.stereo("--disparities", "8", "--truth", "scene/disparity.png", "--mask", "mask.png")
        self.assertLess(summary["truth"]["not_occluded"]["pixels"], summary["truth"]["all"]["pixels"])
        shutil.copy(self.directory / "mask.png", self.directory / "scene/right.png")  # one view grey
        summary = self.stereo("--disparities", "8")
        self.assertNotIn("truth", summary)

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
                ((left, right, "-o", "x", "--metric", "euclid"), ["euclid"]),
                ((left, right, "-o", "x", "--truncate", "0"), ["--truncate"]),
                ((left, right, "-o", "x", "--truncate", "nan"), ["--truncate"]),
                ((left, right, "-o", "x", "--spatial", "0,1"), ["--spatial", "sigma"]),
                ((left, right, "-o", "x", "--spatial", "1"), ["--spatial"]),
                ((left, right, "-o", "x", "--bilateral", "3,4,-1"), ["--bilateral", "weight"]),
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
