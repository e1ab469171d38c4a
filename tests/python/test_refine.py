"""refine, refine_many and stereo."""

import json
import pickle

import numpy as np
import pytest

import submarine as sm
from conftest import run_command
from submarine._html import png
from submarine._refine import costs_for, model_of

RNG = np.random.default_rng(11)


def noisy_halves(height=24, width=30, labels=2):
    """A picture of two halves and a softmax that is right on most pixels."""
    truth = np.zeros((height, width), int)
    truth[:, width // 2:] = 1
    image = np.where(truth[..., None] == 1, 200, 40) + RNG.integers(-5, 6, (height, width, 3))
    guess = np.where(RNG.random((height, width)) < 0.15, 1 - truth, truth)
    softmax = np.full((height, width, labels), 0.3 / (labels - 1))
    np.put_along_axis(softmax, guess[..., None], 0.7, axis=-1)
    return truth, softmax, image.astype(np.uint8)


def test_refine_follows_the_picture():
    truth, softmax, image = noisy_halves()
    assert (softmax.argmax(-1) != truth).mean() > 0.05
    labels, probabilities = sm.refine(softmax, image)
    assert (labels != truth).mean() < 0.01
    assert probabilities.shape == softmax.shape and np.allclose(probabilities.sum(-1), 1, atol=1e-5)


def test_defaults_are_five_updates():
    _, softmax, image = noisy_halves(labels=3)
    costs = costs_for(softmax, image, 1.0, None, 1e-5)
    model = model_of(costs, costs.adapted())

    def updated(updates):
        return costs.calibrated(sm.solve(model, "mf", certify="none", pairs="lattice", updates=updates)).marginals

    five = updated(5)
    np.testing.assert_array_equal(sm.refine(softmax, image).probabilities, five)
    (many,) = sm.refine_many([(softmax, image)])
    np.testing.assert_array_equal(many.probabilities, five)
    two = sm.refine(softmax, image, updates=2)
    np.testing.assert_array_equal(two.probabilities, updated(2))
    assert two.result.records[-1].k == 2 and not np.array_equal(two.probabilities, five)
    converged = sm.refine(softmax, image, updates=0)
    np.testing.assert_array_equal(converged.probabilities, updated(0))
    assert converged.result.termination == "converged" and not np.array_equal(converged.probabilities, five)
    no_number = costs.adapted()._replace(updates=0)  # as submarine fit says it
    np.testing.assert_array_equal(sm.refine(softmax, image, parameters=no_number).labels, converged.labels)


def test_kernels_fit_the_picture_and_the_classifier():
    truth, softmax, image = noisy_halves(375, 500)
    costs = costs_for(softmax, image, 1.0, None, 1e-5)
    adapted = costs.adapted()
    sure = np.log(0.7 / 0.3)
    # 15% of the pixels are wrong, so that 2 x 0.15 x 0.85 of pairs differ at any distance.
    assert adapted.position_weight == pytest.approx(8 * 0.255 * sure, rel=0.05)
    assert adapted.bilateral_weight == pytest.approx((0.5 + 2 * 0.255) * sure, rel=0.05)
    assert adapted.bilateral_sigma == pytest.approx(67, rel=1e-5)
    clean = costs_for(np.where(np.arange(2) == truth[..., None], 0.7, 0.3), image, 1.0, None, 1e-5).adapted()
    assert clean.position_weight == 0 and clean.bilateral_weight == pytest.approx(0.5 * sure, rel=0.01)
    doubled = costs_for(softmax, image, 0.5, None, 1e-5).adapted()  # trusts the classifier twice as much
    assert doubled.bilateral_weight == pytest.approx(2 * adapted.bilateral_weight, rel=1e-5)
    first = costs_for(np.moveaxis(softmax, -1, 0), image, 1.0, None, 1e-5).adapted()
    assert first == pytest.approx(adapted)
    half = costs_for(softmax[:187, :250], image[:187, :250], 1.0, None, 1e-5).adapted()
    assert half.bilateral_sigma == pytest.approx(33.5, rel=0.01)
    volume = costs_for(np.full((4, 5, 6, 2), 0.5), np.zeros((4, 5, 6)), 1.0, None, 1e-5).adapted()
    assert (volume.bilateral_sigma, volume.bilateral_weight) == (3, 0)
    readme = dict(position_sigma=3, position_weight=3, bilateral_sigma=80, colour_sigma=13, bilateral_weight=10)
    np.testing.assert_array_equal(
        sm.refine(softmax, image, preset="pydensecrf").labels, sm.refine(softmax, image, **readme).labels)
    few = np.full_like(softmax, 0.5)
    few[5:9, 5:9] = softmax[5:9, 5:9]
    assert costs_for(few, image, 1.0, None, 1e-5).adapted()[:5] == tuple(readme.values())  # scribbles


def calibration_error(probabilities, truth):
    sure, right = probabilities.max(-1).ravel(), (probabilities.argmax(-1) == truth).ravel()
    bins = np.minimum((15 * sure).astype(int), 14)
    return np.abs(np.bincount(bins, sure, 15) - np.bincount(bins, right, 15)).sum() / sure.size


def test_probabilities_are_less_sure_than_mean_fields():
    """A classifier that is right as often as it says, about bands of one colour each, and a strong kernel."""
    rng = np.random.default_rng(3)
    share = np.repeat(np.repeat(rng.uniform(0.05, 0.95, (12, 16)), 8, 0), 8, 1)  # of label 1, in blocks
    truth = (rng.random(share.shape) < share).astype(int)
    softmax = np.stack([1 - share, share], -1)
    image = np.repeat((255 * rng.random(share.shape[:1] + (1, 3))).astype(np.uint8), share.shape[1], 1)
    labels, probabilities = sm.refine(softmax, image, bilateral_weight=3.0)
    adapted = costs_for(softmax, image, 1.0, None, 1e-5).adapted()
    raw = sm.refine(softmax, image, parameters=adapted._replace(bilateral_weight=3.0))
    np.testing.assert_array_equal(labels, raw.labels)
    np.testing.assert_array_equal(labels, probabilities.argmax(-1))
    np.testing.assert_allclose(probabilities.sum(-1), 1, atol=1e-5)
    assert calibration_error(probabilities, truth) < 0.8 * calibration_error(raw.probabilities, truth)
    first = sm.refine(np.moveaxis(softmax, -1, 0), image, bilateral_weight=3.0).probabilities
    np.testing.assert_allclose(np.moveaxis(first, 0, -1), probabilities, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (30, 1), (2, 3), (16, 20), (4, 5, 6)])
@pytest.mark.parametrize("kind", ["ties", "certain", "random"])
@pytest.mark.parametrize("labels", [2, 21])
def test_odd_pictures_and_classifiers(shape, kind, labels):
    rng = np.random.default_rng(1)
    softmax = rng.dirichlet(np.ones(labels), shape) if kind == "random" else np.full(shape + (labels,), 1 / labels)
    if kind == "certain":
        softmax = np.eye(labels)[rng.integers(0, labels, shape)]
    refined = sm.refine(softmax, np.full(shape, 77, np.uint8), label_axis=-1)
    assert np.isfinite(refined.probabilities).all() and refined.labels.shape == shape
    np.testing.assert_allclose(refined.probabilities.sum(-1), 1, atol=1e-5)
    if kind == "ties":
        np.testing.assert_allclose(refined.probabilities, softmax, atol=1e-6)


def test_the_interval_is_there_when_asked_for():
    _, softmax, image = noisy_halves(10, 12)
    labels, probabilities = plain = sm.refine(softmax, image)
    assert plain.result.interval == (-np.inf, np.inf) and plain.result.labels is labels
    lower = sm.refine(softmax, image, certify="lower")
    assert lower.result.lower is not None and lower.result.upper is None
    np.testing.assert_array_equal(lower.probabilities, probabilities)
    proven = sm.refine(np.moveaxis(softmax, -1, 0), image, certify=True)
    assert proven.result.lower < proven.result.upper and proven.probabilities.shape == (2, 10, 12)
    assert proven.result.lower_provenance == proven.result.upper_provenance == "verified"
    again = pickle.loads(pickle.dumps(proven))
    assert again.result.interval == proven.result.interval and np.array_equal(again.labels, proven.labels)
    for wrong in (dict(updates="quick"), dict(updates=-1), dict(certify="yes"), dict(least_energy=True, updates=3),
                  dict(preset="pydensecrf", parameters=sm.SegmentationParameters())):
        with pytest.raises(sm.InvalidInput):
            sm.refine(softmax, image, **wrong)


@pytest.mark.parametrize("certify", [True, "exact", "operator"])
def test_a_proof_leaves_the_labels_as_they_are(certify):
    """The model is such that the least energy has other labels."""
    rng = np.random.default_rng(8)
    softmax = rng.dirichlet(np.ones(3), (20, 24))
    image = rng.integers(0, 40, (20, 24, 3)).astype(np.uint8)
    kernels = dict(bilateral_weight=2.0, position_weight=0.5)
    plain = sm.refine(softmax, image, **kernels)
    proven = sm.refine(softmax, image, certify=certify, time_limit=5, **kernels)
    least = sm.refine(softmax, image, least_energy=True, time_limit=5, **kernels)
    np.testing.assert_array_equal(proven.labels, plain.labels)
    np.testing.assert_array_equal(proven.probabilities, plain.probabilities)
    assert (least.labels != plain.labels).any()
    # What is said is about these labels: their energy is above that of the others, and above the bound.
    assert proven.result.energy > least.result.energy >= -least.result.upper
    assert proven.result.energy >= -proven.result.upper
    if certify == "exact":
        costs = costs_for(softmax, image, 1.0, None, 1e-5)
        crf = model_of(costs, costs.adapted()._replace(**kernels))
        assert proven.result.energy == pytest.approx(crf.energy(plain.labels), rel=1e-3)


@pytest.mark.parametrize("options, keywords", [
    ([], {}),
    (["--updates", "2"], dict(updates=2)),
    (["--updates", "0"], dict(updates=0)),
    (["--preset", "pydensecrf"], dict(preset="pydensecrf")),
    (["--parameters", "fit.json"], dict(parameters="fit.json")),
    (["--least-energy"], dict(least_energy=True)),
    (["--certify"], dict(certify=True)),
])
def test_labels_are_those_of_the_command(tmp_path, monkeypatch, options, keywords):
    monkeypatch.chdir(tmp_path)
    write_parameters(tmp_path / "fit.json", bilateral_sigma=12, updates=3, softmax_temperature=1.5)
    rng = np.random.default_rng(5)
    truth = np.add.outer(np.arange(32), np.arange(40)) // 18 % 3
    image = (30 * truth[..., None] + rng.integers(0, 120, (32, 40, 3))).astype(np.uint8)
    softmax = (0.2 * np.eye(3)[truth] + 0.8 * rng.dirichlet(np.ones(3) / 3, (32, 40))).astype(np.float32)
    np.save("softmax.npy", softmax)
    (tmp_path / "picture.png").write_bytes(png(image))
    run_command("segment", "picture.png", "--softmax", "softmax.npy", "-o", "out", "-q", *options)
    found = sm.refine(softmax, image, **keywords)
    assert (found.labels != softmax.argmax(-1)).any()
    np.testing.assert_array_equal(found.labels, np.load("out/labels.npy"))
    np.testing.assert_allclose(found.probabilities, np.load("out/marginals.npy"), atol=1e-5)


def test_labels_first_and_grey():
    truth, softmax, image = noisy_halves()
    labels, probabilities = sm.refine(np.moveaxis(softmax, -1, 0), image[..., 0])
    assert probabilities.shape == (2, 24, 30) and (labels != truth).mean() < 0.01
    with pytest.raises(sm.InvalidInput, match="label_axis"):
        sm.refine(np.full((5, 5, 5), 0.2), np.zeros((5, 5)))
    assert sm.refine(np.full((5, 5, 5), 0.2), np.zeros((5, 5)), label_axis=0).probabilities.shape == (5, 5, 5)


def test_zero_probabilities_are_harmless_and_logits_are_refused():
    truth, softmax, image = noisy_halves()
    certain = np.eye(2)[truth]
    certain[0, 0] = [1e-10, 1 - 1e-10]
    labels, probabilities = sm.refine(certain, image)
    assert np.isfinite(probabilities).all() and (labels != truth).mean() < 0.01
    with pytest.raises(sm.InvalidInput, match="logits"):
        sm.refine(10 * softmax - 5, image)
    softmax[3, 4, 1] = np.nan
    with pytest.raises(sm.InvalidInput, match=r"nan at \(3, 4, 1\)"):
        sm.refine(softmax, image)


def test_rounding_errors_are_no_wrong_probabilities():
    _, softmax, image = noisy_halves()
    near = softmax.astype(np.float64) @ [0.0, 1.0]
    rounded = np.stack([np.where(near > 0.5, -1e-16, 1.0), np.where(near > 0.5, 1.0 + 1e-16, 0.0)], -1)
    np.testing.assert_array_equal(sm.refine(rounded, image).labels, sm.refine(rounded.clip(0, 1), image).labels)


def test_many_come_in_order_and_lazily():
    jobs = [noisy_halves(10 + k, 14) for k in range(7)]
    taken = []

    def feed():
        for k, (_, softmax, image) in enumerate(jobs):
            taken.append(k)
            yield softmax, image

    results = sm.refine_many(feed(), workers=2)
    first = next(results)
    assert len(taken) <= 5
    shapes = [first.labels.shape] + [labels.shape for labels, _ in results]
    assert shapes == [(10 + k, 14) for k in range(7)]
    alone = sm.refine(jobs[0][1], jobs[0][2])
    assert np.array_equal(first.probabilities, alone.probabilities)
    with pytest.raises(sm.InvalidInput):
        list(sm.refine_many([(np.full((4, 4, 2), 0.3), np.zeros((4, 4)))]))


def test_stereo():
    right = RNG.integers(0, 256, (12, 40)).astype(float)
    left = np.empty_like(right)
    left[:, 3:], left[:, :3] = right[:, :-3], 0
    costs = sm.matching_costs(left, right, 6, truncate=50)
    assert costs.shape == (12, 40, 6) and costs.max() <= 50
    assert np.array_equal(costs[:, 8:, 3], np.zeros((12, 32), np.float32))
    assert np.array_equal(costs[:, 10, 1], np.minimum(abs(left[:, 10] - right[:, 9]), 50).astype(np.float32))
    result = sm.solve(sm.GridCrf(costs, 5.0, "truncated:2"), "pdhg", max_iterations=50)
    assert (result.labels[:, 6:] == 3).mean() > 0.95
    assert sm.matching_costs(left, right).shape[-1] >= 4


def write_parameters(path, **changes):
    path.write_text(json.dumps({"submarine": "segmentation", **changes}))
    return path


def test_parameters_come_from_a_file(tmp_path):
    rng = np.random.default_rng(3)
    softmax = rng.dirichlet(np.ones(3), size=(20, 24))
    image = rng.integers(0, 256, (20, 24, 3)).astype(np.uint8)
    path = write_parameters(tmp_path / "fit.json", position_sigma=2, position_weight=1.5, bilateral_sigma=9,
                            colour_sigma=30, bilateral_weight=0.5, updates=3, softmax_temperature=2)
    fitted = sm.refine(softmax, image, parameters=path)
    by_name = dict(position_sigma=2, position_weight=1.5, bilateral_sigma=9, colour_sigma=30, bilateral_weight=0.5, softmax_temperature=2)
    assert sm.read_parameters(str(path)) == sm.SegmentationParameters(**by_name, normalised=True, updates=3)
    model = model_of(costs_for(softmax, image, 2.0, None, 1e-5), sm.SegmentationParameters(**by_name))
    expected = sm.solve(model, "mf", certify="none", updates=3, pairs="lattice").marginals
    np.testing.assert_array_equal(fitted.probabilities, expected)
    np.testing.assert_array_equal(
        sm.refine(softmax, image, parameters=sm.read_parameters(path)).probabilities, expected)
    # Keywords go before the file, and the defaults are another model.
    assert not np.array_equal(sm.refine(softmax, image, parameters=path, bilateral_weight=5).probabilities, expected)
    assert not np.array_equal(sm.refine(softmax, image).probabilities, expected)


def test_defaults_of_parameters_are_those_of_the_library(tmp_path):
    assert sm.read_parameters(write_parameters(tmp_path / "empty.json")) == sm.SegmentationParameters()


def test_a_file_that_is_no_parameters_is_refused(tmp_path):
    softmax, image = np.full((4, 5, 2), 0.5), np.zeros((4, 5), np.uint8)
    with pytest.raises(sm.FileError, match="colour_sigma is 0"):
        sm.refine(softmax, image, parameters=write_parameters(tmp_path / "a.json", colour_sigma=0))
    with pytest.raises(sm.FileError, match="missing.json"):
        sm.refine(softmax, image, parameters="missing.json")
    with pytest.raises(sm.InvalidInput, match="softmax_temperature is 0"):
        sm.refine(softmax, image, softmax_temperature=0)


def test_a_proof_says_how_many_labels_are_right_and_how_large_areas_are():
    """In pixels, or in the unit of the spacing."""
    _, softmax, image = noisy_halves(10, 12)
    labels, probabilities = refined = sm.refine(softmax, image, certify=True, spacing=(0.5, 2.0))
    adapted = costs_for(softmax, image, 1.0, None, 1e-5).adapted()
    raw = sm.refine(softmax, image, certify=True, spacing=(0.5, 2.0), parameters=adapted)
    agreement, areas = refined.result.agreement(), refined.areas()
    assert 0 <= agreement.lower < agreement.upper <= labels.size
    # What mean field claims is its own, not what a temperature has made of it.
    assert agreement.claimed == pytest.approx(raw.probabilities.max(-1).sum(), rel=1e-5)
    assert agreement.claimed > probabilities.max(-1).sum()
    assert areas == [area / 1.0 for area in refined.result.areas()]  # a pixel is 0.5 x 2
    half = sm.refine(softmax, image, certify=True, spacing=0.5)
    assert half.areas(labels == 0) == [area / 4 for area in half.result.areas(labels == 0)]
    with pytest.raises(sm.InvalidInput, match="certify"):
        sm.refine(softmax, image, certify="lower").areas()
