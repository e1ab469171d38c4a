"""Streams that are closed or full, and names and paths that are hostile: what is computed is kept, what cannot be said
shows in the exit code, and what is said is one sentence of plain text."""

import csv
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

from submarine_support import EXPERIMENTS, PROGRAM, SOURCE_DIR, CommandTest, main, program_of, read_json, without_progress

TINY = ("--width", "5", "--height", "4", "--labels", "3", "--metrics", "potts", "--weights", "1", "--instances", "2",
        "--methods", "mf,trw", "--deterministic")
LONGEST_NAME = 255


class StreamTest(CommandTest):

    def run_redirected(self, redirections, *arguments, timeout=60, **options):
        """The command as a shell starts it with these redirections; what they leave open is returned, but for lines of
        progress."""
        finished = subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirections}', program_of(arguments), *map(str, arguments)],
                                  cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=timeout, check=False, **options)
        finished.stderr = without_progress(finished.stderr)
        return finished

    def scene(self, name="scene"):
        self.run_well("generate", "--stereo", "--width=24", "--height=16", "--labels=4", "-o", name)
        return name

    def results(self, output):
        with open(self.directory / output / "results.csv", encoding="ascii", newline="") as file:
            return sorted(tuple(row) for row in csv.reader(file))


class QuietStreams(StreamTest):

    def test_more_threads_than_cores_are_no_news(self):
        self.run_well("generate", "--width=30", "--height=30", "--labels=4", "-o", "grid.json")
        finished = self.run_redirected("", "solve", "grid.json", "--threads", 8 * (os.cpu_count() or 1))
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))


class ClosedStreams(StreamTest):

    def test_a_summary_does_not_go_into_the_results(self):
        self.run_well("synth", *TINY, "-o", "expected")
        finished = self.run_redirected(">&-", "synth", *TINY, "-o", "out")
        self.assertEqual(finished.returncode, 2, finished)
        self.assertRegex(finished.stderr, "^submarine: cannot write to standard output: [^\n]*\n$")
        self.assertEqual(self.results("out"), self.results("expected"))
        self.run_well("synth", *TINY, "-o", "out")

    def test_progress_does_not_go_into_the_results(self):
        """A log gets its first line of progress after 1.5 seconds."""
        arguments = ["synth", "--width", "12", "--height", "12", "--labels", "4", "--metrics", "potts", "--weights", "2",
                     "--methods", "submod-fw", "--instances", "100000", "--threads", "1", "-o", "out"]
        process = subprocess.Popen(["sh", "-c", 'exec "$0" "$@" 2>&-', EXPERIMENTS, *arguments], cwd=self.directory,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            time.sleep(4)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        finally:
            process.kill()
            process.wait()
        rows = self.results("out")
        self.assertGreater(len(rows), 10)
        self.assertEqual({len(row) for row in rows}, {9})
        self.assertNotIn("elapsed", (self.directory / "out" / "results.csv").read_text(encoding="ascii"))

    def test_nothing_is_lost_without_streams(self):
        model = self.generate(metric="tree:(0:1,1:0.5,2:0.5)")
        arguments = ("solve", model, "--method", "exact", "--marginals")
        self.run_well(*arguments, "expected.npy")
        for redirections in ("<&-", "2>&-", "<&- 2>&-"):
            with self.subTest(redirections=redirections):
                finished = self.run_redirected(redirections, *arguments, "out.npy")
                self.assertEqual(finished.returncode, 0, finished)
                self.assertIn("log Z", finished.stdout)
                self.assertEqual((self.directory / "out.npy").read_bytes(),
                                 (self.directory / "expected.npy").read_bytes())
        for redirections in ("<&- >&- 2>&-", ">&- 2>&-"):
            with self.subTest(redirections=redirections):
                self.assertEqual(self.run_redirected(redirections, *arguments, "quiet.npy", "-q").returncode, 0)
                self.assertEqual((self.directory / "quiet.npy").read_bytes(),
                                 (self.directory / "expected.npy").read_bytes())

    def test_standard_output_as_a_file(self):
        """As /dev/stdout is a link. One that leads nowhere, which is so where the stream is closed, is not replaced."""
        model = self.generate()
        (self.directory / "stdout").symlink_to("/proc/self/fd/1")
        finished = self.run_redirected("", "solve", model, "-q", "--json", "stdout")
        self.assertIn("upper", finished.stdout)
        finished = self.run_redirected(">&-", "solve", model, "-q", "--json", "stdout")
        self.assertEqual(finished.returncode, 2, finished)
        self.assertRegex(finished.stderr, '^submarine: cannot write "stdout": [^\n]*\n$')
        self.assertTrue((self.directory / "stdout").is_symlink())


class UnwritableStreams(StreamTest):

    def test_errors_keep_their_exit_code(self):
        model = self.generate()
        for redirections in ("2>&-", "2>/dev/full"):
            for arguments in (("solve", "nowhere.json"), ("solve",), ("slove",), ("solve", model, "--gap", "x"),
                              ("report", "nowhere"), ("synth", "-o", model), ("solve", model, "--json", "/dev/full")):
                with self.subTest(redirections=redirections, arguments=arguments):
                    finished = self.run_redirected(redirections, *arguments)
                    self.assertEqual((finished.returncode, finished.stderr), (2, ""))

    def test_warnings_spoil_nothing(self):
        self.generate(metric="tree:(0:1,1:0.5,2:0.5)")
        finished = self.run_redirected("2>/dev/full", "solve", "model.json", "--json", "s.json")
        self.assertEqual(finished.returncode, 0, finished)
        self.assertIn("upper", read_json(self.directory / "s.json"))

    def test_help_that_cannot_be_shown(self):
        for redirections in (">/dev/full", ">&-"):
            for arguments in (("--help",), ("--version",), ("solve", "--help"), ("synth", "--help")):
                with self.subTest(redirections=redirections, arguments=arguments):
                    finished = self.run_redirected(redirections, *arguments)
                    self.assertEqual(finished.returncode, 2, finished)
                    self.assertRegex(finished.stderr, "^submarine: cannot write to standard output: [^\n]*\n$")
        for arguments in (("--help",), ("solve", "--help")):
            self.assertIn("submarine", self.run_well(*arguments).stdout)

    def test_summaries_that_cannot_be_shown(self):
        model = self.generate()
        scene = self.scene()
        self.run_well("solve", model, "-q", "--bundle", "bundle")
        for redirections in (">/dev/full", ">&-"):
            for arguments in (("solve", model), ("solve", model, "--bundle", "b2"), ("report", "bundle"),
                              ("generate", "-o", "m.json"), ("generate", "--stereo", "--width=24", "--height=16",
                                                             "--labels=4", "-o", "s2"),
                              ("synth", *TINY, "-o", "synth"),
                              ("stereo", f"{scene}/left.png", f"{scene}/right.png", "-o", "st", "--disparities", "4"),
                              ("stereo-bench", scene, "-o", "bench", "--methods", "constant")):
                with self.subTest(redirections=redirections, arguments=arguments):
                    finished = self.run_redirected(redirections, *arguments)
                    self.assertEqual(finished.returncode, 2, finished)
                    self.assertRegex(finished.stderr, "^submarine: cannot write to standard output: [^\n]*\n$")

    def test_a_reader_that_left(self):
        model = self.generate()
        for stream in ("stdout", "stderr"):
            with self.subTest(stream=stream):
                reader, writer = os.pipe()
                os.close(reader)
                streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writer}
                arguments = (model, "--bundle", stream) if stream == "stdout" else ("nowhere.json",)
                process = subprocess.Popen([PROGRAM, "solve", *arguments], cwd=self.directory,
                                           stdin=subprocess.DEVNULL, text=True, **streams)
                os.close(writer)
                _, problems = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 2)
                if stream == "stdout":
                    self.assertEqual(problems, "submarine: cannot write to standard output: Broken pipe\n")
                    self.assertTrue((self.directory / "stdout" / "summary.json").exists())


class Names(StreamTest):

    HOSTILE = "\x1b]0;owned\a\r\n\x7f\u009b2J\u202e"
    HARMLESS = "\\x1b]0;owned\\x07\\r\\n\\x7f\\xc2\\x9b2J\\xe2\\x80\\xae"

    def assert_plain(self, text, lines=1):
        for character in text:
            self.assertTrue(character.isprintable() or character == "\n", ascii(text))
        self.assertEqual(text.count("\n"), lines, ascii(text))

    def test_errors(self):
        name = self.HOSTILE
        for arguments in (("solve", f"{name}.json"), ("solve", name), (name,), ("solve", "--method", name),
                          ("report", name), ("synth", *TINY, "--metrics", f"tree:{name}", "-o", "out"),
                          ("stereo", name, name, "-o", "out"),
                          ("stereo-bench", name, "-o", "out"), ("segment", name, "--softmax", "x.npy", "-o", "out"),
                          ("generate", "-o", f"{name}/x.json")):
            with self.subTest(arguments=ascii(arguments)):
                finished = self.run_command(*arguments)
                self.assert_one_sentence(finished, mentions=[self.HARMLESS])
                self.assert_plain(finished.stderr)

    def test_bytes_that_are_no_text(self):
        name = b"caf\xe9\x9b.json"
        finished = subprocess.run([PROGRAM, "solve", name], cwd=self.directory, capture_output=True, check=False)
        self.assertEqual(finished.returncode, 2)
        self.assertIn(rb'caf\xe9\x9b.json', finished.stderr)

    def test_names_in_any_language_are_kept(self):
        for name in ("Müller-Ü.json", "模型.json", "модель.json", "😀.json"):
            self.assertIn(name, self.run_command("solve", name).stderr)

    def test_reports_of_success(self):
        name = self.HOSTILE
        for arguments in (("generate", "--width=4", "--height=3", "-o", f"{name}.json"),
                          ("generate", "--stereo", "--width=24", "--height=16", "--labels=4", "-o", name)):
            finished = self.run_well(*arguments)
            self.assertIn(self.HARMLESS, finished.stdout)
            self.assert_plain(finished.stdout)
        finished = self.run_well("stereo-bench", name, "-o", name + "bench", "--methods", "constant")
        self.assertIn(self.HARMLESS, finished.stdout)
        self.assert_plain(finished.stdout)
        self.run_well("solve", f"{name}.json", "-q", "--bundle", f"{name}b")
        finished = self.run_well("report", f"{name}b")
        self.assertIn(self.HARMLESS, finished.stdout)
        self.assert_plain(finished.stdout)

    def test_nothing_prints_by_other_ways(self):
        printing = [path.name for path in sorted((SOURCE_DIR / "apps").rglob("*.cc"))
                    if any(call in path.read_text(encoding="utf-8")
                           for call in ("fmt::print(", "printf(", "fwrite(", "fputs(", "std::cout", "std::cerr"))]
        self.assertEqual(printing, ["messages.cc"])


class Paths(StreamTest):

    def test_paths_that_cannot_be_looked_at(self):
        (self.directory / "loop").symlink_to("loop")
        scene = self.scene()
        for path in ("loop", "n" * (LONGEST_NAME + 1), "d/" * 2100 + "d"):
            for arguments in (("solve", f"{path}/m.json"), ("solve", f"{path}.json"), ("report", path),
                              ("synth", *TINY, "-o", path),
                              ("stereo-bench", path, "-o", "out"), ("stereo-bench", scene, "-o", path),
                              ("stereo", path, path, "-o", "out"), ("segment", path, "--softmax", "x.npy", "-o", "out"),
                              ("generate", "-o", f"{path}/m.json"), ("generate", "--stereo", "-o", path)):
                with self.subTest(path=path[:10], arguments=[argument[:10] for argument in arguments]):
                    self.assert_one_sentence(self.run_command(*arguments), mentions=[path])

    def test_files_inside_that_cannot_be_looked_at(self):
        model = self.generate()
        self.run_well("solve", model, "-q", "--bundle", "bundle")
        self.run_well("synth", *TINY, "-o", "synth", "-q")
        scene = self.scene()
        self.run_well("stereo-bench", scene, "-o", "bench", "--methods", "constant")
        for directory, name, arguments in (
                ("bundle", "labels.npy", ("report", "bundle")),
                ("synth/runs", "potts.1.0.0.trw.json", ("synth", *TINY, "-o", "synth")),
                (scene, "disparity.png", ("stereo-bench", scene, "-o", "b2")),
                ("bench/runs", "scene.constant.default.json", ("stereo-bench", scene, "-o", "bench", "--methods",
                                                               "constant"))):
            with self.subTest(name=name):
                path = self.directory / directory / name
                kept = path.read_bytes()
                path.unlink()
                path.symlink_to(name)
                self.assert_one_sentence(self.run_command(*arguments), mentions=[name])
                path.unlink()
                path.write_bytes(kept)

    @unittest.skipIf(os.geteuid() == 0 and not shutil.which("setpriv"), "root may look everywhere, and no setpriv forbids it")
    def test_directories_that_may_not_be_searched(self):
        closed = self.directory / "closed"
        (closed / "inside").mkdir(parents=True)
        closed.chmod(0)
        self.addCleanup(closed.chmod, 0o700)
        without_rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        scene = self.scene()
        path = "closed/inside"
        for arguments in (("solve", f"{path}/m.json"), ("report", path), ("synth", *TINY, "-o", path),
                          ("stereo-bench", path, "-o", "out"),
                          ("stereo-bench", scene, "-o", path), ("generate", "-o", f"{path}/m.json")):
            with self.subTest(arguments=arguments):
                finished = self.run_command(*arguments, before=without_rights)
                self.assert_one_sentence(finished, mentions=[path, "Permission denied"])

    def test_the_longest_names(self):
        model = self.generate()

        def longest(ending):
            return ending.rjust(LONGEST_NAME, "n")
        outputs = {option: longest(ending) for option, ending in (
            ("--json", "1.json"), ("--marginals", "2.npy"), ("--mar", "3.MAR"), ("--pr", "4.PR"), ("--labels", "5.npy"),
            ("--entropy", "6.npy"), ("--picture", "7.png"), ("--bundle", "8"))}
        self.run_well("solve", model, "-q", *(word for pair in outputs.items() for word in pair))
        for name in outputs.values():
            self.assertTrue((self.directory / name).exists(), name[-6:])
        self.run_well("report", longest("8"), "-o", longest("9.html"))
        self.run_well("synth", *TINY, "-q", "-o", longest("synth"))
        for path in self.directory.iterdir():
            self.assertFalse(path.name.startswith("."), path.name)

    def test_what_does_not_fit_is_named_as_it_was_asked_for(self):
        """A limit of file sizes is met as a full disk is."""
        model = self.generate(width=40, height=30, labels=8)
        scene = self.scene()
        limit = 4096
        for arguments, name in ((("solve", model, "-q", "--bundle", "out/"), '"out/'),
                                (("solve", model, "-q", "--bundle", "a/b"), '"a/b/'),
                                (("solve", model, "-q", "--marginals", "m.npy"), '"m.npy"'),
                                (("stereo", f"{scene}/left.png", f"{scene}/right.png", "-o", "out", "--disparities", "4"),
                                 '"out/'),
                                (("synth", "--width=2", "--height=2", "--labels=2", "--metrics=potts", "--methods=mf", "--instances=100", "-o", "synth"),
                                 '"synth/results.csv"'),
                                (("generate", "--labels=40", "-o", "m.json"), '"m.unary.npy"')):
            with self.subTest(arguments=arguments):
                finished = self.run_redirected(
                    "", *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                self.assertEqual(finished.returncode, 2, finished)
                self.assertRegex(finished.stderr, "^submarine: [^\n]*: File too large\n$")
                self.assertIn(name, finished.stderr)
                self.assertEqual([path.name for path in self.directory.rglob(".*")], [])


if __name__ == "__main__":
    main()
