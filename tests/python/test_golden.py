"""The drop-in against arrays that pydensecrf (commit 2723c7f) computed, and its committed example outputs."""

import numpy as np
import pytest
from conftest import require_shared
from png_reader import read_png

import submarine.compat.install  # noqa: F401
import pydensecrf.densecrf as dcrf
from pydensecrf.utils import create_pairwise_bilateral, create_pairwise_gaussian, unary_from_labels


def load(number):
    """Picture and labels as cv2.imread gives them (BGR), and the golden arrays."""
    golden, picture, annotation = require_shared(
        "pydensecrf_golden/pydensecrf-2723c7f.npz", f"segmentation/im{number}.png", f"segmentation/anno{number}.png"
    )
    image = np.ascontiguousarray(read_png(picture)[..., ::-1])
    colours = read_png(annotation)[..., ::-1].astype(np.uint32)
    packed = colours[..., 0] + (colours[..., 1] << 8) + (colours[..., 2] << 16)
    found, labels = np.unique(packed, return_inverse=True)
    assert found[0] == 0
    return image, labels.reshape(-1), len(found) - 1, np.load(golden)


def two_d(image, count, labels):
    d = dcrf.DenseCRF2D(image.shape[1], image.shape[0], count)
    d.setUnaryEnergy(unary_from_labels(labels, count, 0.7, zero_unsure=True))
    return d


def check(d, iterations, golden, name):
    q = d.inference(iterations)
    expected = golden[name + "_Q"]
    assert np.mean(np.argmax(q, axis=0) == np.argmax(expected, axis=0)) >= 0.9985
    assert np.mean(np.abs(q - expected)) < 2e-3
    # Sums of up to 10^6 terms in single precision, theirs in one order and ours in another.
    assert d.klDivergence(q) == pytest.approx(float(golden[name + "_KL"]), rel=1e-4, abs=20.0)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_readme(number):
    image, labels, count, golden = load(number)
    d = two_d(image, count, labels)
    d.addPairwiseGaussian(sxy=3, compat=3)
    d.addPairwiseBilateral(sxy=80, srgb=13, rgbim=image, compat=10)
    check(d, 5, golden, f"im{number}_readme2d")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_generic(number):
    image, labels, count, golden = load(number)
    d = dcrf.DenseCRF(image.shape[0] * image.shape[1], count)
    d.setUnaryEnergy(unary_from_labels(labels, count, 0.7, zero_unsure=True))
    d.addPairwiseEnergy(create_pairwise_gaussian((3, 3), image.shape[:2]), compat=3)
    d.addPairwiseEnergy(create_pairwise_bilateral((80, 80), (13, 13, 13), image, chdim=2), compat=10)
    check(d, 5, golden, f"im{number}_generic")


VARIANTS = {
    **{f"norm{k}": {"compat": 0.01 if k == 0 else 10, "normalization": k} for k in range(4)},
    **{f"kernel{k}": {"compat": 10, "kernel": k} for k in range(3)},
    "compat1d_neg": {"compat": np.full(2, -10, np.float32)},
    "compat1d_pos": {"compat": np.full(2, 10, np.float32)},
    "compat2d_potts": {"compat": (10 * (1 - np.eye(2))).astype(np.float32)},
    "compat2d_asym": {"compat": np.array([[0, 8], [2, 0]], np.float32)},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name):
    image, labels, count, golden = load(1)
    d = two_d(image, count, labels)
    d.addPairwiseBilateral(80, 13, image, **VARIANTS[name])
    check(d, 5, golden, "im1_" + name)


def test_without_pairs_and_without_iterations():
    image, labels, count, golden = load(1)
    d = two_d(image, count, labels)
    check(d, 5, golden, "im1_unaryonly")
    d.addPairwiseGaussian(3, 3)
    check(d, 0, golden, "im1_iter0")
