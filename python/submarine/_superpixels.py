"""Regions whose pixels are to agree: SLIC superpixels, or those of an array, as cliques."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import _core
from ._arrays import Array, as_array, as_integers, as_number, given, require_finite
from ._errors import InvalidInput
from ._keywords import checked_keywords
from ._models import DenseCrf


@checked_keywords
def superpixels(image: Any, size: float = 20.0, compactness: float = 10.0) -> Array:
    """A picture in connected regions of about the same size that follow its edges, by SLIC.

    Parameters
    ----------
    image : array
        The picture, of shape (height, width) or (height, width, channels), samples from 0 to 255; those of a picture whose
        floats all lie from 0 to 1 are taken times 255.
    size : float
        Of a region, in pixels along a side; at least 2.
    compactness : float
        How much distance counts beside colour (in CIELAB, for 3 channels): more makes regions rounder.

    Returns
    -------
    array of int
        The number of its region for every pixel, from 0 upwards.

    Raises
    ------
    InvalidInput
        For a picture of another shape, samples that are not finite, and numbers out of range.

    Examples
    --------
    >>> import numpy as np
    >>> regions = superpixels(np.zeros((40, 60, 3), np.uint8), size=20)
    >>> regions.shape, int(regions.max()) + 1
    ((40, 60), 6)
    """
    from ._refine import in_bytes

    picture = in_bytes(as_array(image, "image"), None)
    if picture.ndim not in (2, 3):
        raise InvalidInput(f"image has shape {picture.shape}, expected (height, width) or (height, width, channels)")
    require_finite(picture, "image")
    return _core.superpixels(picture, as_number(size, "size"), as_number(compactness, "compactness"))


def add_superpixels(model: DenseCrf, scales: Any, picture: Array) -> None:
    """Adds the cliques of every scale to the model of a picture."""
    if isinstance(scales, str) or (isinstance(scales, tuple) and len(scales) == 3 and not isinstance(scales[0], (str, tuple))):
        scales = [scales]
    for scale in scales:
        if isinstance(scale, str):
            spec = _core.superpixel_spec(scale)
            if spec["file"]:
                raise InvalidInput(f'superpixels has "{scale}", expected SLIC or (regions, gamma, Q): files are for the command')
            if len(model.shape) != 2:
                raise InvalidInput("SLIC is for pictures; for a volume give superpixels as (regions, gamma, Q)")
            regions: Any = _core.superpixels(picture, spec["size"], spec["compactness"])
            _add_regions(model, regions, spec["gamma"], spec["share"])
        elif isinstance(scale, (tuple, list)) and len(scale) == 3:
            regions = as_integers(as_array(scale[0], "the regions"), "the regions")
            if regions.shape != model.shape:
                raise InvalidInput(f"the regions have shape {regions.shape}, expected {model.shape}")
            _add_regions(model, regions, as_number(scale[1], "gamma"), as_number(scale[2], "Q"))
        else:
            raise InvalidInput(f"superpixels has {given(scale)}, expected a text or (regions, gamma, Q)")


def _add_regions(model: DenseCrf, regions: Array, gamma: float, share: float) -> None:
    """What a region costs at most is gamma for each of its pixels, once the share of them disagrees."""
    if not (np.isfinite(gamma) and gamma >= 0.0):
        raise InvalidInput(f"the gamma of superpixels is {gamma}, expected a finite number >= 0")
    if not 0.0 < share <= 0.5:
        raise InvalidInput(f"the Q of superpixels is {share}, expected a share above 0 and at most 0.5")
    flat = regions.reshape(-1)
    order = np.argsort(flat, kind="stable")
    _, begin, counts = np.unique(flat[order], return_index=True, return_counts=True)
    members: Sequence[Array] = [order[b : b + n] for b, n in zip(begin, counts) if n > 1]
    sizes = np.array([len(clique) for clique in members], np.float64)
    if len(members) and gamma > 0.0:
        model.add_cliques(members, gamma * sizes, share * sizes)
