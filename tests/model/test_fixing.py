"""Fixing open dimensions: in every declaration, or not at all."""

from __future__ import annotations

import onnx
import pytest
from onnx import ModelProto

from maxfold.model import ModelError, read_onnx
from maxfold.model.fixing import fix_dimensions
from tests.passes.outcome import saved
from tests.text import model

SOURCE = """
    g (bool c, float[N,3,H] x, float[?,H] z) => (float[N,3,H] y, float[M] w) <float[N,3,H] p> {
        p = Neg(x)
        y = If (c) <then_branch = t () => (float[N,3,H] r) { r = Neg(p) },
                    else_branch = e () => (float s) { s = Abs(p) }>
        w = Shrink(z)
    }"""


def shapes(proto: ModelProto) -> dict[str, list[int | str]]:
    graph = proto.graph
    infos = [*graph.input, *graph.output, *graph.value_info]
    infos += [info for node in graph.node for entry in node.attribute for info in entry.g.output]
    return {
        info.name: [dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else "?") for dim in dims]
        for info in infos
        if (dims := info.type.tensor_type.shape.dim)
    }


def fixed(dims: dict[str, int], input_shapes: dict[str, list[int]]) -> tuple[int, dict[str, list[int | str]]]:
    loaded = read_onnx(model(SOURCE))
    changes = fix_dimensions(loaded, dims, input_shapes)
    return changes, shapes(ModelProto.FromString(saved(loaded)))


def test_a_symbol_is_fixed_wherever_it_stands() -> None:
    changes, found = fixed({"N": 2}, {})
    assert changes == 1
    assert found["x"] == found["y"] == found["p"] == found["r"] == [2, 3, "H"]
    assert (found["z"], found["w"]) == (["?", "H"], ["M"])


def test_a_whole_shape_fixes_the_symbols_in_it() -> None:
    changes, found = fixed({"z:0": 9}, {"x": [1, 3, 8]})
    assert changes == 4
    assert found["x"] == found["y"] == found["p"] == found["r"] == [1, 3, 8]
    assert found["z"] == [9, 8]


def test_nothing_to_do() -> None:
    assert fixed({"x:1": 3}, {}) == (0, shapes(model(SOURCE)))


@pytest.mark.parametrize(
    ("dims", "input_shapes", "reason"),
    [
        ({"Q": 1}, {}, "no input has an open dimension 'Q'; open dimensions: H, N, z:0"),
        ({"x:7": 1}, {}, "no input has an open dimension 'x:7'"),
        ({"M": 1}, {}, "no input has an open dimension 'M'"),
        ({}, {"q": [1]}, "no input is named 'q'; the inputs are c, x, z"),
        ({}, {"x": [1, 3]}, "input 'x' has 3 dimensions, not 2"),
        ({}, {"x": [1, 4, 8]}, "dimension 1 of input 'x' is 3, and cannot be 4"),
        ({"N": 2}, {"x": [1, 3, 8]}, "dimension 'N' is given two sizes, 1 and 2"),
        ({"z:0": 2}, {"z": [1, 3]}, "dimension 0 of input 'z' is given two sizes"),
    ],
)
def test_what_cannot_be(dims: dict[str, int], input_shapes: dict[str, list[int]], reason: str) -> None:
    loaded = read_onnx(model(SOURCE))
    before = saved(loaded)
    with pytest.raises(ModelError) as error:
        fix_dimensions(loaded, dims, input_shapes)
    assert str(error.value).startswith(reason)
    assert saved(loaded) == before


def test_dimensions_that_exporters_write_as_zero_or_less() -> None:
    source = model("g (float[A,2] x) => (float[A,2] y) { y = Neg(x) }")
    source.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    source.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 0
    loaded = read_onnx(source)
    assert fix_dimensions(loaded, {"x:0": 4}, {"x": [4, 5]}) == 2
    assert shapes(ModelProto.FromString(saved(loaded)))["x"] == [4, 5]


def test_an_input_without_shape() -> None:
    source = model("g (float[A,2] x) => (float[A,2] y) { y = Neg(x) }")
    source.graph.input[0].type.CopyFrom(onnx.helper.make_tensor_type_proto(1, None))
    with pytest.raises(ModelError, match="declares no shape"):
        fix_dimensions(read_onnx(source), {}, {"x": [1, 2]})
