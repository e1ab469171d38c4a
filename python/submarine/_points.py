"""Point clouds: arrays, .npy and .ply files."""

from __future__ import annotations

import math
import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._arrays import Array, as_array, as_number, as_whole, labels_last, require_finite
from ._errors import FileError, InvalidInput
from ._kernels import features
from ._keywords import Certify, checked_keywords
from ._models import DenseCrf, Metric
from ._refine import Refined, costs_of, refined
from ._solve import solve

PathLike = Union[str, "os.PathLike[str]"]


class Points(NamedTuple):
    """A point cloud; ``colours`` is None where there are none, and ``properties`` has everything that the file says."""

    points: Array
    colours: Optional[Array]
    properties: Dict[str, Array]


_PLY_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}


@checked_keywords
def read_points(path: PathLike) -> Points:
    """Reads the vertices of a .ply file, ascii or binary, or a .npy array of shape (points, 3) or (points, 6), with colours.

    Parameters
    ----------
    path : str or path
        Of the file.

    Returns
    -------
    Points
        Places, colours (red, green, blue) where there are any, and all properties by name.

    Raises
    ------
    FileError
        For a file that cannot be read or is malformed.

    Examples
    --------
    >>> cloud = read_points("scan.ply")  # doctest: +SKIP
    """
    name = os.fspath(path)
    if name.endswith(".npy"):
        try:
            table = np.load(name)
        except (OSError, ValueError) as error:
            raise FileError(f'"{name}" cannot be read: {error}') from error
        if table.ndim != 2 or table.shape[1] not in (3, 6):
            raise FileError(f'"{name}" has shape {table.shape}, expected (points, 3), or (points, 6) with colours')
        return Points(table[:, :3], table[:, 3:] if table.shape[1] == 6 else None, {})
    try:
        with open(name, "rb") as file:
            properties = _read_ply(file, name)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f'"{name}" cannot be read: {error}') from error
    if not all(axis in properties for axis in "xyz"):
        raise FileError(f'"{name}" has no x, y and z among the properties of its vertices')
    colour_names = ("red", "green", "blue")
    colours = np.stack([properties[c] for c in colour_names], 1) if all(c in properties for c in colour_names) else None
    return Points(np.stack([properties[axis] for axis in "xyz"], 1), colours, properties)


def _read_ply(file: Any, name: str) -> Dict[str, Array]:
    if file.readline().strip() != b"ply":
        raise FileError(f'"{name}" is no PLY file')
    kind, elements = "", []  # type: str, List[Tuple[str, int, List[Tuple[str, str]]]]
    for _ in range(10000):
        line = file.readline()
        words = line.decode("ascii", "replace").split()
        if not line:
            raise FileError(f'"{name}" ends within its header')
        if words[:1] == ["end_header"]:
            break
        if words[:1] == ["format"] and len(words) > 1:
            kind = words[1]
        elif words[:1] == ["element"] and len(words) == 3 and words[2].isdigit():
            elements.append((words[1], int(words[2]), []))
        elif words[:1] == ["property"] and elements and len(words) >= 3:
            elements[-1][2].append((words[-1], words[1]))
    if not elements or elements[0][0] != "vertex":
        raise FileError(f'"{name}" does not begin with vertices')
    count, columns = elements[0][1], elements[0][2]
    if not columns or any(dtype not in _PLY_TYPES for _, dtype in columns):
        raise FileError(f'"{name}" has vertices with lists or unknown types of properties')
    if kind == "ascii":
        rows = [file.readline().split() for _ in range(count)]
        try:
            table = np.array(rows, np.float64).reshape(count, len(columns))
        except ValueError as error:
            raise FileError(f'"{name}" has a vertex that is not {len(columns)} numbers') from error
        return {column: table[:, k].astype(_PLY_TYPES[dtype]) for k, (column, dtype) in enumerate(columns)}
    order = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(kind)
    if order is None:
        raise FileError(f'"{name}" has the format "{kind}", expected ascii, binary_little_endian or binary_big_endian')
    dtype = np.dtype([(column, order + _PLY_TYPES[found]) for column, found in columns])
    data = file.read(count * dtype.itemsize)
    if len(data) < count * dtype.itemsize:
        raise FileError(f'"{name}" ends after {len(data) // dtype.itemsize} of its {count} vertices')
    records = np.frombuffer(data, dtype)
    return {column: records[column] for column, _ in columns}


_SAMPLE = 64  # points whose neighbours tell how dense a cloud is
_NEIGHBOURS = 8


def _spacing(points: Array) -> float:
    """How far apart neighbours are: the median distance of the eighth nearest."""
    extent = float((points.max(axis=0) - points.min(axis=0)).max())
    if extent == 0.0:
        raise InvalidInput(f"all {len(points)} points are at one place, expected a cloud")
    chosen = points[np.random.default_rng(1).integers(0, len(points), min(_SAMPLE, len(points)))].astype(np.float32)
    single = points.astype(np.float32)
    squared = np.stack([((single - p) ** 2).sum(axis=1) for p in chosen])
    kth = min(_NEIGHBOURS, len(points) - 1)
    found = float(np.sqrt(np.median(np.partition(squared, kth, axis=1)[:, kth])))
    return found if found > 0 else extent * math.pow(len(points), -1.0 / points.shape[1])


@checked_keywords
def refine_points(
    probabilities: Any,
    points: Any,
    colours: Any = None,
    *,
    position_sigma: Optional[float] = None,
    position_weight: float = 3.0,
    bilateral_sigma: Optional[float] = None,
    colour_sigma: float = 13.0,
    bilateral_weight: float = 5.0,
    updates: int = 5,
    certify: Union[bool, Certify] = False,
    time_limit: Optional[float] = None,
    metric: Metric = "potts",
    label_axis: int = -1,
    clip: float = 1e-5,
) -> Refined:
    """Labels of points that agree with those of their neighbours: ``labels, probabilities = refine_points(softmax, "cloud.ply")``.

    Parameters
    ----------
    probabilities : array
        What a classifier says, of shape (points, labels).
    points : array or path
        Places of shape (points, 2 or 3), or a .ply or .npy file (:func:`read_points`).
    colours : array, optional
        Of shape (points, channels), from 0 to 255; those of the file unless given.
    position_sigma, bilateral_sigma : float, optional
        Lengths in the units of the places: as far as eight neighbours reach, and four times that.
    position_weight, colour_sigma, bilateral_weight : float
        As for :func:`refine`; without colours there is only the kernel of places, as wide as the second one.
    updates : int
        As for :func:`refine`.
    certify : bool or str
        As for :func:`refine`; labels alone take a small part of the time.
    time_limit : float, optional
        As for :func:`solve`.
    metric, label_axis, clip
        As for :func:`refine`.

    Returns
    -------
    Refined
        ``labels`` and ``probabilities`` of the points, and the ``result``.

    Raises
    ------
    InvalidInput
        For shapes that do not fit together, values that are not finite, and points that are all at one place.
    FileError
        For a file that cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(1).random((300, 3))
    >>> truth = (cloud[:, 0] > 0.5).astype(int)
    >>> labels, _ = refine_points(np.where(np.arange(2) == truth[:, None], 0.7, 0.3), cloud)
    >>> labels.shape, bool((labels == truth).mean() > 0.9)
    ((300,), True)
    """
    if isinstance(points, (str, os.PathLike)):
        found = read_points(points)
        points, colours = found.points, found.colours if colours is None else colours
    places = as_array(points, "the points")
    if places.ndim != 2 or places.shape[1] not in (2, 3):
        raise InvalidInput(f"the points have shape {places.shape}, expected (points, 3) or (points, 2)")
    if len(places) == 0:
        raise InvalidInput("the cloud has no points, expected at least one")
    require_finite(places, "the point cloud")
    scores = labels_last(as_array(probabilities, "probabilities"), label_axis, "probabilities")
    if scores.ndim != 2 or len(scores) != len(places):
        raise InvalidInput(f"probabilities have shape {scores.shape}, expected ({len(places)}, labels), a row per point")
    step = _spacing(places)
    near = as_number(step if position_sigma is None else position_sigma, "position_sigma")
    far = as_number(4.0 * step if bilateral_sigma is None else bilateral_sigma, "bilateral_sigma")
    if colours is None:
        kernels = [features(places, position_weight + bilateral_weight, near if position_sigma is not None else 2.0 * step, normalised=True)]
    else:
        tints = as_array(colours, "the colours")
        if tints.ndim != 2 or len(tints) != len(places):
            raise InvalidInput(f"the colours have shape {tints.shape}, expected ({len(places)}, channels), a row per point")
        both = np.hstack([places.astype(np.float64), tints.astype(np.float64)])
        sigmas = [far] * places.shape[1] + [as_number(colour_sigma, "colour_sigma")] * tints.shape[1]
        kernels = [features(places, position_weight, near, normalised=True), features(both, bilateral_weight, sigmas, normalised=True)]
    model = DenseCrf(costs_of(scores, clip), kernels, metric)
    wanted = certify if isinstance(certify, str) else "auto" if certify else "none"
    proves = wanted not in ("none", "lower")
    options: Dict[str, Any] = {"expectations": True} if proves else {"pairs": "lattice"}
    result = solve(
        model, "auto" if proves else "mf", certify=wanted, updates=as_whole(updates, "updates"), time_limit=time_limit,
        marginals_of="mean-field", **options,
    )
    return refined(result, -1)
