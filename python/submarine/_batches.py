"""Batches as networks of PyTorch give them: logits with the classes in the second axis. PyTorch itself is not needed."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from ._arrays import Array, Number, as_array, as_sigmas
from ._errors import InvalidInput
from ._keywords import checked_keywords
from ._refine import refine_many


class RefinedBatch(NamedTuple):
    """``labels`` of shape (batch, ...) and ``probabilities`` of the shape of the logits; tensors where tensors were given."""

    labels: Any
    probabilities: Any


def _values(given: Any, name: str) -> Array:
    """Of a tensor of any device, which may ask for gradients, or of an array."""
    if hasattr(given, "detach"):
        given = given.detach().cpu()
        given = given.float() if str(given.dtype) == "torch.bfloat16" else given
    return as_array(given, name)


def _softmax(logits: Array) -> Array:
    if not np.isfinite(logits).all():
        raise InvalidInput("the logits are not all finite numbers")
    shifted: Array = logits.astype(np.float32) - logits.max(1, keepdims=True).astype(np.float32)
    np.exp(shifted, out=shifted)
    shifted /= shifted.sum(1, keepdims=True)
    return shifted


def _pictures(images: Any, logits: Array, mean: Any, std: Any) -> Array:
    values = _values(images, "the images")
    if values.ndim != logits.ndim or values.shape[:1] + values.shape[2:] != logits.shape[:1] + logits.shape[2:]:
        raise InvalidInput(
            f"the images have shape {values.shape}, expected {(logits.shape[0], 'channels', *logits.shape[2:])} as the logits"
        )
    if mean is None and std is None:
        return values
    ends = []
    for given, name, default in ((mean, "mean", 0.0), (std, "std", 1.0)):
        numbers = as_sigmas(default if given is None else given, name)
        if len(numbers) not in (1, values.shape[1]):
            raise InvalidInput(f"{name} has {len(numbers)} numbers, expected 1 or {values.shape[1]}, one per channel")
        ends.append(np.array(numbers, np.float32).reshape((1, -1) + (1,) * (values.ndim - 2)))
    restored: Array = values * ends[1] + ends[0]
    top = 1.0 if restored.max() <= 1.5 else 255.0  # rounding may leave the range
    return np.clip(restored, 0, top)


def _refined(
    logits: Any, images: Any, axes: int, layout: str, mean: Any, std: Any, spacing: Any, workers: Optional[int]
) -> RefinedBatch:
    scores = _values(logits, "the logits")
    if scores.ndim != axes:
        raise InvalidInput(f"the logits have shape {scores.shape}, expected {layout}")
    softmax = _softmax(scores)
    pictures = _pictures(images, scores, mean, std)
    found = list(refine_many(zip(softmax, pictures), workers=workers, label_axis=0, channel_axis=0, spacing=spacing))
    labels = np.stack([one.labels for one in found]).astype(np.int64)
    probabilities = np.stack([one.probabilities for one in found])
    if not hasattr(logits, "detach"):
        return RefinedBatch(labels, probabilities)
    torch = sys.modules["torch"]
    return RefinedBatch(*(torch.from_numpy(np.ascontiguousarray(v)).to(logits.device) for v in (labels, probabilities)))


@checked_keywords
def refine_logits(
    logits: Any, images: Any, *, mean: Any = None, std: Any = None, workers: Optional[int] = None
) -> RefinedBatch:
    """:func:`refine` for a batch of pictures as torchvision and mmsegmentation have it.

    Parameters
    ----------
    logits : tensor or array
        A network's scores before the softmax, of shape (batch, classes, height, width).
    images : tensor or array
        The pictures, of shape (batch, channels, height, width), samples from 0 to 255 or, as floats, from 0 to 1.
    mean, std : float or sequence of float, optional
        By which the pictures were normalised for the network, which is undone: ``images * std + mean``.
    workers : int, optional
        As for :func:`refine_many`.

    Returns
    -------
    RefinedBatch
        ``labels``, of shape (batch, height, width), and ``probabilities``, of the shape of the logits, into which it
        unpacks: tensors on the device of the logits, or arrays.

    Raises
    ------
    InvalidInput
        For other shapes, and numbers that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.random.default_rng(1).normal(size=(2, 3, 8, 9))
    >>> labels, probabilities = refine_logits(logits, np.zeros((2, 3, 8, 9), np.uint8))
    >>> labels.shape, probabilities.shape
    ((2, 8, 9), (2, 3, 8, 9))
    """
    return _refined(logits, images, 4, "(batch, classes, height, width)", mean, std, None, workers)


@checked_keywords
def refine_volumes(
    logits: Any, images: Any, *, mean: Any = None, std: Any = None,
    spacing: Union[None, Number, Sequence[Number]] = None, workers: Optional[int] = None,
) -> RefinedBatch:
    """:func:`refine` for a batch of volumes as MONAI has it.

    Parameters
    ----------
    logits : tensor or array
        A network's scores before the softmax, of shape (batch, classes, x, y, z).
    images : tensor or array
        The volumes, of shape (batch, channels, x, y, z), samples as for :func:`refine_logits`.
    mean, std : float or sequence of float, optional
        As for :func:`refine_logits`.
    spacing : float or sequence of float, optional
        The distances of voxels along x, y and z, as ``pixdim`` of the header.
    workers : int, optional
        As for :func:`refine_many`.

    Returns
    -------
    RefinedBatch
        ``labels``, of shape (batch, x, y, z), and ``probabilities``, of the shape of the logits.

    Raises
    ------
    InvalidInput
        For other shapes, and numbers that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.random.default_rng(1).normal(size=(1, 2, 4, 5, 6))
    >>> labels, _ = refine_volumes(logits, np.zeros((1, 1, 4, 5, 6)), spacing=(1, 1, 2.5))
    >>> labels.shape
    (1, 4, 5, 6)
    """
    return _refined(logits, images, 5, "(batch, classes, x, y, z)", mean, std, spacing, workers)
