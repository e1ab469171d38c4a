"""Batches of logits as torchvision, mmsegmentation and MONAI have them, the estimator in scikit-learn, and sm.stereo."""

import numpy as np
import pytest

import submarine as sm

RNG = np.random.default_rng(8)


def logits_and_pictures(shape=(2, 3, 9, 11), channels=3):
    logits = RNG.normal(size=shape).astype(np.float32)
    pictures = RNG.integers(0, 256, (shape[0], channels, *shape[2:])).astype(np.uint8)
    return logits, pictures


def one_by_one(logits, pictures, **options):
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return [sm.refine(s, p, label_axis=0, channel_axis=0, **options) for s, p in zip(softmax, pictures)]


def test_a_batch_is_its_pictures():
    logits, pictures = logits_and_pictures()
    labels, probabilities = sm.refine_logits(logits, pictures)
    expected = one_by_one(logits, pictures)
    assert labels.dtype == np.int64
    np.testing.assert_allclose(probabilities, [one.probabilities for one in expected], atol=1e-5)
    np.testing.assert_array_equal(labels, [one.labels for one in expected])


def test_normalised_pictures_are_restored():
    logits, pictures = logits_and_pictures()
    mean, std = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    normalised = (pictures - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    found = sm.refine_logits(logits, normalised, mean=mean, std=std)
    np.testing.assert_allclose(found.probabilities, sm.refine_logits(logits, pictures).probabilities, atol=1e-4)
    with pytest.raises(sm.InvalidInput, match="normalised"):
        sm.refine_logits(logits, normalised)


def test_volumes_with_spacing():
    logits, volumes = logits_and_pictures((2, 2, 4, 5, 6), 1)
    found = sm.refine_volumes(logits, volumes, spacing=(1, 1, 2))
    expected = one_by_one(logits, volumes, spacing=(1, 1, 2))
    np.testing.assert_allclose(found.probabilities, [one.probabilities for one in expected], atol=1e-5)
    assert found.labels.shape == (2, 4, 5, 6)


@pytest.mark.parametrize("call, words", [
    (lambda l, p: sm.refine_logits(l[0], p), "expected (batch, classes, height, width)"),
    (lambda l, p: sm.refine_volumes(l, p), "expected (batch, classes, x, y, z)"),
    (lambda l, p: sm.refine_logits(l, p[:1]), "the images have shape (1, 3, 9, 11), expected (2, 'channels', 9, 11)"),
    (lambda l, p: sm.refine_logits(l * np.nan, p), "not all finite"),
    (lambda l, p: sm.refine_logits(l, p, mean=[1, 2]), "mean has 2 numbers, expected 1 or 3"),
])
def test_wrong_batches(call, words):
    with pytest.raises(sm.InvalidInput) as caught:
        call(*logits_and_pictures())
    assert words in str(caught.value)


def test_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, and tensors are not tested")
    for function, shape, channels in ((sm.refine_logits, (2, 3, 9, 11), 3), (sm.refine_volumes, (1, 2, 4, 5, 6), 1)):
        logits, pictures = logits_and_pictures(shape, channels)
        tensor = torch.from_numpy(logits).requires_grad_()
        labels, probabilities = function(tensor, torch.from_numpy(pictures))
        assert isinstance(labels, torch.Tensor) and labels.dtype == torch.int64 and probabilities.shape == tensor.shape
        expected = function(logits, pictures)
        np.testing.assert_array_equal(labels.numpy(), expected.labels)
        np.testing.assert_array_equal(probabilities.numpy(), expected.probabilities)
        half = function(tensor.to(torch.bfloat16), torch.from_numpy(pictures))
        assert half.labels.shape == labels.shape


def samples(count=6):
    pairs, targets = [], []
    for _ in range(count):
        truth = np.add.outer(np.arange(10), np.arange(12)) // 8 % 2
        image = (120 * truth[..., None] + RNG.integers(0, 30, (10, 12, 3))).astype(np.uint8)
        noise = RNG.random(truth.shape) < 0.2
        pairs.append((np.where(np.arange(2) == (truth ^ noise)[..., None], 0.7, 0.3), image))
        targets.append(truth)
    return pairs, targets


def test_the_estimator():
    pairs, targets = samples()
    segmenter = sm.Segmenter(updates=3).fit(pairs, targets)
    np.testing.assert_array_equal(segmenter.predict(pairs)[1], sm.refine(*pairs[1], updates=3).labels)
    np.testing.assert_array_equal(segmenter.predict_proba(pairs)[1], sm.refine(*pairs[1], updates=3).probabilities)
    labels, truth = np.stack(segmenter.predict(pairs)), np.stack(targets)
    ious = [((labels == c) & (truth == c)).sum() / ((labels == c) | (truth == c)).sum() for c in (0, 1)]
    assert segmenter.score(pairs, targets) == pytest.approx(np.mean(ious))
    hidden = [target.copy() for target in targets]
    hidden[0][:] = 255
    assert segmenter.score(pairs, hidden) == pytest.approx(segmenter.score(pairs[1:], targets[1:]))
    for wrong in (lambda: segmenter.fit([1]), lambda: segmenter.fit(pairs, targets[1:]),
                  lambda: segmenter.score(pairs, [t[1:] for t in targets]),
                  lambda: segmenter.score(pairs, [np.full((10, 12), 255)] * 6)):
        with pytest.raises(sm.InvalidInput):
            wrong()
    with pytest.raises(TypeError, match="did you mean updates?"):
        segmenter.set_params(update=2)


def test_the_estimator_learns():
    pairs, targets = samples(3)
    learner = sm.Segmenter(learn=True, evaluations=3).fit(pairs, targets)
    expected = sm.fit([i for _, i in pairs], [p for p, _ in pairs], targets, evaluations=3, folds=3).parameters
    assert learner.parameters_ == expected
    np.testing.assert_array_equal(learner.predict(pairs)[0], sm.refine(*pairs[0], parameters=expected).labels)
    with pytest.raises(sm.InvalidInput, match="learn needs targets"):
        learner.fit(pairs)
    assert repr(sm.Segmenter(updates=2)) == "Segmenter(updates=2)"


def test_the_estimator_takes_a_metric():
    pairs, targets = samples(3)
    pairs = [(np.concatenate([p / 2, p[..., :1] / 2, p[..., 1:] / 2], -1), image) for p, image in pairs]
    metric = np.array([[0, 1, 0.2, 1], [1, 0, 1, 0.2], [0.2, 1, 0, 1], [1, 0.2, 1, 0]])
    kernel = dict(position_sigma=2, position_weight=3)
    expected = sm.refine(*pairs[0], metric=metric, **kernel).probabilities
    assert (expected != sm.refine(*pairs[0], **kernel).probabilities).any()
    np.testing.assert_array_equal(sm.Segmenter(metric=metric, **kernel).predict_proba(pairs)[0], expected)
    learner = sm.Segmenter(metric=metric, learn=True, evaluations=2).fit(pairs, targets)
    given = [i for _, i in pairs], [p for p, _ in pairs], targets
    assert learner.parameters_ == sm.fit(*given, evaluations=2, folds=3, metric=metric).parameters
    with pytest.raises(sm.InvalidInput, match="the metric has shape"):
        sm.Segmenter(metric=metric[:3]).predict(pairs)


def test_scikit_learn_takes_the_estimator():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed, and the estimator is not tried in it")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score

    pairs, targets = samples()
    segmenter = sm.Segmenter(updates=2)
    copy = clone(segmenter)
    assert copy is not segmenter and copy.get_params() == segmenter.get_params()
    scores = cross_val_score(segmenter, pairs, targets, cv=3)
    assert scores.shape == (3,)
    assert scores[0] == pytest.approx(segmenter.score(pairs[:2], targets[:2]))
    search = GridSearchCV(segmenter, {"bilateral_weight": [0.0, 5.0], "position_weight": [0.0]}, cv=2).fit(pairs, targets)
    assert search.best_params_["bilateral_weight"] == 5.0


def pair():
    right = RNG.integers(0, 256, (40, 60)).astype(np.uint8)
    left = np.roll(right, 3, axis=1)
    left[15:30, 20:45] = np.roll(right, 8, axis=1)[15:30, 20:45]
    return left, right


def test_stereo():
    left, right = pair()
    found = sm.stereo(left, right, disparities=16)
    assert found.disparities.shape == (40, 60) and found.marginals.shape == (40, 60, 16)
    inner = np.s_[18:27, 25:40]
    assert np.abs(found.disparities[inner] - 8).max() < 0.6 and abs(np.median(found.disparities[:, 12:18]) - 3) < 0.6
    assert (found.low <= found.disparities + 1e-4).all() and (found.disparities <= found.high + 1e-4).all()
    assert found.uncertainty.min() >= 0 and found.uncertainty.max() <= 1
    np.testing.assert_allclose(found.marginals.sum(-1), 1, atol=1e-4)
    assert found.occluded.dtype == bool and 0 < found.occluded.mean() < 0.5
    wider = sm.stereo(left, right, disparities=16, share=0.99)
    assert (wider.high - wider.low >= found.high - found.low - 1e-5).all()
    fast = sm.stereo(left, right, disparities=16, fast=True)
    assert fast.marginals is None and np.abs(fast.disparities[inner] - 8).max() < 0.6
    assert "disparities of shape (40, 60) from " in repr(found) and len(repr(found)) < 120
    with pytest.warns(UserWarning, match="times 255"):
        scaled = sm.stereo(left / 255, right / 255, disparities=16)
    np.testing.assert_allclose(scaled.disparities, found.disparities, atol=1e-2)


def test_stereo_from_costs_and_ranges():
    left, right = pair()
    costs = np.abs(np.arange(12) - 6.0) * np.ones((40, 60, 1))
    costs[::3, ::2] = np.nan
    found = sm.stereo(left, right, costs=costs)
    assert found.marginals.shape == (40, 60, 12) and np.abs(found.disparities - 6).max() < 0.6
    low = np.where(RNG.random((40, 60)) < 0.5, 4.0, np.nan)
    found = sm.stereo(left, right, low=low, high=np.full((40, 60), 9.0))
    assert found.marginals.shape == (40, 60, 10) and not (found.disparities < low).any()
    assert (np.isnan(found.raw) == found.occluded).all()


@pytest.mark.parametrize("options, words", [
    (dict(costs=np.zeros((3, 4, 5))), "costs has shape (3, 4, 5)"), (dict(low=np.zeros((40, 60))), "low and 0 high"),
    (dict(low=np.zeros(7), high=np.zeros(7)), "low has shape (7,)"),
    (dict(low=np.full((40, 60), 5), high=np.full((40, 60), 4)), "5 to 4"),
    (dict(disparities=1), "disparities is 1"), (dict(share=1.0), "share is 1"), (dict(disparity=3), "did you mean disparities?"),
])
def test_stereo_that_cannot_be(options, words):
    with pytest.raises((sm.InvalidInput, TypeError)) as caught:
        sm.stereo(*pair(), **options)
    assert words in str(caught.value)
