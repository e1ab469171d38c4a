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
from submarine.blocks import _dense, _result, _run

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
    assert tight > 0 or share_lost > 0


# A thousand each were run once (docs/math.md).
RANDOM_MODELS = int(os.environ.get("SUBMARINE_RANDOM_BLOCKS", 25))


def random_grid(rng):
    """Costs, weights per axis and a call's keywords, of a few pixels."""
    shape = [(2, 3), (3, 3), (1, 6), (2, 2, 2), (3, 1, 2), (7, 1)][rng.integers(6)]
    labels = int(rng.integers(2, 4))
    weights = [
        float(rng.uniform(0, 2)) if rng.random() < 0.5 else rng.uniform(0, 2, shape) * (rng.random(shape) < 0.8) for _ in shape
    ]
    table = rng.uniform(0.5, 1, (labels, labels))
    table = (table + table.T) * (1 - np.eye(labels))
    metric = ["potts", "linear", "truncated:2", table][rng.integers(4)]
    return rng.normal(0, 2, (*shape, labels)), weights, metric, [0.0, 0.5, 1.0][rng.integers(3)]


def grid_log_z(unary, weights, metric, temperature):
    """By enumeration, and from the energies of all labelings."""
    shape, labels = unary.shape[:-1], unary.shape[-1]
    i = np.arange(labels)
    apart = abs(i[:, None] - i)
    named = {"potts": (apart > 0) * 1.0, "linear": apart, "truncated:2": np.minimum(apart, 2)}
    distance = named[metric] if isinstance(metric, str) else metric
    states = np.array(list(itertools.product(range(labels), repeat=int(np.prod(shape)))))
    energies = unary.reshape(-1, labels)[np.arange(states.shape[1]), states].sum(1)
    number = np.arange(states.shape[1]).reshape(shape)
    for axis in range(len(shape)):
        w = np.broadcast_to(weights[axis], shape)
        a, b = np.delete(number, -1, axis).ravel(), np.delete(number, 0, axis).ravel()
        energies += (np.delete(w, -1, axis).ravel() * distance[states[:, a], states[:, b]]).sum(1)
    return -energies.min() if temperature == 0 else temperature * np.logaddexp.reduce(-energies / temperature)


@pytest.mark.parametrize("share_lost", [0.0, 0.2])
def test_the_interval_of_random_grids_contains_log_z(share_lost, monkeypatch):
    rng = np.random.default_rng(15 + int(10 * share_lost))
    monkeypatch.setattr(_result, "runner_of", lambda scheduler: (lossy(rng, share_lost), None))
    losses = gained = 0
    for trial in range(RANDOM_MODELS):
        unary, weights, metric, temperature = random_grid(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sm.blocks.solve(
                unary, weights, metric=metric, temperature=temperature, block=box_of(unary.shape[:-1], rng), rounds=3,
            )
        exact = grid_log_z(unary, weights, metric, temperature)
        slack = 1e-9 * (1 + abs(exact))
        assert found.lower <= exact + slack and exact <= min(found.summary["rounds"]) + slack, (trial, found, exact)
        losses += len(found.missing)
        gained += found.upper < found.summary["rounds"][0] - 1e-3
    assert (losses > 0) == (share_lost > 0)
    assert gained > RANDOM_MODELS // 8


@pytest.mark.parametrize("metric, temperature", [("potts", 1.0), ("truncated:2", 1.0), ("potts", 0.0)])
def test_exchange_brings_blocks_near_the_whole(metric, temperature):
    unary = np.random.default_rng(3).normal(0, 1, (36, 30, 4))
    whole = sm.solve(sm.GridCrf(unary, 0.6, metric), "pdhg", temperature=temperature, gap=1e-4)
    found = sm.blocks.solve(
        unary, 0.6, metric=metric, temperature=temperature, block=(18, 15), rounds=6, method="pdhg", gap=1e-4, scheduler="here"
    )
    before, after = found.summary["rounds"][0], found.upper
    # The bound of flows is the same whether all of them are found together or by blocks, up to the gaps.
    assert whole.upper - 2e-4 * abs(whole.upper) <= after < whole.upper + 0.25 * (before - whole.upper)
    assert whole.energy is None or found.lower <= whole.upper
    assert found.missing == []
    assert found.labels.shape == unary.shape[:-1]
    energy = sm.GridCrf(unary, 0.6, metric).energy(found.labels)
    if temperature == 0:
        assert found.lower == pytest.approx(-energy, abs=1e-6)


def picture(height, width, labels=3, seed=1):
    """A softmax with noise, an image of the same objects, and the truth."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    truth = ((y - height / 2) ** 2 + (x - width / 2) ** 2 < (0.35 * height) ** 2) * 1 + ((x > 0.7 * width) & (y > 0.6 * height)) * 1
    image = np.stack([truth * 60 + 40, truth * 30 + 60, 200 - truth * 50], -1) + rng.normal(0, 8, (height, width, 3))
    logits = rng.normal(0, 1.2, (height, width, labels))
    logits[y, x, truth] += 1.5
    softmax = np.exp(logits)
    softmax /= softmax.sum(-1, keepdims=True)
    return softmax.astype(np.float32), np.clip(image, 0, 255).astype(np.uint8), truth


KERNELS = dict(bilateral_sigma=8, colour_sigma=8, position_sigma=1, position_weight=3, bilateral_weight=4)


def test_blocks_agree_with_the_whole():
    softmax, image, truth = picture(90, 140)
    whole = sm.refine(softmax, image, **KERNELS)
    found = sm.blocks.refine(softmax, image, block=(50, 60), scheduler="here", certify=False, **KERNELS)
    assert (found.labels == whole.labels).mean() >= 0.999
    assert (whole.labels != softmax.argmax(-1)).mean() > 0.1  # there was something to do
    seams = found.summary["seams"]
    assert seams["compared"] > 1000 and seams["different"] <= 0.005 * seams["compared"]
    volume = np.stack([softmax[:40, :40]] * 12)
    grey = np.stack([image[:40, :40, 0]] * 12)
    kernels = dict(KERNELS, bilateral_sigma=3)
    whole = sm.refine(volume, grey, **kernels)
    found = sm.blocks.refine(volume, grey, block=(12, 24, 20), scheduler="here", certify=False, **kernels)
    assert (found.labels == whole.labels).mean() >= 0.999


def test_the_interval_of_blocks_contains_that_of_the_whole():
    softmax, image, _ = picture(48, 60)
    kernels = dict(KERNELS, bilateral_sigma=5, normalised=False, bilateral_weight=0.05)
    whole = sm.refine(softmax, image, certify="exact", gap=0.01, time_limit=120, **kernels).result
    found = sm.blocks.refine(softmax, image, block=30, scheduler="here", time_limit=120, **kernels)
    assert found.lower <= whole.lower + 1e-3 * abs(whole.lower) and whole.upper <= found.upper
    assert found.upper - found.lower < 5 * (whole.upper - whole.lower)


def test_exchange_brings_dense_blocks_nearer_to_the_whole(monkeypatch):
    softmax, image, _ = picture(24, 30)
    options = dict(KERNELS, bilateral_sigma=4, scheduler="here", method="pdhg", gap=1e-3, time_limit=60)
    whole = sm.blocks.refine(softmax, image, block=30, **options)
    blocks = sm.blocks.refine(softmax, image, block=12, **options)
    monkeypatch.setattr(_dense, "STEP", 0.0)
    plain = sm.blocks.refine(softmax, image, block=12, **options)
    assert whole.upper < blocks.upper < plain.upper
    assert blocks.upper - whole.upper < 0.7 * (plain.upper - whole.upper)
    assert plain.lower == pytest.approx(blocks.lower)


def test_what_lost_workers_write_later_counts_for_nothing(tmp_path, monkeypatch):
    """A worker that Dask has given up may still write: both sides of a seam have to mean the same potentials."""
    softmax, image, _ = picture(24, 30)
    kept = []
    monkeypatch.setattr(_result.Call, "end", lambda call: kept.append(call.folder))

    def run(folder, tasks, workers):
        for task in tasks:
            result = _run.perform(folder.path, task)  # all of it is written
            kind, number = task.split("/")[1:3]
            lost = (kind, number) in (("exchange", "0"), ("label", "1"))
            yield _run.Done(task, None, "lost", 0) if lost else _run.Done(task, result, "", 0)

    monkeypatch.setattr(_result, "runner_of", lambda scheduler: (run, None))
    options = dict(KERNELS, bilateral_sigma=4, block=12, work=str(tmp_path / "work"), gap=0.1)
    found = sm.blocks.refine(softmax, image, **options)
    assert sorted(found.missing) == ["dense/exchange/0", "dense/label/1"]
    window = ((0, 24), (0, 30))
    block = _dense.Block(kept[0], 2)
    assert np.load(kept[0].file("potentials.npy"))[:12, :12].any() and not block.potentials(window)[:12, :12].any()
    assert block.potentials(window)[12:, :12].any()
    given = softmax[:12, 12:24].argmax(-1)
    np.testing.assert_array_equal(block.marginals(window)[:12, 12:24], given[..., None] == np.arange(3))
    # The next call does them again, whatever their workers left.
    monkeypatch.undo()
    again = sm.blocks.refine(softmax, image, scheduler="here", **options)
    assert again.missing == [] and again.lower > found.lower and again.upper < found.upper


def test_a_folder_of_the_users_is_left_alone(tmp_path):
    softmax, image, _ = picture(24, 30)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious.txt").write_text("precious")
    refused("holds something else than blocks of an earlier call", softmax, image, work=mine)
    refused("holds something else than blocks of an earlier call", tmp_path / "none.npy", image, work=mine)
    assert (mine / "precious.txt").read_text() == "precious"


def test_metrics_that_are_none_keep_their_kind():
    softmax, image, _ = picture(24, 30)
    table = np.array([[0, 1, 5], [1, 0, 1], [5, 1, 0]], float)
    found = sm.blocks.refine(softmax, image, block=12, scheduler="here", metric=("repair", table), certify=False, **KERNELS)
    assert found.labels.shape == (24, 30)


def test_what_is_lost_is_named_and_done_by_the_next_call(tmp_path, monkeypatch):
    softmax, image, _ = picture(40, 60)
    out = tmp_path / "labels.npy"
    options = dict(block=30, time_limit=5, **KERNELS)
    with monkeypatch.context() as patch:
        patch.setattr(_result, "runner_of", lambda scheduler: (lossy(np.random.default_rng(0), 0.4), None))
        with pytest.warns(UserWarning, match="tasks are missing.*lost by the test; the same call tries them again"):
            first = sm.blocks.refine(softmax, image, out, **options)
    assert first.missing and any("/label/" in task for task in first.missing)
    assert os.path.isdir(f"{out}.blocks")
    second = sm.blocks.refine(softmax, image, out, scheduler="here", **options)
    assert second.missing == [] and not os.path.exists(f"{out}.blocks")
    done_anew = sum(phase["tasks"] for phase in second.summary["phases"].values())
    assert done_anew < 4 * second.summary["blocks"]
    undisturbed = sm.blocks.refine(softmax, image, scheduler="here", **options)
    np.testing.assert_array_equal(np.load(out), undisturbed.labels)


def test_a_killed_worker_loses_its_block_only(monkeypatch):
    softmax, image, _ = picture(40, 60)
    options = dict(block=30, certify=False, **KERNELS)
    started = []

    class Watched(subprocess.Popen):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            started.append(arguments[0][-1])
            if len(started) in (2, 6):  # one of every phase
                self.send_signal(signal.SIGKILL)

    monkeypatch.setattr(_run.subprocess, "Popen", Watched)
    found = sm.blocks.refine(softmax, image, workers=2, **options)
    assert found.missing == [] and found.summary["retries"] == 2
    assert sorted(started.count(task) for task in set(started)) == [1] * 6 + [2] * 2
    undisturbed = sm.blocks.refine(softmax, image, scheduler="here", **options)
    np.testing.assert_array_equal(found.labels, undisturbed.labels)


CALL = """
import sys, numpy as np, submarine as sm
found = sm.blocks.refine("softmax.npy", "image.npy", "labels.npy", block=20, workers=1, certify=False, progress=True,
    bilateral_sigma=8, colour_sigma=8, position_sigma=1, position_weight=3, bilateral_weight=4)
print(sum(phase["tasks"] for phase in found.summary["phases"].values()), len(found.missing))
"""


def test_the_same_command_continues_after_all_of_it_was_killed(tmp_path):
    softmax, image, _ = picture(40, 60)
    np.save(tmp_path / "softmax.npy", softmax)
    np.save(tmp_path / "image.npy", image)
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
    command = [sys.executable, "-c", CALL]
    first = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    done = tmp_path / "labels.npy.blocks" / "done"
    deadline = time.monotonic() + 60
    while len(list(done.glob("*label*.json"))) < 2 and time.monotonic() < deadline and first.poll() is None:
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    finished = len(list(done.glob("*.json")))
    assert 6 < finished < 12
    second = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert second.stdout.split() == [str(12 - finished), "0"]
    assert "6 blocks of 20 x 20 and a halo of 24 x 24" in second.stderr and "left" in second.stderr
    undisturbed = sm.blocks.refine(softmax, image, block=20, scheduler="here", certify=False, **KERNELS)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), undisturbed.labels)


def test_zarr_and_ome_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed; blocks are tested on .npy files only")
    softmax, image, _ = picture(40, 60)
    options = dict(block=30, scheduler="here", certify=False, **KERNELS)
    expected = sm.blocks.refine(softmax, image, **options).labels
    classes = zarr.open(str(tmp_path / "softmax.zarr"), mode="w", shape=(3, 40, 60), chunks=(3, 16, 16), dtype="f4")
    classes[:] = np.moveaxis(softmax, -1, 0)
    group = zarr.open_group(str(tmp_path / "image.ome.zarr"), mode="w")
    create = getattr(group, "create_array", None) or group.create_dataset
    create("0", shape=(1, 3, 1, 40, 60), chunks=(1, 1, 1, 32, 32), dtype="u1")[:] = np.moveaxis(image, -1, 0)[None, :, None]
    group.attrs["multiscales"] = [{
        "version": "0.4", "axes": [{"name": name} for name in "tczyx"], "datasets": [{"path": "0"}],
    }]
    for out in ("labels.zarr", "labels.ome.zarr", "labels.npy"):
        path = str(tmp_path / out)
        found = sm.blocks.refine(str(tmp_path / "softmax.zarr"), str(tmp_path / "image.ome.zarr"), path, **options)
        assert found.labels == path
        opened = np.load(path) if out.endswith(".npy") else zarr.open(path, mode="r")
        labels = opened["0"] if out.endswith(".ome.zarr") else opened
        np.testing.assert_array_equal(np.asarray(labels[:]), expected)
    assert zarr.open(str(tmp_path / "labels.ome.zarr"), mode="r").attrs["multiscales"][0]["axes"][1]["name"] == "x"
    again = sm.blocks.refine(classes, image, **options).labels  # a zarr array in a folder is read where it is
    np.testing.assert_array_equal(again, expected)


def test_a_dask_client_runs_the_same_blocks():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed; blocks are not tested with it")
    unary = np.random.default_rng(1).normal(size=(30, 40, 3))
    options = dict(block=20, rounds=1, threads=1)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster, distributed.Client(cluster) as client:
        found = sm.blocks.solve(unary, 0.5, scheduler=client, **options)
        by_address = sm.blocks.solve(unary, 0.5, scheduler=cluster.scheduler_address, **options)
    here = sm.blocks.solve(unary, 0.5, scheduler="here", **options)
    assert found.missing == [] and found[1:] == here[1:] == by_address[1:]
    np.testing.assert_array_equal(found.labels, here.labels)


def refused(message, *arguments, function=sm.blocks.refine, **keywords):
    with pytest.raises(sm.Error) as error:
        function(*arguments, **{"scheduler": "here", **keywords})
    assert message in str(error.value)


def test_bad_input_is_named(tmp_path):
    softmax, image, _ = picture(24, 30)
    refused("its halo of 24 needs", softmax, image, max_memory=0.15, **KERNELS)
    refused("is below three standard deviations of the widest kernel, 24 x 24", softmax, image, halo=23, **KERNELS)
    refused("block is 0, expected a whole number > 0", softmax, image, block=0)
    refused("block has 3 numbers, expected 1 or 2, one per axis", softmax, image, block=(8, 8, 8))
    refused("does not exist", tmp_path / "none.npy", image)
    refused("expected a name that ends with .npy, .zarr or .ome.zarr", softmax, image, tmp_path / "labels.tif")
    refused("the softmax has shape (24, 30, 3), expected (24, 29) with labels", softmax, image[:, 1:])
    refused('scheduler is 3, expected "processes", "here"', softmax, image, scheduler=3)
    refused("spacing is [1.0], expected 2 numbers > 0", softmax, image, spacing=[1.0])
    refused("the image has samples from 0 to 1, expected 0 to 255", softmax, image / 255.0)
    refused("probabilities sum to 0.5 over the labels at (0, 0), expected 1", 0.5 * softmax, image, certify=False)
    broken = softmax.copy()
    broken[3, 4, 1] = np.nan
    refused("probabilities is nan at (3, 4, 1)", broken, image)
    np.save(tmp_path / "unary.npy", np.full((20, 20, 2), np.nan))
    said = "in the block that begins at (0, 0), unary is nan at (0, 0, 0), expected finite numbers"
    for scheduler in ("here", "processes"):
        refused(said, tmp_path / "unary.npy", function=sm.blocks.solve, scheduler=scheduler, work=tmp_path / "work")
    refused("the weight of axis 1 is -1", np.zeros((3, 3, 2)), [1, -1], function=sm.blocks.solve)
    refused("weights has 3 entries, expected 2", np.zeros((3, 3, 2)), [1, 1, 1], function=sm.blocks.solve)
    refused("temperature is -1", np.zeros((3, 3, 2)), temperature=-1, function=sm.blocks.solve)
    refused("is not symmetric", np.zeros((3, 3, 2)), metric=np.array([[0, 1], [2, 0]]), function=sm.blocks.solve)


def test_a_grid_that_one_process_is_refused_runs_in_blocks():
    unary = np.random.default_rng(1).normal(size=(300, 300, 20)).astype(np.float32)
    with pytest.raises(sm.TooLarge):
        sm.solve(sm.GridCrf(unary, 0.5), "trw", max_memory=0.2)
    found = sm.blocks.solve(unary, 0.5, rounds=0, method="trw", max_memory=0.2, block=150, workers=1, gap=0.1, time_limit=2)
    assert found.missing == [] and found.summary["blocks"] > 1
    assert found.summary["megabytes_of_largest_worker"] < 200
    assert found.lower < found.upper


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    softmax, image, keywords = random_segmentation(np.random.default_rng(1))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(sm.FileError, match='" cannot be written: No space left on device$'):
        sm.blocks.refine(softmax, image, tmp_path / "labels.npy", scheduler="here", label_axis=-1, **keywords)
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(sm.FileError, match="cannot be made"):
        sm.blocks.refine(softmax, image, scheduler="here", work=tmp_path / "file" / "work", label_axis=-1, **keywords)
