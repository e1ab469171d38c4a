"""Marginals of conditional random fields with certified bounds on log Z.

>>> import numpy as np
>>> import submarine as sm
>>> model = sm.GridCrf(np.random.default_rng(1).normal(size=(4, 5, 3)), weights=0.5)
>>> result = sm.solve(model)
>>> result.lower <= result.upper
True

Models: :class:`GridCrf`, :class:`GraphCrf`, :class:`DenseCrf`, :class:`FactorGraph`; kernels of dense models:
:func:`position`, :func:`bilateral`, :func:`features`. :func:`refine` is one line for segmentations, and
``import submarine.compat.install`` provides pydensecrf's modules.
"""

from . import blocks
from ._core import __version__
from ._batches import refine_logits, refine_volumes
from ._errors import Error, FileError, Interrupted, InvalidInput, NotExpressible, TimeLimit, TooLarge
from ._kernels import KernelSpec, bilateral, features, position
from ._labelled import Change, Comparison, Fit, compare_labels, fit
from ._models import DenseCrf, FactorGraph, GraphCrf, GridCrf, grid_edges, read
from ._parameters import SegmentationParameters, read_parameters
from ._points import Points, read_points, refine_points
from ._refine import Refined, costs_of, probabilities_of, refine, refine_many
from ._result import Expectation, Record, Result
from ._segmenter import Segmenter
from ._solve import Method, methods, set_threads, solve
from ._stereo import StereoResult, matching_costs, stereo
from ._superpixels import superpixels
from ._volumes import RefinedVolume, refine_volume

__all__ = [
    "Change", "Comparison", "DenseCrf", "Error", "Expectation", "FactorGraph", "FileError", "Fit", "GraphCrf",
    "GridCrf", "Interrupted", "InvalidInput", "KernelSpec", "Method", "NotExpressible", "Points", "Record",
    "Refined", "RefinedVolume", "Result", "SegmentationParameters", "Segmenter", "StereoResult", "TimeLimit",
    "TooLarge", "__version__", "bilateral", "blocks", "compare_labels", "costs_of", "features", "fit",
    "grid_edges", "matching_costs", "methods", "position", "probabilities_of", "read", "read_parameters",
    "read_points", "refine", "refine_logits", "refine_many", "refine_points", "refine_volume",
    "refine_volumes", "set_threads", "solve", "stereo", "superpixels",
]
