"""Loads IR files in OpenVINO's CPU: what it makes of them, what they give, and how fast. For processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.inputs import Feed, draw_feed, input_specs, nudge
from bench.judge import Original, compare, runner
from bench.measure import turn_seconds
from bench.node_runtimes import executed_nodes, filled_request, openvino_core, request_outputs

# Of the largest magnitude of an output.
TOLERANCE = 1e-3
# Nodes that have graphs inside, which OpenVINO does not show.
_WITH_BODY = ("If", "Loop", "TensorIterator")
_LOADS = 3
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Task:
    """The IR files of a model by tool, and the inputs on which the ONNX file runs."""

    source: Path
    plan: Original
    files: dict[str, Path]
    turns: int = 0


@dataclass(slots=True)
class Seen:
    """An IR in OpenVINO: "right", "unstable", "wrong", "not judged" or "not loaded".

    "unstable" is further from the original than the tolerance, but no further than the original moves by itself when
    each float of its inputs moves to the next one. `apart` is the largest difference over the largest magnitude of
    its output.
    """

    status: str
    reason: str = ""
    nodes: dict[str, int] = field(default_factory=dict)
    apart: float = 0.0

    def count(self) -> int | None:
        """Nodes that run; None where some have graphs inside."""
        return None if any(kind in self.nodes for kind in _WITH_BODY) or not self.nodes else sum(self.nodes.values())


@dataclass(slots=True)
class Times:
    """Seconds of each load of a file, and of one run in each turn."""

    load_seconds: list[float] = field(default_factory=list)
    run_seconds: list[float] = field(default_factory=list)


def see(task: Task) -> Seen:
    """What OpenVINO makes of the only file of the task, against ONNX Runtime on the source."""
    (path,) = task.files.values()
    try:
        compiled = openvino_core().compile_model(str(path), "CPU")
        seen = Seen("right", nodes=dict(executed_nodes(compiled)))
    except Exception as error:  # openvino raises plain exceptions of several kinds
        return Seen("not loaded", _first_line(error))
    if task.plan.not_judged:
        seen.status, seen.reason = "not judged", task.plan.not_judged
        return seen
    model = onnx.load(task.source, load_external_data=False)
    names = [value.name for value in model.graph.output]
    specs, run = input_specs(model), runner(task.source)
    for seed, attempt in task.plan.draws:
        if seen.status in ("right", "unstable"):
            _judge(seen, names, draw_feed(specs, seed, attempt)[1], run, compiled)
    return seen


def _judge(seen: Seen, names: list[str], feed: Feed, run: Callable[[Feed], list[Any]], compiled: Any) -> None:
    """Lowers the status of `seen` by what the model gives for one feed."""
    missing = [name for name in feed if not _has(compiled.inputs, name)]
    missing += [name for name in names if not _has(compiled.outputs, name)]
    if missing:
        seen.status, seen.reason = "wrong", f"{missing[0]} is missing"
        return
    expected, moved = run(feed), run(nudge(feed))
    try:
        request = _request(compiled, feed)
        request.infer()
    except Exception as error:  # openvino raises plain exceptions of several kinds
        seen.status, seen.reason = "not loaded", _first_line(error)
        return
    found = request_outputs(request)
    for name, old, near in zip(names, expected, moved, strict=True):
        apart, is_unstable, reason = difference(old, found[_place(compiled.outputs, name)], near)
        seen.apart = max(seen.apart, apart)
        if reason:
            seen.status, seen.reason = "wrong", f"{name}: {reason}"
            return
        if is_unstable:
            seen.status = "unstable"


def difference(expected: Any, found: Any, nudged: Any) -> tuple[float, bool, str]:
    """How far an output is off over its largest magnitude, whether only as the original moves, or what is wrong."""
    apart = compare([expected], [found])
    own = compare([expected], [nudged])
    if apart.detail:
        return 0.0, not own.same, "" if apart.detail == own.detail else apart.detail
    array = np.asarray(expected)
    magnitudes = np.abs(array.astype(np.float64)) if array.dtype.kind in "fiu" else np.zeros(0)
    scale = float(magnitudes[np.isfinite(magnitudes)].max(initial=0.0))
    relative = apart.max_abs / scale if scale else float(apart.max_abs > 0)
    if apart.max_abs <= (TOLERANCE * scale if array.dtype.kind == "f" else 0.0):
        return relative, False, ""
    if apart.max_abs <= own.max_abs:
        return relative, True, ""
    return relative, False, f"off by {apart.max_abs:.1e}, magnitude {scale:.1e}, moves by {own.max_abs:.1e} by itself"


def _has(ports: list[Any], name: str) -> bool:
    return any(name in port.get_names() for port in ports)


def _place(ports: list[Any], name: str) -> int:
    return next(index for index, port in enumerate(ports) if name in port.get_names())


def _request(compiled: Any, feed: Feed) -> Any:
    places = {_place(compiled.inputs, name): value for name, value in feed.items()}
    return filled_request(compiled, [places[index] for index in range(len(compiled.inputs))])


def race(task: Task) -> dict[str, Times]:
    """Loads and runs the files of the task in turns, on the first of its inputs."""
    specs = input_specs(onnx.load(task.source, load_external_data=False))
    feed = draw_feed(specs, *task.plan.draws[0])[1]
    found = {tool: Times() for tool in task.files}
    requests = {}
    # The first turn of each loads the libraries and warms up.
    for turn in range(_LOADS + 1):
        for tool, path in task.files.items():
            started = time.perf_counter()
            compiled = openvino_core().compile_model(str(path), "CPU")
            if turn:
                found[tool].load_seconds.append(time.perf_counter() - started)
            requests[tool] = _request(compiled, feed)
    for turn in range(task.turns + 1):
        for tool, request in requests.items():
            seconds = turn_seconds(request.infer)
            if turn:
                found[tool].run_seconds.append(seconds)
    return found


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
