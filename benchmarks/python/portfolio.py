#!/usr/bin/env python3
"""`auto` beside each of its candidates on its own, on a grid of kernels, unaries, labels and sizes.

usage: PYTHONPATH=build/python /usr/bin/python3 benchmarks/python/portfolio.py PICTURES [--points N] [--seconds S] [--first K]

PICTURES is a directory with NAME.png and NAME_labels.png (the VOC pictures of the shared data). Softmaxes are made from the
true labels at an eighth of the resolution. For every point the width of each interval relative to its lower end, the lower
end of mean field alone, and how much wider `auto` is than the best candidate about the same model; at the end the worst.
What we aim at: at most 1.25 times as wide, and the lower end never below mean field's.
"""

import argparse
import itertools
import pathlib
import sys
import time

import numpy as np

import submarine as sm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
from png_reader import read_png  # noqa: E402

CANDIDATES = {
    "flows, lattice": dict(method="pdhg", pairs="lattice"),
    "flows, list": dict(method="pdhg", pairs="list"),
    "routes": dict(method="routed"),
}


def shrink(values, factor):
    height, width = (size // factor * factor for size in values.shape[:2])
    cells = values[:height, :width].reshape(height // factor, factor, width // factor, factor, -1)
    return cells.mean(axis=(1, 3))


def softmax_of(truth, labels, margin, rng):
    """Like that of a network with stride 8, noisy, whose mean log-ratio of the two best labels is `margin`."""
    one_hot = np.eye(labels)[truth]
    pad = [(0, -size % 8) for size in truth.shape] + [(0, 0)]
    coarse = np.log(shrink(np.pad(one_hot, pad, mode="edge"), 8) + 0.02)
    coarse += 0.7 * rng.normal(size=coarse.shape)
    fine = coarse.repeat(8, 0).repeat(8, 1)
    for axis in (0, 1):  # smooth
        padded = np.pad(fine, [(4, 4) if k == axis else (0, 0) for k in range(3)], mode="edge")
        total = np.cumsum(padded, axis=axis)
        fine = (np.take(total, range(8, total.shape[axis]), axis) - np.take(total, range(total.shape[axis] - 8), axis)) / 8
    fine = fine[:truth.shape[0], :truth.shape[1]]
    best = np.sort(fine, axis=-1)
    fine *= margin / np.mean(best[..., -1] - best[..., -2])
    fine = np.exp(fine - fine.max(axis=-1, keepdims=True))
    return fine / fine.sum(axis=-1, keepdims=True)


def points(pictures):
    grid = itertools.product((15, 30, 67, 120), (3, 5, 10, 20), (1, 4, 10, 20), (1.5, 7.0), (2, 5, 21), (1, 2, 4))
    grid = list(itertools.product(sorted(pictures), grid))
    np.random.default_rng(7).shuffle(grid)
    return grid


def model_at(pictures, point):
    name, (sigma, colour, weight, margin, labels, factor) = point
    picture, truth = pictures[name]
    picture = shrink(picture.astype(float), factor)
    truth = truth[::factor, ::factor][:picture.shape[0], :picture.shape[1]]
    rng = np.random.default_rng(3)
    softmax = softmax_of(truth % labels, labels, margin, rng)
    kernels = [sm.position(1, 0.75 * weight, normalised=True),
               sm.bilateral(sigma / factor, colour, weight, picture, normalised=True)]
    return sm.DenseCrf(sm.costs_of(softmax), kernels)


def width(result):
    if result.upper is None or result.lower is None:
        return np.inf
    return (result.upper - result.lower) / max(1.0, abs(result.lower))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the first point, to continue")
    parser.add_argument("--seconds", type=float, default=30.0)
    arguments = parser.parse_args()
    pictures = {}
    for path in arguments.directory.glob("*_labels.png"):
        name = path.name.replace("_labels.png", "")
        colours = read_png(path).astype(int)
        _, truth = np.unique(colours.reshape(-1, 3) @ [65536, 256, 1], return_inverse=True)
        pictures[name] = read_png(path.with_name(name + ".png")), truth.reshape(colours.shape[:2])
    chosen = points(pictures)[arguments.first:arguments.first + arguments.points]
    worst = 0.0
    for number, point in enumerate(chosen, arguments.first):
        model = model_at(pictures, point)
        begin = time.perf_counter()
        auto = sm.solve(model, time_limit=arguments.seconds)
        seconds = time.perf_counter() - begin
        certify = "exact" if "exact Gaussians" in auto.model else "operator"
        rows = []
        for name, options in CANDIDATES.items():
            if certify == "operator" and options.get("pairs") != "lattice":
                continue
            try:
                rows.append((width(sm.solve(model, time_limit=arguments.seconds, certify=certify, **options)), name))
            except sm.Error as error:  # it does not fit
                rows.append((np.inf, f"{name}: {str(error)[:40]}"))
        alone = sm.solve(model, "mf", time_limit=arguments.seconds, certify=certify)
        best, name = min(rows)
        ratio = width(auto) / max(best, 1e-3)
        worst = max(worst, ratio)
        print(f"{number:3} {point[0]} {point[1]}: auto {100 * width(auto):.2f}% in {seconds:.0f} s ({certify}), best "
              f"{100 * best:.2f}% ({name}), ratio {ratio:.2f}"
              f"{'' if auto.lower >= alone.lower - 1e-6 * abs(alone.lower) else f'; mean field {alone.lower:.0f} above {auto.lower:.0f}'}",
              flush=True)
    print(f"worst ratio {worst:.2f}")


if __name__ == "__main__":
    main()
