"""The Gaussian kernels that dense models are made of, before they know the size of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._arrays import Array, Number, as_array, as_number, as_sigmas, require_finite
from ._errors import InvalidInput
from ._keywords import checked_keywords

Sigma = Union[Number, Sequence[Number]]
Extent = Tuple[int, ...]  # (height, width), (depth, height, width), or () where variables are no pixels


@dataclass(frozen=True, eq=False, repr=False)
class KernelSpec:
    """One kernel; made by :func:`position`, :func:`bilateral` and :func:`features`."""

    kind: str
    sigma: Tuple[float, ...]
    weight: float
    colour_sigma: Tuple[float, ...] = ()
    values: Optional[Array] = None  # the picture, or the features
    normalised: bool = False
    factors: Optional[Array] = None  # r of r_a r_b k_ab, where they are given rather than computed

    def __repr__(self) -> str:
        parts = [self.kind, f"sigma {_numbers(self.sigma)}"]
        if self.colour_sigma:
            parts.append(f"colour_sigma {_numbers(self.colour_sigma)}")
        parts.append(f"weight {self.weight:g}")
        if self.values is not None:
            parts.append(f"{'features' if self.kind == 'features' else 'image'} of shape {self.values.shape}")
        return f"<submarine.KernelSpec: {', '.join(parts)}{', normalised' if self.normalised else ''}>"

    def build(self, extent: Extent, variables: int) -> _core.Kernel:
        """The kernel for a model of that size."""
        if self.kind == "features":
            assert self.values is not None
            if self.values.shape[0] != variables:
                raise InvalidInput(
                    f"the features have shape {self.values.shape}, expected ({variables}, number of features), "
                    "a row per variable"
                )
            return self._kernel(self.sigma, self.values)
        if len(extent) not in (2, 3):
            raise InvalidInput(
                f"{self.kind} kernels are for unaries of shape (height, width, labels) or "
                "(depth, height, width, labels); use submarine.features for anything else"
            )
        sigma = self.axis_sigmas(len(extent))
        return self._kernel(sigma) if self.kind == "position" else self._kernel(sigma, self.image(extent))

    def _kernel(self, sigma: Sequence[float], values: Optional[Array] = None) -> _core.Kernel:
        options = dict(type=self.kind, sigma=list(sigma), weight=self.weight, normalised=self.normalised)
        if self.kind == "bilateral":
            options["colour_sigma"] = list(self.colour_sigma)
        return _core.Kernel(options, values, self.factors)

    def axis_sigmas(self, axes: int) -> list[float]:
        """sigma of x, y and, in volumes, z."""
        if len(self.sigma) == 1:
            return list(self.sigma) * axes
        if len(self.sigma) != axes:
            raise InvalidInput(f"sigma has {len(self.sigma)} numbers, expected 1 or {axes} (x, y and, in volumes, z)")
        return list(self.sigma)

    def image(self, extent: Extent) -> Array:
        """The picture with a channel axis at the end."""
        assert self.values is not None
        image = self.values
        if image.shape == tuple(extent):
            image = image[..., np.newaxis]
        if image.ndim != len(extent) + 1 or image.shape[:-1] != tuple(extent):
            raise InvalidInput(
                f"the image has shape {self.values.shape}, expected {tuple(extent)} as the unaries, "
                "with or without channels at the end"
            )
        return image


def _numbers(values: Sequence[float]) -> str:
    text = ", ".join(f"{value:g}" for value in values)
    return text if len(values) == 1 else f"({text})"


@checked_keywords
def position(sigma: Sigma, weight: Number, *, normalised: bool = False) -> KernelSpec:
    """A kernel of positions: neighbours agree, whatever the picture shows.

    Its value is weight * exp(-|distance|^2 / (2 sigma^2)).

    Parameters
    ----------
    sigma : float or sequence of float
        In pixels: one number, or (x, y) or, for volumes, (x, y, z).
    weight : float
        The price of a disagreement of two pixels at the same place, >= 0.
    normalised : bool
        Whether to divide by the square roots of the row sums, as pydensecrf does by default.

    Returns
    -------
    KernelSpec
        A kernel for :class:`DenseCrf`.

    Raises
    ------
    InvalidInput
        For what is no number. The range is checked when a model is made.

    Examples
    --------
    >>> position(3, 2)
    <submarine.KernelSpec: position, sigma 3, weight 2>
    """
    return KernelSpec("position", as_sigmas(sigma, "sigma"), as_number(weight, "weight"), normalised=normalised)


@checked_keywords
def bilateral(
    sigma: Sigma, colour_sigma: Sigma, weight: Number, image: Any, *, normalised: bool = False
) -> KernelSpec:
    """A kernel of positions and colours: pixels that are near and alike agree.

    Its value is weight * exp(-|distance|^2 / (2 sigma^2) - |colour difference|^2 / (2 colour_sigma^2)).

    Parameters
    ----------
    sigma : float or sequence of float
        In pixels: one number, or (x, y) or, for volumes, (x, y, z).
    colour_sigma : float or sequence of float
        In the units of the image, one number or one per channel.
    weight : float
        The price of a disagreement of two pixels of the same place and colour, >= 0.
    image : array
        Of shape (height, width) or (height, width, channels), volumes (depth, height, width[, channels]), with any
        number of channels.
    normalised : bool
        Whether to divide by the square roots of the row sums, as pydensecrf does by default.

    Returns
    -------
    KernelSpec
        A kernel for :class:`DenseCrf`.

    Raises
    ------
    InvalidInput
        For an image that is not made of finite numbers, and sigmas or weights that are no numbers.

    Examples
    --------
    >>> import numpy as np
    >>> bilateral(80, 13, 10, np.zeros((4, 5, 3), np.uint8))
    <submarine.KernelSpec: bilateral, sigma 80, colour_sigma 13, weight 10, image of shape (4, 5, 3)>
    """
    values = as_array(image, "the image")
    require_finite(values, "the image")
    return KernelSpec(
        "bilateral", as_sigmas(sigma, "sigma"), as_number(weight, "weight"), as_sigmas(colour_sigma, "colour_sigma"),
        values, normalised,
    )


@checked_keywords
def features(values: Any, weight: Number, sigma: Sigma = 1.0, *, normalised: bool = False) -> KernelSpec:
    """A kernel of any features, for point clouds and whatever else is not a picture.

    Its value is weight * exp(-sum over columns (f_a - f_b)^2 / (2 sigma^2)).

    Parameters
    ----------
    values : array
        Features of shape (variables, D), D <= 16; leading axes may be those of the unaries.
    weight : float
        The price of a disagreement of two variables with the same features, >= 0.
    sigma : float or sequence of float
        One number, or one per column.
    normalised : bool
        Whether to divide by the square roots of the row sums, as pydensecrf does by default.

    Returns
    -------
    KernelSpec
        A kernel for :class:`DenseCrf`.

    Raises
    ------
    InvalidInput
        For features that are not finite numbers with an axis of columns, and sigmas or weights that are no numbers.

    Examples
    --------
    >>> import numpy as np
    >>> features(np.zeros((20, 3)), 2.0, sigma=0.5)
    <submarine.KernelSpec: features, sigma 0.5, weight 2, features of shape (20, 3)>
    """
    array = as_array(values, "the features")
    if array.ndim < 2:
        raise InvalidInput(f"the features have shape {array.shape}, expected (variables, number of features)")
    require_finite(array, "the features")
    return KernelSpec(
        "features", as_sigmas(sigma, "sigma"), as_number(weight, "weight"),
        values=array.reshape(-1, array.shape[-1]), normalised=normalised,
    )
