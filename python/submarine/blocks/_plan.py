"""How an array is cut into blocks, and the folder of a call: its plan, and what its blocks have left there."""

from __future__ import annotations

import itertools
import json
import math
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .._arrays import as_whole
from .._errors import FileError, InvalidInput, TooLarge
from ._store import Box


def as_sides(value: Any, axes: int, name: str) -> Tuple[int, ...]:
    """A whole number per axis, or one for all."""
    values = [value] * axes if np.ndim(value) == 0 else list(value)
    if len(values) != axes:
        raise InvalidInput(f"{name} has {len(values)} numbers, expected 1 or {axes}, one per axis")
    return tuple(as_whole(side, name) for side in values)


def cut(extent: Sequence[int], block: Sequence[int]) -> List[Box]:
    """Disjoint blocks; those at the far ends may be smaller."""
    ranges = [[(at, min(at + side, size)) for at in range(0, size, side)] for size, side in zip(extent, block)]
    return list(itertools.product(*ranges))


def widened(box: Box, halo: Sequence[int], extent: Sequence[int]) -> Box:
    """The box and its halo, as far as there are pixels."""
    return tuple(
        (max(0, start - width), min(size, stop + width)) for (start, stop), width, size in zip(box, halo, extent)
    )


def within(inner: Box, outer: Box) -> Box:
    """The inner box in the coordinates of the outer one."""
    return tuple((a - start, b - start) for (a, b), (start, _) in zip(inner, outer))


def choose_block(
    extent: Sequence[int], halo: Sequence[int], bytes_each: float, max_bytes: float, spared: float, what: str
) -> Tuple[int, ...]:
    """The largest cubes, or squares, that fit with their halos; sides of multiples of 16 where they are cut."""

    def need(side: int) -> float:
        return spared + bytes_each * math.prod(min(size, side + 2 * width) for size, width in zip(extent, halo))

    if need(max(extent)) <= max_bytes:
        return tuple(extent)
    side = 16
    if need(side) > max_bytes:
        raise TooLarge(
            f"a block of {' x '.join(['16'] * len(extent))} {what} and its halo of {max(halo)} needs "
            f"{need(side) / 1e9:.2g} GB, more than max_memory of {max_bytes / 1e9:.2g} GB; smaller sigmas have smaller halos"
        )
    while need(side + 16) <= max_bytes:
        side += 16
    # As many blocks, but equal ones.
    sides = []
    for size in extent:
        count = math.ceil(size / side)
        sides.append(min(size, -(-math.ceil(size / count) // 16) * 16))
    return tuple(sides)


LIMITS = ("threads", "max_memory", "time_limit")  # may be others when a call continues


@dataclass
class Folder:
    """A call's folder: plan.json, arrays, and a file of results per task, written when that is complete."""

    path: str
    plan: Dict[str, Any] = field(default_factory=dict)

    def file(self, *names: Any) -> str:
        """A path in it."""
        return os.path.join(self.path, *map(str, names))

    @classmethod
    def load(cls, path: str) -> "Folder":
        """As workers open it."""
        with open(os.path.join(path, "plan.json"), encoding="utf-8") as file:
            return cls(path, json.load(file))

    def block(self) -> Optional[Tuple[int, ...]]:
        """The sides that an earlier call has chosen."""
        try:
            return tuple(Folder.load(self.path).plan["block"])
        except FileNotFoundError:
            return None

    def begin(self, plan: Dict[str, Any]) -> bool:
        """Writes the plan; False where a call of the same plan left the folder, which goes on then."""
        name = self.file("plan.json")
        self.plan = json.loads(json.dumps(plan))
        if not os.path.exists(name):
            write_json(name, self.plan)
            return True
        before = Folder.load(self.path).plan
        different = sorted(
            key for key in {*before, *self.plan} if key not in LIMITS and before.get(key) != self.plan.get(key)
        )
        if different:
            raise InvalidInput(
                f'"{self.path}" holds the blocks of a call with other {", ".join(different)}; remove it, or name another by work'
            )
        write_json(name, self.plan)
        return False

    def forget(self, tasks: Tuple[str, ...]) -> None:
        """Removes the results of finished tasks whose input changes."""
        for name in os.listdir(self.file("done")):
            if name.startswith(tasks):
                os.remove(self.file("done", name))

    def found(self, task: str) -> Optional[Dict[str, Any]]:
        """What a finished task returned."""
        try:
            with open(self.file("done", task + ".json"), encoding="utf-8") as file:
                result: Dict[str, Any] = json.load(file)
                return result
        except FileNotFoundError:
            return None

    def lost(self) -> Dict[str, List[int]]:
        """By phase, the blocks that were given up."""
        try:
            with open(self.file("lost.json"), encoding="utf-8") as file:
                found: Dict[str, List[int]] = json.load(file)
                return found
        except FileNotFoundError:
            return {}

    def finish(self, task: str, result: Dict[str, Any]) -> None:
        """Says that a task is complete: whoever asks afterwards sees all of it or nothing."""
        write_json(self.file("done", task + ".json"), result)


def write_json(path: str, value: Any) -> None:
    """All of it or nothing."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(part, path)
    except OSError as error:
        raise FileError(f'"{path}" cannot be written: {error}') from error


def metric_as_json(metric: Any) -> Any:
    """A name, a table, or a kind and a table."""
    if isinstance(metric, str):
        return metric
    if isinstance(metric, tuple) and metric and isinstance(metric[0], str):
        return [metric[0], np.asarray(metric[1]).tolist()]
    return np.asarray(metric).tolist()


def metric_from_json(metric: Any) -> Any:
    """As models take it."""
    return tuple(metric) if isinstance(metric, list) and isinstance(metric[0], str) else metric


def signature(path: str) -> List[Any]:
    """What changes when the data do."""
    status = os.stat(path)
    return [path, status.st_size, status.st_mtime_ns]


def text_of(sides: Sequence[int]) -> str:
    """512 x 512 x 64"""
    return " x ".join(map(str, sides))

