"""What a solve was expected to hold (estimated_gigabytes) against what it held, and what the limit refuses."""

import os
import struct
import subprocess
import zlib

from submarine_support import PROGRAM, CommandTest, main, npy_bytes, png_bytes, png_size, read_json

# Allocators keep some of what is freed, and pictures this small are read and written in a few megabytes.
LEAST, MOST = 0.8, 1.2


class MemoryTest(CommandTest):

    def peak_gigabytes(self, *arguments):
        """The largest resident set of a run that succeeds."""
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.directory, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024 / 1e9

    def picture(self, name, width, height, labels):
        self.run_well("generate", "--segmentation", "--width", width, "--height", height, "--labels", labels, "-o", name)
        return ["segment", f"{name}.png", "--softmax", f"{name}.softmax.npy", "-o", name, "--quiet", "--no-report"]

    def program_gigabytes(self):
        return self.peak_gigabytes(*self.picture("tiny", 20, 15, 2))


class Estimates(MemoryTest):

    def test_of_segmentation(self):
        program = self.program_gigabytes()
        picture = self.picture("picture", 400, 300, 12)
        lattice = ["--pairs", "lattice"]
        for arguments in ([], ["--certify", "lower"], ["--updates", 0],
                          [*lattice, "--method", "pdhg", "--certify", "none"],
                          [*lattice, "--method", "pdhg", "--certify", "operator"],
                          [*lattice, "--method", "fw", "--max-iterations", 3, "--certify", "none"],
                          ["--method", "fw", "--max-iterations", 2, "--certify", "none"]):
            with self.subTest(arguments=arguments):
                peak = self.peak_gigabytes(*picture, *arguments) - program
                estimate = read_json(self.directory / "picture/summary.json")["estimated_gigabytes"]
                self.assertLess(LEAST * peak, estimate)
                self.assertLess(estimate, MOST * peak)


class SparseLimits(MemoryTest):

    def test_what_is_allowed_is_kept(self):
        """A method that fits is taken, down to the bound of the unaries; what is given is used."""
        model = self.generate(width=300, height=300, labels=64, weight=2.0)  # 46 MB of unaries
        upper = []
        for limit in (0.13, 0.4, 0.6, 0.8):
            peak = self.peak_gigabytes("solve", model, "--json", "s.json", "--time-limit", 3, "--max-memory", limit,
                                       "--quiet")
            self.assertLess(peak, 1.05 * limit)
            upper.append(read_json(self.directory / "s.json")["upper"])
        self.assertEqual(upper, sorted(upper, reverse=True))

    def test_methods_are_refused_with_what_fits(self):
        model = self.generate(width=300, height=300, labels=64, weight=2.0)
        finished = self.run_command("solve", model, "--method", "trw", "--max-memory", "0.4")
        self.assert_one_sentence(finished, ["trw needs about", "0.4 GB", "fw", "--max-memory"])


class Refusals(MemoryTest):

    def test_segmentation_names_a_size(self):
        picture = self.picture("picture", 200, 150, 6)
        finished = self.run_command(*picture, "--max-memory", "0.005")
        self.assert_one_sentence(finished, ["memory", "5 MB", "variables instead of 30000", "--max-memory"])
        self.assertNotIn("--shrink", finished.messages)  # which it does not have
        self.assertFalse((self.directory / "picture/summary.json").exists())

    def test_what_is_named_fits(self):
        picture = self.picture("picture", 200, 150, 6)
        self.run_well(*picture)
        needed = read_json(self.directory / "picture/summary.json")["estimated_gigabytes"]
        self.run_well(*picture, "--max-memory", 1.01 * needed)
        self.assert_one_sentence(self.run_command(*picture, "--max-memory", 0.99 * needed), ["memory"])

    def test_stereo_names_its_option(self):
        self.run_well("generate", "--stereo", "--width", 120, "--height", 80, "--labels", 12, "-o", "scene")
        views = sorted(str(path) for path in (self.directory / "scene").glob("*.png"))
        left, right = [next(view for view in views if side in view) for side in ("left", "right")]
        finished = self.run_command("stereo", left, right, "-o", "out", "--disparities", 12, "--max-memory", "0.002")
        self.assert_one_sentence(finished, ["memory", "--shrink"])
        # What does not fit at once is proven in strips, and the same disparities come with that.
        stereo = ("stereo", left, right, "--disparities", 12, "--certify", "--max-iterations", 5, "--no-report")
        self.run_well(*stereo, "-o", "whole")
        self.run_well(*stereo, "-o", "strips", "--max-memory", 0.02)
        summary = read_json(self.directory / "strips/summary.json")
        self.assertTrue(any("strips of" in note for note in summary["notes"]), summary["notes"])
        self.assertLess(summary["lower"], summary["upper"])
        self.assertLess(summary["estimated_gigabytes"], 0.02)
        self.assertEqual((self.directory / "strips/disparity.npy").read_bytes(),
                         (self.directory / "whole/disparity.npy").read_bytes())


def blank_picture(side):
    """An RGB PNG of 16 bits: a few kilobytes that decode to 6 bytes per pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    compressor = zlib.compressobj(9)
    row = bytes(6 * side + 1)
    pixels = b"".join([*(compressor.compress(row) for _ in range(side)), compressor.flush()])
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 16, 2, 0, 0, 0))
            + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


class Pictures(MemoryTest):
    """Limits are promises about the whole call, decoding included."""
    SIDE = 4096
    MEGABYTES = 6e-6 * SIDE * SIDE

    def setUp(self):
        super().setUp()
        self.write("blank.png", blank_picture(self.SIDE))
        self.write("marks.png", png_bytes(64, 64, 3, [200, 0, 0] * 2048 + [0, 0, 200] * 2048))
        self.write("unary.npy", npy_bytes((1, 1, 2), [0.0, 1.0]))
        self.write("model.json", {"submarine": "dense", "width": self.SIDE, "height": self.SIDE, "labels": 2, "metric": "potts",
                                  "unary": "large.npy", "image": "blank.png", "kernels": [
                                      {"type": "bilateral", "sigma": 5, "colour_sigma": 5, "weight": 1}]})

    STEREO = ("stereo", "blank.png", "blank.png", "--disparities", 4, "-o", "out")

    def test_are_refused_before_they_are_decoded(self):
        with open(self.directory / "large.npy", "wb") as file:
            file.write(npy_bytes((self.SIDE, self.SIDE, 2), [], "<f4"))
            file.truncate(file.tell() + 8 * self.SIDE * self.SIDE)
        marks = ("segment", "marks.png", "-o", "out", "--scribbles")
        blank = ("segment", "blank.png", "-o", "out")
        for arguments, mentions in ((self.STEREO, ["blank.png", "--shrink"]),
                                    ((*blank, "--scribbles", "marks.png"), ["blank.png"]),
                                    ((*blank, "--softmax", "unary.npy"), ["blank.png"]),
                                    ((*marks, "blank.png"), ["64 x 64"]),  # of another size
                                    ((*marks, "marks.png", "--truth", "blank.png"), ["64 x 64"]),
                                    (("solve", "model.json"), ["the picture of model.json"])):
            with self.subTest(arguments=arguments):
                finished = self.run_command(*arguments, "--max-memory", 0.9e-3 * self.MEGABYTES)
                self.assert_one_sentence(finished, [f"{self.SIDE} x {self.SIDE}", *mentions])
                if "64 x 64" not in mentions:
                    self.assert_one_sentence(finished, ["memory", "91 MB", "--max-memory"])
                self.assertFalse((self.directory / "out").exists())

    def test_are_shrunk_while_they_are_decoded(self):
        finished = self.run_command(*self.STEREO, "--shrink", 64, "--truth", "blank.png,1", "--mask", "blank.png",
                                    "--max-memory", 0.9e-3 * self.MEGABYTES)
        # Nothing of a blank truth is known, which is found when it has been read.
        self.assertNotIn("memory", finished.messages)
        finished = self.run_well(*self.STEREO, "--shrink", 64, "--max-memory", 0.9e-3 * self.MEGABYTES)
        self.assertLess(finished.peak_megabytes, 0.9 * self.MEGABYTES)
        self.assertEqual(png_size(self.directory / "out/disparity.png"), (self.SIDE // 64, self.SIDE // 64))

    def test_are_decoded_within_the_time_limit(self):
        for arguments in ((*self.STEREO, "--shrink", 64), ("segment", "blank.png", "--scribbles", "blank.png", "-o", "out")):
            with self.subTest(arguments=arguments):
                finished = self.run_command(*arguments, "--time-limit", 0.02)
                self.assert_one_sentence(finished, ["0.02 s", "blank.png", "decoded", "--time-limit"])
                self.assertFalse((self.directory / "out").exists())


if __name__ == "__main__":
    main()
