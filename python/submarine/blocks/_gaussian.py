"""Bounds on what pairs cost that are farther apart than a halo (docs/math.md, "Blocks")."""

from __future__ import annotations

from typing import Callable, List, Sequence

import numpy as np

from .._arrays import Array
from ._plan import widened, within
from ._store import Box, shape_of, slices

REACH = 8.0  # standard deviations; what is farther is bounded by one number
ROUNDING = 1e-9  # of sums of terms >= 0, each of which is off by a few hundred ulps at most


def far_cost(
    core: Box,
    near: Box,
    extent: Sequence[int],
    sigma: Sequence[float],
    weight: float,
    distance: Array,
    total: float,
    factors_of: Callable[[Box], Array],
    marginals_of: Callable[[Box], Array],
) -> float:
    """At least half of the expected cost of all pairs of a variable of ``core`` and one outside of ``near``, for one kernel.

    The kernel is at most its Gaussian of positions, which factorises over the axes. ``total`` is the sum of all factors of
    the model, ``near`` = () where all pairs count.
    """
    reach = [int(np.ceil(REACH * s)) for s in sigma]
    outer = widened(core, reach, extent)
    labels = distance.shape[0]
    factors = factors_of(outer).astype(np.float64)
    if near:
        inside = within(tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(near, outer)), outer)
        factors[slices(inside)] = 0.0
    own = within(core, outer)
    mine = normalised(marginals_of(core))
    mine *= (factors_of(core).astype(np.float64))[..., np.newaxis]
    cost = 0.0
    if factors.any():
        matrices: List[Array] = []
        for (start, stop), (low, high), width in zip(core, outer, sigma):
            apart = (np.arange(start, stop)[:, None] - np.arange(low, high)[None, :]) / width
            matrices.append(np.exp(-0.5 * apart * apart))
        others = marginals_of(outer)
        factors /= others.sum(axis=-1, dtype=np.float64)
        for label in range(labels):
            price = mine @ np.ascontiguousarray(distance[:, label], np.float64)
            if not price.any():
                continue
            alone = factors * others[..., label]
            mass = alone
            for axis, matrix in enumerate(matrices):
                mass = np.moveaxis(np.tensordot(matrix, mass, axes=(1, axis)), 0, axis)
            if not near:  # a variable is no pair with itself
                np.subtract(mass, alone[slices(own)], out=mass)
                np.maximum(mass, 0.0, out=mass)
                mass += 1e-12 * mass.max(initial=0.0)
            cost += float((price * mass).sum())
    if shape_of(outer) != tuple(extent):
        cost += float(mine.sum()) * float(distance.max()) * total * float(np.exp(-0.5 * REACH**2))
    return 0.5 * weight * cost * (1.0 + ROUNDING)


def normalised(marginals: Array) -> Array:
    """As the verifier takes them: rows divided by their sums."""
    values = marginals.astype(np.float64)
    values /= values.sum(axis=-1, keepdims=True)
    return values
