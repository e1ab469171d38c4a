"""What a solve returns."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._arrays import Array


class Record(NamedTuple):
    """How far a solver was: the values are its own, only those of the result are proven."""

    k: int  # iterations made; -1 in phases without any
    seconds: float
    upper: Optional[float]
    dual: Optional[float]
    lower: Optional[float]
    done: Optional[float] = None  # share of a phase without iterations


@dataclass(eq=False)
class Result:
    """lower <= T log Z_T <= upper, marginals and labeling.

    ``lower`` and ``upper`` are proven by code that shares nothing with the solvers, rounded outwards; ``dual`` is a
    lower bound on the least upper bound of this kind, not on log Z. ``energy`` is that of ``labels``, or slightly
    more. Where the variables differ in their numbers of labels, ``marginals`` is a list of arrays.
    """

    method: str
    termination: str
    model: str  # the model that the bounds are about
    temperature: float
    lower: Optional[float]
    upper: Optional[float]
    dual: Optional[float]
    energy: Optional[float]
    labels: Array
    marginals: Union[Array, List[Array]]
    lower_provenance: Optional[str] = None  # "verified" or "exact"
    upper_provenance: Optional[str] = None
    extension: str = ""
    defect: float = 0.0
    records: List[Record] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)
    pairs: str = ""  # dense models: how pairs were applied
    seconds: float = 0.0
    estimated_bytes: float = 0.0
    interrupted: bool = False  # by Ctrl-C

    @property
    def interval(self) -> Tuple[float, float]:
        """(lower, upper), infinite where nothing is known."""
        return (
            -float("inf") if self.lower is None else self.lower,
            float("inf") if self.upper is None else self.upper,
        )

    @property
    def gap(self) -> Optional[float]:
        """(upper - dual) / max(1, |upper|): how far the solver is from the best bound of its kind."""
        if self.upper is None or self.dual is None:
            return None
        return (self.upper - self.dual) / max(1.0, abs(self.upper))

    def entropy(self) -> Array:
        """The entropy of every marginal in nats, of the shape of the labels: where the result is uncertain."""
        rows = self.marginals if isinstance(self.marginals, list) else [self.marginals]
        parts = []
        for row in rows:
            y = np.asarray(row, np.float64)
            parts.append(-np.sum(np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0), axis=-1))
        return np.asarray(parts) if isinstance(self.marginals, list) else np.asarray(parts[0])

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<submarine.Result: {low:.8g} <= log Z <= {high:.8g} by {self.method} ({self.termination}), "
            f"{self.seconds:.2f} s>"
        )

    def _repr_html_(self) -> str:
        from ._html import result_html

        return result_html(self)

    def summary(self) -> Dict[str, Any]:
        """Everything but the arrays, as JSON can hold it."""
        return {
            "method": self.method,
            "termination": self.termination,
            "model": self.model,
            "temperature": self.temperature,
            "lower": self.lower,
            "upper": self.upper,
            "dual": self.dual,
            "energy": self.energy,
            "lower_provenance": self.lower_provenance,
            "upper_provenance": self.upper_provenance,
            "extension": self.extension,
            "defect": self.defect,
            "pairs": self.pairs,
            "notes": self.notes,
            "seconds": self.seconds,
            "estimated_bytes": self.estimated_bytes,
            "records": [record._asdict() for record in self.records],
        }

    def report(self, directory: Union[str, "os.PathLike[str]"]) -> str:
        """Writes report.html, summary.json, labels.npy and marginals.npy into the directory; returns the page's path."""
        from ._html import page

        folder = os.fspath(directory)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "summary.json"), "w", encoding="utf-8") as file:
            json.dump(self.summary(), file, indent=1)
        np.save(os.path.join(folder, "labels.npy"), self.labels)
        if isinstance(self.marginals, np.ndarray):
            np.save(os.path.join(folder, "marginals.npy"), self.marginals)
        path = os.path.join(folder, "report.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(self))
        return path
