"""Matrices and vectors of single precision, column after column, as pydensecrf hands them out.

They are ndarrays here, so that ``np.array(Q)`` is not needed before anything can be done with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Tuple

import numpy as np

from .._arrays import Array

__all__ = ["MatrixXf", "VectorXf", "matrixXf", "vectorXf"]


if TYPE_CHECKING:
    _Floats = np.ndarray[Any, np.dtype[np.float32]]
else:
    _Floats = np.ndarray  # which has no parameters before numpy 1.22


class MatrixXf(_Floats):
    """A writable matrix of float32 in Fortran order; empty when made without arguments."""

    def __new__(cls, *_: Any, **__: Any) -> "MatrixXf":
        return np.zeros((0, 0), np.float32, order="F").view(cls)


class VectorXf(_Floats):
    """A writable vector of float32; empty when made without arguments."""

    def __new__(cls, *_: Any, **__: Any) -> "VectorXf":
        return np.zeros(0, np.float32).view(cls)


def checked(values: Any, ndim: int, name: str, strict: bool) -> Array:
    """The values as float32 with the number of dimensions given; where strict, they must be so already, in C order."""
    if values is None:
        raise TypeError(f"{name} is None, expected an array")
    if not hasattr(values, "__array__") and not hasattr(values, "__dlpack__"):
        memoryview(values)  # lists and numbers are no arrays: TypeError
    array = np.asarray(values) if hasattr(values, "__array__") or not hasattr(values, "__dlpack__") else (
        np.from_dlpack(values))
    if array.ndim != ndim:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {ndim}")
    if strict:
        if array.dtype != np.float32:
            raise ValueError(f"{name} has dtype {array.dtype}, expected float32")
        if not array.flags.c_contiguous:
            raise ValueError(f"{name} is not C-contiguous")
    elif array.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {array.dtype}, expected real numbers")
    return array


def vectorXf(arr: Any) -> VectorXf:
    """A copy of a vector of float32.

    >>> import numpy as np
    >>> np.array(vectorXf(np.ones(2, np.float32)))
    array([1., 1.], dtype=float32)
    """
    return np.array(checked(arr, 1, "arr", True)).view(VectorXf)


def matrixXf(arr: Any) -> MatrixXf:
    """A copy of a matrix of float32, column after column.

    >>> import numpy as np
    >>> matrixXf(np.ones((2, 3), np.float32)).strides
    (4, 8)
    """
    return np.array(checked(arr, 2, "arr", True), order="F").view(MatrixXf)


def wrapped(rows: Array) -> MatrixXf:
    """(variables, labels) rows seen as pydensecrf's (labels, variables), without a copy."""
    return rows.T.view(MatrixXf)


def rows_of(values: Any, shape: Tuple[int, int]) -> Array:
    """(labels, variables) values as (variables, labels)."""
    array = checked(values, 2, "Q", False)
    if array.shape != shape:
        raise ValueError(f"Bad shape for Q (Need {shape}, got {array.shape})")
    return array.T
