"""The progress bar."""

from __future__ import annotations

import io
import time
from contextlib import redirect_stderr

import pytest

from maxfold.cli import progress as module
from maxfold.cli.progress import Progress, TerminalProgress, progress_for


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_who_sees_it() -> None:
    with redirect_stderr(io.StringIO()):
        assert type(progress_for(quiet=False)) is Progress
    with redirect_stderr(Terminal()):
        assert type(progress_for(quiet=True)) is Progress
        assert type(progress_for(quiet=False)) is TerminalProgress


def test_quick_work_shows_nothing() -> None:
    screen = Terminal()
    with redirect_stderr(screen), progress_for(quiet=False) as progress:
        progress.stage("reading")
        progress.step("fuse-max", 1, 2)
    assert screen.getvalue() == ""


def test_slow_work_shows_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DELAY_SECONDS", 0.05)
    screen = Terminal()
    with redirect_stderr(screen), progress_for(quiet=False) as progress:
        progress.begin("1 of 2: ")
        progress.stage("reading")
        until(screen, "1 of 2: reading")
        progress.step("fuse-max", 1000, 4000)
        until(screen, "1,000 of 4,000")
        progress.stage("writing")
        until(screen, "1 of 2: writing")
    # The line is taken away in the end.
    assert screen.getvalue().endswith("\x1b[2K")


def until(screen: Terminal, text: str) -> None:
    deadline = time.monotonic() + 10
    while text not in screen.getvalue():
        assert time.monotonic() < deadline, screen.getvalue()
        time.sleep(0.02)
