"""What the tests of the Python package share."""

import doctest
import inspect
import itertools
import os
import pathlib
import subprocess

import numpy as np
import pytest

import submarine

SHARED = pathlib.Path(os.environ.get("SUBMARINE_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))


def require_shared(*names):
    """The paths of shared data, or a skip that says what is missing."""
    paths = [SHARED / name for name in names]
    for path in paths:
        if not path.exists():
            pytest.skip(f"no {path} (set SUBMARINE_DATA)")
    return paths


def program():
    """The command of $SUBMARINE_PROGRAM, or of the build tree that the package is in; or skips."""
    path = os.environ.get("SUBMARINE_PROGRAM", pathlib.Path(submarine.__file__).parents[2] / "bin" / "submarine")
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not there, and Python is not compared with the command")
    return path


def run_command(*arguments):
    """Runs it."""
    subprocess.run([str(part) for part in (program(), *arguments)], check=True, stdout=subprocess.DEVNULL)


class DocstringFinder(doctest.DocTestFinder):
    """Sees through decorators, which doctest's own takes for functions of another module."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object))


def run_docstrings(module):
    """Runs the examples of a module's docstrings; returns how many there are."""
    runner = doctest.DocTestRunner()
    for test in DocstringFinder().find(module, module.__name__):
        runner.run(test)
    assert runner.failures == 0
    return runner.tries


def log_partition(energy_of, cardinality, temperature=1.0):
    """T log sum_x exp(-E(x)/T) by enumeration."""
    energies = np.array([energy_of(x) for x in itertools.product(*(range(n) for n in cardinality))])
    least = energies.min()
    return temperature * np.log(np.exp(-(energies - least) / temperature).sum()) - least


def dense_energy(unary, pair_weights, distance, labels):
    """E(x) of a dense model by definition: pair_weights (N, N), each unordered pair once."""
    labels = np.asarray(labels)
    n = len(labels)
    pairs = np.triu(pair_weights * distance[labels[:, None], labels[None, :]], 1).sum()
    return unary[np.arange(n), labels].sum() + pairs


def gaussian(features):
    """exp(-|f_a - f_b|^2 / 2)."""
    difference = features[:, None, :] - features[None, :, :]
    return np.exp(-0.5 * (difference**2).sum(axis=-1))
