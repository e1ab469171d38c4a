"""Pictures, volumes and grids that are larger than the memory, or than a machine: blocks with one certificate for the whole.

>>> import numpy as np
>>> import submarine as sm
>>> softmax = np.random.default_rng(1).dirichlet((1, 1), (30, 50))
>>> labels, lower, upper = sm.blocks.refine(
...     softmax, np.zeros((30, 50), np.uint8), block=25, scheduler="here", bilateral_sigma=3)
>>> labels.shape, lower < upper
((30, 50), True)
"""

from ._refine import refine
from ._result import Blocks
from ._solve import solve

__all__ = ["Blocks", "refine", "solve"]
