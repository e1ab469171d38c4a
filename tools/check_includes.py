#!/usr/bin/env python3
"""Checks the direction of dependencies between the folders of submarine/, that only io does I/O, and that public
headers include public headers only and point to no others.
Headers named *_internal.h belong to their folder and the folders below it, and no program includes one.

The rule is stated once, by the submarine_folder(NAME USES ... TEST_USES ...) lines of CMakeLists.txt: a folder
includes itself and what it USES, its tests also what is in the closure of both. Public headers are the list
PUBLIC_HEADERS in cmake/public_headers.cmake. Prints one line per violation, file:line first; exit code 1 if
there is any.

usage: check_includes.py [REPOSITORY]
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
FOLDER = re.compile(r"^submarine_folder\(([\w/]+)([^)]*)\)", re.MULTILINE)
COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)

NAMED_HEADER = re.compile(r"[\w/]+\.h\b")

IO_FOLDER = "io"
KEYWORDS = {"USES", "TEST_USES", "LINK"}
PROGRAMS = ("apps", "experiments", "python", "examples", "benchmarks")
# Headers that one file alone may include, beside its own folder.
SOLE_USER = {"submarine/bound/exact_bounds.h": "submarine/solve/exact_solve.cc"}
# Headers above all folders: of the public C++ headers, and the C interface, which includes nothing.
UMBRELLAS = {"submarine/submarine.h", "submarine/c_api.h"}
IO_HEADERS = {"iostream", "fstream", "filesystem", "cstdio", "stdio.h", "fmt/os.h", "print", "syncstream"}
IO_CALLS = re.compile(
    r"\b(?:std::)?(?:printf|fprintf|vprintf|puts|fputs|putchar|fopen|freopen|exit|_exit|quick_exit|abort|terminate|"
    r"perror)\s*\(|\bfmt::print(?:ln)?\s*\(|\bstd::(?:cout|cerr|clog)\b")


class Folder:
    """What a folder may include (uses), and the closure of that, which its tests may include as well."""

    def __init__(self, name, words, known):
        lists = {keyword: [] for keyword in KEYWORDS}
        keyword = None
        for word in words:
            keyword = word if word in KEYWORDS else keyword
            if word not in KEYWORDS and keyword:
                lists[keyword].append(word)
        self.unknown = [w for w in lists["USES"] if w not in known]
        self.uses = {name, *lists["USES"]}
        self.closure = {name}.union(*(known[w].closure for w in lists["USES"] if w in known))
        self.tests_name = lists["TEST_USES"]
        self.test_uses = set()


def read_rule(cmake_lists):
    """The folders by name, and what is wrong with the rule itself."""
    text = cmake_lists.read_text()
    folders, problems = {}, []
    for match in FOLDER.finditer(text):
        folder = Folder(match.group(1), match.group(2).split(), folders)
        line = text.count("\n", 0, match.start()) + 1
        for other in folder.unknown:
            problems.append(f"{cmake_lists.name}:{line}: {match.group(1)} uses {other}, which does not stand above it")
        folders[match.group(1)] = folder
    for name, folder in folders.items():
        problems.extend(f"{cmake_lists.name}: the tests of {name} use {other}, which is no folder"
                        for other in folder.tests_name if other not in folders)
        named = (folders[other].closure for other in folder.tests_name if other in folders)
        folder.test_uses = folder.closure.union(*named)
    return folders, problems


def read_public_headers(cmake_list):
    """Paths from the root of the repository; empty where there is no list."""
    if not cmake_list.exists():
        return set()
    return set(re.findall(r"^\s+(submarine/[\w/]+\.h)\)?$", cmake_list.read_text(), re.MULTILINE))


def check_pointers(where, text, public):
    """The headers that a public one names in its comments are installed, too."""
    for number, line in enumerate(text.splitlines(), 1):
        _, _, comment = line.partition("//")
        for name in NAMED_HEADER.findall(comment):
            if not any(f"/{header}".endswith(f"/{name}") for header in public):
                yield f"{where}:{number}: a public header points to {name}, which is not installed"


def folder_of(path):
    """Of "submarine/bound/verify/dense/x.h": "bound/verify/dense"."""
    return "/".join(path.split("/")[1:-1])


def blank_comments_and_literals(text):
    """Same lines, same length, without comments, strings and characters."""
    return COMMENT_OR_LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def check_file(path, folder, folders, public, root):
    where = path.relative_to(root)
    is_test = path.name.endswith("_test.cc") or "_test_" in path.name
    does_io = folder.split("/")[0] == IO_FOLDER or is_test
    allowed = folders[folder].test_uses if is_test else folders[folder].uses
    text = path.read_text()
    code_lines = blank_comments_and_literals(text).splitlines()
    for number, (line, code) in enumerate(zip(text.splitlines(), code_lines), start=1):
        include = INCLUDE.match(line)
        # The path of a quoted include is blanked as a literal, the directive itself is not.
        if include and code.strip():
            header = include.group(2)
            if header.startswith("submarine/"):
                target = folder_of(header)
                if target not in allowed and header != "submarine/c_api.h":
                    names = ", ".join(sorted(allowed - {folder})) or "nothing"
                    yield f"{where}:{number}: {folder} includes {header}, but it may use {names} only"
                if header.endswith("_internal.h") and not f"{folder}/".startswith(f"{target}/"):
                    yield f"{where}:{number}: {header} is for {target} only"
                if header in SOLE_USER and folder != target and str(where) != SOLE_USER[header]:
                    yield f"{where}:{number}: {header} is for {SOLE_USER[header]} only"
                if "_test_" in header and not is_test:
                    yield f"{where}:{number}: library code includes {header}, which belongs to the tests"
                if str(where) in public and header not in public:
                    yield f"{where}:{number}: a public header includes {header}, which is not installed"
            elif header.split("/")[0] in ("apps", "experiments", "tests", "benchmarks"):
                yield f"{where}:{number}: the library includes {header}, which stands above it"
            elif include.group(1) == '"' and (path.parent / header).exists():
                yield f'{where}:{number}: write "submarine/{folder}/{header}" instead of "{header}"'
            elif header in IO_HEADERS and not does_io:
                yield f"{where}:{number}: <{header}> outside {IO_FOLDER}: nothing else prints or touches files"
        call = IO_CALLS.search(code)
        if call and not does_io:
            yield f"{where}:{number}: '{call.group().strip('( ')}' outside {IO_FOLDER}: the library neither prints nor exits"


def check_programs(root):
    for path in sorted(p for top in PROGRAMS for p in (root / top).rglob("*") if p.suffix in (".h", ".cc")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = INCLUDE.match(line)
            header = include.group(2) if include else ""
            if header.startswith("submarine/") and (header.endswith("_internal.h") or header in SOLE_USER):
                yield f"{path.relative_to(root)}:{number}: {header} is not for programs"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    folders, problems = read_rule(root / "CMakeLists.txt")
    public = read_public_headers(root / "cmake" / "public_headers.cmake") | {"submarine/base/version.h"}
    files = sorted(p for p in (root / "submarine").rglob("*") if p.suffix in (".h", ".cc"))
    for path in files:
        where = str(path.relative_to(root))
        if where in public:
            problems.extend(check_pointers(where, path.read_text(), public))
        folder = folder_of(where)
        if where in UMBRELLAS:
            continue
        if folder not in folders:
            problems.append(f"{where}:1: no submarine_folder({folder}) line in CMakeLists.txt")
        else:
            problems.extend(check_file(path, folder, folders, public, root))
    problems.extend(check_programs(root))
    if not folders or not files:
        problems.append(f"{root}: no submarine_folder() lines or no sources found")
    print("\n".join(problems) if problems else f"{len(files)} files in {len(folders)} folders keep the direction.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
