"""`python -m bench runtime MODELS_DIR`: what runtimes make of each result, and how fast they run it.

ONNX Runtime and OpenVINO fuse nodes themselves, when they load a model. So a file of fewer nodes may end in more.
Counted here is what is left after that, with all optimizations on, and what was fused; latency is measured in turns, on
one thread.
"""

from __future__ import annotations

import argparse
import functools
import math
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import onnx
from rich.console import Console

from bench import options
from bench.compare import environment, importable, write_json
from bench.inputs import ATTEMPTS, CannotDrawError, Feed, draw_feed, input_specs
from bench.measure import run_python, turn_seconds
from bench.node_runtimes import executed_nodes, openvino_core
from bench.peers import YARDSTICK, Bench, Tool
from bench.structure import model_files
from bench.table import console, plain_table, print_header, ratio_text

ORIGINAL = "original"
# What ONNX Runtime makes of patterns of several nodes.
FUSED = (
    "LayerNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization", "RMSNormalization",
    "Gelu", "BiasGelu", "FastGelu", "QuickGelu", "QLinearConv", "QLinearAdd", "MatMulIntegerToFloat",
    "DynamicQuantizeMatMul", "FusedGemm",
)  # fmt: skip
# What OpenVINO's CPU puts in and takes out as layouts demand.
_LAYOUTS = ("Transpose", "Reorder")


@dataclass(slots=True)
class Loaded:
    """One variant of a model in the runtimes; an `error` says which of them refused it, and why."""

    name: str
    file_nodes: int = 0
    nodes: int = 0
    fused: dict[str, int] = field(default_factory=dict)
    openvino_nodes: int | None = None
    load_seconds: float = 0.0
    run_seconds: list[float] = field(default_factory=list)
    error: str = ""

    def latency(self) -> float | None:
        """Median seconds of one run."""
        return median(self.run_seconds) if self.run_seconds else None


@dataclass(slots=True)
class Row:
    """A model and all its variants, the original first."""

    name: str
    variants: list[Loaded]

    def ratio(self, variant: Loaded) -> float | None:
        """Latency over that of the original."""
        own, base = variant.latency(), self.variants[0].latency()
        return own / base if own is not None and base else None


def main(arguments: list[str]) -> int:
    """Measures all models of a folder; 1 where a runtime is left with more of its own nodes than from an original."""
    parser = options.parser(" runtime", "What runtimes make of the results, and how fast they run them.", repeat=20)
    options.add_models(parser)
    parser.add_argument("--no-latency", action="store_true", help="count nodes alone")
    parser.add_argument("--no-openvino", action="store_true", help="ONNX Runtime alone")
    chosen = parser.parse_args(arguments)
    bench = _selected(parser, chosen)
    paths = options.models(parser, chosen)
    rows: list[Row] = []
    about = environment(bench)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, Console(stderr=True).status("starting") as status:
        for name, path in paths.items():
            status.update(name)
            rows.append(_row(name, path, bench, Path(scratch), chosen))
            write_json(chosen.json, about, {"repeat": chosen.repeat, "only": chosen.only}, rows)
    out = console()
    print_header(out, bench, about)
    _print(out, rows)
    return 1 if any(_is_worse(row, variant) for row in rows for variant in _own(row)) else 0


def _selected(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> Bench:
    if chosen.tools is None:
        chosen.tools = ["maxfold", "maxfold-relaxed", "onnxslim"]
    return importable(options.selected(parser, chosen))


def _row(name: str, path: Path, bench: Bench, scratch: Path, chosen: argparse.Namespace) -> Row:
    variants = [Loaded(ORIGINAL)]
    files = {ORIGINAL: path}
    for tool in bench.tools:
        if tool.name == YARDSTICK:
            continue
        made = Loaded(tool.name)
        files[tool.name] = _rewritten(tool, path, bench, scratch, chosen.timeout_seconds, made)
        variants.append(made)
    sessions: dict[str, Any] = {}
    for variant in variants:
        if not variant.error:
            _load(variant, files[variant.name], scratch, sessions, with_openvino=not chosen.no_openvino)
    if not chosen.no_latency:
        _run_in_turns(path, variants, sessions, chosen.repeat)
    return Row(name, variants)


def _rewritten(tool: Tool, path: Path, bench: Bench, scratch: Path, timeout_seconds: float, made: Loaded) -> Path:
    folder = scratch / tool.name
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    target = folder / "rewritten.onnx"
    data = "rewritten.onnx.data" if len(model_files(path)) > 1 else ""
    body = f"{tool.imports}\n{tool.work}"
    run = run_python(bench.python(tool), body, path, target, data, scratch, timeout_seconds)
    made.error = run.error or ("" if target.exists() else "wrote no file")
    return target


def _load(variant: Loaded, path: Path, scratch: Path, sessions: dict[str, Any], *, with_openvino: bool) -> None:
    import onnxruntime

    variant.file_nodes = _node_counts(path).total()
    optimized = scratch / "optimized.onnx"
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    try:
        started = time.perf_counter()
        sessions[variant.name] = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        variant.load_seconds = time.perf_counter() - started
        settings.optimized_model_filepath = str(optimized)
        onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's classes of errors have no common base
        variant.error = f"ONNX Runtime: {error}".splitlines()[0]
        return
    counts = _node_counts(optimized)
    variant.nodes = counts.total()
    variant.fused = {name: counts[name] for name in FUSED if counts[name]}
    if with_openvino:
        variant.openvino_nodes = _openvino_nodes(path)


def _node_counts(path: Path) -> Counter[str]:
    """Nodes by operator, those of subgraphs too, without constants."""
    model = onnx.load(path, load_external_data=False)
    counts: Counter[str] = Counter()
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        counts.update(node.op_type for node in graph.node if node.op_type != "Constant")
        pending += [item.g for node in graph.node for item in node.attribute if item.HasField("g")]
    return counts


def _openvino_nodes(path: Path) -> int | None:
    """Nodes that OpenVINO's CPU runs; None where it does not read or compile the model.

    None for an If or a Loop too: OpenVINO does not show what it makes of a body.
    """
    model = onnx.load(path, load_external_data=False)
    if any(item.HasField("g") for node in model.graph.node for item in node.attribute):
        return None
    try:
        counts = executed_nodes(openvino_core().compile_model(str(path), "CPU"))
    except Exception:  # openvino raises plain exceptions of several kinds
        return None
    return sum(count for kind, count in counts.items() if kind not in _LAYOUTS)


def _run_in_turns(path: Path, variants: list[Loaded], sessions: Mapping[str, Any], repeat: int) -> None:
    ready = [variant for variant in variants if not variant.error]
    feed = _feed(path, sessions[ORIGINAL]) if ORIGINAL in sessions else None
    if feed is None:
        return
    for turn in range(repeat + 1):
        for variant in ready:
            run = functools.partial(sessions[variant.name].run, None, feed)
            try:
                seconds = turn_seconds(run)
            except Exception as error:  # the runtime's classes of errors have no common base
                variant.error = f"ONNX Runtime: {error}".splitlines()[0]
                ready.remove(variant)
                break
            # The first turn warms up.
            if turn:
                variant.run_seconds.append(seconds)


def _feed(path: Path, session: Any) -> Feed | None:
    specs = input_specs(onnx.load(path, load_external_data=False))
    for attempt in range(ATTEMPTS):
        try:
            _, feed = draw_feed(specs, 1, attempt)
            session.run(None, feed)
        except CannotDrawError:
            return None
        except Exception:
            continue
        return feed
    return None


def _own(row: Row) -> list[Loaded]:
    return [variant for variant in row.variants if variant.name.startswith("maxfold")]


def _is_worse(row: Row, variant: Loaded) -> bool:
    base = row.variants[0]
    if base.error or variant.error:
        return bool(variant.error) and not base.error
    if variant.nodes > base.nodes:
        return True
    return None not in (base.openvino_nodes, variant.openvino_nodes) and (
        (variant.openvino_nodes or 0) > (base.openvino_nodes or 0)
    )


def _print(out: Console, rows: list[Row]) -> None:
    names = [variant.name for variant in rows[0].variants] if rows else []
    for title, text in (
        ("Nodes in ONNX Runtime, after its own fusions", lambda row, item: str(item.nodes)),
        ("Nodes in OpenVINO, after its own fusions", lambda row, item: str(item.openvino_nodes or "-")),
        ("Latency in ONNX Runtime, over that of the original", lambda row, item: ratio_text(row.ratio(item))),
    ):
        table = plain_table(title, "model", names)
        for row in rows:
            table.add_row(row.name, *("failed" if item.error else text(row, item) for item in row.variants))
        table.add_row("all", *_totals(rows, title, len(names)))
        out.print(table)
    table = plain_table("Fused by ONNX Runtime", "operator", names)
    for name in FUSED:
        counts = [sum(row.variants[place].fused.get(name, 0) for row in rows) for place in range(len(names))]
        if any(counts):
            table.add_row(name, *map(str, counts))
    out.print(table)
    for row in rows:
        for variant in row.variants:
            if variant.error:
                out.print(f"{row.name}, {variant.name}: {variant.error}", markup=False, soft_wrap=True)


def _totals(rows: list[Row], title: str, count: int) -> list[str]:
    """Sums over models that all variants have; for latencies the geometric mean."""
    whole = [row for row in rows if not any(item.error for item in row.variants)]
    if "Latency" in title:
        logs = [
            [math.log(ratio) for row in whole if (ratio := row.ratio(row.variants[place]))] for place in range(count)
        ]
        return [ratio_text(math.exp(sum(found) / len(found))) if found else "-" for found in logs]
    if "OpenVINO" in title:
        whole = [row for row in whole if None not in [item.openvino_nodes for item in row.variants]]
        return [str(sum(row.variants[place].openvino_nodes or 0 for row in whole)) for place in range(count)]
    return [str(sum(row.variants[place].nodes for row in whole)) for place in range(count)]
