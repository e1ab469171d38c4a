"""What Python users expect: pictures in 0..1, channels first, spacing, unknown pixels, masks, plots, notebooks, logits."""

import sys

import numpy as np
import pytest

import submarine as sm

RNG = np.random.default_rng(4)


def scene(height=16, width=20, labels=3):
    truth = np.add.outer(np.arange(height), np.arange(width)) // 9 % labels
    image = np.clip(60 * truth[..., None] + RNG.integers(0, 40, (height, width, 3)), 0, 255).astype(np.uint8)
    softmax = 0.3 * np.eye(labels)[truth] + 0.7 * RNG.dirichlet(np.ones(labels), (height, width))
    return truth, softmax.astype(np.float32), image


def test_a_picture_from_0_to_1_gives_the_labels_of_0_to_255():
    _, softmax, image = scene()
    expected = sm.refine(softmax, image).probabilities
    with pytest.warns(UserWarning, match="from 0 to 1, which are taken times 255"):
        found = sm.refine(softmax, (image / 255).astype(np.float64)).probabilities
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.warns(UserWarning):  # a colour sigma of the other range
        np.testing.assert_allclose(
            sm.refine(softmax, image / 255, colour_sigma=13).probabilities, sm.refine(softmax, image, colour_sigma=13).probabilities,
            atol=1e-4)


def test_a_colour_sigma_in_the_units_of_the_picture_is_taken_as_it_is(recwarn):
    _, softmax, image = scene()
    found = sm.refine(softmax, image / 255, colour_sigma=13 / 255).probabilities
    np.testing.assert_allclose(found, sm.refine(softmax, image, colour_sigma=13).probabilities, atol=1e-4)
    assert not recwarn.list


def test_a_picture_normalised_for_a_network_is_refused():
    _, softmax, image = scene()
    with pytest.raises(sm.InvalidInput, match="was it normalised for a network"):
        sm.refine(softmax, image / 127.5 - 1)
    sm.refine(softmax, image / 127.5 - 1, colour_sigma=0.1)  # in its units


@pytest.mark.parametrize("total", [0.3, 1.5])
def test_a_softmax_of_another_sum_is_refused_with_the_number(total):
    softmax = np.full((4, 5, 2), 0.5)
    softmax[2, 3] = total / 2
    with pytest.raises(sm.InvalidInput, match=rf"probabilities sum to {total} over the labels at \(2, 3\), expected 1"):
        sm.refine(softmax, np.zeros((4, 5)))


def test_channels_first():
    _, softmax, image = scene()
    expected = sm.refine(softmax, image).probabilities
    first = np.moveaxis(image, -1, 0)
    np.testing.assert_array_equal(sm.refine(softmax, first, channel_axis=0).probabilities, expected)
    np.testing.assert_array_equal(sm.refine(softmax, image, channel_axis=-1).probabilities, expected)
    with pytest.raises(sm.InvalidInput, match="say channel_axis=0"):
        sm.refine(softmax, first)


def test_spacing_divides_sigmas():
    softmax = RNG.dirichlet(np.ones(2), (4, 6, 8)).astype(np.float32)
    volume = RNG.integers(0, 255, (4, 6, 8)).astype(np.float32)
    lengths = dict(position_weight=0.5, bilateral_weight=0.5, colour_sigma=40)
    found = sm.refine(softmax, volume, spacing=(3.0, 1.0, 0.5), position_sigma=3, bilateral_sigma=6, **lengths)
    expected = sm.refine(softmax, volume, position_sigma=(6, 3, 1), bilateral_sigma=(12, 6, 2), **lengths)  # x, y, z
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    adapted = sm.refine(softmax, volume)
    np.testing.assert_allclose(sm.refine(softmax, volume, spacing=2.0).probabilities, adapted.probabilities, atol=1e-5)
    assert not np.array_equal(sm.refine(softmax, volume, spacing=(4, 1, 1), position_weight=1).probabilities,
                              sm.refine(softmax, volume, position_weight=1).probabilities)
    for wrong in ((1, 2), (1, 0, 1), (1, 1, np.inf)):
        with pytest.raises(sm.InvalidInput, match="spacing is"):
            sm.refine(softmax, volume, spacing=wrong)


def test_unknown_pixels():
    truth, softmax, image = scene()
    uniform = softmax.copy()
    uniform[3:6, 4:9] = 1 / 3
    expected = sm.refine(uniform, image).probabilities
    for unknown in (np.nan, 0.0):
        given = softmax.copy()
        given[3:6, 4:9] = unknown
        np.testing.assert_array_equal(sm.refine(given, image).probabilities, expected)
        np.testing.assert_array_equal(
            sm.refine(np.moveaxis(given, -1, 0), image).probabilities, np.moveaxis(expected, -1, 0))
    mask = np.zeros(softmax.shape, bool)
    mask[3:6, 4:9] = True
    np.testing.assert_array_equal(sm.refine(np.ma.array(softmax, mask=mask), image).probabilities, expected)
    given[0, 0, 0] = np.nan  # one of three is no unknown pixel
    with pytest.raises(sm.InvalidInput, match=r"nan at \(0, 0, 0\)"):
        sm.refine(given, image)


def test_scribbles():
    truth, _, image = scene(24, 30)
    scribbles = np.where(RNG.random(truth.shape) < 0.3, truth, 255)
    probabilities = sm.probabilities_of(scribbles, 3, confidence=0.8)
    assert probabilities.dtype == np.float32 and np.allclose(probabilities.sum(-1), 1)
    assert np.allclose(probabilities[scribbles == 255], 1 / 3)
    assert np.allclose(np.take_along_axis(probabilities, truth[..., None], -1)[scribbles != 255], 0.8)
    labels = sm.refine(probabilities, image, preset="pydensecrf").labels
    assert (labels == truth).mean() > 0.9
    np.testing.assert_array_equal(sm.probabilities_of(np.where(scribbles == 255, -1, scribbles), 3, confidence=0.8), probabilities)
    for wrong in (dict(labels=[[3]]), dict(labels=[[0.5]]), dict(confidence=1.0), dict(num_labels=1)):
        with pytest.raises(sm.InvalidInput):
            sm.probabilities_of(**{**dict(labels=[[0]], num_labels=3), **wrong})


def test_a_compatibility_is_that_of_pydensecrf():
    import submarine.compat.densecrf as dcrf

    _, softmax, image = scene()
    price = np.array([[0.0, 1.0, 0.2], [1.0, 0.0, 1.5], [0.2, 1.5, -0.1]])
    kernels = dict(position_sigma=3, position_weight=2, bilateral_sigma=20, colour_sigma=13, bilateral_weight=4)
    found = sm.refine(softmax, image, compatibility=price, preset="pydensecrf", **kernels)
    theirs = dcrf.DenseCRF2D(20, 16, 3)
    theirs.setUnaryEnergy(np.ascontiguousarray(sm.costs_of(softmax).reshape(-1, 3).T))
    theirs.addPairwiseGaussian(sxy=3, compat=np.float32(2 * price))
    theirs.addPairwiseBilateral(sxy=20, srgb=13, rgbim=image, compat=np.float32(4 * price))
    np.testing.assert_allclose(found.probabilities.reshape(-1, 3).T, np.array(theirs.inference(5)), atol=1e-5)
    assert found.result.lower is None and "without a proof" in found.result.model
    first = sm.refine(np.moveaxis(softmax, -1, 0), image, compatibility=price, preset="pydensecrf", **kernels)
    np.testing.assert_array_equal(np.moveaxis(first.probabilities, 0, -1), found.probabilities)


def test_a_compatibility_of_volumes_and_spacing():
    softmax = RNG.dirichlet(np.ones(2), (3, 4, 5)).astype(np.float32)
    volume = RNG.integers(0, 255, (3, 4, 5)).astype(np.uint8)
    kernels = dict(position_sigma=2, position_weight=1, bilateral_sigma=4, colour_sigma=30, bilateral_weight=1)
    price = 1 - np.eye(2)
    halved = dict(kernels, position_sigma=1, bilateral_sigma=2)
    np.testing.assert_array_equal(
        sm.refine(softmax, volume, compatibility=price, spacing=2, **kernels).probabilities,
        sm.refine(softmax, volume, compatibility=price, **halved).probabilities)


@pytest.mark.parametrize("options, words", [
    (dict(compatibility=np.zeros((2, 2))), "compatibility has shape (2, 2), expected (3, 3)"),
    (dict(compatibility=np.triu(np.ones((3, 3)))), "expected a symmetric matrix"),
    (dict(compatibility=np.full((3, 3), np.nan)), "compatibility is nan"),
    (dict(compatibility=np.ones((3, 3)), certify=True), "without a metric, superpixels, method or proof"),
    (dict(compatibility=np.ones((3, 3)), updates=0), "without a metric, superpixels, method or proof"),
    (dict(compatibility=np.ones((3, 3)), metric="linear"), "without a metric, superpixels, method or proof"),
    (dict(compatibility=np.ones((3, 3)), metric=1 - np.eye(3)), "without a metric, superpixels, method or proof"),
])
def test_compatibilities_that_cannot_be(options, words):
    _, softmax, image = scene()
    with pytest.raises(sm.InvalidInput) as caught:
        sm.refine(softmax, image, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("bar", ["tqdm", "lines"])
def test_progress_of_pictures(capsys, monkeypatch, bar):
    if bar == "lines":
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    else:
        pytest.importorskip("tqdm", reason="tqdm is not installed, and its bar is not tested")
    _, softmax, image = scene()
    assert len(list(sm.refine_many([(softmax, image)] * 3, progress=True))) == 3
    shown = capsys.readouterr().err
    assert "picture" in shown if bar == "tqdm" else "3 of 3 pictures" in shown
    sm.refine(softmax, image, progress=True)


def test_notebooks_and_plots():
    _, softmax, image = scene()
    refined = sm.refine(softmax, image, certify=True, time_limit=5)
    assert refined._repr_html_() == refined.result._repr_html_()
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed, and plots are not tested")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = refined.plot()
    assert axes.get_title() == "labels" and axes.images[0].get_array().shape == (16, 20, 3)
    entropy = refined.plot("entropy", pyplot.figure().gca())
    np.testing.assert_allclose(entropy.images[0].get_array(), refined.result.entropy())
    grid = refined.plot("marginals")
    np.testing.assert_array_equal(grid.flat[1].images[0].get_array(), refined.probabilities[..., 1])
    bounds = refined.plot("bounds")
    assert {line.get_ydata()[0] for line in bounds.lines} >= {refined.result.lower, refined.result.upper}
    pyplot.close("all")
    with pytest.raises(sm.InvalidInput, match="did you mean labels?"):
        refined.plot("label")
    with pytest.raises(sm.InvalidInput, match="pictures or volumes"):
        sm.solve(sm.GraphCrf(np.zeros((3, 2)), [[0, 1]])).plot()


def test_plots_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        sm.solve(sm.GridCrf(np.zeros((3, 4, 2)))).plot()
