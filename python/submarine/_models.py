"""Models: what there is to label, and what labelings cost. They are immutable, compare by identity, and pickle."""

from __future__ import annotations

import os
import warnings
from typing import Any, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._arrays import Array, Number, as_array, as_integers, labels_last, require_finite
from ._errors import FileError, InvalidInput, NotExpressible
from ._kernels import Extent, KernelSpec

PathLike = Union[str, "os.PathLike[str]"]
Metric = Union[str, Array, Sequence[Sequence[Number]]]


def _labels_of(metric: Metric, num_labels: int) -> _core.Labels:
    """The label space of one metric."""
    if isinstance(metric, str):
        labels = _core.Labels.from_spec(metric, num_labels)
    else:
        labels = _core.Labels.from_tables([_table(metric, num_labels)])
    for warning in labels.warnings:
        warnings.warn(warning, stacklevel=4)
    return labels


def _table(metric: Any, num_labels: int) -> Array:
    table = as_array(metric, "the metric")
    if table.shape != (num_labels, num_labels):
        raise InvalidInput(f"the metric has shape {table.shape}, expected ({num_labels}, {num_labels})")
    return table


class Model:
    """What all models have in common."""

    _shape: Extent  # of a labeling
    _core: Any

    @property
    def shape(self) -> Extent:
        """The shape of a labeling: (height, width) of a picture, (variables,) of a graph."""
        return self._shape

    def __repr__(self) -> str:
        return f"<submarine.{type(self).__name__}: {self.description()}>"

    def description(self) -> str:
        """One line: what the model is, as certificates name it."""
        return str(self._core.description())

    def _labeling(self, labels: Any) -> Array:
        array = as_integers(labels, "the labeling")
        if array.shape != self._shape and array.shape != (int(np.prod(self._shape)),):
            raise InvalidInput(f"the labeling has shape {array.shape}, expected {self._shape}")
        return array.reshape(-1)

    def energy(self, labels: Any) -> float:
        """E(labels); ``labels`` has the shape of the model."""
        return float(self._core.energy(self._labeling(labels)))


class _PairModel(Model):
    """Models with unaries of one number of labels."""

    @property
    def num_labels(self) -> int:
        """How many labels every variable has."""
        return int(self._core.num_labels)

    @property
    def num_variables(self) -> int:
        """How many variables there are."""
        return int(self._core.num_variables)

    @property
    def constant(self) -> float:
        """What is added to every energy."""
        return float(self._core.constant)

    @property
    def unary(self) -> Array:
        """The costs, labels last; a read-only view."""
        unary: Array = self._core.unary
        return unary.reshape(self._shape + (self.num_labels,))

    @property
    def distances(self) -> List[Array]:
        """d(i, j) of every metric, each of shape (labels, labels)."""
        return list(self._core.labels.distances)

    def _marginals(self, marginals: Any) -> Array:
        array = as_array(marginals, "the marginals")
        count = int(np.prod(self._shape))
        if array.shape != self._shape + (self.num_labels,) and array.shape != (count, self.num_labels):
            raise InvalidInput(f"the marginals have shape {array.shape}, expected {self._shape + (self.num_labels,)}")
        return array.reshape(count, self.num_labels)


class GraphCrf(_PairModel):
    """E(x) = constant + sum_a unary[a, x_a] + sum over edges w_ab d(x_a, x_b), edges counted once.

    ``unary`` has shape (variables, labels), ``edges`` (edges, 2), ``weights`` is a number or has shape (edges,).
    ``metric`` is "potts", "linear", "truncated:3", "tree:5x4:1,0.5" (docs/formats.md), a (labels, labels) table of
    distances, or a list of several; then ``edge_metric`` holds the number of the metric of every edge.

    >>> import numpy as np
    >>> model = GraphCrf(np.zeros((3, 2)), [[0, 1], [1, 2]], weights=0.5)
    >>> model.energy([0, 1, 1])
    0.5
    """

    def __init__(
        self,
        unary: Any,
        edges: Any,
        weights: Any = 1.0,
        metric: Union[Metric, Sequence[Metric]] = "potts",
        *,
        edge_metric: Any = None,
        label_axis: int = -1,
        constant: float = 0.0,
    ) -> None:
        costs = labels_last(as_array(unary, "unary"), label_axis, "unary")
        if costs.ndim != 2:
            raise InvalidInput(f"unary has shape {costs.shape}, expected (variables, labels)")
        ends = as_integers(edges, "edges") if np.size(edges) else np.zeros((0, 2), np.int32)
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise InvalidInput(f"edges has shape {ends.shape}, expected (edges, 2)")
        self._build(costs, (costs.shape[0],), ends, weights, metric, edge_metric, constant)

    def _build(
        self, costs: Array, shape: Extent, ends: Array, weights: Any, metric: Any, edge_metric: Any, constant: float
    ) -> None:
        require_finite(costs, "unary")
        weight = as_array(weights, "weights")
        if weight.ndim == 0:
            weight = np.full(len(ends), float(weight))
        if weight.shape != (len(ends),):
            raise InvalidInput(f"weights has shape {weight.shape}, expected one number or ({len(ends)},)")
        num_labels = int(costs.shape[-1])
        self._metric: Optional[str] = metric if isinstance(metric, str) else None
        if edge_metric is None:
            labels = _labels_of(metric, num_labels)
            which = np.zeros(0, np.int32)
        else:
            tables = [_labels_of(m, num_labels).distances[0] for m in metric]
            labels = _core.Labels.from_tables(tables)
            which = as_integers(edge_metric, "edge_metric")
        self._shape = shape
        self._core = _core.SparseModel(costs, ends, weight, which, labels, float(constant))

    @property
    def edges(self) -> Array:
        """The ends of every edge, shape (edges, 2)."""
        edges: Array = self._core.edges
        return edges

    @property
    def weights(self) -> Array:
        """The weight of every edge."""
        weights: Array = self._core.weights
        return weights

    def lower_bound(self, marginals: Any, temperature: float = 1.0) -> float:
        """The certified lower bound T H(y) - <E>_y <= T log Z_T that any product distribution gives."""
        return float(self._core.lower_bound(self._marginals(marginals), float(temperature)))

    def write(self, path: PathLike) -> None:
        """Writes a bundle, ``name.json`` beside its arrays, or, as ``name.uai``, tables (docs/formats.md)."""
        text = os.fspath(path)
        if text.endswith(".uai"):
            _core.write_sparse_uai(text, self._core)
        else:
            self._write_bundle(text)

    def _write_bundle(self, path: str) -> None:
        _core.write_graph(path, self._core, self._spec())

    def _spec(self) -> str:
        if self._metric is None:
            names = self._core.labels.names
            if len(names) != 1 or names[0] == "fitted":
                raise NotExpressible("a bundle names its metric, and this one is a table; write a .uai file instead")
            return str(names[0])
        return self._metric


class GridCrf(GraphCrf):
    """A GraphCrf on a picture's grid; ``unary`` has shape (height, width, labels).

    ``weights`` is one number, or one per edge in the order of :func:`grid_edges`.

    >>> import numpy as np
    >>> GridCrf(np.zeros((4, 6, 3)), weights=2.0, metric="linear")
    <submarine.GridCrf: sparse CRF with 24 variables, 38 edges, 3 labels, metric linear>
    """

    def __init__(
        self,
        unary: Any,
        weights: Any = 1.0,
        metric: Union[Metric, Sequence[Metric]] = "potts",
        *,
        connectivity: int = 4,
        edge_metric: Any = None,
        label_axis: int = -1,
        constant: float = 0.0,
    ) -> None:
        costs = labels_last(as_array(unary, "unary"), label_axis, "unary")
        if costs.ndim != 3:
            raise InvalidInput(f"unary has shape {costs.shape}, expected (height, width, labels)")
        self._connectivity = connectivity
        height, width = costs.shape[:2]
        ends = grid_edges(height, width, connectivity)
        self._build(costs, (height, width), ends, weights, metric, edge_metric, constant)

    def _write_bundle(self, path: str) -> None:
        height, width = self._shape
        _core.write_grid(path, self._core, width, height, self._connectivity, self._spec())


class FactorGraph(Model):
    """E(x) = sum of tables; ``factors`` are pairs (scope, energies), infinite where forbidden.

    An energy table has one axis per variable of its scope. Any number of variables per factor for ``exact``, pairs
    for ``trw``; the other methods need tables that are metrics, which are recognised.

    >>> import numpy as np
    >>> FactorGraph([2, 3], [((0,), [0, 1]), ((0, 1), np.zeros((2, 3)))]).energy([1, 2])
    1.0
    """

    def __init__(self, cardinality: Sequence[int], factors: Iterable[Tuple[Sequence[int], Any]]) -> None:
        scopes: List[List[int]] = []
        tables: List[Array] = []
        for number, (scope, table) in enumerate(factors):
            scopes.append([int(a) for a in scope])
            tables.append(as_array(table, f"the table of factor {number}").reshape(-1))
        self._core = _core.FactorModel([int(n) for n in cardinality], scopes, tables)
        self._shape = (len(self._core.cardinality),)

    @property
    def cardinality(self) -> List[int]:
        """The number of labels of every variable."""
        return list(self._core.cardinality)

    @property
    def factors(self) -> List[Tuple[List[int], Array]]:
        """(scope, energies) of every factor."""
        return [self._core.factor(f) for f in range(self._core.num_factors)]

    def description(self) -> str:
        return f"factor graph, {len(self._core.cardinality)} variables, {self._core.num_factors} factors"

    def write(self, path: PathLike) -> None:
        """Writes a .uai file."""
        _core.write_graph_uai(os.fspath(path), self._core)


class DenseCrf(_PairModel):
    """E(x) = constant + sum_a unary[a, x_a] + sum over pairs of all variables w_ab d(x_a, x_b).

    ``unary`` has shape (height, width, labels), (depth, height, width, labels) or (variables, labels), in costs, that
    is -log of probabilities; ``label_axis=0`` for arrays with labels first. ``kernels`` come from :func:`position`,
    :func:`bilateral` and :func:`features`. Every pair counts twice, as (a, b) and (b, a), unless ``pairs="once"``.

    >>> import numpy as np
    >>> from submarine import bilateral, position
    >>> picture = np.zeros((4, 6, 3), np.uint8)
    >>> model = DenseCrf(np.zeros((4, 6, 2)), [position(3, 3), bilateral(80, 13, 10, picture)])
    >>> model.shape, model.num_labels
    ((4, 6), 2)
    """

    def __init__(
        self,
        unary: Any,
        kernels: Sequence[KernelSpec] = (),
        metric: Metric = "potts",
        *,
        pairs: str = "ordered",
        label_axis: int = -1,
        constant: float = 0.0,
    ) -> None:
        costs = labels_last(as_array(unary, "unary"), label_axis, "unary")
        if costs.ndim < 2:
            raise InvalidInput(f"unary has shape {costs.shape}, expected (height, width, labels)")
        if pairs not in ("ordered", "once"):
            raise InvalidInput(f'pairs is "{pairs}", expected "ordered" or "once"')
        self._shape = costs.shape[:-1]
        self._extent: Extent = self._shape if len(self._shape) in (2, 3) else ()
        self._kernels: Optional[Tuple[KernelSpec, ...]] = tuple(kernels)
        self._metric: Optional[str] = metric if isinstance(metric, str) else None
        self._ordered = pairs == "ordered"
        variables = int(np.prod(self._shape))
        for kernel in self._kernels:
            if not isinstance(kernel, KernelSpec):
                raise InvalidInput(f"kernels holds {kernel!r}, expected what position, bilateral or features return")
        try:
            self._core = _core.DenseModel(
                costs,
                [kernel.build(self._extent, variables) for kernel in self._kernels],
                ["symmetric" if kernel.normalised else "none" for kernel in self._kernels],
                _labels_of(metric, int(costs.shape[-1])),
                self._ordered,
                float(constant),
            )
        except InvalidInput:
            require_finite(costs, "unary")  # names its place in the array
            raise

    @property
    def kernels(self) -> List[_core.Kernel]:
        """The kernels with their features as the library holds them."""
        return list(self._core.kernels())

    def energy(self, labels: Any, tolerance: float = 1e-6) -> float:
        """E(labels) for the exact Gaussians, or slightly more: far pairs are bounded in groups."""
        return float(self._core.energy(self._labeling(labels), float(tolerance)))

    def lower_bound(self, marginals: Any, temperature: float = 1.0, tolerance: float = 1e-4) -> float:
        """The certified lower bound T H(y) - <E>_y <= T log Z_T that any product distribution gives.

        ``tolerance`` is the share of it that bounding far pairs in groups may cost.
        """
        return float(self._core.lower_bound(self._marginals(marginals), float(temperature), float(tolerance))[0])

    def write(self, path: PathLike) -> None:
        """Writes a bundle, ``name.json`` beside its arrays (docs/formats.md)."""
        metric = self._metric
        if metric is None:
            name = str(self._core.labels.names[0])
            if name == "fitted":
                raise NotExpressible("a bundle names its metric, and this one is a table")
            metric = name
        image = np.zeros((0,), np.float32)
        channels = 0
        specs = []
        for number, kernel in enumerate(self._kernels or ()):
            if kernel.kind == "bilateral":
                values = kernel.image(self._extent)
                if channels and not np.array_equal(values, image):
                    raise NotExpressible(f"a bundle has one image, and kernel {number} has another than those before")
                image, channels = values, int(values.shape[-1])
            specs.append(
                {
                    "type": kernel.kind,
                    "sigma": list(kernel.sigma),
                    "colour_sigma": list(kernel.colour_sigma),
                    "weight": kernel.weight,
                    "normalised": kernel.normalised,
                    "features": kernel.values if kernel.kind == "features" else None,
                }
            )
        if self._kernels is None:
            specs = [
                {
                    "type": "features",
                    "sigma": [1.0],
                    "colour_sigma": [],
                    "weight": kernel.weight,
                    "normalised": kernel.normalised,
                    "features": kernel.features_array,
                }
                for kernel in self.kernels
            ]
        size = [int(n) for n in reversed(self._extent)]
        _core.write_dense(os.fspath(path), self._core, size, metric, self._ordered, channels, image, specs)


AnyModel = Union[GraphCrf, DenseCrf, FactorGraph]


def grid_edges(height: int, width: int, connectivity: int = 4) -> Array:
    """The edges of a grid in the order of their weights, shape (edges, 2); variable a = y * width + x.

    >>> grid_edges(2, 2).tolist()
    [[0, 1], [0, 2], [1, 3], [2, 3]]
    """
    return _core.grid_edges(int(width), int(height), int(connectivity))


def read(path: PathLike, evidence: Optional[PathLike] = None) -> AnyModel:
    """Reads a bundle (.json) as GridCrf, GraphCrf or DenseCrf, and a .uai or .fg file as FactorGraph."""
    text = os.fspath(path)
    if not text.endswith(".json"):
        graph = FactorGraph.__new__(FactorGraph)
        graph._core = _core.read_graph(text, "" if evidence is None else os.fspath(evidence))
        graph._shape = (len(graph._core.cardinality),)
        return graph
    if evidence is not None:
        raise FileError(f'"{text}" is a bundle, and evidence goes with .uai and .fg files')
    kind, core, width, height, depth, notes = _core.read_bundle(text)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    if kind == "dense":
        dense = DenseCrf.__new__(DenseCrf)
        dense._extent = (depth, height, width) if depth else (height, width) if width else ()
        dense._shape = dense._extent or (core.num_variables,)
        dense._kernels = None
        dense._metric = None
        dense._ordered = core.ordered
        dense._core = core
        return dense
    model = GridCrf.__new__(GridCrf) if kind == "grid" else GraphCrf.__new__(GraphCrf)
    model._core = core
    model._metric = None
    model._shape = (height, width) if kind == "grid" else (core.num_variables,)
    if isinstance(model, GridCrf):
        four = 2 * width * height - width - height
        model._connectivity = 4 if len(core.edges) == four else 8
    return model
