"""Arrays as they come: any dtype, strides, layout, and whatever has ``__array__`` or ``__dlpack__`` on the CPU."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Sequence, Tuple, Union

import numpy as np

from ._errors import InvalidInput

if TYPE_CHECKING:  # importing numpy.typing takes time and memory
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = np.ndarray
Number = Union[int, float]


def given(value: Any) -> str:
    """What was given, for messages: short, whatever it is."""
    if value is None or isinstance(value, (bool, int, float, complex, np.generic)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 60 else f'"{value[:57]}..."'
    if isinstance(value, np.ndarray):
        return f"an array of {'objects' if value.dtype.kind == 'O' else value.dtype}"
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def as_array(values: Any, name: str) -> Array:
    """The values as an array of numbers, without a copy where they already are one."""
    if isinstance(values, np.ma.MaskedArray) and values.mask is not np.ma.nomask:
        masked: Any = values.astype(np.result_type(values.dtype, np.float32))
        values = masked.filled(np.nan)  # unknown
    if not isinstance(values, np.ndarray) and not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
        if not hasattr(np, "from_dlpack"):
            raise InvalidInput(f"{name} has __dlpack__ alone, which numpy {np.__version__} does not read: 1.22 does")
        try:
            values = np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError) as error:
            raise InvalidInput(f"{name} cannot be read through __dlpack__: {error}") from error
    expected = "expected an array of numbers or nested lists of equal lengths"
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        detail = " of unequal lengths" if isinstance(values, (list, tuple)) else f" ({error})"
        raise InvalidInput(f"{name} is {given(values)}{detail}, {expected}") from error
    if array.dtype.kind == "O":
        detail = " of unequal lengths or with entries that are no numbers" if isinstance(values, (list, tuple)) else ""
        raise InvalidInput(f"{name} is {given(values)}{detail}, {expected}")
    if array.dtype.kind == "U" and array.ndim == 0:
        raise InvalidInput(f"{name} is {given(values)}, {expected}; files have to be read first")
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} has dtype {array.dtype}, expected real numbers")
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
    label_axis = as_whole(label_axis, "label_axis")
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


def as_number(value: Any, name: str) -> float:
    """A number of Python, numpy or another library, as a float."""
    try:
        if isinstance(value, str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise InvalidInput(f"{name} is {given(value)}, expected a number") from error


def as_whole(value: Any, name: str) -> int:
    """A whole number of Python, numpy or another library, as an int."""
    try:
        return operator.index(value)
    except TypeError as error:
        raise InvalidInput(f"{name} is {given(value)}, expected a whole number") from error


def as_sigmas(sigma: Union[Number, Sequence[Number]], name: str) -> Tuple[float, ...]:
    """One number or several, as a tuple."""
    if sigma is None or isinstance(sigma, str):
        raise InvalidInput(f"{name} is {given(sigma)}, expected a number or a list of numbers")
    array = as_array(sigma, name)
    if array.ndim > 1 or array.size == 0:
        raise InvalidInput(f"{name} has shape {array.shape}, expected a number or a list of numbers")
    return tuple(float(s) for s in np.atleast_1d(array))
