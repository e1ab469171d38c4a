"""Pictures with a known truth: whether smoothing helps, and fits."""

import numpy as np
import pytest

import submarine as sm


def halves(seed, wrong=0.2, shape=(24, 32)):
    """Left and right halves of two colours, and labels that are wrong here and there."""
    truth = np.zeros(shape, int)
    truth[:, shape[1] // 2:] = 1
    errors = np.random.default_rng(seed).random(shape) < wrong
    return 60 + 120 * truth, np.where(errors, 1 - truth, truth), truth


def softmax_of(labels):
    return 0.2 + 0.6 * np.eye(2)[labels]


def test_scores_are_of_all_pictures_together():
    truths = [np.array([[0, 0, 0, 1]] * 4), np.array([[1, 1, 1, 255]] * 4)]
    before = [np.array([[0, 0, 1, 1]] * 4), np.array([[0, 1, 1, 0]] * 4)]
    after = [truths[0], np.array([[1, 1, 1, 0]] * 4)]
    found = sm.compare_labels(truths, before, after, names=["sky", "cow"])
    assert (found.pictures, found.better, found.worse) == (2, 2, 0)
    assert found.accuracy.before == pytest.approx(20 / 28)
    assert found.accuracy.after == 1
    assert found.iou["sky"].before == pytest.approx(8 / 16)  # 12 have it, 12 were given it, 8 both
    assert found.iou["cow"].before == pytest.approx(12 / 20)
    assert found.mean_iou.before == pytest.approx((8 / 16 + 12 / 20) / 2)
    assert found.mean_iou.by == pytest.approx(1 - found.mean_iou.before)
    low, high = found.mean_iou.interval
    assert low < found.mean_iou.by <= high
    assert str(found).startswith("Helps on 2 of 2 pictures")


def test_a_class_that_is_nowhere_in_the_truth_has_no_score():
    truth = np.zeros((10, 10), int)
    stray = truth.copy()
    stray[0, :2] = 5
    found = sm.compare_labels([truth], [truth], [stray])
    assert list(found.iou) == ["label 0"]
    assert found.mean_iou.after == pytest.approx(0.98)
    assert found.mean_iou.interval is None
    assert str(found).startswith("Hurts: mean IoU 100.0% before, 98.0% after, -2.0 points.")


def test_a_fit_says_whether_smoothing_helps():
    pictures, labels, truths = zip(*[halves(seed) for seed in range(3)])
    found = sm.fit(pictures, [softmax_of(one) for one in labels], truths, evaluations=4)
    assert found.advice in ("fitted", "defaults")
    assert found.defaults.better == 3
    refined = sm.refine(softmax_of(labels[0]), np.stack([pictures[0]] * 3, axis=2), parameters=found.parameters).labels
    assert (refined == truths[0]).mean() > (labels[0] == truths[0]).mean()
    assert found == sm.fit(pictures, [softmax_of(one) for one in labels], truths, evaluations=4)


def test_a_fit_learns_superpixels():
    pictures, labels, truths = zip(*[halves(seed) for seed in range(3)])
    softmaxes = [softmax_of(one) for one in labels]
    found = sm.fit(pictures, softmaxes, truths, evaluations=12, superpixels=[8, 16], score="nll").parameters
    assert found.superpixel_sizes == (8.0, 16.0)
    default = sm.SegmentationParameters()
    assert (found.superpixel_gamma, found.superpixel_share) != (default.superpixel_gamma, default.superpixel_share)
    result = sm.refine(softmaxes[0], pictures[0], parameters=found).result
    assert "cliques" in result.model


def test_a_fit_may_leave_the_classifier_alone():
    pictures, labels, _ = zip(*[halves(seed, wrong=0.4) for seed in range(3)])
    found = sm.fit(pictures, [softmax_of(one) for one in labels], labels, evaluations=3)
    assert found.advice == "leave alone"
    assert (found.parameters.position_weight, found.parameters.bilateral_weight) == (0, 0)
    refined = sm.refine(softmax_of(labels[0]), pictures[0], parameters=found.parameters).labels
    assert (refined == labels[0]).all()


def test_what_does_not_fit_is_refused():
    picture, labels, truth = halves(1)
    for call, words in (
        (lambda: sm.compare_labels([truth], [labels], [labels[:5]]), ["picture 0", "32 x 5", "32 x 24"]),
        (lambda: sm.compare_labels([truth], [labels], []), ["after", "0 entries", "1 pictures"]),
        (lambda: sm.compare_labels([truth], [labels], [labels + 7], names=["a", "b"]), ["label", "expected 0 to 1"]),
        (lambda: sm.compare_labels([truth * 0 + 255], [labels], [labels]), ["known true label"]),
        (lambda: sm.compare_labels(truth, labels, labels), ["list"]),
        (lambda: sm.compare_labels([], [], []), ["arrays"]),
        (lambda: sm.fit([picture], [softmax_of(labels)], [truth]), ["at least 2"]),
        (lambda: sm.fit([picture] * 2, [softmax_of(labels)] * 2, [truth] * 2), ["folds is 3, expected 2 to 2"]),
        (lambda: sm.fit([picture] * 3, [softmax_of(labels) * 2] * 3, [truth] * 3), ["softmax of picture 0"]),
        (lambda: sm.fit([picture] * 3, [softmax_of(labels)] * 3, [truth * 7] * 3), ["label 7"]),
        (lambda: sm.fit([picture] * 3, [softmax_of(labels)] * 3, [truth] * 3, score="beauty"), ["score", "iou"]),
        (lambda: sm.fit([picture] * 3, [softmax_of(labels)] * 3, [truth] * 3, superpixels=[1.5]), ["superpixels", "1.5", "2"]),
        (lambda: sm.fit([picture] * 3, [softmax_of(labels)] * 3, [truth] * 3, superpixels=[float("nan")]), ["superpixels", "nan"]),
    ):
        with pytest.raises(sm.InvalidInput) as error:
            call()
        for word in words:
            assert word in str(error.value), error.value
