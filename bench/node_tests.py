"""`python -m bench node-tests`: ONNX's own tests of operators through the conversion, by maxfold and by others.

Each test is a model with inputs and the outputs that the specification gives. To OpenVINO, maxfold's IR stands beside
what OpenVINO's own reader makes of the ONNX file. To ONNX, the IR that OpenVINO writes of a test and runs right is
converted, and stands beside the test itself in ONNX Runtime.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import importlib.metadata
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
from onnx import TensorProto, numpy_helper
from rich.console import Console

from bench import node_tables, workers
from bench.node_runtimes import Arrays, difference, openvino_core, run_onnxruntime, run_openvino
from bench.node_tables import MISSED, STATUSES, Found, Result
from bench.table import console

_STANDARD = ("", "ai.onnx")
_EXPANDED = re.compile(r"_expanded(_ver\d+)?$")
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Case:
    """A node test: its model, its inputs, and the outputs that are right. `operator` is what it tests."""

    name: str
    operator: str
    model: onnx.ModelProto
    inputs: Arrays
    outputs: Arrays


@dataclass(frozen=True, slots=True)
class Task:
    """A test on one way: "ours to openvino", "ours to onnx", "openvino", "written" or "onnxruntime"."""

    case: Case
    way: str
    scratch: Path
    opset: int | None = None


class _RefusedError(Exception):
    """A tool does not take the model; the text is the reason."""


class _NotLoadedError(Exception):
    """What a tool wrote is not valid, or a runtime does not load or run it; the text is the reason."""


def all_cases() -> dict[str, Case]:
    """The node tests of the installed onnx that have only operators of the standard set, and tensors of numbers."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        # The tests compute infinities and NaN on purpose.
        warnings.simplefilter("ignore")
        collected: dict[str, Any] = {case.name: case for case in collect_testcases("") if case.model is not None}
    found = {}
    for name, case in collected.items():
        if not _concerns_us(case.model):
            continue
        inputs, outputs = case.data_sets[0]
        plain = collected.get(_EXPANDED.sub("", name), case)
        operator = _operator(plain.model) + (" (expanded)" if plain is not case else "")
        found[name] = Case(name, operator, case.model, list(map(_array, inputs)), list(map(_array, outputs)))
    return found


def _concerns_us(model: onnx.ModelProto) -> bool:
    values = [*model.graph.input, *model.graph.output]
    return all(imported.domain in _STANDARD for imported in model.opset_import) and all(
        value.type.HasField("tensor_type") and value.type.tensor_type.elem_type != TensorProto.STRING
        for value in values
    )


def _operator(model: onnx.ModelProto) -> str:
    operators = dict.fromkeys(node.op_type for node in model.graph.node if node.op_type != "Constant")
    return "+".join(operators) or "Constant"


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def check(task: Task) -> Found:
    """What becomes of a test on a way."""
    with TemporaryDirectory(dir=task.scratch) as folder:
        try:
            results = _STEPS[task.way](task, Path(folder))
        except _RefusedError as error:
            return Found("refused", str(error))
        except _NotLoadedError as error:
            return Found("not loaded", str(error))
        except Exception as error:  # whatever else a tool raises is a fault of its own
            return Found("crashed", _reason(error))
    told = [difference(outputs, task.case.outputs) for outputs in results]
    return Found("right") if "" in told else Found("wrong", told[-1])


def _ours_to_openvino(task: Task, folder: Path) -> list[Arrays]:
    source = folder / "case.onnx"
    onnx.save(task.case.model, source)
    return _run_ir(_converted(source, folder / "case.xml", to="openvino"), task.case.inputs)


def _ours_to_onnx(task: Task, folder: Path) -> list[Arrays]:
    path = _converted(_written(task.case, folder), folder / "back.onnx", to="onnx", opset=task.opset)
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:  # onnx's checks raise classes without a common base
        raise _NotLoadedError(f"invalid: {_reason(error)}") from error
    return [_run_onnx(path, task.case.inputs)]


def _own_reader(task: Task, _: Path) -> list[Arrays]:
    return _run_ir(_read(task.case), task.case.inputs)


def _own_writer(task: Task, folder: Path) -> list[Arrays]:
    return _run_ir(_written(task.case, folder), task.case.inputs)


def _original_in_onnxruntime(task: Task, folder: Path) -> list[Arrays]:
    source = folder / "case.onnx"
    onnx.save(task.case.model, source)
    return [_run_onnx(source, task.case.inputs)]


# By the format to convert to: maxfold's way and the one beside it, and the tool of the latter.
WAYS = {"openvino": ("ours to openvino", "openvino"), "onnx": ("ours to onnx", "onnxruntime")}
TOOLS = {"openvino": "OpenVINO", "onnx": "ONNX Runtime"}
_STEPS: dict[str, Callable[[Task, Path], list[Arrays]]] = {
    "ours to openvino": _ours_to_openvino,
    "ours to onnx": _ours_to_onnx,
    "openvino": _own_reader,
    "written": _own_writer,
    "onnxruntime": _original_in_onnxruntime,
}


def _converted(source: Path, target: Path, **options: Any) -> Path:
    from maxfold.model import ModelError
    from maxfold.optimizer import load, save
    from maxfold.optimizer.api import convert
    from maxfold.passes.conversion import ConversionError

    try:
        save(convert(load(source), **options), target)
    except ConversionError as error:
        lines = (f"{refusal.operator}: {refusal.reason}" for refusal in error.refusals)
        raise _RefusedError("\n".join(lines)) from error
    except ModelError as error:
        raise _RefusedError(_reason(error)) from error
    return target


def _read(case: Case) -> Any:
    try:
        return openvino_core().read_model(case.model.SerializeToString(), b"")
    except RuntimeError as error:
        raise _RefusedError(_reason(error)) from error


def _written(case: Case, folder: Path) -> Path:
    import openvino

    path = folder / "theirs.xml"
    openvino.serialize(_read(case), path)
    return path


def _run_ir(model: Any, inputs: Arrays) -> list[Arrays]:
    try:
        read = openvino_core().read_model(model) if isinstance(model, Path) else model
        return run_openvino(read, inputs)
    except Exception as error:  # openvino raises plain exceptions of several kinds
        raise _NotLoadedError(_reason(error)) from error


def _run_onnx(path: Path, inputs: Arrays) -> Arrays:
    try:
        return run_onnxruntime(path, inputs)
    except Exception as error:  # the runtime's classes of errors have no common base
        raise _NotLoadedError(_reason(error)) from error


def _reason(error: Exception) -> str:
    """What went wrong, without places in the runtime's source and names of nodes, so that equal reasons are equal."""
    text = " ".join(str(error).split())
    text = re.sub(r"Exception from \S+:\d+: |(Check|While validating) .*? at \S+:\d+:? ", "", text)
    text = re.sub(r" Operation name: \S*|, node name: \S*| node with name '[^']*'", "", text)
    return f"{type(error).__name__}: {text}"[:_LONGEST_REASON]


def run(
    cases: Iterable[Case],
    *,
    to: str,
    opset: int | None = None,
    jobs: int = 2,
    timeout_seconds: float = 60.0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Result]:
    """What becomes of each case by maxfold and by the other tool, ordered by name."""
    go = functools.partial(workers.run, check, jobs=jobs, timeout_seconds=timeout_seconds)
    found: dict[tuple[str, str], Found] = {}
    own, theirs = WAYS[to]
    with TemporaryDirectory(prefix="bench-") as folder:
        chosen, scratch = {case.name: case for case in cases}, Path(folder)
        if to == "onnx":
            written = go(Task(case, "written", scratch) for case in chosen.values())
            found.update(_told(written, progress))
            chosen = {name: case for name, case in chosen.items() if found[name, "written"].status == "right"}
        tasks = (Task(case, way, scratch, opset) for case in chosen.values() for way in (own, theirs))
        found.update(_told(go(tasks), progress))
    return {
        name: Result(name, case.operator, found[name, own], found[name, theirs])
        for name, case in sorted(chosen.items())
    }


def _told(
    results: Iterable[tuple[Task, Found | workers.Lost]], progress: Callable[[str], None]
) -> Iterator[tuple[tuple[str, str], Found]]:
    for count, (task, result) in enumerate(results, 1):
        progress(f"{count} results, {task.case.name}")
        found = Found("crashed", result.message) if isinstance(result, workers.Lost) else result
        yield (task.case.name, task.way), found


def main(arguments: list[str]) -> int:
    """Runs the tests that the arguments name. 1 where maxfold has a fault, or is right no more."""
    chosen = _parser().parse_args(arguments)
    before = node_tables.read_json(chosen.against) if chosen.against else None
    out, started = console(node_tables.WIDTH), time.monotonic()
    with Console(stderr=True).status("collecting the tests") as status:
        cases = [case for case in all_cases().values() if _is_named(case, chosen.only)]
        results = run(
            cases, to=chosen.to, opset=chosen.opset, jobs=chosen.jobs, timeout_seconds=chosen.timeout_seconds,
            progress=status.update,
        )  # fmt: skip
    theirs = TOOLS[chosen.to]
    about = {"to": chosen.to, "opset": chosen.opset, "beside": theirs, "versions": _versions()}
    if chosen.json:
        node_tables.write_json(chosen.json, about, results)
    out.print(node_tables.operator_table(results.values(), theirs))
    for status_name in STATUSES[1:]:
        if any(result.has(status_name) for result in results.values()):
            out.print(node_tables.reason_table(results.values(), status_name))
    for status_name in chosen.list:
        node_tables.print_list(out, results.values(), status_name, theirs)
    if chosen.to == "onnx":
        out.print(f"{len(cases)} tests, of which OpenVINO writes and runs {len(results)} right", soft_wrap=True)
    node_tables.print_totals(out, results, theirs)
    out.print(f"in {time.monotonic() - started:.0f} s")
    lost = node_tables.print_changes(out, before[1], results) if before else []
    return 1 if lost or any(result.is_failure for result in results.values()) else 0


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("maxfold", "onnx", "openvino", "onnxruntime")}


def _is_named(case: Case, pattern: str | None) -> bool:
    names = (case.name, case.name.removeprefix("test_"), case.operator)
    return pattern is None or any(fnmatch.fnmatchcase(name, pattern) for name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench node-tests", description="Converts ONNX's node tests.")
    parser.add_argument("--to", choices=tuple(WAYS), required=True, help="the format to convert to")
    parser.add_argument("--opset", type=int, metavar="N", help="of the ONNX models (default: as maxfold chooses)")
    parser.add_argument("--only", metavar="GLOB", help="only tests whose name or operator matches")
    parser.add_argument(
        "--list", action="append", default=[], choices=(*STATUSES, MISSED), metavar="STATUS",
        help=f"a line for each test that is {', '.join(STATUSES)} or {MISSED} (right in the other tool alone)",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the results there")
    parser.add_argument("--against", type=Path, metavar="FILE", help="name what changed since that file was kept")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default %(default)s)")
    parser.add_argument("--timeout-seconds", type=float, default=60.0, metavar="S", help="limit of one test")
    return parser
