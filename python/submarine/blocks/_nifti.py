"""NIfTI files for blocks: copied once, a slab at a time, to arrays (z, y, x) in the folder of the call."""

from __future__ import annotations

import os
from typing import Any, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np

from .. import _volumes
from .._arrays import Array
from .._errors import InvalidInput
from ._plan import Folder, signature, write_json
from ._store import Described, new_file, opened

SUFFIXES = (".nii", ".nii.gz")
SLAB = 2**24  # voxels that are read at a time


class Volumes(NamedTuple):
    """The softmax and the image of a call."""

    softmax: Described
    image: Described
    spacing: Tuple[float, ...]  # mm, of z, y and x
    like: Any  # the file that labels are written like


def is_nifti(values: Any) -> bool:
    """One path, or a sequence of them."""
    paths = values if isinstance(values, (list, tuple)) else [values]
    return bool(paths) and all(
        isinstance(path, (str, os.PathLike)) and os.fspath(path).endswith(SUFFIXES) for path in paths
    )


def volumes_of(softmax: Any, image: Any, raw: bool, folder: Folder) -> Volumes:
    """As :func:`submarine.refine_volume` reads them; ``raw`` leaves intensities in the units of the file."""
    if not (is_nifti(softmax) and is_nifti(image) and not isinstance(image, (list, tuple))):
        raise InvalidInput("where the softmax or the image is a NIfTI file, both have to be")
    picture = _volumes.open_volume(image, "the image")
    parts = [
        _volumes.open_volume(path, "the softmax") for path in (softmax if isinstance(softmax, (list, tuple)) else [softmax])
    ]
    for volume in (picture, *parts):
        if len(volume.values.shape) not in (3, 4):
            raise InvalidInput(f'"{volume.path}" has shape {volume.values.shape}, expected 3 axes, or 4 with labels in the last')
        _volumes.same_grid(picture, volume)
    described = []
    for name, files in (("softmax", parts), ("image", [picture])):
        path, facts = folder.file(name + ".npy"), [[signature(os.path.abspath(file.path)) for file in files], raw]
        before = folder.found(name)
        if before != {"of": facts}:
            if before is not None or os.path.exists(folder.file("plan.json")):
                raise InvalidInput(f'"{path}" is of other files, of an earlier call; remove its folder, or name another by work')
            if name == "softmax":
                _copy_softmax(parts, path)
            else:
                _copy_image(picture, raw, path)
            write_json(folder.file("done", name + ".json"), {"of": facts})
        shape = tuple(opened(path).shape)
        described.append(Described(path, "", shape, "zyxc"[:len(shape)], ()))
    return Volumes(described[0], described[1], tuple(reversed(picture.spacing)), picture)


def _slabs(volume: Any, what: str) -> Iterator[Tuple[int, slice, Array]]:
    """In the order of the file, so that what is compressed is read once: channel, slab, values (z, y, x)."""
    x, y, z = volume.values.shape[:3]
    step = max(1, SLAB // max(1, x * y))
    for channel in range(volume.values.shape[3] if len(volume.values.shape) == 4 else 1):
        for start in range(0, z, step):
            part = slice(start, min(z, start + step))
            index: Tuple[Any, ...] = (slice(None), slice(None), part)
            index += (channel,) if len(volume.values.shape) == 4 else ()
            yield channel, part, _volumes.values_of(volume, what, index).T


def _copy_softmax(parts: Sequence[Any], path: str) -> None:
    channels = [volume.values.shape[3] if len(volume.values.shape) == 4 else 1 for volume in parts]
    extent = tuple(reversed(parts[0].values.shape[:3]))
    raw_path = path + ".raw.npy"
    raw = new_file(raw_path, np.float32, (*extent, sum(channels)))
    first = 0
    each: List[float] = []
    for volume, count in zip(parts, channels):
        least, most = 0.0, 0.0
        for channel, part, values in _slabs(volume, "the softmax"):
            raw[part, :, :, first + channel] = values
            least, most = min(least, float(values.min(initial=0))), max(most, float(values.max(initial=0)))
        each += [float(_volumes.factor_to_one(volume.path, least, most))] * count
        first += count
    factors = np.array(each, np.float32)
    step = max(1, SLAB // max(1, extent[1] * extent[2] * sum(channels)))
    slabs = [slice(start, start + step) for start in range(0, extent[0], step)]
    least, most = 1.0, 0.0
    for part in slabs:
        total = (raw[part] * factors).sum(axis=-1)
        least, most = min(least, float(total.min())), max(most, float(total.max()))
    some = _volumes.leaves_some(sum(channels), least, most)
    target = new_file(path + ".part.npy", np.float32, (*extent, sum(channels) + (1 if some else 0)))
    for part in slabs:
        target[part] = _volumes.completed(raw[part] * factors, some)
    target.flush()
    del raw
    os.remove(raw_path)
    os.replace(path + ".part.npy", path)


def _copy_image(picture: Any, raw: bool, path: str) -> None:
    extent = tuple(reversed(picture.values.shape[:3]))
    channels = picture.values.shape[3:4]
    byte = np.dtype(getattr(picture.values, "dtype", np.float64)) == np.uint8 and picture.header.get_slope_inter() in (
        (None, None), (1.0, 0.0)
    )
    target = new_file(path + ".part.npy", np.uint8 if byte else np.float32, (*extent, *channels))
    sample: List[Array] = []
    passed, stride = 0, max(1, int(np.prod(picture.values.shape)) // 2**20)
    for channel, part, values in _slabs(picture, "the image"):
        target[(part, slice(None), slice(None), *([channel] if channels else []))] = values
        sample.append(values.reshape(-1)[-passed % stride::stride].astype(np.float32))
        passed += values.size
    if not (byte or raw):
        low, high = _volumes.stretch_of(np.concatenate(sample))
        step = max(1, SLAB // max(1, int(np.prod(target.shape[1:]))))
        for start in range(0, extent[0], step):
            target[start:start + step] = _volumes.stretched(target[start:start + step], low, high)
    target.flush()
    os.replace(path + ".part.npy", path)
