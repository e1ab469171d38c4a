"""Sparse models on grids by blocks: what a worker does with one of them.

Every edge that is cut has a potential s, a number per label with s(i) - s(j) <= w d(i, j): its one end gains s, its other loses
it, and the blocks are bounded by themselves (docs/math.md, "Blocks").
"""

from __future__ import annotations

import itertools
import json
import math
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import numpy as np

from .._arrays import Array, require_finite
from .._errors import InvalidInput
from .._models import GraphCrf
from .._solve import solve
from ._gaussian import normalised
from ._plan import Folder, metric_from_json
from ._store import Box, Source, Target, opened, shape_of, slices


class Face(NamedTuple):
    """Where a block ends along an axis and another begins."""

    axis: int
    upper: bool  # whether it is at the block's far end
    owner: int  # the block at whose far end it is
    mine: Box  # this block's layer of pixels
    theirs: Box


class Block:
    """One block of a plan."""

    def __init__(self, folder: Folder, number: int) -> None:
        self.folder, self.plan, self.number = folder, folder.plan, number
        self.extent: Tuple[int, ...] = tuple(self.plan["extent"])
        self.core: Box = tuple((a, b) for a, b in self.plan["blocks"][number])
        self.temperature: float = self.plan["temperature"]
        self.distance = np.asarray(self.plan["distance"], np.float64)

    def costs(self, box: Box) -> Array:
        """Unaries in double."""
        costs = Source(*self.plan["unary"]).read(box).astype(np.float64)
        try:
            require_finite(costs, "unary")
        except InvalidInput as error:
            raise InvalidInput(f"in the block that begins at {tuple(a for a, _ in box)}, {error}") from error
        return costs

    def weights(self, axis: int, box: Box) -> Array:
        """Those of the edges from the pixels of a box to the next ones along the axis."""
        given = self.plan["weights"][axis]
        if isinstance(given, float):
            return np.full(shape_of(box), given)
        found = Source(*given).read(box)[..., 0].astype(np.float64)
        if not (np.isfinite(found).all() and (found >= 0).all()):
            raise InvalidInput(
                f"the weights of axis {axis} are not all finite and >= 0 in the block that begins at {tuple(a for a, _ in box)}"
            )
        return found

    def model(self, costs: Array) -> GraphCrf:
        """The block's pixels and the edges between them."""
        shape = shape_of(self.core)
        index = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
        ends, weights = [], []
        for axis in range(len(shape)):
            inner = list(self.core)
            inner[axis] = (inner[axis][0], inner[axis][1] - 1)
            if inner[axis][0] == inner[axis][1]:
                continue
            a = np.delete(index, -1, axis).reshape(-1)
            ends.append(np.stack([a, np.delete(index, 0, axis).reshape(-1)], 1))
            weights.append(self.weights(axis, tuple(inner)).reshape(-1))
        return GraphCrf(
            costs.reshape(-1, costs.shape[-1]),
            np.concatenate(ends) if ends else np.zeros((0, 2), np.int32),
            np.concatenate(weights) if weights else np.zeros(0),
            metric_from_json(self.plan["metric"]),
        )

    def faces(self) -> Iterator[Face]:
        """Those where another block is."""
        counts = self.plan["counts"]
        place = np.unravel_index(self.number, counts)
        for axis, upper in itertools.product(range(len(counts)), (False, True)):
            if not 0 <= place[axis] + (1 if upper else -1) < counts[axis]:
                continue
            at = self.core[axis][1] if upper else self.core[axis][0]
            mine, theirs = list(self.core), list(self.core)
            mine[axis] = (at - 1, at) if upper else (at, at + 1)
            theirs[axis] = (at, at + 1) if upper else (at - 1, at)
            step = math.prod(counts[axis + 1:])
            yield Face(axis, upper, self.number if upper else self.number - step, tuple(mine), tuple(theirs))

    def face_weights(self, face: Face) -> Array:
        """Of the edges through it."""
        return self.weights(face.axis, face.mine if face.upper else face.theirs)

    def potential(self, face: Face, version: int) -> Array:
        """s, as both sides read it."""
        if version == 0:
            return np.zeros((*shape_of(face.mine), len(self.distance)), np.float32)
        found: Array = np.load(potential_file(self.folder, face.owner, face.axis, version))
        return found

    def shifted(self, version: int) -> Tuple[Array, float]:
        """Unaries with the potentials of a version, and a bound on what their rounding adds to T log Z."""
        costs = self.costs(self.core)
        size = np.abs(costs)
        for face in self.faces():
            s = self.potential(face, version).astype(np.float64)
            part = slices(tuple((a - start, b - start) for (a, b), (start, _) in zip(face.mine, self.core)))
            costs[part] += s if face.upper else -s
            size[part] += np.abs(s)
        return costs, 1e-15 * float(size.max(axis=-1).sum()) * (1.0 + 1e-9) if version else 0.0

    def marginals(self, name: str, box: Box) -> Array:
        """Normalised, in double, of what is stored."""
        return normalised(np.array(opened(self.folder.file(name + ".npy"))[slices(box)]))

    def store(self, name: str, values: Array) -> None:
        """Half precision: what is stored is what later values are about."""
        target = opened(self.folder.file(name + ".npy"), mode="r+")
        target[slices(self.core)] = values.reshape(target[slices(self.core)].shape).astype(np.float16)
        target.flush()

    def solve(self, model: GraphCrf, method: str) -> Any:
        """With the limits of the call."""
        plan = self.plan
        return solve(
            model, method, temperature=self.temperature, gap=plan["gap"], time_limit=plan["time_limit"],
            max_memory=plan["max_memory"], threads=plan["threads"],
        )

    def cut_cost(self, face: Face, marginals: Array) -> Array:
        """Per pixel of the face and label: what its edge costs on average, given the marginals of the other side."""
        return (self.face_weights(face)[..., np.newaxis] * marginals) @ self.distance


def potential_file(folder: Folder, owner: int, axis: int, version: int) -> str:
    """Where the potentials of a face are."""
    return folder.file("potentials", f"{version}-{owner}-{axis}.npy")


def bound(folder: Folder, number: int, version: int) -> Dict[str, Any]:
    """A certified upper bound of the block with its share of the cut edges, and its marginals."""
    block = Block(folder, number)
    costs, slack = block.shifted(version)
    result = block.solve(block.model(costs), folder.plan["method"])
    assert result.upper is not None
    block.store("upper", np.asarray(result.marginals))
    return {"upper": result.upper, "slack": slack, "method": result.method}


def exchange(folder: Folder, number: int, version: int) -> Dict[str, Any]:
    """The potentials of the next version on the faces that the block owns, by a step down the gradient."""
    block = Block(folder, number)
    with open(folder.file(f"step{version}.json"), encoding="utf-8") as file:
        step = json.load(file)
    for face in block.faces():
        if not face.upper:
            continue
        s = block.potential(face, version).astype(np.float64)
        moved = s + step["size"] * (block.marginals("upper", face.mine) - block.marginals("upper", face.theirs))
        if step["momentum"]:
            moved += step["momentum"] * (s - block.potential(face, version - 1))
        found = feasible(moved, block.face_weights(face), block.distance)
        np.save(potential_file(folder, number, face.axis, version + 1), found)
    return {}


def feasible(s: Array, weights: Array, distance: Array) -> Array:
    """Near s, with s(i) - s(j) <= w d(i, j) as it is stored."""
    off = distance[~np.eye(len(distance), dtype=bool)]
    if len(off) and (off == off[0]).all():  # one price for all: clipping moves s least
        half = 0.5 * weights[..., np.newaxis] * off[0]
        middle = 0.5 * (s.max(axis=-1, keepdims=True) + s.min(axis=-1, keepdims=True))
        s = np.clip(s - middle, -half, half)
    else:
        s = s - s.mean(axis=-1, keepdims=True)
    found = s.astype(np.float32)
    worst = np.zeros(s.shape[:-1])
    for i, j in itertools.permutations(range(len(distance)), 2):
        room = weights * distance[i, j]
        apart = found[..., i].astype(np.float64) - found[..., j]
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = np.maximum(worst, np.where(apart > 0, apart / room, 0.0))
    shrink = np.where(worst > 1.0 - 1e-5, (1.0 - 1e-5) / np.maximum(worst, 1e-300), 1.0)  # 0 where an edge has no weight
    found *= shrink[..., np.newaxis].astype(np.float32)
    for i, j in itertools.permutations(range(len(distance)), 2):
        assert (found[..., i].astype(np.float64) - found[..., j] <= weights * distance[i, j]).all()
    return found


def ascend(folder: Folder, number: int, sweep: int) -> Dict[str, Any]:
    """Marginals of the block, the best for those of its neighbours: the free energy of the whole does not fall."""
    block = Block(folder, number)
    plan = folder.plan
    costs = block.costs(block.core)
    for face in block.faces():
        part = slices(tuple((a - start, b - start) for (a, b), (start, _) in zip(face.mine, block.core)))
        costs[part] += block.cut_cost(face, block.marginals("lower", face.theirs))
    model = block.model(costs)
    best: Tuple[float, Any] = (-math.inf, None)
    if block.temperature == 0.0:
        labels = block.solve(model, "auto").labels.reshape(-1)
        found = (labels[:, np.newaxis] == np.arange(len(block.distance))).astype(np.float16)
    else:
        found = np.asarray(block.solve(model, "mf").marginals).astype(np.float16)
    candidates: List[Array] = [found]
    if sweep > 1 or block.temperature > 0.0:
        candidates.append(np.array(opened(folder.file("lower.npy"))[slices(block.core)]))
    for candidate in candidates:
        free = model.lower_bound(candidate.reshape(model.num_variables, -1).astype(np.float32), block.temperature)
        if free > best[0]:
            best = free, candidate
    block.store("lower", best[1])
    Target(*plan["target"]).write(block.core, best[1].reshape(*shape_of(block.core), -1).argmax(axis=-1))
    return {}


def value(folder: Folder, number: int) -> Dict[str, Any]:
    """The block's free energy, and what the edges cost that leave it at its far ends."""
    block = Block(folder, number)
    y = np.array(opened(folder.file("lower.npy"))[slices(block.core)]).astype(np.float32)
    model = block.model(block.costs(block.core))
    cut = 0.0
    for face in block.faces():
        if face.upper:
            cut += float((block.cut_cost(face, block.marginals("lower", face.theirs)) * block.marginals("lower", face.mine)).sum())
    return {"lower": model.lower_bound(y.reshape(model.num_variables, -1), block.temperature), "cut": cut * (1.0 + 1e-9)}
