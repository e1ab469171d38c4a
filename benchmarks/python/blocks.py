#!/usr/bin/env python3
"""Blocks of a made volume: labels with 1 and 2 workers, blocks of three sizes, what the halo costs, and the interval.

usage: PYTHONPATH=build/python /usr/bin/python3 benchmarks/python/blocks.py [--side N] [--labels L] [--blocks A,B,C] [--max-memory GB]
       [--certify] [--folder DIR] [--quick]

The volume has N x N x N/2 voxels and objects of several sizes, 8 bits of grey with noise, and a softmax with noise; it is written
slab by slab to .npy files, so that it may be larger than the memory. For every row: seconds, CPU seconds of all workers, those per
million voxels, how much more is read than there is, and the seconds that the model below predicts. --quick leaves out everything but one
call with the block that fits --max-memory.

    CPU seconds = c N prod(1 + 2 h / b),  seconds = CPU seconds / workers + tasks s,

c being measured on the largest blocks (CPU seconds per voxel), s the start of a process.
"""

import argparse
import json
import math
import os
import pathlib
import tempfile
import time

import numpy as np

import submarine as sm

KERNELS = dict(position_sigma=1, position_weight=3, bilateral_sigma=3, colour_sigma=8, bilateral_weight=4)
START = 0.35  # seconds of a process until it has read its task


def make(folder, shape, labels):
    """softmax.npy and image.npy, unless they are there."""
    names = folder / f"softmax-{shape[0]}-{labels}.npy", folder / f"image-{shape[0]}-{labels}.npy"
    if all(name.exists() for name in names):
        return names
    softmax = np.lib.format.open_memmap(names[0], mode="w+", dtype=np.float16, shape=(*shape, labels))
    image = np.lib.format.open_memmap(names[1], mode="w+", dtype=np.uint8, shape=shape)
    rng = np.random.default_rng(1)
    centres, radii = rng.random((12 * labels, 3)) * shape, rng.uniform(0.05, 0.2, 12 * labels) * min(shape)
    y, x = np.mgrid[:shape[1], :shape[2]]
    for z in range(shape[0]):
        truth = np.zeros(shape[1:], int)
        for number, (centre, radius) in enumerate(zip(centres, radii)):
            inside = (z - centre[0]) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2 < radius**2
            truth[inside] = number % labels
        image[z] = np.clip(40 + 160 * truth / labels + rng.normal(0, 6, truth.shape), 0, 255)
        logits = rng.normal(0, 1.5, (*truth.shape, labels)).astype(np.float32)
        np.put_along_axis(logits, truth[..., None], np.take_along_axis(logits, truth[..., None], -1) + 2, -1)
        logits -= logits.max(-1, keepdims=True)
        e = np.exp(logits)
        softmax[z] = e / e.sum(-1, keepdims=True)
    softmax.flush()
    image.flush()
    return names


def run(names, out, **options):
    """Seconds, and what the call says about itself."""
    start = time.perf_counter()
    found = sm.blocks.refine(str(names[0]), str(names[1]), str(out), threads=1, **KERNELS, **options)
    return time.perf_counter() - start, found


def row(title, seconds, found, voxels, predicted):
    summary = found.summary
    cpu = sum(phase["cpu"] for phase in summary["phases"].values())
    read = math.prod(
        min(b + 2 * h, n) / b for b, h, n in zip(summary["sides"], summary["halos"], summary["extent"])
    )
    cost = cpu / voxels / read
    print(
        f"{title:34} {seconds:8.1f} s {cpu:8.1f} s CPU {1e6 * cpu / voxels:7.2f} s/Mvoxel  read {read:4.2f}x  "
        f"predicted {predicted(summary, read, cost):7.1f} s  {summary['megabytes_of_largest_worker']:5.0f} MB  "
        f"seams {summary['seams']['different']}/{summary['seams']['compared']}", flush=True
    )
    return cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--labels", type=int, default=4)
    parser.add_argument("--blocks", default="32,48,64")
    parser.add_argument("--max-memory", type=float, default=1.5)
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder")
    args = parser.parse_args()
    folder = pathlib.Path(args.folder or tempfile.mkdtemp(prefix="submarine-benchmark-"))
    folder.mkdir(exist_ok=True)
    shape = (args.side // 2, args.side, args.side)
    voxels = math.prod(shape)
    names = make(folder, shape, args.labels)
    out = folder / "labels.npy"
    print(f"{args.side // 2} x {args.side} x {args.side} voxels, {args.labels} labels, load {os.getloadavg()[0]:.1f}", flush=True)
    if args.quick:
        seconds, found = run(names, out, max_memory=args.max_memory, certify=args.certify, progress=True, workers=2)
        print(found, f"{seconds:.0f} s, {1e6 * seconds / voxels:.2f} s per megavoxel")
        print(json.dumps(found.summary, indent=1))
        return
    sides = sorted((int(side) for side in args.blocks.split(",")), reverse=True)
    cost = {}

    def predicted(workers):
        def value(summary, read, own):
            each = cost.get("voxel", own)
            tasks = sum(phase["tasks"] for phase in summary["phases"].values())
            return (each * voxels * read + tasks * START) / workers
        return value

    for side in sides:
        for workers in (1, 2):
            seconds, found = run(names, out, block=side, workers=workers, certify=False, max_memory=args.max_memory)
            found_cost = row(f"blocks of {side}, {workers} worker(s)", seconds, found, voxels, predicted(workers))
            cost.setdefault("voxel", found_cost)
    for halo in (0, 9, 18):
        seconds, found = run(
            names, out, block=sides[0], halo=halo, small_halo=True, workers=2, certify=False, max_memory=args.max_memory
        )
        row(f"blocks of {sides[0]}, halo {halo}", seconds, found, voxels, predicted(2))
    if args.certify:
        seconds, found = run(names, out, block=sides[0], workers=2, max_memory=args.max_memory)
        row(f"blocks of {sides[0]}, with the interval", seconds, found, voxels, predicted(2))
        print(found, json.dumps(found.summary["phases"]))


if __name__ == "__main__":
    main()
