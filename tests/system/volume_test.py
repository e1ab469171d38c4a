"""`submarine segment` on NIfTI volumes, beside nibabel: places, units, ranges, parts, certified volumes, and what is refused."""

import itertools
import os
import pathlib
import struct
import sys
import unittest

from submarine_support import CommandTest, main, png_size, read_json

try:
    import nibabel
    import numpy as np
except ImportError as error:  # said by every test
    nibabel = np = None
    MISSING = str(error)

SHAPE = (20, 24, 8)


def oblique():
    """Voxels of 0.8 x 0.8 x 4 mm, turned about two axes."""
    about_z, about_x = np.eye(3), np.eye(3)
    about_z[:2, :2] = [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    about_x[1:, 1:] = [[np.cos(0.2), -np.sin(0.2)], [np.sin(0.2), np.cos(0.2)]]
    affine = np.eye(4)
    affine[:3, :3] = about_z @ about_x @ np.diag([0.8, 0.8, 4.0])
    affine[:3, 3] = [-30, 12.5, 7]
    return affine


def head():
    """Probabilities with noise, an image of 16 bits in a scanner's units, and the truth."""
    rng = np.random.default_rng(1)
    place = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in SHAPE), indexing="ij"), -1)
    far = np.linalg.norm(place, axis=-1)
    truth = (far < 0.8).astype(np.uint8) + (far < 0.45)
    image = (truth * 900.0 - 400 + rng.normal(0, 60, SHAPE)).astype(np.int16)
    logits = rng.normal(0, 1.2, (*SHAPE, 3))
    np.put_along_axis(logits, truth[..., None].astype(int), np.take_along_axis(
        logits, truth[..., None].astype(int), -1) + 1.5, -1)
    softmax = np.exp(logits)
    return (softmax / softmax.sum(-1, keepdims=True)).astype(np.float32), image, truth


@unittest.skipIf(nibabel is None, "nibabel or numpy is not there")
class Volumes(CommandTest):

    def setUp(self):
        super().setUp()
        self.softmax, self.image, self.truth = head()
        self.save("p.nii.gz", self.softmax)
        self.save("t1.nii.gz", self.image)

    def save(self, name, values, affine=None, unit="mm"):
        volume = nibabel.Nifti1Image(values, oblique() if affine is None else affine)
        volume.header.set_xyzt_units(unit)
        nibabel.save(volume, str(self.directory / name))
        return name

    def load(self, name):
        return nibabel.load(str(self.directory / name))

    def labels(self, image="t1.nii.gz", softmax="p.nii.gz", *more):
        self.run_well("segment", image, "--softmax", softmax, "-o", "out", "--no-report", "--quiet", *more)
        return np.asarray(self.load("out/labels.nii.gz").dataobj)

    def test_results_keep_their_place(self):
        self.save("truth.nii", self.truth)
        finished = self.run_well("segment", "t1.nii.gz", "--softmax", "p.nii.gz", "--truth", "truth.nii", "-o", "out")
        labels, probabilities = self.load("out/labels.nii.gz"), self.load("out/probabilities.nii.gz")
        image = self.load("t1.nii.gz")
        for written in (labels, probabilities):
            np.testing.assert_allclose(written.affine, image.affine, atol=1e-6)
            self.assertEqual(written.header.get_xyzt_units()[0], "mm")
            self.assertEqual(int(written.header["sform_code"]), int(image.header["sform_code"]))
        self.assertEqual(labels.get_data_dtype(), np.uint8)
        found, rows = np.asarray(labels.dataobj), probabilities.get_fdata()
        self.assertEqual(rows.shape, (*SHAPE, 3))
        self.assertLess(np.abs(rows.sum(-1) - 1).max(), 1e-4)
        np.testing.assert_array_equal(rows.argmax(-1), found)
        right = (found == self.truth).mean()
        self.assertGreater(right, (self.softmax.argmax(-1) == self.truth).mean() + 0.1)
        summary = read_json(self.directory / "out" / "summary.json")
        self.assertAlmostEqual(summary["segmentation"]["after"]["accuracy"], right, places=9)
        self.assertAlmostEqual(summary["segmentation"]["millilitres"]["2"], (found == 2).sum() * 0.8 * 0.8 * 4 / 1000, places=5)
        self.assertIn(" ml)", finished.stdout)
        self.assertIn("2.4 mm", finished.stdout)  # three sides of the finest axis
        page = (self.directory / "out" / "report.html").read_text()
        self.assertIn("Slices of 20 x 24 x 8 voxels", page)
        self.assertEqual(png_size(self.directory / "out" / "labels.png"), png_size(self.directory / "out" / "image.png"))

    def test_labels_are_those_of_python(self):
        package = pathlib.Path(os.environ["SUBMARINE_BUILD_DIR"]) / "python"
        if not (package / "submarine").is_dir():
            self.skipTest("the Python package was not built")
        sys.path.insert(0, str(package))
        import submarine as sm
        found = sm.refine_volume(str(self.directory / "p.nii.gz"), str(self.directory / "t1.nii.gz"))
        self.assertGreater((found.labels == self.labels()).mean(), 0.999)

    def test_where_a_file_keeps_what_does_not_matter(self):
        """gzip or not, a qform alone, the fifth axis, big-endian numbers, scaled ones, metres, a file for each label."""
        labels = self.labels()
        volume = nibabel.Nifti1Image(self.image.astype(">i2"), None, nibabel.Nifti1Header(endianness=">"))
        volume.set_qform(oblique(), 1)
        nibabel.save(volume, str(self.directory / "big.nii"))
        scaled = nibabel.Nifti1Image(self.image, oblique())
        scaled.header.set_slope_inter(0.5, 100)
        nibabel.save(scaled, str(self.directory / "scaled.nii"))
        metres = oblique()
        metres[:3] /= 1000
        self.save("m.nii", self.image, metres, "meter")
        self.save("pm.nii", self.softmax, metres, "meter")
        self.save("p5.nii", self.softmax[:, :, :, None])
        for k in (1, 2):
            self.save(f"p{k}.nii", self.softmax[..., k])
        for image, softmax in (("big.nii", "p.nii.gz"), ("scaled.nii", "p.nii.gz"), ("m.nii", "pm.nii"),
                               ("t1.nii.gz", "p5.nii"), ("t1.nii.gz", "p1.nii,p2.nii")):
            self.assertGreater((self.labels(image, softmax) == labels).mean(), 0.998, (image, softmax))
        np.testing.assert_allclose(self.load("out/labels.nii.gz").affine, oblique(), atol=1e-5)
        for k in (1, 2):
            self.save(f"b{k}.nii", np.round(255 * self.softmax[..., k]).astype(np.uint8))
        self.assertGreater((self.labels("t1.nii.gz", "b1.nii,b2.nii") == labels).mean(), 0.99)

    def test_volumes_are_proven_in_ml(self):
        few = np.s_[6:14, 8:16, 2:5]
        self.save("t1.nii.gz", self.image[few])
        self.save("p.nii.gz", self.softmax[few])
        finished = self.run_well("segment", "t1.nii.gz", "--softmax", "p.nii.gz", "-o", "out", "--certify", "--gap", 0.05,
                                 "--time-limit", 100, "--no-report")
        self.assertIn("Volumes in the file, with the same certainty: ", finished.stdout)
        summary = read_json(self.directory / "out" / "summary.json")
        labels = np.asarray(self.load("out/labels.nii.gz").dataobj)
        np.testing.assert_array_equal(labels, self.labels())
        proven = {value["name"]: value for value in summary["expectations"]}
        for label in set(labels.ravel().tolist()):
            value = proven[f"volume of {label}"]
            self.assertEqual(value["unit"], "ml")
            self.assertAlmostEqual(value["labels"], (labels == label).sum() * 0.8 * 0.8 * 4 / 1000, places=5)
            self.assertLessEqual(value["credible_lower"], value["lower"])
            self.assertLessEqual(value["lower"], value["upper"])
            self.assertAlmostEqual(value["most"], labels.size * 0.8 * 0.8 * 4 / 1000, places=4)

    def test_what_is_wrong_with_it(self):
        def refused(mentions, image, softmax, *more):
            finished = self.run_command("segment", image, "--softmax", softmax, "-o", "none", "--quiet", *more)
            self.assert_one_sentence(finished, mentions)
            self.assertFalse((self.directory / "none").exists())

        def broken(name, values, place):
            values = values.astype(np.float32)
            values[place] = np.nan
            return self.save(name, values)

        turned, shifted = oblique(), oblique()
        turned[:, 0] *= -1
        shifted[:3, 3] += 3
        self.save("turned.nii", self.softmax, turned)
        self.save("shifted.nii", self.softmax, shifted)
        self.save("wide.nii", self.softmax, oblique() @ np.diag([2, 1, 1, 1]))
        self.save("small.nii", self.softmax[:, :, :5])
        self.save("logits.nii", 40 * np.log(self.softmax))
        self.save("colours.nii", np.zeros(SHAPE, [("R", "u1"), ("G", "u1"), ("B", "u1")]))
        refused(["orientation or origin"], "t1.nii.gz", "turned.nii")
        refused(["orientation or origin", "mm apart"], "t1.nii.gz", "shifted.nii")
        refused(["0.8 x 0.8 x 4 mm", "1.6 x 0.8 x 4 mm"], "t1.nii.gz", "wide.nii")
        refused(["20 x 24 x 8", "20 x 24 x 5"], "t1.nii.gz", "small.nii")
        refused(["expected none below 0"], "t1.nii.gz", "logits.nii")
        refused(["nan at voxel x = 2, y = 3, z = 4"], broken("nan.nii", self.image, (2, 3, 4)), "p.nii.gz")
        refused(["nan at voxel x = 2, y = 3, z = 4, label 1"], "t1.nii.gz", broken("nanp.nii", self.softmax, (2, 3, 4, 1)))
        refused(["one integer or float per voxel"], "colours.nii", "p.nii.gz")
        refused(["3 values per voxel"], "p.nii.gz", "p.nii.gz")
        refused(["--max-memory"], "t1.nii.gz", "p.nii.gz", "--max-memory", "1e-4")
        refused(["none.nii", "No such file"], "t1.nii.gz", "none.nii")
        self.write("junk.nii", b"no volume" * 200)
        refused(["junk.nii", "NIfTI"], "junk.nii", "p.nii.gz")
        whole = (self.directory / "p.nii.gz").read_bytes()
        self.write("short.nii.gz", whole[:len(whole) // 2])
        refused(["short.nii.gz", "ends before its last voxel"], "t1.nii.gz", "short.nii.gz")
        nibabel.save(self.load("t1.nii.gz"), str(self.directory / "plain.nii"))
        plain = (self.directory / "plain.nii").read_bytes()
        for dims in ((32767, 32767, 32767), (3000, 3000, 10), (0, 5, 5), (-3, 5, 5)):
            header = bytearray(plain)
            struct.pack_into("<8h", header, 40, 3, *dims, 1, 1, 1, 1)
            self.write("lies.nii", bytes(header))
            refused(["lies.nii"], "lies.nii", "p.nii.gz")
        for place in itertools.chain(range(0, 8), (40, 70, 108, 344)):  # of the header
            header = bytearray(plain)
            header[place] ^= 0xFF
            self.write("damaged.nii", bytes(header))
            self.assertIn(self.run_command("segment", "damaged.nii", "--softmax", "p.nii.gz", "-o", "any", "--quiet").code, (0, 2))


if __name__ == "__main__":
    main()
