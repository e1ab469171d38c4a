"""Results drawn by matplotlib, where it is installed."""

from __future__ import annotations

import importlib
from typing import Any, get_args

import numpy as np

from ._arrays import Array
from ._errors import InvalidInput
from ._html import label_colours
from ._keywords import Plot, check_choice
from ._result import Result


def plot_result(result: Result, kind: Plot, axes: Any) -> Any:
    """What Result.plot does."""
    check_choice(kind, get_args(Plot), "kind")
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("plot draws by matplotlib, which is not installed: pip install matplotlib") from error
    if kind == "bounds":
        return _bounds(result, pyplot.subplots()[1] if axes is None else axes)
    if result.labels.ndim not in (2, 3):
        raise InvalidInput(f"the labels have shape {result.labels.shape}, and pictures or volumes are drawn")
    if kind == "marginals":
        return _marginals(result, pyplot)
    axes = pyplot.subplots()[1] if axes is None else axes
    if kind == "labels":
        axes.imshow(label_colours(int(result.labels.max()) + 1)[_slice(result.labels, 2)], interpolation="nearest")
        axes.set_title("labels")
    else:
        shown = axes.imshow(_slice(result.entropy(), 2), cmap="magma", vmin=0, interpolation="nearest")
        axes.figure.colorbar(shown, ax=axes)
        axes.set_title("entropy of the marginals (nats)")
    axes.set_axis_off()
    return axes


def _slice(values: Array, axes: int) -> Array:
    """The middle of a volume."""
    return np.asarray(values[values.shape[0] // 2]) if values.ndim > axes else values


def _marginals(result: Result, pyplot: Any) -> Any:
    assert isinstance(result.marginals, np.ndarray)
    rows = _slice(result.marginals, 3)
    count = rows.shape[-1]
    columns = min(count, 4)
    figure, grid = pyplot.subplots(-(-count // columns), columns, squeeze=False)
    for label, axes in enumerate(grid.flat):
        axes.set_axis_off()
        if label < count:
            axes.imshow(rows[..., label], cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            axes.set_title(f"label {label}")
    return grid


def _bounds(result: Result, axes: Any) -> Any:
    for name, colour in (("upper", "tab:red"), ("dual", "tab:blue"), ("lower", "tab:green")):
        points = [(r.seconds, getattr(r, name)) for r in result.records if getattr(r, name) is not None]
        if points:
            axes.plot(*zip(*points), color=colour, label=f"{name} (the solver's)")
        proven = getattr(result, name)
        if proven is not None and name != "dual":
            axes.axhline(proven, color=colour, linestyle="--", label=f"{name} (proven)")
    axes.set_xlabel("seconds")
    axes.set_ylabel("log Z" if result.temperature == 1 else f"T log Z at T = {result.temperature:g}")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    return axes
