"""Which tensors of a model are its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import onnx

from maxfold.model.errors import ModelError
from maxfold.model.graph import Tensor
from maxfold.model.model import Model
from maxfold.model.openvino.ir import Layer, Result, layer_of, port_of
from maxfold.model.openvino.reader import split_names
from maxfold.model.spelling import did_you_mean
from maxfold.model.types import value_info
from maxfold.model.view import View


def keep_outputs(model: Model, names: Sequence[str]) -> None:
    """Makes tensors of the main graph its outputs, in that order; what only other outputs need stays.

    A name is that of a tensor, in an IR also that of the layer of one result that makes it. Raises `ModelError`, and
    changes nothing, for a name that is none, or that is given twice.
    """
    known = _openvino_names(model) if model.format == "openvino" else _onnx_names(model)
    tensors: list[Tensor] = []
    for name in names:
        tensor = known.get(name)
        if tensor is None:
            raise ModelError(f"nothing in the main graph is named {name!r}; {_hint(name, model, known)}")
        if tensor in tensors:
            raise ModelError(f"output {name!r} is named twice; name each once")
        tensors.append(tensor)
    if model.format == "openvino":
        _set_results(model, tensors, names)
    else:
        _set_infos(model, tensors)
    list.__setitem__(model.graph.outputs, slice(None), tensors)


def output_names(output: Tensor) -> list[str]:
    """What an output of the main graph is called outside."""
    shown, port = output.__dict__.get("shown_name"), port_of(output)
    if shown is not None:
        return [shown]
    return split_names(port.names) if port is not None and port.names else [output.name]


def _hint(name: str, model: Model, known: Iterable[str]) -> str:
    outputs = ", ".join(output_names(tensor)[0] for tensor in model.graph.outputs)
    return did_you_mean(name, known) or f"the outputs are {outputs or 'none'}"


def _onnx_names(model: Model) -> dict[str, Tensor]:
    graph = model.graph
    made = (tensor for node in graph.nodes for tensor in node.outputs)
    return {tensor.name: tensor for tensor in (*graph.constants, *graph.inputs, *made) if tensor.name}


def _openvino_names(model: Model) -> dict[str, Tensor]:
    graph = model.graph
    known: dict[str, Tensor] = {}
    for node in graph.nodes:
        layer = layer_of(node)
        if len(node.outputs) == 1:
            known[node.name if layer is None else layer.name] = node.outputs[0]
    for tensor in (*graph.inputs, *(tensor for node in graph.nodes for tensor in node.outputs)):
        port = port_of(tensor)
        known.update(dict.fromkeys(split_names(port.names or "") if port is not None else (), tensor))
    known.update({tensor.name: tensor for tensor in graph.outputs})
    return known


def _set_results(model: Model, tensors: Sequence[Tensor], names: Sequence[str]) -> None:
    graph = model.graph
    known = dict(zip(graph.outputs, graph.results, strict=True))
    results = []
    for tensor, name in zip(tensors, names, strict=True):
        own = output_names(tensor)
        attributes = {"output_names": (name if name in own else own[0]).replace(",", "\\,")}
        made = Result(Layer(f"{name}/sink_port_0", "Result", "opset1", attributes), None, -1)
        # Without places of their own they are written in this order, behind all else.
        results.append(replace(known.get(tensor, made), position=-1))
    graph.results = results


def _set_infos(model: Model, tensors: Sequence[Tensor]) -> None:
    graph = model.graph
    declared = {info.name: info for info in (*graph.value_info, *graph.input_info.values(), *graph.output_info)}
    view = View(model)
    graph.output_info = [declared.get(tensor.name) or _info(tensor, view) for tensor in tensors]


def _info(tensor: Tensor, view: View) -> onnx.ValueInfoProto:
    """What is derived of a tensor, as a declaration."""
    dtype, shape = view.dtype(tensor), view.shape(tensor)
    return value_info(tensor.name, None if dtype is None else dtype.onnx, shape)
