"""`submarine-experiments segment-bench` on real pictures: what docs/experiments.md says of five updates."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from segment_bench_test import BenchTest
from submarine_support import SOURCE_DIR, main

DATA = pathlib.Path(os.environ.get("SUBMARINE_DATA", SOURCE_DIR / ".." / "shared" / "data")) / "segmentation"


@unittest.skipUnless(DATA.is_dir(), f"no {DATA} (set SUBMARINE_DATA)")
class RealPictures(BenchTest):

    def msrc(self):
        (self.directory / "msrc").mkdir()
        for name in ("2_14_s", "4_11_s"):
            shutil.copy(DATA / f"{name}.bmp", self.directory / "msrc" / f"{name}.bmp")
            shutil.copy(DATA / f"{name}_gt21.png", self.directory / "msrc" / f"{name}.labels.png")
            subprocess.run([sys.executable, SOURCE_DIR / "tools" / "convert_c_unary.py", DATA / f"{name}.c_unary",
                            self.directory / "msrc" / f"{name}.softmax.npy"], check=True)

    def test_msrc(self):
        self.msrc()
        self.bench("msrc", "--methods", "unary,mf5,mf,pydensecrf5")
        rows = self.rows()
        self.assert_five_updates_are_enough(rows)
        self.assertGreater(self.mean(rows, "mf5", "accuracy"), self.mean(rows, "unary", "accuracy"))

    def test_voc_with_synthetic_softmaxes(self):
        """The pictures of docs/experiments.md, medium softmaxes, seed 1: means, as single pictures differ either way."""
        lines = []
        for name in ("2007_000033", "2007_000129", "2007_000332", "2007_000346"):
            truth = DATA / "voc" / f"{name}_labels.png"
            self.run_well("generate", "--softmax", truth, "--labels", 21, "--cell", 12, "--noise", 1.5, "-o",
                          f"{name}.npy")
            lines.append(f"{DATA / 'voc' / name}.png\t{name}.npy\t{truth}\n")
        self.write("list.tsv", "".join(lines))
        self.bench("list.tsv", "--methods", "mf5,mf,pydensecrf5", timeout=500)
        self.assert_five_updates_are_enough(self.rows())


if __name__ == "__main__":
    main()
