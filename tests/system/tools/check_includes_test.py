"""tools/check_includes.py sees what it is there to see: each case is a small tree with one flaw."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(os.environ["SUBMARINE_SOURCE_DIR"]) / "tools" / "check_includes.py"
RULE = "submarine_folder(base LINK fmt::fmt)\nsubmarine_folder(model USES base LINK x)\nsubmarine_folder(io USES base)\n"


class CheckIncludes(unittest.TestCase):

    def check(self, files, rule=RULE):
        with tempfile.TemporaryDirectory() as tree:
            for name, text in {"CMakeLists.txt": rule, "submarine/base/a.h": "int a;\n", **files}.items():
                path = pathlib.Path(tree) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, CHECK, tree], capture_output=True, text=True, check=False)
            return run.returncode, run.stdout

    def assert_clean(self, files, rule=RULE):
        code, output = self.check(files, rule)
        self.assertEqual(code, 0, output)

    def assert_flaw(self, where, files, rule=RULE):
        code, output = self.check(files, rule)
        self.assertEqual(code, 1, output)
        self.assertEqual(len(output.splitlines()), 1, output)
        self.assertTrue(output.startswith(where + ":"), output)

    def test_allowed_includes(self):
        self.assert_clean({"submarine/model/m.cc": '#include <vector>\n#include "submarine/base/a.h"\n'})

    def test_include_against_the_direction(self):
        self.assert_flaw("submarine/base/b.cc:2", {"submarine/base/b.cc": '\n#include "submarine/model/m.h"\n'})

    def test_include_between_neighbours(self):
        self.assert_flaw("submarine/io/r.h:1", {"submarine/io/r.h": '# include  "submarine/model/m.h"\n'})

    def test_tests_keep_the_direction_too(self):
        self.assert_flaw("submarine/base/b_test.cc:1", {"submarine/base/b_test.cc": '#include "submarine/io/r.h"\n'})

    def test_library_does_not_include_apps(self):
        self.assert_flaw("submarine/model/m.cc:1", {"submarine/model/m.cc": '#include "apps/solve.h"\n'})

    def test_internal_headers_stay_in_their_folder(self):
        self.assert_clean({"submarine/base/b.cc": '#include "submarine/base/a_internal.h"\n'})
        self.assert_flaw("submarine/model/m.cc:1", {"submarine/model/m.cc": '#include "submarine/base/a_internal.h"\n'})

    def test_no_program_includes_internal_headers(self):
        self.assert_flaw("apps/a.cc:1", {"apps/a.cc": '#include "submarine/base/a_internal.h"\n'})
        self.assert_clean({"apps/a.cc": '#include "submarine/base/a.h"\n'})

    def test_bounds_of_exact_inference_are_for_one_file(self):
        rule = RULE + "submarine_folder(bound USES base)\nsubmarine_folder(solve USES bound)\n"
        include = '#include "submarine/bound/exact_bounds.h"\n'
        self.assert_clean({"submarine/solve/exact_solve.cc": include, "submarine/bound/b.cc": include}, rule)
        self.assert_flaw("submarine/solve/s.cc:1", {"submarine/solve/s.cc": include}, rule)
        self.assert_flaw("apps/a.cc:1", {"apps/a.cc": include}, rule)

    def test_include_without_folder(self):
        self.assert_flaw("submarine/base/b.cc:1", {"submarine/base/b.cc": '#include "a.h"\n'})

    def test_files_only_in_io(self):
        self.assert_flaw("submarine/model/m.cc:1", {"submarine/model/m.cc": "#include <fstream>\n"})
        self.assert_clean({"submarine/io/r.cc": "#include <fstream>\n"})
        self.assert_clean({"submarine/model/m_test.cc": "#include <fstream>\n"})

    def test_no_printing_and_no_exit(self):
        for statement in ('std::printf("x");', 'fmt::print("x");', "exit(1);", "std::cerr << 1;", "std::abort();"):
            self.assert_flaw("submarine/base/b.cc:3", {"submarine/base/b.cc": f"int f() {{\n\n  {statement}\n}}\n"})

    def test_comments_and_strings_are_not_code(self):
        self.assert_clean({"submarine/base/b.cc": '// exit(1);\n/* printf("x")\n#include <fstream>\n */\n'
                                                  'const char* s = "abort()";\nint snprintf(int);\n'})

    def test_folder_without_rule(self):
        self.assert_flaw("submarine/extra/e.h:1", {"submarine/extra/e.h": "int e;\n"})

    def test_cyclic_rule(self):
        self.assert_flaw("CMakeLists.txt:1", {}, "submarine_folder(base USES model)\nsubmarine_folder(model USES base)\n")

    def test_what_is_used_is_stated(self):
        rule = RULE + "submarine_folder(solve USES model)\n"
        self.assert_flaw("submarine/solve/s.cc:1", {"submarine/solve/s.cc": '#include "submarine/base/a.h"\n'}, rule)

    def test_tests_may_use_more(self):
        rule = RULE + "submarine_folder(solve USES model TEST_USES io)\n"
        self.assert_clean({"submarine/solve/s_test.cc": '#include "submarine/io/r.h"\n#include "submarine/base/a.h"\n'},
                          rule)
        self.assert_flaw("submarine/solve/s.cc:1", {"submarine/solve/s.cc": '#include "submarine/io/r.h"\n'}, rule)

    def test_folders_in_folders(self):
        rule = RULE + "submarine_folder(io/image USES base)\n"
        self.assert_clean({"submarine/io/image/p.cc": '#include "submarine/base/a.h"\n#include <fstream>\n'}, rule)
        self.assert_flaw("submarine/io/r.cc:1", {"submarine/io/r.cc": '#include "submarine/io/image/p.h"\n'}, rule)
        rule += "submarine_folder(base/low USES base)\n"
        self.assert_clean({"submarine/base/low/l.cc": '#include "submarine/base/a_internal.h"\n'}, rule)

    def test_public_headers_include_public_ones(self):
        headers = "set(PUBLIC_HEADERS\n  submarine/base/a.h\n  submarine/base/b.h)\n"
        self.assert_clean({"cmake/public_headers.cmake": headers,
                           "submarine/base/b.h": '#include "submarine/base/a.h"\n'})
        self.assert_flaw("submarine/base/b.h:1", {"cmake/public_headers.cmake": headers,
                                                  "submarine/base/b.h": '#include "submarine/base/c.h"\n'})

    def test_public_headers_point_to_public_ones(self):
        headers = "set(PUBLIC_HEADERS\n  submarine/base/a.h\n  submarine/base/b.h)\n"
        self.assert_clean({"cmake/public_headers.cmake": headers, "submarine/base/b.h": "int b;  // see base/a.h\n"})
        self.assert_flaw("submarine/base/b.h:2", {"cmake/public_headers.cmake": headers,
                                                  "submarine/base/b.h": "int b;\n// See base/c.h.\n"})


if __name__ == "__main__":
    unittest.main()
