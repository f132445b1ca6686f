"""Worker processes for several inputs."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from maxfold.cli.endpoints import Task
from maxfold.cli.options import OptimizeOptions
from maxfold.cli.progress import Progress
from maxfold.cli.shell import INTERRUPTED
from maxfold.cli.work import Failure, Result, attempt

# The pool itself ends workers with the second, when one of them is gone.
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_INTERVAL_SECONDS = 0.5
_MOST_INTERRUPTS = 10

_Collect = Callable[[Task, Result], None]


def run_in_workers(tasks: Sequence[Task], options: OptimizeOptions, workers: int, progress: Progress) -> list[Result]:
    """The results in the order of the tasks."""
    done: dict[Task, Result] = {}

    def collect(task: Task, result: Result) -> None:
        done[task] = result
        progress.step("optimizing", len(done), len(tasks))

    progress.step("optimizing", 0, len(tasks))
    _run_pool(tasks, options, workers, collect)
    # A worker that dies takes the pool with it. What was not done then gets a worker of its own, one after another, so
    # that only the input fails that is to blame.
    for task in tasks:
        if task not in done:
            _run_pool([task], options, 1, collect)
        if task not in done:
            message = (
                f"{task.source}: its worker process died, probably for want of memory; try it alone, with --jobs 1"
            )
            collect(task, Failure(task, message))
    return [done[task] for task in tasks]


def _run_pool(tasks: Sequence[Task], options: OptimizeOptions, workers: int, collect: _Collect) -> None:
    # Started anew rather than forked: a fork would copy the locks of other threads, and does not exist everywhere.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker) as pool:
        try:
            with _interrupts_blocked():
                futures: dict[Future[Result], Task] = {pool.submit(_attempt, task, options): task for task in tasks}
            for future in as_completed(futures):
                if not isinstance(future.exception(), BrokenProcessPool):
                    collect(futures[future], future.result())
        except BrokenProcessPool:
            # It broke before all tasks were submitted.
            return
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            _end_workers()
            raise


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes started in this block are not interrupted before they are prepared for it. Nothing is lost: what comes
    meanwhile comes at the end of the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare_worker() -> None:
    """A worker that has not begun leaves at once when it is asked to, and without a word."""
    _handle(_leave)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING_SIGNALS)
    importlib.import_module("maxfold.optimizer")


def _attempt(task: Task, options: OptimizeOptions) -> Result:
    """In a worker. An interrupt takes unfinished output away, and then the worker."""
    _handle(_Interrupter())
    try:
        return attempt(task, options, Progress())
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    finally:
        _handle(_leave)


def _handle(handler: Callable[[int, Any], None]) -> None:
    for number in _ENDING_SIGNALS:
        signal.signal(number, handler)


def _leave(number: int, frame: Any) -> None:
    os._exit(INTERRUPTED)


class _Interrupter:
    """Raises `KeyboardInterrupt` where a signal comes, but not while an earlier one is still being followed."""

    def __init__(self) -> None:
        self._last_seconds = -_INTERVAL_SECONDS

    def __call__(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if now - self._last_seconds >= _INTERVAL_SECONDS:
            self._last_seconds = now
            raise KeyboardInterrupt


def _end_workers() -> None:
    """Interrupts the workers until they are gone: one that is just being cleaned up, or ends an object, may miss it.

    The terminal interrupts them too, but not who interrupts this process alone.
    """
    for _ in range(_MOST_INTERRUPTS):
        workers = multiprocessing.active_children()
        for worker in workers:
            if worker.pid is not None:
                with contextlib.suppress(OSError):
                    os.kill(worker.pid, signal.SIGINT)
        waited_seconds = 0.0
        while multiprocessing.active_children() and waited_seconds < 2 * _INTERVAL_SECONDS:
            time.sleep(0.02)
            waited_seconds += 0.02
        if not multiprocessing.active_children():
            return
    for worker in multiprocessing.active_children():
        worker.kill()
