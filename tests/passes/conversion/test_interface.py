"""Inputs and outputs keep their names, order, types and declared shapes, whatever a model makes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import TensorProto, helper, parser
from openvino import opset13, opset16

from maxfold.model import ModelError
from maxfold.optimizer import load, optimize, save
from maxfold.optimizer.api import convert
from tests.effort import calls
from tests.passes.conversion import harness

ALIASES = {
    "of an input": "g (float[2,3] x) => (float[2,3] y) { y = Identity(x) }",
    "of an output": "g (float[2,3] x) => (float[2,3] r, float[2,3] y) { r = Relu(x)  y = Identity(r) }",
    "that comes first": "g (float[2,3] x) => (float[2,3] y, float[2,3] r) { r = Relu(x)  y = Identity(r) }",
    "twice": "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { r = Relu(x)  y = Identity(r)  z = Identity(r) }",
    "in a row": "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = Identity(x)  z = Identity(y) }",
    "before another": "g (float[2,3] x) => (float[2,3] b) { a = Identity(x)  c = Relu(a)  b = Identity(c) }",
    "by Dropout": "g (float[2,3] x) => (float[2,3] r, float[2,3] y) { r = Relu(x)  y = Dropout(r) }",
    "by Max": "g (float[2,3] x) => (float[2,3] r, float[2,3] y) { r = Relu(x)  y = Max(r) }",
    "by Sum": "g (int64[2,3] x) => (int64[2,3] y) { y = Max(x) }",
    "by a reduction": "g (float[2,3] x) => (float[2,3] y) <int64[0] a = {}> "
    "{ y = ReduceSum <noop_with_empty_axes = 1> (x, a) }",
    "by Cast": "g (bool[2,3] x) => (bool[2,3] y) { y = Cast <to = 9> (x) }",
    "of a constant": "g (float[2,3] x) => (float[2] c, float[2] y, float[2,3] r) <float[2] c = {1, 2}> "
    "{ r = Relu(x)  y = Identity(c) }",
    "of types": "g (double[2] x, int64[2] i, uint8[2] u, bool[2] b) => (double[2] xx, int64[2] ii, uint8[2] uu, "
    "bool[2] bb) { xx = Identity(x)  ii = Identity(i)  uu = Identity(u)  bb = Identity(b) }",
    "that is the input": "g (float[2,3] x) => (float[2,3] x, float[2,3] y) { y = Relu(x) }",
    "beside the input": "g (float[2,3] x) => (float[2,3] y, float[2,3] x) { y = Identity(x) }",
    "through nothing": "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = Identity(x)  a = Relu(x) z = Neg(a) }",
}
Names = tuple[list[set[str]], list[set[str]]]


def made(text: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')


def feeds(model: onnx.ModelProto) -> list[Any]:
    random = np.random.default_rng(0)
    found = []
    for item in model.graph.input:
        tensor = item.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        found.append(random.integers(0, 2, shape).astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
    return found


def names_of(path: Path) -> Names:
    """The names of inputs and outputs once OpenVINO has compiled a model."""
    compiled = openvino.Core().compile_model(path, "CPU")
    return [set(port.names) for port in compiled.inputs], [set(port.names) for port in compiled.outputs]


def declarations(model: onnx.ModelProto) -> list[tuple[str, str]]:
    return [(item.name, str(item.type)) for item in (*model.graph.input, *model.graph.output)]


def converted(model: onnx.ModelProto, path: Path, *, is_optimized: bool, ir_version: int = 11) -> Path:
    ir = convert(load(model), to="openvino", ir_version=ir_version)
    if is_optimized:
        optimize(ir)
    save(ir, path)
    return path


@pytest.mark.parametrize("is_optimized", [False, True], ids=["plain", "optimized"])
@pytest.mark.parametrize("text", ALIASES.values(), ids=ALIASES.keys())
def test_other_names_of_inputs_and_outputs(text: str, is_optimized: bool, tmp_path: Path) -> None:
    model = made(text)
    path = converted(model, tmp_path / "m.xml", is_optimized=is_optimized)
    inputs, outputs = names_of(path)
    for found, declared in ((inputs, model.graph.input), (outputs, model.graph.output)):
        assert len(found) == len(declared)
        for place, item in enumerate(declared):
            assert [index for index, names in enumerate(found) if item.name in names] == [place]
    onnx.save(model, tmp_path / "m.onnx")
    expected = harness.run_onnx(tmp_path / "m.onnx", feeds(model))
    harness.assert_close(harness.run_openvino(path, feeds(model)), expected, rtol=0, atol=0)
    back = convert(load(path), to="onnx")
    if is_optimized:
        optimize(back)
    save(back, tmp_path / "back.onnx")
    onnx.checker.check_model(tmp_path / "back.onnx", full_check=True)
    assert declarations(onnx.load(tmp_path / "back.onnx")) == declarations(model)
    harness.assert_close(harness.run_onnx(tmp_path / "back.onnx", feeds(model)), expected, rtol=0, atol=0)


def test_the_cheapest_copy_that_older_releases_read(tmp_path: Path) -> None:
    """Strings, which Convert does not take and OpenVINO's Identity does not survive, go through a new dimension."""
    for kind, operations in (("float", ["Convert"]), ("string", ["Const", "Unsqueeze", "Squeeze"])):
        model = made(f"g ({kind}[2] x) => ({kind}[2] y) {{ y = Identity(x) }}")
        path = converted(model, tmp_path / "m.xml", is_optimized=False)
        assert re.findall(r' type="(\w+)"', path.read_text()) == ["Parameter", *operations, "Result"]


@pytest.mark.parametrize("is_optimized", [False, True], ids=["plain", "optimized"])
@pytest.mark.parametrize("shape", [(2,), (2, 1), ()])
def test_strings_come_through(shape: tuple[int, ...], is_optimized: bool, tmp_path: Path) -> None:
    kind = f"string[{','.join(map(str, shape))}]" if shape else "string"
    model = made(f"g ({kind} x) => ({kind} y, {kind} z) {{ y = Identity(x)  z = Identity(y) }}")
    path = converted(model, tmp_path / "m.xml", is_optimized=is_optimized)
    assert names_of(path) == ([{"x"}], [{"y"}, {"z"}])
    texts = np.array(["a", "b,c"][: max(1, 2 * len(shape))], np.str_).reshape(shape)
    request = openvino.Core().compile_model(path, "CPU").create_infer_request()
    request.infer([openvino.Tensor(texts)])
    assert [tensor.str_data.tolist() for tensor in request.output_tensors] == [texts.tolist()] * 2


def test_an_output_that_is_listed_twice_is_refused() -> None:
    model = made("g (float[2] x) => (float[2] y, float[2] y) { y = Relu(x) }")
    with pytest.raises(ModelError, match="it is listed twice"):
        convert(load(model), to="openvino")


def two_results(*, is_passed: bool = False) -> openvino.Model:
    x = opset13.parameter([2], np.float32, name="x")
    x.output(0).set_names({"x"})
    node = x if is_passed else opset13.relu(x)
    if not is_passed:
        node.set_friendly_name("r")
        node.output(0).set_names({"r"})
    return openvino.Model([opset13.result(node, name="one"), opset13.result(node, name="other")], [x], "m")


def edited(model: openvino.Model, path: Path, edit: Callable[[str], str]) -> Path:
    openvino.serialize(model, path)
    path.write_text(edit(path.read_text()))
    return path


def with_output_names(*names: str) -> Callable[[str], str]:
    """Gives the Results these output_names, in their order; "" leaves one without."""

    def edit(text: str) -> str:
        left = iter(names)

        def result(match: re.Match[str]) -> str:
            name = next(left)
            listed = f' output_names="{name}"' if name else ""
            return f'type="Result" version="opset1"{listed}>'

        return re.sub(r'type="Result" version="opset1"[^>]*>', result, text)

    return edit


@pytest.mark.parametrize(
    ("names", "is_passed", "expected"),
    [
        (("", ""), False, ["r", "r_1"]),
        (("a", "b"), False, ["a", "b"]),
        (("a", "a"), False, ["a", "a_1"]),
        (("x", "b"), False, ["x_1", "b"]),
        (("x", "x_1"), False, ["x_1", "x_1_1"]),
        (("x", "b"), True, ["x", "b"]),
        (("b", "x"), True, ["b", "x_1"]),
        (("x", "x"), True, ["x", "x_1"]),
    ],
)
def test_results_of_one_tensor(names: tuple[str, str], is_passed: bool, expected: list[str], tmp_path: Path) -> None:
    """Names of inputs never change, and those of outputs are distinct."""
    path = edited(two_results(is_passed=is_passed), tmp_path / "m.xml", with_output_names(*names))
    save(convert(load(path), to="onnx"), tmp_path / "m.onnx")
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    graph = onnx.load(tmp_path / "m.onnx").graph
    assert [item.name for item in graph.input] == ["x"]
    assert [item.name for item in graph.output] == expected
    x = np.array([-1, 2], np.float32)
    result = x if is_passed else np.maximum(x, 0)
    harness.assert_close(harness.run_onnx(tmp_path / "m.onnx", [x]), [result, result], rtol=0, atol=0)


def test_results_of_one_name(tmp_path: Path) -> None:
    def edit(text: str) -> str:
        unnamed = with_output_names("", "")(text.replace(' names="r"', ""))
        return unnamed.replace('"one"', '"z"').replace('"other"', '"z"')

    path = edited(two_results(), tmp_path / "m.xml", edit)
    save(convert(load(path), to="onnx"), tmp_path / "m.onnx")
    assert [item.name for item in onnx.load(tmp_path / "m.onnx").graph.output] == ["z", "z_1"]


def test_an_input_with_other_tensors_names(tmp_path: Path) -> None:
    """OpenVINO gives an input the names of what does nothing to it; its own is that of its layer."""
    x = opset13.parameter([2], np.float32, name="x")
    x.output(0).set_names({"a", "x"})
    y = opset16.identity(x)
    y.set_friendly_name("y")
    y.output(0).set_names({"b", "y"})
    path = edited(openvino.Model([opset13.result(y)], [x], "m"), tmp_path / "m.xml", with_output_names(""))
    save(convert(load(path), to="onnx"), tmp_path / "m.onnx")
    assert [item[0] for item in declarations(onnx.load(tmp_path / "m.onnx"))] == ["x", "y"]


def test_declared_shapes_come_back(tmp_path: Path) -> None:
    """Sizes and symbols that the derived shape does not have, and less than is derived."""
    model = made(
        "g (float[N, 3] x, int64[2] s) => (float[M, 4] z, float[K, 3] x, float[L] c, float[2, P, 3] y) "
        "<float[2] c = {1, 2}, int64[3] t = {1, -1, 3}> { z = Expand(a, s)  a = ReduceSum <keepdims = 0> (x)  "
        "y = Reshape(x, t) }"
    )
    path = converted(model, tmp_path / "m.xml", is_optimized=True)
    save(convert(load(path), to="onnx"), tmp_path / "back.onnx")
    back = onnx.load(tmp_path / "back.onnx")
    # What is declared wrongly is not taken up again.
    model.graph.output[3].type.tensor_type.shape.dim[0].dim_value = 1
    assert declarations(back) == declarations(model)


def test_declared_shapes_hold_for_the_same_inputs_only(tmp_path: Path) -> None:
    model = made("g (float[N, 3] x, int64[2] s) => (float[2, 3] y) { y = Expand(x, s) }")
    path = converted(model, tmp_path / "m.xml", is_optimized=False)
    changed = openvino.Core().read_model(path)
    changed.reshape({"x": [1, 1]})
    openvino.serialize(changed, tmp_path / "changed.xml")
    assert "maxfold_declared_shapes" in (tmp_path / "changed.xml").read_text()
    save(convert(load(tmp_path / "changed.xml"), to="onnx"), tmp_path / "back.onnx")
    dims = onnx.load(tmp_path / "back.onnx").graph.output[0].type.tensor_type.shape.dim
    assert not any(dim.dim_value for dim in dims)


def test_many_names_of_one_tensor_take_no_longer_each() -> None:
    def work(count: int) -> int:
        nodes = [helper.make_node("Identity", ["x"], [f"y{place}"]) for place in range(count)]
        results = [helper.make_node("Relu", [f"y{place}"], [f"z{place}"]) for place in range(count)]
        total = helper.make_node("Sum", [f"z{place}" for place in range(count)], ["o"])
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "o")]
        graph = helper.make_graph([*nodes, *results, total], "g", values[:1], values[1:])
        model = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
        return calls(lambda: convert(model, to="openvino"))

    work(10)
    assert work(400) < 4.5 * work(100)
