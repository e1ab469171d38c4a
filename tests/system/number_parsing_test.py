"""Numbers of files and options are parsed by std::from_chars, which no locale changes."""

import os
import pathlib
import re
import unittest

SOURCE_DIR = pathlib.Path(os.environ["SUBMARINE_SOURCE_DIR"])

# Functions and streams that read 1,5 for 1.5 after setlocale() or std::locale::global().
FOLLOWS_LOCALE = re.compile(
    r"\b(strto(?:d|f|ld)|sto(?:d|f|ld|i|l|ll|ul|ull)|ato(?:f|i|l|ll)|v?f?s?scanf|i?stringstream)\b\s*[({ ]")


def offences(text):
    code = re.sub(r"//[^\n]*", "", text)
    return [match.group(1) for match in FOLLOWS_LOCALE.finditer(code)]


class NumberParsing(unittest.TestCase):

    def test_sources(self):
        files = [file for folder in ("submarine", "apps") for file in sorted((SOURCE_DIR / folder).rglob("*"))
                 if file.suffix in (".h", ".cc") and not file.name.endswith(("_test.cc", "_test_util.h"))]
        self.assertGreater(len(files), 100)
        found = {str(file.relative_to(SOURCE_DIR)): words for file in files
                 if (words := offences(file.read_text(encoding="utf-8")))}
        self.assertEqual(found, {})

    def test_finds_what_it_looks_for(self):
        for text in ("x = std::strtod(text.c_str(), &end);", "std::stod(s)", "atof (s)", "std::sscanf(s, f, &x);",
                     "std::istringstream stream(s);", "std::stringstream stream;"):
            with self.subTest(text=text):
                self.assertEqual(len(offences(text)), 1)
        for text in ("std::from_chars(begin, end, value);", "// not strtod(x)", "std::ostringstream out;"):
            with self.subTest(text=text):
                self.assertEqual(offences(text), [])


if __name__ == "__main__":
    unittest.main()
