"""Depth from two pictures, and what matching them costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, Optional

import numpy as np

from . import _core
from ._arrays import Array, as_array, as_number, as_whole, require_finite
from ._errors import InvalidInput
from ._keywords import checked_keywords
from ._refine import in_bytes

@dataclass(eq=False, repr=False)
class StereoResult:
    """What :func:`stereo` found, all of the shape of the left view.

    ``disparities`` are left minus right, in pixels and parts of them; ``occluded`` where the views do not agree, so that
    they were filled in from beside; ``raw`` is NaN there, and elsewhere the cheapest disparity, neither smoothed nor
    changed by the CRF. ``uncertainty`` is the probability that a disparity is off by more than a pixel, and
    ``low`` to ``high`` the interval that holds it with the probability asked for, as mean field says. These and
    ``marginals``, of shape (height, width, disparities), are None where ``fast`` was asked for.
    """

    disparities: Array
    raw: Array
    occluded: Array
    uncertainty: Optional[Array] = None
    low: Optional[Array] = None
    high: Optional[Array] = None
    marginals: Optional[Array] = None

    def __repr__(self) -> str:
        low, high = float(self.disparities.min()), float(self.disparities.max())
        return (
            f"<submarine.StereoResult: disparities of shape {self.disparities.shape} from {low:.1f} to {high:.1f}, "
            f"{self.occluded.mean():.1%} occluded>"
        )


@checked_keywords
def stereo(
    left: Any, right: Any, *, disparities: Optional[int] = None, costs: Any = None, low: Any = None, high: Any = None,
    fast: bool = False, share: float = 0.9,
) -> StereoResult:
    """Disparities of a rectified pair, and how sure they are: what ``submarine stereo`` does by default.

    Parameters
    ----------
    left, right : array
        The views, of shape (height, width) or (height, width, 3), values 0 to 255; floats of 0 to 1 are taken times 255.
    disparities : int, optional
        How many; unless given as many as the costs, or as the ranges need, else what the views themselves suggest.
    costs : array, optional
        What each match costs, of shape (height, width, disparities), from a network or another matcher: used instead of
        comparing the views. Their unit does not count. NaN and infinite: nothing is known of that match.
    low, high : array, optional
        The range that the disparity of each pixel is in, of the shape of the views without channels; NaN: any.
    fast : bool
        Semi-global matching alone, without marginals and uncertainty.
    share : float
        The probability that the intervals are to hold.

    Returns
    -------
    StereoResult
        Disparities, uncertainty and intervals.

    Raises
    ------
    InvalidInput
        For arrays of shapes that do not match, numbers that are not finite or out of range, and empty ranges.
    TooLarge
        For volumes that do not fit into memory.

    Examples
    --------
    >>> import numpy as np
    >>> right = np.random.default_rng(0).integers(0, 256, (40, 60)).astype(np.uint8)
    >>> left = np.roll(right, 5, axis=1)
    >>> found = stereo(left, right, disparities=12)
    >>> float(np.median(found.disparities).round())
    5.0
    """
    views = [in_bytes(as_array(view, name), None) for view, name in ((left, "the left view"), (right, "the right view"))]
    require_finite(views[0], "the left view")
    require_finite(views[1], "the right view")
    if disparities is not None and as_whole(disparities, "disparities") < 2:
        raise InvalidInput(f"disparities is {disparities}, expected 2 or more")
    options: Dict[str, Any] = dict(share=as_number(share, "share"), fast=bool(fast))
    if disparities is not None:
        options["disparities"] = as_whole(disparities, "disparities")
    extent = views[0].shape[:2]
    known = {
        name: as_array(values, name) for name, values in (("costs", costs), ("low", low), ("high", high)) if values is not None
    }
    for name, values in known.items():
        if values.shape[:2] != extent or values.ndim != (3 if name == "costs" else 2):
            with_disparities = " and the disparities" if name == "costs" else ""
            raise InvalidInput(f"{name} has shape {values.shape}, expected {extent}{with_disparities} as the views")
    found = _core.match_stereo(views[0], views[1], known, options)
    return StereoResult(occluded=found.pop("occluded") != 0, **found)


@checked_keywords
def matching_costs(
    left: Any, right: Any, disparities: Optional[int] = None, kind: str = "ad", *, truncate: float = math.inf,
    factor: float = 1.0,
) -> Array:
    """What it costs that left pixel (x, y) shows what right pixel (x - k, y) shows.

    Parameters
    ----------
    left, right : array
        The views, of shape (height, width) or (height, width, 3), values 0 to 255.
    disparities : int, optional
        How many; as many as the views themselves suggest unless given.
    kind : str
        "ad", "census", "bt", or over windows of radius 2 "sad:2", "census:2", "bt:2".
    truncate : float
        Larger costs become this one.
    factor : float
        What the costs are multiplied by.

    Returns
    -------
    array of float32
        Of shape (height, width, disparities).

    Raises
    ------
    InvalidInput
        For views of different shapes, numbers that are not finite, and kinds that there are not.

    Examples
    --------
    >>> import numpy as np
    >>> view = np.tile(np.arange(20.0), (10, 1))
    >>> matching_costs(view, view, 4).shape
    (10, 20, 4)
    """
    first, second = as_array(left, "the left view"), as_array(right, "the right view")
    require_finite(first, "the left view")
    require_finite(second, "the right view")
    count = 0 if disparities is None else as_whole(disparities, "disparities")
    if disparities is not None and count < 1:
        raise InvalidInput(f"disparities is {count}, expected 1 or more")
    return _core.matching_costs(first, second, count, kind, as_number(truncate, "truncate"), as_number(factor, "factor"))
