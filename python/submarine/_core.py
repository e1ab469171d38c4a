"""The library's C interface (submarine/c_api.h) by ctypes, which leaves the interpreter to other threads during a call.

Arrays go to the library as they lie in memory, and those of the library are seen without a copy, by arrays that keep them
alive. Types of arguments are checked by the files beside this one, their meaning by the library.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import glob
import json
import math
import os
import signal
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _errors
from ._arrays import Array

_API_VERSION = 1  # SM_API_VERSION
_MAX_AXES = 8
_DTYPES = {
    np.dtype(kind): number for number, kind in enumerate(
        (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64), 1
    )
}
_DTYPE_OF = {number: dtype for dtype, number in _DTYPES.items()}


class _Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * _MAX_AXES), ("strides", ctypes.c_int64 * _MAX_AXES),
    ]


class _Record(ctypes.Structure):
    _fields_ = [
        ("k", ctypes.c_int64), ("seconds", ctypes.c_double), ("upper", ctypes.c_double), ("dual", ctypes.c_double),
        ("lower", ctypes.c_double), ("done", ctypes.c_double),
    ]


_WATCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Record), ctypes.c_void_p)

_NO_WATCH = _WATCH(0)


def _load() -> ctypes.CDLL:
    """The library of this package, or else the system's."""
    here = glob.glob(os.path.join(os.path.dirname(__file__), "_lib", "*submarine_c*"))
    path = here[0] if here else ctypes.util.find_library("submarine_c") or "libsubmarine_c.so.1"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"submarine cannot load its library, {path}: {error}") from error
    if library.sm_api_version() != _API_VERSION:
        raise ImportError(f"{path} has version {library.sm_api_version()} of the C interface, expected {_API_VERSION}")
    return library


_lib = _load()
_object, _text, _arrays = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Array)
_int, _size, _double = ctypes.c_int, ctypes.c_size_t, ctypes.c_double
for _name, _types in {
    "sm_about": (ctypes.POINTER(_text),),
    "sm_describe": (_object, ctypes.POINTER(_text)),
    "sm_view": (_object, _text, _size, _arrays),
    "sm_labels_from_spec": (_text, _int, _text),
    "sm_labels_from_tables": (_arrays, _size, _text),
    "sm_labels_of": (_object,),
    "sm_sparse_model": (_arrays, _arrays, _arrays, _arrays, _object, _double),
    "sm_factor_graph": (_arrays,) * 5,
    "sm_dense_model": (_arrays, _text, _arrays, _size, _object),
    "sm_add_cliques": (_object,) + (_arrays,) * 5,
    "sm_read_model": (_text, _text),
    "sm_write_model": (_object, _text, _text, _arrays, _size),
    "sm_energy": (_object, _arrays, _double, ctypes.POINTER(_double)),
    "sm_lower_bound": (_object, _arrays, _double, _double, ctypes.POINTER(_double), ctypes.POINTER(_double)),
    "sm_lower_share": (_object, _arrays, _arrays, _double, _double, _int, ctypes.POINTER(_double), ctypes.POINTER(_double)),
    "sm_cut_pairs": (_object, _arrays, _arrays, _arrays, _int),
    "sm_solve": (_object, _text, _WATCH, ctypes.c_void_p),
    "sm_prove": (_object, _text, _arrays),
    "sm_call": (_text, _text, _arrays, _size, _WATCH, ctypes.c_void_p),
    "sm_filter": (_arrays, _size),
    "sm_filter_apply": (_object, _arrays),
    "sm_updates": (_size, _size, _size),
    "sm_updates_set_threads": (_object, _int),
    "sm_updates_set_unary": (_object, _arrays),
    "sm_updates_add_term": (_object, _arrays, _int, _arrays),
    "sm_updates_add_picture": (_object, _arrays, _arrays, _int, _arrays),
    "sm_updates_start": (_object,),
    "sm_updates_infer": (_object, _int, _int),
    "sm_updates_step": (_object, _arrays),
    "sm_updates_divergence": (_object, _arrays, ctypes.POINTER(_double)),
}.items():
    getattr(_lib, _name).restype = _int
    # A function that makes an object takes the place for it last.
    _makes = _name not in (
        "sm_about", "sm_describe", "sm_view", "sm_write_model", "sm_energy", "sm_lower_bound", "sm_lower_share",
        "sm_updates_set_threads",
        "sm_updates_set_unary", "sm_updates_add_term", "sm_updates_add_picture", "sm_updates_divergence",
    )
    getattr(_lib, _name).argtypes = [*_types, *((ctypes.POINTER(_object),) if _makes else ())]
for _name in ("sm_version", "sm_error_message", "sm_error_details"):
    getattr(_lib, _name).restype = _text
_lib.sm_free.argtypes = [_object]
_lib.sm_free.restype = None

__version__: str = _lib.sm_version().decode()


# ---- Errors

def _too_large(message: str) -> _errors.TooLarge:
    """With what would do, in options of the package."""
    found = json.loads(_lib.sm_error_details().decode())
    ways = []
    if "given_variables" in found:
        ways.append(f"{found['variables']:.0f} variables instead of {found['given_variables']:.0f}")
    if found.get("fewer_labels"):
        ways.append("fewer labels")
    if found.get("methods"):
        ways.append('method="' + '" or "'.join(found["methods"]) + '"')
    if "more_seconds" in found:
        ways.append(f"a time_limit {found['more_seconds']:.0f} s longer")
    if "bytes" in found:
        ways.append(f"max_memory={found['bytes'] / 1e9:.3g}")
    if not ways:
        return _errors.TooLarge(found.get("refusal", message))
    listed = " or ".join(part for part in (", ".join(ways[:-1]), ways[-1]) if part)
    return _errors.TooLarge(f"{found['refusal']}; {listed} would do")


_ERRORS: Dict[int, Callable[[str], Exception]] = {
    1: _errors.InvalidInput, 2: _errors.NotExpressible, 3: _errors.FileError, 4: _too_large, 5: _errors.Interrupted,
    6: _errors.TimeLimit, 7: MemoryError,
}


def _check(status: int) -> None:
    if status != 0:
        raise _ERRORS.get(status, _errors.Error)(_lib.sm_error_message().decode(errors="replace"))


# ---- Arrays and texts for the library

def _given(values: Array) -> _Array:
    """The array as it lies in memory; it keeps what it shows alive."""
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    elif values.dtype not in _DTYPES:  # half and quadruple precision, other byte orders
        values = values.astype(np.float32 if values.dtype.itemsize < 4 else values.dtype.newbyteorder("="))
        values = values if values.dtype in _DTYPES else values.astype(np.float64)
    if values.ndim > _MAX_AXES:
        values = values.reshape(-1, values.shape[-1])
    if not any(values.strides):  # which means "without gaps"
        values = np.ascontiguousarray(values)
    array = _Array(values.ctypes.data, _DTYPES[values.dtype], values.ndim)
    array.shape[: values.ndim] = values.shape
    array.strides[: values.ndim] = values.strides
    array.kept = values
    return array


def _given_all(values: Sequence[Array]) -> Any:
    kept = [_given(array) for array in values]
    arrays: Any = (_Array * len(kept))(*kept)
    arrays.kept = kept
    return arrays


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(float(value))  # "inf", "-inf", "nan"
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _json(options: Dict[str, Any]) -> bytes:
    return json.dumps(_plain(options)).encode()


def _path(path: str) -> bytes:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


# ---- Objects of the library

class _Memory:
    """Memory of an object of the library, which lives as long as arrays that show it."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, view: _Array, owner: "_Object", writable: bool) -> None:
        dtype, shape = _DTYPE_OF[view.dtype], tuple(view.shape[: view.ndim])
        strides = tuple(view.strides[: view.ndim])
        self._owner = owner
        self.__array_interface__ = {
            "version": 3, "typestr": dtype.str, "shape": shape, "data": (view.data, not writable),
            "strides": strides if any(strides) else None,
        }


class _Object:
    """One object of the library, freed with its last reference."""

    def __init__(self, pointer: Optional[int]) -> None:
        self._pointer = pointer

    def __del__(self, free: Any = _lib.sm_free) -> None:
        free(self._pointer)

    def describe(self) -> Dict[str, Any]:
        """What the object is now."""
        text = _text()
        _check(_lib.sm_describe(self._pointer, ctypes.byref(text)))
        found: Dict[str, Any] = json.loads((text.value or b"").decode())
        return found

    @functools.cached_property
    def facts(self) -> Dict[str, Any]:
        """The same of an object that never changes."""
        return self.describe()

    def view(self, name: str, index: int = 0, writable: bool = False) -> Array:
        """One of its arrays, without a copy."""
        view = _Array()
        _check(_lib.sm_view(self._pointer, name.encode(), index, ctypes.byref(view)))
        if 0 in view.shape[: view.ndim]:
            return np.zeros(view.shape[: view.ndim], _DTYPE_OF[view.dtype])
        return np.asarray(_Memory(view, self, writable))


def _made(function: Any, *arguments: Any) -> _Object:
    pointer = _object()
    _check(function(*arguments, ctypes.byref(pointer)))
    return _Object(pointer.value)


def _values(made: _Object) -> Array:
    return made.view("values", writable=True)


def _call(function: str, options: Dict[str, Any], arrays: Sequence[Array] = ()) -> _Object:
    return _made(_lib.sm_call, function.encode(), _json(options), _given_all(arrays), len(arrays), _NO_WATCH, None)


def _about() -> Dict[str, Any]:
    text = _text()
    _check(_lib.sm_about(ctypes.byref(text)))
    found: Dict[str, Any] = json.loads((text.value or b"").decode())
    return found


# ---- Label spaces and models

class Labels:
    """A label space: metrics as sums of cuts."""

    def __init__(self, held: _Object) -> None:
        self.held = held

    @staticmethod
    def from_spec(spec: str, num_labels: int, directory: str = "") -> "Labels":
        return Labels(_made(_lib.sm_labels_from_spec, spec.encode(), num_labels, _path(directory)))

    @staticmethod
    def from_tables(tables: Sequence[Array], description: Optional[str] = None) -> "Labels":
        known = None if description is None else description.encode()
        return Labels(_made(_lib.sm_labels_from_tables, _given_all(tables), len(tables), known))

    def __reduce__(self) -> Any:
        facts = self.held.facts
        return Labels.from_tables, (self.distances, json.dumps(facts))

    @property
    def warnings(self) -> List[str]:
        return list(self.held.facts["warnings"])

    @property
    def num_labels(self) -> int:
        return int(self.held.facts["num_labels"])

    @property
    def exact(self) -> bool:
        return bool(self.held.facts["exact"])

    @property
    def names(self) -> List[str]:
        return [str(metric["name"]) for metric in self.held.facts["metrics"]]

    @property
    def distances(self) -> List[Array]:
        return [np.array(self.held.view("distance", m)) for m in range(len(self.held.facts["metrics"]))]

    @property
    def label_names(self) -> List[str]:
        return [str(name) for name in self.held.facts["names"]]

    @property
    def groups(self) -> Dict[str, List[int]]:
        return {str(group["name"]): [int(i) for i in group["labels"]] for group in self.held.facts["groups"]}

    @property
    def cuts(self) -> Array:
        """S_c as rows of zeros and ones."""
        composite = self.held.facts["composite"]
        rows = np.zeros((self.num_labels + len(composite), self.num_labels))
        rows[: self.num_labels] = np.eye(self.num_labels)
        for row, members in zip(rows[self.num_labels :], composite):
            row[members] = 1.0
        return rows

    @property
    def lengths(self) -> List[Array]:
        return [np.array(metric["length"], np.float64) for metric in self.held.facts["metrics"]]

    @property
    def distortions(self) -> List[float]:
        return [float(metric["distortion"]) for metric in self.held.facts["metrics"]]


class _Model:
    """What models have in common."""

    def __init__(self, held: _Object) -> None:
        self.held = held

    @property
    def num_variables(self) -> int:
        return int(self.held.facts["num_variables"])

    @property
    def num_labels(self) -> int:
        return int(self.held.facts["num_labels"])

    @property
    def constant(self) -> float:
        return float(self.held.facts["constant"])

    @property
    def unary(self) -> Array:
        return self.held.view("unary")

    @functools.cached_property
    def labels(self) -> Labels:
        return Labels(_made(_lib.sm_labels_of, self.held._pointer))

    def description(self) -> str:
        return str(self.held.facts["description"])

    def energy(self, labels: Array, tolerance: float = 0.0) -> float:
        energy = _double()
        _check(_lib.sm_energy(self.held._pointer, _given(labels), tolerance, ctypes.byref(energy)))
        return energy.value

    def _lower_bound(self, marginals: Array, temperature: float, tolerance: float) -> Tuple[float, float]:
        lower, loss = _double(), _double()
        _check(_lib.sm_lower_bound(
            self.held._pointer, _given(marginals), temperature, tolerance, ctypes.byref(lower), ctypes.byref(loss)
        ))
        return lower.value, loss.value

    def with_cliques(
        self, members: Array, sizes: Array, gamma: Array, truncation: Array, weights: Optional[Array]
    ) -> Any:
        return type(self)(_made(
            _lib.sm_add_cliques, self.held._pointer, _given(members), _given(sizes), _given(gamma), _given(truncation),
            None if weights is None else _given(weights),
        ))

    def cliques(self) -> Tuple[Array, ...]:
        """What with_cliques takes; empty where there are none."""
        if "num_cliques" not in self.held.facts:
            return ()
        names = ("members", "sizes", "gamma", "truncation", "weights")
        return tuple(np.array(self.held.view("clique_" + name)) for name in names)

    def write(self, path: str, options: Dict[str, Any], arrays: Sequence[Array] = ()) -> None:
        _check(_lib.sm_write_model(self.held._pointer, _path(path), _json(options), _given_all(arrays), len(arrays)))


class SparseModel(_Model):
    """A grid or another graph."""

    def __init__(
        self, unary: Any, edges: Any = None, weights: Any = None, metrics: Any = None, labels: Optional[Labels] = None,
        constant: float = 0.0,
    ) -> None:
        if isinstance(unary, _Object):
            super().__init__(unary)
            return
        assert labels is not None
        which = _given(metrics) if len(metrics) else None
        super().__init__(_made(
            _lib.sm_sparse_model, _given(unary), _given(edges), _given(weights), which, labels.held._pointer, constant
        ))

    def __reduce__(self) -> Any:
        state = self.unary, self.edges, self.weights, self.edge_metrics, self.labels, self.constant
        return _with_cliques, (SparseModel, state, self.cliques())

    @property
    def edges(self) -> Array:
        return np.ascontiguousarray(self.held.view("edges"))

    @property
    def weights(self) -> Array:
        return np.ascontiguousarray(self.held.view("weights"))

    @property
    def edge_metrics(self) -> Array:
        return np.ascontiguousarray(self.held.view("metrics"))

    def lower_bound(self, marginals: Array, temperature: float) -> float:
        return self._lower_bound(marginals, temperature, 0.0)[0]


def _with_cliques(kind: Any, state: Tuple[Any, ...], cliques: Tuple[Array, ...]) -> Any:
    model = kind(*state)
    return model.with_cliques(*cliques) if cliques else model


class FactorModel(_Model):
    """Tables of energies."""

    def __init__(
        self, cardinality: Any, scopes: Sequence[Sequence[int]] = (), energies: Sequence[Array] = ()
    ) -> None:
        if isinstance(cardinality, _Object):
            super().__init__(cardinality)
            return
        flat = [variable for scope in scopes for variable in scope]
        tables = np.concatenate([np.zeros(0), *(np.asarray(table, np.float64).reshape(-1) for table in energies)])
        super().__init__(_made(
            _lib.sm_factor_graph,
            *(_given(_whole(numbers)) for numbers in (cardinality, [len(scope) for scope in scopes], flat)),
            _given(_whole([np.size(table) for table in energies])), _given(tables),
        ))

    def __reduce__(self) -> Any:
        factors = [self.factor(f) for f in range(self.num_factors)]
        return FactorModel, (self.cardinality, [scope for scope, _ in factors], [table for _, table in factors])

    @functools.cached_property
    def cardinality(self) -> List[int]:
        return [int(n) for n in self.held.view("cardinality")]

    @property
    def num_factors(self) -> int:
        return int(self.held.facts["num_factors"])

    def factor(self, f: int) -> Tuple[List[int], Array]:
        scope = [int(a) for a in self.held.view("scope", f)]
        table = np.array(self.held.view("table", f))
        return scope, table.reshape([self.cardinality[a] for a in scope])


def _whole(numbers: Sequence[int]) -> Array:
    try:
        return np.array(numbers, np.int64)
    except OverflowError as error:
        raise _errors.InvalidInput("there is a number beyond 64 bits") from error


class Kernel:
    """A kernel as the options of sm_dense_model say it, with the arrays that they name, or as a model holds it."""

    def __init__(self, options: Dict[str, Any], values: Optional[Array] = None, scale: Optional[Array] = None) -> None:
        self.options = options
        self.values = values
        self.scale = scale

    @property
    def name(self) -> str:
        return str(self.options["name"])

    @property
    def weight(self) -> float:
        return float(self.options["weight"])

    @property
    def normalised(self) -> bool:
        return bool(self.options["normalisation"])

    @property
    def features_array(self) -> Array:
        assert self.values is not None
        return self.values


class DenseModel(_Model):
    """All pairs of variables, by Gaussian kernels."""

    def __init__(
        self, unary: Any, size: Sequence[int] = (), kernels: Sequence[Kernel] = (), labels: Optional[Labels] = None,
        ordered: bool = False, constant: float = 0.0,
    ) -> None:
        if isinstance(unary, _Object):
            super().__init__(unary)
            return
        assert labels is not None
        arrays: List[Array] = []
        listed = []
        for kernel in kernels:
            options = dict(kernel.options)
            for name, values in (("values", kernel.values), ("scale", kernel.scale)):
                if values is not None:
                    options[name] = len(arrays)
                    arrays.append(values)
            listed.append(options)
        options = {"size": list(size), "ordered": ordered, "constant": constant, "kernels": listed}
        super().__init__(_made(
            _lib.sm_dense_model, _given(unary), _json(options), _given_all(arrays), len(arrays), labels.held._pointer
        ))

    def __reduce__(self) -> Any:
        state = self.unary, (), self.kernels(), self.labels, self.ordered, self.constant
        return _with_cliques, (DenseModel, state, self.cliques())

    @property
    def ordered(self) -> bool:
        return bool(self.held.facts["ordered"])

    def kernels(self) -> List[Kernel]:
        kernels = []
        for number, facts in enumerate(self.held.facts["kernels"]):
            options = {"type": "stored", **facts}
            scale = self.held.view("scale", number) if options.pop("scaled") else None
            kernels.append(Kernel(options, self.held.view("features", number), scale))
        return kernels

    def lower_bound(self, marginals: Array, temperature: float, tolerance: float) -> Tuple[float, float]:
        return self._lower_bound(marginals, temperature, tolerance)

    def lower_share(
        self, marginals: Array, own: Array, temperature: float, tolerance: float, threads: int
    ) -> Tuple[float, float]:
        lower, loss = _double(), _double()
        _check(_lib.sm_lower_share(
            self.held._pointer, _given(marginals), _given(own), temperature, tolerance, threads,
            ctypes.byref(lower), ctypes.byref(loss),
        ))
        return lower.value, loss.value

    def cut_pairs(self, potentials: Array, own: Array, cutoffs: Array, threads: int) -> Tuple[Array, Array, Array]:
        """The sums, their weights and their errors."""
        rows = _values(_made(
            _lib.sm_cut_pairs, self.held._pointer, _given(potentials), _given(own), _given(cutoffs), threads
        ))
        return rows[:, :-2], rows[:, -2], rows[:, -1]


def read_model(path: str, evidence: str = "") -> Tuple[_Model, Dict[str, Any]]:
    """A model of a file, and what the file says about it."""
    held = _made(_lib.sm_read_model, _path(path), _path(evidence))
    kinds: Dict[str, Any] = {"sparse": SparseModel, "dense": DenseModel, "tables": FactorModel}
    return kinds[held.facts["kind"]](held), held.facts


# ---- Solving

class _Watch:
    """Hears the library while it works: for the callback, and for signals such as Ctrl-C.

    Python runs the handlers of signals between instructions of the main thread, which during a call are those of the
    watch, and what a handler raises there would be lost: so handlers are wrapped as long as a call takes.
    """

    def __init__(self, callback: Optional[Callable[[str, Any], Any]]) -> None:
        self._callback = callback
        self._handlers: Dict[int, Any] = {}
        self.interrupted = False  # by Ctrl-C
        self.error: Optional[BaseException] = None

    def __enter__(self) -> Any:
        """The function for the library, or a null pointer where there is nothing to hear."""
        if threading.current_thread() is threading.main_thread():
            for number in _signals():
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._hear)
        return _WATCH(self._told) if self._handlers or self._callback is not None else _NO_WATCH

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._hear:
                signal.signal(number, handler)

    def _keep(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.interrupted = True
        elif self.error is None:
            self.error = error

    def _hear(self, number: int, frame: Any) -> None:
        try:
            self._handlers[number](number, frame)
        except BaseException as error:
            self._keep(error)

    def _told(self, phase: bytes, record: Any, _: Any) -> int:
        try:
            if self._callback is not None and not self.interrupted and self.error is None:
                at = record.contents
                values = (at.upper, at.dual, at.lower, at.done)
                answer = self._callback(
                    phase.decode(), (int(at.k), at.seconds, *(None if math.isnan(v) else v for v in values))
                )
                if answer is False:
                    return 1
        except BaseException as error:
            self._keep(error)
        return int(self.interrupted or self.error is not None)


@functools.lru_cache(maxsize=None)
def _signals() -> Tuple[int, ...]:
    return tuple(int(number) for number in signal.valid_signals())


def _watched(callback: Optional[Callable[[str, Any], Any]], function: Any, *arguments: Any) -> Tuple[_Object, bool]:
    """What a function of the library that takes a watch makes, and whether Ctrl-C ended it early."""
    watch = _Watch(callback)
    try:
        with watch as told:
            held = _made(function, *arguments, told, None)
    except _errors.Interrupted:
        if watch.error is not None:
            raise watch.error from None
        if watch.interrupted:
            raise KeyboardInterrupt from None
        raise
    if watch.error is not None:
        raise watch.error
    return held, watch.interrupted


def solve(model: _Model, options: Dict[str, Any], callback: Optional[Callable[[str, Any], Any]]) -> Dict[str, Any]:
    held, interrupted = _watched(callback, _lib.sm_solve, model.held._pointer, _json(options))
    found = dict(held.facts)
    for name in ("lower", "upper", "dual", "energy", "temperature", "defect", "seconds", "estimated_bytes"):
        found[name] = None if found[name] is None else float(found[name])
    del found["kind"]
    labels = held.view("labels")
    if found.pop("ragged"):
        found["marginals"] = [held.view("marginals", a, writable=True) for a in range(len(labels))]
    else:
        found["marginals"] = held.view("marginals", writable=True)
    found["labels"] = np.array(labels)  # so that they do not keep the marginals
    found["records"] = [
        (int(row[0]), row[1], *(None if math.isnan(v) else v for v in row[2:])) for row in held.view("records").tolist()
    ]
    if found.pop("expectations"):
        found["proof"] = Expectations(held)
    found["interrupted"] = interrupted
    return found


class Expectations:
    """What a result proves of sums over labelings."""

    def __init__(self, held: _Object) -> None:
        self._held = held

    def prove(self, what: str, argument: Optional[Array]) -> List[Tuple[float, float, float, float, Optional[float]]]:
        given = None if argument is None else _given(argument)
        rows = _values(_made(_lib.sm_prove, self._held._pointer, what.encode(), given))
        return [(a, b, c, d, None if math.isnan(claimed) else claimed) for a, b, c, d, claimed in rows.tolist()]


def methods() -> List[Tuple[str, str, bool, bool, bool]]:
    return [(m["name"], m["help"], m["sparse"], m["tables"], m["dense"]) for m in _about()["methods"]]


def default_memory() -> int:
    return int(_about()["max_bytes"])


# ---- Functions on arrays

def grid_edges(width: int, height: int, connectivity: int) -> Array:
    return _values(_call("grid_edges", dict(width=width, height=height, connectivity=connectivity)))


def read_segmentation_parameters(path: str) -> Dict[str, Any]:
    found = dict(_call("read_parameters", dict(path=path)).facts)
    del found["kind"]
    return found


def parameters_for(costs: Array) -> Tuple[float, float, float, float, float]:
    found = _call("parameters_for", {}, [costs]).facts
    return (
        found["position_sigma"], found["position_weight"], found["bilateral_sigma"], found["colour_sigma"],
        found["bilateral_weight"],
    )


def calibrated_marginals(costs: Array, marginals: Array) -> Array:
    rows = marginals.reshape(-1, marginals.shape[-1])
    return _values(_call("calibrated_marginals", {}, [costs, rows])).reshape(marginals.shape)


def compare_labels(arrays: Sequence[Array], num_labels: int, names: Sequence[str]) -> Dict[str, Any]:
    options = dict(num_labels=num_labels, names=[dict(name=name) for name in names])
    return dict(_call("compare_labels", options, arrays).facts)


def fit(arrays: Sequence[Array], options: Dict[str, Any]) -> Dict[str, Any]:
    given = _given_all(arrays)
    return dict(_watched(None, _lib.sm_call, b"fit", _json(options), given, len(arrays))[0].facts)


def colour_map(values: Array) -> Array:
    return _values(_call("colour_map", {}, [values]))


def matching_costs(
    left: Array, right: Array, disparities: int, kind: str, truncate: float, factor: float
) -> Array:
    options = dict(disparities=disparities, kind=kind, truncate=truncate, factor=factor)
    return _values(_call("matching_costs", options, [left, right]))


def superpixels(picture: Array, size: float, compactness: float) -> Array:
    return _call("superpixels", dict(size=size, compactness=compactness), [picture]).view("values").copy()


def superpixel_spec(text: str) -> Dict[str, Any]:
    return dict(_call("superpixel_spec", dict(text=text), []).facts)


def match_stereo(left: Array, right: Array, given: Dict[str, Array], options: Dict[str, Any]) -> Dict[str, Array]:
    """The arrays of a pair by name."""
    places = {name: 2 + place for place, name in enumerate(given)}
    found = _call("stereo", {**options, **places}, [left, right, *given.values()])
    names = ["disparities", "raw", "occluded"]
    if not options["fast"]:
        names += ["uncertainty", "low", "high", "marginals"]
    return {name: found.view(name, writable=True) for name in names}


def lattice_factors(features: Array) -> Array:
    return _values(_call("lattice_factors", {}, [features]))


class Filter:
    """A Gaussian filter by the lattice."""

    def __init__(self, features: Array, max_bytes: int) -> None:
        self._held = _made(_lib.sm_filter, _given(features), max_bytes)

    def __call__(self, x: Array) -> Array:
        return _values(_made(_lib.sm_filter_apply, self._held._pointer, _given(x)))


class PydensecrfMeanField:
    """Updates of mean field as pydensecrf makes them."""

    def __init__(self, variables: int, labels: int, max_bytes: int) -> None:
        self._held = _made(_lib.sm_updates, variables, labels, max_bytes)

    @property
    def unary(self) -> Array:
        return self._held.view("unary")

    @property
    def num_terms(self) -> int:
        return int(self._held.describe()["num_terms"])

    def set_threads(self, threads: int) -> None:
        _check(_lib.sm_updates_set_threads(self._held._pointer, threads))

    def set_unary(self, costs: Array) -> None:
        _check(_lib.sm_updates_set_unary(self._held._pointer, _given(costs)))

    def add_term(self, features: Array, normalisation: int, compatibility: Sequence[float]) -> None:
        compatible = _given(np.array(compatibility, np.float32))
        _check(_lib.sm_updates_add_term(self._held._pointer, _given(features), normalisation, compatible))

    def add_picture_term(
        self, picture: Array, sigma: Array, normalisation: int, compatibility: Sequence[float]
    ) -> None:
        compatible = _given(np.array(compatibility, np.float32))
        _check(_lib.sm_updates_add_picture(
            self._held._pointer, _given(picture), _given(sigma), normalisation, compatible
        ))

    def start(self) -> Array:
        return _values(_made(_lib.sm_updates_start, self._held._pointer))

    def infer(self, iterations: int, last: bool) -> Array:
        return _values(_made(_lib.sm_updates_infer, self._held._pointer, iterations, int(last)))

    def step(self, q: Array) -> Array:
        return _values(_made(_lib.sm_updates_step, self._held._pointer, _given(q)))

    def divergence(self, q: Array) -> float:
        found = _double()
        _check(_lib.sm_updates_divergence(self._held._pointer, _given(q), ctypes.byref(found)))
        return found.value
