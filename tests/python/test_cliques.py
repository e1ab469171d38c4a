"""Cliques and superpixels."""

import itertools
import pickle

import numpy as np
import pytest

import submarine as sm


def model_with_cliques(seed):
    rng = np.random.default_rng(seed)
    model = sm.GraphCrf(rng.normal(size=(6, 3)), [[0, 1], [1, 2], [3, 4]], weights=rng.uniform(0, 2, 3))
    model.add_cliques([[0, 1, 2, 3], [2, 3, 4, 5]], [2.0, 1.0], 1.5, [[1, 1, 2, 1], [1, 0.5, 1, 1.5]])
    return model


def cost_of(labels, members, gamma, truncation, weights):
    deviating = min(sum(u for a, u in zip(members, weights) if labels[a] != label) for label in range(3))
    return min(gamma, gamma / truncation * deviating)


@pytest.mark.parametrize("seed", range(4))
def test_against_enumeration(seed):
    model = model_with_cliques(seed)
    pairs = sm.GraphCrf(model.unary, model.edges, model.weights)
    energies = []
    for labels in itertools.product(range(3), repeat=6):
        expected = (
            pairs.energy(labels)
            + cost_of(labels, [0, 1, 2, 3], 2.0, 1.5, [1, 1, 2, 1])
            + cost_of(labels, [2, 3, 4, 5], 1.0, 1.5, [1, 0.5, 1, 1.5])
        )
        assert model.energy(labels) == pytest.approx(expected, abs=1e-12)
        energies.append(expected)
    exact = np.log(np.sum(np.exp(-np.array(energies))))
    for method in ("auto", "exact", "pdhg", "fw", "trw"):
        result = sm.solve(model, method)
        assert result.lower <= exact + 1e-9 and exact - 1e-9 <= result.upper, method
    assert "2 cliques" in model.description()
    assert model.num_cliques == 2


@pytest.mark.parametrize("seed", range(4))
def test_lower_bound_of_marginals(seed):
    model = model_with_cliques(seed)
    y = np.random.default_rng(seed).dirichlet([0.3] * 3, 6)
    states = list(itertools.product(range(3), repeat=6))
    p = np.array([np.prod(y[np.arange(6), list(labels)]) for labels in states])
    entropy = -float((y * np.log(y)).sum())
    expected = entropy - float(p @ [model.energy(labels) for labels in states])
    assert model.lower_bound(y) <= expected + 1e-12
    assert model.lower_bound(y) == pytest.approx(expected, abs=2e-3)  # weights are rounded up to a grid
    assert model.lower_bound(y) <= sm.solve(model, "exact").upper
    corner = np.eye(3)[[0, 0, 1, 0, 2, 2]]
    assert model.lower_bound(corner, temperature=0.5) == pytest.approx(-model.energy(corner.argmax(1)), abs=1e-9)


@pytest.mark.parametrize("certify", ["exact", "operator"])
def test_mean_field_proves_what_its_marginals_prove(certify):
    unary = np.random.default_rng(4).normal(size=(6, 6, 3))
    sparse = sm.GridCrf(unary, weights=0.3)
    dense = sm.DenseCrf(unary, [sm.position(1.0, weight=0.3)])
    for model, options in ((sparse, dict(mean_field="naive")), (dense, dict(certify=certify, pairs="brute-force"))):
        for members in (range(9), range(9, 13), range(13, 22)):
            model.add_cliques([members], 3.0, 0.5 * len(members))
        result = sm.solve(model, "mf", **options)
        assert result.lower == pytest.approx(model.lower_bound(result.marginals), abs=2e-3)


@pytest.mark.parametrize("strength", [0.5, 6.0])
def test_trees_bound_areas(strength):
    """By latent labels, which are tighter where cliques are strong, or without: both hold what is exact."""
    rng = np.random.default_rng(8)
    model = sm.GraphCrf(rng.normal(size=(6, 3)), [[0, 1], [1, 2], [3, 4]], weights=0.5)
    model.add_cliques([[0, 1, 2, 3], [2, 3, 4, 5]], strength, 1.5)
    exact = np.asarray(sm.solve(model, "exact").marginals).sum(0)
    result = sm.solve(model, "trw", expectations=True)
    assert result.marginals.shape == (6, 3) and np.allclose(result.marginals.sum(1), 1)
    for area, expected in zip(result.areas(), exact):
        assert area.lower <= expected <= area.upper
    assert max(area.upper - area.lower for area in result.areas()) < 6


def test_lower_bound_of_a_dense_model():
    rng = np.random.default_rng(5)
    model = sm.DenseCrf(rng.normal(size=(2, 3, 2)), [sm.position(1.0, weight=0.5)])
    model.add_cliques([[0, 1, 2, 4]], 2.0, 1.5)
    y = rng.dirichlet([1, 1], (2, 3))
    p, energies = [], []
    for labels in itertools.product(range(2), repeat=6):
        p.append(np.prod(y.reshape(6, 2)[np.arange(6), list(labels)]))
        energies.append(model.energy(np.reshape(labels, (2, 3)), tolerance=0.0))
    assert model.lower_bound(y, tolerance=0.0) == pytest.approx(-(y * np.log(y)).sum() - np.dot(p, energies), abs=1e-5)
    with pytest.raises(sm.InvalidInput, match="variable 0"):
        model.lower_bound(np.zeros((2, 3, 2)))


def test_energies_beyond_single_precision_are_for_sparse_models():
    sparse = sm.GridCrf(np.zeros((2, 2, 2)))
    sparse.add_cliques([[0, 1, 2]], 1e100, 1.0)
    assert sparse.energy([[0, 1], [0, 0]]) >= 1e100
    dense = sm.DenseCrf(np.zeros((2, 2, 2)), [sm.position(1.0, weight=0.5)])
    for gamma in (1e30, 1e100):
        with pytest.raises(sm.InvalidInput, match="too large to add up"):
            dense.add_cliques([[0, 1, 2]], gamma, 1.0)
    assert dense.num_cliques == 0


def test_says_what_a_metric_costs_the_bound():
    k23 = np.array([[0 if i == j else 1 if (i < 2) != (j < 2) else 2 for j in range(5)] for i in range(5)])
    unary = np.random.default_rng(2).normal(size=(8, 8, 5))
    for model in (sm.GridCrf(unary, weights=0.5, metric=k23), sm.DenseCrf(unary, [sm.position(1.0, weight=0.5)], k23)):
        plain = model.energy
        model.add_cliques([range(20)], 3.0, 5.0)
        result = sm.solve(model, "pdhg")
        cost = min(3.0, 3.0 / 5.0 * (20 - np.bincount(result.labels.reshape(-1)[:20]).max()))
        unaries = np.take_along_axis(unary, result.labels[..., None], 2).sum()
        assert result.metric_loss["worst_ratio"] == pytest.approx(1.5, abs=1e-6)
        assert result.metric_loss["pairs"] == pytest.approx(plain(result.labels) - cost - unaries, abs=1e-3)


def test_pickles_and_files(tmp_path):
    model = model_with_cliques(1)
    again = pickle.loads(pickle.dumps(model))
    model.write(tmp_path / "model.json")
    read = sm.read(tmp_path / "model.json")
    model.write(tmp_path / "model.uai")
    tables = sm.read(tmp_path / "model.uai")
    for labels in ([0, 1, 2, 0, 1, 2], [0] * 6, [1, 1, 1, 2, 1, 1]):
        for other in (again, read, tables):
            assert other.energy(labels) == pytest.approx(model.energy(labels), abs=1e-9)


def test_dense_models(tmp_path):
    rng = np.random.default_rng(3)
    model = sm.DenseCrf(rng.normal(size=(4, 5, 2)), [sm.position(1.0, weight=0.5)])
    plain = model.energy(np.eye(4, 5, dtype=int))
    model.add_cliques(np.arange(20).reshape(4, 5), gamma=1.0, truncation=2.0)
    assert model.energy(np.eye(4, 5, dtype=int)) == pytest.approx(plain + 4 * 0.5, abs=1e-6)
    result = sm.solve(model)
    assert result.lower <= result.upper
    model.write(tmp_path / "dense.json")
    assert sm.read(tmp_path / "dense.json").energy(np.eye(4, 5, dtype=int)) == pytest.approx(plain + 2.0, abs=1e-5)


@pytest.mark.parametrize(
    "members, gamma, truncation, weights, message",
    [
        ([[0, 0]], 1, 1, None, "clique 0 names variable 0 twice"),
        ([[0, 1], [2, 6]], 1, 1, None, "clique 1 names variable 6, but the variables are 0..5"),
        ([[0, 1], []], 1, 1, None, "clique 1 has no variables"),
        ([[0, 1, 2, 3]], 1, 2.5, None, "the truncation Q of clique 0 is 2.5"),
        ([[0, 1]], 1, 0, None, "the truncation Q of clique 0 is 0"),
        ([[0, 1]], float("nan"), 1, None, "nan"),
        ([[0, 1]], -1, 1, None, "the gamma of clique 0 is -1"),
        ([[0, 1]], 1, 1, [[1, -1]], "the weight of variable 1 in clique 0 is -1"),
        ([[0, 1]], 1, 1, [[1]], "weights has other lengths than members"),
        ([[0, 1]], [1, 2], 1, None, "gamma has shape"),
    ],
)
def test_refuses(members, gamma, truncation, weights, message):
    model = model_with_cliques(0)
    with pytest.raises(sm.InvalidInput, match=message.replace("(", r"\(")):
        model.add_cliques(members, gamma, truncation, weights)
    assert model.num_cliques == 2


def picture():
    rng = np.random.default_rng(7)
    truth = (np.add.outer(np.arange(40), np.arange(60)) > 50).astype(int)
    image = np.clip(60 + 120 * truth[..., None] + rng.normal(0, 5, (40, 60, 3)), 0, 255).astype(np.uint8)
    softmax = np.full((40, 60, 2), 0.5)
    noisy = np.where(rng.random((40, 60)) < 0.3, 1 - truth, truth)
    np.put_along_axis(softmax, noisy[..., None], 0.6, axis=2)
    np.put_along_axis(softmax, 1 - noisy[..., None], 0.4, axis=2)
    return truth, image, softmax


def test_superpixels_refine():
    truth, image, softmax = picture()
    regions = sm.superpixels(image, size=8)
    assert regions.shape == truth.shape and len(np.unique(regions)) == regions.max() + 1
    off = dict(position_weight=0.0, bilateral_weight=0.01)
    plain, _ = sm.refine(softmax, image, **off)
    agree = [np.mean(plain == truth)]
    for superpixels in (["SLIC:8,2,0.5"], [(regions, 2.0, 0.5)], (regions, 2.0, 0.5)):
        labels, _ = sm.refine(softmax, image, superpixels=superpixels, **off)
        agree.append(np.mean(labels == truth))
    assert agree[1] == agree[2] == agree[3] > agree[0] + 0.1
    (found,) = sm.Segmenter(superpixels="SLIC:8,2,0.5", **off).predict([(softmax, image)])
    assert np.mean(found == truth) == agree[1]
    proven = sm.refine(softmax, image, superpixels="SLIC:8,0.3,0.5", certify=True, time_limit=5, **off).result
    assert proven.lower < proven.upper
    assert "clique" in proven.model


@pytest.mark.parametrize(
    "superpixels, message",
    [
        (["SLIC:8,2"], "expected SLIC"),
        (["a.png,1,0.1"], "files are for the command"),
        ([(np.zeros((3, 3), int), 1, 0.1)], "the regions have shape"),
        ([(np.zeros((40, 60), int), 1, 0.7)], "the Q of superpixels is 0.7"),
        ([3], "expected a text or"),
    ],
)
def test_superpixels_refuse(superpixels, message):
    _, image, softmax = picture()
    with pytest.raises(sm.InvalidInput, match=message):
        sm.refine(softmax, image, superpixels=superpixels)
