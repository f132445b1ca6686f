"""Open dimensions of a model's inputs given a size: in every declaration that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from maxfold.model.errors import ModelError
from maxfold.model.graph import Graph, Variable
from maxfold.model.model import Model
from maxfold.model.spelling import did_you_mean
from maxfold.model.types import declare


def fix_dimensions(model: Model, dims: Mapping[str, int], input_shapes: Mapping[str, Sequence[int]]) -> int:
    """Sets sizes in the declared types of an ONNX model; returns how many dimensions of inputs changed.

    A key of `dims` is a symbol, which gets its size wherever the main graph and the graphs inside declare it, or
    "input:axis". `input_shapes` gives whole shapes; a symbol that it meets is set everywhere too. Raises `ModelError`,
    and changes nothing, for a name that is none, a size that contradicts a declared one, or another rank.
    """
    if model.format != "onnx":
        raise ModelError("only an ONNX model can be given sizes; reshape this one in OpenVINO, or convert it first")
    infos = {name: info for name, info in model.graph.input_info.items() if info.type.HasField("tensor_type")}
    symbols: dict[str, int] = {}
    places: dict[tuple[str, int], int] = {}
    for name, shape in input_shapes.items():
        for axis, size in enumerate(_checked_shape(name, shape, infos)):
            _set(infos[name], axis, size, symbols, places)
    known = {dim.dim_param for info in infos.values() for dim in _dims(info) if dim.dim_param}
    for key, size in dims.items():
        name, _, place = key.rpartition(":")
        if key in known:
            _set_symbol(key, size, symbols)
        elif name in infos and place.isdecimal() and int(place) < len(_dims(infos[name])):
            _set(infos[name], int(place), size, symbols, places)
        else:
            raise ModelError(f"no input has an open dimension {key!r}; {_open_dimensions(infos, known)}")
    before = _open_count(infos.values())
    _declare_all(model.graph, symbols, places)
    return before - _open_count(model.graph.input_info[name] for name in infos)


def open_dimensions(model: Model) -> list[tuple[str, int, int]]:
    """The open dimensions of the inputs: what `fix_dimensions` calls each, its axis, and the rank of its input."""
    found = []
    for name, info in model.graph.input_info.items():
        dims = _dims(info) if info.type.HasField("tensor_type") else ()
        for axis, dim in enumerate(dims):
            if _is_open(dim):
                found.append((dim.dim_param or f"{name}:{axis}", axis, len(dims)))
    return found


def _checked_shape(name: str, shape: Sequence[int], infos: Mapping[str, onnx.ValueInfoProto]) -> Sequence[int]:
    if name not in infos:
        hint = did_you_mean(name, infos) or f"the inputs are {', '.join(infos) or 'none'}"
        raise ModelError(f"no input is named {name!r}; {hint}")
    tensor_type = infos[name].type.tensor_type
    if not tensor_type.HasField("shape"):
        raise ModelError(f"input {name!r} declares no shape, so its dimensions cannot be fixed; declare one first")
    if len(tensor_type.shape.dim) != len(shape):
        raise ModelError(f"input {name!r} has {len(tensor_type.shape.dim)} dimensions, not {len(shape)}")
    return shape


def _set(
    info: onnx.ValueInfoProto, axis: int, size: int, symbols: dict[str, int], places: dict[tuple[str, int], int]
) -> None:
    dim = _dims(info)[axis]
    if dim.dim_param:
        _set_symbol(dim.dim_param, size, symbols)
        return
    if _is_open(dim):
        if places.setdefault((info.name, axis), size) != size:
            raise ModelError(f"dimension {axis} of input {info.name!r} is given two sizes")
        return
    if dim.dim_value != size:
        raise ModelError(f"dimension {axis} of input {info.name!r} is {dim.dim_value}, and cannot be {size}")


def _set_symbol(symbol: str, size: int, symbols: dict[str, int]) -> None:
    if symbols.setdefault(symbol, size) != size:
        raise ModelError(f"dimension {symbol!r} is given two sizes, {symbols[symbol]} and {size}")


def _is_open(dim: onnx.TensorShapeProto.Dimension) -> bool:
    # Some exporters write 0 or -1 for a dimension that is not known.
    return bool(dim.dim_param) or not dim.HasField("dim_value") or dim.dim_value <= 0


def _open_dimensions(infos: Mapping[str, onnx.ValueInfoProto], known: set[str]) -> str:
    places = [
        f"{name}:{axis}"
        for name, info in infos.items()
        for axis, dim in enumerate(_dims(info))
        if not dim.dim_param and _is_open(dim)
    ]
    return f"open dimensions: {', '.join([*sorted(known), *places]) or 'none'}"


def _open_count(infos: Any) -> int:
    return sum(_is_open(dim) for info in infos for dim in _dims(info))


def _dims(info: onnx.ValueInfoProto) -> Sequence[onnx.TensorShapeProto.Dimension]:
    dims: Sequence[onnx.TensorShapeProto.Dimension] = info.type.tensor_type.shape.dim
    return dims


def _declare_all(graph: Graph, symbols: Mapping[str, int], places: Mapping[tuple[str, int], int]) -> None:
    for name, info in graph.input_info.items():
        for axis, dim in enumerate(_dims(info)) if info.type.HasField("tensor_type") else ():
            if (name, axis) in places:
                dim.dim_value = places[name, axis]
    pending = [graph]
    while pending:
        scope = pending.pop()
        for info in (*scope.input_info.values(), *scope.output_info, *scope.value_info):
            _fill(info, symbols)
        _declare_again(scope)
        for node in scope.nodes:
            pending += [value for value in node.attrs.values() if isinstance(value, Graph)] if node.attrs else []


def _fill(info: onnx.ValueInfoProto, symbols: Mapping[str, int]) -> None:
    if not info.type.HasField("tensor_type"):
        return
    for dim in _dims(info):
        if dim.dim_param in symbols:
            dim.dim_value = symbols[dim.dim_param]


def _declare_again(scope: Graph) -> None:
    """Tensors carry what is declared of them, for scripts."""
    infos = {info.name: info for info in (*scope.value_info, *scope.output_info, *scope.input_info.values())}
    results = [tensor for node in scope.nodes for tensor in node.outputs]
    for tensor in (*scope.inputs, *scope.outputs, *results):
        if isinstance(tensor, Variable) and tensor.name in infos and tensor.scope is scope:
            declare(tensor, infos[tensor.name])
