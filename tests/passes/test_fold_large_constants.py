"""fold-constants: large results are computed when they are written, a few rows at a time."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from maxfold.model import read_onnx, write_onnx
from maxfold.model.data import StoredData
from maxfold.model.edit import Edit
from maxfold.model.storage import ComputedSource
from maxfold.passes import kernels
from maxfold.passes.fold_constants import FoldConstants
from tests.passes.outcome import outcome
from tests.text import model

_PLANES = np.arange(1 << 16, dtype=np.float32).reshape(16, 64, 64)
_ROWS = np.arange(1 << 17, dtype=np.float32).reshape(512, 256) / np.float32(7)


@pytest.mark.parametrize(
    ("text", "constants", "expected"),
    [
        ("y = Mul(w, c)", {"w": _ROWS, "c": np.float32(3)}, _ROWS * np.float32(3)),
        ("y = Mul(c, w)", {"w": _ROWS, "c": _ROWS[:1]}, _ROWS * _ROWS[:1]),
        ("y = Sub(c, w)", {"w": _ROWS, "c": _ROWS[:, :1]}, _ROWS[:, :1] - _ROWS),
        ("y = Add(w, c)", {"w": _ROWS, "c": _ROWS[0]}, _ROWS + _ROWS[0]),
        ("y = Add(w, w)", {"w": _ROWS}, _ROWS + _ROWS),
        ("y = Mul(w, c)", {"w": _ROWS[:, :1], "c": _ROWS[:1]}, _ROWS[:, :1] * _ROWS[:1]),
        ("y = Sqrt(w)", {"w": _ROWS}, np.sqrt(_ROWS)),
        ("y = Less(w, c)", {"w": _ROWS, "c": np.float32(9)}, _ROWS < 9),
        ("y = Cast<to = 10>(w)", {"w": _ROWS}, _ROWS.astype(np.float16)),
        ("a = Neg(w)\n b = Cast<to = 11>(a)\n y = Transpose(b)", {"w": _ROWS}, (-_ROWS).T.astype(np.float64)),
    ],
)  # fmt: skip
def test_a_large_result_is_computed_when_it_is_written(
    text: str, constants: dict[str, np.ndarray], expected: np.ndarray
) -> None:
    kind = {"float16": "float16", "float64": "double", "bool": "bool"}.get(expected.dtype.name, "float")
    source = model(f"g ({kind}[A,B] x) => ({kind}[C,D] z) {{ {text}\n z = {_reader(kind)} }}", constants=constants)
    loaded = read_onnx(source.SerializeToString())
    FoldConstants(max_growth_bytes=1 << 30, fold_quantized=True).run(Edit(loaded))
    folded = next(constant for constant in loaded.constants() if constant.name == "y")
    assert isinstance(folded.data, StoredData)
    assert isinstance(folded.data.region.source, ComputedSource)
    np.testing.assert_array_equal(folded.values, expected, strict=True)
    # In any order, and in part.
    assert folded.data.region.sample(8)[-8:] == expected.tobytes()[-8:]
    assert b"".join(folded.data.region.chunks()) == expected.tobytes()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = Transpose(w)", _ROWS.T),
        ("y = Transpose(p)", _PLANES.T),
        ("y = Transpose<perm = [1, 0, 2]>(p)", _PLANES.transpose(1, 0, 2)),
        ("y = Transpose<perm = [2, 0, 1]>(p)", _PLANES.transpose(2, 0, 1)),
        ("y = Transpose<perm = [0, 2, 1]>(p)", _PLANES.transpose(0, 2, 1)),
        ("t = Transpose(w)\n y = Transpose<perm = [1, 0]>(t)", _ROWS),
        ("y = Concat<axis = 0>(w, v, w)", np.concatenate([_ROWS, _ROWS[:3], _ROWS])),
        ("y = Concat<axis = -1>(p, p)", np.concatenate([_PLANES, _PLANES], 2)),
        ("y = Slice(w, one, last)", _ROWS[1:-1]),
        ("y = Slice(w, last, lowest, nought, back)", _ROWS[:0:-2]),
        ("y = Slice(w, one, last, one)", _ROWS[:, 1:-1]),
        ("y, z1 = Split<axis = 1>(w, sizes)", _ROWS[:, :250]),
        ("z1, y = Split(w, halves)", _ROWS[5:]),
        ("a, b = Split<axis = 1>(p, parts)\n y = Concat<axis = 0>(b, a)",
         np.concatenate([_PLANES[:, 32:], _PLANES[:, :32]])),
    ],
)  # fmt: skip
def test_large_results_are_moved_when_they_are_written(text: str, expected: np.ndarray, tmp_path: Path) -> None:
    lists = {
        "one": [1], "last": [-1], "lowest": [0], "nought": [0], "back": [-2], "sizes": [250, 6], "halves": [5, 507],
        "parts": [32, 32],
    }  # fmt: skip
    constants: dict[str, np.ndarray] = {name: np.array(values, np.int64) for name, values in lists.items()}
    constants |= {"w": _ROWS, "p": _PLANES, "v": _ROWS[:3]}
    more = "float[A,B] z1, " if "z1" in text else ""
    source = model(f"g (float x) => ({more}float z) {{ {text}\n z = Add(x, y) }}", constants=constants)
    (tmp_path / "m.onnx").write_bytes(source.SerializeToString())
    for loaded in (read_onnx(tmp_path / "m.onnx"), read_onnx(source.SerializeToString())):
        FoldConstants(max_growth_bytes=1 << 30).run(Edit(loaded))
        folded = next(constant for constant in loaded.constants() if constant.name == "y")
        assert isinstance(folded.data, StoredData)
        assert isinstance(folded.data.region.source, ComputedSource)
        np.testing.assert_array_equal(folded.values, expected, strict=True)
        assert folded.data.region.sample(8)[-8:] == expected.tobytes()[-8:]
        assert b"".join(folded.data.region.chunks()) == expected.tobytes()


def test_a_transposed_weight_takes_memory_for_a_piece_of_it(tmp_path: Path) -> None:
    weight = np.arange(1 << 21, dtype=np.float32).reshape(1 << 11, 1 << 10)
    source = model(
        "g (float[A,B] x) => (float[C,D] z) { y = Transpose(w)\n z = MatMul(x, y) }", constants={"w": weight}
    )
    (tmp_path / "m.onnx").write_bytes(source.SerializeToString())
    loaded = read_onnx(tmp_path / "m.onnx")
    FoldConstants().run(Edit(loaded))
    tracemalloc.start()
    try:
        write_onnx(loaded, tmp_path / "t.onnx")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < weight.nbytes // 2
    constant = next(constant for constant in read_onnx(tmp_path / "t.onnx").constants() if constant.name == "y")
    np.testing.assert_array_equal(constant.values, weight.T)


def _reader(kind: str) -> str:
    return "And(x, y)" if kind == "bool" else "MatMul(x, y)"


def test_a_large_result_that_a_kernel_refuses_is_left_alone() -> None:
    weight = np.zeros((512, 256), np.float32)
    weight[500, 3] = np.inf
    source = model(
        "g (int32[A,B] x) => (int32[C,D] z) { y = Cast<to = 6>(w)\n z = MatMul(x, y) }", constants={"w": weight}
    )
    after = outcome("fold-constants", source)
    assert after.changes == 0
    assert "a float is outside of int32" in after.reasons[0]


def test_a_long_chain_of_large_results_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is computed from the one before: again for each, if none were kept."""
    count = 60
    steps = "\n".join(f"v{index + 1} = Neg(v{index})" for index in range(count))
    source = model(
        f"g (float[A,B] x) => (float[C,D] z) {{ {steps}\n z = MatMul(x, v{count}) }}", constants={"v0": _ROWS}
    )
    loaded = read_onnx(source.SerializeToString())
    elements = 0
    negate = np.negative

    def counted(values: np.ndarray) -> np.ndarray:
        nonlocal elements
        elements += values.size
        return negate(values)

    kernel = kernels.find("", "Neg", 17)
    assert kernel is not None
    counting = dataclasses.replace(kernel, evaluate=lambda call: (counted(call.array(0)),))
    monkeypatch.setattr(kernels, "find", lambda *_: counting)
    assert FoldConstants().run(Edit(loaded)).changes == count
    folded = next(constant for constant in loaded.constants() if constant.name == f"v{count}")
    np.testing.assert_array_equal(folded.values, _ROWS, strict=True)
    assert elements <= 6 * count * _ROWS.size


def test_quantized_weights_per_row_and_per_column() -> None:
    weight = np.arange(1 << 17, dtype=np.int64).reshape(512, 256).astype(np.int8)
    for axis in (0, 1):
        count = weight.shape[axis]
        scale = (np.arange(count) + 1).astype(np.float32) / np.float32(64)
        zero = (np.arange(count) % 7).astype(np.int8)
        source = model(
            f"g (float[A,B] x) => (float[C,D] z) {{ y = DequantizeLinear<axis = {axis}>(w, s, o)\n z = MatMul(x, y) }}",
            constants={"w": weight, "s": scale, "o": zero},
        )
        loaded = read_onnx(source.SerializeToString())
        FoldConstants(max_growth_bytes=1 << 30, fold_quantized=True).run(Edit(loaded))
        folded = next(constant for constant in loaded.constants() if constant.name == "y")
        assert isinstance(folded.data, StoredData)
        assert isinstance(folded.data.region.source, ComputedSource)
        along = (-1, 1) if axis == 0 else (1, -1)
        expected = (weight.astype(np.float64) - zero.reshape(along)) * scale.astype(np.float64).reshape(along)
        np.testing.assert_array_equal(folded.values, expected.astype(np.float32), strict=True)
