"""Runs the tasks of blocks: in processes of this machine, by Dask, or here."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .._arrays import given
from .._errors import FileError, InvalidInput, TooLarge
from ._plan import Folder

RETRIES = 2  # of a task whose process was lost
REFUSED = 2  # the exit code of a worker for input that is wrong, wherever the task runs


class Done(NamedTuple):
    """A task that has ended: its result, or why there is none."""

    task: str
    result: Optional[Dict[str, Any]]
    problem: str
    retries: int


def perform(path: str, task: str) -> Dict[str, Any]:
    """What a worker does, once: the result of a task that is complete is there already.

    A task is called ``module/function/block[/more]``.
    """
    folder = Folder.load(path)
    found = folder.found(file_name(task))
    if found is not None:
        return found
    from .. import set_threads

    set_threads(int(folder.plan["threads"]))
    module, name, *arguments = task.split("/")
    started, used = time.time(), time.process_time()
    function = getattr(importlib.import_module(f"{__package__}._{module}"), name)
    result: Dict[str, Any] = function(folder, *map(int, arguments))
    result.update(
        started=started, seconds=time.time() - started, cpu=time.process_time() - used, megabytes=peak_megabytes()
    )
    folder.finish(file_name(task), result)
    return result


def file_name(task: str) -> str:
    """Of the task's result."""
    return task.replace("/", "-")


def peak_megabytes() -> float:
    """The most memory that this process has used."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def run_here(folder: Folder, tasks: Sequence[str], workers: int) -> Iterator[Done]:
    """One after the other, in this process."""
    for task in tasks:
        try:
            yield Done(task, perform(folder.path, task), "", 0)
        except TooLarge as error:
            yield Done(task, None, str(error), 0)


def run_processes(folder: Folder, tasks: Sequence[str], workers: int) -> Iterator[Done]:
    """A process per task, so that its memory ends with it and a killed one loses no other."""
    waiting: List[Tuple[str, int]] = [(task, 0) for task in tasks]
    waiting.reverse()
    running: Dict[str, Tuple["subprocess.Popen[bytes]", str, int]] = {}
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH")]))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[variable] = str(folder.plan["threads"])
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                task, retries = waiting.pop()
                log = folder.file("done", file_name(task) + ".log")
                with open(log, "wb") as stderr:
                    process = subprocess.Popen(
                        [sys.executable, "-m", "submarine.blocks._worker", folder.path, task],
                        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
                    )
                running[task] = (process, log, retries)
            ended = [task for task, (process, _, _) in running.items() if process.poll() is not None]
            if not ended:
                time.sleep(0.02)
            for task in ended:
                process, log, retries = running.pop(task)
                result = folder.found(file_name(task)) if process.returncode == 0 else None
                problem = ""
                if result is None:
                    problem = _problem(process.returncode, log)
                    if process.returncode == REFUSED:
                        raise InvalidInput(problem)
                    if process.returncode < 0 and retries < RETRIES:  # killed, not refused
                        waiting.append((task, retries + 1))
                        continue
                if os.path.exists(log):
                    os.remove(log)
                yield Done(task, result, problem, retries)
    finally:
        for process, _, _ in running.values():
            process.terminate()
        for process, _, _ in running.values():
            process.wait()


def _problem(code: int, log: str) -> str:
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
    except FileNotFoundError:
        lines = []
    if code < 0:
        return f"its process was killed by signal {-code}"
    return lines[-1] if lines else f"its process ended with {code}"


def dask_client(scheduler: Any) -> Any:
    """The client itself, or one of the scheduler at that address."""
    if not isinstance(scheduler, str):
        return scheduler
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise FileError("scheduler addresses need the package distributed (python3-distributed)") from error
    try:
        return distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise FileError(f'no Dask scheduler answers at "{scheduler}": {error}') from error


def run_dask(client: Any) -> Callable[[Folder, Sequence[str], int], Iterator[Done]]:
    """By the workers of a dask.distributed cluster, which see the folder under the same path."""

    def run(folder: Folder, tasks: Sequence[str], workers: int) -> Iterator[Done]:
        distributed = importlib.import_module("distributed")
        futures = {
            client.submit(perform, folder.path, task, pure=False, retries=RETRIES, key=f"submarine-{os.path.basename(folder.path)}-{file_name(task)}"): task
            for task in tasks
        }
        try:
            for future in distributed.as_completed(list(futures)):
                task = futures.pop(future)
                try:
                    yield Done(task, future.result(), "", 0)
                except (InvalidInput, FileError):
                    raise
                except Exception as error:  # a lost worker, what the network has
                    yield Done(task, None, f"{type(error).__name__}: {error}", RETRIES)
        finally:
            for future in futures:
                future.cancel()

    return run


Runner = Callable[[Folder, Sequence[str], int], Iterator[Done]]


def runner_of(scheduler: Any) -> Tuple[Runner, Any]:
    """What runs the tasks, and the client to close, if any was opened."""
    if scheduler is None or scheduler == "processes":
        return run_processes, None
    if scheduler == "here":
        return run_here, None
    if isinstance(scheduler, str) or hasattr(scheduler, "submit"):
        client = dask_client(scheduler)
        return run_dask(client), client if isinstance(scheduler, str) else None
    raise InvalidInput(
        f'scheduler is {given(scheduler)}, expected "processes", "here", a dask.distributed client or the address of a scheduler'
    )


class Bar:
    """Progress over blocks with the time left, on stderr."""

    def __init__(self, total: int, shown: bool) -> None:
        self._total, self._shown, self._count, self._start, self._last = total, shown, 0, time.time(), 0.0

    def step(self, phase: str) -> None:
        """One more task has ended."""
        self._count += 1
        now = time.time()
        if not self._shown or (now - self._last < 0.2 and self._count < self._total):
            return
        self._last = now
        left = (now - self._start) / self._count * (self._total - self._count)
        minutes, seconds = divmod(int(left + 0.5), 60)
        filled = 24 * self._count // max(1, self._total)
        bar = "#" * filled + "." * (24 - filled)
        end = "\n" if self._count == self._total else ""
        sys.stderr.write(f"\r[{bar}] {self._count}/{self._total} {phase}, {minutes}:{seconds:02d} left   {end}")
        sys.stderr.flush()
