#!/usr/bin/env python3
"""Stereo beside OpenCV's SGBM: bad pixels, how well uncertainty predicts them, and seconds, pair by pair.

usage: stereo.py [--submarine PROGRAM] [--out DIR] [--pictures DIR] [--guess] PAIR[,FACTOR[,DISPARITIES]]...

A pair is a directory with left.png, right.png and disparity.png, which holds FACTOR times the disparity, 0 where it is not
known; or with the files of Debian's opencv-doc. For the nine Middlebury pairs of docs/stereo.md the numbers are known by name.
SGBM (python3-opencv; without it, ours alone are printed) runs in mode HH with block 5, P1 600, P2 2400, uniquenessRatio 15, on
views that are padded on the left by replication; holes are filled from the background. SGBM + WLS is its filter by the left
view (cv2.ximgproc, lambda 8000, sigma 1.5), whose confidence is compared with our uncertainty. They take turns, and the best
time of --repeat runs counts: OpenCV's calls, and our whole process with and without the CRF (--fast), without the page.

The last table has means over pairs of bad pixels in all, visible and hidden regions (by the truth of the left view: a pixel is
hidden if its match is outside or that of a pixel of larger disparity), and the mean rank among the four over all of that.
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
NAMES = (("left.png", "right.png", "disparity.png"), ("aloeL.jpg", "aloeR.jpg", "aloeGT.png"))
REGIONS = ("all", "visible", "hidden")
THRESHOLDS = (0.5, 1, 2)


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


def sgbm(left, right, disparities, wls):
    """Disparities, the confidence of WLS (0 to 1) where it is asked for, and seconds."""
    number = (disparities + 15) // 16 * 16
    begin = time.perf_counter()
    matcher = cv2.StereoSGBM_create(0, number, 5, 600, 2400, uniquenessRatio=15, mode=cv2.STEREO_SGBM_MODE_HH)
    padded = [cv2.copyMakeBorder(view, 0, 0, number, 0, cv2.BORDER_REPLICATE) for view in (left, right)]
    found = matcher.compute(*padded)
    confidence = None
    if wls:
        weighted = cv2.ximgproc.createDisparityWLSFilter(matcher)
        weighted.setLambda(8000)
        weighted.setSigmaColor(1.5)
        of_right = cv2.ximgproc.createRightMatcher(matcher).compute(padded[1], padded[0])
        found = weighted.filter(found, padded[0], disparity_map_right=of_right)
        confidence = weighted.getConfidenceMap()[:, number:] / 255
    found = found[:, number:].astype(np.float32) / 16
    seconds = time.perf_counter() - begin
    return fill_from_background(np.where(found < 0, np.nan, found)), confidence, seconds


def regions(truth):
    """Masks of what is known: all, what the right view sees, and what it does not."""
    height, width = truth.shape
    known = ~np.isnan(truth)
    match = np.rint(np.arange(width) - np.where(known, truth, 0)).astype(int)
    inside = known & (match >= 0)
    nearest = np.full((height, width), -1.0)
    rows = np.broadcast_to(np.arange(height)[:, None], truth.shape)
    np.maximum.at(nearest, (rows[inside], match[inside]), truth[inside])
    visible = inside.copy()
    visible[inside] = nearest[rows[inside], match[inside]] - truth[inside] <= 1
    return [known, visible, known & ~visible]


def bad(disparity, truth):
    """Percentages, by region and threshold."""
    error = np.abs(disparity - truth)
    return np.array([[100 * np.mean(error[mask] > threshold) if mask.any() else 0.0 for threshold in THRESHOLDS]
                     for mask in regions(truth)])


def ause(is_bad, uncertainty, steps=20):
    """The area between the share of bad pixels that remain when the most uncertain ones are removed and that of the best
    order; pixels of equal uncertainty are removed in random order (submarine/stereo/evaluation.h)."""
    removed = np.arange(steps) / steps * is_bad.size

    def remaining(order):
        _, group, count = np.unique(-order, return_inverse=True, return_counts=True)
        bad_of_group = np.bincount(group, is_bad)
        ends, bad_until = np.r_[0, np.cumsum(count)], np.r_[0, np.cumsum(bad_of_group)]
        return (is_bad.sum() - np.interp(removed, ends, bad_until)) / (is_bad.size - removed)

    difference = remaining(uncertainty) - remaining(is_bad.astype(float))
    return np.sum((difference[1:] + difference[:-1]) / 2) / steps


def ece(is_bad, confidence, bins=10):
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    return 100 * sum(abs(confidence[bin_of == b].sum() - (~is_bad)[bin_of == b].sum()) for b in range(bins)) / is_bad.size


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


def shrunk(view, factor):
    """As --shrink does it: means of blocks."""
    height, width = view.shape[0] // factor, view.shape[1] // factor
    blocks = view[:height * factor, :width * factor].reshape(height, factor, width, factor, -1)
    return np.rint(blocks.mean((1, 3))).astype(np.uint8)


def coloured(values, low, high):
    scaled = np.clip((np.nan_to_num(values, nan=low) - low) / max(high - low, 1e-6), 0, 1)
    picture = cv2.applyColorMap((255 * scaled).astype(np.uint8), cv2.COLORMAP_VIRIDIS)
    picture[np.isnan(values)] = 128
    return picture


def write_pictures(file, left, truth, theirs, ours, uncertainty, occluded):
    """Left view, truth, SGBM; ours, uncertainty, mask of what the right view does not confirm."""
    low, high = np.nanmin(truth), np.nanmax(truth)
    mask = cv2.cvtColor(255 * occluded.astype(np.uint8), cv2.COLOR_GRAY2BGR)
    panels = [left, coloured(truth, low, high), coloured(theirs, low, high), coloured(ours, low, high),
              coloured(uncertainty, 0, 1), mask]
    framed = [cv2.copyMakeBorder(panel, 3, 3, 3, 3, cv2.BORDER_CONSTANT, value=(255, 255, 255)) for panel in panels]
    file.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(file), np.vstack([np.hstack(framed[:3]), np.hstack(framed[3:])]))


class Pair:
    def __init__(self, spec, arguments):
        name, *numbers = spec.split(",")
        self.directory = pathlib.Path(name)
        self.name = self.directory.name
        factor, disparities = KNOWN.get(self.name.lower(), (1, 0))
        self.factor = float(numbers[0]) if numbers else factor
        self.disparities = int(numbers[1]) if len(numbers) > 1 else disparities
        self.out = arguments.out / self.name
        self.files = [self.directory / file
                      for file in next(names for names in NAMES if (self.directory / names[0]).exists() or names is NAMES[-1])]
        self.command = [arguments.submarine, "stereo", *self.files[:2], "-q", "--no-report", "-o", self.out, "--truth",
                        f"{self.files[2]},{self.factor:g}", "--shrink", arguments.shrink]
        if self.disparities and not arguments.guess:
            self.command += ["--disparities", self.disparities]
        if cv2 is not None:
            self.left, self.right = (shrunk(cv2.imread(str(file)), arguments.shrink) for file in self.files[:2])

    def measure(self, arguments):
        """Bad pixels of each method, confidences, and seconds."""
        seconds = {"fast": [], "ours": [], "SGBM": [], "WLS": []}
        found = {}
        for _ in range(arguments.repeat):
            seconds["fast"].append(run([*self.command, "--fast"]))
            found["fast"] = np.load(self.out / "disparity.npy")
            seconds["ours"].append(run(self.command))
            found["ours"] = np.load(self.out / "disparity.npy")
            for method, wls in (("SGBM", False), ("WLS", True)):
                if cv2 is None or (wls and not hasattr(cv2, "ximgproc")):
                    continue
                number = self.disparities or self.left.shape[1] // 4
                found[method], confidence, spent = sgbm(self.left, self.right, number, wls)
                seconds[method].append(spent)
                if wls:
                    self.confidence = confidence
        self.truth = np.load(self.out / "truth.npy")
        self.found = found
        self.bad = {method: bad(disparity, self.truth) for method, disparity in found.items()}
        self.seconds = {method: min(times, default=np.nan) for method, times in seconds.items()}
        summary = json.loads((self.out / "summary.json").read_text())
        self.sure = {"ours": (summary["truth"]["sparsification"]["error"], 100 * summary["truth"]["calibration"]["expected_error"])}
        self.guessed = summary["options"]["stereo"]["disparities"]
        self.held = held(np.load(self.out / "marginals.npy", mmap_mode="r"), self.truth)
        known = ~np.isnan(self.truth)
        if "WLS" in found:
            is_bad = (np.abs(found["WLS"] - self.truth) > 1)[known]
            self.sure["WLS"] = (ause(is_bad, 1 - self.confidence[known]), ece(is_bad, self.confidence[known]))
        # Ours once more, by the definitions above.
        is_bad = (np.abs(found["ours"] - self.truth) > 1)[known]
        again = ause(is_bad, np.load(self.out / "uncertainty.npy")[known])
        if abs(again - self.sure["ours"][0]) > 1e-3:
            print(f"{self.name}: AUSE is {again:.4f} here", file=sys.stderr)

    def row(self):
        nothing = np.full((3, 3), np.nan)
        return [*self.bad.get("SGBM", nothing)[0], *self.bad["ours"][0], self.bad["fast"][0, 1], *self.sure["ours"], self.held,
                *self.sure.get("WLS", (np.nan, np.nan)), self.bad.get("WLS", nothing)[0, 1],
                *(self.seconds[method] for method in ("ours", "fast", "SGBM", "WLS"))]


def show(name, row, guessed=""):
    print("{:9} | {:9.2f} {:4.1f} {:4.1f} | {:9.2f} {:4.1f} {:4.1f} {:7.1f} | {:.4f} {:4.1f}% {:17.1f}% | {:.4f} {:4.1f}% {:5.1f} |"
          " {:5.2f} {:6.2f} {:6.3f} {:6.3f} {}".format(name, *row, guessed), flush=True)


def show_means(pairs):
    methods = list(pairs[0].bad)
    print("\nmeans      | " + " | ".join(f"{region:^16}" for region in REGIONS) + " | mean rank")
    scores = np.array([[pair.bad[method].ravel() for pair in pairs] for method in methods])
    ranks = 1 + (scores[:, None] > scores[None]).sum(1) + 0.5 * ((scores[:, None] == scores[None]).sum(1) - 1)
    for method, of_pairs, rank in zip(methods, scores, ranks):
        means = of_pairs.mean(0).reshape(3, 3)
        print(f"{method:10} | " + " | ".join(" ".join(f"{value:5.2f}" for value in row) for row in means) + f" | {rank.mean():.2f}")
    if "SGBM" in methods:
        worst = max(pairs, key=lambda pair: pair.bad["ours"][0, 1] / pair.bad["SGBM"][0, 1])
        mean = [np.mean([pair.bad[method][0, 1] for pair in pairs]) for method in ("ours", "SGBM")]
        print(f"bad > 1 px beside SGBM's: {mean[0] / mean[1]:.2f} of its mean; at most "
              f"{worst.bad['ours'][0, 1] / worst.bad['SGBM'][0, 1]:.2f} times, on {worst.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="PAIR[,FACTOR[,DISPARITIES]]")
    parser.add_argument("--submarine", default="build/bin/submarine")
    parser.add_argument("--out", default="stereo-out", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="write NAME.png of each pair there")
    parser.add_argument("--guess", action="store_true", help="ours estimates the number of disparities")
    parser.add_argument("--shrink", default=1, type=int)
    parser.add_argument("--repeat", default=3, type=int)
    arguments = parser.parse_args()
    print("pair      | SGBM >0.5   >1   >2 | ours >0.5   >1   >2 fast >1 | AUSE    ECE  90% interval holds | WLS: AUSE ECE  >1 |"
          "   ours   fast   SGBM    WLS seconds")
    pairs = []
    for spec in arguments.pairs:
        pair = Pair(spec, arguments)
        pair.measure(arguments)
        show(pair.name, pair.row(), f"{pair.guessed} disparities" if arguments.guess else "")
        if arguments.pictures and cv2 is not None:
            uncertainty, raw = np.load(pair.out / "uncertainty.npy"), np.load(pair.out / "disparity_raw.npy")
            write_pictures(arguments.pictures / f"{pair.name}.png", pair.left, pair.truth, pair.found["SGBM"], pair.found["ours"],
                           uncertainty, np.isnan(raw))
        pairs.append(pair)
    show("mean", np.mean([pair.row() for pair in pairs], axis=0))
    show_means(pairs)
    if cv2 is None:
        print("cv2 is not installed (python3-opencv): nothing to compare with", file=sys.stderr)


if __name__ == "__main__":
    main()
