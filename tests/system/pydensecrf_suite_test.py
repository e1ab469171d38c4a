#!/usr/bin/env python3
"""pydensecrf's own tests and examples against the drop-in, run from a copy of that project, which is not part of this one.

$SUBMARINE_PYDENSECRF names the copy; without it, or where the Python package is not built, skipped. Its examples read
pictures by cv2, draw by matplotlib and take a density from scipy, for which stand-ins of a few functions are put into the
path.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from submarine_support import SOURCE_DIR, skip

PACKAGE = pathlib.Path(os.environ["SUBMARINE_BUILD_DIR"]) / "python"
PYTHON = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable
LEFT_OUT = "pydensecrf's own tests and examples are not run against the drop-in"

CV2 = """
import numpy
from png_reader import read_png
from submarine._html import png

def imread(path):
    return numpy.ascontiguousarray(read_png(path)[..., ::-1])

def imwrite(path, pixels):
    with open(path, "wb") as file:
        file.write(png(pixels[..., ::-1]))
"""

STAND_INS = {
    "cv2.py": CV2,
    # Draws nothing, and keeps what it is shown for the checks below.
    "matplotlib/__init__.py": "",
    "matplotlib/pyplot.py": """
import atexit, numpy, os
rcParams, shown = {}, []
imshow = lambda pixels, *_, **__: shown.append(numpy.array(pixels))
subplot = colorbar = show = plot = title = axis = figure = xticks = yticks = tight_layout = lambda *_, **__: None
atexit.register(lambda: numpy.savez(os.environ["SHOWN"], *shown))
""",
    "scipy/__init__.py": "",
    "scipy/stats.py": """
import numpy
class multivariate_normal:
    def __init__(self, mean, variance):
        self.mean, self.variance = mean, variance
    def pdf(self, x):
        distance = ((x - self.mean) ** 2).sum(axis=-1)
        return numpy.exp(-distance / (2 * self.variance)) / (2 * numpy.pi * self.variance)
""",
}

COMPARE = """
import sys
from cv2 import imread
print((imread(sys.argv[1]) == imread(sys.argv[2])).all(axis=-1).mean())
"""


# How many values each picture has.
DRAWN = """
import numpy, os
shown = numpy.load(os.environ["SHOWN"])
print(*(len(numpy.unique(shown[name])) for name in shown.files))
"""


def notebook_code(path):
    """The code cells as one script."""
    cells = json.loads(path.read_text())["cells"]
    lines = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code").split("\n")
    return "\n".join(line for line in lines if not line.startswith("%"))


def main():
    if not list((PACKAGE / "submarine" / "_lib").glob("libsubmarine_c*")):
        return skip(f"{LEFT_OUT}: build/python is not there (-DSUBMARINE_BUILD_PYTHON=ON)")
    if not os.environ.get("SUBMARINE_PYDENSECRF"):
        return skip(f"{LEFT_OUT}: SUBMARINE_PYDENSECRF names no copy of https://github.com/lucasb-eyer/pydensecrf")
    copy = pathlib.Path(os.environ["SUBMARINE_PYDENSECRF"])
    with tempfile.TemporaryDirectory(prefix="submarine-pydensecrf-") as name:
        folder = pathlib.Path(name)
        # Only tests and examples: its package must not be found instead of ours.
        shutil.copytree(copy / "tests", folder / "tests")
        shutil.copytree(copy / "pydensecrf" / "tests", folder / "inner")
        for file, text in STAND_INS.items():
            (folder / "stand-in" / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / "stand-in" / file).write_text(text)
        paths = [PACKAGE / "compat", folder / "stand-in", SOURCE_DIR / "tests" / "python", PACKAGE]
        environment = {**os.environ, "PYTHONPATH": ":".join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1",
                       "SHOWN": str(folder / "shown.npz")}

        def python(*arguments, **options):
            return subprocess.run([PYTHON, *map(str, arguments)], cwd=folder, env=environment, check=False, **options)

        tests = python("-m", "pytest", "-q", "-p", "no:cacheprovider", folder / "inner", folder / "tests/test_utils.py")
        assert tests.returncode == 0, "its own tests fail"
        wrong = python(folder / "tests/issue29.py", stderr=subprocess.PIPE, text=True)
        assert wrong.returncode != 0 and "ValueError" in wrong.stderr, "issue29.py must raise ValueError"
        (folder / "notebook.py").write_text(notebook_code(copy / "examples" / "Non RGB Example.ipynb"))
        for script in ("tests/issue26.py", "notebook.py"):
            (folder / "shown.npz").unlink(missing_ok=True)
            assert python(folder / script).returncode == 0, f"{script} fails"
            drawn = python("-c", DRAWN, stdout=subprocess.PIPE, text=True).stdout.split()
            print(f"{script}: {len(drawn)} pictures, of these numbers of values: {' '.join(drawn)}")
            assert drawn and drawn[-1] == "2", "the square that only the picture shows is not in the last labels"
        for number in (1, 2, 3):
            examples = copy / "examples"
            output = folder / f"out{number}.png"
            run = python(examples / "inference.py", examples / f"im{number}.png", examples / f"anno{number}.png", output)
            assert run.returncode == 0, f"its example fails on im{number}.png"
            same = python("-c", COMPARE, output, examples / f"out{number}.png", stdout=subprocess.PIPE, text=True)
            share = float(same.stdout)
            print(f"im{number}: {100 * share:.3f}% of the pixels as it has them")
            assert share >= 0.9985
    return 0


if __name__ == "__main__":
    sys.exit(main())
