"""`python -m bench scale`: large, external, long, growing, fanned-out and reversed synthetic models."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console

from bench import models, options
from bench.compare import Comparison, ModelResult, ToolResult, environment, importable, write_json
from bench.encoder import encoder
from bench.measure import run_process, warm
from bench.peers import YARDSTICK, Bench
from bench.structure import model_files
from bench.table import console, plain_table, print_header, print_remarks, ratio_text, size_text


@dataclass(frozen=True, slots=True)
class Case:
    """A synthetic model: how to write it, and whether its results are run and judged."""

    name: str
    group: str
    make: Callable[[Path], None]
    judged: bool = True


CASES: tuple[Case, ...] = (
    Case("nodes-12500", "nodes", lambda path: models.chain(path, nodes=12_500)),
    Case("nodes-25000", "nodes", lambda path: models.chain(path, nodes=25_000)),
    Case("nodes-50000", "nodes", lambda path: models.chain(path, nodes=50_000)),
    Case("concats-2000", "concats", lambda path: models.concats(path, nodes=2_000)),
    Case("concats-4000", "concats", lambda path: models.concats(path, nodes=4_000)),
    Case("concats-8000", "concats", lambda path: models.concats(path, nodes=8_000)),
    Case("fanout", "fanout", lambda path: models.fanout(path, consumers=10_000)),
    Case("reversed", "reversed", lambda path: models.chain(path, nodes=5_000, reverse=True)),
    Case("large", "large", lambda path: models.transformer(path, layers=8, width=1024, external=False)),
    Case(
        "encoder",
        "encoder",
        lambda path: encoder(path, layers=12, width=768, heads=12, inner=3072, vocabulary=30_522, positions=512),
        judged=False,
    ),
    Case(
        "external",
        "external",
        lambda path: models.transformer(path, layers=48, width=1024, external=True),
        judged=False,
    ),
)
GROUPS = tuple(dict.fromkeys(case.group for case in CASES))


def _copy_seconds(path: Path, folder: Path, repeat: int, timeout_seconds: float) -> list[float]:
    """Wall seconds of each `cp` of the model's files into an empty folder."""
    seconds = []
    for _ in range(repeat):
        target = folder / "copy"
        target.mkdir()
        files = [str(file) for file in model_files(path)]
        taken, _, error = run_process(["cp", *files, str(target)], folder, timeout_seconds)
        shutil.rmtree(target)
        os.sync()
        if error is None:
            seconds.append(taken)
    return seconds


def _nodes_text(result: ToolResult) -> str:
    return "-" if result.verdict is None or result.verdict.nodes is None else str(result.verdict.nodes)


def _outputs_text(model: ModelResult, result: ToolResult) -> str:
    if result.error:
        return "timed out" if result.error.startswith("timed out") else "failed"
    verdict = result.verdict
    if verdict is None:
        return "-"
    broken = verdict.checker and not model.original.checker
    return "invalid" if broken and verdict.outputs != "does not run" else verdict.outputs


def _print_case(out: Console, model: ModelResult, copy_seconds: float | None) -> None:
    title = f"{model.name}: {size_text(model.original.file_bytes)}"
    if model.original.nodes:
        title += f", {model.original.nodes} nodes"
    base = "cp" if copy_seconds else YARDSTICK
    table = plain_table(title, "tool", ["nodes", "s", f"x {base}", "CPU s", "peak MB", "growth\nx file", "outputs"])
    if copy_seconds:
        table.add_row("cp", "-", f"{copy_seconds:.2f}", "1.00", "-", "-", "-", "-")
    for result in model.tools:
        seconds = result.seconds_median()
        ratio = seconds / copy_seconds if seconds is not None and copy_seconds else model.ratio(result)
        cpu = result.cpu_median()
        table.add_row(
            result.tool,
            _nodes_text(result),
            "-" if seconds is None else f"{seconds:.2f}",
            ratio_text(ratio),
            "-" if cpu is None else f"{cpu:.2f}",
            "-" if result.peak_bytes is None or result.error else f"{result.peak_bytes / 1e6:.0f}",
            ratio_text(model.memory_ratio(result)),
            _outputs_text(model, result),
        )
    out.print(table)
    out.print()


def _print_growth(out: Console, results: list[ModelResult], group: str) -> None:
    """How the time grows over the chains of a group: 2.0 for a doubling is linear, 4.0 quadratic."""
    chains = [model for model in results if model.name.startswith(f"{group}-")]
    if len(chains) < 2:
        return
    columns = [f"{model.original.nodes}\ns" for model in chains] + ["last\ndoubling"]
    table = plain_table(f"Growth with the number of nodes: {group}", "tool", columns, "2.0 is linear, 4.0 quadratic")
    for result in chains[0].tools:
        found = [model.tool(result.tool) for model in chains]
        seconds = [None if tool is None else tool.seconds_median() for tool in found]
        last, before = seconds[-1], seconds[-2]
        growth = last / before if last is not None and before else None
        texts = ["-" if value is None else f"{value:.2f}" for value in seconds]
        table.add_row(result.tool, *texts, "-" if growth is None else f"{growth:.1f}")
    out.print(table)
    out.print()


def _run_case(
    case: Case, bench: Bench, scratch: Path, repeat: int, timeout_seconds: float, progress: Console
) -> tuple[ModelResult, float | None]:
    work, inputs = scratch / "work", scratch / "inputs"
    work.mkdir()
    inputs.mkdir()
    path = inputs / f"{case.name}.onnx"
    with progress.status(f"{case.name}: writing the model") as status:
        case.make(path)
        os.sync()
        # Half of the copies before the tools and half after, as the machine may drift.
        copies: list[float] = []
        if case.group == "external":
            status.update(f"{case.name}: cp")
            warm(*model_files(path))
            copies += _copy_seconds(path, work, repeat, timeout_seconds)
        comparison = Comparison(
            bench,
            work,
            repeat=repeat,
            timeout_seconds=timeout_seconds,
            judged=case.judged,
            progress=status.update,
        )
        result = comparison.model(case.name, path)
        if case.group == "external":
            copies += _copy_seconds(path, work, repeat, timeout_seconds)
    shutil.rmtree(work)
    shutil.rmtree(inputs)
    return result, median(copies) if copies else None


def _timed_out(results: list[ModelResult], group: str) -> dict[str, str]:
    """Tools that ran out of time on an earlier model of the group, and what to say of them on the next."""
    return {
        tool.tool: f"timed out on {model.name}"
        for model in results
        for tool in model.tools
        if model.name.startswith(group) and tool.error.startswith("timed out after")
    }


def main(arguments: list[str]) -> int:
    """Makes the synthetic models one at a time, runs the tools on each, prints tables; the exit status."""
    parser = options.parser(" scale", "Compares tools on synthetic models.", repeat=3)
    parser.add_argument(
        "--cases",
        type=options.names,
        default=list(GROUPS),
        metavar="A,B",
        help=f"of {', '.join(GROUPS)} (default: all)",
    )
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.cases) - set(GROUPS))
    if unknown:
        parser.error(f"unknown case {', '.join(unknown)}; known are {', '.join(GROUPS)}")
    progress = Console(stderr=True)
    with progress.status("importing the tools"):
        bench = importable(options.selected(parser, chosen))
    about = environment(bench)
    settings = {"repeat": chosen.repeat, "timeout_seconds": chosen.timeout_seconds, "cases": chosen.cases}
    results: list[ModelResult] = []
    copies: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        for case in CASES:
            if case.group not in chosen.cases:
                continue
            # A tool that ran out of time on a shorter chain is not made to do so again on a longer one.
            slow = _timed_out(results, case.group)
            result, copies[case.name] = _run_case(
                case, bench.without(slow), Path(scratch), chosen.repeat, chosen.timeout_seconds, progress
            )
            result.tools.extend(ToolResult(tool, error=error) for tool, error in slow.items())
            results.append(result)
            write_json(chosen.json, about, settings, {"models": results, "copy_seconds": copies})
    out = console()
    print_header(out, bench, about)
    for result in results:
        _print_case(out, result, copies[result.name])
    for group in ("nodes", "concats"):
        _print_growth(out, results, group)
    print_remarks(out, results)
    return 0
