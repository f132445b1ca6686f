"""ConvertPromoteTypes and FakeConvert to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset14 as ov
import pytest
from openvino.op import Result

from tests.passes.conversion import judged
from tests.passes.conversion.built import assert_converts

TYPES = ("boolean", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bf16", "f16", "f32", "f64")
ONNX_TYPES = dict(zip(TYPES, (9, 3, 5, 6, 7, 2, 4, 12, 13, 16, 10, 1, 11), strict=True))


@pytest.mark.parametrize("ranks", [None, (1, 0), (0, 1), (0, 0), (1, 1)])
@pytest.mark.parametrize("first", TYPES)
def test_common_types(first: str, ranks: tuple[int, int] | None, tmp_path: Path) -> None:
    sizes = [[2] * rank for rank in ranks or (1, 1)]
    for second in TYPES:
        given = [
            ov.parameter(size, getattr(openvino.Type, kind)) for size, kind in zip(sizes, (first, second), strict=True)
        ]
        node = ov.convert_promote_types(*given, True, ranks is not None, "f64")
        results = [Result(output) for output in node.outputs()]
        model = onnx.load(judged.converted_to_onnx(results, given, tmp_path, 17))
        wanted = [ONNX_TYPES[output.get_element_type().to_string()] for output in node.outputs()]
        assert [info.type.tensor_type.elem_type for info in model.graph.output] == wanted, second


def test_promoted_numbers(tmp_path: Path) -> None:
    values = [np.array([-3, 4], np.int8), np.array([1.5, 2], np.float32)]
    assert_converts(lambda a, b: ov.convert_promote_types(a, b, True), values, tmp_path, is_dynamic=True)


@pytest.mark.parametrize(
    ("scale", "shift"), [([1], None), ([2], [0.5]), ([0.5], [3]), ([[1], [2], [4]], [[0], [1], [2]])]
)
@pytest.mark.parametrize("kind", ["f8e4m3", "f8e5m2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_numbers_of_8_bits(dtype: Any, kind: str, scale: Any, shift: Any, tmp_path: Path) -> None:
    row = [0, 1, -1, 0.3, 100, 449, 460, 500, 1e4, 6e4, 1e-3, 2**-9, 2**-10, 1.5 * 2**-10, 2**-17, 3.3, 17.7, -17.7]
    values = [np.array([row] * 3, dtype), *(np.array(item, dtype) for item in (scale, shift) if item is not None)]

    def make(*given: Any) -> Any:
        return ov.fake_convert(*given, destination_type=kind)

    close = {"rtol": 0.0, "atol": 0.0} if dtype is np.float32 else {"rtol": 2e-3, "atol": 1e-3}
    assert_converts(make, values, tmp_path, constants=[1, 2], opset=19, **close)
