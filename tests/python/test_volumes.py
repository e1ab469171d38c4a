"""NIfTI volumes and point clouds: files in, files out, and what is wrong with them in one sentence."""

import functools
import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import submarine as sm
from conftest import require_shared


def nifti():
    return pytest.importorskip("nibabel", reason="nibabel is not installed; NIfTI volumes are not tested")


def head(shape=(20, 24, 10), seed=1):
    """Probabilities with noise, an image of 16 bits, and the truth."""
    rng = np.random.default_rng(seed)
    place = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij"), -1)
    truth = (np.linalg.norm(place, axis=-1) < 0.8).astype(int) + (np.linalg.norm(place, axis=-1) < 0.4)
    image = (truth * 900 + 200 + rng.normal(0, 60, shape)).astype(np.int16)
    logits = rng.normal(0, 1.2, (*shape, 3))
    np.put_along_axis(logits, truth[..., None], np.take_along_axis(logits, truth[..., None], -1) + 1.5, -1)
    softmax = np.exp(logits)
    return (softmax / softmax.sum(-1, keepdims=True)).astype(np.float32), image, truth


OBLIQUE = np.array([[0.9, -0.2, 0.1, -12], [0.2, 0.9, -0.3, 7], [0.05, 0.3, 2.9, 30], [0, 0, 0, 1]])


def save(path, values, affine=OBLIQUE):
    nibabel = nifti()
    volume = nibabel.Nifti1Image(values, affine)
    volume.header.set_xyzt_units("mm", "sec")
    nibabel.save(volume, str(path))
    return str(path)


def test_volumes_keep_their_place(tmp_path):
    nibabel = nifti()
    softmax, image, truth = head()
    p, t1, out = save(tmp_path / "p.nii.gz", softmax), save(tmp_path / "t1.nii.gz", image), str(tmp_path / "labels.nii.gz")
    found = sm.refine_volume(p, t1, out)
    written = nibabel.load(out)
    np.testing.assert_array_equal(np.asarray(written.dataobj), found.labels)
    np.testing.assert_allclose(written.affine, OBLIQUE, atol=1e-5)
    assert written.get_data_dtype() == np.uint8 and written.header.get_xyzt_units() == ("mm", "sec")
    assert (found.labels == truth).mean() > (softmax.argmax(-1) == truth).mean() + 0.1
    voxel = abs(np.linalg.det(OBLIQUE[:3, :3]))
    assert found.spacing == pytest.approx(np.linalg.norm(OBLIQUE[:3, :3], axis=0), rel=1e-5)
    assert found.millilitres()[2] == pytest.approx((found.labels == 2).sum() * np.prod(found.spacing) / 1000, rel=1e-6)
    assert np.prod(found.spacing) == pytest.approx(voxel, rel=0.05)


def test_blocks_of_files_have_the_labels_of_the_whole(tmp_path):
    nibabel = nifti()
    softmax, image, _ = head((30, 24, 20))
    # A file for each label but the first, as bytes, and an image of 16 bits.
    parts = [save(tmp_path / f"p{label}.nii.gz", np.round(255 * softmax[..., label]).astype(np.uint8)) for label in (1, 2)]
    t1, out, by_command = save(tmp_path / "t1.nii.gz", image), tmp_path / "labels.nii.gz", tmp_path / "again.nii.gz"
    kernels = dict(position_sigma=1.5, position_weight=2, bilateral_sigma=(2, 2, 3), colour_sigma=90, bilateral_weight=2)
    whole = sm.refine_volume(parts, t1, **kernels)
    found = sm.blocks.refine(parts, t1, out, block=16, certify=False, scheduler="here", **kernels)
    written = nibabel.load(str(out))
    assert found.labels == str(out) and not pathlib.Path(f"{out}.blocks").exists()
    np.testing.assert_allclose(written.affine, OBLIQUE, atol=1e-5)
    # Lattices of (z, y, x) are not quite those of (x, y, z).
    assert (np.asarray(written.dataobj) == whole.labels).mean() > 0.997
    run = functools.partial(
        subprocess.run, capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(sm.__file__).parents[1])},
    )
    command = [sys.executable, "-m", "submarine.blocks", ",".join(parts), t1, "-o", str(by_command)]
    told = run([*command, "--block", "16", "--bilateral", "2,90,2", "--position", "1.5,2"])
    assert told.returncode == 0, told.stderr
    assert "Certified: log Z lies between" in told.stdout and nibabel.load(str(by_command)).shape == image.shape
    told = run([*command[:4], save(tmp_path / "small.nii", image[1:]), *command[5:]])
    assert told.returncode == 2 and told.stderr.count("\n") == 1 and "voxels" in told.stderr
    refused = run([*command, "--max-memory", "0.01"])
    assert refused.returncode == 2 and "max_memory" in refused.stderr


def test_proven_volumes_are_in_cubic_millimetres(tmp_path):
    softmax, image, _ = head((10, 12, 6))
    found = sm.refine_volume(save(tmp_path / "p.nii", softmax), save(tmp_path / "t1.nii", image), certify=True, time_limit=5)
    voxel = np.prod(found.spacing)
    for volume, voxels in zip(found.areas(), found.result.areas()):
        assert volume == pytest.approx([voxel * end for end in voxels], rel=1e-12)
        assert volume.lower < volume.upper


def test_millimetres_are_those_of_every_axis(tmp_path):
    softmax, image, _ = head()
    affine = np.diag([1.0, 1.0, 3.0, 1.0])
    p, t1 = save(tmp_path / "p.nii", softmax, affine), save(tmp_path / "t1.nii", image, affine)
    found = sm.refine_volume(p, t1, position_sigma=1.5, bilateral_sigma=(3, 4, 6), colour_sigma=100)
    same = sm.refine(
        softmax, image, position_sigma=(0.5, 1.5, 1.5), bilateral_sigma=(2, 4, 3), colour_sigma=100, label_axis=-1
    )  # x, y and z are the last, middle and first axis of an array
    np.testing.assert_array_equal(found.labels, same.labels)
    other = sm.refine(softmax, image, position_sigma=1.5, bilateral_sigma=(3, 4, 6), colour_sigma=100, label_axis=-1)
    assert (found.labels != other.labels).any()


def test_metres_are_a_thousand_millimetres(tmp_path):
    nibabel = nifti()
    softmax, image, _ = head()
    p, t1 = save(tmp_path / "p.nii", softmax), save(tmp_path / "t1.nii", image)
    volume = nibabel.Nifti1Image(image, np.diag([0.001, 0.001, 0.001, 1]) @ OBLIQUE)
    volume.header.set_xyzt_units("meter")
    nibabel.save(volume, str(tmp_path / "m.nii"))
    found, same = sm.refine_volume(p, tmp_path / "m.nii", bilateral_sigma=4), sm.refine_volume(p, t1, bilateral_sigma=4)
    np.testing.assert_array_equal(found.labels, same.labels)
    assert found.millilitres() == pytest.approx(same.millilitres(), rel=1e-5)


def test_a_file_for_each_label_and_the_rest(tmp_path):
    softmax, image, _ = head()
    t1 = save(tmp_path / "t1.nii", image)
    parts = [save(tmp_path / f"{k}.nii", np.round(255 * softmax[..., k]).astype(np.uint8)) for k in (1, 2)]
    found = sm.refine_volume(parts, t1)
    whole = sm.refine_volume(save(tmp_path / "p.nii", softmax), t1)
    assert found.probabilities.shape == softmax.shape
    assert (found.labels == whole.labels).mean() > 0.99


def test_bad_volumes_are_named(tmp_path):
    softmax, image, _ = head()
    p, t1 = save(tmp_path / "p.nii", softmax), save(tmp_path / "t1.nii", image)

    def refused(message, *arguments, **keywords):
        with pytest.raises(sm.Error) as error:
            sm.refine_volume(*arguments, **keywords)
        assert message in str(error.value) and "\n" not in str(error.value)

    turned = OBLIQUE.copy()
    turned[:, 0] *= -1
    refused("they differ in orientation or origin", save(tmp_path / "turned.nii", softmax, turned), t1)
    refused(" mm", save(tmp_path / "wide.nii", softmax, OBLIQUE @ np.diag([2, 1, 1, 1])), t1)
    refused("20 x 24 x 10 voxels", save(tmp_path / "small.nii", softmax[:, :, :8]), t1)
    broken = image.astype(np.float32)
    broken[2, 3, 4] = np.nan
    refused("is nan at voxel (2, 3, 4), expected finite numbers", p, save(tmp_path / "nan.nii", broken))
    (tmp_path / "no.nii").write_bytes(b"no volume")
    refused("cannot be read as NIfTI", p, tmp_path / "no.nii")
    refused("cannot be read as NIfTI", tmp_path / "none.nii", t1)
    refused("expected a name that ends with .nii or .nii.gz", p, t1, tmp_path / "labels.npy")
    refused("has values below 0", save(tmp_path / "minus.nii", softmax - 0.5), t1)
    refused("expected 1 or 3, millimetres", p, t1, position_sigma=(1, 2))


def test_a_brain(tmp_path):
    t1, grey, white = require_shared("volumes/mni152_t1.nii.gz", "volumes/mni152_gm.nii.gz", "volumes/mni152_wm.nii.gz")
    nibabel = nifti()
    whole = [nibabel.load(str(path)) for path in (t1, grey, white)]
    part = [np.asarray(volume.dataobj)[60:100, 80:120, 80:110] for volume in whole]
    rng = np.random.default_rng(1)
    truth = np.stack([255.0 - part[1].astype(float) - part[2], part[1], part[2]], -1) / 255
    noisy = np.log(np.clip(truth, 1e-3, 1)) + rng.normal(0, 1.5, truth.shape)
    softmax = np.exp(noisy) / np.exp(noisy).sum(-1, keepdims=True)
    affine = whole[0].affine
    found = sm.refine_volume(save(tmp_path / "p.nii.gz", softmax.astype(np.float32), affine), save(tmp_path / "t1.nii", part[0], affine))
    before, after = ((labels == truth.argmax(-1)).mean() for labels in (softmax.argmax(-1), found.labels))
    assert after > before


def cloud(count, labels=3, seed=1):
    rng = np.random.default_rng(seed)
    points = rng.random((count, 3)) * 10
    truth = (points[:, 0] * labels / 10).astype(int)
    colours = np.clip(truth[:, None] * 60 + 40 + rng.normal(0, 10, (count, 3)), 0, 255).astype(np.uint8)
    logits = rng.normal(0, 1.2, (count, labels))
    logits[np.arange(count), truth] += 1.5
    softmax = np.exp(logits)
    return softmax / softmax.sum(1, keepdims=True), points, colours, truth


def write_ply(path, points, colours, kind):
    header = ["ply", f"format {kind} 1.0", "comment made here", f"element vertex {len(points)}"]
    header += [f"property float {axis}" for axis in "xyz"] + [f"property uchar {name}" for name in ("red", "green", "blue")]
    header += ["element face 0", "property list uchar int vertex_indices", "end_header"]
    with open(path, "wb") as file:
        file.write("\n".join(header).encode() + b"\n")
        if kind == "ascii":
            for row in zip(points.astype(np.float32), colours):
                file.write(" ".join(map(str, itertools.chain(*row))).encode() + b"\n")
        else:
            order = "<" if "little" in kind else ">"
            table = np.empty(len(points), [("p", order + "f4", 3), ("c", "u1", 3)])
            table["p"], table["c"] = points, colours
            file.write(table.tobytes())
    return path


@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply(kind, tmp_path):
    softmax, points, colours, truth = cloud(800)
    path = write_ply(tmp_path / "cloud.ply", points, colours, kind)
    read = sm.read_points(path)
    np.testing.assert_allclose(read.points, points.astype(np.float32), rtol=1e-6)
    np.testing.assert_array_equal(read.colours, colours)
    labels, _ = sm.refine_points(softmax, path)
    assert (labels == truth).mean() > (softmax.argmax(1) == truth).mean() + 0.1
    np.save(tmp_path / "cloud.npy", np.hstack([points, colours]))
    assert (sm.refine_points(softmax, tmp_path / "cloud.npy").labels == labels).mean() > 0.99
    lower = sm.refine_points(softmax, points, certify="lower").result.lower
    assert np.isfinite(lower)


def test_bad_clouds_are_named(tmp_path):
    softmax, points, colours, _ = cloud(50)

    def refused(message, function, *arguments):
        with pytest.raises(sm.Error) as error:
            function(*arguments)
        assert message in str(error.value) and "\n" not in str(error.value)

    refused("the cloud has no points", sm.refine_points, softmax[:0], points[:0])
    refused("all 50 points are at one place", sm.refine_points, softmax, np.ones((50, 3)))
    refused("expected (50, labels), a row per point", sm.refine_points, softmax[1:], points)
    refused("the point cloud is nan at (4, 1)", sm.refine_points, softmax, np.where(np.arange(150).reshape(50, 3) == 13, np.nan, points))
    refused("expected (points, 3) or (points, 2)", sm.refine_points, softmax, points[:, :1])
    refused("expected (50, channels), a row per point", sm.refine_points, softmax, points, colours[1:])
    path = write_ply(tmp_path / "cloud.ply", points, colours, "binary_little_endian")
    data = path.read_bytes()
    (tmp_path / "short.ply").write_bytes(data[:-20])
    refused("ends after 48 of its 50 vertices", sm.read_points, tmp_path / "short.ply")
    (tmp_path / "header.ply").write_bytes(data[:60])
    refused("ends within its header", sm.read_points, tmp_path / "header.ply")
    (tmp_path / "other.ply").write_bytes(b"solid\n")
    refused("is no PLY file", sm.read_points, tmp_path / "other.ply")
    (tmp_path / "flat.ply").write_bytes(data.replace(b"float z", b"float w"))
    refused("no x, y and z", sm.read_points, tmp_path / "flat.ply")
    refused("cannot be read", sm.read_points, tmp_path / "none.ply")
    np.save(tmp_path / "wide.npy", np.zeros((4, 5)))
    refused("expected (points, 3), or (points, 6)", sm.read_points, tmp_path / "wide.npy")
    almost = points * 0
    almost[0] = 1  # one point apart
    assert sm.refine_points(softmax, almost).labels.shape == (50,)
