"""Depth from two pictures: costs of matching, disparities from marginals, judgement by ground truth."""

from __future__ import annotations

import math
from typing import Any, Dict, Optional

import numpy as np

from . import _core
from ._arrays import Array, as_array, as_integers, require_finite
from ._errors import InvalidInput

__all__ = ["matching_costs", "guess_disparities", "refined_disparities", "compare"]


def matching_costs(
    left: Any, right: Any, disparities: Optional[int] = None, kind: str = "ad", *, truncate: float = math.inf,
    factor: float = 1.0,
) -> Array:
    """What it costs that left pixel (x, y) shows what right pixel (x - k, y) shows: (height, width, disparities).

    ``left`` and ``right`` have shape (height, width) or (height, width, 3), values 0 to 255; ``kind`` is "ad",
    "census", "bt", or over windows of radius 2 "sad:2", "census:2", "bt:2".

    >>> import numpy as np
    >>> view = np.tile(np.arange(20.0), (10, 1))
    >>> matching_costs(view, view, 4).shape
    (10, 20, 4)
    """
    first, second = as_array(left, "the left view"), as_array(right, "the right view")
    require_finite(first, "the left view")
    require_finite(second, "the right view")
    count = guess_disparities(first, second) if disparities is None else int(disparities)
    return _core.matching_costs(first, second, count, kind, float(truncate), float(factor))


def guess_disparities(left: Any, right: Any) -> int:
    """How many disparities the pair needs, from the pair itself."""
    return int(_core.guess_disparities(as_array(left, "the left view"), as_array(right, "the right view")))


def refined_disparities(marginals: Any, labels: Any) -> Array:
    """Disparities between whole pixels: the mean of each marginal around its label, of the shape of the labels."""
    labeling = as_integers(labels, "the labeling")
    values = as_array(marginals, "the marginals")
    if values.shape[:-1] != labeling.shape:
        raise InvalidInput(f"the marginals have shape {values.shape}, expected {labeling.shape} and the disparities")
    flat = _core.refined_disparities(values.reshape(-1, values.shape[-1]), labeling.reshape(-1))
    return flat.reshape(labeling.shape)


def compare(estimate: Any, truth: Any, mask: Any = None) -> Dict[str, float]:
    """Shares of pixels that are off by more than 0.5, 1 and 2, and the mean error; NaN where truth is unknown."""
    known = as_array(truth, "the truth").astype(np.float64)
    found = as_array(estimate, "the estimate").astype(np.float64)
    if found.shape != known.shape:
        raise InvalidInput(f"the estimate has shape {found.shape}, expected {known.shape} as the truth")
    compared = ~np.isnan(known)
    if mask is not None:
        compared &= as_array(mask, "the mask").astype(bool)
    if not compared.any():
        raise InvalidInput("there is no pixel to compare")
    error = np.abs(found[compared] - known[compared])
    if not np.isfinite(error).all():
        raise InvalidInput("the estimate or the truth of a pixel that is compared is not finite")
    return {
        "pixels": int(compared.sum()),
        "bad_half": float((error > 0.5).mean()),
        "bad_one": float((error > 1).mean()),
        "bad_two": float((error > 2).mean()),
        "mean_absolute": float(error.mean()),
    }
