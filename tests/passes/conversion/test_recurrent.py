"""LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.passes.conversion import harness
from tests.passes.conversion.judged import (
    assert_refused_in_openvino,
    assert_same_in_openvino,
    converted_to_openvino,
    floats,
    judge,
    one_node,
    parameters,
)

KINDS = {"LSTM": 4, "GRU": 3, "RNN": 1}
HIDDEN = 2
RTOL, ATOL = 1e-4, 1e-5


@pytest.mark.parametrize(("way", "case"), [item for item in parameters(*KINDS) if item.values[0] == "openvino"])
def test_node_tests(way: str, case: harness.Case, tmp_path: Path) -> None:
    judge(way, case, tmp_path, refused={}, limited={}, rtol=RTOL, atol=ATOL)


def cell(
    op: str,
    *,
    direction: str = "forward",
    given: Sequence[str] = (),
    size: tuple[int, int] = (5, 3),
    dynamic: Sequence[str] = (),
    constants: Sequence[str] = ("w", "r", "b"),
    dtype: Any = np.float32,
    opset: int = 14,
    outputs: int = 0,
    **attributes: Any,
) -> tuple[onnx.ModelProto, list[Any]]:
    """A model of one node, of inputs as long and as many as `size` says, with those that are `given`."""
    directions, gates = 2 if direction == "bidirectional" else 1, KINDS[op]
    batch = size[1]
    optional = {
        "b": floats(directions, 2 * gates * HIDDEN, seed=3) / 2,
        "lengths": np.asarray([2, size[0], 1, 0][:batch], np.int32),
        "h": floats(directions, batch, HIDDEN, seed=4),
        "c": floats(directions, batch, HIDDEN, seed=5),
    }
    inputs: dict[str, Any] = {
        "x": floats(*size, 4),
        "w": floats(directions, gates * HIDDEN, 4, seed=1) / 2,
        "r": floats(directions, gates * HIDDEN, HIDDEN, seed=2) / 2,
    }
    inputs.update({name: value if name in given else "" for name, value in optional.items()})
    if op != "LSTM":
        del inputs["c"]
    typed = {
        name: value.astype(dtype) if not isinstance(value, str) and value.dtype == np.float32 else value
        for name, value in inputs.items()
    }
    known = [name for name in constants if name in "wr" or name in given]
    return one_node(
        op, typed, opset=opset, constants=known, dynamic=dynamic, outputs=outputs or (3 if op == "LSTM" else 2),
        direction=direction, hidden_size=HIDDEN, **attributes,
    )  # fmt: skip


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("given", [(), ("b",), ("b", "lengths"), ("b", "h"), ("b", "lengths", "h", "c"), ("c",)])
@pytest.mark.parametrize("dynamic", [(), ("x", "lengths", "h", "c")])
def test_inputs(op: str, direction: str, given: Sequence[str], dynamic: Sequence[str], tmp_path: Path) -> None:
    model, inputs = cell(op, direction=direction, given=given, dynamic=dynamic)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("constants", [(), ("w",), ("r", "b")])
@pytest.mark.parametrize("later", [0, 1])
def test_weights_computed_at_run_time(op: str, constants: Sequence[str], later: int, tmp_path: Path) -> None:
    more = {"linear_before_reset": later} if op == "GRU" else {}
    model, inputs = cell(op, direction="bidirectional", given=("b",), constants=constants, **more)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("given", [("b",), ("b", "lengths")])
@pytest.mark.parametrize("dynamic", [(), ("x", "lengths")])
@pytest.mark.parametrize("activations", [(), ("Relu", "Tanh", "Sigmoid"), ("Sigmoid", "Relu", "Relu"), ("Relu",) * 3])
@pytest.mark.parametrize("clip", [0.0, 0.6])
def test_activations_and_bounds(
    op: str, given: Sequence[str], dynamic: Sequence[str], activations: Sequence[str], clip: float, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"clip": clip} if clip else {}
    if activations:
        more["activations"] = list(activations[: {"LSTM": 3, "GRU": 2, "RNN": 1}[op]]) * 2
    model, inputs = cell(op, direction="bidirectional", given=given, dynamic=dynamic, **more)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("given", [(), ("b",), ("b", "lengths")])
@pytest.mark.parametrize("dynamic", [(), ("x", "lengths")])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_reset_after_the_product(given: Sequence[str], dynamic: Sequence[str], direction: str, tmp_path: Path) -> None:
    model, inputs = cell("GRU", direction=direction, given=given, dynamic=dynamic, linear_before_reset=1)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
def test_batch_first(op: str, tmp_path: Path) -> None:
    given = ("b", "lengths", "h", "c")
    model, inputs = cell(op, direction="bidirectional", given=given, size=(5, 3))
    onnx.save(model, tmp_path / "model.onnx")
    expected = harness.run_onnx(tmp_path / "model.onnx", inputs)
    for dynamic in ((), ("x", "lengths", "h", "c")):
        moved, _ = cell(op, direction="bidirectional", given=given, size=(5, 3), dynamic=dynamic)
        moved.graph.node[0].attribute.append(onnx.helper.make_attribute("layout", 1))
        for info in moved.graph.input:
            dims = info.type.tensor_type.shape.dim
            if len(dims) == 3:
                first, second = (
                    onnx.TensorShapeProto.Dimension.FromString(dims[i].SerializeToString()) for i in (1, 0)
                )
                dims[0].CopyFrom(first)
                dims[1].CopyFrom(second)
        del moved.graph.output[:]
        moved.graph.output.extend(onnx.ValueInfoProto(name=name) for name in moved.graph.node[0].output)
        moved = onnx.shape_inference.infer_shapes(moved)
        swapped = [value.swapaxes(0, 1) if value.ndim == 3 else value for value in inputs]
        path = converted_to_openvino(moved, tmp_path)
        sequence, *states = harness.run_openvino(path, swapped)
        actual = [sequence.transpose(1, 2, 0, 3), *(state.swapaxes(0, 1) for state in states)]
        harness.assert_close(actual, expected, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("lengths", [[5, 5, 5], [5, 2, 0]])
def test_constant_lengths(op: str, lengths: list[int], tmp_path: Path) -> None:
    for dynamic in ((), ("x",)):
        model, inputs = cell(op, given=("b",), dynamic=dynamic)
        model.graph.node[0].input[4] = "lengths"
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(lengths, np.int32), "lengths"))
        assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)
        text = (tmp_path / "made.xml").read_text()
        assert ('clip="3.4028234663852886e+38"' in text) == (bool(dynamic) or len(set(lengths)) > 1)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("outputs", [("y",), ("", "h"), ("", "", "c"), ("y", "", "c")])
def test_results_left_out(op: str, outputs: Sequence[str], tmp_path: Path) -> None:
    kept = outputs if op == "LSTM" else outputs[:2]
    if not any(kept):
        return
    model, inputs = cell(op, given=("b",))
    del model.graph.node[0].output[:]
    model.graph.node[0].output.extend(kept)
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in kept if name)
    model = onnx.shape_inference.infer_shapes(model)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
def test_results_that_nothing_reads(op: str, tmp_path: Path) -> None:
    model, inputs = cell(op, given=("b",))
    del model.graph.output[1:]
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)
    text = (tmp_path / "made.xml").read_text()
    assert text.count('type="Transpose"') == 2


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("opset", [7, 14, 22])
def test_versions(op: str, opset: int, tmp_path: Path) -> None:
    model, inputs = cell(op, direction="reverse", given=("b", "lengths"), opset=opset)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float16, 5e-3), (np.float64, 1e-5)])
@pytest.mark.parametrize("dynamic", [(), ("x", "lengths")])
def test_element_types(op: str, dtype: Any, tolerance: float, dynamic: Sequence[str], tmp_path: Path) -> None:
    plain, inputs = cell(op, direction="bidirectional", given=("b", "lengths"), dynamic=dynamic)
    onnx.save(plain, tmp_path / "plain.onnx")
    expected = harness.run_onnx(tmp_path / "plain.onnx", inputs)
    model, inputs = cell(op, direction="bidirectional", given=("b", "lengths"), dynamic=dynamic, dtype=dtype)
    outputs = harness.run_openvino(converted_to_openvino(model, tmp_path), inputs)
    assert [output.dtype for output in outputs] == [np.dtype(dtype)] * len(outputs)
    harness.assert_close(outputs, expected, rtol=tolerance, atol=tolerance)


def test_weights_take_their_size_once(tmp_path: Path) -> None:
    """Also large ones, whose gates are put in order as they are written."""
    hidden, width = 96, 64
    inputs = {
        "x": floats(3, 2, width),
        "w": floats(2, 4 * hidden, width, seed=1) / 8,
        "r": floats(2, 4 * hidden, hidden, seed=2) / 8,
    }
    model, arrays = one_node(
        "LSTM", inputs, opset=14, constants=("w", "r"), outputs=1, direction="bidirectional", hidden_size=hidden
    )
    assert_same_in_openvino(model, arrays, tmp_path, rtol=RTOL, atol=ATOL)
    stored = sum(inputs[name].nbytes for name in ("w", "r"))
    assert stored <= (tmp_path / "made.bin").stat().st_size < stored + 10_000


def test_too_few_activations_are_refused(tmp_path: Path) -> None:
    model, _ = cell("GRU", activations=["Sigmoid"])
    assert_refused_in_openvino(model, tmp_path, "it has 1 activations")


@pytest.mark.parametrize("activations", [[], ["Elu"]])
def test_bounds_of_nothing_are_refused(activations: list[str], tmp_path: Path) -> None:
    model, _ = cell("RNN", clip=0.0, **({"activations": activations} if activations else {}))
    assert_refused_in_openvino(model, tmp_path, "its clip 0 is no bound in OpenVINO")


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("size", [(0, 3), (5, 0)])
def test_data_without_elements_is_refused(op: str, size: tuple[int, int], tmp_path: Path) -> None:
    model, _ = cell(op, given=("b",), size=size)
    assert_refused_in_openvino(model, tmp_path, "its data has no elements")
