"""Random calls of every function: a result that holds, or one of our errors, and never a crash."""

import collections

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import submarine as sm
import submarine.compat.densecrf as dcrf
from submarine.compat import eigen, utils

SETTINGS = settings(
    max_examples=200, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
# What Python code expects of wrong arguments; anything else, and any crash, fails.
EXPECTED = (sm.Error, ValueError, TypeError, AssertionError, IndexError, ZeroDivisionError)

dtypes = st.sampled_from([np.float32, np.float64, np.float16, np.int8, np.uint8, np.int64, np.bool_, np.complex64])


def numbers(dtype):
    kind = np.dtype(dtype).kind
    if kind in "fc":
        return st.one_of(st.sampled_from([0.0, 1.0, -1.0, 1e-30, 1e30, np.nan, np.inf]),
                         st.floats(-10, 10, width=16).map(float))
    return hnp.from_dtype(np.dtype(dtype))


def in_some_form(draw, values):
    """The same values with other strides, as a list, or read-only."""
    form = draw(st.sampled_from(["plain", "fortran", "strided", "reversed", "list", "readonly"]))
    if form == "fortran":
        return np.asfortranarray(values)
    if form == "strided" and values.ndim:
        return np.repeat(values, 2, axis=0)[::2]
    if form == "reversed" and values.ndim:
        return values[::-1].copy()[::-1]
    if form == "list":
        return values.tolist()
    if form == "readonly":
        values.flags.writeable = False
    return values


def normalised(array):
    """Of every pixel, so that it is a softmax."""
    values = np.asarray(array, dtype=float)
    with np.errstate(all="ignore"):
        return values / values.sum(axis=-1, keepdims=True)


@st.composite
def plausible(draw, shape, least=-3.0, most=3.0):
    """Numbers of the shape in some dtype and form; now and then one of them is extreme."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = rng.uniform(least, most, shape)
    if values.size and draw(st.integers(0, 7)) == 0:
        values.flat[rng.integers(values.size)] = draw(st.sampled_from([np.nan, np.inf, 1e30, -1e30, 1e-300, 0.0]))
    kinds = [np.float64, np.float32, ">f8", np.float16]
    if least <= -1 or most >= 2:
        kinds += [np.int8 if least < 0 else np.uint8, np.int64]
    with np.errstate(all="ignore"):
        values = values.astype(draw(st.sampled_from(kinds)))
    return in_some_form(draw, values)


@st.composite
def arrays(draw, least=1, most=4, longest=5):
    dtype = draw(dtypes)
    shape = draw(hnp.array_shapes(min_dims=least, max_dims=most, min_side=0, max_side=longest))
    values = draw(hnp.arrays(np.float64 if np.dtype(dtype).kind in "fc" else dtype, shape, elements=numbers(dtype)))
    with np.errstate(all="ignore"):
        values = values.astype(dtype)
    return in_some_form(draw, values)


scalars = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-3, 200), st.none(), st.text(max_size=3))
usual = st.one_of(st.sampled_from([0.5, 1, 2.0, 3, 20.0]), st.floats(0.01, 50), st.floats(0.01, 50), scalars)
sizes = st.integers(1, 5)
metrics = st.one_of(
    st.sampled_from(["potts", "linear"]), st.sampled_from(["potts", "truncated:2"]), st.just("potts"),
    st.one_of(st.sampled_from(["tree:2x2:1,0.5", "x"]), arrays(2, 2)),
)
accepted, made = collections.Counter(), collections.Counter()


def attempt(name, call):
    made[name] += 1
    try:
        result = call()
    except EXPECTED as error:
        assert str(error)
        return None
    accepted[name] += 1
    return result


def solved(name, model, **options):
    if model is None:
        return
    result = attempt(name + " solve", lambda: sm.solve(model, **options))
    if result is None:
        return
    low, high = result.interval
    assert not low > high
    assert result.labels.shape == model.shape
    if isinstance(result.marginals, np.ndarray):
        assert np.isfinite(result.marginals).all()


def either(data, likely, wild):
    """What is likely to be accepted, or anything."""
    return data.draw(likely if data.draw(st.integers(0, 5)) else wild)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


pytestmark = pytest.mark.filterwarnings("ignore")


@SETTINGS
@given(st.data())
def test_grid(data):
    h, w, n = data.draw(sizes), data.draw(sizes), data.draw(st.integers(2, 5))
    unary = either(data, plausible((h, w, n)), arrays())
    weights = data.draw(usual)
    axis = data.draw(st.sampled_from([-1, -1, -1, 0, 3]))
    connectivity = data.draw(st.sampled_from([4, 8, 4, 5]))
    metric = data.draw(metrics)
    model = attempt("grid", lambda: sm.GridCrf(unary, weights, metric, connectivity=connectivity, label_axis=axis))
    solved("grid", model, max_iterations=20)


@SETTINGS
@given(st.data())
def test_graph(data):
    variables, labels, count = data.draw(sizes), data.draw(st.integers(2, 4)), data.draw(st.integers(0, 6))
    unary = either(data, plausible((variables, labels)), arrays(2, 2))
    place = st.integers(0, variables - 1)
    pairs = st.lists(st.tuples(place, place).filter(lambda ends: ends[0] != ends[1]), min_size=count, max_size=count)
    edges = either(data, pairs if variables > 1 else st.just([]), arrays(1, 2))
    count = len(edges)
    weights = either(data, plausible((count,), 0.0, 2.0), arrays(1, 1))
    model = attempt("graph", lambda: sm.GraphCrf(unary, edges, weights, data.draw(metrics)))
    solved("graph", model, max_iterations=20)


@SETTINGS
@given(st.data())
def test_dense(data):
    h, w, n, channels = data.draw(sizes), data.draw(sizes), data.draw(st.integers(2, 5)), data.draw(sizes)
    unary = either(data, plausible((h, w, n)), arrays(2, 4))
    image = either(data, plausible((h, w, channels), 0.0, 255.0), arrays(2, 4))
    sigma, weight, metric, normalised = (data.draw(s) for s in (usual, usual, metrics, st.booleans()))
    count = data.draw(st.sampled_from(["once", "ordered"]))
    model = attempt(
        "dense",
        lambda: sm.DenseCrf(
            unary, [sm.position(sigma, 1), sm.bilateral(2, sigma, weight, image, normalised=normalised)], metric,
            count=count,
        ),
    )
    solved("dense", model, max_iterations=10)


@SETTINGS
@given(st.data())
def test_features(data):
    variables, labels, columns = data.draw(sizes), data.draw(st.integers(2, 4)), data.draw(st.integers(1, 18))
    unary = either(data, plausible((variables, labels)), arrays(1, 3))
    values = either(data, plausible((variables, columns), 0.0, 5.0), arrays(1, 3))
    sigma = data.draw(usual)
    model = attempt("features", lambda: sm.DenseCrf(unary, [sm.features(values, 1, sigma)]))
    solved("features", model, max_iterations=10)


@SETTINGS
@given(st.data())
def test_refine(data):
    h, w, n = data.draw(sizes), data.draw(sizes), data.draw(st.integers(2, 4))
    softmax = either(data, plausible((h, w, n), 0.01, 1.0).map(normalised), arrays())
    image = either(data, plausible((h, w, 3), 0.0, 255.0), arrays())
    axis = data.draw(st.sampled_from([None, -1, -1, 0, 7]))
    found = attempt("refine", lambda: sm.refine(softmax, image, label_axis=axis, max_iterations=2))
    if found is not None:
        assert np.isfinite(found.probabilities).all()


@SETTINGS
@given(st.data())
def test_factor_graph(data):
    cardinality = either(data, st.lists(st.integers(1, 3), min_size=1, max_size=4),
                         st.lists(st.integers(-1, 4), max_size=4))
    factors = []
    for _ in range(data.draw(st.integers(0, 4))):
        scope = either(data, st.lists(st.integers(0, max(0, len(cardinality) - 1)), unique=True, min_size=1, max_size=3),
                       st.lists(st.integers(-1, 4), max_size=3))
        known = all(0 <= a < len(cardinality) and cardinality[a] > 0 for a in scope)
        shape = tuple(cardinality[a] for a in scope) if known else (2,)
        factors.append((scope, either(data, plausible(shape), arrays())))
    solved("factors", attempt("factors", lambda: sm.FactorGraph(cardinality, factors)))


@SETTINGS
@given(
    st.one_of(st.sampled_from([m.name for m in sm.methods()]), st.text(max_size=4)),
    st.fixed_dictionaries(
        {},
        optional={
            "gap": st.one_of(st.floats(0, 1), scalars), "time_limit": st.one_of(st.floats(0, 0.2), st.just(np.nan)),
            "temperature": usual, "seed": st.integers(-2, 10), "rho_steps": st.integers(-1, 3),
            "starts": st.integers(-2, 3), "mean_field": st.sampled_from(["naive", "forest"]),
            "extension": st.sampled_from(["optimal", "optimal", "alternate", ""]),
            "rounding": st.integers(-2, 5), "deterministic": st.booleans(), "cutoff": st.floats(-0.1, 1.1),
            "levels": st.integers(1, 70), "pairs": st.sampled_from(["auto", "list", "lattice", "brute-force", "?"]),
            "certify": st.sampled_from(["auto", "exact", "operator", "none"]), "threads": st.integers(-1, 3),
            "max_memory": st.one_of(st.floats(-5e-9, 1e-4), st.just(1.0)),
        },
    ),
    st.booleans(),
)
def test_options(method, options, dense):
    unary = np.random.default_rng(1).normal(size=(3, 4, 3))
    model = sm.DenseCrf(unary, [sm.position(2, 1)]) if dense else sm.GridCrf(unary)
    solved("options", model, method=method, max_iterations=15, **options)


@SETTINGS
@given(st.data())
def test_stereo(data):
    h, w, n = data.draw(sizes), data.draw(st.integers(3, 9)), data.draw(st.integers(1, 4))
    left = either(data, plausible((h, w), 0.0, 255.0), arrays())
    right = either(data, plausible((h, w), 0.0, 255.0), arrays())
    kind = data.draw(st.sampled_from(["ad", "census", "bt", "sad:1", "ad", "sad:x"]))
    truncate = data.draw(usual)
    costs = attempt("costs", lambda: sm.matching_costs(left, right, n, kind, truncate=truncate))
    if costs is not None:
        assert np.isfinite(costs).all()


@SETTINGS
@given(st.data())
def test_drop_in(data):
    width, height, labels = (data.draw(st.integers(0, 5)) for _ in range(3))
    d = attempt("drop-in", lambda: dcrf.DenseCRF2D(width, height, labels))
    if d is None:
        return
    n = width * height
    attempt("unary", lambda: d.setUnaryEnergy(np.asarray(either(data, plausible((labels, n)), arrays(2, 2)))))
    compat = either(data, st.one_of(usual, plausible((labels,)).map(lambda v: np.asarray(v, np.float32)),
                                    plausible((labels, labels)).map(lambda v: np.asarray(v, np.float32))), arrays(0, 3))
    sigma = either(data, st.sampled_from([0.5, 3, 80.0, (2, 3)]), st.one_of(scalars, st.tuples(scalars, scalars)))
    image = np.asarray(either(data, plausible((height, width, 3), 0.0, 255.0), arrays(2, 4)))
    normalization = data.draw(st.integers(-1, 3))
    attempt("gaussian", lambda: d.addPairwiseGaussian(sigma, compat, normalization=normalization))
    attempt("bilateral", lambda: d.addPairwiseBilateral(sigma, 30, image, compat))
    features = np.asarray(either(data, plausible((data.draw(st.integers(1, 8)), n)), arrays(2, 2)))
    attempt("energy", lambda: d.addPairwiseEnergy(features, compat, normalization=normalization))
    q = d.inference(2)
    assert q.shape == (labels, n)
    d.klDivergence(q)
    attempt("step", lambda: d.stepInference(q, None, None))
    attempt("energy of labels", lambda: d.energy(np.zeros(n, int)))


@SETTINGS
@given(arrays(0, 4), arrays(0, 4), usual, st.integers(-1, 4))
def test_drop_in_utils(first, second, number, axis):
    attempt("matrix", lambda: eigen.matrixXf(np.asarray(first)))
    attempt("vector", lambda: eigen.vectorXf(np.asarray(first)))
    attempt("labels", lambda: utils.unary_from_labels(np.asarray(first), 3, number))
    attempt("softmax", lambda: utils.unary_from_softmax(np.asarray(first), number))
    attempt("mesh", lambda: utils.create_pairwise_gaussian(second, (3, 4)))
    attempt("mesh of image", lambda: utils.create_pairwise_bilateral((1, 2), number, np.asarray(first), chdim=axis))


def test_enough_was_accepted():
    """Random calls that are all refused would test the refusals only."""
    names = ["grid", "grid solve", "graph", "graph solve", "dense", "dense solve", "features", "features solve", "refine",
             "factors", "factors solve", "options solve", "costs", "guess", "drop-in", "unary", "gaussian", "bilateral",
             "energy", "step"]
    for name in names:
        if made[name]:
            assert accepted[name] >= 15, f"{name}: {accepted[name]} of {made[name]} calls were accepted"
