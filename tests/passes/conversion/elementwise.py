"""What the tests of elementwise rows share: node tests against both judges, and IR that is edited by hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import openvino
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness, judged

# What the ways back to ONNX write.
OPSETS = {"openvino": 17, "onnx": 17, "round": 21}
_FAILURES = (
    AssertionError, RuntimeError, onnx.checker.ValidationError, runtime.Fail, runtime.NotImplemented,
    runtime.InvalidGraph, runtime.InvalidArgument,
)  # fmt: skip


def judge(
    way: str,
    case: harness.Case,
    folder: Path,
    *,
    refused: Mapping[judged.Key, str] | None = None,
    limited: Mapping[judged.Key, str] | None = None,
    rtol: float = 0,
    atol: float = 0,
) -> None:
    """One node test on one way: right, refused for the listed reason, or such that a judge alone gets it wrong.

    The way to OpenVINO has OpenVINO as its judge; the ways back to ONNX have ONNX Runtime too.
    """
    key = (way, case.name.removeprefix("test_"))
    if key not in (limited or {}):
        judged.judge(way, case, folder, refused=refused or {}, limited={}, rtol=rtol, atol=atol, opset=OPSETS[way])
        return
    harness.assert_converts(way, case, folder, opset=OPSETS[way])
    judges: list[Callable[[harness.Case, Path], harness.Arrays]] = [_openvino_alone]
    if way != "openvino":
        judges.append(_runtime_alone)
    assert any(_fails(judge, case, folder, rtol, atol) for judge in judges), "no judge fails any more"


def _openvino_alone(case: harness.Case, folder: Path) -> harness.Arrays:
    harness.write_by_openvino(case.model, folder / "original.xml")
    return harness.run_openvino(folder / "original.xml", case.inputs)


def _runtime_alone(case: harness.Case, folder: Path) -> harness.Arrays:
    onnx.save(case.model, folder / "original.onnx")
    return harness.run_onnx(folder / "original.onnx", case.inputs)


def _fails(
    run: Callable[[harness.Case, Path], harness.Arrays], case: harness.Case, folder: Path, rtol: float, atol: float
) -> bool:
    try:
        harness.assert_close(run(case, folder), case.outputs, rtol=rtol, atol=atol)
    except _FAILURES:
        return True
    return False


def every(ways: Collection[str], names: Collection[str], reason: str) -> dict[judged.Key, str]:
    """The same reason for several cases on several ways."""
    return {(way, name): reason for way in ways for name in names}


def run_in_onnx(
    results: Sequence[Any],
    parameters: Sequence[Any],
    inputs: Sequence[Any],
    folder: Path,
    *,
    opset: int = 17,
    edits: Mapping[str, str] | None = None,
) -> tuple[list[str], harness.Arrays]:
    """The operators and the results of what an OpenVINO model becomes; `edits` replace texts in its IR before."""
    openvino.serialize(openvino.Model(list(results), list(parameters)), folder / "edited.xml")
    text = (folder / "edited.xml").read_text()
    for old, new in (edits or {}).items():
        assert old in text
        text = text.replace(old, new)
    (folder / "edited.xml").write_text(text)
    back = converted(folder / "edited.xml", opset)
    operators = [node.op_type for node in onnx.load(back).graph.node]
    return operators, harness.run_onnx(back, list(inputs))


def converted(path: Path, opset: int) -> Path:
    """The ONNX file that an IR becomes, checked."""
    back = path.with_suffix(".onnx")
    save(convert(load(path), to="onnx", opset=opset), back)
    onnx.checker.check_model(back, full_check=True)
    return back


def layers(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The operations of an IR and their attributes, without Parameters, Constants and Results."""
    from lxml import etree

    found = []
    for layer in etree.parse(path).getroot().find("layers"):
        if layer.get("type") not in ("Parameter", "Const", "Result"):
            data = layer.find("data")
            found.append((layer.get("type"), {} if data is None else dict(data.attrib)))
    return found
