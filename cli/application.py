"""The Typer application: its commands, and what is said about it as a whole.

Nothing heavy is imported here or in the modules of the commands: what needs numpy, onnx or Rich is imported in the
body of the command that needs it.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.models import CommandInfo

from maxfold.cli.convert import convert
from maxfold.cli.diff import diff
from maxfold.cli.inspect import inspect
from maxfold.cli.ops import ops
from maxfold.cli.optimize import optimize
from maxfold.cli.output import write_stdout
from maxfold.cli.parameters import Version
from maxfold.cli.passes import passes
from maxfold.cli.shell import INTERRUPTED, Command, Group
from maxfold.cli.verify import verify

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Application(typer.Typer):
    """Ends without a traceback also where it is interrupted before a command runs."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # numpy loads a library of linear algebra that starts a thread for each processor, which takes longer than the
        # little that is multiplied here. Worker processes find the same.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # What is left goes with the process: it is not searched for garbage first. See also `run_tasks`.
        gc.disable()
        atexit.register(gc.freeze)
        commands = self.registered_commands
        self.registered_commands = _needed(commands, args[0] if args else kwargs.get("args"))
        try:
            return super().__call__(*args, **kwargs)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        finally:
            self.registered_commands = commands


def _needed(commands: list[CommandInfo], arguments: Sequence[str] | None) -> list[CommandInfo]:
    """The command that the arguments begin with, since Typer prepares the options of all that it gets."""
    first = next(iter(sys.argv[1:] if arguments is None else arguments), None)
    return [info for info in commands if info.callback is not None and info.callback.__name__ == first] or commands


app = Application(
    name="maxfold",
    cls=Group,
    context_settings=CONTEXT_SETTINGS,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    epilog="Exit status: 0 done; 1 the answer is no; 2 an error, told in one line; 130 interrupted.",
)


@app.callback()
def maxfold(context: typer.Context, version: Version = None) -> None:
    """Makes neural-network model files smaller without changing what they compute, and converts them."""
    if context.invoked_subcommand is None:
        write_stdout(f"{context.get_help()}\n")


for _function in (optimize, convert, verify, diff, inspect, passes, ops):
    app.command(cls=Command, context_settings=CONTEXT_SETTINGS, no_args_is_help=False)(_function)
