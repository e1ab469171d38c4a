"""The one door: from model to marginals, labeling and certified interval."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

from . import _core
from ._errors import InvalidInput
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
    """All methods that :func:`solve` knows, and what they accept.

    >>> [method.name for method in methods() if method.tables]
    ['auto', 'trw', 'exact']
    """
    return [Method(*row) for row in _core.methods()]


class _Bar:
    """Progress on request: tqdm where it is installed, else a line on stderr now and then."""

    def __init__(self) -> None:
        self._next = 0.0
        self._shown = ""
        self._bar: Any = None
        try:
            self._bar = importlib.import_module("tqdm.auto").tqdm(unit="it", leave=False)
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

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _inner_callback(callback: Optional[Callback], bar: Optional[_Bar]) -> Optional[Callable[[str, Any], Any]]:
    if callback is None and bar is None:
        return None

    def told(phase: str, values: Any) -> Any:
        record = Record(*values)
        if bar is not None:
            bar.show(phase, record)
        return None if callback is None else callback(phase, record)

    return told


def solve(
    model: AnyModel,
    method: str = "auto",
    *,
    gap: Optional[float] = None,
    time_limit: Optional[float] = None,
    iterations: Optional[int] = None,
    temperature: float = 1.0,
    callback: Optional[Callback] = None,
    progress: bool = False,
    max_bytes: Optional[int] = None,
    deterministic: bool = False,
    seed: int = 1,
    **options: Any,
) -> Result:
    """Bounds log Z of the model from both sides and returns marginals and a labeling.

    ``method`` is one of :func:`methods`. The solver stops at a relative ``gap`` between its upper bound and dual
    value, after ``time_limit`` seconds for the whole call, or after ``iterations`` iterations; whatever ends it, the
    interval is proven. ``temperature`` T makes it about T log sum exp(-E/T); 0 is the linear relaxation, or the MAP.

    ``callback(phase, record)`` is told of every iteration and ends the solve by returning False. Ctrl-C ends it,
    too: the result of what was done so far comes back with ``interrupted`` set, certified within about a second.
    Other threads run meanwhile. ``progress=True`` shows a bar.

    Further options: ``certify`` ("auto", "exact", "operator", "lower", "none"), ``pairs`` ("auto", "list", "lattice",
    "brute-force"), ``cutoff``, ``levels``, ``marginals`` ("upper-bound", "mean-field", "mean", "routed") of dense models;
    ``extension`` ("optimal", "alternate"), ``rho``, ``rho_steps``, ``forest`` ("spanning", "rows", "columns",
    "best", "average"), ``mean_field`` ("naive", "forest"), ``rounding_draws``, ``starts``, ``harmonic_steps`` of
    sparse ones. ``forest`` of the method "routed" on dense models: "best", "rows", "columns", "spanning", "look-alikes".

    >>> import numpy as np
    >>> from submarine import GridCrf
    >>> result = solve(GridCrf(np.zeros((3, 3, 2)), weights=1.0))
    >>> result.method, result.labels.shape, result.marginals.shape
    ('exact', (3, 3), (3, 3, 2))
    >>> result.lower <= result.upper
    True
    """
    if not isinstance(model, Model):
        raise InvalidInput(f"the model is {type(model).__name__}, expected GridCrf, GraphCrf, DenseCrf or FactorGraph")
    given: Dict[str, Any] = dict(options)
    given.update(
        method=method, gap=gap, time_limit=time_limit, iterations=iterations, temperature=temperature,
        max_bytes=max_bytes, deterministic=deterministic, seed=seed, threads=options.get("threads", _threads),
    )
    bar = _Bar() if progress else None
    try:
        found = _core.solve(model._core, given, _inner_callback(callback, bar))
    finally:
        if bar is not None:
            bar.close()
    return _to_result(model, found, {key: value for key, value in given.items() if value is not None})


def _to_result(model: AnyModel, found: Dict[str, Any], options: Dict[str, Any]) -> Result:
    marginals = found.pop("marginals")
    if isinstance(marginals, np.ndarray) and not isinstance(model, FactorGraph):
        marginals = marginals.reshape(model.shape + (marginals.shape[-1],))
    labels = found.pop("labels").reshape(model.shape)
    records = [Record(*values) for values in found.pop("records")]
    return Result(labels=labels, marginals=marginals, records=records, options=options, **found)


def set_threads(threads: int = 0) -> None:
    """How many threads every solve of this process uses from now on; 0 means all cores."""
    if threads < 0:
        raise InvalidInput(f"the number of threads is {threads}, expected 0 (all cores) or more")
    global _threads
    _threads = int(threads)


_threads = 0  # of set_threads


def current_threads() -> int:
    """What set_threads was told last."""
    return _threads
