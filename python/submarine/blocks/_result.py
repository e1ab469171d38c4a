"""What a call over blocks returns, and what all of them need: the folder, the loop over tasks, sums of bounds."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
import time
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._arrays import Array, as_number, as_whole
from .._errors import FileError, InvalidInput
from .. import _core
from ._plan import Folder, as_sides, choose_block
from ._run import Bar, Done, run_here, runner_of


class _Triple(NamedTuple):
    labels: Any
    lower: float
    upper: float


class Blocks(_Triple):
    """``labels, lower, upper``: log Z of the whole model lies between the two.

    ``labels`` is an array, or the path that was given as ``out``. ``summary`` says how the work was cut and what it took;
    ``missing`` names the tasks that failed, whose blocks have the classifier's own labels and bounds that hold without them.
    """

    summary: Dict[str, Any]
    missing: List[str]

    def __repr__(self) -> str:
        count, lost = self.summary["blocks"], f", {len(self.missing)} tasks missing" if self.missing else ""
        interval = f"{self.lower:.6g} <= log Z <= {self.upper:.6g}, " if self.lower > -math.inf else ""
        return f"<submarine.blocks.Blocks: {interval}{count} blocks of {self.summary['block']}{lost}>"


def sum_up(values: Sequence[float]) -> float:
    """Not below the exact sum."""
    return float(np.nextafter(math.fsum(values), math.inf))


def sum_down(values: Sequence[float]) -> float:
    """Not above the exact sum."""
    return float(np.nextafter(math.fsum(values), -math.inf))


class Call:
    """One call: where it works, by what, and what has become of its tasks."""

    def __init__(
        self, work: Any, out: Any, scheduler: Any, workers: Optional[int], threads: Optional[int], max_memory: Optional[float],
        progress: bool,
    ) -> None:
        self.run, self._client = runner_of(scheduler)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        here = self.run is run_here
        self.workers = 1 if here else cores if workers is None else as_whole(workers, "workers")
        if self.workers < 1:
            raise InvalidInput(f"workers is {self.workers}, expected a whole number > 0")
        self.threads = max(1, cores // self.workers) if threads is None else as_whole(threads, "threads")
        if max_memory is None:
            max_memory = _core.default_memory() / 1e9 / self.workers
        self.gigabytes = as_number(max_memory, "max_memory")
        if not 0 < self.gigabytes < math.inf:
            raise InvalidInput(f"max_memory is {max_memory}, expected a finite number of gigabytes > 0")
        self.out = None if out is None else os.path.abspath(os.fspath(out))
        self.temporary = work is None and self.out is None
        if work is None:
            work = tempfile.mkdtemp(prefix="submarine-blocks-") if self.out is None else self.out + ".blocks"
        self.folder = Folder(os.path.abspath(os.fspath(work)))
        if os.path.isdir(self.folder.path) and os.listdir(self.folder.path) and not os.path.isdir(self.folder.file("done")):
            raise InvalidInput(f'"{self.folder.path}" holds something else than blocks of an earlier call; name another by work')
        try:
            os.makedirs(self.folder.file("done"), exist_ok=True)
        except OSError as error:
            raise FileError(f'"{self.folder.path}" cannot be made: {error.strerror}') from error
        self.progress = progress
        self.missing: Dict[str, str] = {}
        self.times: Dict[str, List[Dict[str, Any]]] = {}
        self.retries = 0
        self.started = time.time()

    def say(self, text: str) -> None:
        """Where progress is shown."""
        if self.progress:
            print(text, file=sys.stderr)

    def block(
        self, given: Any, extent: Sequence[int], halo: Sequence[int], bytes_each: float, labels: int
    ) -> Tuple[int, ...]:
        """The sides that are given, those of the call that this one continues, or the largest that fit."""
        before = self.folder.block()
        if given is None:
            what = f"{'pixels' if len(extent) == 2 else 'voxels'} of {labels} labels"
            return before or choose_block(extent, halo, bytes_each, 1e9 * self.gigabytes, SPARED, what)
        sides = as_sides(given, len(extent), "block")
        for side in sides:
            if side < 1:
                raise InvalidInput(f"block is {side}, expected a whole number > 0")
        return tuple(min(side, size) for side, size in zip(sides, extent))

    def do(
        self, phase: str, tasks: Sequence[str], lost: Callable[[str], None], spoils: Tuple[str, ...] = ()
    ) -> Dict[str, Dict[str, Any]]:
        """Results of the tasks, those of an earlier call among them; ``lost`` is told of each that has none.

        Tasks that are done now spoil later ones of an earlier call, which then had others in their place.
        """
        results: Dict[str, Dict[str, Any]] = {}
        todo = []
        for task in tasks:
            found = self.folder.found(task.replace("/", "-"))
            if found is None:
                todo.append(task)
            else:
                results[task] = found
        if todo and spoils:
            self.folder.forget(spoils)
        bar = Bar(len(todo), self.progress)
        begin = time.time()
        for done in self.run(self.folder, todo, self.workers):
            self._take(done, results, phase, begin)
            bar.step(phase)
        for task in tasks:
            if task in self.missing:
                lost(task)
        return results

    def _take(self, done: Done, results: Dict[str, Dict[str, Any]], phase: str, begin: float) -> None:
        self.retries += done.retries
        if done.result is None:
            self.missing[done.task] = done.problem
        else:
            results[done.task] = done.result
            self.times.setdefault(phase, []).append(dict(done.result, waited=done.result["started"] - begin))

    def summary(self) -> Dict[str, Any]:
        """How long what took, in seconds."""
        phases = {
            phase: {
                "tasks": len(times),
                "seconds": sum(t["seconds"] for t in times),
                "cpu": sum(t["cpu"] for t in times),
                "longest": max(t["seconds"] for t in times),
                "waited": max(t["waited"] for t in times),
            }
            for phase, times in self.times.items()
        }
        peak = max((t["megabytes"] for times in self.times.values() for t in times), default=0.0)
        return {
            "seconds": time.time() - self.started, "phases": phases, "retries": self.retries,
            "megabytes_of_largest_worker": peak, "workers": self.workers, "threads": self.threads,
        }

    def end(self) -> None:
        """Removes the folder, unless something is missing that the next call may find."""
        if not self.missing:
            shutil.rmtree(self.folder.path, ignore_errors=True)
            return
        first = min(self.missing)
        again = "" if self.temporary else "; the same call tries them again"
        warnings.warn(
            f"{len(self.missing)} tasks are missing, {first} the first of them: {self.missing[first]}{again}", stacklevel=5
        )

    def close(self) -> None:
        """The connection, if one was opened here, and a folder that nobody will find or in which nothing was begun."""
        if self.temporary or not os.path.exists(self.folder.file("plan.json")):
            shutil.rmtree(self.folder.path, ignore_errors=True)
        if self._client is not None:
            self._client.close()
            self._client = None


SPARED = 0.15e9  # bytes of a process before it has read anything


def read_labels(target: Sequence[str], out: Optional[str]) -> Any:
    """The labels as an array where no ``out`` was given."""
    from ._store import opened

    if out is not None:
        return out
    labels: Array = np.array(opened(target[0], target[1]))
    return labels
