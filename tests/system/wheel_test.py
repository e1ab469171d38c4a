#!/usr/bin/env python3
"""The package as users get it: an sdist is built, pip makes a wheel of it without a network and installs it into a fresh
environment, and the Python tests run against that.

What is compiled here are the C interface and the library of files without codecs, without optimisation; the engine is the
libsubmarine.a of the release build. With SUBMARINE_WHEEL_FROM_SOURCE=1 everything is compiled as `pip install .` does it, which
takes minutes. All Python tests run against build/python; here run those that show that the package is whole.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from submarine_support import SOURCE_DIR, skip

sys.path.insert(0, str(SOURCE_DIR / "python"))
import build_backend  # noqa: E402

BUILD = pathlib.Path(os.environ["SUBMARINE_BUILD_DIR"])
FROM_SOURCE = os.environ.get("SUBMARINE_WHEEL_FROM_SOURCE") == "1"
QUICK = {
    "CMAKE_UNITY_BUILD_BATCH_SIZE": "0",
    "CMAKE_CXX_FLAGS_RELEASE": "-O0 -w",
    "SUBMARINE_ENGINE_ARCHIVE": str(BUILD / "libsubmarine.a"),
}
TESTS = ["test_compat.py", "test_conventions.py", "test_frameworks.py", "test_models.py", "test_report.py", "test_solve.py", "test_text.py::test_mypy"]
PYTHON = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable


def run(*command, **options):
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def without_network():
    """What a command is run by so that it has no network; nothing, and a line that says so, where that is not allowed."""
    isolated = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*isolated, "true"], check=False, capture_output=True).returncode == 0:
        return isolated
    skip("the wheel is built with the network on: unshare is not allowed here")
    return []


def make_sdist(folder):
    """With the report page of the release build in it."""
    settings = {"cmake.define.SUBMARINE_UPLOT": next(map(str, (BUILD / "npm").glob("uplot-*.tgz")), "")}
    sdist = folder / build_backend.build_sdist(str(folder), settings)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("pyproject.toml", "PKG-INFO", "submarine/c_api.h", "report/built/report_template.cc.html", "tests/python/test_solve.py"):
        assert name in names, f"the sdist lacks {name}"
    assert not any("__pycache__" in name or name.startswith("build/") for name in names)
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    return sdist


def install(folder, sdist):
    """Into a fresh environment that sees Debian's numpy and pytest."""
    fresh = folder / "fresh"
    run(PYTHON, "-m", "venv", "--system-site-packages", fresh)
    begin = time.monotonic()
    settings = {} if FROM_SOURCE else QUICK
    run(*without_network(), fresh / "bin/pip", "wheel", "-q", "--no-index", "--no-deps", "-w", folder,
        *(f"--config-settings=cmake.define.{name}={value}" for name, value in settings.items()), sdist)
    print(f"The wheel was built in {time.monotonic() - begin:.0f} s.")
    (wheel,) = folder.glob("submarine_crf-*-py3-none-*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    assert wheel.stat().st_size < 15e6
    run(fresh / "bin/pip", "install", "-q", "--no-index", "--no-deps", wheel)
    shown = subprocess.run([fresh / "bin/pip", "show", "-f", "submarine-crf"], check=True, capture_output=True, text=True).stdout
    assert "submarine/_lib/libsubmarine_c.so" in shown and "Requires: numpy" in shown, shown
    return fresh


def refuse_without(what, package, sdist):
    """A system that lacks a library is told its Debian package, and all that are needed."""
    ran = subprocess.run(
        [PYTHON, "-c", "import build_backend; build_backend.build_wheel('.', {'cmake.define.CMAKE_DISABLE_FIND_PACKAGE_%s': 'ON'})" % what],
        cwd=sdist.parent, env={**os.environ, "PYTHONPATH": str(SOURCE_DIR / "python")}, capture_output=True, text=True, check=False)
    assert ran.returncode != 0 and f"{what} was not found: on Debian, apt-get install {package}" in ran.stderr, ran.stderr
    assert ran.stderr.splitlines()[-1].endswith(f"apt-get install {build_backend.NEEDED}"), ran.stderr


def main():
    with tempfile.TemporaryDirectory(prefix="submarine-wheel-") as name:
        folder = pathlib.Path(name)
        sdist = make_sdist(folder)
        refuse_without("TBB", "libtbb-dev", sdist)
        fresh = install(folder, sdist)
        (packages,) = fresh.glob("lib/python3*/site-packages")
        for file in ("py.typed", "_lib/libsubmarine_c.so", "compat/densecrf.py", "report_page.html"):
            assert (packages / "submarine" / file).exists(), f"the wheel lacks {file}"
        needed = subprocess.run(["objdump", "-p", packages / "submarine/_lib/libsubmarine_c.so"], check=True, capture_output=True,
                                text=True).stdout
        for codec in ("libpng", "libjpeg", "libtiff"):
            assert codec not in needed, f"the wheel asks for {codec}"
        tests = folder / "tests" / "python"  # away from the sources and from build/python
        shutil.copytree(SOURCE_DIR / "tests" / "python", tests, ignore=shutil.ignore_patterns("__pycache__"))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment.setdefault("SUBMARINE_DATA", str(SOURCE_DIR.parent / "shared" / "data"))
        run(fresh / "bin/python", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *(tests / name for name in TESTS),
            cwd=folder, env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
