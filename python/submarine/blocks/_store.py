"""Arrays that are read and written a block at a time: .npy by memory map, zarr v2 and v3, OME-Zarr."""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._arrays import Array, given
from .._errors import FileError, InvalidInput

Box = Tuple[Tuple[int, int], ...]  # (start, stop) of every axis
SPACE = "zyx"


def slices(box: Box) -> Tuple[slice, ...]:
    """The same for indexing."""
    return tuple(slice(start, stop) for start, stop in box)


def shape_of(box: Box) -> Tuple[int, ...]:
    """The size of a box."""
    return tuple(stop - start for start, stop in box)


class Source(NamedTuple):
    """Where an array is, as workers open it: it is what goes into the plan.

    ``axes`` says which axis of the file each axis of the model is, the last one that of labels or channels (-1: there is
    none); the others of the file are of length 1.
    """

    path: str
    component: str  # of a zarr group
    shape: Tuple[int, ...]  # of the file
    axes: Tuple[int, ...]

    @property
    def extent(self) -> Tuple[int, ...]:
        """The size in space."""
        return tuple(self.shape[axis] for axis in self.axes[:-1])

    @property
    def depth(self) -> int:
        """How many labels or channels there are."""
        return 1 if self.axes[-1] < 0 else self.shape[self.axes[-1]]

    def read(self, box: Box) -> Array:
        """That part, with labels or channels in the last axis."""
        index: List[Any] = [0] * len(self.shape)
        for axis, (start, stop) in zip(self.axes, box):
            index[axis] = slice(start, stop)
        kept = [axis for axis in self.axes if axis >= 0]
        if self.axes[-1] >= 0:
            index[self.axes[-1]] = slice(None)
        values = np.asarray(opened(self.path, self.component)[tuple(index)])
        order = [sorted(kept).index(axis) for axis in kept]
        values = values.transpose(order)
        return values if self.axes[-1] >= 0 else values[..., np.newaxis]


def new_file(path: str, dtype: Any, shape: Sequence[int]) -> Any:
    """A .npy file of zeros, mapped. Its space is taken now: a write to a map of a full disk would kill a worker."""
    create: Any = np.lib.format.open_memmap  # which numpy 1 has no types for
    try:
        made = create(path, mode="w+", dtype=dtype, shape=tuple(shape))
        if hasattr(os, "posix_fallocate"):
            with open(path, "r+b") as file:
                os.posix_fallocate(file.fileno(), 0, os.path.getsize(path))
    except OSError as error:
        if os.path.exists(path):
            os.remove(path)
        raise FileError(f'"{path}" cannot be written: {error.strerror}') from error
    return made


def _zarr() -> Any:
    try:
        return importlib.import_module("zarr")
    except ImportError as error:
        raise FileError("zarr arrays need the package zarr (python3-zarr); .npy files need nothing") from error


def opened(path: str, component: str = "", mode: str = "r") -> Any:
    """The array itself, for reading or, with "r+", for writing."""
    if path.endswith(".npy"):
        try:
            return np.load(path, mmap_mode="r" if mode == "r" else "r+")
        except (OSError, ValueError) as error:
            raise FileError(f'"{path}" cannot be read: {error}') from error
    zarr = _zarr()
    try:
        found = zarr.open(path, mode=mode)
        return found[component] if component else found
    except Exception as error:  # zarr 2 and 3 have classes of their own for everything
        raise FileError(f'"{path}" cannot be opened as zarr: {error}') from error


class Described(NamedTuple):
    """A source whose axes are still as in the file, and the names of these where the file has them."""

    path: str
    component: str
    shape: Tuple[int, ...]
    names: str  # of OME-Zarr: "tczyx" or part of it; else empty
    spacing: Tuple[float, ...]  # of all axes; else empty


def _multiscales(attributes: Any) -> Optional[Dict[str, Any]]:
    ome = dict(attributes).get("ome", attributes)  # 0.5 has them one level down
    found = dict(ome).get("multiscales")
    return found[0] if found else None


def describe(values: Any, name: str, copy_to: str) -> Described:
    """Whatever holds an array: a path, a zarr array, or an array, which is copied to ``copy_to`` unless it is a .npy file."""
    component, names = "", ""
    spacing: Tuple[float, ...] = ()
    if isinstance(values, np.memmap) and values.filename is not None and _is_whole(values):
        values = os.fspath(values.filename)
    if isinstance(values, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(values))
        if not os.path.exists(path):
            raise FileError(f'{name}: "{path}" does not exist')
        found = opened(path)
        if not hasattr(found, "shape"):  # a group
            scales = _multiscales(found.attrs)
            if scales is None:
                raise InvalidInput(f'{name}: "{path}" is a zarr group without OME-Zarr\'s multiscales; name an array in it')
            level = scales["datasets"][0]
            component = str(level["path"])
            names = "".join(axis["name"] if isinstance(axis, dict) else axis for axis in scales.get("axes", ()))
            for step in level.get("coordinateTransformations", ()):
                spacing = tuple(step["scale"]) if step.get("type") == "scale" else spacing
            found = found[component]
        return Described(path, component, tuple(found.shape), names, spacing)
    if not isinstance(values, np.ndarray) and hasattr(values, "store"):
        place = _place(values)
        if place is not None:
            return Described(place, "", tuple(values.shape), "", ())
    if not isinstance(values, np.ndarray) and not hasattr(values, "__array__") and not hasattr(values, "shape"):
        raise InvalidInput(f"{name} is {given(values)}, expected an array, or the path of one (.npy, zarr)")
    _copy(values, copy_to)
    return Described(copy_to, "", tuple(values.shape), "", ())


def _is_whole(values: Any) -> bool:
    try:
        mapped = np.load(values.filename, mmap_mode="r")
    except (OSError, ValueError):
        return False
    same = mapped.shape == values.shape and mapped.dtype == values.dtype and mapped.strides == values.strides
    return bool(same and mapped.offset == values.offset)


def _place(values: Any) -> Optional[str]:
    """The directory of a zarr array, where it is in one."""
    store = values.store
    root = getattr(store, "root", None) or getattr(store, "path", None)
    if root is None or not os.path.isdir(str(root)):
        return None
    return os.path.abspath(os.path.join(str(root), values.path or ""))


def _copy(values: Any, path: str) -> None:
    """A slab at a time, for arrays that are larger than the memory."""
    shape, dtype = tuple(values.shape), np.dtype(values.dtype)
    if dtype.kind not in "fiub":
        raise InvalidInput(f"the array has dtype {dtype}, expected real numbers")
    rows = max(1, int(2**26 // max(1, int(np.prod(shape[1:])) * dtype.itemsize)))
    slabs = range(0, shape[0] if shape else 0, rows)
    if os.path.exists(path):  # of the call that this one continues
        before = opened(path)
        same = before.shape == shape and before.dtype == dtype
        if not (same and all(_equal(before[at:at + rows], np.asarray(values[at:at + rows])) for at in slabs)):
            raise InvalidInput(f'"{path}" holds another array, of an earlier call; remove its folder, or name another by work')
        return
    part = path + ".part.npy"
    target = new_file(part, dtype, shape)
    for start in slabs:
        target[start:start + rows] = np.asarray(values[start:start + rows])
    target.flush()
    os.replace(part, path)


def _equal(a: Array, b: Array) -> bool:
    """NaN is equal to NaN."""
    return np.array_equal(a, b) or a.tobytes() == b.tobytes()


def place_axes(found: Described, extent: Optional[Sequence[int]], axis: Optional[int], name: str) -> Source:
    """Which axis is which: by the names of OME-Zarr, by ``axis``, or by the extent.

    Without an extent, the array has labels, and the others are space.
    """
    shape = found.shape
    if found.names and set(found.names) & set(SPACE):
        space = [found.names.index(letter) for letter in SPACE if letter in found.names]
        channel = found.names.index("c") if "c" in found.names else -1
        if extent is not None and len(space) == len(extent) + 1 and shape[space[0]] == 1:
            space = space[1:]
        for number, letter in enumerate(found.names):
            if number not in space and number != channel and shape[number] != 1:
                raise InvalidInput(f'{name} has {shape[number]} entries along its axis "{letter}", expected 1')
        return Source(found.path, found.component, shape, (*space, channel))
    if extent is not None and shape == tuple(extent):
        return Source(found.path, found.component, shape, (*range(len(shape)), -1))
    if axis is None and extent is not None:
        first, last = shape[1:] == tuple(extent), shape[:-1] == tuple(extent)
        if first and last:
            raise InvalidInput(f"{name} of shape {shape} may have labels first or last: say which by label_axis")
        axis = 0 if first else len(shape) - 1 if last else None
    if axis is None or not -len(shape) <= axis < len(shape):
        raise InvalidInput(f"{name} has shape {shape}, expected {tuple(extent or ())} with labels or channels before or after it")
    axis %= len(shape)
    return Source(found.path, found.component, shape, (*(a for a in range(len(shape)) if a != axis), axis))


class Target(NamedTuple):
    """Where labels go."""

    path: str
    component: str

    def write(self, box: Box, values: Array) -> None:
        """Workers write boxes that share no chunk."""
        array = opened(self.path, self.component, "r+")
        array[slices(box)] = values
        if isinstance(array, np.memmap):
            array.flush()


def make_target(
    path: str, shape: Sequence[int], dtype: Any, chunks: Sequence[int], spacing: Sequence[float], fresh: bool
) -> Target:
    """A new .npy file, zarr array or, where the path ends with .ome.zarr, OME-Zarr picture; an existing one if not fresh."""
    component = "0" if path.endswith(".ome.zarr") else ""
    if not fresh and os.path.exists(path):
        return Target(path, component)
    if path.endswith(".npy"):
        new_file(path, dtype, shape).flush()
        return Target(path, component)
    if not path.endswith(".zarr"):
        raise InvalidInput(f'out is "{path}", expected a name that ends with .npy, .zarr or .ome.zarr, or .nii.gz for volumes')
    zarr = _zarr()
    version = {"zarr_format": 2} if int(zarr.__version__.split(".")[0]) >= 3 else {}
    if not component:
        zarr.open(path, mode="w", shape=tuple(shape), chunks=tuple(chunks), dtype=dtype, **version)
        return Target(path, component)
    group = zarr.open_group(path, mode="w", **version)
    create = getattr(group, "create_array", None) or group.create_dataset
    create("0", shape=tuple(shape), chunks=tuple(chunks), dtype=dtype)
    axes = SPACE[-len(shape):]
    group.attrs["multiscales"] = [{
        "version": "0.4",
        "axes": [{"name": letter, "type": "space"} for letter in axes],
        "datasets": [{
            "path": "0", "coordinateTransformations": [{"type": "scale", "scale": [float(s) for s in spacing]}],
        }],
    }]
    return Target(path, component)
