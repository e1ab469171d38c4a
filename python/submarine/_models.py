"""Models: what there is to label, and what labelings cost. But for add_cliques they never change; they compare by identity, and pickle."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union, get_args

import numpy as np

from . import _core
from ._arrays import Array, Number, as_array, as_integers, as_number, as_whole, given, labels_last, require_finite
from ._errors import FileError, InvalidInput, NotExpressible
from ._kernels import Extent, KernelSpec
from ._keywords import Count, check_choice, checked_keywords, suggestion

PathLike = Union[str, "os.PathLike[str]"]
Metric = Union[str, Array, Sequence[Sequence[Number]], Tuple[str, Array]]


def _labels_of(metric: Metric, num_labels: int) -> _core.Labels:
    """The label space of one metric."""
    if isinstance(metric, str):
        try:
            labels = _core.Labels.from_spec(metric, num_labels)
        except InvalidInput as error:
            near = suggestion(metric.partition(":")[0], ("potts", "linear", "truncated", "tree"))
            raise InvalidInput(f"{error}{near if 'is not a label metric' in str(error) else ''}") from error
    elif isinstance(metric, tuple) and metric and isinstance(metric[0], str):
        if len(metric) != 2 or metric[0] not in ("repair", "compatibility"):
            raise InvalidInput(f"the metric begins with {metric[0]!r:.60}, expected ('repair', table) or ('compatibility', table)")
        labels = _core.Labels.from_tables([table_of(metric[1], num_labels)], json.dumps({"no_metric": metric[0]}))
    else:
        try:
            labels = _core.Labels.from_tables([table_of(metric, num_labels)])
        except InvalidInput as error:
            ways = "('repair', table) takes the largest metric below it, ('compatibility', table) the table itself"
            raise InvalidInput(f"{error}; {ways}" if "is no metric" in str(error) else str(error)) from error
    for warning in labels.warnings:
        warnings.warn(warning, stacklevel=5)
    return labels


def table_of(metric: Any, num_labels: int) -> Array:
    table = as_array(metric, "the metric")
    if table.shape != (num_labels, num_labels):
        raise InvalidInput(f"the metric has shape {table.shape}, expected ({num_labels}, {num_labels})")
    return table


class _Read(NamedTuple):
    """A model of a file, which constructors take as it is."""

    core: Any
    shape: Extent


class Model:
    """What all models have in common."""

    def __init__(self, core: Any, shape: Extent) -> None:
        self._core = core
        self._shape = shape  # of a labeling

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

    @checked_keywords
    def energy(self, labels: Any, tolerance: float = 1e-6) -> float:
        """The energy E of a labeling; of dense models for the exact Gaussians, or slightly more.

        Parameters
        ----------
        labels : array of int
            Of the shape of the model, or flat.
        tolerance : float
            Dense models: the share of it that bounding far pairs in groups may add.

        Returns
        -------
        float
            E(labels), of dense models rounded up.

        Raises
        ------
        InvalidInput
            For another shape, and labels that do not exist.
        """
        return float(self._core.energy(self._labeling(labels), float(tolerance)))


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
    def label_names(self) -> List[str]:
        """The names of the labels, where the metric is a file that has them; otherwise empty."""
        return list(self._core.labels.label_names)

    @property
    def groups(self) -> Dict[str, List[int]]:
        """The labels of every group of the label hierarchy, where the metric is one that has names."""
        return dict(self._core.labels.groups)

    @property
    def distances(self) -> List[Array]:
        """d(i, j) of every metric, each of shape (labels, labels)."""
        return list(self._core.labels.distances)

    @property
    def num_cliques(self) -> int:
        """How many cliques were added."""
        return int(self._core.held.facts.get("num_cliques", 0))

    @checked_keywords
    def add_cliques(self, members: Any, gamma: Any, truncation: Any, weights: Any = None) -> None:
        """Adds robust P^n Potts terms, which ask the variables of a clique to agree.

        A clique costs min(gamma, gamma / truncation * w), w the weight of its variables that have another label than most
        of them: nothing where all agree, gamma once ``truncation`` of them do not.

        Parameters
        ----------
        members : sequence of arrays of int
            The variables of every clique (pixel (x, y) is y * width + x), or an array of shape (cliques, variables).
            Cliques may overlap.
        gamma : float or array
            What a clique costs at most, >= 0; one number, or one per clique.
        truncation : float or array
            Above 0 and at most half the sum of the clique's weights; one number, or one per clique. At most the least
            weight: P^n Potts.
        weights : sequence of arrays, optional
            The weight of every variable, > 0, as ``members``; 1 unless given.

        Raises
        ------
        InvalidInput
            For a clique without variables, one that names a variable twice or outside the model, and numbers out of
            range; the model stays as it was.

        Examples
        --------
        >>> import numpy as np
        >>> model = GraphCrf(np.zeros((3, 2)), np.zeros((0, 2), int))
        >>> model.add_cliques([[0, 1, 2]], gamma=3.0, truncation=1.0)
        >>> model.energy([0, 0, 0]), model.energy([0, 0, 1])
        (0.0, 3.0)
        """
        arrays = [as_array(clique, "a clique").reshape(-1) for clique in members]
        cliques = [as_integers(array, "a clique") if array.size else np.zeros(0, np.int64) for array in arrays]
        sizes = np.array([len(clique) for clique in cliques], np.int32)
        flat = np.concatenate([np.zeros(0, np.int64), *cliques])
        heavy = None
        if weights is not None:
            parts = [as_array(part, "weights").astype(np.float64).reshape(-1) for part in weights]
            if [len(part) for part in parts] != sizes.tolist():
                raise InvalidInput("weights has other lengths than members, expected a number for each")
            heavy = np.concatenate([np.zeros(0), *parts])

        def each(value: Any, name: str) -> Array:
            values = as_array(value, name).astype(np.float64)
            if values.shape not in ((), sizes.shape):
                raise InvalidInput(f"{name} has shape {values.shape}, expected a number or one for each of {len(sizes)} cliques")
            return np.broadcast_to(values, sizes.shape).copy()

        self._core = self._core.with_cliques(flat, sizes, each(gamma, "gamma"), each(truncation, "truncation"), heavy)

    @checked_keywords
    def lower_bound(self, marginals: Any, temperature: float = 1.0, tolerance: float = 1e-4) -> float:
        """The certified lower bound T H(y) - <E>_y <= T log Z_T that any product distribution gives.

        Parameters
        ----------
        marginals : array
            y, of the shape of the unaries.
        temperature : float
            T of exp(-E/T).
        tolerance : float
            Dense models: the share of it that bounding far pairs in groups may cost.

        Returns
        -------
        float
            The bound, rounded down.

        Raises
        ------
        InvalidInput
            For another shape, and rows that are no distributions.
        """
        return float(self._core._lower_bound(self._marginals(marginals), float(temperature), float(tolerance))[0])

    def _marginals(self, marginals: Any) -> Array:
        array = as_array(marginals, "the marginals")
        count = int(np.prod(self._shape))
        if array.shape != self._shape + (self.num_labels,) and array.shape != (count, self.num_labels):
            raise InvalidInput(f"the marginals have shape {array.shape}, expected {self._shape + (self.num_labels,)}")
        return array.reshape(count, self.num_labels)


class GraphCrf(_PairModel):
    """E(x) = constant + sum_a unary[a, x_a] + sum over edges w_ab d(x_a, x_b), edges counted once.

    Parameters
    ----------
    unary : array
        Costs of shape (variables, labels).
    edges : array of int
        The ends of every edge, of shape (edges, 2).
    weights : float or array
        One number >= 0, or one per edge.
    metric : str, array, or sequence of them
        The distance d of labels: "potts", "linear", "truncated:3", "tree:5x4:1,0.5" (docs/formats.md), a table of shape
        (labels, labels), or a list of several; then ``edge_metric`` says which.
    edge_metric : array of int, optional
        The number of the metric of every edge.
    label_axis : int
        The axis of ``unary`` that is the labels'.
    constant : float
        What is added to every energy.

    Raises
    ------
    InvalidInput
        For shapes that disagree, numbers that are not finite, negative weights, and tables that are no metrics.
    NotExpressible
        For a metric that no sum of cuts expresses.

    Examples
    --------
    >>> import numpy as np
    >>> model = GraphCrf(np.zeros((3, 2)), [[0, 1], [1, 2]], weights=0.5)
    >>> model.energy([0, 1, 1])
    0.5
    """

    @checked_keywords
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
        if isinstance(unary, _Read):
            super().__init__(*unary)
            return
        costs = labels_last(as_array(unary, "unary"), label_axis, "unary")
        if costs.ndim != 2:
            raise InvalidInput(f"unary has shape {costs.shape}, expected (variables, labels)")
        ends = as_array(edges, "edges")
        ends = as_integers(ends, "edges") if ends.size else np.zeros((0, 2), np.int32)
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise InvalidInput(f"edges has shape {ends.shape}, expected (edges, 2)")
        core = _sparse_model(costs, ends, weights, metric, edge_metric, constant)
        super().__init__(core, costs.shape[:-1])

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

    def write(self, path: PathLike) -> None:
        """Writes a bundle, ``name.json`` beside its arrays, or, as ``name.uai``, tables (docs/formats.md).

        The bundle holds the metric, too: a matrix as ``name.metric.npy``, a file of one as ``name.metric`` with its ending.

        Parameters
        ----------
        path : str or path
            Of the .json or .uai file.

        Raises
        ------
        FileError
            Where it cannot be written.
        NotExpressible
            For a bundle of several metrics.
        """
        text = os.fspath(path)
        if text.endswith(".uai"):
            self._core.write(text, {})
        else:
            self._write_bundle(text)

    def _write_bundle(self, path: str) -> None:
        self._core.write(path, {"metric": self._spec()})

    def _spec(self) -> str:
        names = self._core.labels.names
        if len(names) != 1:
            raise NotExpressible(f"a bundle has one metric, and this model has {len(names)}; write a .uai file instead")
        return str(names[0])


def _sparse_model(
    costs: Array, ends: Array, weights: Any, metric: Any, edge_metric: Any, constant: float
) -> _core.SparseModel:
    require_finite(costs, "unary")
    weight = as_array(weights, "weights")
    if weight.ndim == 0:
        weight = np.full(len(ends), float(weight))
    if weight.shape != (len(ends),):
        raise InvalidInput(f"weights has shape {weight.shape}, expected one number or ({len(ends)},)")
    num_labels = int(costs.shape[-1])
    if edge_metric is None:
        labels = _labels_of(metric, num_labels)
        which = np.zeros(0, np.int32)
    else:
        tables = [_labels_of(m, num_labels).distances[0] for m in metric]
        labels = _core.Labels.from_tables(tables)
        which = as_integers(edge_metric, "edge_metric")
    return _core.SparseModel(costs, ends, weight, which, labels, as_number(constant, "constant"))


class GridCrf(GraphCrf):
    """A :class:`GraphCrf` on a picture's grid, whose edges are those of :func:`grid_edges`.

    Parameters
    ----------
    unary : array
        Costs of shape (height, width, labels).
    weights : float or array
        One number >= 0, or one per edge in the order of :func:`grid_edges`.
    metric : str, array, or sequence of them
        As for :class:`GraphCrf`.
    connectivity : int
        4 or 8 neighbours.
    edge_metric : array of int, optional
        The number of the metric of every edge, where there are several.
    label_axis : int
        The axis of ``unary`` that is the labels'.
    constant : float
        What is added to every energy.

    Raises
    ------
    InvalidInput
        For shapes that disagree, numbers that are not finite, negative weights, and tables that are no metrics.
    NotExpressible
        For a metric that no sum of cuts expresses.

    Examples
    --------
    >>> import numpy as np
    >>> GridCrf(np.zeros((4, 6, 3)), weights=2.0, metric="linear")
    <submarine.GridCrf: sparse CRF with 24 variables, 38 edges, 3 labels, metric linear>
    """

    @checked_keywords
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
        if isinstance(unary, _Read):
            Model.__init__(self, *unary)
            return
        costs = labels_last(as_array(unary, "unary"), label_axis, "unary")
        if costs.ndim != 3:
            raise InvalidInput(f"unary has shape {costs.shape}, expected (height, width, labels)")
        ends = grid_edges(costs.shape[0], costs.shape[1], connectivity)
        core = _sparse_model(costs, ends, weights, metric, edge_metric, constant)
        Model.__init__(self, core, costs.shape[:-1])

    def _write_bundle(self, path: str) -> None:
        height, width = self._shape
        connectivity = 4 if len(self.edges) == 2 * width * height - width - height else 8
        self._core.write(path, dict(width=width, height=height, connectivity=connectivity, metric=self._spec()))


def _whole_numbers(values: Any, name: str) -> List[int]:
    if not isinstance(values, Iterable):
        raise InvalidInput(f"{name} is {given(values)}, expected a list of whole numbers")
    return [as_whole(value, f"an entry of {name}") for value in values]


class FactorGraph(Model):
    """E(x) = sum of tables, as UAI files have them.

    Any number of variables per factor for the method ``exact``, pairs for ``trw``; the other methods need tables that
    are metrics, which are recognised.

    Parameters
    ----------
    cardinality : sequence of int
        The number of labels of every variable.
    factors : iterable of (scope, energies)
        A table has one axis per variable of its scope; infinite where forbidden.

    Raises
    ------
    InvalidInput
        For variables that do not exist, tables of the wrong size, and NaN.

    Examples
    --------
    >>> import numpy as np
    >>> FactorGraph([2, 3], [((0,), [0, 1]), ((0, 1), np.zeros((2, 3)))]).energy([1, 2])
    1.0
    """

    @checked_keywords
    def __init__(self, cardinality: Sequence[int], factors: Iterable[Tuple[Sequence[int], Any]]) -> None:
        if isinstance(cardinality, _Read):
            super().__init__(*cardinality)
            return
        scopes: List[List[int]] = []
        tables: List[Array] = []
        for number, factor in enumerate(factors):
            if not isinstance(factor, (tuple, list)) or len(factor) != 2:
                raise InvalidInput(f"factor {number} is {given(factor)}, expected (scope, energies)")
            scopes.append(_whole_numbers(factor[0], f"the scope of factor {number}"))
            tables.append(as_array(factor[1], f"the table of factor {number}").reshape(-1))
        core = _core.FactorModel(_whole_numbers(cardinality, "cardinality"), scopes, tables)
        super().__init__(core, (len(core.cardinality),))

    @property
    def cardinality(self) -> List[int]:
        """The number of labels of every variable."""
        return list(self._core.cardinality)

    @property
    def factors(self) -> List[Tuple[List[int], Array]]:
        """(scope, energies) of every factor."""
        return [self._core.factor(f) for f in range(self._core.num_factors)]

    def write(self, path: PathLike) -> None:
        """Writes a .uai file.

        Parameters
        ----------
        path : str or path
            Of the file.

        Raises
        ------
        FileError
            Where it cannot be written.
        """
        self._core.write(os.fspath(path), {})


class DenseCrf(_PairModel):
    """E(x) = constant + sum_a unary[a, x_a] + sum over pairs of all variables w_ab d(x_a, x_b).

    Parameters
    ----------
    unary : array
        Costs, that is -log of probabilities (:func:`costs_of`), of shape (height, width, labels),
        (depth, height, width, labels) or (variables, labels).
    kernels : sequence of KernelSpec
        What :func:`position`, :func:`bilateral` and :func:`features` return; w_ab is the sum of their values.
    metric : str or array
        The distance d of labels: "potts", "linear", "truncated:3", "tree:5x4:1,0.5" (docs/formats.md), or a table of
        shape (labels, labels).
    count : {"once", "ordered"}
        "once": a pair adds w_ab once, as in :func:`refine` and pydensecrf; "ordered": twice, as (a, b) and as (b, a), as
        in the paper and by default in bundles.
    label_axis : int
        The axis of ``unary`` that is the labels'; 0 for arrays with labels first.
    constant : float
        What is added to every energy.

    Raises
    ------
    InvalidInput
        For shapes that disagree, numbers that are not finite, sigmas that are not positive, negative weights, and tables
        that are no metrics.
    NotExpressible
        For a metric that no sum of cuts expresses.

    Examples
    --------
    >>> import numpy as np
    >>> from submarine import bilateral, position
    >>> picture = np.zeros((4, 6, 3), np.uint8)
    >>> model = DenseCrf(np.zeros((4, 6, 2)), [position(3, 3), bilateral(80, 13, 10, picture)])
    >>> model.shape, model.num_labels
    ((4, 6), 2)
    """

    @checked_keywords
    def __init__(
        self,
        unary: Any,
        kernels: Sequence[KernelSpec] = (),
        metric: Metric = "potts",
        *,
        count: Count = "once",
        label_axis: int = -1,
        constant: float = 0.0,
    ) -> None:
        self._kernels: Optional[Tuple[KernelSpec, ...]] = None  # unknown where a file was read
        if isinstance(unary, _Read):
            super().__init__(*unary)
            return
        costs = labels_last(as_array(unary, "unary"), label_axis, "unary")
        if costs.ndim < 2:
            raise InvalidInput(f"unary has shape {costs.shape}, expected (height, width, labels)")
        check_choice(count, get_args(Count), "count")
        if isinstance(kernels, KernelSpec) or not isinstance(kernels, Iterable):
            raise InvalidInput(f"kernels is {given(kernels)}, expected a list of kernels")
        self._kernels = tuple(kernels)
        for kernel in self._kernels:
            if not isinstance(kernel, KernelSpec):
                raise InvalidInput(
                    f"kernels holds {given(kernel)}, expected what position, bilateral or features return"
                )
        shape = costs.shape[:-1]
        extent, variables = _extent(shape), int(np.prod(shape))
        try:
            core = _core.DenseModel(
                costs,
                [int(n) for n in reversed(extent)],
                [kernel.build(extent, variables) for kernel in self._kernels],
                _labels_of(metric, int(costs.shape[-1])),
                count == "ordered",
                as_number(constant, "constant"),
            )
        except InvalidInput:
            require_finite(costs, "unary")  # names its place in the array
            raise
        super().__init__(core, shape)

    @property
    def kernels(self) -> List[_core.Kernel]:
        """The kernels with their features as the library holds them."""
        return list(self._core.kernels())

    def write(self, path: PathLike) -> None:
        """Writes a bundle, ``name.json`` beside its arrays (docs/formats.md).

        Parameters
        ----------
        path : str or path
            Of the .json file.

        Raises
        ------
        FileError
            Where it cannot be written.
        NotExpressible
            For kernels of different images.
        """
        extent = _extent(self._shape)
        image: Optional[Array] = None
        arrays: List[Array] = []
        specs: List[Dict[str, Any]] = []
        for number, kernel in enumerate(self._kernels or ()):
            if kernel.kind == "bilateral":
                values = kernel.image(extent)
                if image is not None and not np.array_equal(values, image):
                    raise NotExpressible(f"a bundle has one image, and kernel {number} has another than those before")
                image = values
            specs.append(
                dict(
                    type=kernel.kind, sigma=list(kernel.sigma), colour_sigma=list(kernel.colour_sigma),
                    weight=kernel.weight, normalised=kernel.normalised,
                )
            )
            if kernel.kind == "features" and kernel.values is not None:
                specs[-1]["values"] = len(arrays)
                arrays.append(kernel.values)
        if self._kernels is None:
            for number, stored in enumerate(self.kernels):
                normalised = stored.normalised
                specs.append(dict(type="features", sigma=[1.0], weight=stored.weight, normalised=normalised, values=number))
                arrays.append(stored.features_array)
        options: Dict[str, Any] = dict(size=[int(n) for n in reversed(extent)], metric=str(self._core.labels.names[0]), kernels=specs)
        if image is not None:
            options.update(image=len(arrays), channels=int(image.shape[-1]))
            arrays.append(image)
        self._core.write(os.fspath(path), options, arrays)


def _extent(shape: Extent) -> Extent:
    """The shape of a picture or a volume; that of other variables has no meaning for kernels."""
    return shape if len(shape) in (2, 3) else ()


AnyModel = Union[GraphCrf, DenseCrf, FactorGraph]


@checked_keywords
def grid_edges(height: int, width: int, connectivity: int = 4) -> Array:
    """The edges of a grid in the order of their weights.

    Parameters
    ----------
    height, width : int
        The size of the grid.
    connectivity : int
        4 or 8 neighbours.

    Returns
    -------
    array of int
        The two ends of every edge, of shape (edges, 2), where pixel (x, y) is the variable y * width + x.

    Raises
    ------
    InvalidInput
        For an empty grid and other neighbourhoods.

    Examples
    --------
    >>> grid_edges(2, 2).tolist()
    [[0, 1], [0, 2], [1, 3], [2, 3]]
    """
    size = as_whole(width, "width"), as_whole(height, "height")
    return _core.grid_edges(*size, as_whole(connectivity, "connectivity"))


@checked_keywords
def read(path: PathLike, evidence: Optional[PathLike] = None) -> AnyModel:
    """Reads a model.

    Parameters
    ----------
    path : str or path
        A bundle (.json), a UAI file (.uai) or one of libDAI (.fg).
    evidence : str or path, optional
        A UAI evidence file that goes with it, not for bundles.

    Returns
    -------
    GridCrf, GraphCrf, DenseCrf or FactorGraph
        What the bundle says it is; a FactorGraph of the other files.

    Raises
    ------
    FileError
        For a file that cannot be read or is malformed.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> GridCrf(np.zeros((4, 6, 3)), weights=2.0).write(path)
    >>> read(path)
    <submarine.GridCrf: sparse CRF with 24 variables, 38 edges, 3 labels, metric potts>
    """
    text = os.fspath(path)
    if not text.endswith(".json"):
        graph, _ = _core.read_model(text, "" if evidence is None else os.fspath(evidence))
        read_graph: Any = _Read(graph, (graph.num_variables,))
        return FactorGraph(read_graph, ())
    if evidence is not None:
        raise FileError(f'"{text}" is a bundle, and evidence goes with .uai and .fg files')
    core, facts = _core.read_model(text)
    for note in facts["warnings"]:
        warnings.warn(note, stacklevel=3)
    width, height, depth = (int(facts[name]) for name in ("width", "height", "depth"))
    if facts["kind"] == "dense":
        extent = (depth, height, width) if depth else (height, width) if width else (core.num_variables,)
        return DenseCrf(_Read(core, extent))
    if width:
        return GridCrf(_Read(core, (height, width)))
    return GraphCrf(_Read(core, (core.num_variables,)), ())
