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
    weights = np.zeros(0, np.uint8) if mask is None else as_array(mask, "the mask").astype(np.uint8)
    return dict(_core.compare_disparities(as_array(estimate, "the estimate"), as_array(truth, "the truth"), weights))
