"""The drop-in against arrays that pydensecrf (commit 2723c7f) computed: of a small picture, and of the pictures of its examples
where the shared data is."""

import pathlib

import numpy as np
import pytest
from conftest import require_shared
from golden_cases import CASES, small_picture
from png_reader import read_png

import submarine.compat.install  # noqa: F401
import pydensecrf.densecrf as dcrf
import pydensecrf.utils as utils

OF_EVERY_EXAMPLE = ["readme2d", "generic"]


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
    return (image, labels.reshape(-1), len(found) - 1), np.load(golden)


@pytest.mark.parametrize("name", CASES)
def test_small_picture(name):
    golden = np.load(pathlib.Path(__file__).parent / "pydensecrf_small.npz")
    q, d = CASES[name](dcrf, utils, *small_picture())
    assert np.abs(q - golden[f"small_{name}_Q"]).max() < 1e-5
    assert d.klDivergence(q) == pytest.approx(float(golden[f"small_{name}_KL"]), rel=0, abs=1e-5 * q.shape[1])


@pytest.mark.parametrize(
    "number, name", [(1, name) for name in CASES] + [(number, name) for number in (2, 3) for name in OF_EVERY_EXAMPLE]
)
def test_examples(number, name):
    picture, golden = load(number)
    q, d = CASES[name](dcrf, utils, *picture)
    expected = golden[f"im{number}_{name}_Q"]
    assert np.mean(np.argmax(q, axis=0) == np.argmax(expected, axis=0)) >= 0.9985
    assert np.mean(np.abs(q - expected)) < 2e-3
    # Sums of up to 10^6 terms in single precision, theirs in one order and ours in another.
    assert d.klDivergence(q) == pytest.approx(float(golden[f"im{number}_{name}_KL"]), rel=1e-4, abs=20.0)
