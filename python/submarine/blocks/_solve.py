"""solve for grids that are larger than the memory, or than a machine."""

from __future__ import annotations

import math
import os
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np

from .._arrays import as_array, as_number, as_whole, given as text_given
from .._errors import InvalidInput
from .._keywords import checked_keywords
from .._models import Metric, _labels_of
from ._plan import cut, metric_as_json, signature, text_of, write_json
from ._result import Blocks, Call, read_labels, sum_down, sum_up
from ._sparse import Block
from ._store import Source, Target, describe, make_target, new_file, place_axes

MOMENTUM = 0.7


@checked_keywords
def solve(
    unary: Any,
    weights: Any = 1.0,
    out: Union[None, str, "os.PathLike[str]"] = None,
    *,
    metric: Metric = "potts",
    temperature: float = 1.0,
    rounds: int = 4,
    sweeps: int = 1,
    block: Union[None, int, Sequence[int]] = None,
    scheduler: Any = None,
    workers: Optional[int] = None,
    threads: Optional[int] = None,
    max_memory: Optional[float] = None,
    method: str = "auto",
    gap: float = 1e-3,
    time_limit: float = 60.0,
    label_axis: int = -1,
    work: Union[None, str, "os.PathLike[str]"] = None,
    progress: bool = False,
) -> Blocks:
    """Labels and an interval around log Z of a grid's sparse CRF, from disjoint blocks that exchange potentials.

    Pixels have edges to the next ones along every axis: 4 neighbours in pictures, 6 in volumes.

    Parameters
    ----------
    unary : array or path
        Costs of shape (height, width, labels) or (depth, height, width, labels): an array, a .npy file, zarr v2 or v3.
    weights : float or sequence
        One number >= 0, one per axis, or one array (or path) per axis, of the shape of the grid: the weight of the edge from
        a pixel to the next one along that axis.
    out : path, optional
        Where the labels go: .npy, .zarr or .ome.zarr. Without it they come back as an array.
    metric : str or array
        As for :class:`submarine.GridCrf`.
    temperature : float
        T of exp(-E/T), for which T log Z is bounded; 0: minus the least energy.
    rounds : int
        How often the blocks exchange potentials at the edges between them, which lowers the upper bound; 0: these edges are
        dropped.
    sweeps : int
        How often every block adapts to its neighbours, which raises the lower bound.
    block : int or sequence of int, optional
        The sides of the blocks; without it the largest for which a worker stays below ``max_memory``.
    scheduler, workers, threads, max_memory, work, progress : optional
        As for :func:`refine`.
    method, gap, time_limit : optional
        Of each block, as for :func:`submarine.solve`.
    label_axis : int
        The axis of ``unary`` that is the labels'.

    Returns
    -------
    Blocks
        It unpacks into ``labels, lower, upper``; ``summary["rounds"]`` has the upper bound of every round.

    Raises
    ------
    InvalidInput
        For wrong values, and negative weights.
    FileError
        For files that cannot be read or written, and packages that are not there.
    TooLarge
        Where no block fits.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.random.default_rng(1).normal(size=(8, 10, 3))
    >>> labels, lower, upper = solve(unary, 0.5, block=5, rounds=4, scheduler="here")
    >>> whole = __import__("submarine").solve(__import__("submarine").GridCrf(unary, 0.5), "exact")
    >>> lower <= whole.lower <= whole.upper <= upper
    True
    """
    call = Call(work, out, scheduler, workers, threads, max_memory, progress)
    try:
        plan = _plan(call, locals())
        return _run(call, plan, as_whole(rounds, "rounds"), as_whole(sweeps, "sweeps"))
    finally:
        call.close()


def _plan(call: Call, given: Dict[str, Any]) -> Dict[str, Any]:
    """Everything that workers need, as JSON."""
    unary = place_axes(
        describe(given["unary"], "unary", call.folder.file("unary.npy")), None, as_whole(given["label_axis"], "label_axis"), "unary"
    )
    extent = unary.extent
    if len(extent) not in (2, 3):
        raise InvalidInput(f"unary has shape {unary.shape}, expected (height, width, labels) or (depth, height, width, labels)")
    weights = _weights(call, given["weights"], extent)
    temperature = as_number(given["temperature"], "temperature")
    if not 0 <= temperature < math.inf:
        raise InvalidInput(f"temperature is {temperature}, expected a finite number >= 0")
    for name in ("rounds", "sweeps"):
        if as_whole(given[name], name) < 0:
            raise InvalidInput(f"{name} is {given[name]}, expected a whole number >= 0")
    block = call.block(given["block"], extent, [0] * len(extent), bytes_per_pixel(unary.depth), unary.depth)
    labels = _labels_of(given["metric"], unary.depth)
    path = call.out or call.folder.file("labels.npy")
    plan = {
        "unary": unary, "weights": weights, "extent": extent, "blocks": cut(extent, block), "block": block,
        "counts": [-(-size // side) for size, side in zip(extent, block)],
        "metric": metric_as_json(given["metric"]),
        "distance": np.asarray(labels.distances[0]).tolist(), "temperature": temperature, "method": given["method"],
        "gap": as_number(given["gap"], "gap"), "time_limit": as_number(given["time_limit"], "time_limit"),
        "threads": call.threads, "max_memory": call.gigabytes, "out": call.out,
        "target": [path, "0" if path.endswith(".ome.zarr") else ""],
        "data": [signature(unary.path), *(signature(w[0]) for w in weights if not isinstance(w, float))],
    }
    if not os.path.exists(call.folder.file("plan.json")):
        os.makedirs(call.folder.file("potentials"), exist_ok=True)
        for name in ("upper", "lower"):
            new_file(call.folder.file(name + ".npy"), np.float16, (*extent, unary.depth)).flush()
        # Last: where something failed, nothing is left.
        make_target(path, extent, np.uint8 if unary.depth <= 256 else np.uint16, block, [1.0] * len(extent), True)
    call.folder.begin(plan)
    call.say(
        f"{len(plan['blocks'])} blocks of {text_of(block)}; {call.workers} workers of {call.threads} threads and "
        f"{call.gigabytes:.2g} GB"
    )
    return call.folder.plan


def bytes_per_pixel(labels: int) -> float:
    """What solving takes at most, per pixel of a block: costs, messages or flows, marginals."""
    return 500.0 + 350.0 * labels


def _weights(call: Call, weights: Any, extent: Sequence[int]) -> List[Any]:
    """A number or a source per axis."""
    if isinstance(weights, (str, os.PathLike)):
        raise InvalidInput(f"weights is {text_given(weights)}, expected a number, or a number, array or path per axis")
    one = not isinstance(weights, (list, tuple)) and as_array(weights, "weights").ndim == 0
    each = [weights] * len(extent) if one else list(weights)
    if len(each) != len(extent):
        raise InvalidInput(f"weights has {len(each)} entries, expected {len(extent)}, one per axis")
    found: List[Any] = []
    for axis, entry in enumerate(each):
        if np.ndim(entry) == 0 and not isinstance(entry, (str, os.PathLike)):
            number = as_number(entry, f"the weight of axis {axis}")
            if not 0 <= number < math.inf:
                raise InvalidInput(f"the weight of axis {axis} is {number}, expected a finite number >= 0")
            found.append(number)
            continue
        place = describe(entry, f"the weights of axis {axis}", call.folder.file(f"weights{axis}.npy"))
        if place.shape != tuple(extent):
            raise InvalidInput(f"the weights of axis {axis} have shape {place.shape}, expected {tuple(extent)}")
        found.append(Source(place.path, place.component, place.shape, (*range(len(extent)), -1)))
    return found


def _run(call: Call, plan: Dict[str, Any], rounds: int, sweeps: int) -> Blocks:
    folder, numbers = call.folder, range(len(plan["blocks"]))
    uppers: List[float] = []
    step, momentum = max(plan["temperature"], 0.25), 0.0
    for version in range(rounds + 1):
        lost: List[float] = []
        results = call.do(
            f"upper bounds, round {version}", [f"sparse/bound/{number}/{version}" for number in numbers],
            lambda task: lost.append(_without_edges(folder, task)),
        )
        uppers.append(sum_up([*lost, *(part for result in results.values() for part in (result["upper"], result["slack"]))]))
        if len(numbers) == 1 or version == rounds:
            break
        if version and uppers[-1] > uppers[-2]:
            step, momentum = 0.5 * step, 0.0
        write_json(folder.file(f"step{version}.json"), {"size": step, "momentum": momentum if version else 0.0})
        momentum = MOMENTUM
        before = len(call.missing)
        call.do("exchange", [f"sparse/exchange/{number}/{version}" for number in numbers], lambda task: None)
        if len(call.missing) > before and any("/exchange/" in task for task in call.missing):
            break  # a side without its potentials: what was proven before stands
    _start(folder, plan)
    place = np.array(np.unravel_index(numbers, plan["counts"])).sum(axis=0) % 2
    for sweep in range(2 * max(1, sweeps)):
        turn = [number for number in numbers if place[number] == sweep % 2]
        call.do("labels", [f"sparse/ascend/{number}/{sweep}" for number in turn], lambda task: None, ("sparse-value",))
    below: List[float] = []
    missing: List[str] = []
    results = call.do("lower bound", [f"sparse/value/{number}" for number in numbers], missing.append)
    for result in results.values():
        below += [result["lower"], -result["cut"]]
    lower = -math.inf if missing else sum_down(below)
    blocks = Blocks(read_labels(plan["target"], call.out), lower, min(uppers))
    blocks.missing = sorted(call.missing)
    blocks.summary = {
        "blocks": len(plan["blocks"]), "block": text_of(plan["block"]), "rounds": uppers, "temperature": plan["temperature"],
        **call.summary(),
    }
    call.end()
    return blocks


def _without_edges(folder: Any, task: str) -> float:
    """An upper bound of a block without its edges: sum_a T log sum_l exp(-phi_a(l) / T), its potentials included."""
    _, _, number, version = task.split("/")
    block = Block(folder, int(number))
    costs, slack = block.shifted(int(version))
    t = block.temperature
    least = costs.min(axis=-1)
    terms = -least
    if t > 0.0:
        terms = t * np.log(np.exp((least[..., np.newaxis] - costs) / t).sum(axis=-1)) - least
    slack += 1e-14 * float((np.abs(costs).max(axis=-1) + t * (1.0 + costs.shape[-1])).sum()) * (1.0 + 1e-9)
    scaled = -costs if t == 0.0 else (least[..., np.newaxis] - costs) / t
    y = scaled == scaled.max(axis=-1, keepdims=True) if t == 0.0 else np.exp(scaled)
    block.store("upper", y / y.sum(axis=-1, keepdims=True))
    return sum_up([math.fsum(terms.reshape(-1)), slack])


def _start(folder: Any, plan: Dict[str, Any]) -> None:
    """The sweeps begin with the marginals and labels of the upper bound, unless they have begun."""
    if folder.found("start") is not None:
        return
    for number in range(len(plan["blocks"])):
        block = Block(folder, number)
        y = block.marginals("upper", block.core)
        block.store("lower", y)
        Target(*plan["target"]).write(block.core, y.argmax(axis=-1))
    folder.finish("start", {})


__all__ = ["solve"]
