"""pydensecrf's DenseCRF and DenseCRF2D, and what they cannot give: energies, certified intervals, true divergences."""

from __future__ import annotations

import enum
import operator
import threading
from numbers import Number
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .. import _core
from .._arrays import Array
from .._errors import NotExpressible, TooLarge
from .._kernels import KernelSpec, features as feature_kernel
from .._keywords import Certify, checked_keywords
from .._models import DenseCrf
from .._result import Result
from .._solve import current_threads, solve
from .eigen import MatrixXf, checked, rows_of, wrapped

__all__ = [
    "DenseCRF", "DenseCRF2D", "Unary", "ConstUnary", "LogisticUnary", "KernelType", "NormalizationType",
    "CONST_KERNEL", "DIAG_KERNEL", "FULL_KERNEL", "NO_NORMALIZATION", "NORMALIZE_BEFORE", "NORMALIZE_AFTER",
    "NORMALIZE_SYMMETRIC", "Interval",
]


class KernelType(enum.IntEnum):
    """Which parameters of a kernel could be learnt; inference is the same for all."""

    CONST_KERNEL = 0
    DIAG_KERNEL = 1
    FULL_KERNEL = 2


class NormalizationType(enum.IntEnum):
    """K, K D^-1, D^-1 K or D^-1/2 K D^-1/2, D the row sums of K."""

    NO_NORMALIZATION = 0
    NORMALIZE_BEFORE = 1
    NORMALIZE_AFTER = 2
    NORMALIZE_SYMMETRIC = 3


CONST_KERNEL = KernelType.CONST_KERNEL
DIAG_KERNEL = KernelType.DIAG_KERNEL
FULL_KERNEL = KernelType.FULL_KERNEL
NO_NORMALIZATION = NormalizationType.NO_NORMALIZATION
NORMALIZE_BEFORE = NormalizationType.NORMALIZE_BEFORE
NORMALIZE_AFTER = NormalizationType.NORMALIZE_AFTER
NORMALIZE_SYMMETRIC = NormalizationType.NORMALIZE_SYMMETRIC


class Interval(NamedTuple):
    """lower <= what it is about <= upper."""

    lower: float
    upper: float


class Unary:
    """Costs for :meth:`DenseCRF.setUnary`."""

    _costs: Array


class ConstUnary(Unary):
    """Costs (labels, variables)."""

    def __init__(self, u: Any) -> None:
        self._costs = checked(u, 2, "u", False)


class LogisticUnary(Unary):
    """Costs L f for weights L (labels, features) and features f (features, variables)."""

    def __init__(self, L: Any, f: Any) -> None:
        weights = checked(L, 2, "L", False).astype(np.float32)
        values = checked(f, 2, "f", False).astype(np.float32)
        if weights.shape[1] != values.shape[0]:
            raise ValueError(f"Bad shapes for a logistic unary ({weights.shape} and {values.shape})")
        self._costs = weights @ values


def _compatibility(compat: Any, labels: int) -> List[float]:
    """The matrix that labels meet by, as the engine takes it: a number is a reward for agreement."""
    if isinstance(compat, Number):
        return [-float(compat)]  # type: ignore[arg-type]
    view = memoryview(compat)
    if view.ndim == 1:
        values = checked(compat, 1, "compat", True)
        if values.shape != (labels,):
            raise ValueError(f"Bad shape for compat (Need ({labels},), got {values.shape})")
        return [float(v) for v in values]
    if view.ndim == 2:
        values = checked(compat, 2, "compat", True)
        if values.shape != (labels, labels):
            raise ValueError(f"Bad shape for compat (Need ({labels}, {labels}), got {values.shape})")
        return [float(v) for v in (0.5 * (values + values.T)).ravel()]
    raise ValueError("LabelCompatibility of dimension >2 not meaningful.")


def _pair(values: Any, count: int, name: str) -> Tuple[float, ...]:
    if isinstance(values, Number):
        values = (values,) * count
    sigmas = tuple(float(v) for v in values)
    if len(sigmas) < count or not all(s > 0 for s in sigmas[:count]):
        raise ValueError(f"{name} is {values}, expected {count} positive numbers")
    return sigmas[:count]


class _Term(NamedTuple):
    compatibility: List[float]
    normalization: int
    sigmas: Array  # of the columns of the features
    picture: Optional[Array]  # (height, width, channels); channels may be none
    features: Array  # (variables, features) where there is no picture

    def rows(self) -> Array:
        """The features (variables, features), divided by their sigmas."""
        if self.picture is None:
            return self.features
        height, width, channels = self.picture.shape
        rows = np.empty((height, width, 2 + channels), np.float32)
        rows[..., 0], rows[..., 1], rows[..., 2:] = np.arange(width), np.arange(height)[:, None], self.picture
        return (rows / self.sigmas).reshape(height * width, 2 + channels)


class DenseCRF:
    """A fully connected CRF over ``nvar`` variables, with features of any kind."""

    _nvar: int
    _nlabel: int
    _using_terms: threading.Lock

    def __new__(cls, *args: Any, **kwargs: Any) -> "DenseCRF":
        # Sizes are taken here, so that a subclass need not pass them on, and again by __init__, so that it may.
        self = object.__new__(cls)
        self._using_terms = threading.Lock()
        self._nvar = self._nlabel = 0
        try:
            self._set_up(*args, **kwargs)
        except (TypeError, ValueError):
            if cls in (DenseCRF, DenseCRF2D):
                raise
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self._nvar == 0 or type(self) not in (DenseCRF, DenseCRF2D):
            self._set_up(*args, **kwargs)

    def _set_up(self, nvar: int, nlabels: int, *_: Any, **__: Any) -> None:
        self._resize(operator.index(nvar), operator.index(nlabels))

    def _resize(self, variables: int, labels: int) -> None:
        if variables < 1 or labels < 1:
            raise ValueError(f"there are {variables} variables and {labels} labels, expected at least one of each")
        # Unaries, marginals and two workspaces, and a kernel of the fewest features.
        need, have = variables * (16.0 * labels + 60.0), _core.default_memory()
        if need > have:
            raise TooLarge(
                f"{variables} variables of {labels} labels need at least {need / 1e9:.3g} GB of memory, more than "
                f"the {have / 1e9:.3g} GB that may be used"
            )
        if (variables, labels) == (self._nvar, self._nlabel):
            return
        self._nvar, self._nlabel = variables, labels
        self._engine = _core.PydensecrfMeanField(variables, labels, have)
        self._has_unary = False
        self._has_inferred = False
        self._terms: List[_Term] = []

    # --- pydensecrf's methods

    def setUnaryEnergy(self, u: Any, f: Any = None) -> None:
        """Costs (labels, variables), -log of probabilities; with ``f`` those of :class:`LogisticUnary`."""
        if f is not None:
            self.setUnary(LogisticUnary(u, f))
            return
        self._set_costs(checked(u, 2, "u", False))

    def setUnary(self, u: Unary) -> None:
        """The same from a :class:`ConstUnary` or :class:`LogisticUnary`."""
        if not isinstance(u, Unary):
            raise TypeError(f"u is {type(u).__name__}, expected Unary")
        self._set_costs(u._costs)

    def _set_costs(self, costs: Array) -> None:
        if costs.shape != (self._nlabel, self._nvar):
            raise ValueError(
                f"Bad shape for unary energy (Need {(self._nlabel, self._nvar)}, got {costs.shape})"
            )
        self._engine.set_threads(current_threads())
        self._engine.set_unary(costs)
        self._has_unary = True

    def addPairwiseEnergy(
        self, features: Any, compat: Any, kernel: int = DIAG_KERNEL, normalization: int = NORMALIZE_SYMMETRIC
    ) -> None:
        """A Gaussian kernel over features (features, variables) that are already divided by their sigmas."""
        values = checked(features, 2, "features", False)
        if values.shape[1] != self._nvar:
            raise ValueError(f"Bad shape for pairwise energy (Need (?, {self._nvar}), got {values.shape})")
        self._add(compat, kernel, normalization, features=values.T)

    def _add(
        self, compat: Any, kernel: int, normalization: int, *, sigmas: Sequence[float] = (),
        picture: Optional[Array] = None, features: Array = np.zeros((0, 0), np.float32),
    ) -> None:
        KernelType(kernel)
        term = _Term(
            _compatibility(compat, self._nlabel), int(NormalizationType(normalization)),
            np.array(sigmas, np.float32), picture, features,
        )
        with self._using_terms:
            self._put_back()
            self._put(term)
            self._terms.append(term)

    def _put(self, term: _Term) -> None:
        """Gives the engine a term."""
        self._engine.set_threads(current_threads())
        if term.picture is None:
            self._engine.add_term(term.features, term.normalization, term.compatibility)
        else:
            self._engine.add_picture_term(term.picture, term.sigmas, term.normalization, term.compatibility)

    def _put_back(self) -> None:
        """Gives the engine the terms that the first inference took out."""
        for term in self._terms[self._engine.num_terms:]:
            self._put(term)

    def inference(self, niter: int) -> MatrixXf:
        """Marginals (labels, variables) after ``niter`` updates of mean field.

        The first call, mostly the only one, frees the tables of the terms on the way, which take about as much memory
        as the marginals; a second one makes them again, and keeps them.
        """
        updates = operator.index(niter)
        with self._using_terms:
            self._put_back()
            self._engine.set_threads(current_threads())
            last = not self._has_inferred and all(term.picture is not None for term in self._terms)
            self._has_inferred = True
            return wrapped(self._engine.infer(updates, last))

    def startInference(self) -> Tuple[MatrixXf, MatrixXf, MatrixXf]:
        """Marginals of the unaries alone, and two matrices that :meth:`stepInference` takes and ignores."""
        rows = self._engine.start() if self._has_unary else np.zeros((self._nvar, self._nlabel), np.float32)
        return wrapped(rows), MatrixXf(), MatrixXf()

    def stepInference(self, Q: Any, tmp1: Any = None, tmp2: Any = None) -> None:
        """One update of Q, in place."""
        rows = rows_of(Q, (self._nlabel, self._nvar))
        if not isinstance(Q, np.ndarray):
            raise TypeError(f"Q is {type(Q).__name__}, expected what startInference returned")
        with self._using_terms:
            self._put_back()
            Q[...] = self._engine.step(rows).T

    def klDivergence(self, Q: Any) -> float:
        """pydensecrf's number of this name: neither a divergence nor the free energy (see :meth:`kl_bounds`)."""
        rows = rows_of(Q, (self._nlabel, self._nvar))
        with self._using_terms:
            self._put_back()
            return self._engine.divergence(rows)

    # --- what pydensecrf cannot give

    def model(self) -> DenseCrf:
        """The CRF with exact Gaussians that the calls so far describe, pairs counted once, without self terms.

        Its energy is Potts' or another metric's price of disagreement, which differs from a reward for agreement by a
        constant. One-sided normalisations, repulsion, and terms with different metrics raise NotExpressible.
        """
        costs = self._engine.unary if self._has_unary else np.zeros((self._nvar, self._nlabel), np.float32)
        kernels: List[KernelSpec] = []
        metric: Optional[Array] = None
        for number, term in enumerate(self._terms):
            if term.normalization in (NORMALIZE_BEFORE, NORMALIZE_AFTER):
                raise NotExpressible(
                    f"term {number} is normalised on one side, which leaves no symmetric model; use "
                    "NORMALIZE_SYMMETRIC or NO_NORMALIZATION"
                )
            distance = self._distance(number, term.compatibility)
            weight = float(distance.max())
            if weight == 0.0:
                continue
            if metric is not None and np.abs(distance / weight - metric).max() > 1e-6:
                raise NotExpressible(f"term {number} has another metric than those before, and a model has one")
            metric = distance / weight if metric is None else metric
            kernels.append(feature_kernel(term.rows(), weight, normalised=term.normalization != NO_NORMALIZATION))
        potts = metric is None or bool((metric + np.eye(self._nlabel) == 1).all())
        return DenseCrf(costs, kernels, "potts" if potts else metric)  # type: ignore[arg-type]

    def _distance(self, number: int, compatibility: List[float]) -> Array:
        """M without its diagonal, which must be the same for all labels."""
        count = self._nlabel
        m = np.array(compatibility, float)
        matrix = m * np.eye(count) if m.size == 1 else np.diag(m) if m.size == count else m.reshape(count, count)
        diagonal = np.diag(matrix)
        if np.ptp(diagonal) > 1e-6 * np.abs(matrix).max():
            raise NotExpressible(f"the compatibility of term {number} rewards some labels more than others")
        distance = matrix - diagonal.mean()
        np.fill_diagonal(distance, 0.0)
        if (distance < 0).any():
            raise NotExpressible(f"the compatibility of term {number} rewards disagreement")
        return np.asarray(distance)

    @checked_keywords
    def certify(
        self, method: str = "auto", time_limit: Optional[float] = 60.0, *, gap: Optional[float] = None,
        max_iterations: Optional[int] = None, certify: Optional[Certify] = None,
    ) -> Result:
        """Solves :meth:`model`; submarine.solve says what the arguments mean, and takes further ones with that model."""
        return solve(
            self.model(), method, time_limit=time_limit, gap=gap, max_iterations=max_iterations, certify=certify
        )

    @checked_keywords
    def bounds(
        self, method: str = "auto", time_limit: Optional[float] = 60.0, *, gap: Optional[float] = None,
        max_iterations: Optional[int] = None, certify: Optional[Certify] = None,
    ) -> Interval:
        """The certified interval of log Z of :meth:`model`."""
        result = self.certify(method, time_limit, gap=gap, max_iterations=max_iterations, certify=certify)
        return Interval(*result.interval)

    @checked_keywords
    def upper_inference(
        self, method: str = "auto", time_limit: Optional[float] = 60.0, *, gap: Optional[float] = None,
        max_iterations: Optional[int] = None, certify: Optional[Certify] = None,
    ) -> MatrixXf:
        """Marginals (labels, variables) of the upper bound on log Z, where mean field has those of a lower one."""
        result = self.certify(method, time_limit, gap=gap, max_iterations=max_iterations, certify=certify)
        return wrapped(np.asarray(result.marginals, np.float32).reshape(self._nvar, self._nlabel))

    def energy(self, labels: Any) -> float:
        """E(labels) of :meth:`model`, or slightly more."""
        return self.model().energy(np.asarray(labels).ravel())

    def freeEnergy(self, Q: Any) -> float:
        """<E> - H of the product distribution Q, or slightly more: an upper bound on -log Z of :meth:`model`."""
        return -self.model().lower_bound(rows_of(Q, (self._nlabel, self._nvar)))

    @checked_keywords
    def kl_bounds(
        self, Q: Any, method: str = "auto", time_limit: Optional[float] = 60.0, *, gap: Optional[float] = None,
        max_iterations: Optional[int] = None,
    ) -> Interval:
        """KL(Q || P) from both sides: free energy plus the interval of log Z. What klDivergence was meant to be."""
        model = self.model()
        rows = np.asarray(rows_of(Q, (self._nlabel, self._nvar)))
        low, loss = model._core.lower_bound(rows, 1.0, 1e-4)
        result = solve(
            model, method, time_limit=time_limit, gap=gap, max_iterations=max_iterations, certify="exact"
        )
        lower, upper = result.interval
        # The free energy lies between -low - loss, less what was rounded, and -low.
        slack = loss + 1e-9 * max(1.0, abs(low))
        return Interval(max(0.0, -low - slack + lower), max(0.0, -low + upper))


class DenseCRF2D(DenseCRF):
    """The same on a picture of ``w`` x ``h`` pixels, variable y * w + x."""

    def _set_up(self, w: int, h: int, nlabels: int, *_: Any, **__: Any) -> None:  # type: ignore[override]
        width, height = operator.index(w), operator.index(h)
        if width < 1 or height < 1:
            raise ValueError(f"a picture of {width} x {height} has no pixels")
        self._resize(width * height, operator.index(nlabels))
        self._w, self._h = width, height

    def addPairwiseGaussian(
        self, sxy: Any, compat: Any, kernel: int = DIAG_KERNEL, normalization: int = NORMALIZE_SYMMETRIC
    ) -> None:
        """A kernel that sees positions only; ``sxy`` one number or (x, y), in pixels."""
        self._add(
            compat, kernel, normalization, sigmas=_pair(sxy, 2, "sxy"),
            picture=np.empty((self._h, self._w, 0), np.uint8),
        )

    def addPairwiseBilateral(
        self, sxy: Any, srgb: Any, rgbim: Any, compat: Any, kernel: int = DIAG_KERNEL,
        normalization: int = NORMALIZE_SYMMETRIC,
    ) -> None:
        """A kernel that sees positions and colours; ``rgbim`` (height, width, 3), ``srgb`` one number or three."""
        image = checked(rgbim, 3, "rgbim", False)
        if image.shape[:2] != (self._h, self._w):
            raise ValueError(f"Bad shape for pairwise bilateral (Need {(self._h, self._w, 3)}, got {image.shape})")
        if image.shape[2] != 3:
            raise ValueError(
                "addPairwiseBilateral only works for RGB images. For other types, use "
                "`utils.create_pairwise_bilateral` to construct your own pairwise energy and add it through "
                "`addPairwiseEnergy`."
            )
        sigmas = _pair(sxy, 2, "sxy") + _pair(srgb, 3, "srgb")
        self._add(compat, kernel, normalization, sigmas=sigmas, picture=image.copy())
