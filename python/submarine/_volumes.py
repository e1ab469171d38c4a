"""NIfTI volumes: spacing and orientation are the file's, sigmas in millimetres."""

from __future__ import annotations

import importlib
import math
import os
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Array, as_array, as_number, as_sigmas
from ._errors import FileError, InvalidInput
from ._kernels import Sigma
from ._refine import Refined, refine

PathLike = Union[str, "os.PathLike[str]"]
POSITION_SIDES, BILATERAL_SIDES = 1.0, 3.0  # default lengths, in sides of the smallest axis of a voxel


class _Volume(NamedTuple):
    """What a NIfTI file holds."""

    path: str
    values: Array
    affine: Array
    unit: float  # of the affine, in mm
    spacing: Tuple[float, ...]  # mm along the axes of the array
    header: Any


def _nibabel() -> Any:
    try:
        return importlib.import_module("nibabel")
    except ImportError as error:
        raise FileError("NIfTI volumes need the package nibabel (python3-nibabel)") from error


def open_volume(path: PathLike, what: str) -> _Volume:
    """What a file says of its voxels; their values are read where they are asked for, in slabs."""
    nibabel = _nibabel()
    name = os.fspath(path)
    try:
        found = nibabel.load(name, keep_file_open=True)
    except Exception as error:  # nibabel and gzip have many
        raise FileError(f'{what}: "{name}" cannot be read as NIfTI: {" ".join(str(error).split())}') from error
    units = getattr(found.header, "get_xyzt_units", lambda: ("mm",))()  # not every format has them
    unit = {"meter": 1000.0, "micron": 0.001}.get(units[0], 1.0)
    spacing = tuple(unit * float(s) for s in found.header.get_zooms()[:3])
    if not all(0 < s < math.inf for s in spacing):
        raise InvalidInput(f'{what}: "{name}" has voxels of {_text(spacing)} mm')
    return _Volume(name, found.dataobj, np.asarray(found.affine), unit, spacing, found.header)


def values_of(volume: _Volume, what: str, part: Any = ...) -> Array:
    """All values of a file, or those of a slab."""
    try:
        values = np.asarray(volume.values[part])
    except Exception as error:  # as above
        raise FileError(f'{what}: "{volume.path}" cannot be read as NIfTI: {" ".join(str(error).split())}') from error
    as_array(values, f'{what}: "{volume.path}"')
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        where = "" if part is ... else " of a slab"
        raise InvalidInput(f'{what}: "{volume.path}" is {values[place]} at voxel {place}{where}, expected finite numbers')
    return values


def _read(path: PathLike, what: str) -> _Volume:
    volume = open_volume(path, what)
    values = values_of(volume, what)
    while values.ndim > 3 and values.shape[-1] == 1:
        values = values[..., 0]
    if values.ndim == 5 and values.shape[3] == 1:
        values = values[:, :, :, 0]
    if values.ndim not in (3, 4):
        raise InvalidInput(f'{what}: "{volume.path}" has shape {values.shape}, expected 3 axes, or 4 with labels in the last')
    return volume._replace(values=values)


def _text(spacing: Sequence[float]) -> str:
    return " x ".join(f"{s:.4g}" for s in spacing)


def same_grid(one: _Volume, other: _Volume) -> None:
    """Throws unless voxels of both are at the same places."""
    shapes = one.values.shape[:3], other.values.shape[:3]
    if shapes[0] != shapes[1]:
        raise InvalidInput(f'"{one.path}" has {_text(shapes[0])} voxels, "{other.path}" has {_text(shapes[1])}')
    if not np.allclose(one.spacing, other.spacing, rtol=1e-3):
        raise InvalidInput(
            f'"{one.path}" has voxels of {_text(one.spacing)} mm, "{other.path}" of {_text(other.spacing)} mm'
        )
    corners = np.array([[i * (n - 1) for i, n in zip(corner, one.values.shape)] + [1] for corner in np.ndindex(2, 2, 2)])
    apart = np.abs((one.unit * one.affine - other.unit * other.affine)[:3] @ corners.T).max()
    if apart > 0.1 * min(one.spacing):
        raise InvalidInput(
            f'the voxels of "{one.path}" and "{other.path}" are up to {apart:.3g} mm apart: they differ in orientation or origin'
        )


def _probabilities(softmax: Any, image: _Volume) -> Array:
    """From one file with four axes, or one file for each label; what they leave over is a first label more."""
    paths = [softmax] if isinstance(softmax, (str, os.PathLike)) else list(softmax)
    volumes = [_read(path, "the softmax") for path in paths]
    for volume in volumes:
        same_grid(image, volume)
    parts: List[Array] = []
    for volume in volumes:
        values = volume.values if volume.values.ndim == 4 else volume.values[..., np.newaxis]
        parts.append(values.astype(np.float32))
        parts[-1] *= factor_to_one(volume.path, values.min(initial=0), values.max(initial=0))
    stacked = np.concatenate(parts, axis=-1)
    total = stacked.sum(axis=-1)
    return completed(stacked, leaves_some(stacked.shape[-1], total.min(initial=1.0), total.max(initial=0.0)))


def factor_to_one(path: str, least: float, most: float) -> np.float32:
    """Of the values of a file that are probabilities, or bytes of them."""
    if least < 0:
        raise InvalidInput(f'"{path}" has values below 0, expected probabilities')
    return np.float32(1.0 / 255.0 if 2 < most <= 255 else 1.0)


def leaves_some(given: int, least: float, most: float) -> bool:
    """Whether there is a first label more, which has what others leave of 1, where they sum to these at least and at most."""
    some = given == 1 or min(least, 2.0 - most) < 0.98
    if some and most > 1.02:
        raise InvalidInput(f"the probabilities of the softmax sum to up to {most:.3g}, expected 1 at most")
    return some


def completed(stacked: Array, some: bool) -> Array:
    """Rows that sum to 1."""
    if some:
        stacked = np.concatenate([np.maximum(1.0 - stacked.sum(axis=-1, keepdims=True), 0.0), stacked], axis=-1)
    stacked /= np.maximum(stacked.sum(axis=-1, keepdims=True), np.float32(1e-12))
    return stacked


def _intensities(values: Array, colour_sigma: Any) -> Array:
    """0 to 255 for 99% of the voxels, whatever the scanner's units are, unless a colour sigma in these is given."""
    if colour_sigma is not None or values.dtype == np.uint8:
        return values
    return stretched(values, *stretch_of(values))


def stretch_of(sample: Array) -> Tuple[float, float]:
    """Which intensities are black and white."""
    low, high = (float(v) for v in np.percentile(sample, (0.5, 99.5)))
    if not high > low:
        low, high = float(sample.min()), max(float(sample.max()), float(sample.min()) + 1.0)
    return low, high


def stretched(values: Array, low: float, high: float) -> Array:
    """Between black, 0, and white, 255."""
    return np.clip((values.astype(np.float32) - low) * (255.0 / (high - low)), 0.0, 255.0).astype(np.float32)


class RefinedVolume(Refined):
    """A :class:`Refined` with ``spacing`` and ``affine`` of the file: ``areas()`` is in cubic millimetres."""

    affine: Array

    def millilitres(self) -> List[float]:
        """The volume of every label.

        Returns
        -------
        list of float
            In millilitres.
        """
        count = np.bincount(self.labels.reshape(-1), minlength=self.probabilities.shape[-1])
        return [float(n) * math.prod(self.spacing or ()) / 1000.0 for n in count]


def refine_volume(
    softmax: Any,
    image: PathLike,
    out: Optional[PathLike] = None,
    *,
    position_sigma: Optional[Sigma] = None,
    bilateral_sigma: Optional[Sigma] = None,
    colour_sigma: Optional[Sigma] = None,
    **keywords: Any,
) -> RefinedVolume:
    """:func:`refine` for NIfTI files, with lengths in millimetres: ``refine_volume("p.nii.gz", "t1.nii.gz", "labels.nii.gz")``.

    Parameters
    ----------
    softmax : path or sequence of paths
        A file of four axes, the last of which is the labels', or a file for each label. Numbers from 0 to 255 are taken as
        bytes. Where they do not sum to 1, what is left is a first label more.
    image : path
        A file of three axes, or four with channels.
    out : path, optional
        Where the labels go, .nii or .nii.gz, with the affine and the units of the image.
    position_sigma, bilateral_sigma : float, optional
        In millimetres along every axis, or one per axis of the file. One and three sides of a voxel, of its smallest axis.
    colour_sigma : float, optional
        In the units of the image; without it the image is scaled to 0 to 255 and the default is that of :func:`refine`.
    **keywords
        Others of :func:`refine`.

    Returns
    -------
    RefinedVolume
        As :func:`refine`, with ``affine`` and ``millilitres()``; ``areas()`` is in cubic millimetres.

    Raises
    ------
    FileError
        For files that cannot be read or written, and without nibabel.
    InvalidInput
        For a softmax of another grid than the image, and values that are not finite.

    Examples
    --------
    >>> refined = refine_volume("softmax.nii.gz", "image.nii.gz")  # doctest: +SKIP
    """
    picture = _read(image, "the image")
    probabilities = _probabilities(softmax, picture)
    target = None if out is None else os.fspath(out)
    if target is not None and not target.endswith((".nii", ".nii.gz")):
        raise InvalidInput(f'out is "{target}", expected a name that ends with .nii or .nii.gz')
    options = dict(keywords)
    for name, given, sides in (
        ("position_sigma", position_sigma, POSITION_SIDES), ("bilateral_sigma", bilateral_sigma, BILATERAL_SIDES)
    ):
        sigma = as_sigmas(sides * min(picture.spacing) if given is None else given, name)
        if len(sigma) not in (1, 3):
            raise InvalidInput(f"{name} has {len(sigma)} numbers, expected 1 or 3, millimetres along the axes of the file")
        along = sigma * 3 if len(sigma) == 1 else sigma
        # x, y and z of the library are the last, middle and first axis.
        options[name] = tuple(as_number(s, name) / step for s, step in zip(along, picture.spacing))[::-1]
    if colour_sigma is not None:
        options["colour_sigma"] = colour_sigma
    found = refine(probabilities, _intensities(picture.values, colour_sigma), label_axis=-1, **options)
    refined = RefinedVolume(found.labels, found.probabilities)
    refined.result, refined.spacing, refined.affine = found.result, picture.spacing, picture.affine
    if target is not None:
        write_volume(target, found.labels, picture)
    return refined


def write_volume(path: str, labels: Array, like: _Volume) -> None:
    nibabel = _nibabel()
    dtype = np.uint8 if labels.max(initial=0) < 256 else np.int16
    header = like.header.copy()
    header.set_data_dtype(dtype)
    header.set_slope_inter(1.0, 0.0)
    volume = nibabel.Nifti1Image(labels.astype(dtype), like.affine, header)
    part = os.path.join(os.path.dirname(path), f".{os.getpid()}.{os.path.basename(path)}")
    try:
        nibabel.save(volume, part)
        os.replace(part, path)
    except OSError as error:
        raise FileError(f'"{path}" cannot be written: {error}') from error
