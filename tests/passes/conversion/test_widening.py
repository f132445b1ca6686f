"""Operators that ONNX Runtime does not compute in the type of their operands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset13 as ov
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as runtime
from openvino.op import Parameter, Result

from maxfold.model.dtypes import DTYPES
from maxfold.passes.conversion.sites.widening import WIDER, wider_types
from maxfold.passes.conversion.versions import OPSETS
from tests.passes.conversion import harness, judged
from tests.passes.conversion.built import assert_converts


def kernel_types(operator: str, opset: int) -> dict[str, set[str]]:
    """The types of ONNX Runtime's kernels for the version of an operator, by type parameter."""
    version = onnx.defs.get_schema(operator, opset).since_version
    found: dict[str, set[str]] = {}
    for kernel in runtime.get_all_opkernel_def():
        first, last = kernel.version_range
        is_meant = (kernel.op_name, kernel.domain, kernel.provider) == (operator, "", "CPUExecutionProvider")
        if is_meant and first <= version <= last:
            for parameter, types in kernel.type_constraints.items():
                found.setdefault(parameter, set()).update(types)
    return found


@pytest.mark.parametrize("operator", sorted(name for name in WIDER if not name.endswith("+")))
def test_wider_types_have_kernels_where_others_have_none(operator: str) -> None:
    lacking = set()
    for opset in range(OPSETS[0], OPSETS[1] + 1):
        kernels = kernel_types(operator, opset) if onnx.defs.has(operator, opset, "") else {}
        if not kernels:
            # It came later, or is a function of operators that are here.
            continue
        schema = onnx.defs.get_schema(operator, opset)
        for narrow in WIDER[operator]:
            dtype = next(item for item in DTYPES if item.name == narrow)
            dtypes = [dtype if formal.type_str in kernels else None for formal in schema.inputs]
            for parameter, (_, wide) in wider_types(operator, opset, dtypes).items():
                assert f"tensor({wide})" in kernels[parameter]
                allowed = next(formal.types for formal in schema.inputs if formal.type_str == parameter)
                if f"tensor({dtype})" not in kernels[parameter] & set(allowed):
                    lacking.add(narrow)
    assert operator in ("HardSwish", "Mish") or lacking == set(WIDER[operator])


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.uint16, np.uint64, np.int8])
def test_select(dtype: Any, tmp_path: Path) -> None:
    a, b = (np.random.default_rng(seed).integers(0, 2, (3, 4)).astype(dtype) for seed in range(2))
    assert_converts(ov.select, [np.array([[True], [False], [True]]), a, b], tmp_path)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
@pytest.mark.parametrize("make", [ov.maximum, ov.minimum])
def test_extremes(make: Any, dtype: Any, tmp_path: Path) -> None:
    a, b = (np.random.default_rng(seed).integers(0, 1000, (3, 4)).astype(dtype) for seed in range(2))
    assert_converts(make, [a, b], tmp_path)


@pytest.mark.parametrize("make", [ov.add, ov.subtract, ov.multiply, ov.divide, ov.maximum, ov.minimum])
def test_bfloat16_is_rounded_once(make: Any, tmp_path: Path) -> None:
    """As OpenVINO's CPU computes it."""
    halves = [Parameter(openvino.Type.f32, openvino.PartialShape([64])) for _ in range(2)]
    narrow = [ov.convert(item, "bf16") for item in halves]
    result = Result(ov.convert(make(*narrow), "f32").output(0))
    inputs = [judged.floats(64), judged.floats(64, seed=1)]
    path = judged.converted_to_onnx([result], halves, tmp_path, 17)
    (found,) = harness.run_onnx(path, inputs)
    bits = found.view(np.uint32)
    assert not (bits & 0xFFFF).any()
    (expected,) = harness.run_openvino(tmp_path / "made.xml", inputs)
    np.testing.assert_allclose(found, expected, rtol=2**-7)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("make", [ov.reduce_sum, ov.reduce_mean, ov.reduce_prod, ov.reduce_max, ov.reduce_min])
def test_reductions_of_small_integers(make: Any, dtype: Any, tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 4, (2, 3, 4)).astype(dtype)
    assert_converts(lambda x, axes: make(x, axes, True), [data, np.array([1])], tmp_path, constants=[1])


@pytest.mark.parametrize("case", harness.cases_of("ConvInteger"), ids=lambda case: case.name)
def test_convolutions_of_integers(case: harness.Case, tmp_path: Path) -> None:
    harness.assert_close(harness.to_onnx(case, tmp_path), case.outputs, rtol=0, atol=0)
