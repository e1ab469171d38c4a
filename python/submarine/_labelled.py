"""Pictures whose truth is known: does smoothing help, and with which parameters?"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, get_args

import numpy as np

from . import _core
from ._arrays import Array, Number, as_array, as_integers, as_whole
from ._errors import InvalidInput
from ._keywords import FitScore, check_choice, checked_keywords
from ._models import Metric, table_of
from ._parameters import SegmentationParameters, parameters_from


class Change(NamedTuple):
    """A score before and after; ``interval``, where there are two pictures or more, contains the change on others of
    their kind with 95%."""

    before: float
    after: float
    interval: Optional[Tuple[float, float]]

    @property
    def by(self) -> float:
        """After minus before."""
        return self.after - self.before


class Comparison(NamedTuple):
    """What became of labels, over all pictures together. As text: one sentence."""

    pictures: int
    better: int
    worse: int
    mean_iou: Change
    accuracy: Change
    iou: Dict[str, Change]
    thin: Optional[Change]
    text: str

    def __str__(self) -> str:
        return self.text


class Fit(NamedTuple):
    """Parameters for :func:`refine`, and how well such ones do on pictures that they were not fitted to."""

    parameters: SegmentationParameters
    advice: str
    fitted: Comparison
    defaults: Comparison

    def __repr__(self) -> str:
        return f"<submarine.Fit: {self.advice}; {self.fitted}>"


def _change(found: Optional[Dict[str, Any]]) -> Optional[Change]:
    if found is None:
        return None
    interval = found["interval"]
    return Change(found["before"], found["after"], None if interval is None else (interval[0], interval[1]))


def _comparison(found: Dict[str, Any], names: Sequence[str]) -> Comparison:
    changes = {name: _change(change) for name, change in zip(names, found["iou"])}
    mean_iou, accuracy = _change(found["mean_iou"]), _change(found["accuracy"])
    assert mean_iou is not None and accuracy is not None
    return Comparison(
        found["pictures"], found["better"], found["worse"], mean_iou, accuracy,
        {name: change for name, change in changes.items() if change is not None}, _change(found["thin"]), found["text"],
    )


def _truth(values: Any, name: str, ignore: Optional[int]) -> Array:
    truth = as_integers(values, name)
    if truth.ndim != 2:
        raise InvalidInput(f"{name} has shape {truth.shape}, expected (height, width)")
    return truth if ignore is None else np.where(truth == ignore, -1, truth)


def _each(values: Any, name: str, count: Optional[int] = None) -> List[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        raise InvalidInput(f"{name} is one array, expected one for every picture: a list")
    found = list(values)
    if count is not None and len(found) != count:
        raise InvalidInput(f"{name} has {len(found)} entries for {count} pictures")
    return found


@checked_keywords
def compare_labels(
    truths: Sequence[Any],
    before: Sequence[Any],
    after: Sequence[Any],
    *,
    names: Optional[Sequence[str]] = None,
    ignore: Optional[int] = 255,
) -> Comparison:
    """Do labels get better? ``print(compare_labels(truths, before, after))``

    Scores are of all pictures together, mean intersection over union over the classes in the truth; intervals are of
    the bootstrap over pictures.

    Parameters
    ----------
    truths, before, after : sequences of arrays
        Labels of shape (height, width), of every picture: the true ones, the classifier's, and those of :func:`refine`.
    names : sequence of str, optional
        Of the labels; "label 0", "label 1", ... unless given.
    ignore : int, optional
        The value of unknown pixels in the truth; negative ones are unknown in any case.

    Returns
    -------
    Comparison
        ``mean_iou`` and ``accuracy`` with intervals, ``iou`` by name, ``thin`` for the pixels of thin parts that are right, on
        how many pictures it is ``better`` and ``worse``, and a sentence.

    Raises
    ------
    InvalidInput
        For shapes that do not fit together, no pictures, and no known truth.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.repeat([[0, 1]], 20, axis=0).repeat(10, axis=1)
    >>> noisy = truth.copy(); noisy[::5, ::4] = 1
    >>> print(compare_labels([truth], [noisy], [truth]))
    Helps: mean IoU 94.2% before, 100.0% after, +5.8 points.
    """
    known = [_truth(truth, "a truth", None if ignore is None else as_whole(ignore, "ignore"))
             for truth in _each(truths, "truths")]
    labels = [
        [as_integers(one, "a labeling") for one in _each(many, name, len(known))]
        for many, name in ((before, "before"), (after, "after"))
    ]
    largest = max((int(array.max()) for array in (*known, *labels[0], *labels[1]) if array.size), default=0)
    count = largest + 1 if names is None else len(names)
    told = [f"label {k}" for k in range(count)] if names is None else [str(name) for name in names]
    arrays = [array for picture in zip(known, *labels) for array in picture]
    return _comparison(_core.compare_labels(arrays, count, told), told)


@checked_keywords
def fit(
    pictures: Sequence[Any],
    softmaxes: Sequence[Any],
    truths: Sequence[Any],
    *,
    score: FitScore = "iou",
    folds: int = 3,
    evaluations: int = 60,
    updates: int = 5,
    pixels: int = 40000,
    seed: int = 1,
    ignore: Optional[int] = 255,
    metric: Metric = "potts",
    superpixels: Sequence[Number] = (),
) -> Fit:
    """Parameters of segmentation from a few labelled pictures, as ``submarine fit`` finds them.

    Parameters
    ----------
    pictures : sequence of arrays
        Samples from 0 to 255, each of shape (height, width) or (height, width, channels).
    softmaxes : sequence of arrays
        What the classifier says, each of shape (height, width, labels).
    truths : sequence of arrays
        The true labels, each of shape (height, width).
    score : {"iou", "accuracy", "nll"}
        What is maximised: mean intersection over union, the share of right pixels, or the likelihood of the truth.
    folds : int
        Every fold is scored with parameters that were found on the others.
    evaluations : int
        Of every search; there is one for each fold and one for all pictures.
    updates : int
        Updates of mean field.
    pixels : int
        Searches use pictures shrunk to at most this number of pixels.
    seed : int
        Of the folds and of the first steps.
    ignore : int, optional
        The value of unknown pixels in the truth; negative ones are unknown in any case.
    metric : str or array
        As for :func:`refine`, which is to be called with the same one.
    superpixels : sequence of float
        Sizes of superpixels in pixels along a side, one for every scale, whose gamma and Q are searched for, too.

    Returns
    -------
    Fit
        ``parameters`` for ``refine(..., parameters=...)``; ``fitted`` and ``defaults``: what such parameters and the defaults do to
        the classifier's labels, held out; ``advice``: "fitted", "defaults", or "leave alone", where smoothing does not
        help and the parameters have weights of 0.

    Raises
    ------
    InvalidInput
        For fewer than two pictures, and for shapes and values that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.zeros((12, 16), int); truth[:, 8:] = 1
    >>> picture = 200 * truth
    >>> softmax = np.where(np.arange(2) == truth[..., None], 0.6, 0.4); softmax[::3, ::5] = [0.3, 0.7]
    >>> fit([picture] * 3, [softmax] * 3, [truth] * 3, evaluations=2).fitted.pictures
    3
    """
    check_choice(score, get_args(FitScore), "score")
    count = len(pictures)
    arrays: List[Array] = []
    for picture, softmax, truth in zip(
        pictures, _each(softmaxes, "softmaxes", count), _each(truths, "truths", count)
    ):
        arrays += [as_array(picture, "a picture"), as_array(softmax, "a softmax"), _truth(truth, "a truth", ignore)]
    known: Dict[str, Any] = {}
    if isinstance(metric, str):
        known["metric"] = metric
    elif count > 0:
        no_metric, table = metric if isinstance(metric, tuple) and isinstance(metric[0], str) else ("refuse", metric)
        known.update(table=table_of(table, arrays[1].shape[-1]).ravel().tolist(), no_metric=no_metric)
    found = _core.fit(arrays, dict(
        **known, superpixels=[float(size) for size in as_array(superpixels, "superpixels").reshape(-1)], score=score,
        folds=as_whole(folds, "folds"), evaluations=as_whole(evaluations, "evaluations"),
        updates=as_whole(updates, "updates"), pixels=as_whole(pixels, "pixels"), seed=as_whole(seed, "seed"),
    ))
    names = [f"label {k}" for k in range(len(found["fitted"]["iou"]))]
    return Fit(
        parameters_from(found["parameters"]), found["advice"], _comparison(found["fitted"], names),
        _comparison(found["defaults"], names),
    )
