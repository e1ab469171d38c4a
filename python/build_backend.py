"""Builds wheels and sdists (PEP 517) with nothing but the standard library, CMake and a compiler: no network is needed.

The package is Python files and one shared library, so that a wheel is a zip of them for every CPython and every numpy. Settings
of pip (``--config-settings NAME=VALUE``): ``cmake.define.NAME``, ``platform`` (the wheel's, else this machine's) and
``build-dir``, which is kept and used again.
"""

import ast
import base64
import calendar
import contextlib
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What an sdist holds: what is compiled, and the tests of the package.
SOURCES = [
    "CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "pyproject.toml", "apps", "cmake",
    "docs", "examples", "python", "report", "submarine", "tests/python", "tools",
]
PAGE = "report/built"  # the report page in an sdist, so that it need not be bundled again, and the source of what is bundled into it
DEFINES = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_UNITY_BUILD": "ON",
    "CMAKE_UNITY_BUILD_BATCH_SIZE": "12",
    "SUBMARINE_BUILD_PYTHON": "ON",
    "SUBMARINE_BUILD_APPS": "OFF",
    "SUBMARINE_BUILD_TESTS": "OFF",
    "SUBMARINE_BUILD_BENCHMARKS": "OFF",
    "SUBMARINE_IMAGE_CODECS": "OFF",
}
# Debian's packages of what is compiled and linked; tests/system/tools/versions_test.py compares them with tools/packages.txt.
NEEDED = "cmake g++ ninja-build pkg-config libtbb-dev libfmt-dev libhwy-dev coinor-libclp-dev nlohmann-json3-dev"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of files in archives, so that the same sources give the same bytes


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def project(name="project"):
    """A table of pyproject.toml, whose strings and lists are those of Python; tomllib is not in 3.9."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = re.search(rf"^\[{re.escape(name)}\]\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL).group(1)
    found = re.findall(r"^([\w-]+) = (\"[^\n]*\"|\[[^\n]*\]|\[\n.*?^\])$", table, re.MULTILINE | re.DOTALL)
    return {name: ast.literal_eval(value) for name, value in found}


def version():
    return re.search(r"project\(submarine VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def stem():
    return f"{project()['name'].replace('-', '_')}-{version()}"


def metadata():
    facts = project()
    lines = [
        "Metadata-Version: 2.1", f"Name: {facts['name']}", f"Version: {version()}", f"Summary: {facts['description']}",
        f"License: {facts['license']}", "License-File: LICENSE", f"Requires-Python: {facts['requires-python']}",
        f"Keywords: {','.join(facts['keywords'])}",
        *(f"Classifier: {classifier}" for classifier in facts["classifiers"]),
        *(f"Requires-Dist: {requirement}" for requirement in facts["dependencies"]),
        *(f"Provides-Extra: {extra}\nRequires-Dist: {needed}; extra == '{extra}'"
          for extra, (needed,) in project("project.optional-dependencies").items()),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (ROOT / facts["readme"]).read_text(encoding="utf-8")


@contextlib.contextmanager
def built(target, settings, **defines):
    """A build directory with that target."""
    settings = settings or {}
    prefix = "cmake.define."
    given = {name[len(prefix):]: value for name, value in settings.items() if name.startswith(prefix)}
    with contextlib.ExitStack() as stack:
        kept = settings.get("build-dir")
        folder = kept or stack.enter_context(tempfile.TemporaryDirectory(prefix="submarine-"))
        values = {**DEFINES, **defines, **given}
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        if not shutil.which("cmake"):
            raise SystemExit(f"submarine is compiled, and CMake is not installed: on Debian, apt-get install {NEEDED}")
        if subprocess.run(
            ["cmake", "-S", str(ROOT), "-B", folder, *generator, *(f"-D{name}={value}" for name, value in values.items())], check=False
        ).returncode:
            raise SystemExit(f"submarine cannot be compiled; CMake says above why. What it needs: on Debian, apt-get install {NEEDED}")
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
        if subprocess.run(["cmake", "--build", folder, "--target", target, "-j", jobs], check=False).returncode:
            raise SystemExit("submarine cannot be compiled; the compiler says above why")
        yield pathlib.Path(folder)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with built("submarine_python", config_settings) as folder:
        files = {}
        for path in sorted((folder / "python" / "submarine").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                if path.suffix == ".so":
                    subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)
                files[path.relative_to(folder / "python").as_posix()] = path.read_bytes()
    files.update(_information(config_settings))
    record_path = f"{stem()}.dist-info/RECORD"
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    files[record_path] = f"{record}{record_path},,\n".encode()
    name = f"{stem()}-{_tag(config_settings)}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, data)
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without a build; Debian's package has it from here, too."""
    for name, data in _information(config_settings).items():
        path = pathlib.Path(metadata_directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return f"{stem()}.dist-info"


def _tag(config_settings):
    platform = (config_settings or {}).get("platform") or sysconfig.get_platform()
    return "py3-none-" + re.sub(r"[-.]", "_", platform)


def _information(config_settings):
    wheel = f"Wheel-Version: 1.0\nGenerator: submarine\nRoot-Is-Purelib: false\nTag: {_tag(config_settings)}\n"
    texts = {"LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"), "METADATA": metadata(), "WHEEL": wheel}
    return {f"{stem()}.dist-info/{name}": text.encode() for name, text in texts.items()}


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_sdist(sdist_directory, config_settings=None):
    files = {}
    for source in SOURCES:
        path = ROOT / source
        for found in sorted(path.rglob("*")) if path.is_dir() else [path] * path.exists():
            if found.is_file() and "__pycache__" not in found.parts:
                files[found.relative_to(ROOT).as_posix()] = (found.read_bytes(), os.access(found, os.X_OK))
    if not (ROOT / PAGE).exists():
        with built("submarine_report_page", config_settings) as folder:
            for name in ("report_template.cc", "report_template.cc.html"):
                files[f"{PAGE}/{name}"] = ((folder / "report" / name).read_bytes(), False)
            (uplot,) = folder.glob("npm/uplot-*/package")
            for name in ("LICENSE", "dist/uPlot.esm.js", "dist/uPlot.min.css"):
                files[f"{PAGE}/uplot/{name}"] = ((uplot / name).read_bytes(), False)
    files["PKG-INFO"] = (metadata().encode(), False)
    name = f"{stem()}.tar.gz"
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, (data, executable) in sorted(files.items()):
            entry = tarfile.TarInfo(f"{stem()}/{path}")
            entry.size, entry.mode = len(data), 0o755 if executable else 0o644
            entry.mtime = calendar.timegm(EPOCH)
            archive.addfile(entry, io.BytesIO(data))
    return name
