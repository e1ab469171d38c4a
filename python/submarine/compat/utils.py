"""Unaries and features, with pydensecrf's names, arguments and shapes."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from .._arrays import Array

__all__ = [
    "unary_from_labels", "unary_from_softmax", "create_pairwise_gaussian", "create_pairwise_bilateral",
    "compute_unary", "softmax_to_unary",
]


def unary_from_labels(labels: Any, n_labels: int, gt_prob: float, zero_unsure: bool = True) -> Array:
    """Costs (n_labels, pixels) of an annotation that is right with probability ``gt_prob``, 0 < gt_prob < 1.

    With ``zero_unsure`` labels count from 1, and 0 means that nothing is known; else they count from 0.

    >>> import numpy as np
    >>> unary_from_labels(np.array([[0, 1, 2]]), 2, 0.75).round(2).T.tolist()[0]
    [0.6899999976158142, 0.6899999976158142]
    """
    assert 0 < gt_prob < 1, "`gt_prob must be in (0,1)."
    flat = np.asarray(labels).ravel()
    other = -np.log((1.0 - gt_prob) / (n_labels - 1)) if n_labels > 1 else np.inf
    unary = np.full((n_labels, flat.size), other, np.float32)
    known = flat != 0 if zero_unsure else np.ones(flat.size, bool)
    unary[(flat - 1 if zero_unsure else flat)[known], np.flatnonzero(known)] = -np.log(gt_prob)
    unary[:, ~known] = np.log(n_labels)
    return unary


def unary_from_softmax(sm: Any, scale: Optional[float] = None, clip: Optional[float] = 1e-5) -> Array:
    """Costs (labels, pixels) of probabilities with labels first.

    ``scale`` in (0, 1] mixes them with the uniform distribution; probabilities below ``clip`` are raised to it.

    >>> import numpy as np
    >>> unary_from_softmax(np.full((2, 3, 4), 0.5)).shape
    (2, 12)
    """
    probabilities = np.asarray(sm)
    count = probabilities.shape[0]
    if scale is not None:
        assert 0 < scale <= 1, "`scale` needs to be in (0,1]"
        probabilities = scale * probabilities + (1 - scale) / count
    if clip is not None:
        probabilities = np.clip(probabilities, clip, 1.0)
    with np.errstate(divide="ignore"):
        costs = -np.log(probabilities)
    return np.ascontiguousarray(costs.reshape(count, -1), np.float32)


def _mesh(shape: Sequence[int], sdims: Sequence[float]) -> Array:
    """Coordinates divided by their sigmas, one plane per axis."""
    mesh = np.array(np.meshgrid(*(np.arange(n, dtype=np.float32) for n in shape), indexing="ij"), np.float32)
    for axis, sigma in enumerate(sdims):
        mesh[axis] /= sigma
    return mesh


def create_pairwise_gaussian(sdims: Sequence[float], shape: Sequence[int]) -> Array:
    """Features (axes, pixels) of a kernel that sees positions only, for any number of axes.

    >>> create_pairwise_gaussian((2, 2), (3, 4)).shape
    (2, 12)
    """
    return _mesh(shape, sdims).reshape(len(sdims), -1)


def create_pairwise_bilateral(sdims: Sequence[float], schan: Any, img: Any, chdim: int = -1) -> Array:
    """Features (axes + channels, pixels) of a kernel that sees positions and the picture.

    ``chdim`` is the channel axis, -1 for a picture without one; ``schan`` one number or one per channel.

    >>> import numpy as np
    >>> create_pairwise_bilateral((2, 2), (1, 1, 1), np.zeros((3, 4, 3)), chdim=2).shape
    (5, 12)
    """
    image = np.asarray(img)
    planes: Array = (image[np.newaxis] if chdim == -1 else np.moveaxis(image, chdim, 0)).astype(np.float32)
    if not isinstance(schan, (list, tuple, np.ndarray)) or np.ndim(schan) == 0:
        planes /= schan
    else:
        for channel, sigma in enumerate(schan):
            planes[channel] /= sigma
    features: Array = np.concatenate([_mesh(planes.shape[1:], sdims), planes])
    return features.reshape(features.shape[0], -1)


def _warn(message: str) -> None:
    import logging  # most scripts get by without it

    logging.warning(message)


def compute_unary(labels: Any, M: int, GT_PROB: float = 0.5) -> Array:
    """Deprecated name of :func:`unary_from_labels`."""
    _warn("pydensecrf.compute_unary is deprecated, use unary_from_labels instead.")
    return unary_from_labels(labels, M, GT_PROB)


def softmax_to_unary(sm: Any, GT_PROB: float = 1) -> Array:
    """Deprecated name of :func:`unary_from_softmax`."""
    _warn("pydensecrf.softmax_to_unary is deprecated, use unary_from_softmax instead.")
    return unary_from_softmax(sm, None if GT_PROB == 1 else GT_PROB, clip=None)
