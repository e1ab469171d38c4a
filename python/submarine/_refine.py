"""One line for the common case: what a classifier says about a picture, refined by a dense CRF."""

from __future__ import annotations

import collections
import os
from typing import Any, Deque, Dict, Iterable, Iterator, NamedTuple, Optional, Tuple, Union, get_args

import numpy as np

from . import _core
from ._arrays import Array, Number, as_array, as_number, as_sigmas, as_whole, given, require_finite
from ._errors import InvalidInput
from ._kernels import Sigma, bilateral, position
from ._keywords import Certify, Preset, check_choice, checked_keywords
from ._models import DenseCrf, Metric
from ._parameters import SegmentationParameters, read_parameters
from ._result import Result
from ._solve import solve


class _Pair(NamedTuple):
    labels: Array
    probabilities: Array


class Refined(_Pair):
    """``labels`` has the shape of the picture, ``probabilities`` that of what was given.

    It unpacks into these two; ``result`` is what the solve has to say about them, with its interval where one was
    asked for.
    """

    result: Result

    def __repr__(self) -> str:
        shapes = f"labels of shape {self.labels.shape}, probabilities of shape {self.probabilities.shape}"
        return f"<submarine.Refined: {shapes}, {self.result._outcome()}>"


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
        if low < 0 or high > 1 + 1e-3:
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

    def calibrated(self, marginals: Array) -> Array:
        """Mean field's marginals, less sure."""
        return _core.calibrated_marginals(np.moveaxis(self.values, self.label_axis, -1), marginals)


def costs_for(
    probabilities: Any, image: Any, softmax_temperature: float, label_axis: Optional[int], clip: float
) -> _Costs:
    """The unaries of :func:`refine`."""
    picture = as_array(image, "the image")
    values = as_array(probabilities, "probabilities")
    extent = picture.shape[:-1] if picture.ndim == values.ndim else picture.shape
    axis = _label_axis(values, extent, label_axis)
    temperature = as_number(softmax_temperature, "softmax_temperature")
    if not (0 < temperature < float("inf")):
        raise InvalidInput(f"softmax_temperature is {temperature}, expected a finite number > 0")
    costs = np.ascontiguousarray(costs_of(values, clip))
    if temperature != 1:
        costs /= np.float32(temperature)
    return _Costs(costs, axis, extent, picture)


def model_of(costs: _Costs, parameters: SegmentationParameters, metric: Metric = "potts") -> DenseCrf:
    """The model that :func:`refine` solves."""
    normalised = parameters.normalised
    kernels = [
        position(
            as_sigmas(parameters.position_sigma, "position_sigma"),
            as_number(parameters.position_weight, "position_weight"), normalised=normalised,
        ),
        bilateral(
            as_sigmas(parameters.bilateral_sigma, "bilateral_sigma"), parameters.colour_sigma,
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
    label_axis: Optional[int] = None,
    clip: float = 1e-5,
) -> Refined:
    """Labels and probabilities that follow the picture's edges: ``labels, probabilities = refine(softmax, image)``.

    What is done by default is what ``submarine segment`` does, to the same labels: 5 updates of mean field with kernels
    that fit the picture's size and how sure the classifier is, normalised, and pairs counted once. Mean field's
    probabilities are too sure; a temperature brings them half-way to what the classifier says of these labels, and
    leaves the labels as they are. With ``preset="pydensecrf"`` or a file of parameters they stay as they come.

    Parameters
    ----------
    probabilities : array
        What a classifier says, of shape (height, width, labels) or (labels, height, width); volumes likewise.
    image : array
        The picture, of shape (height, width) or (height, width, channels); volumes likewise.
    certify : bool or str
        Also prove an interval around log Z, and how far the labels are from the least energy: ``refine(...).result``. Labels
        and probabilities stay as they are. A word as for :func:`solve`; "lower" proves the lower end only, in about the time
        of the labels.
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
    label_axis : int, optional
        The axis of ``probabilities`` that is the labels', where both fit.
    clip : float
        As for :func:`costs_of`.

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
    costs = costs_for(probabilities, image, temperature, label_axis, clip)
    adapts = parameters is None and preset != "pydensecrf"
    if adapts and not all(name in changes for name in _KERNELS):
        fitted = costs.adapted()
    crf = model_of(costs, fitted._replace(**changes), metric)
    options: Dict[str, Any] = dict(
        certify=wanted, gap=gap, max_iterations=max_iterations, marginals_of="mean-field",
        updates=0 if least_energy else fitted.iterations if updates is None else updates,
    )
    if method == "mf":
        options["pairs"] = "lattice"
    elif time_limit is None:
        time_limit = _SECONDS_OF_PROOF
    result = solve(crf, method, time_limit=time_limit, **options)
    if result.interrupted:
        raise KeyboardInterrupt
    if adapts and (options["updates"] > 0 or result.termination != "exact"):
        assert isinstance(result.marginals, np.ndarray)
        result.marginals = costs.calibrated(result.marginals)
    return refined(result, costs.label_axis)


_KERNELS = ("position_sigma", "position_weight", "bilateral_sigma", "colour_sigma", "bilateral_weight")
_SECONDS_OF_PROOF = 30.0


def _parameters_of(given: Union[str, os.PathLike[str], SegmentationParameters]) -> SegmentationParameters:
    return given if isinstance(given, SegmentationParameters) else read_parameters(given)


def refined(result: Result, axis: int) -> Refined:
    """Labels and probabilities with the label axis where it was."""
    assert isinstance(result.marginals, np.ndarray)
    pair = Refined(result.labels, np.moveaxis(result.marginals, -1, axis))
    pair.result = result
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
    label_axis: Optional[int] = None,
    clip: float = 1e-5,
) -> Iterator[Refined]:
    """:func:`refine` for many pictures, in their order, by threads of this process.

    Parameters
    ----------
    jobs : iterable of (probabilities, image)
        No more than two per worker are held at a time, so it may be endless.
    workers : int, optional
        How many pictures are refined at a time; all cores unless given.
    certify, least_energy, method, updates, max_iterations, gap, time_limit, preset, parameters, position_sigma, position_weight, \
bilateral_sigma, colour_sigma, bilateral_weight, normalised, softmax_temperature, metric, label_axis, clip
        As for :func:`refine`.

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
    keywords = {name: value for name, value in locals().items() if name not in ("jobs", "workers")}
    count = as_whole(workers, "workers") if workers is not None else os.cpu_count() or 1
    if count < 1:
        raise InvalidInput(f"workers is {count}, expected 1 or more")
    return _refine_many(jobs, count, keywords)


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
