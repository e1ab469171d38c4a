"""Blocks: bounds of the whole from bounds of parts, labels at seams, processes that are lost, and files of several kinds."""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import submarine as sm
from conftest import gaussian, log_partition
from submarine.blocks import _result, _run

PACKAGE = pathlib.Path(sm.__file__).parents[1]


def lossy(rng, share):
    """A scheduler that loses some tasks, normalisation excepted."""

    def run(folder, tasks, workers):
        for task in tasks:
            if "/normalise/" not in task and rng.random() < share:
                yield _run.Done(task, None, "lost by the test", 2)
            else:
                yield _run.Done(task, _run.perform(folder.path, task), "", 0)

    return run


def box_of(shape, rng):
    return tuple(int(rng.integers(1, side + 1)) for side in shape)


def random_segmentation(rng):
    """A softmax, a picture, and a call's keywords, of a few pixels."""
    shape = [(2, 3), (3, 3), (1, 6), (2, 2, 2), (1, 2, 4), (7, 1)][rng.integers(6)]
    labels = int(rng.integers(2, 4))
    softmax = rng.dirichlet(np.full(labels, 0.7), shape)
    image = rng.integers(0, 40, shape + ((3,) if rng.random() < 0.5 else ()))
    keywords = dict(
        position_sigma=float(rng.uniform(0.5, 2)), position_weight=float(rng.uniform(0, 2)),
        bilateral_sigma=float(rng.uniform(0.5, 4)), colour_sigma=float(rng.uniform(5, 40)),
        bilateral_weight=float(rng.uniform(0, 2)), normalised=bool(rng.random() < 0.5),
        metric=["potts", "linear", "truncated:2"][rng.integers(3)],
    )
    return softmax, image, keywords


def exact_values(softmax, image, keywords, factors, marginals):
    """log Z by enumeration, with the factors that normalise the blocks' model, and the free energy of the marginals."""
    shape, labels = softmax.shape[:-1], softmax.shape[-1]
    places = np.argwhere(np.ones(shape)).astype(float)
    colours = image.reshape(len(places), -1) / keywords["colour_sigma"]
    weights = np.zeros((len(places),) * 2)
    used = 0
    for name, columns in (("position", []), ("bilateral", [colours])):
        if keywords[f"{name}_weight"] == 0:
            continue
        values = gaussian(np.hstack([places / keywords[f"{name}_sigma"], *columns]))
        if keywords["normalised"]:
            r = factors[used].astype(float).reshape(-1)
            values = values * r[:, None] * r[None, :]
        used += 1
        weights += keywords[f"{name}_weight"] * values
    i = np.arange(labels)
    apart = abs(i[:, None] - i)
    distance = {"potts": (apart > 0) * 1.0, "linear": apart, "truncated:2": np.minimum(apart, 2)}[keywords["metric"]]
    costs = sm.costs_of(softmax).reshape(-1, labels).astype(float)
    states = np.array(list(itertools.product(range(labels), repeat=len(places))))
    energies = costs[np.arange(len(places)), states].sum(1)
    for a, b in itertools.combinations(range(len(places)), 2):
        energies += weights[a, b] * distance[states[:, a], states[:, b]]
    y = marginals.reshape(-1, labels).astype(float)
    y /= y.sum(1, keepdims=True)
    pairs = np.triu(weights, 1) * (y @ distance @ y.T)
    free = -(y * np.log(np.where(y > 0, y, 1))).sum() - (y * costs).sum() - pairs.sum()
    return np.logaddexp.reduce(-energies), free


@pytest.mark.parametrize("share_lost", [0.0, 0.3])
def test_the_interval_of_random_blocks_contains_log_z(share_lost, monkeypatch, tmp_path):
    rng = np.random.default_rng(5 + int(10 * share_lost))
    kept = []

    def keep(call):
        names = sorted(pathlib.Path(call.folder.path).glob("factors*.npy"))
        kept.append(([np.load(name) for name in names], np.load(call.folder.file("marginals.npy"))))
        call.close()

    monkeypatch.setattr(_result.Call, "end", keep)
    monkeypatch.setattr(_result, "runner_of", lambda scheduler: (lossy(rng, share_lost), None))
    losses = tight = 0
    for trial in range(RANDOM_MODELS):
        softmax, image, keywords = random_segmentation(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            halo = int(rng.integers(0, 4))
            found = sm.blocks.refine(
                softmax, image, block=box_of(softmax.shape[:-1], rng), halo=halo, small_halo=True, label_axis=-1, tolerance=0.0,
                work=tmp_path / str(trial), time_limit=5, gap=0.3, **keywords,
            )
        exact, free = exact_values(softmax, image, keywords, *kept.pop())
        assert found.lower <= free + 1e-9 and free <= exact + 1e-9 and exact <= found.upper + 1e-9, (trial, found, exact, keywords)
        if halo == 3 and max(softmax.shape[:-1]) <= 3 and not found.missing:
            assert found.lower == pytest.approx(free, abs=1e-6)
            tight += 1
        losses += len(found.missing)
    assert (losses > 0) == (share_lost > 0)
    assert tight > 0


# A thousand each were run once (docs/math.md).
RANDOM_MODELS = int(os.environ.get("SUBMARINE_RANDOM_BLOCKS", 40))
