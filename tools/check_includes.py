#!/usr/bin/env python3
"""Checks the direction of dependencies between the folders of submarine/, and that only io does I/O.
Headers named *_internal.h belong to their folder.

The rule is stated once, by the submarine_folder(NAME USES ...) lines of CMakeLists.txt: a folder includes
itself and what it USES. Prints one line per violation, file:line first; exit code 1 if there is any.

usage: check_includes.py [REPOSITORY]
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
FOLDER = re.compile(r"^submarine_folder\((\w+)([^)]*)\)", re.MULTILINE)
COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)

IO_FOLDER = "io"
IO_HEADERS = {"iostream", "fstream", "filesystem", "cstdio", "stdio.h", "fmt/os.h", "print", "syncstream"}
IO_CALLS = re.compile(
    r"\b(?:std::)?(?:printf|fprintf|vprintf|puts|fputs|putchar|fopen|freopen|exit|_exit|quick_exit|abort|terminate|"
    r"perror)\s*\(|\bfmt::print(?:ln)?\s*\(|\bstd::(?:cout|cerr|clog)\b")


def read_rule(cmake_lists):
    """Maps each folder to the set of folders it uses, and reports what is wrong with the rule itself."""
    text = cmake_lists.read_text()
    uses, problems = {}, []
    for match in FOLDER.finditer(text):
        name, arguments = match.group(1), match.group(2).split()
        used = []
        if "USES" in arguments:
            used = arguments[arguments.index("USES") + 1:]
            used = used[:used.index("LINK")] if "LINK" in used else used
        line = text.count("\n", 0, match.start()) + 1
        for other in used:
            if other not in uses:
                problems.append(f"{cmake_lists.name}:{line}: {name} uses {other}, which does not stand above it")
        uses[name] = set(used)
    return uses, problems


def blank_comments_and_literals(text):
    """Same lines, same length, without comments, strings and characters."""
    return COMMENT_OR_LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def check_file(path, folder, uses, root):
    where = path.relative_to(root)
    does_io = folder == IO_FOLDER or path.name.endswith("_test.cc") or "_test_" in path.name
    text = path.read_text()
    code_lines = blank_comments_and_literals(text).splitlines()
    for number, (line, code) in enumerate(zip(text.splitlines(), code_lines), start=1):
        include = INCLUDE.match(line)
        # The path of a quoted include is blanked as a literal, the directive itself is not.
        if include and code.strip():
            header = include.group(2)
            if header.startswith("submarine/"):
                target = header.split("/")[1]
                if target != folder and target not in uses[folder]:
                    allowed = ", ".join(sorted(uses[folder])) or "nothing"
                    yield f"{where}:{number}: {folder} includes {header}, but it may use {allowed} only"
                if header.endswith("_internal.h") and target != folder:
                    yield f"{where}:{number}: {header} is for {target} only"
                if "_test_" in header and not ("_test" in path.name):
                    yield f"{where}:{number}: library code includes {header}, which belongs to the tests"
            elif header.split("/")[0] in ("apps", "tests", "benchmarks"):
                yield f"{where}:{number}: the library includes {header}, which stands above it"
            elif include.group(1) == '"' and (path.parent / header).exists():
                yield f'{where}:{number}: write "submarine/{folder}/{header}" instead of "{header}"'
            elif header in IO_HEADERS and not does_io:
                yield f"{where}:{number}: <{header}> outside {IO_FOLDER}: nothing else prints or touches files"
        call = IO_CALLS.search(code)
        if call and not does_io:
            yield f"{where}:{number}: '{call.group().strip('( ')}' outside {IO_FOLDER}: the library neither prints nor exits"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    uses, problems = read_rule(root / "CMakeLists.txt")
    files = sorted(p for p in (root / "submarine").rglob("*") if p.suffix in (".h", ".cc"))
    for path in files:
        folder = path.relative_to(root / "submarine").parts[0]
        if folder not in uses:
            problems.append(f"{path.relative_to(root)}:1: no submarine_folder({folder}) line in CMakeLists.txt")
        else:
            problems.extend(check_file(path, folder, uses, root))
    if not uses or not files:
        problems.append(f"{root}: no submarine_folder() lines or no sources found")
    print("\n".join(problems) if problems else f"{len(files)} files in {len(uses)} folders keep the direction.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
