"""Models made with OpenVINO itself, for what its conversion of ONNX files does not give."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset8 as operators
from openvino import opset6, opset13
from openvino.op.util import Variable, VariableInfo

PACKED = ("u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1")
ELEMENT_TYPES = (
    *PACKED,
    *("boolean", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"),
    *("f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2", "f8e8m0"),
)
_SHAPES: tuple[list[int], ...] = ([], [1], [5], [3, 7], [0], [2, 0, 3], [1, 64])


def write(name: str, path: Path) -> None:
    """Writes the model `name` as IR; names that end in "fp16" have their constants compressed."""
    model = MODELS[name]()
    if name.endswith("fp16"):
        ov.save_model(model, path, compress_to_fp16=True)
    else:
        ov.serialize(model, path)


def _input(name: str, shape: Any, kind: Any = np.float32) -> Any:
    parameter = operators.parameter(ov.PartialShape(shape), kind, name=name)
    parameter.output(0).set_names({name})
    return parameter


def _result(value: Any, *names: str) -> Any:
    result = operators.result(value)
    result.set_friendly_name(f"{names[0]}/result" if names else "result")
    if names:
        result.output(0).set_names(set(names))
    return result


def _constants(kind: str) -> ov.Model:
    """Constants of one element type with arbitrary bits, in shapes that fill whole bytes and that do not."""
    source = np.random.default_rng(7)
    results = []
    for number, shape in enumerate(_SHAPES):
        tensor = ov.Tensor(getattr(ov.Type, kind), ov.Shape(shape))
        if tensor.get_byte_size():
            flat = tensor.data.reshape(-1).view(np.uint8)
            flat[:] = source.integers(0, 2 if kind == "boolean" else 256, flat.size)
        constant = ov.op.Constant(tensor)
        constant.set_friendly_name(f"constant {number}")
        results.append(_result(constant, f"out{number}"))
    return ov.Model(results, [], "constants")


def _strings() -> ov.Model:
    words = np.array([["a", "", "grün"], ["with, comma", "x" * 300, "日本"]])
    constant, scalar = ov.op.Constant(ov.Tensor(words)), ov.op.Constant(ov.Tensor(np.array("one")))
    constant.set_friendly_name("words")
    parameter = _input("text", [2, 3], ov.Type.string)
    results = [_result(constant, "words"), _result(parameter, "same"), _result(scalar, "one")]
    return ov.Model(results, [parameter], "strings")


def _tensor_iterator() -> ov.Model:
    x, state, factor = _input("x", [2, 6, 3]), _input("state", [2, 1, 3]), _input("factor", [1, 1, 3])
    part, before, times = _input("part", [2, 2, 3]), _input("before", [2, 1, 3]), _input("times", [1, 1, 3])
    after = operators.add(operators.multiply(before, times), operators.reduce_sum(part, 1, keep_dims=True))
    scaled = operators.multiply(part, operators.constant(np.float32(1.5)))
    body = ov.Model([operators.result(after), operators.result(scaled)], [part, before, times], "body")
    loop = ov.op.tensor_iterator()
    loop.set_function(body)
    loop.set_sliced_input(part, x.output(0), 0, 2, 2, -1, 1)
    loop.set_merged_input(before, state.output(0), body.get_results()[0].output(0))
    loop.set_invariant_input(times, factor.output(0))
    loop.get_iter_value(body.get_results()[0].output(0), -1)
    loop.get_concatenated_slices(body.get_results()[1].output(0), 0, 2, 2, -1, 1)
    results = [_result(loop.output(0), "last"), _result(loop.output(1), "all")]
    return ov.Model(results, [x, state, factor], "iterator")


def _loop() -> ov.Model:
    """The body has a branch inside, and shares constants with the outer model."""
    count, x = _input("count", [], np.int64), _input("x", [1, 3])
    iteration, before = _input("iteration", [], np.int64), _input("before", [1, 3])
    table = np.arange(3, dtype=np.float32).reshape(1, 3)
    even = operators.equal(operators.mod(iteration, np.int64(2)), np.int64(0))
    step = _branch(even, operators.add(before, table), table)
    again = operators.less(iteration, operators.constant(np.int64(3)))
    body = ov.Model([operators.result(again), operators.result(step)], [iteration, before], "body")
    loop = ov.op.loop(count.output(0), operators.constant(True).output(0))
    loop.set_function(body)
    loop.set_special_body_ports([0, 0])
    loop.set_merged_input(before, x.output(0), body.get_results()[1].output(0))
    loop.get_iter_value(body.get_results()[1].output(0), -1)
    loop.get_concatenated_slices(body.get_results()[1].output(0), 0, 1, 1, -1, 0)
    results = [_result(operators.add(loop.output(0), table), "last"), _result(loop.output(1), "all")]
    return ov.Model(results, [count, x], "loop")


def _branch(condition: Any, value: Any, table: Any) -> Any:
    one, other = _input("one", [1, 3]), _input("other", [1, 3])
    branch = ov.op.if_op(condition.output(0))
    then_body = ov.Model([operators.result(operators.multiply(one, table))], [one], "then")
    else_body = ov.Model([operators.result(operators.negative(other))], [other], "else")
    branch.set_then_body(then_body)
    branch.set_else_body(else_body)
    branch.set_input(value.output(0), one, other)
    return branch.set_output(then_body.get_results()[0], else_body.get_results()[0])


def _if() -> ov.Model:
    """The two branches use different inputs, and one has none."""
    condition, x, y = _input("condition", [], np.bool_), _input("x", [1, 3]), _input("y", [1, 3])
    first, second = _input("first", [1, 3]), _input("second", [1, 3])
    then_body = ov.Model([operators.result(operators.add(first, second))], [first, second], "then")
    else_body = ov.Model([operators.result(operators.constant(np.ones([1, 3], np.float32)))], [], "else")
    branch = ov.op.if_op(condition.output(0))
    branch.set_then_body(then_body)
    branch.set_else_body(else_body)
    branch.set_input(x.output(0), first, None)
    branch.set_input(y.output(0), second, None)
    branch.set_output(then_body.get_results()[0], else_body.get_results()[0])
    nested = _branch(condition, operators.add(branch.output(0), x), np.ones([1, 3], np.float32))
    return ov.Model([_result(branch.output(0), "z"), _result(nested, "w")], [condition, x, y], "branches")


def _variable(name: str) -> Variable:
    info = VariableInfo()
    info.variable_id, info.data_type, info.data_shape = name, ov.Type.f32, ov.PartialShape([2, 3])
    return Variable(info)


def _state() -> ov.Model:
    x = _input("x", [2, 3])
    variables = [_variable("first"), _variable("sec ond/é")]
    values = [opset6.read_value(operators.constant(np.full([2, 3], 4, np.float32)), variable) for variable in variables]
    sums = [operators.add(value, x) for value in values]
    sinks = [opset6.assign(total, variable) for total, variable in zip(sums, variables, strict=True)]
    return ov.Model([_result(operators.multiply(*sums), "y")], sinks, [x], "state")


def _names() -> ov.Model:
    x = _input("x,1", [2, 3])
    x.set_friendly_name('in <put> "&/\té')
    relu = operators.relu(x)
    relu.output(0).set_names({"a,b", "a", " blank ", "back\\,slash", "日本"})
    results = [_result(relu, "first"), _result(relu, "second", "also"), _result(x, "through"), operators.result(relu)]
    return ov.Model(results, [x], "names & <more>")


def _dynamic(**shapes: str) -> ov.Model:
    inputs = [_input(name, shape) for name, shape in shapes.items()]
    results = [_result(operators.relu(parameter), parameter.get_friendly_name() + "_out") for parameter in inputs]
    return ov.Model(results, inputs, "dynamic")


def _rt_info() -> ov.Model:
    x = _input("x", [1, 3, 4, 4])
    x.set_layout(ov.Layout("NCHW"))
    relu = operators.relu(x)
    relu.get_rt_info()["user_datakey"] = "node value"
    relu.output(0).get_rt_info()["user_datakey"] = "port value"
    model = ov.Model([_result(relu, "y")], [x], "rt_info")
    model.set_rt_info("text", ["model_info", "model_type"])
    model.set_rt_info(0.25, ["model_info", "deep", "er", "threshold"])
    model.set_rt_info([1, 2, 3], ["model_info", "list"])
    model.set_rt_info(["red apple", "green"], ["model_info", "labels"])
    model.set_rt_info(True, "flag")
    model.set_rt_info("< & ' \" é", "1 odd key")
    return model


def _mixed_weights() -> ov.Model:
    """Weights that FP16 holds, ones it does not, and types that stay."""
    x = _input("x", [4])
    values = np.array([1.5, 1e5, 1e-8, -3], np.float32)
    total = operators.add(operators.multiply(x, operators.constant(values)), operators.constant(np.float32(0.1)))
    big = operators.add(total, operators.constant(np.array([1e6, 2e6, 3e6, 4e6], np.float32)))
    wide = operators.add(operators.convert(big, "f64"), operators.constant(np.array([1, 2, 3, 4], np.float64)))
    return ov.Model([_result(wide, "y"), _result(operators.constant(np.arange(4)), "z")], [x], "mixed")


def _fake_convert() -> ov.Model:
    x = _input("x", [2, 3])
    quantized = opset13.fake_convert(x, np.float32(2), np.float32(0), destination_type="f8e5m2")
    tail = operators.topk(quantized, np.int64(1), 1, "max", "value")
    return ov.Model([_result(tail.output(1), "indices"), _result(tail.output(0), "values")], [x], "several outputs")


MODELS: dict[str, Callable[[], ov.Model]] = {
    **{f"constants {kind}": partial(_constants, kind) for kind in ELEMENT_TYPES},
    "constants f32 fp16": lambda: _constants("f32"),
    "strings": _strings,
    "iterator": _tensor_iterator,
    "iterator fp16": _tensor_iterator,
    "loop": _loop,
    "loop fp16": _loop,
    "if": _if,
    "state": _state,
    "names": _names,
    "dynamic": lambda: _dynamic(free="?,3", interval="1..5,3", to="..7,3", start="3..,3", scalar="[]"),
    "dynamic rank": lambda: _dynamic(rank="...", free="?"),
    "rt_info": _rt_info,
    "mixed": _mixed_weights,
    "mixed fp16": _mixed_weights,
    "several outputs": _fake_convert,
}
