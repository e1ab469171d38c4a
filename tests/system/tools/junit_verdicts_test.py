"""tools/junit_verdicts.py finds what was skipped, and why, in what ctest writes."""

import subprocess
import sys
from xml.sax.saxutils import escape

from submarine_support import SOURCE_DIR, CommandTest, main


class Verdicts(CommandTest):

    def verdicts(self, status, output="", child=""):
        self.write("ctest.xml", f'<testsuite><testcase name="a.b" status="{status}">{child}'
                                f"<system-out>{escape(output)}</system-out></testcase></testsuite>")
        return subprocess.run([sys.executable, SOURCE_DIR / "tools" / "junit_verdicts.py", "ctest.xml"],
                              cwd=self.directory, capture_output=True, text=True, check=True).stdout.splitlines()

    def test_passed_and_failed(self):
        self.assertEqual(self.verdicts("run", "all is well"), ["passed\ta.b"])
        self.assertEqual(self.verdicts("fail", child='<failure message=""/>'), ["failed\ta.b"])
        self.assertEqual(self.verdicts("notrun"), ["failed\ta.b"])

    def test_skipped_cases(self):
        child = '<skipped message=""/>'
        google = "[ RUN      ] A.B\n/x/a_test.cc:28: Skipped\nno data at /y\n\n[  SKIPPED ] A.B (0 ms)\n"
        for output, reason in (("SKIPPED: no net\n", "no net"), (google, "no data at /y"), ("", "it does not say why"),
                               ("SKIPPED [1] a.py:3: no torch\n1 skipped", "no torch")):
            with self.subTest(reason=reason):
                self.assertEqual(self.verdicts("notrun", output, child), [f"skipped\ta.b: {reason}"])

    def test_tests_that_a_case_skips_inside(self):
        output = "..ss\nSKIPPED [2] a.py:3: no data\nSKIPPED: no root\nSKIPPED [1] b.py:7: no data\n"
        self.assertEqual(self.verdicts("run", output), ["passed\ta.b", "skipped\t3 tests of a.b: no data",
                                                        "skipped\t1 test of a.b: no root"])

    def test_unittest_says_it_this_way(self):
        """Whose own summary has the number only."""
        self.write("s.py", "import unittest\nfrom submarine_support import main\nclass T(unittest.TestCase):\n"
                           "    @unittest.skip('no reason')\n    def test_a(self): pass\n"
                           "    def test_b(self): self.skipTest('none')\n    def test_c(self): pass\nmain()\n")
        finished = subprocess.run([sys.executable, "s.py"], cwd=self.directory, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=True)
        self.assertEqual(self.verdicts("run", finished.stdout)[1:],
                         ["skipped\t1 test of a.b: no reason", "skipped\t1 test of a.b: none"])


if __name__ == "__main__":
    main()
