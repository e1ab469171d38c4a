"""Arrays as they come: any dtype, strides, layout, and whatever has ``__array__`` or ``__dlpack__`` on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Tuple, Union

import numpy as np

from ._errors import InvalidInput

if TYPE_CHECKING:  # importing numpy.typing takes time and memory
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = np.ndarray
Number = Union[int, float]


def as_array(values: Any, name: str) -> Array:
    """The values as an array of numbers, without a copy where they already are one."""
    if not isinstance(values, np.ndarray) and not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        try:
            values = np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError) as error:
            raise InvalidInput(f"{name} cannot be read through __dlpack__: {error}") from error
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"{name} is no array: {error}") from error
    if array.dtype.kind == "O":
        raise InvalidInput(f"{name} is no array of numbers, but one of objects")
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} has dtype {array.dtype}, expected real numbers")
    if array.dtype.itemsize == 2 and array.dtype.kind == "f":
        array = array.astype(np.float32)
    return array


def as_integers(values: Any, name: str) -> Array:
    """The same for whole numbers of 32 bits."""
    array = as_array(values, name)
    if array.dtype.kind not in "iub":
        raise InvalidInput(f"{name} has dtype {array.dtype}, expected whole numbers")
    if array.size and (array.min() < -(2**31) or array.max() >= 2**31):
        raise InvalidInput(f"{name} has numbers beyond 32 bits")
    return array.astype(np.int32, copy=False)


def labels_last(values: Array, label_axis: int, name: str) -> Array:
    """A view with the label axis moved to the end."""
    if not -values.ndim <= label_axis < values.ndim:
        raise InvalidInput(f"{name} has shape {values.shape}, so there is no label axis {label_axis}")
    return np.moveaxis(values, label_axis, -1)


def require_finite(values: Array, name: str) -> None:
    """Names the first value that is not finite."""
    if values.dtype.kind != "f":
        return
    bad = ~np.isfinite(values)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInput(f"{name} is {values[place]} at {place}, expected finite numbers")


def as_sigmas(sigma: Union[Number, Sequence[Number]], name: str) -> Tuple[float, ...]:
    """One number or several, as a tuple."""
    array = as_array(sigma, name)
    if array.ndim > 1 or array.size == 0:
        raise InvalidInput(f"{name} has shape {array.shape}, expected a number or a list of numbers")
    return tuple(float(s) for s in np.atleast_1d(array))
