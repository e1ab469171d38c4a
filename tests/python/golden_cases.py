"""The calls of pydensecrf whose results the drop-in must give, and a small picture made for them.

pydensecrf_small.npz holds what pydensecrf (commit 2723c7f) computes of that picture, written by

    PYTHONPATH=BUILT_PYDENSECRF python3 tests/python/golden_cases.py tests/python/pydensecrf_small.npz
"""

import sys

import numpy as np


def small_picture():
    """A disc on a background of another colour, both textured; labels 0 (unsure), 1 and 2."""
    y, x = np.mgrid[:14, :20]
    inside = (x - 8) ** 2 + (y - 6) ** 2 < 25
    texture = (x * x * 7 + y * 13 + x * y * 5) % 23
    image = np.stack([np.where(inside, 170, 90) + texture, 60 + 2 * texture, np.where(inside, 70, 130) - texture], axis=-1)
    marked = np.where((x * 3 + y * 5) % 4 == 0, np.where(inside, 2, 1), 0)
    wrong = (x + 2 * y) % 11 == 0
    return image.astype(np.uint8), np.where(wrong & (marked > 0), 3 - marked, marked).reshape(-1), 2


def two_d(dcrf, utils, image, labels, count):
    d = dcrf.DenseCRF2D(image.shape[1], image.shape[0], count)
    d.setUnaryEnergy(utils.unary_from_labels(labels, count, 0.7, zero_unsure=True))
    return d


def readme2d(*of):
    d = two_d(*of)
    d.addPairwiseGaussian(sxy=3, compat=3)
    d.addPairwiseBilateral(sxy=80, srgb=13, rgbim=of[2], compat=10)
    return d.inference(5), d


def generic(dcrf, utils, image, labels, count):
    d = dcrf.DenseCRF(image.shape[0] * image.shape[1], count)
    d.setUnaryEnergy(utils.unary_from_labels(labels, count, 0.7, zero_unsure=True))
    d.addPairwiseEnergy(utils.create_pairwise_gaussian((3, 3), image.shape[:2]), compat=3)
    d.addPairwiseEnergy(utils.create_pairwise_bilateral((80, 80), (13, 13, 13), image, chdim=2), compat=10)
    return d.inference(5), d


def unaryonly(*of):
    d = two_d(*of)
    return d.inference(5), d


def iter0(*of):
    d = two_d(*of)
    d.addPairwiseGaussian(3, 3)
    return d.inference(0), d


def bilateral(**options):
    def run(*of):
        d = two_d(*of)
        d.addPairwiseBilateral(80, 13, of[2], **options)
        return d.inference(5), d
    return run


CASES = {
    "readme2d": readme2d,
    "generic": generic,
    "unaryonly": unaryonly,
    "iter0": iter0,
    **{f"norm{k}": bilateral(compat=0.01 if k == 0 else 10, normalization=k) for k in range(4)},
    **{f"kernel{k}": bilateral(compat=10, kernel=k) for k in range(3)},
    "compat1d_neg": bilateral(compat=np.full(2, -10, np.float32)),
    "compat1d_pos": bilateral(compat=np.full(2, 10, np.float32)),
    "compat2d_potts": bilateral(compat=(10 * (1 - np.eye(2))).astype(np.float32)),
    "compat2d_asym": bilateral(compat=np.array([[0, 8], [2, 0]], np.float32)),
}


def record(path):
    import pydensecrf.densecrf as dcrf
    import pydensecrf.utils as utils

    golden = {}
    for name, run in CASES.items():
        q, d = run(dcrf, utils, *small_picture())
        golden[f"small_{name}_Q"] = np.array(q, np.float32)
        golden[f"small_{name}_KL"] = np.array(d.klDivergence(q))
    np.savez_compressed(path, **golden)


if __name__ == "__main__":
    record(sys.argv[1])
