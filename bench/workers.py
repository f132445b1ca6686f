"""Processes that check one task after another. One that ends or does not come back costs its task and nothing else."""

from __future__ import annotations

import math
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

_LONGEST_MESSAGE = 300

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a task has no result: the process ended, took too long, or the check itself failed."""

    message: str


class _Worker(Generic[T, R]):
    def __init__(self, check: Callable[[T], R]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, check), daemon=True)
        self._process.start()
        theirs.close()
        self.task: T | None = None
        self.since = math.inf

    def give(self, task: T) -> None:
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)

    def result(self) -> R | Lost | None:
        """What the task gave; None when the process has just started."""
        try:
            found: R | Lost | None = self.pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            self._process.join()
            if self.task is None:
                raise RuntimeError("a worker does not start") from error
            return Lost(f"the process ended with status {self._process.exitcode}")
        return found

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def run(
    check: Callable[[T], R], tasks: Iterable[T], *, jobs: int, timeout_seconds: float
) -> Iterator[tuple[T, R | Lost]]:
    """What `check` gives for each task, as the results come. Tasks are drawn when a process is free."""
    waiting = iter(tasks)
    workers = [_Worker(check) for _ in range(jobs)]
    try:
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=1.0)
            for worker in list(workers):
                task = worker.task
                if worker.pipe in ready:
                    result = worker.result()
                elif task is not None and time.monotonic() - worker.since > timeout_seconds:
                    worker.end()
                    result = Lost(f"not done after {timeout_seconds:.0f} s")
                else:
                    continue
                workers.remove(worker)
                if task is not None and result is not None:
                    yield task, result
                if not worker.is_alive():
                    workers.append(_Worker(check))
                elif (following := next(waiting, None)) is not None:
                    worker.give(following)
                    workers.append(worker)
                else:
                    worker.end()
    finally:
        for worker in workers:
            worker.end()


def _serve(pipe: Connection[Any, Any], check: Callable[[Any], Any]) -> None:
    pipe.send(None)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            found = check(task)
        except Exception:
            found = Lost(traceback.format_exc(limit=3)[-_LONGEST_MESSAGE:])
        pipe.send(found)
