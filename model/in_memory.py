"""Models that are protobuf messages in memory: read without a copy of their weights, and written with one.

A message's strings are copied each time they are asked for, and what a message has held stays allocated until it goes
itself. So a tensor's data is taken when somebody needs it, one tensor at a time, and set once, in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import onnx
from google.protobuf.message import EncodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from maxfold.model import wire
from maxfold.model.adopt import adopt
from maxfold.model.model import Model, graph_protos, inner_graph_protos
from maxfold.model.onnx_encoder import encode_model
from maxfold.model.onnx_reader import read_message, read_onnx
from maxfold.model.storage import Region, Source

_NAME = "<ModelProto>"


class _MessageSource(Source):
    """The data field of a tensor that somebody else holds; the last one asked for is kept."""

    _last: ClassVar[tuple[_MessageSource, bytes] | None] = None

    def __init__(self, tensor: onnx.TensorProto, number: int, nbytes: int) -> None:
        self.name = _NAME
        self.size = nbytes
        self._tensor = tensor
        self._number = number

    def view(self, offset: int, nbytes: int) -> memoryview:
        return memoryview(self._data())[offset : offset + nbytes]

    def read(self, offset: int, nbytes: int) -> bytes:
        # The whole of it is no copy.
        return self._data()[offset : offset + nbytes]

    def _data(self) -> bytes:
        last = _MessageSource._last
        if last is None or last[0] is not self:
            # The one before goes first.
            _MessageSource._last = last = None
            last = _MessageSource._last = (self, self._taken())
        return last[1]

    def _taken(self) -> bytes:
        if self._number == wire.RAW_DATA:
            return self._tensor.raw_data
        serialized = Source(self._tensor.SerializeToString())
        skeleton = wire.Skeleton()
        wire.cut_tensor(serialized, skeleton)
        region = skeleton.cuts[0][1]
        return serialized.read(region.offset, region.nbytes)


def borrow(proto: onnx.ModelProto) -> Model:
    """A model whose weights stay in the message, which must not change while the model is in use.

    Raises `ModelError` for anything that is not a usable ONNX model.
    """
    skeleton = wire.Skeleton()
    try:
        light = _Shallow(skeleton).model(proto)
    except (ValueError, EncodeError):
        light = None
    if light is not None:
        model = read_message(light, skeleton, _NAME)
        if model is not None:
            return model
    # What only bytes can hold, or hold data where nothing looks for tensors.
    return read_onnx(proto)


def to_proto(model: Model) -> onnx.ModelProto:
    """The model as a ModelProto in memory; its weights are copied once, into the message."""
    adopt(model)
    proto = onnx.ModelProto()
    skeleton = wire.Skeleton()
    proto.ParseFromString(encode_model(model, skeleton=skeleton).to_bytes())
    _fill(proto, skeleton)
    return proto


def give_back(model: Model, proto: onnx.ModelProto) -> None:
    """Gives a message the content of a model that may be borrowed of it; whoever holds its graph sees the new one.

    The weights are copied once; what the message has held stays allocated until it goes.
    """
    adopt(model)
    skeleton = wire.Skeleton()
    new = onnx.ModelProto()
    new.ParseFromString(encode_model(model, skeleton=skeleton).to_bytes())
    for field, _ in proto.ListFields():
        if field.name != "graph":
            proto.ClearField(field.name)
    proto.graph.Clear()
    proto.DiscardUnknownFields()
    proto.MergeFrom(new)
    _fill(proto, skeleton)


def _fill(proto: onnx.ModelProto, skeleton: wire.Skeleton) -> None:
    """Puts the data that was cut out of a message back into it."""
    for tensor in _tensors(proto) if skeleton.cuts else ():
        if not tensor.HasField("segment") or tensor.segment.end != skeleton.token:
            continue
        number, region = skeleton.cuts[tensor.segment.begin]
        tensor.ClearField("segment")
        data = region.source.read(region.offset, region.nbytes)
        if number == wire.RAW_DATA:
            tensor.raw_data = data
        else:
            tensor.MergeFromString(wire.field_header(number, len(data)) + data)
    _MessageSource._last = None


def _tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors of all graphs and functions, as initializers and in attributes."""
    inner = [graph for function in proto.functions for node in function.node for graph in inner_graph_protos(node)]
    for function in proto.functions:
        yield from _attribute_tensors(function.node)
    for graph in graph_protos([proto.graph, *inner]):
        yield from graph.initializer
        yield from _attribute_tensors(graph.node)


def _attribute_tensors(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


class _UnfitError(ValueError):
    """A message has fields that can only be copied as bytes."""


class _Shallow:
    """Copies messages, all but the large data of their tensors, which is noted in the skeleton."""

    def __init__(self, skeleton: wire.Skeleton) -> None:
        self._skeleton = skeleton
        self._pending: list[tuple[onnx.GraphProto, onnx.GraphProto]] = []

    def model(self, source: onnx.ModelProto) -> onnx.ModelProto:
        target = onnx.ModelProto()
        _copy_fields(source, target, ("graph", "functions"))
        if source.HasField("graph"):
            target.graph.SetInParent()
            self._pending.append((source.graph, target.graph))
        for function in source.functions:
            shallow = target.functions.add()
            _copy_fields(function, shallow, ("node",))
            self._nodes(function.node, shallow.node)
        while self._pending:
            graph, shallow_graph = self._pending.pop()
            _copy_fields(graph, shallow_graph, ("node", "initializer"))
            self._nodes(graph.node, shallow_graph.node)
            for tensor in graph.initializer:
                self._tensor(tensor, shallow_graph.initializer.add())
        return target

    def _nodes(self, sources: Iterable[onnx.NodeProto], targets: Any) -> None:
        for source in sources:
            target = targets.add()
            if not any(map(_is_nested, source.attribute)):
                target.CopyFrom(source)
                continue
            _copy_fields(source, target, ("attribute",))
            for attribute in source.attribute:
                self._attribute(attribute, target.attribute.add())

    def _attribute(self, source: onnx.AttributeProto, target: onnx.AttributeProto) -> None:
        _copy_fields(source, target, ("t", "tensors", "g", "graphs"))
        if source.HasField("t"):
            self._tensor(source.t, target.t)
        for tensor in source.tensors:
            self._tensor(tensor, target.tensors.add())
        if source.HasField("g"):
            target.g.SetInParent()
            self._pending.append((source.g, target.g))
        for graph in source.graphs:
            self._pending.append((graph, target.graphs.add()))

    def _tensor(self, source: onnx.TensorProto, target: onnx.TensorProto) -> None:
        serialized = source.SerializeToString()
        if len(serialized) < wire.CUT_BYTES:
            target.ParseFromString(serialized)
            return
        first = len(self._skeleton.cuts)
        target.ParseFromString(wire.cut_tensor(Source(serialized), self._skeleton))
        for number, region in self._skeleton.cuts[first:]:
            own = _MessageSource(source, number, region.nbytes)
            self._skeleton.cuts[first] = (number, Region(own, 0, region.nbytes))


def _is_nested(attribute: onnx.AttributeProto) -> bool:
    return bool(attribute.HasField("t") or attribute.HasField("g") or attribute.tensors or attribute.graphs)


def _copy_fields(source: Message, target: Message, left: tuple[str, ...]) -> None:
    """Copies the fields of a message but those named in `left`.

    Raises `_UnfitError` for fields of a version of ONNX that is not known, and for text that is none.
    """
    if len(UnknownFieldSet(source)):
        raise _UnfitError
    for field, value in source.ListFields():
        if field.name in left:
            continue
        if hasattr(value, "MergeFrom"):
            # A message, or any number of values.
            getattr(target, field.name).MergeFrom(value)
        elif isinstance(value, bytes) and field.type == field.TYPE_STRING:
            raise _UnfitError
        else:
            setattr(target, field.name, value)
