"""Parameters of segmentation, as ``submarine fit`` writes them."""

from __future__ import annotations

import os
from typing import Any, Dict, NamedTuple, Tuple, Union

from . import _core
from ._keywords import checked_keywords


class SegmentationParameters(NamedTuple):
    """Two kernels, how long mean field runs over them, and how far the classifier is trusted (docs/formats.md)."""

    position_sigma: float = 3.0
    position_weight: float = 3.0
    bilateral_sigma: float = 80.0
    colour_sigma: float = 13.0
    bilateral_weight: float = 10.0
    updates: int = 5
    normalised: bool = True
    softmax_temperature: float = 1.0
    superpixel_sizes: Tuple[float, ...] = ()
    superpixel_gamma: float = 0.1
    superpixel_share: float = 0.2


@checked_keywords
def read_parameters(path: Union[str, os.PathLike[str]]) -> SegmentationParameters:
    """Reads what ``submarine fit`` found.

    Parameters
    ----------
    path : str or path
        Of the file, which :func:`refine` also takes: ``refine(softmax, image, parameters="fit/parameters.json")``.

    Returns
    -------
    SegmentationParameters
        Its values, and the defaults of those that it does not have.

    Raises
    ------
    FileError
        For a file that cannot be read or has impossible values.

    Examples
    --------
    >>> import json, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "parameters.json")
    >>> with open(path, "w") as file: json.dump({"submarine": "segmentation", "colour_sigma": 7}, file)
    >>> read_parameters(path).colour_sigma
    7.0
    """
    return parameters_from(_core.read_segmentation_parameters(os.fspath(path)))


def parameters_from(found: Dict[str, Any]) -> SegmentationParameters:
    """Of the library's JSON, which has lists."""
    values: Dict[str, Any] = {**found, "superpixel_sizes": tuple(found["superpixel_sizes"])}
    return SegmentationParameters(**values)
