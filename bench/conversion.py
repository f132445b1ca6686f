"""`python -m bench conversion MODELS_DIR`: maxfold's conversion to OpenVINO IR beside OpenVINO's own, model by model.

Both convert as whole processes, in turns. OpenVINO's CPU loads and runs both results: whether they give what ONNX
Runtime gives on the ONNX file, which nodes are left after the plugin's fusions, and how long a load and a run take.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from rich.console import Console

from bench import conversion_tables, options, workers
from bench.compare import ToolResult, environment, write_json
from bench.conversion_judge import Seen, Task, Times, race, see
from bench.judge import Original, judge_original
from bench.measure import Baselines, run_python, warm
from bench.peers import Bench, Tool
from bench.structure import model_files
from bench.table import console

R = TypeVar("R")

MAXFOLD = Tool(
    name="maxfold",
    heading="maxfold",
    distribution="maxfold",
    imports="from maxfold.cli import app",
    work="sys.argv = ['maxfold', 'convert', SOURCE, '-o', TARGET, '-q']\napp()",
    is_peer=False,
)
OPENVINO = Tool(
    name="openvino",
    heading="openvino",
    distribution="openvino",
    imports="import openvino",
    work="openvino.save_model(openvino.convert_model(SOURCE), TARGET, compress_to_fp16=False)",
    is_peer=False,
)
TOOLS = (MAXFOLD, OPENVINO)
# What may not happen to a result of maxfold alone.
FAULTS = ("wrong", "not loaded", "crashed")
_REFUSAL = "cannot be converted to OpenVINO IR: "
_LONGEST_REASON = 200


@dataclass(slots=True)
class Side:
    """What a tool made of a model, and what OpenVINO makes of that.

    `status` is that of `Seen`, or "refused" (the tool says that it does not convert the model) or "crashed" (a process
    ended or took too long).
    """

    conversion: ToolResult
    status: str = ""
    reason: str = ""
    seen: Seen | None = None
    times: Times = field(default_factory=Times)

    def nodes(self) -> int | None:
        """Nodes that OpenVINO runs; None where that is not known."""
        return None if self.seen is None else self.seen.count()


@dataclass(slots=True)
class Row:
    """A model by both tools."""

    name: str
    original: Original
    ours: Side
    theirs: Side

    def ratio(self, of: Callable[[Side], float | None]) -> float | None:
        """A quantity of ours over that of theirs; None where one is missing."""
        ours, theirs = of(self.ours), of(self.theirs)
        return ours / theirs if ours is not None and theirs else None

    def latency(self) -> float | None:
        """Median over the turns of our seconds over theirs."""
        pairs = zip(self.ours.times.run_seconds, self.theirs.times.run_seconds, strict=True)
        ratios = [ours / theirs for ours, theirs in pairs]
        return median(ratios) if ratios else None

    def has_fault(self) -> bool:
        """Whether an IR of ours is wrong, is not loaded or ended a process, and not as that of theirs is."""
        found, beside = ((side.status, side.reason) for side in (self.ours, self.theirs))
        return self.ours.status in FAULTS and found != beside

    def has_more_nodes(self) -> bool:
        """Whether OpenVINO is left with more nodes of ours."""
        ours, theirs = self.ours.nodes(), self.theirs.nodes()
        return ours is not None and theirs is not None and ours > theirs


def main(arguments: list[str]) -> int:
    """Converts all models of a folder both ways; 1 where a result of maxfold has a fault of its own."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    paths = options.models(parser, chosen)
    versions = {name: importlib.metadata.version(name) for name in ("maxfold", "onnx", "openvino", "onnxruntime")}
    about = environment(Bench(TOOLS, sys.executable, versions, {}, ()))
    settings = {"repeat": chosen.repeat, "turns": chosen.turns, "only": chosen.only}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Console(stderr=True).status("starting") as status:
        scratch = Path(folder)
        baselines = Baselines(scratch)
        for name, path in paths.items():
            status.update(name)
            rows.append(_row(name, path, scratch, baselines, chosen))
            if chosen.json:
                write_json(chosen.json, about, settings, rows)
    out = console()
    conversion_tables.print_all(out, about, rows)
    return 1 if any(row.has_fault() for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench conversion", description="Conversion to OpenVINO IR, beside OpenVINO's own."
    )
    options.add_models(parser)
    parser.add_argument("--no-latency", action="store_true", help="neither time loads nor runs")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="conversions a tool (default %(default)s)")
    parser.add_argument("--turns", type=int, default=20, metavar="N", help="turns of runs (default %(default)s)")
    parser.add_argument("--timeout-seconds", type=float, default=600.0, metavar="S", help="limit of one process")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the results there")
    return parser


def _row(name: str, path: Path, scratch: Path, baselines: Baselines, chosen: argparse.Namespace) -> Row:
    seconds: float = chosen.timeout_seconds
    judged = _alone(judge_original, path, seconds)
    plan = Original(not_judged=judged.message) if isinstance(judged, workers.Lost) else judged
    sides = {tool.name: Side(ToolResult(tool.name)) for tool in TOOLS}
    files = {tool.name: scratch / tool.name / "converted.xml" for tool in TOOLS}
    warm(*model_files(path))
    for _ in range(chosen.repeat):
        for tool in TOOLS:
            if not sides[tool.name].status:
                _convert(tool, path, files[tool.name], baselines, sides[tool.name], seconds)
    loaded = {}
    for made, side in sides.items():
        if not side.status:
            _see(Task(path, plan, {made: files[made]}), side, seconds)
        if side.seen is not None and side.status != "not loaded":
            loaded[made] = files[made]
    if len(loaded) == len(TOOLS) and plan.draws and not chosen.no_latency:
        _time(Task(path, plan, loaded, chosen.turns), sides, seconds)
    return Row(name, plan, sides[MAXFOLD.name], sides[OPENVINO.name])


def _convert(tool: Tool, path: Path, target: Path, baselines: Baselines, side: Side, timeout_seconds: float) -> None:
    target.parent.mkdir(exist_ok=True)
    for file in target.parent.iterdir():
        file.unlink()
    body = f"{tool.imports}\n{tool.work}"
    run = run_python(sys.executable, body, path, target, "", target.parent.parent, timeout_seconds)
    if run.error is None and target.exists():
        side.conversion.add(run, baselines, sys.executable)
        return
    side.conversion.error = run.error or "wrote no file"
    side.status, side.reason = refusal(tool, side.conversion.error)


def refusal(tool: Tool, error: str) -> tuple[str, str]:
    """Status and reason where a conversion has no result.

    OpenVINO's refusals are exceptions; maxfold's have a text of their own, and all else is a fault.
    """
    last = error.strip().splitlines()[-1]
    if tool is OPENVINO:
        return "refused" if error.startswith("exit status") else "crashed", last[:_LONGEST_REASON]
    _, found, reason = " ".join(error.split()).partition(_REFUSAL)
    if not found:
        return "crashed", last[:_LONGEST_REASON]
    return "refused", reason.removesuffix("; see 'maxfold ops' for what can")[:_LONGEST_REASON]


def _see(task: Task, side: Side, timeout_seconds: float) -> None:
    found = _alone(see, task, timeout_seconds)
    if isinstance(found, workers.Lost):
        side.status, side.reason = "crashed", found.message
        return
    side.seen, side.status, side.reason = found, found.status, found.reason


def _time(task: Task, sides: Mapping[str, Side], timeout_seconds: float) -> None:
    found = _alone(race, task, timeout_seconds)
    if isinstance(found, workers.Lost):
        return
    for tool, times in found.items():
        sides[tool].times = times


def _alone(check: Callable[[Any], R], task: Any, timeout_seconds: float) -> R | workers.Lost:
    """What `check` gives in a process of its own: OpenVINO and ONNX Runtime may end it."""
    ((_, found),) = workers.run(check, [task], jobs=1, timeout_seconds=timeout_seconds)
    return found
