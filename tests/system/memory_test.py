"""What a solve was expected to hold (estimated_gigabytes) against what it held, and what the limit refuses."""

import os
import subprocess

from submarine_support import PROGRAM, CommandTest, main, read_json

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
        for arguments in ([], ["--certify", "none"], ["--updates", "damped"],
                          [*lattice, "--method", "quadratic", "--certify", "none"],
                          [*lattice, "--method", "quadratic", "--certify", "operator"],
                          [*lattice, "--method", "fw", "--max-iterations", 3, "--certify", "none"],
                          ["--method", "fw", "--max-iterations", 2, "--certify", "none"]):
            with self.subTest(arguments=arguments):
                peak = self.peak_gigabytes(*picture, *arguments) - program
                estimate = read_json(self.directory / "picture/summary.json")["estimated_gigabytes"]
                self.assertLess(LEAST * peak, estimate)
                self.assertLess(estimate, MOST * peak)


class Refusals(MemoryTest):

    def test_segmentation_names_a_size(self):
        picture = self.picture("picture", 200, 150, 6)
        finished = self.run_command(*picture, "--max-memory", "0.01")
        self.assert_one_sentence(finished, ["memory", "10 MB", "variables instead of 30000", "--max-memory"])
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
        finished = self.run_command("stereo", left, right, "-o", "out", "--disparities", 12, "--max-memory", "0.02")
        self.assert_one_sentence(finished, ["memory", "try --shrink"])


if __name__ == "__main__":
    main()
