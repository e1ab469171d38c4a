"""What the system tests share: running the command, the files it reads and writes, and a model read without it."""

import decimal
import io
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["SUBMARINE_PROGRAM"]
EXPERIMENTS = f"{PROGRAM}-experiments"  # beside it
SOURCE_DIR = pathlib.Path(os.environ["SUBMARINE_SOURCE_DIR"])
TIMEOUT_SECONDS = 120


PROGRESS_LINE = r"^ *\d+\.\d s \S.*$"


def without_progress(text):
    return "".join(line for line in text.splitlines(keepends=True) if not re.match(PROGRESS_LINE, line))


class Run:
    """One finished run of the command."""

    def __init__(self, code, stdout, stderr, peak_megabytes):
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.peak_megabytes = peak_megabytes

    @property
    def messages(self):
        """What came on standard error, but for lines of progress: how many there are depends on the machine's load."""
        return without_progress(self.stderr)

    def __str__(self):
        return f"exit code {self.code}\nstdout: {self.stdout}\nstderr: {self.stderr}"


def program_of(arguments):
    """The one that has this command."""
    return EXPERIMENTS if arguments and arguments[0] in ("synth", "stereo-bench", "stereo-search", "segment-bench") else PROGRAM


def run(*arguments, directory=None, timeout=TIMEOUT_SECONDS, before=()):
    """os.wait4 instead of subprocess.run, because it knows the memory of this one child. `before` are the words of a command
    that starts ours."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        command = [*before, program_of(arguments), *(os.fspath(argument) for argument in arguments)]
        process = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        deadline = time.monotonic() + timeout
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise AssertionError(f"{command} did not end within {timeout} s")
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
        return Run(process.returncode, *texts, usage.ru_maxrss / 1024)


# numpy and Pillow are imported where they are needed: the peak memory of a child counts from what this process held when it
# started it.

# ---- .npy ----

def npy_bytes(shape, values, dtype="<f8"):
    """The shape need not fit the number of values."""
    import numpy as np
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": tuple(shape)})
    return file.getvalue() + np.array(list(values), dtype).tobytes()


def write_npy(path, shape, values, dtype="<f8"):
    pathlib.Path(path).write_bytes(npy_bytes(shape, values, dtype))


class Array:
    """A .npy file: its shape, its type and its values in C order, as Python's numbers."""

    def __init__(self, path):
        import numpy as np
        array = np.load(path)
        self.shape, self.dtype, self.values = array.shape, array.dtype.str, array.ravel().tolist()

    def rows(self):
        """The values, cut along the last axis."""
        width = self.shape[-1]
        return [self.values[k:k + width] for k in range(0, len(self.values), width)]


# ---- Other formats ----

def read_json(path):
    """Strict: NaN and Infinity, which Python would take, are no JSON."""
    def refuse(constant):
        raise ValueError(f"{path} holds {constant}, which is no JSON")
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"), parse_constant=refuse)


def read_mar(path):
    words = pathlib.Path(path).read_text(encoding="ascii").split()
    assert words[0] == "MAR", words[:2]
    rest = iter(words[2:])
    marginals = [[float(next(rest)) for _ in range(int(next(rest)))] for _ in range(int(words[1]))]
    assert next(rest, None) is None, "words after the last marginal"
    return marginals


def read_pr(path):
    word, value = pathlib.Path(path).read_text(encoding="ascii").split()
    assert word == "PR", word
    return float(value)


def png_bytes(width, height, channels, samples):
    """A PNG written without the program under test."""
    import numpy as np
    from PIL import Image
    array = np.array(samples, np.uint8).reshape((height, width, channels)[:2 + (channels > 1)])
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


def png_size(path):
    from PIL import Image
    with Image.open(path, formats=["PNG"]) as image:
        image.load()  # all of it
        return image.size


def uai_text(cardinalities, factors):
    """`factors` are pairs of a scope and the energies of its table, last variable fastest."""
    scopes = [" ".join(map(str, [len(scope), *scope])) for scope, _ in factors]
    tables = [f"{len(energies)}\n" + " ".join(repr(math.exp(-energy)) for energy in energies)
              for _, energies in factors]
    return "\n".join(["MARKOV", str(len(cardinalities)), " ".join(map(str, cardinalities)), str(len(factors)), *scopes,
                      "", *tables, ""])


# ---- What the command says ----



def _rounded(value, decimals, rounding):
    with decimal.localcontext() as context:
        context.prec = 1000
        return f"{decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-decimals), rounding=rounding):f}"


def rounded_down(value, decimals=6):
    """With this number of decimals, never above the number."""
    return _rounded(value, decimals, decimal.ROUND_FLOOR)


def rounded_up(value, decimals=6):
    return _rounded(value, decimals, decimal.ROUND_CEILING)


def interval_sentence(summary):
    """What the terminal says of the interval of a summary: decimals are rounded outwards."""
    temperature, lower, upper = (summary[key] for key in ("temperature", "lower", "upper"))
    what = {0.0: "the least energy", 1.0: "log Z"}.get(temperature, f"T log Z at T = {temperature:g}")
    if temperature == 0.0:
        lower, upper = -upper, -lower
    if summary["termination"] == "exact":
        return (f"Exact inference, rounding errors included: {what} lies between {rounded_down(lower, 9)} and "
                f"{rounded_up(upper, 9)}.")
    interval = summary["interval"]
    return (f"Certified: {what} lies between {rounded_down(lower)} and {rounded_up(upper)} (width "
            f"{100 * interval['relative']:.3g}% of its size, {interval['per_variable']:.3g} nats per variable).")


# ---- A model, by its definition ----

def distance_function(metric):
    """d(i, j) of the metrics that tests use. A regular tree counts the levels below the last common ancestor."""
    kind, _, rest = metric.partition(":")
    if kind == "potts":
        return lambda i, j: float(i != j)
    if kind == "linear":
        return lambda i, j: float(abs(i - j))
    if kind == "truncated":
        return lambda i, j: float(min(abs(i - j), int(rest)))
    counts, lengths = rest.split(":")
    counts = [int(count) for count in counts.split("x")]
    lengths = [float(length) for length in lengths.split(",")]

    def tree(i, j):
        total = 0.0
        for level in reversed(range(len(counts))):
            total += 2 * lengths[level] * (i != j)
            i, j = i // counts[level], j // counts[level]
        return total
    return tree


class Bundle:
    """A grid or graph bundle, read without the program under test."""

    def __init__(self, path):
        path = pathlib.Path(path)
        header = read_json(path)
        unary = Array(path.parent / header["unary"])
        self.labels = header["labels"]
        self.unary = unary.rows()
        self.constant = header.get("constant", 0.0)
        self.distance = distance_function(header["metric"])
        if header["submarine"] == "grid":
            assert unary.shape == (header["height"], header["width"], self.labels)
            pairs = self.grid_pairs(header["width"], header["height"], header.get("connectivity", 4))
        else:
            pairs = [tuple(row) for row in Array(path.parent / header["edges"]).rows()]
        weights = (Array(path.parent / header["weights"]).values if "weights" in header
                   else [header.get("weight", 1.0)] * len(pairs))
        self.edges = list(zip(pairs, weights, strict=True))

    @staticmethod
    def grid_pairs(width, height, connectivity):
        """The order that docs/formats.md promises: right, down, and for 8 neighbours down-left, down-right."""
        steps = [(1, 0), (0, 1)] + ([(-1, 1), (1, 1)] if connectivity == 8 else [])
        return [(y * width + x, (y + dy) * width + x + dx) for y in range(height) for x in range(width)
                for dx, dy in steps if 0 <= x + dx < width and y + dy < height]

    def energy(self, labels):
        return (self.constant + sum(row[i] for row, i in zip(self.unary, labels, strict=True))
                + sum(weight * self.distance(labels[a], labels[b]) for (a, b), weight in self.edges))

    def all_energies(self):
        return [self.energy(x) for x in itertools.product(range(self.labels), repeat=len(self.unary))]

    def log_partition(self, temperature=1.0):
        """T log sum_x exp(-E(x)/T) over all labelings; at T = 0, minus the least energy."""
        energies = self.all_energies()
        least = min(energies)
        if temperature == 0.0:
            return -least
        return -least + temperature * math.log(math.fsum(math.exp((least - e) / temperature) for e in energies))


# ---- Tests ----

def skip(reason):
    """Says in the line that tools/junit_verdicts.py looks for what is left out, and why; returns ctest's SKIP_RETURN_CODE."""
    print(f"SKIPPED: {reason}", flush=True)
    return 77


class Result(unittest.TextTestResult):

    def printErrors(self):
        super().printErrors()
        for _, reason in self.skipped:
            skip(reason)


class Runner(unittest.TextTestRunner):
    resultclass = Result


def main():
    """unittest's, and says what was skipped."""
    unittest.main(testRunner=Runner)


class CommandTest(unittest.TestCase):
    """A test with a directory of its own, in which the command runs."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="submarine-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def run_command(self, *arguments, **options):
        return run(*map(str, arguments), directory=self.directory, **options)

    def run_well(self, *arguments, **options):
        finished = self.run_command(*arguments, **options)
        self.assertEqual(finished.code, 0, finished)
        return finished

    def assert_one_sentence(self, finished, mentions=()):
        """The command refused what it was given, and said why in one line that has these words."""
        self.assertEqual(finished.code, 2, finished)
        self.assertEqual(finished.stdout, "", finished)
        self.assertEqual(len(finished.messages.splitlines()), 1, finished)
        self.assertTrue(finished.messages.startswith("submarine: "), finished)
        for word in ("terminate", "internal error", "exception", "Traceback", "std::"):
            self.assertNotIn(word, finished.messages)
        for word in mentions:
            self.assertIn(str(word), finished.messages)

    def generate(self, name="model.json", *, width=4, height=3, labels=3, weight=0.7, high=2.0, seed=5, **options):
        arguments = {"width": width, "height": height, "labels": labels, "weight": weight, "high": high, "seed": seed,
                     **options}
        self.run_well("generate", "-o", name, *(f"--{key}={value}" for key, value in arguments.items()))
        return name

    def solve(self, model, *arguments, timeout=TIMEOUT_SECONDS):
        """The summary of a quiet solve."""
        finished = self.run_well("solve", model, "--quiet", "--json", "summary.json", *arguments, timeout=timeout)
        self.assertEqual((finished.stdout, finished.stderr), ("", ""))
        return read_json(self.directory / "summary.json")

    def exact(self, model, *arguments):
        return self.solve(model, "--method", "exact", *arguments)["upper"]

    def write(self, name, content):
        path = self.directory / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return name

    def write_grid(self, name="model.json", *, unary=None, drop=(), **changes):
        """A 3 x 2 grid with 3 labels whose header has the given changes."""
        if unary is None:
            unary = npy_bytes((2, 3, 3), [0.1 * (7 * k % 11) for k in range(18)])
        self.write("unary.npy", unary)
        header = {"submarine": "grid", "width": 3, "height": 2, "labels": 3, "metric": "potts", "unary": "unary.npy",
                  **changes}
        return self.write(name, {key: value for key, value in header.items() if key not in drop})

    def write_graph(self, name="model.json", *, edges=((0, 1), (1, 2), (2, 3), (3, 0)), drop=(), **changes):
        """A ring of 4 variables with 3 labels whose header has the given changes."""
        write_npy(self.directory / "unary.npy", (4, 3), [0.1 * (5 * k % 13) for k in range(12)])
        ends = [end for edge in edges for end in edge]
        write_npy(self.directory / "edges.npy", (len(edges), 2), ends, "<i4")
        header = {"submarine": "graph", "variables": 4, "labels": 3, "metric": "linear", "unary": "unary.npy",
                  "edges": "edges.npy", **changes}
        return self.write(name, {key: value for key, value in header.items() if key not in drop})
