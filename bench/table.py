"""Tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.compare import ModelResult, ToolResult
from bench.peers import Bench, Tool

WIDTH = 80
_NAME_WIDTH = 30
_SMALL_BYTES = 1_000_000
_LARGE_BYTES = 60_000_000
_MIDDLE_BYTES = 5_000_000

Cell = Callable[[ModelResult, ToolResult], str]


def console(width: int = WIDTH) -> Console:
    """Standard output; that many columns wide where it is no terminal."""
    made = Console(highlight=False)
    if not made.is_terminal:
        made = Console(highlight=False, width=width)
    return made


def plain_table(title: str, first: str, columns: Sequence[str], caption: str = "") -> Table:
    """A table with a left column and right-aligned others."""
    table = Table(
        title=title,
        caption=caption or None,
        box=SIMPLE_HEAD,
        padding=0,
        show_edge=False,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
    )
    table.add_column(first, no_wrap=True, overflow="ellipsis", max_width=_NAME_WIDTH)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def ratio_text(value: float | None) -> str:
    """A ratio with three figures: 0.52, 1.05, 24.1, 310; "-" for none."""
    if value is None:
        return "-"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def size_text(size_bytes: float) -> str:
    """A size in decimal units: 812 B, 58.9 kB, 5.11 MB, 2.40 GB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.3g} {unit}"
    return f"{size_bytes:.0f} B"


def _mark(result: ToolResult, original_checker: str) -> str:
    verdict = result.verdict
    if verdict is None or verdict.outputs == "not judged":
        return "?"
    if verdict.outputs == "does not run" or (verdict.checker and not original_checker):
        return "!"
    return "~" if verdict.outputs == "differ" else " "


def _nodes(model: ModelResult, result: ToolResult) -> str:
    if result.error or result.verdict is None or result.verdict.nodes is None:
        return "x "
    return f"{result.verdict.nodes}{_mark(result, model.original.checker)}"


def _size(model: ModelResult, result: ToolResult) -> str:
    if result.output_bytes is None or result.error:
        return "x"
    return f"{100 * result.output_bytes / model.original.file_bytes:.1f}"


def _time(model: ModelResult, result: ToolResult) -> str:
    return "x" if result.error else ratio_text(model.ratio(result))


def _memory(model: ModelResult, result: ToolResult) -> str:
    return "x" if result.error else ratio_text(model.memory_ratio(result))


def _at_least(results: list[ModelResult], size_bytes: int) -> list[ModelResult]:
    return [model for model in results if model.original.file_bytes >= size_bytes]


def _matrix(
    title: str, caption: str, results: list[ModelResult], tools: tuple[Tool, ...], cell: Cell, last: list[str]
) -> Table:
    table = plain_table(title, "model", [tool.heading for tool in tools], caption)
    for model in results:
        cells = [model.tool(tool.name) for tool in tools]
        table.add_row(model.name, *("-" if result is None else cell(model, result) for result in cells))
    table.add_section()
    table.add_row(*last, style="bold")
    return table


def _of_tool(results: list[ModelResult], tool: Tool) -> list[tuple[ModelResult, ToolResult]]:
    pairs = ((model, model.tool(tool.name)) for model in results)
    return [(model, result) for model, result in pairs if result is not None]


def _median_of(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _left(model: ModelResult, result: ToolResult, *, exact_only: bool) -> int:
    """Nodes after a tool; those of the original where it failed or, if asked, its result is not exact."""
    verdict = result.verdict
    if result.error or verdict is None or verdict.nodes is None or (exact_only and not result.exact):
        return model.original.nodes
    return verdict.nodes


def _ratios(results: list[ModelResult], tool: Tool) -> str:
    return ratio_text(_median_of([model.ratio(result) for model, result in _of_tool(results, tool)]))


def _memory_ratios(results: list[ModelResult], tool: Tool) -> str:
    return ratio_text(_median_of([model.memory_ratio(result) for model, result in _of_tool(results, tool)]))


def _nodes_sum(results: list[ModelResult], tool: Tool, *, exact_only: bool) -> int:
    return sum(_left(model, result, exact_only=exact_only) for model, result in _of_tool(results, tool))


def _size_share(results: list[ModelResult], tool: Tool) -> str:
    """Sum of output sizes over the sum of input sizes in percent, of the models that the tool wrote."""
    pairs = [(model, result) for model, result in _of_tool(results, tool) if not result.error]
    before = sum(model.original.file_bytes for model, _ in pairs)
    return f"{100 * sum(result.output_bytes or 0 for _, result in pairs) / before:.1f}" if before else "-"


def _matrices(results: list[ModelResult], tools: tuple[Tool, ...]) -> list[Table]:
    marks = "~ outputs differ, ! invalid or does not run, ? not judged, x no result"
    nodes = ["sum", *(f"{_nodes_sum(results, tool, exact_only=False)} " for tool in tools)]
    sizes = ["all", *(_size_share(results, tool) for tool in tools)]
    times = ["median", *(_ratios(results, tool) for tool in tools)]
    tables = [
        _matrix("Nodes left", marks, results, tools, _nodes, nodes),
        _matrix("Output size, % of input", "", results, tools, _size, sizes),
        _matrix("Time, x load + save", "", results, tools, _time, times),
    ]
    grown = _at_least(results, _SMALL_BYTES)
    if grown:
        medians = ["median", *(_memory_ratios(grown, tool) for tool in tools)]
        title = f"Peak memory growth, x file size (files of {size_text(_SMALL_BYTES)} and more)"
        tables.append(_matrix(title, "", grown, tools, _memory, medians))
    return tables


def _cost_table(results: list[ModelResult], tools: tuple[Tool, ...]) -> Table:
    columns = ["wrote", "time\nall", "time\n60 MB+", "CPU\nall", "memory\n1 MB+", "memory\n5 MB+", "total\ns"]
    caption = "Medians. time, CPU: x load + save; memory: growth, x file size; of files of that size and more."
    table = plain_table("Cost", "tool", columns, caption)
    for tool in tools:
        pairs = _of_tool(results, tool)
        table.add_row(
            tool.name,
            f"{sum(not result.error for _, result in pairs)}/{len(pairs)}",
            _ratios(results, tool),
            _ratios(_at_least(results, _LARGE_BYTES), tool),
            ratio_text(_median_of([model.ratio(result, cpu=True) for model, result in pairs])),
            _memory_ratios(_at_least(results, _SMALL_BYTES), tool),
            _memory_ratios(_at_least(results, _MIDDLE_BYTES), tool),
            f"{sum(result.seconds_median() or 0.0 for _, result in pairs):.1f}",
        )
    return table


def _result_table(results: list[ModelResult], tools: tuple[Tool, ...]) -> Table:
    columns = ["nodes\nleft", "of them\nexact", "same\nbits", "differ", "not\nrun", "in-\nvalid"]
    columns += ["inter-\nface", "meta-\ndata", "varies"]
    nodes = sum(model.original.nodes for model in results)
    judged = sum(not model.original.not_judged for model in results)
    caption = (
        f"{len(results)} models of {nodes} nodes, {judged} judged. exact: nodes left when a result counts "
        "only if valid and of the same bits. interface, metadata: models where they changed or were lost. "
        "varies: not the same file each time."
    )
    table = plain_table("Results, in models", "tool", columns, caption)
    for tool in tools:
        pairs = _of_tool(results, tool)
        verdicts = [(model, result.verdict) for model, result in pairs if result.verdict is not None]
        outcome = [verdict.outputs for _, verdict in verdicts]
        table.add_row(
            tool.name,
            str(_nodes_sum(results, tool, exact_only=False)),
            str(_nodes_sum(results, tool, exact_only=True)),
            str(outcome.count("same bits")),
            str(outcome.count("differ")),
            str(outcome.count("does not run")),
            str(sum(bool(verdict.checker) and not model.original.checker for model, verdict in verdicts)),
            str(sum(bool(verdict.interface) for _, verdict in verdicts)),
            str(sum(bool(verdict.metadata) for _, verdict in verdicts)),
            str(sum(result.varies for _, result in pairs)),
        )
    return table


def _remarks(model: ModelResult, result: ToolResult) -> list[str]:
    if result.error:
        return [f"no result: {result.error.strip().splitlines()[-1][:200]}"]
    verdict = result.verdict
    if verdict is None:
        return []
    remarks = []
    if verdict.outputs == "differ":
        numbers = f"abs {verdict.max_abs:.1e}, rel {verdict.max_rel:.1e}, nudged {verdict.nudged_abs:.1e}"
        remarks.append(f"differ: {verdict.detail or numbers}")
    elif verdict.outputs == "does not run":
        remarks.append(f"does not run: {verdict.detail[:200]}")
    if verdict.checker and not model.original.checker:
        remarks.append(f"invalid: {verdict.checker[:200]}")
    if verdict.interface:
        remarks.append(f"changed: {', '.join(verdict.interface)}")
    if verdict.metadata:
        remarks.append(f"metadata lost: {', '.join(verdict.metadata)}")
    if result.varies:
        remarks.append("not the same file each time")
    return remarks


def print_remarks(out: Console, results: list[ModelResult]) -> None:
    """One paragraph a model: what each tool did wrong, and why something was not judged."""
    out.print(Text("Remarks", style="bold"))
    for model in results:
        lines = [f"{result.tool}: {'; '.join(found)}" for result in model.tools if (found := _remarks(model, result))]
        if model.original.not_judged:
            lines.insert(0, f"not judged: {model.original.not_judged}")
        if not lines:
            continue
        out.print(Text(model.name, style="underline"))
        for line in lines:
            out.print(Text(f"  {line}"), soft_wrap=False)
    out.print()


def print_header(out: Console, bench: Bench, environment: dict[str, Any]) -> None:
    """Versions, machine and date."""
    own, peers = environment["versions"], environment["peers_versions"]
    out.print(f"{environment['date']}, {environment['platform']}, {environment['cpu_count']} CPUs")
    named = [f"Python {own['python']}"]
    named += [f"{tool} {own[tool]}" for tool in ("maxfold", "onnx", "numpy", "onnxruntime") if tool in own]
    out.print(f"judge, yardstick, maxfold: {', '.join(named)}")
    named = [
        f"Python {peers['python']}",
        *(f"{tool} {peers[tool]}" for tool in sorted(peers) if tool != "python"),
    ]
    out.print(f"peers: {', '.join(named)}")
    if bench.missing:
        out.print(f"not installed: {', '.join(bench.missing)}")
    out.print()


def print_results(out: Console, results: list[ModelResult], tools: tuple[Tool, ...]) -> None:
    """All tables of a comparison."""
    for table in (*_matrices(results, tools), _cost_table(results, tools), _result_table(results, tools)):
        out.print(table)
        out.print()
    print_remarks(out, results)
