#!/usr/bin/env python3
"""Runs clang-tidy over the .cc files of submarine/, apps/, experiments/ and python/ (tests apart), or over the files given.

A file that was clean is not looked at again until it, a header of ours it includes, its compile command,
.clang-tidy or the version of clang-tidy changes: its fingerprint is kept in BUILD/tidy-cache.

Most of the time goes into the headers, so files of submarine/X, or of apps/X, are checked as one translation unit that
includes them; files whose private names clash in it are checked apart from the others.

usage: tidy.py [--build-dir BUILD] [--jobs N] [FILE ...]
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUR_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# What clang says about the flags of g++ is not about our code, and -Werror would promote what clang-tidy suppresses.
CLANG_FLAGS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error", "--extra-arg=-ferror-limit=0",
               "--quiet"]
BATCH = 40  # files per translation unit: enough to share the headers, few enough to keep every core busy
# Flags that do not change what clang-tidy sees.
OPTIMISATION = re.compile(r" -(O\w|fPI[CE]|ffp-contract=\w+)\b")
# Of g++ alone: clang cannot read its precompiled headers, and without them it sees whether the includes suffice.
PRECOMPILED = re.compile(r" -Winvalid-pch -include \S+")
CLASH = re.compile(r"^(/[^:]+):\d+:\d+: error: .*\[clang-diagnostic-error\]$", re.MULTILINE)


def with_our_headers(source, include_dirs):
    """The file and every header of the repository that it includes, directly or not."""
    found, queue = set(), [source]
    while queue:
        path = queue.pop()
        if path in found:
            continue
        found.add(path)
        for name in OUR_INCLUDE.findall(path.read_text()):
            queue.extend(d / name for d in include_dirs if (d / name).is_file())
    return sorted(found)


def fingerprint(source, command, version, build_dir):
    digest = hashlib.sha256()
    for text in (version, " ".join(CLANG_FLAGS), command, (ROOT / ".clang-tidy").read_text()):
        digest.update(text.encode() + b"\0")
    for path in with_our_headers(source, [ROOT, build_dir / "include"]):
        digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def clang_tidy(source, database, *checks):
    run = subprocess.run(["clang-tidy", "-p", database, *CLANG_FLAGS, *checks, source], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    output = re.sub(r"^\d+ warnings? generated\.\n", "", run.stdout, flags=re.MULTILINE)  # system headers' too
    return run.returncode == 0, output.strip()


def tidy(batch, commands, build_dir):
    """Checks the files of a batch; a list of (files, clean, output)."""
    first = batch[0]
    with tempfile.TemporaryDirectory(dir=build_dir, prefix="tidy-") as scratch:
        source, checks = first, []
        if len(batch) > 1:
            source = pathlib.Path(scratch) / "together.cc"
            source.write_text("".join(f'#include "{f}"\n' for f in batch))
            checks = [f"--config-file={ROOT / '.clang-tidy'}", "--checks=-bugprone-suspicious-include"]
        entry = {"directory": str(build_dir), "file": str(source),
                 "command": commands[first].replace(str(first), str(source))}
        (pathlib.Path(scratch) / "compile_commands.json").write_text(json.dumps([entry]))
        clean, output = clang_tidy(source, scratch, *checks)
    clashing = {pathlib.Path(f) for f in CLASH.findall(output)} & set(batch[1:])
    if not clashing:
        return [(batch, clean, output)]
    return [result for part in ([f for f in batch if f not in clashing], [f for f in batch if f in clashing])
            for result in tidy(part, commands, build_dir)]


def read_commands(database):
    """The compile command of every source, those that are compiled together one by one."""
    commands = {}
    for entry in json.loads(database.read_text()):
        path = pathlib.Path(entry["file"]).resolve()
        command = PRECOMPILED.sub("", entry["command"])
        if path.name.startswith("unity_"):
            for name in OUR_INCLUDE.findall(path.read_text()):
                commands[pathlib.Path(name)] = command.replace(str(path), name)
        else:
            commands[path] = command
    return commands


def batches(sources, commands):
    """Files of one part of the tree with the same flags, apart from those that compile themselves once per target."""
    groups = {}
    for source in sources:
        alone = source if "foreach_target.h" in source.read_text() else None
        flags = OPTIMISATION.sub("", commands[source].split(" -o ")[0])
        groups.setdefault((source.relative_to(ROOT).parts[:2], flags, alone), []).append(source)
    for group in groups.values():
        count = -(-len(group) // BATCH)
        yield from (group[k::count] for k in range(count))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    build_dir = options.build_dir.resolve()
    database = build_dir / "compile_commands.json"
    if not database.exists():
        print(f"tidy.py: {database} does not exist; configure first: cmake --preset release", file=sys.stderr)
        return 2
    commands = read_commands(database)
    wanted = [f.resolve() for f in options.files] or [
        f for f in commands
        if f.relative_to(ROOT).parts[0] in ("submarine", "apps", "experiments", "python") and not f.name.endswith("_test.cc")]
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
    cache = build_dir / "tidy-cache"
    cache.mkdir(exist_ok=True)

    todo = {}
    for source in sorted(wanted):
        if source not in commands:
            print(f"tidy.py: {source} is not compiled in {build_dir}", file=sys.stderr)
            return 2
        stamp = cache / fingerprint(source, commands[source], version, build_dir)
        if not stamp.exists():
            todo[source] = stamp
    print(f"{len(wanted)} files, {len(wanted) - len(todo)} unchanged since they were clean.", flush=True)

    unclean = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(tidy, batch, commands, build_dir)
                for batch in sorted(batches(todo, commands), key=len, reverse=True)]
        for run in concurrent.futures.as_completed(runs):
            for sources, clean, output in run.result():
                names = " ".join(str(source.relative_to(ROOT)) for source in sources)
                print(f"  {'clean' if clean else 'FLAWS'} {names}", flush=True)
                if clean:
                    for source in sources:
                        todo[source].touch()
                else:
                    unclean += 1
                    print(output, flush=True)
    if unclean:
        print(f"clang-tidy finds flaws in {unclean} of the translation units above.")
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
