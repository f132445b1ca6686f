"""Judges a rewritten model against the original in ONNX Runtime, its optimizations off; a process of its own.

The arguments `original SOURCE RESULT` find inputs on which the original runs;
`rewritten SOURCE TARGET PLAN RESULT` compare on them. RESULT and PLAN (the first RESULT) are JSON files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.inputs import ATTEMPTS, CannotDrawError, Feed, InputSpec, draw_feed, input_specs, nudge
from bench.structure import checker_error, count_nodes, interface_changes, metadata_lost, model_files

SEEDS = (1, 2)
# ONNX Runtime loads with these settings in a time that grows with the square of the nodes: 1 minute at 50,000.
MAX_RUN_NODES = 20_000


@dataclass(slots=True)
class Original:
    """Facts about the unchanged model.

    `draws` is one (seed, attempt) an input set, `dims` their dynamic dims; `not_judged` says why there are
    none.
    """

    nodes: int = 0
    file_bytes: int = 0
    data_bytes: int = 0
    checker: str = ""
    draws: list[tuple[int, int]] = field(default_factory=list)
    dims: list[dict[str, int]] = field(default_factory=list)
    not_judged: str = ""


@dataclass(slots=True)
class Verdict:
    """A rewritten model against the original.

    `outputs` is "same bits", "differ", "does not run" or "not judged". `nudged_abs` is how far the original's
    own outputs move when every floating-point input moves to its next neighbour: where `max_abs` is no
    larger, the difference cannot be told from rounding.
    """

    nodes: int | None = None
    checker: str = ""
    interface: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    outputs: str = "not judged"
    detail: str = ""
    max_abs: float = 0.0
    max_rel: float = 0.0
    nudged_abs: float = 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two results are apart. `detail` names a difference of kind (shape, dtype, count), or is ""."""

    same: bool
    max_abs: float = 0.0
    max_rel: float = 0.0
    detail: str = ""


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, dict):
        for key in sorted(value):
            yield np.asarray(key)
            yield np.asarray(value[key])
    else:
        yield np.asarray(value)


def _compare_arrays(before: Any, after: Any) -> Difference:
    if before.dtype.kind in "OUS":
        same = before.tolist() == after.tolist()
        return Difference(same, detail="" if same else "strings differ")
    if before.dtype.kind not in "fc":
        same = bool(np.array_equal(before, after))
        if same or before.dtype.kind == "b":
            return Difference(same, detail="" if same else "booleans differ")
    elif before.tobytes() == after.tobytes():
        return Difference(True)
    with np.errstate(all="ignore"):
        both_nan = (before != before) & (after != after)
        equal = (before == after) & (np.signbit(before.real) == np.signbit(after.real)) | both_nan
        if equal.all():
            return Difference(True)
        wide = np.complex128 if before.dtype.kind == "c" else np.float64
        apart = np.abs(before.astype(wide) - after.astype(wide))
        apart = np.where(equal | (before == after), 0.0, np.where(np.isnan(apart), np.inf, apart))
        relative = np.where(apart > 0, apart / np.abs(before.astype(wide)), 0.0)
    return Difference(False, float(apart.max()), float(np.nan_to_num(relative, nan=np.inf).max()))


def compare(before: list[Any], after: list[Any]) -> Difference:
    """Compares two results bit by bit; any NaN equals any NaN, +0.0 and -0.0 differ."""
    olds, news = list(_arrays(before)), list(_arrays(after))
    if len(olds) != len(news):
        return Difference(False, detail=f"{len(olds)} values became {len(news)}")
    worst = Difference(True)
    for old, new in zip(olds, news, strict=True):
        if old.dtype != new.dtype:
            return Difference(False, detail=f"dtype {old.dtype} became {new.dtype}")
        if old.shape != new.shape:
            return Difference(False, detail=f"shape {list(old.shape)} became {list(new.shape)}")
        found = _compare_arrays(old, new)
        worst = Difference(
            worst.same and found.same,
            max(worst.max_abs, found.max_abs),
            max(worst.max_rel, found.max_rel),
            worst.detail or found.detail,
        )
    return worst


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def runner(path: Path) -> Callable[[Feed], list[Any]]:
    """A function that runs the model at `path`: one thread, no optimizations, no prepacked weights."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # A MatMul or Gemm gives other bits when its constant weight was packed ahead of time than when the same
    # values come out of a node: without this, folding Transpose(weight) alone would look like a change.
    options.add_session_config_entry("session.disable_prepacking", "1")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda feed: list(session.run(None, feed))


def _all_differ(dims: dict[str, int], others: list[dict[str, int]]) -> bool:
    return all(dims[name] != other[name] for other in others for name in dims)


def _plan_seed(original: Original, run: Callable[[Feed], list[Any]], specs: list[InputSpec], seed: int) -> str:
    """Adds the first draw that runs and has other dims than the earlier ones, else the first that runs."""
    fallback: tuple[int, dict[str, int]] | None = None
    reason = ""
    for attempt in range(ATTEMPTS):
        try:
            dims, feed = draw_feed(specs, seed, attempt)
            run(feed)
        except CannotDrawError as error:
            return str(error)
        except Exception as error:
            reason = reason or f"original does not run: {_first_line(error)}"
            continue
        if not dims or _all_differ(dims, original.dims):
            fallback = (attempt, dims)
            break
        fallback = fallback or (attempt, dims)
    if fallback is None:
        return reason
    original.draws.append((seed, fallback[0]))
    original.dims.append(fallback[1])
    return ""


def _is_deterministic(run: Callable[[Feed], list[Any]], specs: list[InputSpec], original: Original) -> bool:
    feeds = [draw_feed(specs, seed, attempt)[1] for seed, attempt in original.draws]
    return all(compare(run(feed), run(feed)).same for feed in feeds)


def sizes(path: Path) -> Original:
    """The sizes of the files of the model at `path`, and nothing else."""
    files = model_files(path)
    data_bytes = sum(file.stat().st_size for file in files[1:])
    return Original(file_bytes=path.stat().st_size + data_bytes, data_bytes=data_bytes)


def judge_original(path: Path) -> Original:
    """Facts about the model at `path`, and the input sets on which it runs."""
    model = onnx.load(str(path), load_external_data=False)
    original = sizes(path)
    original.nodes = count_nodes(model)
    original.checker = checker_error(path)
    if original.nodes > MAX_RUN_NODES:
        original.not_judged = f"over {MAX_RUN_NODES} nodes"
        return original
    try:
        specs = input_specs(model)
        run = runner(path)
    except CannotDrawError as error:
        original.not_judged = str(error)
        return original
    except Exception as error:
        original.not_judged = f"original does not load: {_first_line(error)}"
        return original
    for seed in SEEDS:
        original.not_judged = original.not_judged or _plan_seed(original, run, specs, seed)
    if not original.not_judged and not _is_deterministic(run, specs, original):
        original.not_judged = "original gives other results each time"
    return original


def _judge_outputs(verdict: Verdict, source: Path, target: Path, original: Original) -> None:
    specs = input_specs(onnx.load(str(source), load_external_data=False))
    run_source = runner(source)
    verdict.outputs = "same bits"
    try:
        run_target = runner(target)
    except Exception as error:
        verdict.outputs, verdict.detail = "does not run", _first_line(error).replace(str(target), target.name)
        return
    for seed, attempt in original.draws:
        feed = draw_feed(specs, seed, attempt)[1]
        expected = run_source(feed)
        try:
            found = compare(expected, run_target(feed))
        except Exception as error:
            verdict.outputs, verdict.detail = "does not run", _first_line(error)
            return
        if found.same:
            continue
        verdict.outputs = "differ"
        verdict.detail = verdict.detail or found.detail
        verdict.max_abs = max(verdict.max_abs, found.max_abs)
        verdict.max_rel = max(verdict.max_rel, found.max_rel)
        verdict.nudged_abs = max(verdict.nudged_abs, compare(expected, run_source(nudge(feed))).max_abs)


def judge_rewritten(source: Path, target: Path, original: Original) -> Verdict:
    """All that is said about `target`, a rewritten `source`."""
    before = onnx.load(str(source), load_external_data=False)
    after = onnx.load(str(target), load_external_data=False)
    verdict = Verdict(
        nodes=count_nodes(after),
        checker=checker_error(target),
        interface=interface_changes(before, after),
        metadata=metadata_lost(before, after),
        detail=original.not_judged,
    )
    if not original.not_judged:
        _judge_outputs(verdict, source, target, original)
    return verdict


def main(arguments: list[str]) -> None:
    """Writes the facts or the verdict as JSON; see the module's own text."""
    paths = [Path(argument) for argument in arguments[1:]]
    if arguments[0] == "original":
        result: Original | Verdict = judge_original(paths[0])
    else:
        plan = Original(**json.loads(paths[2].read_text(encoding="utf-8")))
        result = judge_rewritten(paths[0], paths[1], plan)
    paths[-1].write_text(json.dumps(asdict(result)), encoding="utf-8")
