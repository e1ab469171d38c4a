"""refine as an estimator, for scikit-learn's cross-validation and grid search. scikit-learn itself is not needed."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Array, Number, as_array, as_integers, given
from ._errors import InvalidInput
from ._kernels import Sigma
from ._labelled import fit as learned
from ._keywords import Preset, checked_keywords
from ._models import Metric
from ._parameters import SegmentationParameters
from ._refine import refine_many

_NAMES = (
    "preset", "parameters", "updates", "position_sigma", "position_weight", "bilateral_sigma", "colour_sigma", "bilateral_weight",
    "normalised", "softmax_temperature", "metric", "compatibility", "superpixels", "learn", "evaluations", "ignore", "workers",
)


class Segmenter:
    """:func:`refine` with fixed keywords, as scikit-learn has estimators: for ``cross_val_score`` and ``GridSearchCV``.

    A sample is a pair (probabilities, image), its target a labeling.

    Parameters
    ----------
    preset, parameters, updates, position_sigma, position_weight, bilateral_sigma, colour_sigma, bilateral_weight, \
normalised, softmax_temperature, metric, compatibility, superpixels
        As for :func:`refine`.
    learn : bool
        Whether ``fit`` finds parameters by :func:`submarine.fit`, for the metric, which takes a while; ``parameters_`` has
        them then.
    evaluations : int
        As for :func:`submarine.fit`.
    ignore : int
        The value of pixels in targets whose label is not known, which no score counts.
    workers : int, optional
        As for :func:`refine_many`.

    Raises
    ------
    TypeError
        For keywords that there are not.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> samples = [(rng.dirichlet([1, 1], (8, 9)), rng.integers(0, 256, (8, 9, 3))) for _ in range(4)]
    >>> targets = [probabilities.argmax(-1) for probabilities, _ in samples]
    >>> segmenter = Segmenter(updates=3).fit(samples, targets)
    >>> segmenter.predict(samples)[0].shape
    (8, 9)
    >>> 0 <= segmenter.score(samples, targets) <= 1
    True
    """

    @checked_keywords
    def __init__(
        self,
        *,
        preset: Optional[Preset] = None,
        parameters: Union[None, str, SegmentationParameters] = None,
        updates: Optional[int] = None,
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
        learn: bool = False,
        evaluations: int = 60,
        ignore: int = 255,
        workers: Optional[int] = None,
    ) -> None:
        self.preset = preset
        self.parameters = parameters
        self.updates = updates
        self.position_sigma = position_sigma
        self.position_weight = position_weight
        self.bilateral_sigma = bilateral_sigma
        self.colour_sigma = colour_sigma
        self.bilateral_weight = bilateral_weight
        self.normalised = normalised
        self.softmax_temperature = softmax_temperature
        self.metric = metric
        self.compatibility = compatibility
        self.superpixels = superpixels
        self.learn = learn
        self.evaluations = evaluations
        self.ignore = ignore
        self.workers = workers

    def __repr__(self) -> str:
        plain = Segmenter().get_params()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not plain[name]]
        return f"Segmenter({', '.join(changed)})"

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The keywords, as scikit-learn asks for them.

        Parameters
        ----------
        deep : bool
            Makes no difference.

        Returns
        -------
        dict
            Their values by name.
        """
        return {name: getattr(self, name) for name in _NAMES}

    def set_params(self, **changes: Any) -> "Segmenter":
        """Changes keywords.

        Parameters
        ----------
        **changes
            New values by name.

        Returns
        -------
        Segmenter
            Itself.

        Raises
        ------
        TypeError
            For keywords that there are not.
        """
        Segmenter(**{**self.get_params(), **changes})  # names the nearest keyword
        for name, value in changes.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # type: ignore[import]

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags())

    def fit(self, X: Sequence[Tuple[Any, Any]], y: Optional[Sequence[Any]] = None) -> "Segmenter":
        """Finds parameters where ``learn`` is set; else there is nothing to find, and keywords are for ``GridSearchCV``.

        Parameters
        ----------
        X : sequence of (probabilities, image)
            As for :func:`refine_many`.
        y : sequence of array of int, optional
            Their labelings.

        Returns
        -------
        Segmenter
            Itself.

        Raises
        ------
        InvalidInput
            For samples that are no pairs, and another number of targets.
        """
        self._pairs(X)
        targets = None if y is None else self._targets(X, y)
        self.parameters_ = self.parameters
        if self.learn:
            if targets is None:
                raise InvalidInput("learn needs targets")
            found = learned(
                [image for _, image in X], [probabilities for probabilities, _ in X], targets, evaluations=self.evaluations,
                ignore=self.ignore, folds=min(3, len(X)), metric=self.metric,
            )
            self.parameters_ = found.parameters
        return self

    def predict(self, X: Sequence[Tuple[Any, Any]]) -> List[Array]:
        """Labels of every sample.

        Parameters
        ----------
        X : sequence of (probabilities, image)
            As for :func:`refine_many`.

        Returns
        -------
        list of array of int
            Of the shapes of the images.

        Raises
        ------
        InvalidInput
            What :func:`refine` raises.
        """
        return [one.labels for one in self._refined(X)]

    def predict_proba(self, X: Sequence[Tuple[Any, Any]]) -> List[Array]:
        """Probabilities of every sample.

        Parameters
        ----------
        X : sequence of (probabilities, image)
            As for :func:`refine_many`.

        Returns
        -------
        list of array
            Of the shapes of the probabilities given.

        Raises
        ------
        InvalidInput
            What :func:`refine` raises.
        """
        return [one.probabilities for one in self._refined(X)]

    def score(self, X: Sequence[Tuple[Any, Any]], y: Sequence[Any]) -> float:
        """The mean over classes of intersection over union, of all pixels together whose label is known.

        Parameters
        ----------
        X : sequence of (probabilities, image)
            As for :func:`refine_many`.
        y : sequence of array of int
            Their labelings.

        Returns
        -------
        float
            From 0 to 1; classes that no target has do not count.

        Raises
        ------
        InvalidInput
            For targets of other shapes, and where no label is known.
        """
        both: Dict[int, int] = {}
        of_truth: Dict[int, int] = {}
        of_labels: Dict[int, int] = {}
        for labels, truth in zip(self.predict(X), self._targets(X, y)):
            known = (truth != self.ignore) & (truth >= 0)
            for counts, values in (
                (both, truth[known & (truth == labels)]), (of_truth, truth[known]), (of_labels, labels[known]),
            ):
                for value, count in zip(*np.unique(values, return_counts=True)):
                    counts[int(value)] = counts.get(int(value), 0) + int(count)
        if not of_truth:
            raise InvalidInput("no label of the targets is known")
        return float(np.mean([
            both.get(label, 0) / (count + of_labels.get(label, 0) - both.get(label, 0)) for label, count in of_truth.items()
        ]))

    def _refined(self, X: Sequence[Tuple[Any, Any]]) -> Any:
        options = {name: value for name, value in self.get_params().items() if name not in ("ignore", "learn", "evaluations")}
        options["parameters"] = getattr(self, "parameters_", self.parameters)
        return refine_many(self._pairs(X), **options)

    @staticmethod
    def _pairs(X: Sequence[Tuple[Any, Any]]) -> Sequence[Tuple[Any, Any]]:
        for number, sample in enumerate(X):
            if not isinstance(sample, (tuple, list)) or len(sample) != 2:
                raise InvalidInput(f"sample {number} is {given(sample)}, expected (probabilities, image)")
        return X

    @staticmethod
    def _targets(X: Sequence[Tuple[Any, Any]], y: Sequence[Any]) -> List[Array]:
        if len(y) != len(X):
            raise InvalidInput(f"there are {len(y)} targets for {len(X)} samples")
        targets = [as_integers(target, f"target {number}") for number, target in enumerate(y)]
        for number, ((_, image), target) in enumerate(zip(X, targets)):
            extent = as_array(image, "the image").shape
            if target.shape not in (extent, extent[:-1]):
                raise InvalidInput(f"target {number} has shape {target.shape}, and its image {extent}")
        return targets
