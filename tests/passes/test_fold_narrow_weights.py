"""fold-constants: weights that are quantized or of half precision stay as narrow as the file has them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.passes.outcome import outcome
from tests.text import model


@pytest.mark.parametrize("fold_quantized", [False, True])
def test_quantized_weights_stay_quantized(fold_quantized: bool) -> None:
    source = model(
        "g (float[8,8] x) => (float[8,8] y) { d = DequantizeLinear(w, s, z)\n y = MatMul(x, d) }",
        constants={
            "w": np.arange(64, dtype=np.int8).reshape(8, 8), "s": np.float32(0.5), "z": np.int8(3),
        },
    )  # fmt: skip
    result = outcome("fold-constants", source, fold_quantized=fold_quantized)
    assert result.changes == fold_quantized
    if not fold_quantized:
        assert result.reasons == ["it would widen a quantized weight; only with --fold-quantized"]


def test_a_quantized_weight_is_not_widened_by_cast() -> None:
    source = model(
        "g (float[8,8] x) => (float[8,8] y) { d = Cast <to = 1> (w)\n y = MatMul(x, d) }",
        constants={"w": np.arange(64, dtype=np.int8).reshape(8, 8)},
    )
    assert outcome("fold-constants", source).reasons == [
        "it would widen a quantized weight; only with --fold-quantized"
    ]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("to", [1, 11])
@pytest.mark.parametrize("fold_quantized", [False, True])
def test_a_weight_of_half_precision_is_not_widened(fold_quantized: bool, to: int, dtype: Any) -> None:
    kind = "float" if to == 1 else "double"
    source = model(
        f"g ({kind}[17] x) => ({kind}[17] y) {{ d = Cast <to = {to}> (w)\n y = Mul(x, d) }}",
        constants={"w": np.arange(17).astype(dtype)},
    )
    result = outcome("fold-constants", source, fold_quantized=fold_quantized)
    assert result.changes == fold_quantized
    if not fold_quantized:
        assert result.reasons == ["it would widen a weight of half precision; only with --fold-quantized"]


def test_a_few_parameters_of_half_precision_are_widened() -> None:
    source = model(
        "g (float[16] x) => (float[16] y) { d = Cast <to = 1> (w)\n y = Mul(x, d) }",
        constants={"w": np.arange(16, dtype=np.float16)},
    )
    assert outcome("fold-constants", source).changes == 1


def test_a_weight_of_half_precision_folds_where_nothing_grows() -> None:
    source = model(
        "g (float x) => (float y) { d = ReduceMax <keepdims = 0> (w)\n e = Cast <to = 1> (d)\n y = Mul(x, e) }",
        constants={"w": np.arange(64, dtype=np.float16)},
    )
    assert outcome("fold-constants", source).changes == 2
