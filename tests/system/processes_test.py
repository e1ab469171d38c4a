"""Signals and other processes: an interrupt shows in the exit code and leaves no litter, and no two runs mix."""

import os
import signal
import subprocess
import time

from submarine_support import CommandTest, main, program_of, read_json, without_progress

PATIENCE_SECONDS = 90
INTERRUPTED = 3
TINY = ("--width", "5", "--height", "4", "--labels", "3", "--metrics", "potts", "--weights", "1", "--instances", "2",
        "--methods", "mf,trw", "--deterministic")
# Would take hours.
ENDLESS = ("--width", "12", "--height", "12", "--labels", "4", "--metrics", "potts", "--weights", "2", "--methods",
           "submod-fw", "--instances", "10000", "--threads", "1")


class ProcessTest(CommandTest):

    def start(self, *arguments, **options):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([program_of(arguments), *map(str, arguments)], cwd=self.directory, text=True,
                                   **{**streams, **options})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()

    def wait_until(self, condition, process):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.assertIsNone(process.poll(), "the command ended too soon")
            self.assertLess(time.monotonic(), deadline, "nothing of the kind happened")
            time.sleep(0.01)

    def wait_for_result(self, process, output="out"):
        runs = self.directory / output / "runs"
        self.wait_until(lambda: runs.is_dir() and any(runs.glob("*.json")), process)

    def hidden(self):
        return sorted(path.name for path in self.directory.rglob(".*"))

    def scene(self, name, width=24, height=16, labels=4):
        self.run_well("generate", "--stereo", f"--width={width}", f"--height={height}", f"--labels={labels}", "-o", name)
        return name


def catches(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        mask = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt:"))
    return bool(mask >> (number - 1) & 1)


class SeveralAtOnce(ProcessTest):

    def test_one_of_several_has_the_directory(self):
        for trial in range(5):
            processes = [self.start("synth", *TINY, "-q", "-o", f"trial{trial}") for _ in range(4)]
            codes = []
            for process in processes:
                _, problems = process.communicate(timeout=PATIENCE_SECONDS)
                codes.append(process.returncode)
                if process.returncode != 0:
                    self.assertEqual(process.returncode, 2, problems)
                    self.assertRegex(problems, "^submarine: another process writes to [^\n]*\n$")
            self.assertIn(0, codes)
            self.run_well("synth", *TINY, "-q", "-o", "expected")
            self.assertEqual((self.directory / f"trial{trial}" / "results.csv").read_text(),
                             (self.directory / "expected" / "results.csv").read_text())

    def test_stereo_bench(self):
        self.scene("one", width=160, height=120, labels=24)
        first = self.start("stereo-bench", "one", "-o", "out", "--methods", "constant,fw")
        finished = self.directory / "out" / "runs" / "one.constant.default.json"
        self.wait_until(finished.exists, first)
        second = self.run_command("stereo-bench", "one", "-o", "out", "--methods", "constant")
        self.assert_one_sentence(second, mentions=["another process", "out"])
        self.assertIsNone(first.poll())
        first.kill()
        first.wait()
        self.run_well("stereo-bench", "one", "-o", "out", "--methods", "constant")


class ExitCodes(ProcessTest):

    def test_an_incomplete_synth(self):
        for options in ((), ("-q",)):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(options=options, signal=number):
                    output = f"out{number}{''.join(options)}"
                    process = self.start("synth", *ENDLESS, *options, "-o", output)
                    self.wait_for_result(process, output)
                    process.send_signal(number)
                    _, problems = process.communicate(timeout=PATIENCE_SECONDS)
                    self.assertEqual(process.returncode, INTERRUPTED)
                    self.assertRegex(without_progress(problems), r"^submarine: interrupted: \d+ of 10000 results are missing; "
                                               "run the same command again to continue\n$")
                    self.assertTrue((self.directory / output / "results.csv").exists())

    def test_an_incomplete_stereo_bench(self):
        self.scene("one", width=160, height=120, labels=24)
        process = self.start("stereo-bench", "one", "-o", "out", "-q", "--methods", "constant,fw")
        finished = self.directory / "out" / "runs" / "one.constant.default.json"
        self.wait_until(finished.exists, process)
        process.send_signal(signal.SIGHUP)
        _, problems = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertEqual(problems, "submarine: interrupted: 1 of 2 results are missing; "
                                   "run the same command again to continue\n")

    def test_a_second_signal_ends_at_once(self):
        process = self.start("synth", *ENDLESS, "-o", "out")
        self.wait_for_result(process)
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
        # The second may come when the command has ended by the first.
        process.communicate(timeout=PATIENCE_SECONDS)
        self.assertIn(process.returncode, (INTERRUPTED, -signal.SIGHUP))


class Staging(ProcessTest):

    def slow(self):
        return self.generate(width=200, height=150, labels=12, weight=5.0, high=10.0)

    def solve_slowly(self, model, *arguments, **options):
        process = self.start("solve", model, "--gap", 0, "--max-iterations", 2000000000, *arguments, **options)
        self.wait_until(lambda: catches(process.pid, signal.SIGTERM), process)
        time.sleep(0.3)
        return process

    def test_hangup_is_an_interrupt(self):
        process = self.solve_slowly(self.slow(), "--bundle", "out")
        process.send_signal(signal.SIGHUP)
        _, problems = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((process.returncode, without_progress(problems)), (0, ""))
        self.assertEqual(read_json(self.directory / "out" / "summary.json")["termination"], "interrupted")
        self.assertEqual(self.hidden(), [])

    def test_nohup_is_respected(self):
        process = self.solve_slowly(self.slow(), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        time.sleep(1)
        self.assertIsNone(process.poll())

    def test_litter_of_the_dead_is_swept_up(self):
        model = self.slow()
        for number in (signal.SIGKILL, signal.SIGQUIT):
            process = self.solve_slowly(model, "--bundle", "out")
            process.send_signal(number)
            process.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual(process.returncode, -number)
        self.assertNotEqual(self.hidden(), [], "nothing to sweep up")
        small = self.generate("small.json")
        self.run_well("solve", small, "-q", "--bundle", "out")
        self.assertEqual(self.hidden(), [])
        self.assertTrue((self.directory / "out" / "report.html").exists())

    def test_the_living_and_the_files_of_others_are_left_alone(self):
        small = self.generate("small.json")
        for name in (".out.backup", ".outbackup", ".submarine"):
            (self.directory / name).mkdir()
            self.write(f"{name}/file", "kept")
        self.write(".submarine-bundle-file", "kept")
        (self.directory / ".submarine-bundle-link").symlink_to(".out.backup")
        expected = self.hidden()
        process = self.solve_slowly(self.slow(), "--bundle", "out")
        self.assertEqual(len(self.hidden()), len(expected) + 1)
        for output in ("out", "other"):
            self.run_well("solve", small, "-q", "--bundle", output)
        self.assertEqual(len(self.hidden()), len(expected) + 1)
        process.send_signal(signal.SIGINT)
        _, problems = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((process.returncode, without_progress(problems)), (0, ""))
        self.assertEqual(self.hidden(), expected)
        self.assertEqual(read_json(self.directory / "out" / "summary.json")["termination"], "interrupted")
        self.assertEqual((self.directory / ".out.backup" / "file").read_text(), "kept")

    def test_bundles_at_once(self):
        small = self.generate("small.json")
        processes = [self.start("solve", small, "-q", "--bundle", f"out{k % 3}") for k in range(12)]
        for process in processes:
            _, problems = process.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual((process.returncode, without_progress(problems)), (0, ""))
        self.assertEqual(self.hidden(), [])

    def test_permissions_are_those_of_any_directory(self):
        small = self.generate("small.json")
        for mask, mode in ((0o077, 0o700), (0o022, 0o755)):
            process = self.start("solve", small, "-q", "--bundle", f"out{mode:o}", preexec_fn=lambda: os.umask(mask))
            process.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual((self.directory / f"out{mode:o}").stat().st_mode & 0o777, mode)


if __name__ == "__main__":
    main()
