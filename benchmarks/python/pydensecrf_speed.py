#!/usr/bin/env python3
"""Whole calls of the drop-in beside pydensecrf, set-up included: a 640 x 480 picture, 21 labels, 5 iterations.

usage: pydensecrf_speed.py PICTURE [--ours PYTHON] [--theirs PYTHON] [--rounds N] [--threads N]

Both run in processes of their own, by turns, and the best of the rounds counts: ours with PYTHONPATH=build/python
(the Python named by --ours), theirs by a Python that has pydensecrf installed. PICTURE is a PNG (im1.png of
pydensecrf's examples), enlarged to the size by repeating pixels.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

WORK = """
import json, resource, sys, time
sys.path.insert(0, {tests!r})
import numpy as np
from png_reader import read_png
image = read_png({picture!r})
y = np.arange(480) * image.shape[0] // 480
x = np.arange(640) * image.shape[1] // 640
image = np.ascontiguousarray(image[y][:, x])
blocks = np.random.default_rng(1).integers(0, 21, (15, 20)).repeat(32, 0).repeat(32, 1)
unary = np.full((21, 480 * 640), -np.log(0.3 / 20), np.float32)
unary[blocks.ravel(), np.arange(480 * 640)] = -np.log(0.7)
if {ours}:
    import submarine, submarine.compat.install
    submarine.set_threads({threads})
import pydensecrf.densecrf as dcrf
before = resource.getrusage(resource.RUSAGE_SELF)
begin = time.perf_counter()
d = dcrf.DenseCRF2D(640, 480, 21)
d.setUnaryEnergy(unary)
d.addPairwiseGaussian(sxy=3, compat=3)
d.addPairwiseBilateral(sxy=80, srgb=13, rgbim=image, compat=10)
middle = time.perf_counter()
setup = resource.getrusage(resource.RUSAGE_SELF)
q = d.inference(5)
end = time.perf_counter()
after = resource.getrusage(resource.RUSAGE_SELF)
def cpu(since, until):
    return until.ru_utime + until.ru_stime - since.ru_utime - since.ru_stime
print(json.dumps(dict(setup=middle - begin, inference=end - middle, whole=end - begin,
                      setup_cpu=cpu(before, setup), cpu=cpu(before, after), peak_mb=after.ru_maxrss / 1024,
                      call_mb=(after.ru_maxrss - before.ru_maxrss) / 1024, sum=float(np.argmax(np.array(q), axis=0).sum()))))
"""


def measure(python, ours, arguments):
    code = WORK.format(tests=str(ROOT / "tests" / "python"), picture=arguments.picture, ours=ours,
                       threads=arguments.threads)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "python") if ours else ""}
    run = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture")
    parser.add_argument("--ours", default="/usr/bin/python3")
    parser.add_argument("--theirs", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    best = {True: {}, False: {}}
    for _ in range(arguments.rounds):
        for ours in (True, False):
            for key, value in measure(arguments.ours if ours else arguments.theirs, ours, arguments).items():
                best[ours][key] = min(value, best[ours].get(key, value))
    for ours in (True, False):
        print("ours  " if ours else "theirs", {key: round(value, 3) for key, value in best[ours].items()})
    print(f"whole calls: {best[False]['whole'] / best[True]['whole']:.2f}x, "
          f"CPU {best[False]['cpu'] / best[True]['cpu']:.2f}x, "
          f"CPU of set-up {best[False]['setup_cpu'] / best[True]['setup_cpu']:.2f}x, "
          f"memory {best[True]['peak_mb'] / best[False]['peak_mb']:.2f} of the process, "
          f"{best[True]['call_mb'] / best[False]['call_mb']:.2f} beyond what it held before the call")


if __name__ == "__main__":
    main()
