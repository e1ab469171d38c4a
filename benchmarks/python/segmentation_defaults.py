#!/usr/bin/env python3
"""Do the default kernels of refine and segment make labels better, and how honest are their probabilities?

usage: PYTHONPATH=build/python segmentation_defaults.py [--data DIRECTORY] [--seeds N] [--threads N] [--csv FILE]

DIRECTORY (SUBMARINE_DATA, else ../shared/data) has the four pictures of Pascal VOC with their labels, two of MSRC-21
with their labels and published unaries, and a network's masks of persons for two of those of VOC. Eight classifiers
are made from true labels, by smooth and by white noise; that makes 300 cases at three sizes with two seeds. Scores are in
points: pixels right and mean IoU (over classes that occur in the truth) against the classifier's, and the expected
calibration error (15 bins) of what came in and of what is returned.
"""

import argparse
import csv
import os
import pathlib
import sys
from typing import NamedTuple

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "tools")]

import submarine
from convert_c_unary import read_c_unary
from png_reader import read_png

VOC = ("2007_000033", "2007_000129", "2007_000332", "2007_000346")
PERSON = 15
MSRC = ("2_14_s", "4_11_s")
UNKNOWN = 255
SHRINK = (1, 2, 4)


class Kind(NamedTuple):
    """logits = sharpness * (blurred truth) + noise; lengths in pixels of a picture of 500 x 375."""

    blur: float
    noise: float
    length: float = 0.0  # of the noise; 0: white
    sharpness: float = 8.0
    temperature: float = 1.0
    stride: int = 1
    absent: int = 1  # labels that do not occur


KINDS = {
    "soft": Kind(6, 0.7, 20),
    "medium": Kind(6, 1.5, 20),
    "noisy": Kind(6, 3.0, 15),
    "stride 8": Kind(3, 1.5, 20, stride=8),
    "many labels": Kind(5, 1.5, 20, absent=18),
    "sure": Kind(6, 1.5, 20, temperature=1 / 3),
    "unsure": Kind(6, 1.5, 20, temperature=3),
    "white": Kind(4, 2.0),
}


class Case(NamedTuple):
    kind: str
    picture: str
    shrink: int
    seed: int
    image: np.ndarray
    truth: np.ndarray
    softmax: np.ndarray


def read_bmp(path):
    data = path.read_bytes()
    start, width, height = (int.from_bytes(data[at:at + 4], "little") for at in (10, 18, 22))
    size = data[28] // 8  # bytes of a pixel: blue, green, red and perhaps one more
    rows = np.frombuffer(data, np.uint8, offset=start, count=height * ((size * width + 3) // 4 * 4)).reshape(height, -1)
    return np.ascontiguousarray(rows[::-1, :size * width].reshape(height, width, size)[..., 2::-1])


def blurred(values, sigma):
    """By a Gaussian, mirrored at the borders; axes 0 and 1."""
    for axis in (0, 1):
        size = values.shape[axis]
        wide = np.concatenate([values, np.flip(values, axis)], axis)
        shape = [1] * values.ndim
        shape[axis] = -1
        gauss = np.exp(-2 * (np.pi * sigma * np.fft.rfftfreq(2 * size)) ** 2).reshape(shape)
        values = np.fft.irfft(np.fft.rfft(wide, axis=axis) * gauss, 2 * size, axis=axis).take(range(size), axis)
    return values


def shrunk(values, factor):
    height, width = (size // factor * factor for size in values.shape[:2])
    blocks = values[:height, :width].reshape(height // factor, factor, width // factor, factor, -1)
    return blocks.mean((1, 3))


def enlarged(values, shape):
    """Bilinear, about the middles of pixels."""
    for axis, size in enumerate(shape):
        place = np.clip((np.arange(size) + 0.5) * values.shape[axis] / size - 0.5, 0, values.shape[axis] - 1)
        below = np.minimum(place.astype(int), max(0, values.shape[axis] - 2))
        share = (place - below).reshape([-1 if k == axis else 1 for k in range(values.ndim)])
        above = np.minimum(below + 1, values.shape[axis] - 1)
        values = (1 - share) * values.take(below, axis) + share * values.take(above, axis)
    return values


def softmax_of(logits):
    exp = np.exp(logits - logits.max(-1, keepdims=True))
    return (exp / exp.sum(-1, keepdims=True)).astype(np.float32)


def classifier(kind, truth, random):
    """A softmax made from true labels, of the kind's errors."""
    present = np.unique(truth[truth != UNKNOWN])
    labels = np.append(present, np.setdiff1d(np.arange(256), present)[:kind.absent])
    scale = np.sqrt(truth.size / (500 * 375))
    hot = (truth[..., None] == labels).astype(float)
    mass = hot.sum(-1, keepdims=True)
    hot = blurred(hot, kind.blur * scale) / np.maximum(blurred(mass, kind.blur * scale), 1e-3)
    if kind.stride > 1:
        hot = shrunk(np.pad(hot, [(0, -size % kind.stride) for size in truth.shape] + [(0, 0)], "edge"), kind.stride)
    noise = random.normal(size=hot.shape)
    if kind.length:
        noise = blurred(noise, kind.length * scale / kind.stride)
        noise /= noise.std()
    logits = kind.sharpness * hot + kind.noise * noise
    if kind.stride > 1:
        padded = [size + -size % kind.stride for size in truth.shape]
        logits = enlarged(logits, padded)[:truth.shape[0], :truth.shape[1]]
    return labels, softmax_of(logits / kind.temperature)


def small(image, truth, factor):
    if factor == 1:
        return image, truth
    image = np.rint(shrunk(image.astype(float), factor)).astype(np.uint8)
    middle = factor // 2
    return image, truth[middle::factor, middle::factor][:image.shape[0], :image.shape[1]]


def read_pictures(data):
    folder = data / "segmentation"
    for name in VOC:
        truth = read_png(folder / "voc" / f"{name}_labels.png")[..., 0]
        real = {}
        mask = folder / "network" / f"{name}_person.npy"
        if mask.exists():
            person = np.load(mask).astype(np.float32)
            two = np.where(truth == UNKNOWN, UNKNOWN, truth == PERSON).astype(np.uint8)
            real["network"] = two, np.stack([1 - person, person], -1)
        yield name, read_png(folder / "voc" / f"{name}.png"), truth, real
    for name in MSRC:
        truth = read_png(folder / f"{name}_gt21.png")[..., 0]
        width, height, labels, rows = read_c_unary(folder / f"{name}.c_unary")
        softmax = np.array(list(rows), np.float32).reshape(height, width, labels)
        yield name, read_bmp(folder / f"{name}.bmp"), truth, {"MSRC": (truth, softmax)}


def make_cases(pictures, seeds):
    for name, image, truth, real in pictures:
        for factor in SHRINK:
            picture, known = small(image, truth, factor)
            for seed in range(seeds):
                for number, (kind, how) in enumerate(KINDS.items()):
                    random = np.random.default_rng([seed, number, factor])
                    labels, softmax = classifier(how, known, random)
                    numbers = np.full(256, UNKNOWN)
                    numbers[labels] = np.arange(len(labels))
                    numbers[UNKNOWN] = UNKNOWN
                    yield Case(kind, name, factor, seed, picture, numbers[known], softmax)
            for kind, (mask, softmax) in real.items():
                _, truth_of_kind = small(image, mask, factor)
                soft = shrunk(softmax.astype(float), factor).astype(np.float32) if factor > 1 else softmax
                yield Case(kind, name, factor, 0, picture, truth_of_kind.astype(int), soft)


class Score(NamedTuple):
    right: float
    iou: float
    ece: float


def score(truth, probabilities, labels=None):
    """In points."""
    known = truth != UNKNOWN
    truth = truth[known]
    best = probabilities.argmax(-1)[known]
    sure = probabilities.max(-1)[known]
    right = best == truth
    bins = np.minimum((sure * 15).astype(int), 14)
    error = np.abs(np.bincount(bins, right, 15) - np.bincount(bins, sure, 15)).sum() / right.size
    chosen = best if labels is None else labels[known]
    ious = []
    for label in np.unique(truth):
        both = np.sum((truth == label) & (chosen == label))
        ious.append(both / np.sum((truth == label) | (chosen == label)))
    return Score(100 * np.mean(chosen == truth), 100 * np.mean(ious), 100 * error)


def row(name, gains, before, after):
    gains = np.array(gains)
    right = gains[:, 0]
    return (
        f"{name:12} {len(right):5} {right.mean():+7.2f} {gains[:, 1].mean():+7.2f} {right.min():+7.2f} "
        f"{100 * np.mean(right >= -0.3):6.0f}% {100 * np.mean(right > 0):6.0f}% "
        f"{np.mean(before):7.2f} {np.mean(after):7.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--csv", help="writes a line for every case and preset")
    arguments = parser.parse_args()
    data = arguments.data or pathlib.Path(os.environ.get("SUBMARINE_DATA", ROOT.parent / "shared" / "data"))
    if not (data / "segmentation" / "voc").is_dir():
        print(f"SKIPPED: no pictures in {data}")
        return
    submarine.set_threads(arguments.threads)
    cases = list(make_cases(read_pictures(data), arguments.seeds))
    lines = []
    for preset in ("pydensecrf", "adapted"):
        table = {}
        for case in cases:
            before = score(case.truth, case.softmax)
            labels, probabilities = submarine.refine(case.softmax, case.image, preset=preset)
            after = score(case.truth, probabilities, labels)
            entry = (after.right - before.right, after.iou - before.iou), before.ece, after.ece
            lines.append([preset, *case[:4], *before, *after])
            for group in ("all", case.kind, f"1/{case.shrink}"):
                table.setdefault(group, []).append(entry)
        print(f"{preset:12} cases   right    IoU   worst  >=-0.3   better ECE in     out")
        for group, entries in table.items():
            print(row(group, *zip(*entries)))
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["preset", *Case._fields[:4], *(f"{name}_before" for name in Score._fields), *Score._fields])
            writer.writerows(lines)


if __name__ == "__main__":
    main()
