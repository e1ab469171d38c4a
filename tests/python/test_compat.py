"""The drop-in: semantics against plain numpy, errors where pydensecrf's own tests want them, leniency elsewhere."""

import itertools
import threading

import numpy as np
import pytest

import submarine as sm
import submarine.compat.install  # noqa: F401
import pydensecrf.densecrf as dcrf
import pydensecrf.eigen as eigen
from pydensecrf.utils import (
    compute_unary,
    create_pairwise_bilateral,
    create_pairwise_gaussian,
    softmax_to_unary,
    unary_from_labels,
    unary_from_softmax,
)

RNG = np.random.default_rng(2)


def crf(labels=3, width=8, height=6, **options):
    d = dcrf.DenseCRF2D(width, height, labels)
    unary = unary_from_softmax(np.moveaxis(RNG.dirichlet(np.ones(labels), (height, width)), -1, 0))
    d.setUnaryEnergy(unary)
    image = RNG.integers(0, 256, (height, width, 3)).astype(np.uint8)
    d.addPairwiseGaussian(sxy=(2, 3), compat=3, **options)
    d.addPairwiseBilateral(sxy=5, srgb=60, rgbim=image, compat=4, **options)
    return d, unary, image


def softmax(costs):
    e = np.exp(-(costs - costs.min(axis=0)))
    return e / e.sum(axis=0)


def test_shapes_and_steps():
    d, unary, _ = crf()
    q = d.inference(3)
    assert q.shape == (3, 48) and np.allclose(np.sum(q, axis=0), 1, atol=1e-5)
    assert np.asarray(q).flags.f_contiguous and np.asarray(q).dtype == np.float32
    step, tmp1, tmp2 = d.startInference()
    assert np.allclose(step, softmax(unary), atol=1e-6)
    for _ in range(3):
        d.stepInference(step, tmp1, tmp2)
    assert np.array_equal(step, q)
    assert np.argmax(q, axis=0).reshape(6, 8).shape == (6, 8)


def test_terms_that_the_first_inference_freed_come_back():
    d, _, image = crf()
    first = np.array(d.inference(3))
    divergence = d.klDivergence(first)
    assert d.klDivergence(first) == divergence
    assert np.array_equal(d.inference(3), first) and np.array_equal(d.inference(3), first)

    e, f = dcrf.DenseCRF2D(8, 6, 3), dcrf.DenseCRF2D(8, 6, 3)
    for later in (e, f):
        later.setUnaryEnergy(np.array(d._engine.unary.T))
        later.addPairwiseGaussian(sxy=2, compat=3)
        if later is e:
            e.inference(2)
        later.addPairwiseBilateral(sxy=5, srgb=60, rgbim=image, compat=4)
    assert np.array_equal(e.inference(2), f.inference(2))


def test_threads_may_share_an_object():
    results = []
    d, _, _ = crf(width=60, height=50)
    calls = [lambda: results.append(np.array(d.inference(4))) for _ in range(6)]
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6 and all(np.array_equal(q, results[0]) for q in results)


def kernel_matrix(features, normalization):
    """K of the engine, column by column: a reward of 1 for label 0 where variable b has it."""
    n = features.shape[1]
    matrix = np.zeros((n, n))
    for b in range(n):
        d = dcrf.DenseCRF(n, 2)
        d.setUnaryEnergy(np.zeros((2, n), np.float32))
        d.addPairwiseEnergy(features, 1, normalization=normalization)
        q = eigen.matrixXf(np.zeros((2, n), np.float32))
        q[0, b] = 1
        d.stepInference(q)
        matrix[:, b] = np.log(q[0] / q[1])
    return matrix


def test_normalisations_are_those_of_one_kernel():
    features = (RNG.random((2, 9)) * 3).astype(np.float32)
    plain, before, after, both = (kernel_matrix(features, k) for k in range(4))
    rows = plain.sum(axis=1)
    assert plain.min() > -1e-6 and np.diag(plain).min() > 0.2  # self terms are in it
    assert np.allclose(before, plain / rows[None, :], atol=1e-5)
    assert np.allclose(after, plain / rows[:, None], atol=1e-5)
    assert np.allclose(both, plain / np.sqrt(rows[:, None] * rows[None, :]), atol=1e-5)


def test_compatibilities():
    features = create_pairwise_gaussian((2, 2), (5, 6))
    unary = RNG.random((3, 30)).astype(np.float32)

    def q_of(compat):
        d = dcrf.DenseCRF(30, 3)
        d.setUnaryEnergy(unary)
        d.addPairwiseEnergy(features, compat=compat)
        return np.array(d.inference(4))

    number = q_of(2.5)
    assert np.allclose(number, q_of(np.full(3, -2.5, np.float32)), atol=1e-5)
    assert np.allclose(number, q_of(-2.5 * np.eye(3, dtype=np.float32)), atol=1e-5)
    asymmetric = np.array([[0, 4, 1], [0, 0, 2], [3, 0, 0]], np.float32)
    assert np.array_equal(q_of(asymmetric), q_of(0.5 * (asymmetric + asymmetric.T)))
    assert not np.allclose(number, q_of(-2.5))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda d: d.addPairwiseGaussian(3, np.array([1.0, 2.0, 3.0])), ValueError),
        (lambda d: d.addPairwiseGaussian(3, np.zeros((3, 3, 3), np.float32)), ValueError),
        (lambda d: d.addPairwiseGaussian(3, np.array(1.0, np.float32)), ValueError),
        (lambda d: d.addPairwiseGaussian(3, np.zeros(2, np.float32)), ValueError),
        (lambda d: d.addPairwiseGaussian(3, None), TypeError),
        (lambda d: d.addPairwiseGaussian(3, [1.0, 2.0, 3.0]), TypeError),
        (lambda d: d.setUnaryEnergy(None), TypeError),
        (lambda d: d.setUnaryEnergy([[1.0]]), TypeError),
        (lambda d: d.setUnaryEnergy(np.zeros((3, 7), np.float32)), ValueError),
        (lambda d: d.setUnaryEnergy(np.full((3, 48), np.nan, np.float32)), ValueError),
        (lambda d: d.setUnaryEnergy(np.full((3, 48), np.inf)), ValueError),
        (lambda d: d.setUnary(np.zeros((3, 48))), TypeError),
        (lambda d: d.addPairwiseBilateral(3, 3, np.zeros((8, 6, 3), np.uint8), 1), ValueError),
        (lambda d: d.addPairwiseBilateral(3, 3, np.zeros((6, 8, 4), np.uint8), 1), ValueError),
        (lambda d: d.addPairwiseEnergy(np.zeros((2, 5), np.float32), 1), ValueError),
        (lambda d: d.addPairwiseGaussian(0, 1), ValueError),
        (lambda d: d.addPairwiseGaussian(3, 1, normalization=9), ValueError),
        (lambda d: d.inference(2.5), TypeError),
        (lambda d: d.klDivergence(np.zeros((2, 48))), ValueError),
        (lambda d: eigen.matrixXf(np.zeros((2, 2))), ValueError),
        (lambda d: eigen.matrixXf(np.zeros((2, 4), np.float32)[:, ::2]), ValueError),
        (lambda d: eigen.vectorXf(None), TypeError),
    ],
)
def test_errors(call, error):
    d, _, _ = crf()
    with pytest.raises(error):
        call(d)


def test_lenient_where_harmless():
    d, unary, image = crf()
    expected = np.array(d.inference(5))
    e = dcrf.DenseCRF2D(w=8, h=6, nlabels=3)
    e.setUnaryEnergy(u=np.asfortranarray(unary.astype(np.float64)))
    e.addPairwiseGaussian((2, 3), 3)
    e.addPairwiseBilateral(5, 60, np.repeat(image, 2, axis=1)[:, ::2].astype(float), 4)
    assert np.allclose(e.inference(niter=5), expected, atol=1e-5)


def test_keywords_everywhere():
    _, unary, image = crf()
    e = dcrf.DenseCRF2D(w=8, h=6, nlabels=3)
    e.setUnaryEnergy(u=unary)
    e.addPairwiseGaussian(sxy=2, compat=3, kernel=dcrf.FULL_KERNEL, normalization=dcrf.NORMALIZE_SYMMETRIC)
    e.addPairwiseBilateral(sxy=5, srgb=60, rgbim=image, compat=4, kernel=dcrf.CONST_KERNEL,
                           normalization=dcrf.NO_NORMALIZATION)
    e.addPairwiseEnergy(features=create_pairwise_gaussian(sdims=(2, 2), shape=(6, 8)), compat=1)
    e.addPairwiseEnergy(features=create_pairwise_bilateral(sdims=(5, 5), schan=(60,), img=image, chdim=2), compat=1)
    q, tmp1, tmp2 = e.startInference()
    for _ in range(3):
        e.stepInference(Q=q, tmp1=tmp1, tmp2=tmp2)
    assert np.allclose(q, e.inference(niter=3), atol=1e-6)
    assert np.isfinite(e.klDivergence(Q=q))
    labels = unary_from_labels(labels=np.zeros((6, 8), np.int32), n_labels=3, gt_prob=0.7, zero_unsure=False)
    soft = unary_from_softmax(sm=np.full((3, 6, 8), 1 / 3), scale=None, clip=1e-5)
    assert labels.shape == soft.shape == unary.shape


def test_subclasses():
    class Mine(dcrf.DenseCRF2D):
        def __init__(self, image, labels):
            super().__init__(image.shape[1], image.shape[0], labels)
            self.image = image

    class Plain(dcrf.DenseCRF):
        pass

    mine = Mine(np.zeros((4, 5, 3), np.uint8), 2)
    mine.addPairwiseBilateral(3, 3, mine.image, 1)
    assert mine.inference(2).shape == (2, 20)
    assert Plain(7, 2).inference(1).shape == (2, 7)


def test_too_large_is_refused_with_the_number():
    with pytest.raises(MemoryError, match="900000000 variables.*GB"):
        dcrf.DenseCRF2D(30000, 30000, 21)


def test_small_sigmas_and_extreme_probabilities():
    d, unary, image = crf()
    d.addPairwiseBilateral(0.01, 0.01, image, 10)
    d.setUnaryEnergy(unary_from_softmax(np.moveaxis(np.full((6, 8, 3), [1e-10, 0.0, 1.0]), -1, 0), clip=1e-30))
    assert np.isfinite(d.inference(5)).all()


def test_more_than_six_features():
    features = RNG.random((9, 20)).astype(np.float32)
    d = dcrf.DenseCRF(20, 2)
    d.setUnaryEnergy(RNG.random((2, 20)).astype(np.float32))
    d.addPairwiseEnergy(features, 2)
    assert np.allclose(np.sum(d.inference(3), axis=0), 1, atol=1e-5)


def test_utils():
    labels = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    unary = unary_from_labels(labels, 3, 0.8)
    p = np.exp(-unary).T
    assert np.allclose(p[0], 1 / 3) and np.allclose(p[1], [0.8, 0.1, 0.1]) and np.allclose(p[3], [0.1, 0.1, 0.8])
    zero = np.exp(-unary_from_labels(labels, 4, 0.7, zero_unsure=False)).T
    assert np.allclose(zero[0], [0.7, 0.1, 0.1, 0.1])
    assert np.array_equal(compute_unary(labels, 3, GT_PROB=0.8), unary)
    sm_values = np.array([[0.2, 0.0], [0.8, 1.0]])
    assert np.allclose(unary_from_softmax(sm_values), -np.log([[0.2, 1e-5], [0.8, 1.0]]))
    assert np.allclose(np.exp(-unary_from_softmax(sm_values, scale=0.5)), 0.5 * sm_values + 0.25)
    assert np.isinf(softmax_to_unary(sm_values)[0, 1])
    features = create_pairwise_bilateral((2, 4), (1, 2, 4), np.ones((2, 3, 3)), chdim=2)
    assert features[:, 5].tolist() == [0.5, 0.5, 1.0, 0.5, 0.25]
    assert create_pairwise_bilateral((2, 4), 2, np.ones((2, 3))).shape == (3, 6)
    assert create_pairwise_gaussian((1, 2, 3), (2, 3, 4)).shape == (3, 24)


def test_logistic_unary():
    d = dcrf.DenseCRF(4, 2)
    weights, values = RNG.random((2, 3)).astype(np.float32), RNG.random((3, 4)).astype(np.float32)
    d.setUnaryEnergy(weights, values)
    assert np.allclose(d.inference(0), softmax(weights @ values), atol=1e-6)
    d.setUnary(dcrf.LogisticUnary(weights, values))
    assert np.allclose(d.inference(0), softmax(weights @ values), atol=1e-6)


def test_what_pydensecrf_cannot_give():
    d = dcrf.DenseCRF2D(3, 3, 2)
    d.setUnaryEnergy(RNG.random((2, 9)).astype(np.float32) * 2)
    d.addPairwiseGaussian(1.5, 0.8)
    d.addPairwiseBilateral(3, 80, RNG.integers(0, 256, (3, 3, 3)), 0.5)
    states = np.array(list(itertools.product(range(2), repeat=9)))
    energies = np.array([d.energy(x) for x in states])
    log_z = np.log(np.exp(-energies).sum())
    low, high = d.bounds()
    assert low <= log_z + 1e-5 and log_z <= high + 1e-5
    low, high = d.bounds("exact")
    assert low <= log_z + 1e-5 and log_z <= high + 1e-5 and high - low < 1e-5
    q = d.inference(10)
    y = np.asarray(q, float).T
    p_of_state = np.prod(y[np.arange(9), states], axis=1)
    free = (p_of_state * (energies + np.log(p_of_state))).sum()
    assert d.freeEnergy(q) == pytest.approx(free, abs=1e-4)
    kl = free + log_z
    for method, width in (("auto", 3.0), ("exact", 1e-3)):
        low, high = d.kl_bounds(q, method)
        assert 0 <= low <= kl + 1e-4 and kl <= high + 1e-4 and high - low < width
    marginals = d.upper_inference()
    assert marginals.shape == (2, 9) and np.allclose(np.sum(marginals, axis=0), 1, atol=1e-5)


def test_what_has_no_certificate_says_so():
    for options in ({"normalization": dcrf.NORMALIZE_BEFORE}, {}):
        d, _, _ = crf(**options)
        if not options:
            d.addPairwiseGaussian(3, -1)
        with pytest.raises(sm.NotExpressible):
            d.bounds()
