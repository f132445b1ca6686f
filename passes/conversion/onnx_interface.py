"""Inputs and outputs of an ONNX model that is made of an IR: what OpenVINO shows of the IR, under the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx

from maxfold.model.dtypes import DType, from_openvino
from maxfold.model.graph import Constant, Tensor, new_variable
from maxfold.model.model import Model
from maxfold.model.openvino import text
from maxfold.model.openvino.ir import ConstantLayer, Parameter, port_of
from maxfold.model.openvino.reader import split_names
from maxfold.model.types import Dim, value_info
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.names import DeclaredShapes
from maxfold.passes.conversion.version_10 import is_version_10, shown_input, shown_output

if TYPE_CHECKING:
    from maxfold.passes.conversion.sites.onnx_site import OnnxTarget


def add_input(tensor: Tensor, target: OnnxTarget, shapes: DeclaredShapes, model: Model) -> None:
    """A graph input for a Parameter, with a Cast behind it where OpenVINO shows another element type."""
    parameter: Parameter = tensor.__dict__["parameter"]
    dtype = text.element_type(parameter.data.get("element_type", "dynamic"), f"Parameter {parameter.layer.name!r}")
    if dtype is None or dtype.onnx is None:
        raise UnsupportedError(f"its element type {parameter.data.get('element_type')} does not exist in ONNX")
    shown = shown_input(dtype) if is_version_10(model) else dtype
    assert shown.onnx is not None
    name = target.fresh(_own_name(tensor) or "input")
    shape = shapes.input_shape(name, tensor.shape)
    made = new_variable(name, target.graph)
    made.dtype, made.shape = shown.numpy, shape
    target.graph.input_info[name] = value_info(name, shown.onnx, shape)
    target.graph.inputs.append(made)
    target.shown.add(made)
    target.tensors[tensor] = (
        made if shown is target.type_of(dtype) else added_to(target, "Cast", made, name, {"to": dtype.onnx})
    )


def reserved_name(model: Model, index: int, target: OnnxTarget) -> str:
    """The name of a graph output, which nothing else gets: what the Result says, else what OpenVINO calls the tensor,
    else the Result's own. Where another output or an input has it already, a new one."""
    result, tensor = model.graph.results[index], model.graph.outputs[index]
    listed = None if is_version_10(model) else result.layer.attributes.get("output_names")
    names = split_names(listed or "")
    is_parameter = "parameter" in tensor.__dict__
    own = "" if is_parameter else _own_name(tensor, with_layer=is_version_10(model))
    name = names[0] if names else own or result.layer.name
    made = target.tensors.get(tensor)
    is_input = made is not None and made in target.shown and made.name == name
    if is_input and next(place for place, output in enumerate(model.graph.outputs) if output is tensor) == index:
        return name
    return target.fresh(name or "output")


def _own_name(tensor: Tensor, *, with_layer: bool = True) -> str:
    """What OpenVINO calls a tensor. The names of a port are sorted, and other tensors' may be among them: its layer's
    name comes first where it is one of them, or, `with_layer`, where there are none."""
    port = port_of(tensor)
    names = split_names(port.names or "") if port is not None else []
    layer = _layer_name(tensor)
    if layer in names or (with_layer and not names):
        return layer
    return names[0] if names else ""


def _layer_name(tensor: Tensor) -> str:
    """The name that OpenVINO gives a tensor after its layer: numbered where the layer makes several."""
    parameter: Parameter | None = tensor.__dict__.get("parameter")
    if parameter is not None:
        return parameter.layer.name
    if isinstance(tensor, Constant):
        return tensor.origin.layer.name if isinstance(tensor.origin, ConstantLayer) else tensor.name
    producer = tensor.inputs[0]
    if len(producer.outputs) == 1:
        return str(producer.name)
    return f"{producer.name}.{next(place for place, made in enumerate(producer.outputs) if made is tensor)}"


def add_output(model: Model, index: int, name: str, target: OnnxTarget) -> None:
    """A graph output under its name: what makes it is renamed where that is free, else followed by an Identity; a Cast
    where OpenVINO shows another element type."""
    tensor = model.graph.outputs[index]
    made = target.tensors[tensor]
    shown = _shown(tensor, made, target) if is_version_10(model) else None
    if shown is not None:
        made = added_to(target, "Cast", made, name, {"to": shown.onnx})
    list_output(made, name, target)


def list_output(made: Tensor, name: str, target: OnnxTarget) -> None:
    """Makes a tensor the next graph output, under a name that nothing else has."""
    if made.name != name and (made in target.shown or not made.inputs):
        made = added_to(target, "Identity", made, name)
    made.name = name
    target.shown.add(made)
    target.graph.outputs.append(made)


def _shown(tensor: Tensor, made: Tensor, target: OnnxTarget) -> DType | None:
    """The element type that OpenVINO shows for an output of an IR of version 10, None where it is the tensor's."""
    dtype = target.view.dtype(made)
    if dtype is None:
        raise UnsupportedError("its element type is not known, and OpenVINO shows it as f32 or i32")
    shown = shown_output(dtype)
    return None if shown is dtype else shown


def added_to(
    target: OnnxTarget, op: str, source: Tensor, base: str, attributes: dict[str, object] | None = None
) -> Tensor:
    """What a new node makes of a tensor."""
    return target.made_node(op, "", [source], dict(attributes or {}), base, 1).outputs[0]


def declare_outputs(made: Model, source: Model, target: OnnxTarget, shapes: DeclaredShapes) -> None:
    """Declares the graph outputs of a model that is otherwise done."""
    holds = shapes.hold_for((item.name, item.shape) for item in made.graph.inputs)
    shown = made.graph.outputs[: len(source.graph.outputs)]
    for tensor, output in zip(source.graph.outputs, shown, strict=True):
        port, dtype, shape = port_of(tensor), target.view.dtype(output), target.dims(output)
        if dtype is None and port is not None:
            dtype = from_openvino(text.precision_dtype(port.precision, f"output {output.name!r}"))
        if shape is None and port is not None and port.dims:
            # Only the rank is taken on trust: ONNX wants an output to have one.
            shape = [None] * len(port.dims)
        declared = _unchecked(shapes.output_shape(output.name, shape, holds=holds), target.view.checked_dims(output))
        made.graph.output_info.append(value_info(output.name, None if dtype is None else dtype.onnx, declared))
    for output in made.graph.outputs[len(shown) :]:
        made.graph.output_info.append(target.info_of(output) or onnx.ValueInfoProto(name=output.name))


def _unchecked(declared: list[Dim] | None, checked: Sequence[object] | None) -> list[Dim] | None:
    """A shape without the sizes that onnx's checker takes for others, and would refuse."""
    if declared is None or checked is None or len(declared) != len(checked):
        return declared
    pairs = zip(declared, checked, strict=True)
    return [None if isinstance(dim, int) and isinstance(size, int) and size != dim else dim for dim, size in pairs]


def bounds_of(tensor: Tensor) -> tuple[str, str | None]:
    """The shape of an input as IR wrote it, where it says more than ONNX can: intervals."""
    parameter: Parameter = tensor.__dict__["parameter"]
    shape = parameter.data.get("shape", "")
    return parameter.layer.name, shape if ".." in shape and "..." not in shape else None
