"""`maxfold ops`: the conversion table."""

from __future__ import annotations

import typer

from maxfold.cli import parameters as given
from maxfold.cli.shell import NO


def ops(
    name: given.OperatorName = None,
    json: given.Json = None,
    markdown: given.Markdown = None,
    verbose: given.Verbose = None,
    version: given.Version = None,
) -> None:
    """Lists the operators that can be converted, with their limits.

    NAME, or a part of it, in any case, shows only the operators so called, in full.
    """
    from maxfold.cli.errors import CommandError, one_line
    from maxfold.cli.output import stdout_console, write_json, write_stderr, write_stdout
    from maxfold.optimizer.operator_table import OPERATORS_SCHEMA, WITHOUT_FORM, operator_table

    if json and markdown:
        raise CommandError("--json and --markdown contradict each other; choose one")
    pairs = operator_table(name or "")
    if json:
        write_json({"schema": OPERATORS_SCHEMA, "operators": [pair.to_dict() for pair in pairs]})
    elif markdown:
        from maxfold.cli.operators_markdown import to_markdown

        write_stdout(to_markdown(pairs, WITHOUT_FORM))
    elif pairs:
        from maxfold.cli.operators_view import show_operators

        show_operators(stdout_console(), pairs, is_full=bool(name or verbose))
    if not pairs:
        write_stderr(f"maxfold: no operator of the table has {one_line(name or '')!r} in its name\n")
        raise typer.Exit(NO)
