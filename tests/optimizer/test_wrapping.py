"""Shape arithmetic that wraps around in its type gives what it gave."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from maxfold.optimizer import optimize
from tests.run import assert_equal, in_onnxruntime
from tests.text import model


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        # int32: 40000 * 60000 wraps around; divided again, it is no longer the dimension.
        ("s = Shape(x) i = Cast<to = 6>(s) m = Mul(i, big) l = Cast<to = 7>(m) y = Div(l, big64)", (40_000, 1)),
        ("s = Shape(x) i = Cast<to = 6>(s) m = Mul(i, big) y = Div(m, big)", (40_000, 1)),
        ("s = Shape(x) i = Cast<to = 6>(s) q = Shape(z) j = Cast<to = 6>(q) m = Mul(i, j) y = Div(m, i)",
         (70_000, 70_000)),
        ("s = Shape(x) i = Cast<to = 6>(s) m = Mul(i, big) y = Greater(m, i)", (40_000, 1)),
        # int64: four dimensions of tensors of their own.
        ("s = Shape(x) q = Shape(z) a = Mul(s, q) b = Mul(a, a) y = Div(b, a)", (70_000, 70_000)),
        ("s = Shape(x) q = Shape(z) a = Mul(s, q) b = Mul(a, huge) y = Div(b, huge)", (100_000, 100_000)),
        ("s = Shape(x) i = Cast<to = 2>(s) l = Cast<to = 7>(i) y = Sub(l, s)", (300, 1)),
        ("s = Shape(x) i = Cast<to = 6>(s) m = Mul(i, big) y = Mod(m, big)", (40_000, 1)),
    ],
)  # fmt: skip
def test_what_wraps_around_stays(body: str, sizes: tuple[int, int]) -> None:
    constants = {
        "big": np.array([60_000], np.int32), "big64": np.array([60_000]), "huge": np.array([(1 << 31) - 1]),
    }  # fmt: skip
    kind = "bool" if "y = Greater" in body else "int32" if "l = " not in body and "Cast" in body else "int64"
    source = model(f"g (uint8[N] x, uint8[M] z) => ({kind}[1] y) {{ {body} }}", constants=constants)
    feeds = {name: np.zeros(size, np.uint8) for name, size in zip("xz", sizes, strict=True)}
    rewritten = onnx.ModelProto.FromString(source.SerializeToString())
    optimize(rewritten)
    assert_equal(in_onnxruntime(rewritten, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
