"""Random calls of every function: a result that holds, or one of our errors, and never a crash."""

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


@st.composite
def arrays(draw, least=1, most=4, longest=5):
    dtype = draw(dtypes)
    shape = draw(hnp.array_shapes(min_dims=least, max_dims=most, min_side=0, max_side=longest))
    values = draw(hnp.arrays(np.float64 if np.dtype(dtype).kind in "fc" else dtype, shape, elements=numbers(dtype)))
    with np.errstate(all="ignore"):
        values = values.astype(dtype)
    form = draw(st.sampled_from(["plain", "fortran", "strided", "reversed", "list", "readonly"]))
    if form == "fortran":
        return np.asfortranarray(values)
    if form == "strided" and values.ndim:
        return np.repeat(values, 2, axis=0)[::2]
    if form == "reversed":
        return values[::-1] if values.ndim else values
    if form == "list":
        return values.tolist()
    if form == "readonly":
        values.flags.writeable = False
    return values


scalars = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-3, 200), st.none(), st.text(max_size=3))
metrics = st.one_of(st.sampled_from(["potts", "linear", "truncated:2", "tree:2x2:1,0.5", "tree:", "x"]), arrays(2, 2))


def attempt(call):
    try:
        return call()
    except EXPECTED as error:
        assert str(error)
        return None


def check(result, model):
    if result is None:
        return
    low, high = result.interval
    assert not low > high
    assert result.labels.shape == model.shape


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


pytestmark = pytest.mark.filterwarnings("ignore")


@SETTINGS
@given(arrays(), scalars, metrics, st.sampled_from([4, 8, 5]), st.sampled_from([-1, 0, 3]))
def test_grid(unary, weights, metric, connectivity, axis):
    model = attempt(lambda: sm.GridCrf(unary, weights, metric, connectivity=connectivity, label_axis=axis))
    if model is not None:
        check(attempt(lambda: sm.solve(model, iterations=20)), model)


@SETTINGS
@given(arrays(2, 2), arrays(1, 2), arrays(1, 1), metrics)
def test_graph(unary, edges, weights, metric):
    model = attempt(lambda: sm.GraphCrf(unary, edges, weights, metric))
    if model is not None:
        check(attempt(lambda: sm.solve(model, iterations=20)), model)


@SETTINGS
@given(arrays(2, 4), arrays(2, 4), scalars, scalars, metrics, st.booleans())
def test_dense(unary, image, sigma, weight, metric, normalised):
    model = attempt(
        lambda: sm.DenseCrf(
            unary, [sm.position(sigma, 1), sm.bilateral(2, sigma, weight, image, normalised=normalised)], metric
        )
    )
    if model is not None:
        check(attempt(lambda: sm.solve(model, iterations=10)), model)


@SETTINGS
@given(arrays(1, 3), arrays(1, 3), scalars)
def test_features(unary, values, sigma):
    model = attempt(lambda: sm.DenseCrf(unary, [sm.features(values, 1, sigma)]))
    if model is not None:
        check(attempt(lambda: sm.solve(model, iterations=10)), model)


@SETTINGS
@given(arrays(), arrays(), st.sampled_from([None, 0, -1, 7]))
def test_refine(softmax, image, axis):
    found = attempt(lambda: sm.refine(softmax, image, label_axis=axis, iterations=2))
    if found is not None:
        assert np.isfinite(found.probabilities).all()


@SETTINGS
@given(st.lists(st.integers(-1, 4), max_size=4), st.lists(st.tuples(st.lists(st.integers(-1, 4), max_size=3), arrays())))
def test_factor_graph(cardinality, factors):
    model = attempt(lambda: sm.FactorGraph(cardinality, factors))
    if model is not None:
        check(attempt(lambda: sm.solve(model)), model)


@SETTINGS
@given(
    st.one_of(st.sampled_from([m.name for m in sm.methods()]), st.text(max_size=4)),
    st.fixed_dictionaries(
        {},
        optional={
            "gap": scalars, "time_limit": st.one_of(st.floats(-1, 0.2), st.just(np.nan)), "temperature": scalars,
            "seed": scalars, "rho": scalars, "starts": st.integers(-2, 3), "forest": st.sampled_from(["best", "rows"]),
            "extension": st.sampled_from(["optimal", "alternate", ""]), "rounding_draws": st.integers(-2, 5),
            "deterministic": st.booleans(), "cutoff": scalars, "levels": st.integers(-2, 80),
            "pairs": st.sampled_from(["auto", "list", "lattice", "brute-force", "?"]),
            "certify": st.sampled_from(["auto", "exact", "operator", "none"]),
            "max_bytes": st.integers(-5, 10**12),
        },
    ),
    st.booleans(),
)
def test_options(method, options, dense):
    unary = np.random.default_rng(1).normal(size=(3, 4, 3))
    model = sm.DenseCrf(unary, [sm.position(2, 1)]) if dense else sm.GridCrf(unary)
    check(attempt(lambda: sm.solve(model, method, iterations=15, **options)), model)


@SETTINGS
@given(arrays(), arrays(), st.integers(-1, 9), st.sampled_from(["ad", "census", "bt", "sad:1", "", "sad:x"]), scalars)
def test_stereo(left, right, disparities, kind, truncate):
    costs = attempt(lambda: sm.stereo.matching_costs(left, right, disparities, kind, truncate=truncate))
    if costs is not None:
        assert np.isfinite(costs).all()
    attempt(lambda: sm.stereo.guess_disparities(left, right))
    attempt(lambda: sm.stereo.refined_disparities(left, right))
    attempt(lambda: sm.stereo.compare(left, right))


@SETTINGS
@given(
    st.integers(-1, 6), st.integers(-1, 6), st.integers(-1, 4), arrays(1, 3), arrays(2, 4),
    st.one_of(scalars, arrays(0, 3)), st.one_of(scalars, st.tuples(scalars, scalars)), st.integers(-1, 4),
)
def test_drop_in(width, height, labels, unary, image, compat, sigma, normalization):
    d = attempt(lambda: dcrf.DenseCRF2D(width, height, labels))
    if d is None:
        return
    attempt(lambda: d.setUnaryEnergy(unary))
    attempt(lambda: d.setUnaryEnergy(np.resize(np.asarray(unary, object), (labels, width * height)).astype(float)))
    attempt(lambda: d.addPairwiseGaussian(sigma, compat, normalization=normalization))
    attempt(lambda: d.addPairwiseBilateral(sigma, sigma, image, compat))
    attempt(lambda: d.addPairwiseEnergy(unary, compat))
    q = d.inference(2)
    assert q.shape == (labels, width * height)
    assert np.isfinite(d.klDivergence(q)) or not np.isfinite(q).all()
    attempt(lambda: d.stepInference(unary, None, None))
    attempt(lambda: d.energy(unary))


@SETTINGS
@given(arrays(0, 4), arrays(0, 4), scalars, st.integers(-1, 4))
def test_drop_in_utils(first, second, number, axis):
    attempt(lambda: eigen.matrixXf(first))
    attempt(lambda: eigen.vectorXf(first))
    attempt(lambda: utils.unary_from_labels(np.asarray(first), 3, number))
    attempt(lambda: utils.unary_from_softmax(np.asarray(first), number))
    attempt(lambda: utils.create_pairwise_gaussian(second, (3, 4)))
    attempt(lambda: utils.create_pairwise_bilateral((1, 2), number, np.asarray(first), chdim=axis))
