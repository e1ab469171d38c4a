"""Ctrl-C and SIGTERM end a solve early, with exit code 0 and a certificate, or 3 where there is none yet; a terminal shows
how it goes."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from submarine_support import (PROGRAM, PROGRESS_LINE, Array, CommandTest, interval_sentence, main, read_json,
                               without_progress)

PATIENCE_SECONDS = 90


def has_terminals():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


HAS_TERMINALS = has_terminals()
needs_terminals = unittest.skipUnless(HAS_TERMINALS, "this machine has no pseudo-terminals (is /dev/pts mounted?)")


class Terminal:
    """The command with its standard error, and its keyboard, on a terminal of its own; or where this machine has none, with
    standard error in a pipe, through which come the same lines, only later."""

    def __init__(self, directory, *arguments, columns=200):
        self.text = ""
        self.master, slave = pty.openpty() if HAS_TERMINALS else os.pipe()
        options = {"stdin": subprocess.DEVNULL}
        if HAS_TERMINALS:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            options = {"stdin": slave, "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=directory, stdout=subprocess.PIPE,
                                        stderr=slave, start_new_session=True, **options)
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        os.close(self.master)

    def read_until(self, condition):
        """Reads until the condition on the text so far holds or the program closes the terminal."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition(self.text):
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing of the kind within {PATIENCE_SECONDS} s: {self.text[-500:]!r}")
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                text = os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # how Linux reports that nobody has the terminal open any more
                return
            if not text:  # the same of a pipe
                return
            self.text += text

    def press_ctrl_c(self):
        os.write(self.master, b"\x03")

    def finish(self):
        """The exit code and what came on standard output."""
        self.read_until(lambda _: False)
        output = self.process.stdout.read().decode()
        return self.process.wait(timeout=PATIENCE_SECONDS), output


def shows_progress(text):
    """Of a solver: TRW has no gap to show."""
    return "upper" in text and ("gap" in text or "trw" in text)


class Interrupt(CommandTest):

    def large(self):
        return self.generate(width=300, height=300, labels=20, weight=5.0, high=10.0)

    def solve_in_terminal(self, *arguments, **options):
        """A solve that would not end by itself."""
        return Terminal(self.directory, "solve", *arguments, "--json", "s.json", "--marginals", "m.npy", "--gap", "0",
                        "--max-iterations", "2000000000", **options)

    def assert_certificate(self):
        summary = read_json(self.directory / "s.json")
        self.assertEqual(summary["termination"], "interrupted")
        self.assertLess(summary["lower"], summary["upper"])
        if summary["method"] != "trw":
            self.assertLessEqual(summary["dual"], summary["upper"])
        self.assertGreater(len(summary["iterations"]), 0)
        self.assertEqual(Array(self.directory / "m.npy").shape, (300, 300, 20))
        self.assertEqual(sorted(path.name for path in self.directory.iterdir()),
                         ["m.npy", "model.json", "model.unary.npy", "s.json"])
        return summary

    def test_signals(self):
        model = self.large()
        for method, number in (("pdhg", signal.SIGINT), ("pdhg", signal.SIGTERM), ("fw", signal.SIGINT),
                               ("trw", signal.SIGINT)):
            with (self.subTest(method=method, signal=number),
                  self.solve_in_terminal(model, "--method", method) as terminal):
                terminal.read_until(shows_progress)
                terminal.process.send_signal(number)
                code, output = terminal.finish()
                self.assertEqual(code, 0, terminal.text[-500:])
                summary = self.assert_certificate()
                self.assertIn("interrupted", output)
                self.assertIn(interval_sentence(summary), output.splitlines())

    @needs_terminals
    def test_ctrl_c_on_the_keyboard(self):
        with self.solve_in_terminal(self.large(), "--method", "pdhg") as terminal:
            terminal.read_until(shows_progress)
            terminal.press_ctrl_c()
            code, _ = terminal.finish()
            self.assertEqual(code, 0, terminal.text[-500:])
            self.assert_certificate()

    def test_mean_field(self):
        model = self.large()
        arguments = ["solve", model, "--method", "mf", "--starts", "1000000", "--json", "s.json", "--quiet"]
        with Terminal(self.directory, *arguments) as terminal:
            # Nothing is shown that could be waited for.
            while not catches_interrupts(terminal.process.pid):
                time.sleep(0.05)
            terminal.process.send_signal(signal.SIGINT)
            self.assertEqual(terminal.finish(), (0, ""))
        self.assertIsNotNone(read_json(self.directory / "s.json")["lower"])

    def test_exact_ends_at_once_and_writes_nothing(self):
        """Elimination, several seconds of it here, proves nothing until it is done."""
        model = self.generate(width=10, height=200, labels=3)
        for number in (signal.SIGINT, signal.SIGTERM):
            with (self.subTest(signal=number),
                  Terminal(self.directory, "solve", model, "--method", "exact", "--json", "s.json") as terminal):
                time.sleep(0.5)
                terminal.process.send_signal(number)
                begin = time.monotonic()
                code, output = terminal.finish()
                self.assertLess(time.monotonic() - begin, 5.0)
                self.assertEqual((code, output), (3, ""))
                last = without_progress(re.split(r"\r\x1b\[K", terminal.text)[-1])
                self.assertRegex(last, r"^submarine: [^\n]*interrupted[^\n]*\r?\n$")
                self.assertEqual(sorted(path.name for path in self.directory.iterdir()), ["model.json", "model.unary.npy"])


    def test_before_a_first_bound_the_unaries_are_written(self):
        self.run_well("generate", "--segmentation", "--width", 900, "--height", 700, "--labels", 21, "-o", "big")
        with Terminal(self.directory, "segment", "big.png", "--softmax", "big.softmax.npy", "--certify", "--threads", "1",
                      "--no-report", "-o", "out") as terminal:
            terminal.read_until(lambda text: re.search("normalising|preparing", text))
            terminal.process.send_signal(signal.SIGINT)
            code, _ = terminal.finish()
        self.assertEqual(code, 3, terminal.text[-500:])
        self.assertRegex(re.split(r"\r\x1b\[K", terminal.text)[-1], r"^submarine: interrupted[^\n]*\n$")
        summary = read_json(self.directory / "out/summary.json")
        self.assertEqual(summary["termination"], "interrupted")
        self.assertLess(summary["lower"], summary["upper"])


def catches_interrupts(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        mask = int(re.search(r"SigCgt:\s*([0-9a-f]+)", status.read()).group(1), 16)
    return bool(mask >> (signal.SIGINT - 1) & 1)


class Progress(CommandTest):

    def solve_in_terminal(self, *arguments, **options):
        model = self.generate(width=150, height=150, labels=20, weight=5.0, high=10.0)
        return Terminal(self.directory, "solve", model, "--method", "pdhg", "--gap", 0, "--time-limit", 2, *arguments,
                        **options)

    @needs_terminals
    def test_the_line_says_how_far(self):
        with self.solve_in_terminal() as terminal:
            code, output = terminal.finish()
            self.assertEqual(code, 0)
            lines = re.split(r"\r\x1b\[K", terminal.text)
            full = [line for line in lines if "gap" in line]
            self.assertGreater(len(full), 3)
            for line in full:
                self.assertRegex(line, r"^ *\d+\.\d s pdhg \d+  upper -?\d+\.\d+  dual -?\d+\.\d+  gap \d\.\d+e[+-]\d+")
            # In the last half second there is nothing to say.
            self.assertRegex(full[0], r"about \d+\.\d s left")
            self.assertEqual(lines[-1], "", "the line is taken back in the end")
            self.assertNotIn("\n", terminal.text)
            self.assertIn("Certified", output)

    @needs_terminals
    def test_the_line_fits_the_terminal(self):
        with self.solve_in_terminal(columns=30) as terminal:
            self.assertEqual(terminal.finish()[0], 0)
            lines = re.split(r"\r\x1b\[K", terminal.text)
            self.assertGreater(len(lines), 3)
            self.assertLess(max(map(len, lines)), 30)

    @needs_terminals
    def test_quiet(self):
        with self.solve_in_terminal("--quiet") as terminal:
            self.assertEqual(terminal.finish(), (0, ""))
            self.assertEqual(terminal.text, "")

    def test_no_line_of_short_work_where_there_is_no_terminal(self):
        """Nothing before a second and a half, however long it takes on this machine."""
        model = self.generate(width=50, height=50, labels=5, weight=5.0)
        finished = self.run_well("solve", model, "--method", "pdhg")
        self.assertEqual(finished.messages, "")
        for line in finished.stderr.splitlines():
            self.assertGreaterEqual(float(line.split()[0]), 1.5)

    def test_few_and_plain_lines_where_there_is_no_terminal(self):
        model = self.generate(width=150, height=150, labels=20, weight=5.0, high=10.0)
        lines = self.run_well("solve", model, "--method", "pdhg", "--gap", 0, "--time-limit", 4).stderr.splitlines()
        self.assertIn(len(lines), (1, 2), lines)
        for line in lines:
            self.assertRegex(line, PROGRESS_LINE)
            self.assertTrue(line.isprintable(), ascii(line))
        self.assertGreater(float(lines[0].split()[0]), 1.0)


if __name__ == "__main__":
    main()
