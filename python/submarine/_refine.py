"""One line for the common case: what a classifier says about a picture, refined by a dense CRF."""

from __future__ import annotations

import collections
import os
from typing import Any, Deque, Dict, Iterable, Iterator, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._arrays import Array, Number, as_array, require_finite
from ._errors import InvalidInput
from ._kernels import Sigma, bilateral, position
from ._models import DenseCrf
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


def costs_of(probabilities: Any, clip: float = 1e-5, name: str = "probabilities") -> Array:
    """-log of probabilities, which are first raised to ``clip``: 0 has no logarithm, and 1e-300 hardly one.

    >>> import numpy as np
    >>> costs_of(np.array([0.5, 0.0])).round(3)
    array([ 0.693, 11.513], dtype=float32)
    """
    values = as_array(probabilities, name)
    if not 0 < clip < 1:
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
        return label_axis
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


def model_of(
    probabilities: Any,
    image: Any,
    *,
    sigma: Sigma,
    colour_sigma: Sigma,
    weight: Number,
    position_sigma: Sigma,
    position_weight: Number,
    normalised: bool,
    temperature: float,
    label_axis: Optional[int] = None,
    channels: bool = True,
    clip: float = 1e-5,
    metric: Any = "potts",
) -> Tuple[DenseCrf, int]:
    """The model that :func:`refine` solves, and the label axis that was found."""
    picture = as_array(image, "the image")
    values = as_array(probabilities, "probabilities")
    extent = picture.shape
    if channels and picture.ndim == values.ndim:
        extent = picture.shape[:-1]
    axis = _label_axis(values, extent, label_axis)
    kernels = [
        position(position_sigma, position_weight, normalised=normalised),
        bilateral(sigma, colour_sigma, weight, picture, normalised=normalised),
    ]
    if not (0 < temperature < float("inf")):
        raise InvalidInput(f"temperature is {temperature}, expected a finite number > 0")
    costs = costs_of(values, clip)
    if temperature != 1:
        costs /= np.float32(temperature)
    return DenseCrf(costs, kernels, metric, pairs="once", label_axis=axis), axis


def refine(
    probabilities: Any,
    image: Any,
    *,
    iterations: Optional[int] = None,
    updates: Optional[str] = None,
    best: bool = False,
    method: Optional[str] = None,
    certify: Optional[str] = None,
    gap: Optional[float] = None,
    time_limit: Optional[float] = None,
    parameters: Union[None, str, os.PathLike[str], SegmentationParameters] = None,
    **model: Any,
) -> Refined:
    """Labels and probabilities that follow the picture's edges: ``labels, probabilities = refine(softmax, image)``.

    ``probabilities`` has shape (height, width, labels) or (labels, height, width), ``image`` (height, width) or
    (height, width, channels); volumes likewise. What is done by default is what ``submarine segment`` does, to the
    same labels: 5 of pydensecrf's updates of mean field (``iterations`` is another number) with the parameters that its
    README made common, normalised kernels and pairs counted once. ``sigma`` and ``position_sigma`` are in pixels,
    ``colour_sigma`` in the units of the image; the other parameters are ``weight``, ``position_weight``,
    ``normalised``, ``metric``, ``label_axis``, ``clip``, and ``temperature``, which divides the costs.

    ``updates="damped"`` lets mean field converge: sharper probabilities, rarely better labels (docs/parameters.md).
    ``best=True`` takes the time (``time_limit``, ``gap``) for the best energy and a certified interval: that of
    ``refine(...).result``. ``certify="lower"`` proves the lower end only, in about the time of mean field;
    ``method`` and ``certify`` are those of :func:`solve`.

    ``parameters`` is a file of ``submarine fit``, for pictures of samples from 0 to 255; keywords go before it.

    >>> import numpy as np
    >>> softmax = np.full((8, 9, 2), 0.5); softmax[:, :4, 0] = 0.9; softmax[:, :4, 1] = 0.1
    >>> image = np.zeros((8, 9, 3), np.uint8)
    >>> labels, probabilities = refine(softmax, image)
    >>> labels.shape, probabilities.shape
    ((8, 9), (8, 9, 2))
    >>> result = refine(softmax, image, best=True).result
    >>> result.lower < result.upper
    True
    """
    if best and method is not None:
        raise InvalidInput("best=True chooses the method itself; give either best or method")
    method = method or ("auto" if best else "mf")
    fitted = _parameters_of(parameters)
    options: Dict[str, Any] = dict(certify=certify, gap=gap, time_limit=time_limit, marginals="mean-field")
    if method == "mf":
        options.update(_mean_field(updates, iterations, fitted))
        options["certify"] = certify or "none"
    elif updates is not None:
        raise InvalidInput(f'updates="{updates}" is for mean field, but the method is "{method}"')
    else:
        options["iterations"] = iterations
    crf, axis = model_of(probabilities, image, **{**fitted.model(), **model})
    result = solve(crf, method, **options)
    if result.interrupted:
        raise KeyboardInterrupt
    return refined(result, axis)


def _parameters_of(given: Union[None, str, os.PathLike[str], SegmentationParameters]) -> SegmentationParameters:
    if given is None:
        return SegmentationParameters()
    return given if isinstance(given, SegmentationParameters) else read_parameters(given)


def _mean_field(updates: Optional[str], iterations: Optional[int], fitted: SegmentationParameters) -> Dict[str, Any]:
    """On lattices, as in ``submarine segment``; parameters that were fitted to 0 iterations are for convergence."""
    if updates is None:
        updates = "damped" if iterations is None and fitted.iterations == 0 else "classic"
    if updates not in ("classic", "damped"):
        raise InvalidInput(f'updates is "{updates}", expected classic or damped')
    classic = updates == "classic"
    if classic and iterations is None:
        iterations = fitted.iterations or SegmentationParameters().iterations
    return dict(pairs="lattice", classic_updates=classic, iterations=iterations)


def refined(result: Result, axis: int) -> Refined:
    """Labels and probabilities with the label axis where it was."""
    assert isinstance(result.marginals, np.ndarray)
    pair = Refined(result.labels, np.moveaxis(result.marginals, -1, axis))
    pair.result = result
    return pair


def refine_many(
    pairs: Iterable[Tuple[Any, Any]], *, workers: Optional[int] = None, **parameters: Any
) -> Iterator[Refined]:
    """:func:`refine` for every (probabilities, image) of an iterable, in its order, by threads of this process.

    The keywords are those of :func:`refine`, and so are the defaults. No more than two pictures per worker are held at
    a time, so the iterable may be endless.

    >>> import numpy as np
    >>> job = np.full((6, 5, 2), 0.5), np.zeros((6, 5), np.uint8)
    >>> [labels.shape for labels, _ in refine_many([job, job])]
    [(6, 5), (6, 5)]
    """
    count = workers if workers is not None else os.cpu_count() or 1
    if count < 1:
        raise InvalidInput(f"workers is {count}, expected 1 or more")
    return _refine_many(pairs, count, parameters)


def _refine_many(pairs: Iterable[Tuple[Any, Any]], count: int, parameters: Any) -> Iterator[Refined]:
    import concurrent.futures  # only here: it takes time and memory

    waiting: Deque[concurrent.futures.Future[Refined]] = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        try:
            for probabilities, image in pairs:
                waiting.append(pool.submit(refine, probabilities, image, **parameters))
                if len(waiting) >= 2 * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
