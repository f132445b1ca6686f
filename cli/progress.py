"""A line of progress on standard error, for work that takes more than a second and somebody who watches."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from maxfold.cli.output import stderr_console

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_DELAY_SECONDS = 1.0


class Progress:
    """Told of stages and steps; shows nothing. What shows something inherits from it."""

    def begin(self, prefix: str) -> None:
        """What stages are called from here on begins with `prefix`."""

    def stage(self, name: str) -> None:
        """A new stage of unknown length begins."""

    def step(self, name: str, done: int, total: int) -> None:
        """`done` of the `total` steps of a stage that are known so far are done."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class TerminalProgress(Progress):
    """Appears after a second, goes without trace."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._timer = threading.Timer(_DELAY_SECONDS, self._appear)
        self._timer.daemon = True
        self._shown: RichProgress | None = None
        self._prefix = ""
        self._state: tuple[str, int, int | None] = ("starting", 0, None)
        self._is_over = False

    def begin(self, prefix: str) -> None:
        self._prefix = prefix

    def stage(self, name: str) -> None:
        self._update((f"{self._prefix}{name}", 0, None))

    def step(self, name: str, done: int, total: int) -> None:
        self._update((f"{self._prefix}{name}", done, total))

    def _update(self, state: tuple[str, int, int | None]) -> None:
        with self._lock:
            self._state = state
            self._show()

    def _appear(self) -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
        )  # fmt: skip
        with self._lock:
            if self._is_over:
                return
            self._shown = RichProgress(*columns, console=stderr_console(), transient=True, refresh_per_second=5)
            self._shown.add_task("", total=None, count="")
            self._show()
            self._shown.start()

    def _show(self) -> None:
        if self._shown is None:
            return
        name, done, total = self._state
        task = self._shown.tasks[0]
        # `update` takes None for "as before".
        task.total = total
        count = "" if total is None else f"{done:,} of {total:,}"
        self._shown.update(task.id, description=name, completed=done, count=count)

    def __enter__(self) -> Progress:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._shown is not None:
                self._shown.stop()


def progress_for(quiet: bool) -> Progress:
    """Progress that shows itself only where standard error is a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return Progress()
    return TerminalProgress()
