"""The recipe of docs/python.md for many machines, on a cluster of processes that loses a worker half-way."""

import os
import signal
import time

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed; its recipe is not tested")


def refine_one(number):
    """What a worker does: it makes its picture, or reads it, and refines it."""
    import submarine as sm

    rng = np.random.default_rng(number)
    truth = (np.mgrid[:40, :50][1] > 10 + number).astype(int)
    image = np.where(truth[..., None] == 1, 190, 60) + rng.integers(-8, 9, (40, 50, 3))
    softmax = np.where(np.arange(2) == truth[..., None], 0.7, 0.3)
    sm.set_threads(1)  # the processes share the cores
    time.sleep(0.2)
    labels, _ = sm.refine(softmax, image)
    return number, int((labels != truth).sum())


@pytest.mark.filterwarnings("ignore")
def test_every_picture_comes_back_once():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster, distributed.Client(cluster) as client:
        futures = client.map(refine_one, range(12), pure=False, retries=3)
        done = distributed.as_completed(futures)
        next(done)
        victim = next(iter(client.run(os.getpid).values()))
        assert victim != os.getpid()
        os.kill(victim, signal.SIGKILL)
        results = client.gather(futures)
    assert [number for number, _ in results] == list(range(12))
    assert all(wrong < 40 for _, wrong in results)
