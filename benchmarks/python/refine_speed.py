#!/usr/bin/env python3
"""Whole calls of refine beside the drop-in's, from the same softmax to labels: 641 x 555 pixels, 21 labels, 5 updates.

usage: PYTHONPATH=build/python refine_speed.py PICTURE [--threads N] [--rounds N]

By turns in one process, and the best of the rounds counts. PICTURE is a PNG, enlarged to the size by interpolation.
Where pydensecrf can be imported, too, its calls are a third column.
"""

import argparse
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))

import submarine
import submarine.compat.densecrf
import submarine.compat.utils
from png_reader import read_png

try:
    import pydensecrf.densecrf
    import pydensecrf.utils
except ImportError:
    pydensecrf = None

WIDTH, HEIGHT, LABELS = 641, 555, 21
KERNELS = {"80/13 and 3 px": (80, 13, 3), "67/8 and 3 px": (67, 8, 3), "67/8 and 1 px": (67, 8, 1)}


def enlarged(image):
    for axis, size in ((0, HEIGHT), (1, WIDTH)):
        place = np.linspace(0, image.shape[axis] - 1, size)
        below = np.minimum(place.astype(int), image.shape[axis] - 2)
        share = np.expand_dims(place - below, tuple(a for a in range(3) if a != axis))
        image = (1 - share) * image.take(below, axis) + share * image.take(below + 1, axis)
    return np.ascontiguousarray(np.rint(image), np.uint8)


def noisy_softmax():
    """Labels in blocks of 32 pixels, first axis labels."""
    random = np.random.default_rng(1)
    blocks = random.integers(0, LABELS, (HEIGHT // 32 + 1, WIDTH // 32 + 1)).repeat(32, 0).repeat(32, 1)
    logits = random.normal(size=(LABELS, HEIGHT, WIDTH))
    logits += 3 * (np.arange(LABELS)[:, None, None] == blocks[:HEIGHT, :WIDTH])
    softmax = np.exp(logits)
    return np.ascontiguousarray(softmax / softmax.sum(0), np.float32)


def crf_call(densecrf, utils, softmax, image, kernels):
    bilateral, colour, position = kernels
    d = densecrf.DenseCRF2D(WIDTH, HEIGHT, LABELS)
    d.setUnaryEnergy(utils.unary_from_softmax(softmax))
    d.addPairwiseGaussian(sxy=position, compat=3)
    d.addPairwiseBilateral(sxy=bilateral, srgb=colour, rgbim=image, compat=10)
    return np.argmax(np.array(d.inference(5)), axis=0).reshape(HEIGHT, WIDTH)


def refine_call(softmax, image, kernels):
    bilateral, colour, position = kernels
    return submarine.refine(
        softmax, image, bilateral_sigma=bilateral, colour_sigma=colour, position_sigma=position, label_axis=0
    ).labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    submarine.set_threads(arguments.threads)
    image, softmax = enlarged(read_png(arguments.picture).astype(float)), noisy_softmax()
    for name, kernels in KERNELS.items():
        calls = {
            "refine": lambda: refine_call(softmax, image, kernels),
            "drop-in": lambda: crf_call(submarine.compat.densecrf, submarine.compat.utils, softmax, image, kernels),
        }
        if pydensecrf is not None:
            calls["pydensecrf"] = lambda: crf_call(pydensecrf.densecrf, pydensecrf.utils, softmax, image, kernels)
        best, labels = dict.fromkeys(calls, float("inf")), {}
        for _ in range(arguments.rounds):
            for who, call in calls.items():
                begin = time.perf_counter()
                labels[who] = call()
                best[who] = min(best[who], time.perf_counter() - begin)
        same = (labels["refine"] == labels["drop-in"]).mean()
        print(f"{name}: " + ", ".join(f"{who} {seconds:.3f} s" for who, seconds in best.items())
              + f"; refine takes {best['refine'] / best['drop-in']:.2f} of the drop-in, {100 * same:.2f}% same labels")


if __name__ == "__main__":
    main()
