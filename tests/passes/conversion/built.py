"""Models of one OpenVINO operation, of known and of unknown sizes, converted to ONNX and run on both sides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset13 as ov
from openvino.op import Parameter, Result

from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx

Make = Callable[..., Any]


def operands(values: Sequence[Any], constants: Collection[int], *, is_dynamic: bool) -> list[Any]:
    """Constants at some places, Parameters at the others."""
    made = []
    for index, value in enumerate(map(np.asarray, values)):
        shape = [-1] * value.ndim if is_dynamic else list(value.shape)
        made.append(
            ov.constant(value)
            if index in constants
            else Parameter(openvino.Type(value.dtype), openvino.PartialShape(shape))
        )
    return made


def assert_converts(
    make: Make,
    values: Sequence[Any],
    folder: Path,
    *,
    constants: Collection[int] = (),
    is_dynamic: bool = False,
    expected: Sequence[Any] | None = None,
    opset: int = 17,
    rtol: float = 0,
    atol: float = 0,
) -> None:
    """The ONNX model of an operation gives what OpenVINO gives, or what is expected."""
    given = operands(values, constants, is_dynamic=is_dynamic)
    results = [Result(output) for output in make(*given).outputs()]
    parameters = [item for index, item in enumerate(given) if index not in constants]
    inputs = [np.asarray(value) for index, value in enumerate(values) if index not in constants]
    assert_same_in_onnx(results, parameters, inputs, folder, opset=opset, expected=expected, rtol=rtol, atol=atol)


def assert_refused(
    make: Make,
    values: Sequence[Any],
    folder: Path,
    reason: str,
    *,
    constants: Collection[int] = (),
    is_dynamic: bool = False,
    opset: int = 17,
) -> None:
    """The table refuses the operation."""
    given = operands(values, constants, is_dynamic=is_dynamic)
    results = [Result(output) for output in make(*given).outputs()]
    parameters = [item for index, item in enumerate(given) if index not in constants]
    assert_refused_in_onnx(results, parameters, folder, reason, opset=opset)
