"""Node tests as they are, and with all inputs but the first as constants, which is how models have them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.passes.conversion import harness, judged
from tests.passes.conversion.judged import Key

SUFFIX = "_constants"


def parameters(*operators: str) -> list[Any]:
    """All node tests of operators, with inputs and with constants, each on every way."""
    cases = [case for operator in operators for case in harness.cases_of(operator)]
    cases += [with_constants(case) for case in cases if len(case.inputs) > 1]
    return [pytest.param(way, case, id=f"{way}-{case.name}") for case in cases for way in judged.WAYS]


def with_constants(case: harness.Case) -> harness.Case:
    """The case with all inputs but the first as initializers."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for info, value in zip(model.graph.input[1:], case.inputs[1:], strict=True):
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), info.name))
    del model.graph.input[1:]
    return harness.Case(case.name + SUFFIX, model, case.inputs[:1], case.outputs)


def both(names: Mapping[Key, str]) -> dict[Key, str]:
    """What holds of cases holds of their variants with constants."""
    return {**names, **{(way, name + SUFFIX): reason for (way, name), reason in names.items()}}


def judge(
    way: str,
    case: harness.Case,
    folder: Path,
    *,
    refused: Mapping[Key, str] | None = None,
    limited: Mapping[Key, str] | None = None,
    rtol: float = 0,
    atol: float = 0,
    opset: int = 18,
) -> None:
    """One case on one way. In `limited` are those on which OpenVINO or ONNX Runtime fails by itself."""
    if (way, case.name.removeprefix("test_")) in (limited or {}):
        harness.assert_converts(way, case, folder, opset=opset)
        judges = {"openvino": ("onnx",), "onnx": ("onnx", "round"), "round": ("round",)}[way]
        assert any(_fails(judge_way, case, folder, rtol, atol) for judge_way in judges)
        return
    judged.judge(way, case, folder, refused=refused or {}, limited={}, rtol=rtol, atol=atol, opset=opset)


def _fails(way: str, case: harness.Case, folder: Path, rtol: float, atol: float) -> bool:
    """Whether the judge itself (OpenVINO for "onnx", ONNX Runtime for "round") fails on the original."""
    try:
        if way == "round":
            onnx.save(case.model, folder / "original.onnx")
            outputs = harness.run_onnx(folder / "original.onnx", case.inputs)
        else:
            harness.write_by_openvino(case.model, folder / "original.xml")
            outputs = harness.run_openvino(folder / "original.xml", case.inputs)
        harness.assert_close(outputs, case.outputs, rtol=rtol, atol=atol)
    except Exception:
        return True
    return False
