#!/usr/bin/env python3
"""Stereo beside OpenCV's SGBM: bad pixels, how well uncertainty predicts them, and seconds, pair by pair.

usage: stereo.py [--submarine PROGRAM] [--out DIR] PAIR[,FACTOR[,DISPARITIES]]...

A pair is a directory with left.png, right.png and disparity.png, which holds FACTOR times the disparity, 0 where it is not
known; for the nine Middlebury pairs of docs/stereo.md the numbers are known by name. SGBM (python3-opencv; without it, ours
alone are printed) runs in mode HH with block 5, P1 600, P2 2400, uniquenessRatio 15, on views that are padded on the left by
replication; holes are filled from the background. The two take turns, and the best time of --repeat runs counts: SGBM's
call, and our whole process with and without the CRF (--fast), without the page.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import numpy as np

try:
    import cv2
except ImportError:
    cv2 = None

KNOWN = {"tsukuba": (16, 16), "venus": (8, 20), "cones": (4, 60), "teddy": (4, 60), "aloe": (3, 80), "baby3": (3, 80),
         "cloth3": (3, 80), "rocks1": (3, 80), "wood1": (3, 80)}


def fill_from_background(disparity):
    """The smaller of the nearest known ones of the row."""
    filled = disparity.copy()
    columns = np.arange(disparity.shape[1])
    for row, out in zip(disparity, filled):
        known = ~np.isnan(row)
        if not known.any():
            out[:] = 0
            continue
        left = np.maximum.accumulate(np.where(known, columns, -1))
        right = np.minimum.accumulate(np.where(known, columns, columns.size)[::-1])[::-1]
        from_left = np.where(left >= 0, row[np.maximum(left, 0)], np.inf)
        from_right = np.where(right < columns.size, row[np.minimum(right, columns.size - 1)], np.inf)
        out[:] = np.where(known, row, np.minimum(from_left, from_right))
    return filled


def sgbm(left, right, disparities):
    number = (disparities + 15) // 16 * 16
    begin = time.perf_counter()
    matcher = cv2.StereoSGBM_create(0, number, 5, 600, 2400, uniquenessRatio=15, mode=cv2.STEREO_SGBM_MODE_HH)
    padded = [cv2.copyMakeBorder(view, 0, 0, number, 0, cv2.BORDER_REPLICATE) for view in (left, right)]
    found = matcher.compute(*padded)[:, number:].astype(np.float32) / 16
    seconds = time.perf_counter() - begin
    return fill_from_background(np.where(found < 0, np.nan, found)), seconds


def bad(disparity, truth):
    error = np.abs(disparity - truth)[~np.isnan(truth)]
    return [100 * np.mean(error > threshold) for threshold in (0.5, 1, 2)]


def held(marginals, truth, share=0.9):
    """The percentage of pixels whose truth is within the central `share` of their marginal."""
    sums = np.cumsum(marginals.astype(np.float64), axis=-1)
    tail = (1 - share) / 2
    low = np.argmax(sums > tail, axis=-1) - 0.5
    high = np.argmax(sums >= 1 - tail, axis=-1) + 0.5
    known = ~np.isnan(truth)
    return 100 * np.mean((truth >= low)[known] & (truth <= high)[known])


def run(command):
    begin = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="PAIR[,FACTOR[,DISPARITIES]]")
    parser.add_argument("--submarine", default="build/bin/submarine")
    parser.add_argument("--out", default="stereo-out", type=pathlib.Path)
    parser.add_argument("--repeat", default=3, type=int)
    arguments = parser.parse_args()
    print("pair      | SGBM >0.5   >1   >2      s | ours >0.5   >1   >2 | AUSE    ECE  90% interval holds |     s   fast s")
    rows = []
    for spec in arguments.pairs:
        name, *numbers = spec.split(",")
        directory = pathlib.Path(name)
        factor, disparities = KNOWN.get(directory.name.lower(), (1, 0))
        factor = float(numbers[0]) if numbers else factor
        disparities = int(numbers[1]) if len(numbers) > 1 else disparities
        out = arguments.out / directory.name
        ours = [arguments.submarine, "stereo", directory / "left.png", directory / "right.png", "-q", "--no-report", "-o", out,
                "--truth", f"{directory / 'disparity.png'},{factor:g}"]
        if disparities:
            ours += ["--disparities", disparities]
        seconds, fast, theirs = [], [], []
        found = None
        for _ in range(arguments.repeat):
            fast.append(run([*ours, "--fast"]))
            seconds.append(run(ours))
            if cv2 is not None:
                left, right = (cv2.imread(str(directory / f"{side}.png")) for side in ("left", "right"))
                found, spent = sgbm(left, right, disparities or left.shape[1] // 4)
                theirs.append(spent)
        truth = np.load(out / "truth.npy")
        summary = json.loads((out / "summary.json").read_text())["truth"]
        row = [*(bad(found, truth) if found is not None else [np.nan] * 3), min(theirs, default=np.nan),
               *(100 * summary["all"][f"bad_{threshold}"] for threshold in ("0.5", "1", "2")),
               summary["sparsification"]["error"], 100 * summary["calibration"]["expected_error"],
               held(np.load(out / "marginals.npy", mmap_mode="r"), truth), min(seconds), min(fast)]
        rows.append(row)
        show(directory.name, row)
    show("mean", np.mean(rows, axis=0))
    if cv2 is None:
        print("cv2 is not installed (python3-opencv): nothing to compare with", file=sys.stderr)


def show(name, row):
    print("{:9} | {:9.2f} {:4.1f} {:4.1f} {:6.3f} | {:9.2f} {:4.1f} {:4.1f} | {:.4f} {:4.1f}% {:18.1f}% | {:5.2f} {:8.2f}"
          .format(name, *row), flush=True)


if __name__ == "__main__":
    main()
