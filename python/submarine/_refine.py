"""One line for the common case: what a classifier says about a picture, refined by a dense CRF."""

from __future__ import annotations

import collections
import math
import os
import time
import warnings
from typing import Any, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Sized, Tuple, Union, get_args

import numpy as np

from . import _core
from ._arrays import (
    Array, Number, as_array, as_integers, as_number, as_sigmas, as_whole, given, labels_last, require_finite,
)
from ._errors import InvalidInput
from ._kernels import Extent, Sigma, bilateral, position
from ._keywords import Certify, Plot, Preset, check_choice, checked_keywords
from ._models import DenseCrf, Metric
from ._parameters import SegmentationParameters, read_parameters
from ._result import Expectation, Result
from ._solve import Bar, current_threads, solve
from ._superpixels import add_superpixels


_MOST_OFF = 0.01  # probabilities are from 0 to 1, and sum to 1, up to this: the precision of half floats and of bytes, as in the command


class _Pair(NamedTuple):
    labels: Array
    probabilities: Array


class Refined(_Pair):
    """``labels`` has the shape of the picture, ``probabilities`` that of what was given.

    It unpacks into these two; ``result`` is what the solve has to say about them, with its interval where one was
    asked for. ``spacing`` is that of the picture, None where it was not given.
    """

    result: Result
    spacing: Optional[Tuple[float, ...]] = None

    @checked_keywords
    def areas(self, mask: Any = None) -> List[Expectation]:
        """What ``certify=True`` proves about the area of every label, or its volume.

        Parameters
        ----------
        mask : array, optional
            Of the shape of the labels: only pixels where it is not 0 count.

        Returns
        -------
        list of Expectation
            One for every label, in pixels; where there is a spacing in its unit to the power of the axes.

        Raises
        ------
        InvalidInput
            For other shapes, and without ``certify``.

        Examples
        --------
        >>> import numpy as np
        >>> softmax = np.full((8, 9, 2), 0.5); softmax[:, :4, 0] = 0.9; softmax[:, :4, 1] = 0.1
        >>> found = refine(softmax, np.zeros((8, 9), np.uint8), certify=True, spacing=0.5)
        >>> 9 < found.areas()[0].lower < found.areas()[0].upper <= 18
        True
        """
        found = self.result.areas(mask)
        return found if self.spacing is None else [area._scaled(self.spacing) for area in found]

    def __repr__(self) -> str:
        shapes = f"labels of shape {self.labels.shape}, probabilities of shape {self.probabilities.shape}"
        return f"<submarine.Refined: {shapes}, {self.result._outcome()}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    def plot(self, kind: Plot = "labels", axes: Any = None) -> Any:
        """:meth:`Result.plot` of the result."""
        return self.result.plot(kind, axes)


@checked_keywords
def costs_of(probabilities: Any, clip: float = 1e-5) -> Array:
    """Unaries of probabilities: -log p.

    Parameters
    ----------
    probabilities : array
        From 0 to 1, of any shape.
    clip : float
        What smaller probabilities are raised to: 0 has no logarithm, and 1e-300 hardly one.

    Returns
    -------
    array of float32
        Costs of the same shape.

    Raises
    ------
    InvalidInput
        For what is no probability, NaN among it, and a clip that is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> costs_of(np.array([0.5, 0.0])).round(3)
    array([ 0.693, 11.513], dtype=float32)
    """
    name = "probabilities"
    values = as_array(probabilities, name)
    if not 0 < as_number(clip, "clip") < 1:
        raise InvalidInput(f"clip is {clip}, expected a number between 0 and 1")
    if values.size:
        low, high = values.min(), values.max()  # NaN where any value is
        if not (np.isfinite(low) and np.isfinite(high)):
            require_finite(values, name)
        if low < -_MOST_OFF or high > 1 + _MOST_OFF:
            raise InvalidInput(
                f"{name} lies between {low:g} and {high:g}, expected probabilities from 0 to 1 "
                "(are they logits? take a softmax first)"
            )
    costs = values.astype(np.float32, copy=False)
    costs = np.clip(costs, np.float32(clip), np.float32(1), out=None if costs is values else costs)  # the only copy
    np.log(costs, out=costs)
    return np.negative(costs, out=costs)


def _label_axis(values: Array, extent: Tuple[int, ...], label_axis: Optional[int]) -> int:
    if label_axis is not None:
        return as_whole(label_axis, "label_axis")
    last, first = values.shape[:-1] == extent, values.shape[1:] == extent
    if last and first:
        raise InvalidInput(
            f"probabilities of shape {values.shape} may have labels first or last: say which by label_axis"
        )
    if not last and not first:
        raise InvalidInput(
            f"probabilities have shape {values.shape}, expected {extent} with labels before (label_axis=0) or after "
            "(label_axis=-1) it"
        )
    return -1 if last else 0


class _Costs(NamedTuple):
    """What a classifier's probabilities say about a picture."""

    values: Array
    label_axis: int
    extent: Tuple[int, ...]
    picture: Array

    def adapted(self) -> SegmentationParameters:
        """Kernels for a picture of this size and a classifier this sure (docs/parameters.md)."""
        found = _core.parameters_for(np.moveaxis(self.values, self.label_axis, -1))
        return SegmentationParameters(*found)

    def calibrated(self, result: Result) -> Result:
        """With mean field's marginals less sure."""
        assert isinstance(result.marginals, np.ndarray)
        costs = np.moveaxis(self.values, self.label_axis, -1)
        result.marginals = _core.calibrated_marginals(costs, result.marginals)
        return result


def costs_for(
    probabilities: Any, image: Any, softmax_temperature: float, label_axis: Optional[int], clip: float,
    channel_axis: Optional[int] = None,
) -> _Costs:
    """The unaries of :func:`refine`."""
    picture = as_array(image, "the image")
    values = as_array(probabilities, "probabilities")
    if channel_axis is not None:
        picture = labels_last(picture, channel_axis, "the image")
    extent = picture.shape[:-1] if picture.ndim == values.ndim else picture.shape
    known = (values.shape[1:], values.shape[:-1])
    if channel_axis is None and picture.ndim == values.ndim and extent not in known and picture.shape[1:] in known:
        raise InvalidInput(f"the image has shape {picture.shape}, whose channels are its first axis: say channel_axis=0")
    axis = _label_axis(values, extent, label_axis)
    values = _known(values, axis)
    temperature = as_number(softmax_temperature, "softmax_temperature")
    if not (0 < temperature < float("inf")):
        raise InvalidInput(f"softmax_temperature is {temperature}, expected a finite number > 0")
    costs = np.ascontiguousarray(costs_of(values, clip))
    _check_sums(values, axis)
    if temperature != 1:
        costs /= np.float32(temperature)
    return _Costs(costs, axis, extent, picture)


def _known(probabilities: Array, axis: int) -> Array:
    """With rows of NaN or zeros, which say that nothing is known, uniform."""
    if probabilities.dtype.kind != "f" or probabilities.size == 0:
        return probabilities
    sums = probabilities.sum(axis)
    if np.isfinite(sums).all() and sums.all():
        return probabilities
    rows = np.moveaxis(probabilities, axis, -1)
    unknown = np.isnan(rows).all(-1) | ~rows.any(-1)
    if not unknown.any():
        return probabilities
    filled = probabilities.copy()
    np.moveaxis(filled, axis, -1)[unknown] = 1 / rows.shape[-1]
    return filled


def _check_sums(probabilities: Array, axis: int) -> None:
    """Names the first pixel whose probabilities do not sum to 1."""
    sums = probabilities.sum(axis, dtype=np.float32)
    bad = np.abs(sums - 1) > _MOST_OFF
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInput(f"probabilities sum to {sums[place]:.4g} over the labels at {place}, expected 1")


@checked_keywords
def probabilities_of(labels: Any, num_labels: int, *, confidence: float = 0.9, ignore: int = 255) -> Array:
    """Probabilities of a labeling that is partly known: of scribbles, or of a map of labels with a value for unknown.

    Parameters
    ----------
    labels : array of int
        Of the shape of the picture, from 0 to num_labels - 1; negative where unknown.
    num_labels : int
        How many there are.
    confidence : float
        The probability of a label that is given; the others share the rest.
    ignore : int
        The value of unknown pixels, whose probabilities are uniform. It goes before a label of this number.

    Returns
    -------
    array of float32
        Of the shape of the labels, with the labels in a last axis more: for :func:`refine`.

    Raises
    ------
    InvalidInput
        For labels that there are none of, and a confidence that is not between 0 and 1.

    Examples
    --------
    >>> probabilities_of([[0, 1, 255]], 2).tolist()[0][2]
    [0.5, 0.5]
    """
    given = as_integers(labels, "the labels")
    count, sure = as_whole(num_labels, "num_labels"), as_number(confidence, "confidence")
    if count < 2:
        raise InvalidInput(f"num_labels is {count}, expected 2 or more")
    if not 0 < sure < 1:
        raise InvalidInput(f"confidence is {sure}, expected a number between 0 and 1")
    known = (given >= 0) & (given != as_whole(ignore, "ignore"))
    if known.any() and given[known].max() >= count:
        raise InvalidInput(f"the labels reach {given[known].max()}, expected 0 to {count - 1}, or {ignore} where unknown")
    rows = np.full((*given.shape, count), (1 - sure) / (count - 1), np.float32)
    np.put_along_axis(rows, np.where(known, given, 0)[..., None], np.float32(sure), -1)
    rows[~known] = 1 / count
    return rows


def in_bytes(picture: Array, colour_sigma: Any) -> Array:
    """The picture with samples from 0 to 255, which colour sigmas are made for unless they are given for others."""
    if picture.dtype.kind not in "fb" or picture.size == 0:
        return picture
    if colour_sigma is not None and max(as_sigmas(colour_sigma, "colour_sigma")) <= 1:
        return picture
    low, high = float(picture.min()), float(picture.max())
    if 0 <= low and 0 < high <= 1:
        if picture.dtype.kind == "f":
            warnings.warn("the image has samples from 0 to 1, which are taken times 255", stacklevel=4)
        return picture * np.float32(255)
    if low < 0 and high - low < 20 and colour_sigma is None:
        raise InvalidInput(
            f"the image lies between {low:.3g} and {high:.3g}, expected samples from 0 to 255 or from 0 to 1 "
            "(was it normalised for a network?); for another range say colour_sigma in its units"
        )
    return picture


def _lengths(sigma: Any, name: str, spacing: Optional[Tuple[float, ...]]) -> Tuple[float, ...]:
    """Of x, y and z in pixels."""
    lengths = as_sigmas(sigma, name)
    if spacing is None:
        return lengths
    lengths = lengths * len(spacing) if len(lengths) == 1 else lengths
    return tuple(length / step for length, step in zip(lengths, reversed(spacing)))


def _checked_spacing(spacing: Any, extent: Extent) -> Optional[Tuple[float, ...]]:
    if spacing is None:
        return None
    steps = as_sigmas(spacing, "spacing")
    steps = steps * len(extent) if len(steps) == 1 else steps
    if len(steps) != len(extent) or not all(0 < step < math.inf for step in steps):
        raise InvalidInput(f"spacing is {list(steps)}, expected a positive number for every axis of {extent}")
    return steps


def _compatible(compatibility: Any, labels: int) -> Array:
    matrix = as_array(compatibility, "compatibility").astype(np.float64)
    if matrix.shape != (labels, labels):
        raise InvalidInput(f"compatibility has shape {matrix.shape}, expected ({labels}, {labels})")
    require_finite(matrix, "compatibility")
    different = ~np.isclose(matrix, matrix.T)
    if different.any():
        i, j = (int(i) for i in np.argwhere(different)[0])
        raise InvalidInput(
            f"compatibility is {matrix[i, j]:g} at ({i}, {j}) and {matrix[j, i]:g} at ({j}, {i}), expected a symmetric matrix"
        )
    return matrix


def _by_matrix(
    costs: _Costs, parameters: SegmentationParameters, compatibility: Array, updates: int, spacing: Optional[Tuple[float, ...]]
) -> Result:
    """Mean field with a price for every pair of labels, of any sign: there is no model that bounds could be about."""
    extent = costs.extent
    picture = costs.picture[..., np.newaxis] if costs.picture.shape == extent else costs.picture
    labels, axes = int(compatibility.shape[0]), len(extent)
    begin = time.monotonic()
    engine = _core.PydensecrfMeanField(int(np.prod(extent)), labels, _core.default_memory())
    engine.set_threads(current_threads())
    engine.set_unary(np.moveaxis(costs.values, costs.label_axis, 0).reshape(labels, -1))
    where = np.moveaxis(np.indices(extent, np.float32)[::-1], 0, -1).reshape(-1, axes)
    colours = picture.reshape(-1, picture.shape[-1]).astype(np.float32)
    near, alike = (
        np.array(_lengths(sigma, name, spacing), np.float32) for name, sigma in
        (("position_sigma", parameters.position_sigma), ("bilateral_sigma", parameters.bilateral_sigma))
    )
    colour = np.array(as_sigmas(parameters.colour_sigma, "colour_sigma"), np.float32)
    for features, weight in (
        (where / near, parameters.position_weight),
        (np.concatenate([where / alike, colours / colour], -1), parameters.bilateral_weight),
    ):
        engine.add_term(features, 3 if parameters.normalised else 0, list(weight * compatibility.ravel()))
    rows = engine.infer(updates, True).reshape(extent + (labels,))
    return Result(
        method="mf", termination="iteration limit", model="mean field of a compatibility of labels, without a proof",
        temperature=1.0, lower=None, upper=None, dual=None, energy=None, labels=rows.argmax(-1).astype(np.int32),
        marginals=rows, seconds=time.monotonic() - begin,
    )


def model_of(
    costs: _Costs, parameters: SegmentationParameters, metric: Metric = "potts", spacing: Optional[Tuple[float, ...]] = None
) -> DenseCrf:
    """The model that :func:`refine` solves."""
    normalised = parameters.normalised
    kernels = [
        position(
            _lengths(parameters.position_sigma, "position_sigma", spacing),
            as_number(parameters.position_weight, "position_weight"), normalised=normalised,
        ),
        bilateral(
            _lengths(parameters.bilateral_sigma, "bilateral_sigma", spacing), parameters.colour_sigma,
            as_number(parameters.bilateral_weight, "bilateral_weight"), costs.picture, normalised=normalised,
        ),
    ]
    return DenseCrf(costs.values, kernels, metric, label_axis=costs.label_axis)


@checked_keywords
def refine(
    probabilities: Any,
    image: Any,
    *,
    certify: Union[bool, Certify] = False,
    least_energy: bool = False,
    method: Optional[str] = None,
    updates: Optional[int] = None,
    max_iterations: Optional[int] = None,
    gap: Optional[float] = None,
    time_limit: Optional[float] = None,
    preset: Optional[Preset] = None,
    parameters: Union[None, str, os.PathLike[str], SegmentationParameters] = None,
    position_sigma: Optional[Sigma] = None,
    position_weight: Optional[Number] = None,
    bilateral_sigma: Optional[Sigma] = None,
    colour_sigma: Optional[Sigma] = None,
    bilateral_weight: Optional[Number] = None,
    normalised: Optional[bool] = None,
    softmax_temperature: Optional[float] = None,
    metric: Metric = "potts",
    compatibility: Any = None,
    superpixels: Any = (),
    label_axis: Optional[int] = None,
    channel_axis: Optional[int] = None,
    spacing: Union[None, Number, Sequence[Number]] = None,
    clip: float = 1e-5,
    progress: bool = False,
) -> Refined:
    """Labels and probabilities that follow the picture's edges: ``labels, probabilities = refine(softmax, image)``.

    What is done by default is what ``submarine segment`` does, to the same labels: 5 updates of mean field with kernels
    that fit the picture's size and how sure the classifier is, normalised, and pairs counted once. Mean field's
    probabilities are too sure; a temperature brings them half-way to what the classifier says of these labels, and
    leaves the labels as they are. With ``preset="pydensecrf"`` or a file of parameters they stay as they come.

    Parameters
    ----------
    probabilities : array
        What a classifier says, of shape (height, width, labels) or (labels, height, width); volumes likewise. A pixel
        whose probabilities are all NaN, masked or 0 is unknown.
    image : array
        The picture, of shape (height, width) or (height, width, channels); volumes likewise. Samples from 0 to 255; those
        of a picture whose floats all lie from 0 to 1 are taken times 255, unless ``colour_sigma`` is given in its units.
    certify : bool or str
        Also prove an interval around log Z, and how far the labels are from the least energy: ``refine(...).result``, whose
        ``agreement()`` says how many of the labels are right if the model is; and :meth:`Refined.areas`. Labels and
        probabilities stay as they are. A word as for :func:`solve`; "lower" proves the lower end only, in about the time of
        the labels.
    least_energy : bool
        Return the labels of the least energy found instead, with an interval. Lower energy is not better labels.
    method : str, optional
        One of :func:`methods`, which proves the interval, or finds the least energy.
    updates : int, optional
        The number of updates of mean field, 5 unless given; 0: until its bound no longer rises, which gives sharper
        probabilities, rarely better labels.
    max_iterations : int, optional
        Of the method.
    gap, time_limit : float, optional
        As for :func:`solve`; a proof takes 30 s at most unless another limit is given.
    preset : {"adapted", "pydensecrf"}, optional
        "adapted", the default: lengths of kernels by the size of the picture, weights by how sure the classifier is;
        "pydensecrf": the kernels of its README, and its probabilities.
    parameters : str, path or SegmentationParameters, optional
        A file of ``submarine fit``, for pictures of samples from 0 to 255. The keywords that follow go before it.
    position_sigma, position_weight : float, optional
        The kernel of positions (:func:`position`), in pixels.
    bilateral_sigma, colour_sigma, bilateral_weight : float, optional
        The kernel of positions and colours (:func:`bilateral`), in pixels and in the units of the image.
    normalised : bool, optional
        Whether kernels are divided by the square roots of their row sums.
    softmax_temperature : float, optional
        Divides the costs: above 1 trusts the classifier less.
    metric : str or array
        As for :class:`DenseCrf`.
    compatibility : array, optional
        Instead of a metric, what two labels cost side by side, of shape (labels, labels): symmetric, of any sign. Labels and
        probabilities are mean field's then, without a proof.
    superpixels : str or sequence, optional
        Regions whose pixels are to agree, one for every scale: texts as ``submarine segment --superpixels`` takes them,
        "SLIC:20,0.2,0.1", or (regions, gamma, Q) with an array of region numbers, such as :func:`superpixels` returns.
    label_axis : int, optional
        The axis of ``probabilities`` that is the labels', where both fit.
    channel_axis : int, optional
        The axis of ``image`` that is the channels', where it is not the last.
    spacing : float or sequence of float, optional
        The distances of pixels or voxels along the axes of ``image``. Sigmas are then in this unit.
    clip : float
        As for :func:`costs_of`.
    progress : bool
        Show a bar, by tqdm if it is installed.

    Returns
    -------
    Refined
        ``labels``, of the shape of the picture, and ``probabilities``, of the shape of what was given, into which it
        unpacks; ``result`` is the :class:`Result`.

    Raises
    ------
    InvalidInput
        For wrong values, shapes that do not fit together, and numbers that are no probabilities.
    FileError
        For parameters that cannot be read.
    TooLarge
        Where memory is too short.

    Examples
    --------
    >>> import numpy as np
    >>> softmax = np.full((8, 9, 2), 0.5); softmax[:, :4, 0] = 0.9; softmax[:, :4, 1] = 0.1
    >>> image = np.zeros((8, 9, 3), np.uint8)
    >>> labels, probabilities = refine(softmax, image)
    >>> labels.shape, probabilities.shape
    ((8, 9), (8, 9, 2))
    >>> result = refine(softmax, image, certify=True).result
    >>> result.lower < result.upper
    True
    """
    if least_energy and updates is not None:
        raise InvalidInput("updates says which labels to return, and so does least_energy; give one of them")
    if preset is not None and parameters is not None:
        raise InvalidInput("preset and parameters both name kernels; give one of them")
    wanted = certify if isinstance(certify, str) else "auto" if certify else "none"
    check_choice(wanted, get_args(Certify), "certify")
    check_choice(preset or "adapted", get_args(Preset), "preset")
    fitted = _parameters_of(parameters) if parameters is not None else SegmentationParameters()
    if method is None:
        method = "auto" if least_energy or wanted not in ("none", "lower") else "mf"
    if wanted == "none" and not certify and method != "mf":
        wanted = "auto"
    given_here: Dict[str, Any] = dict(
        position_sigma=position_sigma, position_weight=position_weight, bilateral_sigma=bilateral_sigma,
        colour_sigma=colour_sigma, bilateral_weight=bilateral_weight, normalised=normalised,
        softmax_temperature=softmax_temperature,
    )
    changes = {name: value for name, value in given_here.items() if value is not None}
    temperature = changes.get("softmax_temperature", fitted.softmax_temperature)
    costs = costs_for(probabilities, image, temperature, label_axis, clip, channel_axis)
    costs = costs._replace(picture=in_bytes(costs.picture, colour_sigma))
    steps = _checked_spacing(spacing, costs.extent)
    adapts = parameters is None and preset != "pydensecrf"
    if adapts and not all(name in changes for name in _KERNELS):
        fitted = costs.adapted()
    if steps is not None:  # lengths that nobody gave are in pixels of the finest axis
        fitted = fitted._replace(
            position_sigma=fitted.position_sigma * min(steps), bilateral_sigma=fitted.bilateral_sigma * min(steps)
        )
    fitted = fitted._replace(**changes)
    many = 0 if least_energy else fitted.updates if updates is None else as_whole(updates, "updates")
    superpixels = () if superpixels is None else superpixels
    if compatibility is not None:
        plain = isinstance(metric, str) and metric == "potts" and len(superpixels) == 0
        if wanted != "none" or method != "mf" or many < 1 or not plain:
            raise InvalidInput(
                "a compatibility goes with updates of mean field alone, without a metric, superpixels, method or proof"
            )
        matrix = _compatible(compatibility, costs.values.shape[costs.label_axis])
        result = _by_matrix(costs, fitted, matrix, many, steps)
        return refined(costs.calibrated(result) if adapts else result, costs.label_axis, steps)
    crf = model_of(costs, fitted, metric, steps)
    if len(superpixels) == 0:
        terms = f"{fitted.superpixel_gamma!r},{fitted.superpixel_share!r}"
        superpixels = [f"SLIC:{size!r},{terms}" for size in fitted.superpixel_sizes]
    add_superpixels(crf, superpixels, costs.picture)
    options: Dict[str, Any] = dict(
        certify=wanted, gap=gap, max_iterations=max_iterations, marginals_of="mean-field",
        updates=many, progress=progress,
    )
    if method == "mf":
        options["pairs"] = "lattice"
    else:
        options["expectations"] = wanted not in ("none", "lower")
        time_limit = _SECONDS_OF_PROOF if time_limit is None else time_limit
    result = solve(crf, method, time_limit=time_limit, **options)
    if result.interrupted:
        raise KeyboardInterrupt
    if adapts and (options["updates"] > 0 or result.termination != "exact"):
        costs.calibrated(result)
    return refined(result, costs.label_axis, steps)


_KERNELS = ("position_sigma", "position_weight", "bilateral_sigma", "colour_sigma", "bilateral_weight")
_SECONDS_OF_PROOF = 30.0


def _parameters_of(given: Union[str, os.PathLike[str], SegmentationParameters]) -> SegmentationParameters:
    return given if isinstance(given, SegmentationParameters) else read_parameters(given)


def refined(result: Result, axis: int, spacing: Optional[Tuple[float, ...]] = None) -> Refined:
    """Labels and probabilities with the label axis where it was."""
    assert isinstance(result.marginals, np.ndarray)
    pair = Refined(result.labels, np.moveaxis(result.marginals, -1, axis))
    pair.result, pair.spacing = result, spacing
    return pair


@checked_keywords
def refine_many(
    jobs: Iterable[Tuple[Any, Any]],
    *,
    workers: Optional[int] = None,
    certify: Union[bool, Certify] = False,
    least_energy: bool = False,
    method: Optional[str] = None,
    updates: Optional[int] = None,
    max_iterations: Optional[int] = None,
    gap: Optional[float] = None,
    time_limit: Optional[float] = None,
    preset: Optional[Preset] = None,
    parameters: Union[None, str, os.PathLike[str], SegmentationParameters] = None,
    position_sigma: Optional[Sigma] = None,
    position_weight: Optional[Number] = None,
    bilateral_sigma: Optional[Sigma] = None,
    colour_sigma: Optional[Sigma] = None,
    bilateral_weight: Optional[Number] = None,
    normalised: Optional[bool] = None,
    softmax_temperature: Optional[float] = None,
    metric: Metric = "potts",
    compatibility: Any = None,
    superpixels: Any = (),
    label_axis: Optional[int] = None,
    channel_axis: Optional[int] = None,
    spacing: Union[None, Number, Sequence[Number]] = None,
    clip: float = 1e-5,
    progress: bool = False,
) -> Iterator[Refined]:
    """:func:`refine` for many pictures, in their order, by threads of this process.

    Parameters
    ----------
    jobs : iterable of (probabilities, image)
        No more than two per worker are held at a time, so it may be endless.
    workers : int, optional
        How many pictures are refined at a time; all cores unless given.
    certify, least_energy, method, updates, max_iterations, gap, time_limit, preset, parameters, position_sigma, position_weight, \
bilateral_sigma, colour_sigma, bilateral_weight, normalised, softmax_temperature, metric, compatibility, superpixels, label_axis, \
channel_axis, spacing, clip
        As for :func:`refine`.
    progress : bool
        Show how many are done, by tqdm if it is installed.

    Returns
    -------
    iterator of Refined
        One for every job.

    Raises
    ------
    InvalidInput
        For fewer than one worker; where their turn comes, what :func:`refine` raises.

    Examples
    --------
    >>> import numpy as np
    >>> job = np.full((6, 5, 2), 0.5), np.zeros((6, 5), np.uint8)
    >>> [labels.shape for labels, _ in refine_many([job, job])]
    [(6, 5), (6, 5)]
    """
    keywords = {name: value for name, value in locals().items() if name not in ("jobs", "workers", "progress")}
    count = as_whole(workers, "workers") if workers is not None else os.cpu_count() or 1
    if count < 1:
        raise InvalidInput(f"workers is {count}, expected 1 or more")
    found = _refine_many(jobs, count, keywords)
    return _shown(found, len(jobs) if isinstance(jobs, Sized) else None) if progress else found


def _shown(found: Iterator[Refined], total: Optional[int]) -> Iterator[Refined]:
    bar = Bar("picture", total)
    try:
        for number, one in enumerate(found, 1):
            bar.count(number)
            yield one
    finally:
        bar.close()


def _refine_many(jobs: Iterable[Tuple[Any, Any]], count: int, keywords: Dict[str, Any]) -> Iterator[Refined]:
    import concurrent.futures  # only here: it takes time and memory

    waiting: Deque[concurrent.futures.Future[Refined]] = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        try:
            for job in jobs:
                if not isinstance(job, (tuple, list)) or len(job) != 2:
                    raise InvalidInput(f"a job is {given(job)}, expected (probabilities, image)")
                probabilities, image = job
                waiting.append(pool.submit(refine, probabilities, image, **keywords))
                if len(waiting) >= 2 * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
