"""What a solve returns."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._arrays import Array, as_array, as_integers, as_whole
from ._errors import InvalidInput
from ._keywords import Plot, checked_keywords


class Record(NamedTuple):
    """How far a solver was: the values are its own, only those of the result are proven."""

    k: int  # iterations made; -1 in phases without any
    seconds: float
    upper: Optional[float]
    dual: Optional[float]
    lower: Optional[float]
    done: Optional[float] = None  # share of a phase without iterations


class Expectation(NamedTuple):
    """What is proven about a sum over the variables of a labeling drawn from the model.

    ``lower`` <= E S <= ``upper``, and S is between the credible ends with a probability of 99.9% or more. ``claimed`` is what
    the marginals of mean field say (of exact inference where that was used), which proves nothing. ``found / n`` divides
    all of them, for shares and means.
    """

    lower: float
    upper: float
    credible_lower: float
    credible_upper: float
    claimed: Optional[float] = None

    def __truediv__(self, whole: float) -> "Expectation":
        """Each end rounded outwards."""
        whole = float(whole)
        if not 0 < whole < math.inf:
            raise InvalidInput(f"it is divided by {whole}, expected a finite number > 0")
        return self._scaled(divisor=whole)

    def _scaled(self, factors: Sequence[float] = (), divisor: float = 1.0) -> "Expectation":
        from fractions import Fraction  # only here: it takes time

        factor = math.prod(map(Fraction, factors)) / Fraction(divisor)

        def towards(end: float, to: float) -> float:
            exact = Fraction(end) * factor
            nearest = float(exact)
            off = Fraction(nearest) - exact
            return float(np.nextafter(nearest, to)) if off and (off > 0) != (to > 0) else nearest

        return Expectation(
            towards(self.lower, -math.inf), towards(self.upper, math.inf),
            towards(self.credible_lower, -math.inf), towards(self.credible_upper, math.inf),
            None if self.claimed is None else float(self.claimed * factor),
        )


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
    dual_provenance: Optional[str] = None
    energy_provenance: Optional[str] = None
    extension: str = ""
    defect: float = 0.0
    records: List[Record] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)
    pairs: str = ""  # dense models: how pairs were applied
    seconds: float = 0.0
    estimated_bytes: float = 0.0
    interrupted: bool = False  # by Ctrl-C
    options: Dict[str, Any] = field(default_factory=dict)  # what the solve was asked for
    groups: Dict[str, List[int]] = field(default_factory=dict)  # the labels of the groups of a label hierarchy
    label_names: List[str] = field(default_factory=list)  # where the file of the metric has them
    # Where label cuts do not express the metric: the worst and mean ratio d/d', and what pairs cost.
    metric_loss: Optional[Dict[str, float]] = None
    _proof: Any = field(default=None, repr=False)  # of expectations; not pickled

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_proof": None}

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
        """The entropy of every marginal: where the result is uncertain.

        Returns
        -------
        array
            In nats, of the shape of the labels.
        """
        rows = self.marginals if isinstance(self.marginals, list) else [self.marginals]
        parts = []
        for row in rows:
            y = np.asarray(row, np.float64)
            parts.append(-np.sum(np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0), axis=-1))
        return np.asarray(parts) if isinstance(self.marginals, list) else np.asarray(parts[0])

    def group_marginals(self) -> Dict[str, Array]:
        """The marginal of every group of the label hierarchy: the sum over its labels.

        Returns
        -------
        dict of str to array
            Of the shape of the labels; empty where the metric is no hierarchy with names.
        """
        y = np.asarray(self.marginals)
        return {name: y[..., members].sum(axis=-1) for name, members in self.groups.items()}

    def _hierarchy(self) -> Dict[str, Any]:
        """What summaries say about named labels and their groups."""
        found: Dict[str, Any] = {"label_names": self.label_names} if self.label_names else {}
        if not self.groups:
            return found
        y = np.asarray(self.marginals, np.float64)
        shares = y.reshape(-1, y.shape[-1]).mean(axis=0)
        found["label_shares"] = shares.tolist()
        found["groups"] = []
        before: List[str] = []  # parents come first
        for name, members in self.groups.items():
            share = float(shares[members].sum())
            around = [other for other in reversed(before) if set(members) <= set(self.groups[other])]
            before.append(name)
            found["groups"].append({
                "name": name, "labels": members, "share": share,
                "parent": min(around, key=lambda other: len(self.groups[other])) if around else None,
                "of_which": {
                    self.label_names[i] if self.label_names else str(i): float(shares[i]) / share if share > 0 else None
                    for i in members
                },
            })
        return found

    def _prover(self) -> "_core.Expectations":
        if self._proof is None:
            raise InvalidInput(
                "expectations are for results of refine(..., certify=True) and solve(..., expectations=True); pickles do not keep "
                "them"
            )
        found: _core.Expectations = self._proof
        return found

    def expectation(self, values: Any) -> Expectation:
        """What is proven about the sum of a value for every variable's label.

        Parameters
        ----------
        values : array
            Of the shape of the marginals, or one value per label: disparities, costs, whatever adds up.

        Returns
        -------
        Expectation
            Of the sum over all variables.

        Raises
        ------
        InvalidInput
            For other shapes, values that are not finite, and results that :meth:`areas` is not for.

        Examples
        --------
        >>> import numpy as np
        >>> from submarine import GridCrf, solve
        >>> result = solve(GridCrf(np.zeros((3, 3, 2)), weights=1.0), expectations=True)
        >>> mean_label = result.expectation([0.0, 1.0]) / 9
        >>> round(mean_label.lower, 3), round(mean_label.upper, 3)
        (0.5, 0.5)
        """
        prover = self._prover()
        array = as_array(values, "values")
        if array.ndim == 1:
            array = np.broadcast_to(array, self.labels.shape + array.shape)
        if array.shape[:-1] != self.labels.shape:
            raise InvalidInput(f"values has shape {array.shape}, expected {self.labels.shape} and an axis of labels")
        return Expectation(*prover.prove("expectation", array)[0])

    def areas(self, mask: Any = None) -> List[Expectation]:
        """How many variables have each label: areas in pixels, volumes in voxels.

        Parameters
        ----------
        mask : array, optional
            Of the shape of the labels: only variables where it is not 0 count.

        Returns
        -------
        list of Expectation
            One for every label.

        Raises
        ------
        InvalidInput
            For other shapes, and results of neither ``refine(..., certify=True)`` nor ``solve(..., expectations=True)``.

        Examples
        --------
        >>> import numpy as np
        >>> from submarine import GridCrf, solve
        >>> result = solve(GridCrf(np.zeros((3, 3, 2)), weights=1.0), expectations=True)
        >>> [round(area.lower, 2) for area in result.areas()]
        [4.5, 4.5]
        """
        prover = self._prover()
        given: Optional[Array] = None
        if mask is not None:
            inside = as_array(mask, "mask") != 0
            if inside.shape != self.labels.shape:
                raise InvalidInput(f"mask has shape {inside.shape}, expected {self.labels.shape}")
            given = inside.astype(np.int8)
        return [Expectation(*found) for found in prover.prove("areas", given)]

    def agreement(self, labels: Any = None) -> Expectation:
        """How many variables of a labeling drawn from the model have the given labels.

        Parameters
        ----------
        labels : array of int, optional
            Of the shape of the result's labels, which are the default; variables with negative ones do not count.

        Returns
        -------
        Expectation
            In variables.

        Raises
        ------
        InvalidInput
            For other shapes, labels that there are none of, and results that :meth:`areas` is not for.

        Examples
        --------
        >>> import numpy as np
        >>> from submarine import GridCrf, solve
        >>> result = solve(GridCrf(np.zeros((3, 3, 2)), weights=1.0), expectations=True)
        >>> round(result.agreement().upper, 2)
        4.5
        """
        prover = self._prover()
        given = as_integers(self.labels if labels is None else labels, "labels")
        if given.shape != self.labels.shape:
            raise InvalidInput(f"labels has shape {given.shape}, expected {self.labels.shape}")
        return Expectation(*prover.prove("agreement", given)[0])

    def probability(self, variable: Any, label: int) -> Expectation:
        """What is proven about a single marginal, which says something where log Z is known to a few nats.

        Parameters
        ----------
        variable : int or tuple of int
            Its index in the labels.
        label : int
            The label.

        Returns
        -------
        Expectation
            Of the probability; its credible ends are 0 and 1.

        Raises
        ------
        InvalidInput
            Where there is no such variable or label, and for results that :meth:`areas` is not for.

        Examples
        --------
        >>> import numpy as np
        >>> from submarine import GridCrf, solve
        >>> result = solve(GridCrf(np.zeros((3, 3, 2)), weights=1.0), expectations=True)
        >>> round(result.probability((1, 1), 0).lower, 4)
        0.5
        """
        prover = self._prover()
        try:
            index = int(np.arange(self.labels.size).reshape(self.labels.shape)[variable])
        except (IndexError, TypeError) as error:
            raise InvalidInput(f"there is no variable {variable}") from error
        return Expectation(*prover.prove("probability", np.array([index, as_whole(label, "label")]))[0])

    def _outcome(self) -> str:
        """The interval, rounded outwards, and how it was found, in a line."""
        from ._html import outwards

        text = "log Z" if self.temperature == 1 else f"{self.temperature:g} log Z" if self.temperature else "-min E"
        lower, upper = outwards(*self.interval)
        if not all(map(math.isinf, self.interval)):
            text = " <= ".join(part for part in (lower, text, upper) if not part.endswith("inf"))
        else:
            text = "no certified bound"
        return f"{text} by {self.method} ({self.termination}), {self.seconds:.2f} s"

    def __repr__(self) -> str:
        return f"<submarine.Result: {self._outcome()}>"

    def _repr_html_(self) -> str:
        from ._html import result_html

        return result_html(self)

    @checked_keywords
    def plot(self, kind: Plot = "labels", axes: Any = None) -> Any:
        """Shows the result by matplotlib.

        Parameters
        ----------
        kind : {"labels", "entropy", "marginals", "bounds"}
            "entropy" says where the labels are unsure; "marginals" has a picture for every label; "bounds" shows the bounds
            over time. Of volumes the slice in the middle is shown.
        axes : matplotlib Axes, optional
            Where to draw; a new figure unless given. "marginals" always makes one.

        Returns
        -------
        Axes, or array of Axes

        Raises
        ------
        InvalidInput
            For results that are no pictures or volumes.
        ImportError
            Where matplotlib is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> from submarine import GridCrf, solve
        >>> result = solve(GridCrf(np.zeros((3, 3, 2)), weights=1.0))
        >>> result.plot("entropy").get_title()  # doctest: +SKIP
        'entropy of the marginals (nats)'
        """
        from ._plot import plot_result

        return plot_result(self, kind, axes)

    def summary(self) -> Dict[str, Any]:
        """Everything but the arrays, as ``submarine solve --json`` has it (docs/formats.md).

        Returns
        -------
        dict
            What :mod:`json` can write.
        """
        numbers = {key: _number(getattr(self, key)) for key in ("lower", "upper", "dual", "energy")}
        provenance = {key: getattr(self, key + "_provenance") for key in numbers}
        summary: Dict[str, Any] = {**numbers, "provenance": provenance}
        lower, upper = numbers["lower"], numbers["upper"]
        if lower is not None and upper is not None:
            width, larger = upper - lower, max(abs(lower), abs(upper))
            summary["interval"] = {
                "width": width,
                "relative": width / larger if larger > 0 else 0.0,
                "per_variable": width / max(1, self.labels.size),
            }
        if self.metric_loss is not None:
            summary["metric_loss"] = self.metric_loss
        summary.update(self._hierarchy())
        summary.update(
            seconds=self.seconds,
            estimated_gigabytes=self.estimated_bytes / 1e9 if self.estimated_bytes > 0 else None,
            termination=self.termination,
            method=self.method,
            extension=self.extension or None,
            temperature=self.temperature,
            about=self.model,
            defect=self.defect,
            notes=self.notes,
            pairs=self.pairs or None,
            map={"lower": None if upper is None else -upper, "upper": numbers["energy"]},
            options=self.options,
            version=_core.__version__,
            iterations=[
                {"k": r.k, "seconds": r.seconds, "upper": _number(r.upper), "dual": _number(r.dual)}
                | ({} if r.lower is None else {"lower": _number(r.lower)})
                for r in self.records
            ],
            kind="solve",
        )
        return summary

    @checked_keywords
    def report(
        self,
        directory: Union[str, "os.PathLike[str]"],
        *,
        image: Any = None,
        before: Any = None,
        names: Optional[Sequence[str]] = None,
        title: Optional[str] = None,
        max_mb: float = 20.0,
    ) -> str:
        """Writes what ``submarine solve --bundle`` writes.

        The page stands alone: the interval and what it means, where each bound comes from, labels, uncertainty and the
        marginal of the pixel under the cursor, bounds over time. Beside it are summary.json, labels.npy, entropy.npy and,
        where all variables have the same labels, marginals.npy.

        Parameters
        ----------
        directory : str or path
            Where the files go; it is made if it is not there.
        image : array, optional
            A picture of shape (height, width[, 3]), samples from 0 to 255: labels are shown over it and written as
            pictures, too.
        before : array of int, optional
            Labels to compare with, shown over the image.
        names : sequence of str, optional
            Those of the labels.
        title : str, optional
            Of the page.
        max_mb : float
            Larger pages are made smaller.

        Returns
        -------
        str
            The path of the page, report.html.

        Raises
        ------
        InvalidInput
            For shapes that do not fit to the labels, and another number of names.
        OSError
            Where it cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from submarine import GridCrf, solve
        >>> result = solve(GridCrf(np.zeros((3, 4, 2)), weights=1.0))
        >>> page = result.report(tempfile.mkdtemp(), names=["sky", "ground"])
        >>> sorted(os.listdir(os.path.dirname(page)))
        ['entropy.npy', 'labels.npy', 'marginals.npy', 'report.html', 'summary.json']
        """
        from ._report import write_report

        return write_report(self, os.fspath(directory), image, before, names, title, max_mb)


def _number(value: Optional[float]) -> Optional[float]:
    """JSON has no infinities."""
    return value if value is not None and math.isfinite(value) else None
