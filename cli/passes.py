"""`maxfold passes`: the catalogue of rewrites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxfold.cli import parameters as given

if TYPE_CHECKING:
    from maxfold.optimizer.pipeline import PassInfo

PASSES_SCHEMA = "maxfold.passes/1"


def passes(
    names: given.PassNames = None,
    json: given.Json = None,
    markdown: given.Markdown = None,
    version: given.Version = None,
) -> None:
    """Lists the passes, in the order in which they run, and those that installed packages bring.

    For each: whether it is exact, what it does, and its options with their defaults. NAMEs choose some of them.
    """
    from maxfold.cli.errors import CommandError
    from maxfold.cli.output import write_json, write_stdout
    from maxfold.optimizer import catalogue

    if json and markdown:
        raise CommandError("--json and --markdown contradict each other; choose one")
    if names and markdown:
        raise CommandError("--markdown prints all passes; leave out the names, or --markdown")
    entries = catalogue()
    if markdown:
        from maxfold.cli.passes_markdown import to_markdown
        from maxfold.optimizer.pipeline import folded_operators

        write_stdout(to_markdown(entries, folded_operators()))
        return
    from maxfold.optimizer.pipeline import installed_passes

    entries = _named(entries + installed_passes(), names or [])
    if json:
        write_json({"schema": PASSES_SCHEMA, "passes": [_to_dict(entry) for entry in entries]})
        return
    _show(entries)


def _named(entries: tuple[PassInfo, ...], names: list[str]) -> tuple[PassInfo, ...]:
    from maxfold.cli.errors import CommandError
    from maxfold.model.spelling import did_you_mean

    known = [entry.name for entry in entries]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or "'maxfold passes' lists all"
            raise CommandError(f"{name!r} is not the name of a pass; {hint}")
    return tuple(entry for entry in entries if not names or entry.name in names)


def _to_dict(entry: PassInfo) -> dict[str, Any]:
    return {"name": entry.name, "summary": entry.summary, "mode": entry.mode, "options": dict(entry.options)}


def _show(entries: tuple[PassInfo, ...]) -> None:
    from maxfold.cli.layout import columns, plain, print_lines, wrapped
    from maxfold.cli.output import stdout_console

    console = stdout_console()
    heads = columns([[entry.name, entry.mode, entry.summary] for entry in entries], "lll", ("bold", "dim", ""))
    is_narrow = console.is_terminal and max(head.cell_len for head in heads) > console.width
    if is_narrow:
        heads = columns([[entry.name, entry.mode] for entry in entries], "ll", ("bold", "dim"))
    lines = []
    for head, entry in zip(heads, entries, strict=True):
        details = wrapped(entry.summary, console.width - 4) if is_narrow else []
        details += [f"{name} = {'unset' if value is None else value}" for name, value in entry.options.items()]
        lines.append(head)
        lines += [plain(f"    {detail}", "dim") for detail in details]
    print_lines(console, lines)
