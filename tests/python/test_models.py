"""Models: their energies by definition, any array there is, errors, pickles and files."""

import json
import pickle

import numpy as np
import pytest
from conftest import dense_energy, gaussian

import submarine as sm

RNG = np.random.default_rng(7)


def potts(labels):
    return 1.0 - np.eye(labels)


def small_dense(**options):
    unary = RNG.normal(size=(3, 4, 3))
    image = RNG.integers(0, 256, size=(3, 4, 3)).astype(np.uint8)
    return unary, image, sm.DenseCrf(unary, [sm.position(2, 1.5), sm.bilateral(3, 60, 0.7, image)], **options)


def weights_of(image, factor):
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    place = np.stack([x.ravel(), y.ravel()], 1).astype(float)
    colour = image.reshape(-1, image.shape[-1]).astype(float)
    return factor * (1.5 * gaussian(place / 2) + 0.7 * gaussian(np.hstack([place / 3, colour / 60])))


@pytest.mark.parametrize("count, factor", [("ordered", 2.0), ("once", 1.0)])
def test_dense_energy_is_that_of_the_definition(count, factor):
    unary, image, model = small_dense(count=count)
    labels = RNG.integers(0, 3, size=(3, 4))
    costs = unary.astype(np.float32).astype(float).reshape(-1, 3)
    expected = dense_energy(costs, weights_of(image, factor), potts(3), labels.ravel())
    assert model.energy(labels, tolerance=0.0) == pytest.approx(expected, rel=1e-12)


def test_sparse_energy_is_that_of_the_definition():
    unary = RNG.normal(size=(3, 4, 5))
    weights = RNG.random(17)
    model = sm.GridCrf(unary, weights, "truncated:2")
    labels = RNG.integers(0, 5, size=12)
    edges = sm.grid_edges(3, 4)
    distance = np.minimum(abs(labels[edges[:, 0]] - labels[edges[:, 1]]), 2)
    expected = unary.reshape(-1, 5)[np.arange(12), labels].sum() + (weights * distance).sum()
    assert model.energy(labels.reshape(3, 4)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    "metric, entry",
    [("potts", 1.0), ("linear", 3.0), ("truncated:2", 2.0), ("tree:2x2:1,0.5", 3.0), (3.0 * (1 - np.eye(4)), 3.0)],
)
def test_metrics(metric, entry):
    grid = sm.GridCrf(np.zeros((2, 2, 4)), metric=metric)
    dense = sm.DenseCrf(np.zeros((2, 2, 4)), [sm.position(1, 1)], metric)
    assert grid.distances[0][0, 3] == pytest.approx(entry)
    assert dense.distances[0][0, 3] == pytest.approx(entry)


def test_a_metric_of_its_own_for_every_edge():
    model = sm.GraphCrf(np.zeros((3, 3)), [[0, 1], [1, 2]], 1.0, ["potts", "linear"], edge_metric=[0, 1])
    assert model.energy([0, 2, 2]) == 1.0
    assert model.energy([0, 0, 2]) == 2.0


class OnlyDlpack:
    """An array of another library, which has no __array__."""

    def __init__(self, values):
        self._values = values

    def __dlpack__(self, **options):
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


class OnlyArray:
    def __init__(self, values):
        self._values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._values, dtype)


@pytest.mark.parametrize(
    "form",
    [
        lambda u: u.astype(np.float64),
        lambda u: u.astype(np.int8),
        lambda u: u.astype(np.float16),
        lambda u: u.astype(">f4"),
        lambda u: np.asfortranarray(u),
        lambda u: np.repeat(u, 2, axis=1)[:, ::2],
        lambda u: u[::-1].copy()[::-1],
        lambda u: u.tolist(),
        pytest.param(OnlyDlpack, marks=pytest.mark.skipif(not hasattr(np, "from_dlpack"), reason="numpy before 1.22 reads no __dlpack__")),
        OnlyArray,
    ],
)
def test_any_array_gives_the_same_model(form):
    unary = RNG.integers(-4, 5, size=(4, 5, 3)).astype(np.float32)
    expected = sm.DenseCrf(unary, [sm.position(1, 1)])
    model = sm.DenseCrf(form(unary), [sm.position(1, 1)])
    assert np.array_equal(model.unary, expected.unary)
    assert np.array_equal(sm.GridCrf(form(unary)).unary, unary)


def test_labels_first():
    unary = RNG.normal(size=(3, 4, 5)).astype(np.float32)
    assert np.array_equal(sm.DenseCrf(unary, label_axis=0).unary, np.moveaxis(unary, 0, -1))


def test_unaries_are_read_only_and_outlive_their_model():
    unary = sm.GridCrf(np.ones((2, 3, 2))).unary
    with pytest.raises(ValueError):
        unary[0, 0, 0] = 3
    assert unary.sum() == 12.0


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: sm.DenseCrf(np.full((2, 2, 2), np.nan)), "nan at (0, 0, 0)"),
        (lambda: sm.DenseCrf(np.full((2, 2, 2), 1e300)), "finite"),
        (lambda: sm.GridCrf(np.zeros((2, 2))), "expected (height, width, labels)"),
        (lambda: sm.GridCrf(np.zeros((2, 2, 2), complex)), "complex128"),
        (lambda: sm.GridCrf(np.array([[["a", "b"]]])), "expected real numbers"),
        (lambda: sm.GridCrf(np.zeros((2, 2, 2)), -1.0), "weight"),
        (lambda: sm.GridCrf(np.zeros((2, 2, 2)), metric="nonsense"), "nonsense"),
        (lambda: sm.GraphCrf(np.zeros((2, 2)), [[0, 7]]), "7"),
        (lambda: sm.GraphCrf(np.zeros((2, 2)), [[0.5, 1.0]]), "whole numbers"),
        (lambda: sm.DenseCrf(np.zeros((2, 2, 2)), [sm.position(0, 1)]), "sigma"),
        (lambda: sm.DenseCrf(np.zeros((4, 2)), [sm.position(1, 1)]), "submarine.features"),
        (lambda: sm.DenseCrf(np.zeros((2, 2, 2)), [sm.bilateral(1, 1, 1, np.zeros((3, 2, 3)))]), "(3, 2, 3)"),
        (lambda: sm.DenseCrf(np.zeros((2, 2, 2)), count="twice"), "twice"),
        (lambda: sm.DenseCrf(np.zeros((2, 2, 2)), label_axis=5), "label axis 5"),
        (lambda: sm.FactorGraph([2], [((0,), [0.0, np.nan])]), "NaN"),
    ],
)
def test_errors_say_what_is_wrong(make, words):
    with pytest.raises(sm.InvalidInput) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert words.lower() in str(caught.value).lower()


@pytest.mark.parametrize("channels", [None, 1, 2, 7])
def test_any_number_of_channels(channels):
    image = RNG.random((3, 4) if channels is None else (3, 4, channels))
    model = sm.DenseCrf(np.zeros((3, 4, 2)), [sm.bilateral(3, 0.5, 1, image)], count="once")
    y, x = np.mgrid[:3, :4]
    place = np.stack([x.ravel(), y.ravel()], 1) / 3
    weights = gaussian(np.hstack([place, image.reshape(12, -1) / 0.5]))
    labels = RNG.integers(0, 2, 12)
    expected = dense_energy(np.zeros((12, 2)), weights, potts(2), labels)
    assert model.energy(labels, tolerance=0.0) == pytest.approx(expected, rel=1e-12)


def test_volumes_and_point_clouds():
    volume = RNG.random((2, 3, 4))
    model = sm.DenseCrf(np.zeros((2, 3, 4, 2)), [sm.position((1, 2, 3), 1), sm.bilateral(2, 0.3, 1, volume)])
    assert model.shape == (2, 3, 4) and sm.solve(model).labels.shape == (2, 3, 4)
    cloud = sm.DenseCrf(np.zeros((9, 2)), [sm.features(RNG.random((9, 3)), 2.0, sigma=(1, 2, 3))])
    assert sm.solve(cloud).marginals.shape == (9, 2)


def models():
    _, _, dense = small_dense(metric="linear", constant=2.5)
    table = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    return [
        dense,
        sm.DenseCrf(RNG.normal(size=(6, 3)), [sm.features(RNG.random((6, 2)), 1, normalised=True)]),
        sm.GridCrf(RNG.normal(size=(3, 4, 3)), RNG.random(17), "tree:((0,1):1,2)", constant=1.0),
        sm.GraphCrf(RNG.normal(size=(4, 3)), [[0, 1], [2, 3]], metric=table),
        sm.FactorGraph([2, 3], [((0,), [0, 1.5]), ((1, 0), RNG.random((3, 2)))]),
    ]


@pytest.mark.parametrize("number", range(5))
def test_pickles_are_the_same_model(number):
    model = models()[number]
    copy = pickle.loads(pickle.dumps(model))
    labels = np.zeros(model.shape, int)
    labels.flat[-1] = 1
    assert copy.energy(labels) == model.energy(labels)
    first, second = (sm.solve(m, deterministic=True) for m in (model, copy))
    assert first.interval == second.interval
    assert pickle.loads(pickle.dumps(first)).interval == first.interval


def test_bundles_and_uai(tmp_path):
    labels = [[0, 1, 2, 0], [1, 1, 0, 0], [2, 2, 2, 2]]
    _, _, dense = small_dense(count="once")
    grid = sm.GridCrf(RNG.normal(size=(3, 4, 3)), RNG.random(29), "truncated:2", connectivity=8)
    graph = sm.GraphCrf(RNG.normal(size=(12, 3)), [[0, 5], [3, 11]], metric="linear")
    for model, name in ((dense, "d.json"), (grid, "g.json"), (graph, "s.json"), (grid, "g.uai")):
        model.write(tmp_path / name)
        again = sm.read(tmp_path / name)
        flat = np.ravel(labels)
        assert again.energy(flat) == pytest.approx(model.energy(flat), rel=1e-6)
        if not isinstance(again, sm.FactorGraph):
            assert type(again) is type(model) and again.shape == model.shape
            again.write(tmp_path / ("again_" + name))
            assert sm.read(tmp_path / ("again_" + name)).energy(flat) == pytest.approx(model.energy(flat), rel=1e-6)
    with pytest.raises(sm.FileError) as caught:
        sm.read(tmp_path / "absent.json")
    assert isinstance(caught.value, OSError) and "absent.json" in str(caught.value)


@pytest.mark.filterwarnings("ignore:the edges below node")
def test_bundles_hold_metrics_of_matrices_and_files(tmp_path, monkeypatch):
    random = np.random.default_rng(34)
    unary = random.normal(size=(3, 4, 3))
    table = np.array([[0, 1, 1.7], [1, 0, 0.9], [1.7, 0.9, 0]])
    beyond = np.array([[0, 1, 5.0], [1, 0, 1], [5, 1, 0]])  # no metric
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "tree.tsv").write_text("cat\tanimal\ndog\tanimal\nsky\t\n")
    np.savetxt(tmp_path / "from" / "beyond.csv", beyond, delimiter=",")
    monkeypatch.chdir(tmp_path / "from")
    flat = [0, 1, 2, 0, 1, 1, 0, 0, 2, 2, 2, 2]
    cases = {
        "table": (table, "table.metric.npy"),
        "scaled": (0.3 * (1 - np.eye(3)), "scaled.metric.npy"),
        "kept": (("compatibility", beyond), "compatibility:kept.metric.npy"),
        "repaired": (("repair", beyond), "linear"),
        "tree": ("tree.tsv", "tree.metric.tsv"),
        "levels": ("tree.tsv:2,0.25", "levels.metric.tsv:2,0.25"),
        "fixed": ("repair:beyond.csv", "repair:fixed.metric.csv"),
        "absolute": (str(tmp_path / "from" / "tree.tsv"), "absolute.metric.tsv"),
        "named": ("truncated:2", "truncated:2"),
    }
    image = random.integers(0, 255, (3, 4, 3))
    for name, (metric, written) in cases.items():
        kernels = [sm.position(2.0, 1.0), sm.bilateral(3.0, 20.0, 1.0, image)]
        for kind, model in (("grid", sm.GridCrf(unary, 0.7, metric)), ("dense", sm.DenseCrf(unary, kernels, metric))):
            (tmp_path / kind).mkdir(exist_ok=True)
            path = tmp_path / kind / f"{name}.json"
            model.write(path)
            assert json.loads(path.read_text())["metric"] == written
            again = sm.read(path)
            assert np.array_equal(again.distances[0], model.distances[0])
            assert again.energy(flat) == pytest.approx(model.energy(flat), rel=1e-6)
            assert again.groups == model.groups and again.label_names == model.label_names
    several = sm.GridCrf(unary, metric=["potts", "linear"], edge_metric=[0, 1] * 8 + [0])
    with pytest.raises(sm.NotExpressible, match="2"):
        several.write(tmp_path / "several.json")


def test_lower_bound_of_given_marginals():
    unary, image, model = small_dense(count="once")
    y = RNG.dirichlet(np.ones(3), size=12)
    w = np.triu(weights_of(image, 1.0), 1)
    mean = (unary.astype(np.float32).reshape(12, 3) * y).sum() + (w * (1 - y @ y.T)).sum()
    expected = -(y * np.log(y)).sum() - mean
    assert model.lower_bound(y) == pytest.approx(expected, rel=1e-5)
    assert model.lower_bound(y) <= expected + 1e-9


NO_METRIC = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])


def test_a_table_that_is_no_metric_is_refused_repaired_or_kept():
    unary = RNG.normal(size=(4, 3))
    edges = [[0, 1], [1, 2], [2, 3]]
    with pytest.raises(sm.InvalidInput, match=r"d\(0,2\) = 5 exceeds d\(0,1\) \+ d\(1,2\) = 2"):
        sm.GraphCrf(unary, edges, metric=NO_METRIC)
    repaired = sm.GraphCrf(unary, edges, metric=("repair", NO_METRIC))
    assert repaired.distances[0][0, 2] == 2.0
    kept = sm.GraphCrf(unary, edges, metric=("compatibility", NO_METRIC))
    assert np.array_equal(kept.distances[0], NO_METRIC)
    exact = sm.solve(kept, method="exact").upper
    bounds = sm.solve(kept, method="pdhg")
    assert bounds.lower <= exact + 1e-9 and exact - 1e-9 <= bounds.upper
    assert "no metric" in bounds.model
    with pytest.raises(sm.InvalidInput, match="expected"):
        sm.GraphCrf(unary, edges, metric=("ignore", NO_METRIC))


def test_a_hierarchy_has_marginals_of_groups(tmp_path):
    path = tmp_path / "tree.tsv"
    path.write_text("cat\tanimal\ndog\tanimal\ncar\tvehicle\n")
    grid = sm.GridCrf(RNG.normal(size=(3, 4, 3)), metric=str(path))
    assert grid.label_names == ["cat", "dog", "car"]
    assert grid.groups == {"animal": [0, 1], "vehicle": [2]}
    assert pickle.loads(pickle.dumps(grid)).groups == grid.groups
    result = sm.solve(grid)
    found = result.group_marginals()
    assert list(found) == ["animal", "vehicle"]
    assert np.allclose(found["animal"], result.marginals[..., :2].sum(-1))
    assert found["animal"].shape == (3, 4)
    assert sm.solve(sm.GridCrf(RNG.normal(size=(2, 2, 3)))).group_marginals() == {}
