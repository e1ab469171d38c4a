"""The one door: from model to marginals, labeling and certified interval."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, get_args

import numpy as np

from . import _core
from ._arrays import as_number, as_whole, given
from ._errors import InvalidInput
from ._keywords import (
    Certify, Extension, MarginalsOf, MeanFieldKind, Pairs, Step, check_choice, checked_keywords,
)
from ._models import AnyModel, FactorGraph, Model
from ._result import Record, Result

Callback = Callable[[str, Record], Optional[bool]]


class Method(NamedTuple):
    """One row of the table of methods."""

    name: str
    help: str
    sparse: bool  # GridCrf, GraphCrf
    tables: bool  # FactorGraph without a submodular extension
    dense: bool  # DenseCrf


def methods() -> List[Method]:
    """All methods that :func:`solve` knows.

    Returns
    -------
    list of Method
        Their names, a line of help, and which models they accept.

    Examples
    --------
    >>> [method.name for method in methods() if method.tables]
    ['auto', 'trw', 'exact']
    """
    return [Method(*row) for row in _core.methods()]


class Bar:
    """Progress on request: tqdm where it is installed, else a line on stderr now and then."""

    def __init__(self, unit: str = "it", total: Optional[int] = None) -> None:
        self._next = 0.0
        self._unit, self._total = unit, total
        self._shown = ""
        self._bar: Any = None
        try:
            self._bar = importlib.import_module("tqdm.auto").tqdm(unit=unit, total=total, leave=False)
        except ImportError:
            pass

    def show(self, phase: str, record: Record) -> None:
        text = phase
        if record.upper is not None and record.dual is not None and math.isfinite(record.upper):
            gap = (record.upper - record.dual) / max(1.0, abs(record.upper))
            text += f", gap {100 * gap:.2g}%, upper {record.upper:.6g}"
        elif record.done is not None:
            text += f", {100 * record.done:.0f}%"
        if self._bar is not None:
            self._bar.set_description(text, refresh=phase != self._shown)
            self._bar.update(max(0, record.k - self._bar.n))
            self._shown = phase
        elif record.seconds >= self._next or phase != self._shown:
            self._next, self._shown = record.seconds + 2.0, phase
            print(f"{record.seconds:6.1f} s  {text}", file=sys.stderr)

    def count(self, done: int) -> None:
        """This number of all that there is to do is done."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
        else:
            print(f"{done}{f' of {self._total}' if self._total else ''} {self._unit}s", file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _inner_callback(callback: Optional[Callback], bar: Optional[Bar]) -> Optional[Callable[[str, Any], Any]]:
    if callback is None and bar is None:
        return None

    def told(phase: str, values: Any) -> Any:
        record = Record(*values)
        if bar is not None:
            bar.show(phase, record)
        return None if callback is None else callback(phase, record)

    return told


_CHOICES = dict(
    certify=Certify, extension=Extension, marginals_of=MarginalsOf, mean_field=MeanFieldKind, pairs=Pairs,
    step=Step,
)
_WHOLE = ("max_iterations", "updates", "levels", "rho_steps", "rounding", "starts", "seed", "threads")
_NUMBERS = ("gap", "time_limit", "temperature", "max_memory", "cutoff")


def _checked(options: Dict[str, Any]) -> Dict[str, Any]:
    """Those that are given, with the types that the library takes; ranges are checked there."""
    found: Dict[str, Any] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name == "method":
            check_choice(value, [method.name for method in methods()], "method")
        elif name in _CHOICES:
            check_choice(value, get_args(_CHOICES[name]), name)
        elif name in _WHOLE:
            value = as_whole(value, name)
        elif name in _NUMBERS:
            value = as_number(value, name)
        else:
            value = bool(value)
        found[name] = value
    memory = found.get("max_memory", 1.0)
    if not 0 < memory < math.inf:
        raise InvalidInput(f"max_memory is {memory}, expected a finite number of gigabytes > 0")
    return found


@checked_keywords
def solve(
    model: AnyModel,
    method: str = "auto",
    *,
    gap: Optional[float] = None,
    max_iterations: Optional[int] = None,
    time_limit: Optional[float] = None,
    max_memory: Optional[float] = None,
    temperature: float = 1.0,
    expectations: bool = False,
    callback: Optional[Callback] = None,
    progress: bool = False,
    seed: int = 1,
    threads: Optional[int] = None,
    deterministic: bool = False,
    step: Optional[Step] = None,
    certify: Optional[Certify] = None,
    marginals_of: Optional[MarginalsOf] = None,
    updates: int = 0,
    pairs: Optional[Pairs] = None,
    cutoff: Optional[float] = None,
    levels: Optional[int] = None,
    extension: Optional[Extension] = None,
    mean_field: Optional[MeanFieldKind] = None,
    rounding: Optional[int] = None,
    starts: Optional[int] = None,
    rho_steps: Optional[int] = None,
) -> Result:
    """Bounds log Z of a model from both sides and returns marginals and a labeling.

    The keywords are the options of ``submarine solve``, whose ``--help`` has the defaults of those that are None. Ctrl-C
    ends a solve: the result of what was done so far comes back with ``interrupted`` set, certified within about a second.
    Other threads run meanwhile.

    Parameters
    ----------
    model : GridCrf, GraphCrf, DenseCrf or FactorGraph
        What is solved.
    method : str
        One of :func:`methods`; "auto" chooses by the model.
    gap : float, optional
        Stop when upper - dual <= gap * max(1, abs(upper)); for trw, when a sweep gains less.
    max_iterations : int, optional
        Stop after that many iterations.
    time_limit : float, optional
        Seconds for the whole call. Whatever ends it, the interval is proven.
    max_memory : float, optional
        Gigabytes for everything; what needs more is refused before it starts.
    temperature : float
        T of exp(-E/T): the interval is about T log sum exp(-E/T). 0: the linear relaxation, or the labeling of least energy.
    expectations : bool
        Keep what :meth:`Result.areas`, :meth:`Result.agreement` and :meth:`Result.expectation` prove their intervals from:
        about as much memory as two arrays of marginals.
    callback : callable, optional
        ``callback(phase, record)`` is told of every iteration and ends the solve by returning False.
    progress : bool
        Show a bar, by tqdm if it is installed.
    seed : int
        Of all random choices.
    threads : int, optional
        0: all cores; else what :func:`set_threads` was told. Results do not depend on it.
    deterministic : bool
        Make no decision depend on the clock.
    step : {"line-search", "harmonic"}, optional
        Of Frank-Wolfe; "harmonic" is 2 / (k + 2).
    certify : {"auto", "exact", "operator", "lower", "none"}, optional
        Dense models: what the bounds are about. "exact": the Gaussian model; "operator": the model with the pair weights of
        ``pairs``; "lower": that model, from below only; "none": labels and marginals without bounds.
    marginals_of : {"upper-bound", "mean-field", "mean", "routed"}, optional
        Dense models: which marginals to return.
    updates : int
        Dense models: labels and marginals are those after this number of updates of mean field, all variables at once, whatever is
        proven of them; 0: of the least energy found, and by "mf" until its bound no longer rises.
    pairs : {"auto", "list", "lattice", "brute-force"}, optional
        Dense models: how the solver sums over pairs.
    cutoff : float, optional
        Dense models: neighbour lists leave out pairs whose kernel value is below it; certificates account for them.
    levels : int, optional
        Dense models: the number of soft levels of lattices.
    extension : {"optimal", "alternate"}, optional
        Sparse models: "alternate" is the paper's baseline, for fw.
    mean_field : {"naive", "forest"}, optional
        Sparse models: lower bounds by independent variables, or exact within trees.
    rounding, starts : int, optional
        Sparse models: random roundings tried for the labeling, and starts of mean field.
    rho_steps : int, optional
        trw: steps that optimise the probability with which every edge is in a forest.

    Returns
    -------
    Result
        The interval, marginals, labels, and how it ended.

    Raises
    ------
    InvalidInput
        For wrong values, and methods that are not for the model.
    NotExpressible
        For tables that the method cannot express.
    TooLarge
        Where memory is too short; the message says what would fit.
    TimeLimit, Interrupted, KeyboardInterrupt
        Of exact inference, which has nothing to show before it is done.

    Examples
    --------
    >>> import numpy as np
    >>> from submarine import GridCrf
    >>> result = solve(GridCrf(np.zeros((3, 3, 2)), weights=1.0))
    >>> result.method, result.labels.shape, result.marginals.shape
    ('exact', (3, 3), (3, 3, 2))
    >>> result.lower <= result.upper
    True
    """
    options = {name: value for name, value in locals().items() if name not in ("model", "callback", "progress")}
    if not isinstance(model, Model):
        raise InvalidInput(f"the model is {given(model)}, expected GridCrf, GraphCrf, DenseCrf or FactorGraph")
    if threads is None:
        options["threads"] = _threads
    checked = _checked(options)
    bar = Bar() if progress else None
    try:
        found = _core.solve(model._core, checked, _inner_callback(callback, bar))
    finally:
        if bar is not None:
            bar.close()
    return _to_result(model, found, checked)


def _to_result(model: AnyModel, found: Dict[str, Any], options: Dict[str, Any]) -> Result:
    marginals = found.pop("marginals")
    if isinstance(marginals, np.ndarray) and not isinstance(model, FactorGraph):
        marginals = marginals.reshape(model.shape + (marginals.shape[-1],))
    labels = found.pop("labels").reshape(model.shape)
    records = [Record(*values) for values in found.pop("records")]
    proof = found.pop("proof", None)
    if not isinstance(model, FactorGraph):
        found.update(groups=model.groups, label_names=model.label_names)
    return Result(labels=labels, marginals=marginals, records=records, options=options, _proof=proof, **found)


@checked_keywords
def set_threads(threads: int = 0) -> None:
    """Says how many threads every solve of this process uses from now on.

    Parameters
    ----------
    threads : int
        0: all cores.

    Raises
    ------
    InvalidInput
        For negative numbers.

    Examples
    --------
    >>> set_threads(0)
    """
    count = as_whole(threads, "threads")
    if count < 0:
        raise InvalidInput(f"threads is {count}, expected 0 (all cores) or more")
    global _threads
    _threads = count


_threads = 0  # of set_threads


def current_threads() -> int:
    """What set_threads was told last."""
    return _threads
