"""submarine.solve: every method brackets log Z, callbacks, interrupts, threads, and how results show themselves."""

import gc
import json
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest
from conftest import log_partition

import submarine as sm

RNG = np.random.default_rng(3)


def small_models():
    unary = RNG.normal(size=(2, 3, 2))
    image = RNG.integers(0, 255, (2, 3, 3))
    tables = sm.FactorGraph(
        [2, 3, 2], [((0, 1), RNG.normal(size=(2, 3))), ((1, 2), RNG.normal(size=(3, 2))), ((0,), [0.0, 1.0])]
    )
    return {
        "sparse": sm.GridCrf(unary, 0.8),
        "tables": tables,
        "dense": sm.DenseCrf(unary, [sm.position(2, 0.3), sm.bilateral(3, 50, 0.4, image)]),
    }


def cardinality(model):
    return model.cardinality if isinstance(model, sm.FactorGraph) else [model.num_labels] * model.num_variables


@pytest.mark.parametrize("method", sm.methods(), ids=lambda m: m.name)
@pytest.mark.parametrize("kind", ["sparse", "tables", "dense"])
def test_every_method_brackets_log_z(method, kind):
    model = small_models()[kind]
    if not getattr(method, kind):
        with pytest.raises(sm.Error):
            sm.solve(model, method.name)
        return
    truth = log_partition(lambda x: model.energy(x), cardinality(model))
    result = sm.solve(model, method.name, max_iterations=200)
    low, high = result.interval
    assert low <= truth + 1e-4 and truth - 1e-4 <= high
    assert method.name == "auto" or result.method == method.name
    assert result.labels.shape == model.shape
    rows = result.marginals if isinstance(result.marginals, list) else result.marginals.reshape(-1, model.num_labels)
    assert all(abs(np.sum(row) - 1) < 1e-5 for row in rows)
    assert result.energy >= model.energy(result.labels) - 1e-4


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("kind", ["sparse", "tables", "dense"])
def test_expectations_contain_the_exact_ones(kind, temperature):
    model = small_models()[kind]
    sizes = cardinality(model)
    labelings = np.array(list(np.ndindex(*sizes)))
    weights = np.exp([-model.energy(x.reshape(model.shape)) / temperature for x in labelings])
    weights /= weights.sum()
    result = sm.solve(model, temperature=temperature, expectations=True, certify="exact" if kind == "dense" else None)

    def contains(found, sums):
        mean = weights @ sums
        assert found.lower - 1e-9 <= mean <= found.upper + 1e-9
        outside = (sums < found.credible_lower - 1e-9) | (sums > found.credible_upper + 1e-9)
        assert weights @ outside <= 0.001
        assert sums.min() - 1e-9 <= found.credible_lower <= found.lower
        assert isinstance(found.claimed, float)
        half = found / 2
        assert half.lower <= found.lower / 2 and found.upper / 2 <= half.upper

    for label, area in enumerate(result.areas()):
        contains(area, (labelings == label).sum(1))
    first = np.arange(len(sizes)).reshape(model.shape) < 2
    for label, area in enumerate(result.areas(first)):
        contains(area, (labelings[:, :2] == label).sum(1))
    flat = result.labels.reshape(-1)
    contains(result.agreement(), (labelings == flat).sum(1))
    contains(result.agreement(np.zeros(model.shape, int)), (labelings == 0).sum(1))
    worth = RNG.normal(size=(len(sizes), max(sizes)))
    sums = worth[np.arange(len(sizes)), labelings].sum(1)
    contains(result.expectation(worth.reshape(model.shape + (max(sizes),))), sums)
    contains(result.expectation(np.arange(max(sizes))), labelings.sum(1))
    one = result.probability((0,) * len(model.shape), 1)
    assert one.lower - 1e-9 <= weights @ (labelings[:, 0] == 1) <= one.upper + 1e-9


def test_expectations_that_cannot_be():
    model = small_models()["sparse"]
    with pytest.raises(sm.InvalidInput, match="expectations=True"):
        sm.solve(model).areas()
    with pytest.raises(sm.InvalidInput, match="temperature above 0"):
        sm.solve(model, temperature=0, expectations=True)
    result = sm.solve(model, expectations=True)
    for wrong in (
        lambda: result.expectation([1.0]),
        lambda: result.expectation([1.0, np.nan]),
        lambda: result.expectation(np.zeros((3, 2, 2))),
        lambda: result.areas(np.ones(6)),
        lambda: result.agreement(np.zeros((2, 2), int)),
        lambda: result.agreement(np.full((2, 3), 2)),
        lambda: result.probability((2, 0), 0),
        lambda: result.probability(0, 0),
        lambda: result.probability((0, 0), 2),
        lambda: result.agreement() / 0,
    ):
        with pytest.raises(sm.InvalidInput):
            wrong()
    copy = pickle.loads(pickle.dumps(result))
    assert copy.interval == result.interval
    with pytest.raises(sm.InvalidInput, match="pickles"):
        copy.agreement()


@pytest.mark.parametrize("temperature", [0.0, 0.5, 3.0])
def test_temperature(temperature):
    model = small_models()["sparse"]
    result = sm.solve(model, temperature=temperature)
    energies = log_partition(lambda x: model.energy(x), cardinality(model), temperature or 1e-6)
    assert result.lower <= energies + 1e-5 and energies - 1e-5 <= result.upper


def large():
    return sm.GridCrf(np.random.default_rng(5).normal(size=(60, 60, 8)), 1.0)


def test_callback_sees_records_and_stops():
    seen = []

    def callback(phase, record):
        seen.append((phase, record))
        return len(seen) < 5

    result = sm.solve(large(), "pdhg", gap=1e-12, callback=callback)
    assert len(seen) >= 5 and all(isinstance(r, sm.Record) for _, r in seen)
    assert result.termination == "interrupted" and not result.interrupted
    assert result.lower < result.upper


def test_callback_that_raises_is_heard():
    def callback(phase, record):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sm.solve(large(), "pdhg", callback=callback)


@pytest.fixture
def ctrl_c():
    """Processes that a shell starts in the background ignore Ctrl-C, and Python with them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_returns_the_best_certificate(ctrl_c):
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    result = sm.solve(large(), "pdhg", gap=1e-15, max_iterations=10**9)
    timer.join()
    assert result.interrupted and result.termination == "interrupted"
    assert result.lower < result.upper
    assert time.monotonic() - begin < 20


def test_ctrl_c_of_exact_inference_raises(ctrl_c):
    model = sm.GridCrf(np.random.default_rng(1).normal(size=(10, 60, 4)), 1.0)

    def callback(phase, record):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sm.solve(model, "exact", callback=callback)


def test_time_limit():
    begin = time.monotonic()
    result = sm.solve(large(), "pdhg", gap=1e-15, max_iterations=10**9, time_limit=0.5)
    assert result.termination == "time limit" or "time" in result.termination
    assert time.monotonic() - begin < 10


def test_other_threads_run_meanwhile():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    sm.solve(large(), "pdhg", gap=1e-15, max_iterations=10**9, time_limit=1.0)
    stop.set()
    thread.join()
    assert len(ticks) > 10


def test_two_threads_give_the_bytes_of_one():
    jobs = [sm.GridCrf(np.random.default_rng(k).normal(size=(9, 12, 3)), 0.7) for k in range(6)]
    options = {"method": "pdhg", "max_iterations": 60, "deterministic": True}
    alone = [sm.solve(model, **options) for model in jobs]
    together = [None] * len(jobs)

    def work(start):
        for k in range(start, len(jobs), 2):
            together[k] = sm.solve(jobs[k], **options)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, two in zip(alone, together):
        assert one.marginals.tobytes() == two.marginals.tobytes()
        assert one.interval == two.interval


@pytest.mark.parametrize(
    "options, words",
    [
        ({"method": "magic"}, "magic"),
        ({"time_limit": -1.0}, "time limit"),
        ({"temperature": float("nan")}, "temperature"),
        ({"gap": "small"}, "gap"),
        ({"mean_field": "jungle"}, "jungle"),
        ({"method": "routed"}, "routed"),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(sm.InvalidInput, match=words):
        sm.solve(small_models()["sparse"], **options)
    with pytest.raises(sm.InvalidInput):
        sm.solve(np.zeros((2, 2, 2)))


def test_too_large_is_a_memory_error():
    with pytest.raises(MemoryError) as caught:
        sm.solve(sm.GridCrf(np.zeros((40, 40, 4)), 1.0), "exact")
    assert isinstance(caught.value, sm.TooLarge) and "GiB" in str(caught.value)


def test_results_show_themselves():
    result = sm.solve(large(), "pdhg", max_iterations=30)
    page = result._repr_html_()
    assert "certified interval" in page and page.count("data:image/png;base64,") == 2
    assert "recomputed from the model by code that shares nothing with the solver" in page
    assert "log Z" in repr(result)
    assert result.entropy().shape == result.labels.shape


@pytest.mark.parametrize("bar", ["tqdm", "lines"])
def test_progress(capsys, monkeypatch, bar):
    if bar == "lines":
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    else:
        pytest.importorskip("tqdm", reason="tqdm is not installed, and its bar is not tested")
    sm.solve(large(), "pdhg", max_iterations=40, progress=True)
    shown = capsys.readouterr().err
    assert "preparing" in shown and "pdhg" in shown


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_thousand_cycles_without_growth():
    image = RNG.integers(0, 255, (8, 9, 3))
    unary = RNG.normal(size=(8, 9, 3))

    def cycle():
        model = sm.DenseCrf(unary, [sm.position(2, 1), sm.bilateral(3, 30, 1, image)])
        sm.solve(model, "mf", max_iterations=2, certify="none", callback=lambda *_: None)

    for _ in range(200):
        cycle()
    gc.collect()
    before = resident()
    for _ in range(800):
        cycle()
    gc.collect()
    assert resident() - before < 4 << 20


def test_the_dual_value_of_plain_flows_is_none_of_routes():
    """What no flows are below may be above what routes prove, as it is here."""
    costs = np.float32([
        [0.24976036, 1.5105076], [2.1155534, 0.12809053], [4.3311543, 0.012963436],
        [6.5346684, 0.00069837266], [1.4990386, 0.25264776], [0.00532773, 6.3671632],
    ])
    image = np.array([[4, 29], [18, 22], [36, 22]], np.uint8)
    kernels = [sm.position(1.0952805587921624, 1.0082330704569806),
               sm.bilateral(3.7212230498115284, 31.701466355829552, 1.465435390547422, image)]
    model = sm.DenseCrf(costs.reshape(3, 2, 2), kernels, "linear")
    result = sm.solve(model, certify="exact", gap=0.3, time_limit=5)
    assert result.extension == "routed"
    assert result.lower <= -8.14361 <= result.upper
    assert result.dual <= result.upper
