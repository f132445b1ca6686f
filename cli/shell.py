"""How the commands behave towards the shell: help in sections, errors in one line, exit statuses.

Typer's own ways with errors and help differ between its releases, and its help in panels takes longer to start than
all of maxfold's help. So both are settled here, with what is common to those releases.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from maxfold.cli.errors import CommandError, describe, show_traceback
from maxfold.cli.output import discard_stdout, unwritable, write_error

DONE, NO, ERROR, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143
"""Exit statuses: done; the answer is no; an error, told in one line; ended by SIGINT; ended by SIGTERM."""

_PROGRAM = "maxfold"

_Sections = dict[str, list[tuple[str, str]]]
# Typer's own base class of errors for users; its releases have it in different places.
_TYPER_ERROR: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


class Command(TyperCommand):
    """A command whose help lists its options by section."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the one for help too, made to take their values as they are."""
        return _taking_values_as_they_are(super().get_params(ctx))

    def make_context(self, *args: Any, **settings: Any) -> Any:
        """Reads the arguments; help and version are printed here."""
        with _printing():
            return super().make_context(*args, **settings)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The options, then the arguments as their metavars have them."""
        arguments = [str(param.metavar) for param in self.params if param.param_type_name == "argument"]
        return [self.options_metavar or "", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options under the headings that they name."""
        _write_sections(self.get_params(ctx), formatter)


class Group(TyperGroup):
    """All commands. Whatever goes wrong in one of them becomes one line and an exit status here."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the one for help too, made to take their values as they are."""
        return _taking_values_as_they_are(super().get_params(ctx))

    def make_context(self, *args: Any, **settings: Any) -> Any:
        """Reads the arguments; help and version are printed here."""
        with _printing():
            return super().make_context(*args, **settings)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands first, then the options."""
        commands = [(name, self.commands[name].get_short_help_str(100)) for name in self.list_commands(ctx)]
        _write_sections(self.get_params(ctx), formatter, {"Commands": commands})

    def invoke(self, ctx: Any) -> Any:
        """Runs a command; an interrupt becomes an exit status before Typer can make anything else of it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(TERMINATED if isinstance(interrupt, _Terminated) else INTERRUPTED) from None
        except _TYPER_ERROR as error:
            # Some do not know in which command they were made.
            command = ctx.invoked_subcommand
            raise CommandError(_usage_line(error, f"{_PROGRAM} {command}" if command else _PROGRAM)) from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs the command line and exits with its status."""

        def run(**mode: Any) -> Any:
            return super(Group, self).main(args, _PROGRAM, complete_var, **mode, **extra)

        if not standalone_mode:
            return run(standalone_mode=False, windows_expand_args=windows_expand_args)
        try:
            with _terminable():
                status = run(standalone_mode=False, windows_expand_args=windows_expand_args)
        except (KeyboardInterrupt, typer.Abort):
            status = INTERRUPTED
        except Exception as error:
            status = _status_of(error)
        sys.exit(status if isinstance(status, int) else DONE)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which is to take unfinished output away just as an interrupt does."""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: Any) -> None:
    raise _Terminated


@contextlib.contextmanager
def _printing() -> Iterator[None]:
    """Typer prints help by itself; a reader who has closed standard output has read enough."""
    try:
        yield
    except BrokenPipeError:
        discard_stdout()
        raise typer.Exit(DONE) from None
    except OSError as error:
        raise unwritable(error) from None


def _status_of(error: Exception) -> int:
    show_traceback(error)
    write_error(_usage_line(error, _PROGRAM) if isinstance(error, _TYPER_ERROR) else describe(error))
    return ERROR


def _usage_line(error: Any, command: str) -> str:
    """A usage error of Typer's in the form of all others."""
    message = " ".join(str(error.format_message()).split()).rstrip(".").replace(". Did you mean", ", did you mean")
    separator = "" if message.endswith("?") else ";"
    return f"{message[:1].lower()}{message[1:]}{separator} try '{command} --help'"


def usage_error(message: str, command: str) -> CommandError:
    """An error in what was asked for, with where to read about it."""
    return CommandError(f"{message}; try '{_PROGRAM} {command} --help'")


class _AsIs:
    """Takes the place of Typer's conversion by pydantic."""

    @staticmethod
    def coerce(value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return value


def _taking_values_as_they_are(params: list[Any]) -> list[Any]:
    """All parameters are text, lists of text or switches, which need no conversion.

    Some Typer releases convert them with pydantic all the same, whose import takes as long as that of numpy. Those have
    this method; others are not affected.
    """
    for param in params:
        param.__dict__["get_runtime_param"] = _AsIs
    return params


def _write_sections(params: Iterable[Any], formatter: Any, first: _Sections | None = None) -> None:
    """Writes parameters under the headings that they name, below sections that are there already."""
    sections: _Sections = dict(first or {})
    for param in params:
        if getattr(param, "hidden", False):
            continue
        name = getattr(param, "rich_help_panel", None)
        if name is None:
            name = "Arguments" if param.param_type_name == "argument" else "Options"
        sections.setdefault(name, []).append((_spelling(param), getattr(param, "help", None) or ""))
    width = max((len(term) for rows in sections.values() for term, _ in rows), default=0)
    for name, rows in sections.items():
        with formatter.section(_heading(name)):
            # One width for all, so that the columns of all sections stand below each other.
            formatter.write_dl([(f"{term:<{width}}", text) for term, text in rows])


def _spelling(param: Any) -> str:
    if param.param_type_name == "argument":
        return str(param.metavar)
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {param.metavar}"


def _heading(name: str) -> str:
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if is_plain or sys.stdout is None or not sys.stdout.isatty():
        return name
    return typer.style(name, bold=True)
