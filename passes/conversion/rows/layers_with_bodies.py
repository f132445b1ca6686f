"""If, Loop and TensorIterator of OpenVINO as If, Loop and Scan of ONNX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxfold.model.dtypes import DType
from maxfold.model.dtypes import from_openvino as from_openvino_name
from maxfold.model.graph import Constant, Graph, Tensor
from maxfold.model.openvino import text
from maxfold.model.openvino.ir import Parameter, PortMapEntry
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import cast, int64_tensor, onnx_scalar, transposed
from maxfold.passes.conversion.row import from_openvino
from maxfold.passes.conversion.sites.onnx_body import OnnxBody
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.site import Shape

_MOST = int(np.iinfo(np.int64).max)
_FORWARD = {"start": 0, "end": -1, "stride": 1}
_BACKWARD = {"start": -1, "end": 0, "stride": -1}


@dataclass(frozen=True)
class _Maps:
    """The maps of a Loop or TensorIterator: which input of the body each entry of an input is about, and which of them
    are states, with the results that are their next values."""

    inputs: dict[int, PortMapEntry]
    outputs: list[PortMapEntry]
    next_value: dict[int, int]

    @property
    def collected(self) -> list[PortMapEntry]:
        """The results that are slices put together."""
        return [entry for entry in self.outputs if "axis" in entry.attributes]

    @classmethod
    def of(cls, site: OnnxSite) -> _Maps:
        entries: list[PortMapEntry] = site.node.attrs["port_map"]
        edges: list[PortMapEntry] = site.node.attrs.get("back_edges", [])
        outputs = [entry for entry in entries if entry.tag == "output" and _port(entry) >= 0]
        return cls(
            {entry.body_input: entry for entry in entries if entry.body_input is not None},
            sorted(outputs, key=_port),
            {edge.body_input: edge.body_output for edge in edges
             if edge.body_input is not None and edge.body_output is not None},
        )  # fmt: skip


def _port(entry: PortMapEntry) -> int:
    return text.integer(entry.attributes["external_port_id"], "an external_port_id")


def _if_to_onnx(site: OnnxSite) -> None:
    site.ignore("then_port_map", "else_port_map", "then_body", "else_body")
    attributes: dict[str, Any] = {}
    for name in ("then", "else"):
        source: Graph = site.node.attrs[f"{name}_body"]
        entries: list[PortMapEntry] = site.node.attrs[f"{name}_port_map"]
        body = site.body(source)
        for entry in entries:
            if entry.body_input is not None:
                body.enter(entry.body_input, site.input(_port(entry)))
        results = body.convert()
        outputs = sorted((entry for entry in entries if entry.body_output is not None), key=_port)
        for entry in outputs:
            body.leave(results[entry.body_output or 0])
        attributes[f"{name}_branch"] = body.graph
    site.result(*_add(site, "If", [site.input(0)], attributes, site.output_count))


def _loop_to_onnx(site: OnnxSite) -> None:
    site.ignore("port_map", "back_edges", "body")
    source: Graph = site.node.attrs["body"]
    maps = _Maps.of(site)
    body = site.body(source)
    iteration = body.parameter("iteration", _dtype("i64"), ())
    body.parameter("condition", _dtype("boolean"), ())
    states = _enter(site, body, source, maps)
    for index, entry in maps.inputs.items():
        if entry.attributes.get("purpose") == "current_iteration":
            body.enter(index, _counted(body, iteration, source.inputs[index]))
        elif "axis" in entry.attributes:
            raise UnsupportedError("it reads slices, which ONNX's Loop does not")
    results = body.convert()
    body.leave(_one_flag(body, results[_condition(site)]))
    _leave_states(body, results, maps, states)
    collected: list[tuple[Shape | None, int]] = []
    for entry in maps.collected:
        axis, is_reversed = _slices(entry)
        if is_reversed:
            raise UnsupportedError("it collects slices from the last one to the first, which ONNX's Loop does not")
        tensor = results[entry.body_output or 0]
        collected.append((body.shape(tensor), axis))
        body.leave(_squeezed(body, tensor, axis))
    inputs = [_trip_count(site), onnx_scalar(site, 1), *states.values()]
    made = _add(site, "Loop", inputs, {"body": body.graph}, len(states) + len(collected))
    _declare_states(site, body, states, made)
    for tensor, output, (shape, axis) in zip(
        made[len(states) :], body.graph.outputs[1 + len(states) :], collected, strict=True
    ):
        if shape is not None:
            site.declare(tensor, output, (None, *shape[:axis], *shape[axis + 1 :]))
    stacked = [
        _moved(site, tensor, shape, axis)
        for tensor, (shape, axis) in zip(made[len(states) :], collected, strict=True)
    ]  # fmt: skip
    site.result(*_ordered(maps, states, made[: len(states)] + stacked))


def _one_flag(body: OnnxBody, tensor: Tensor) -> Tensor:
    """A condition without dimensions, as the body of ONNX's Loop has it; OpenVINO's may be a list of one."""
    if body.shape(tensor) == ():
        return tensor
    flag: Tensor = body.site.add("Reshape", [tensor, body.site.constant([], "int64")])
    return flag


def _iterator_to_onnx(site: OnnxSite) -> None:
    site.ignore("port_map", "back_edges", "body")
    source: Graph = site.node.attrs["body"]
    maps = _Maps.of(site)
    body = site.body(source)
    states = _enter(site, body, source, maps)
    scanned = {index: entry for index, entry in maps.inputs.items() if "axis" in entry.attributes}
    if not scanned:
        raise UnsupportedError("it reads no slices, which say how often it runs")
    attributes: dict[str, Any] = {"num_scan_inputs": len(scanned)}
    places = [_slices(entry) for entry in scanned.values()]
    attributes |= {"scan_input_axes": [axis for axis, _ in places]}
    attributes |= {"scan_input_directions": [int(is_reversed) for _, is_reversed in places]}
    for (index, entry), (axis, _) in zip(scanned.items(), places, strict=True):
        body.enter(index, _unsqueezed(site, body, entry, axis))
    results = body.convert()
    _leave_states(body, results, maps, states)
    places = [_slices(entry) for entry in maps.collected]
    if places:
        attributes |= {"scan_output_axes": [axis for axis, _ in places]}
        attributes |= {"scan_output_directions": [int(is_reversed) for _, is_reversed in places]}
    for entry, (axis, _) in zip(maps.collected, places, strict=True):
        body.leave(_squeezed(body, results[entry.body_output or 0], axis))
    inputs = [*states.values(), *(site.input(_port(entry)) for entry in scanned.values())]
    made = _add(site, "Scan", inputs, attributes | {"body": body.graph}, len(states) + len(maps.collected))
    _declare_states(site, body, states, made)
    for tensor, output, (axis, _) in zip(made[len(states) :], body.graph.outputs[len(states) :], places, strict=True):
        shape = body.shape(output)
        if shape is not None:
            site.declare(tensor, output, (*shape[:axis], None, *shape[axis:]))
    site.result(*_ordered(maps, states, made))


def _enter(site: OnnxSite, body: OnnxBody, source: Graph, maps: _Maps) -> dict[int, Tensor]:
    """Makes inputs of the body of states, and enters what is the same in all iterations; returns what states start
    with, by their places in the source."""
    states: dict[int, Tensor] = {}
    for index, entry in maps.inputs.items():
        if "axis" in entry.attributes or _port(entry) < 0:
            continue
        first = site.input(_port(entry))
        if index not in maps.next_value:
            body.enter(index, first)
            continue
        states[index] = first
        dtype = site.dtype_of(first)
        if dtype is None:
            raise UnsupportedError("the element type of a state is not known")
        tensor = source.inputs[index]
        body.enter(index, body.parameter(tensor.name, dtype, _supposed(site.shape_of(first), tensor)))
    return states


def _supposed(first: Shape | None, tensor: Tensor) -> Shape | None:
    """The shape of a state in all iterations, as OpenVINO has written it down, where it starts with that."""
    parameter: Parameter = tensor.__dict__["parameter"]
    declared = text.partial_shape(parameter.data.get("shape", ""), "the shape of a Parameter")
    if first is None or declared is None or len(declared) != len(first):
        return None
    return tuple(
        size if (low, high) == (size, size) else None for size, (low, high) in zip(first, declared, strict=True)
    )


def _leave_states(body: OnnxBody, results: list[Tensor], maps: _Maps, states: dict[int, Tensor]) -> None:
    """Lists the next values of states. Raises `UnsupportedError` where one may not have the shape that was supposed."""
    for index in states:
        tensor = results[maps.next_value[index]]
        supposed, found = body.shape(body.entered(index)), body.shape(tensor)
        if supposed is not None and (
            found is None
            or len(found) != len(supposed)
            or any(size is not None and size != other for size, other in zip(supposed, found, strict=True))
        ):
            raise UnsupportedError("a state may change its shape otherwise than its Parameter says")
        body.leave(tensor)


def _declare_states(site: OnnxSite, body: OnnxBody, states: dict[int, Tensor], made: list[Tensor]) -> None:
    """The shapes of states in all iterations are those of their last values."""
    for index, tensor in zip(states, made, strict=False):
        shape = body.shape(body.entered(index))
        if shape is not None:
            site.declare(tensor, states[index], shape)


def _ordered(maps: _Maps, states: dict[int, Tensor], made: list[Tensor]) -> list[Tensor]:
    """The results of the layer: last values of states, and what is collected."""
    last = {maps.next_value[index]: tensor for index, tensor in zip(states, made, strict=False)}
    collected = iter(made[len(states) :])
    found: list[Tensor] = []
    for entry in maps.outputs:
        if "axis" in entry.attributes:
            found.append(next(collected))
        elif entry.body_output in last:
            found.append(last[entry.body_output])
        else:
            raise UnsupportedError("it gives the last value of what is no state")
    return found


def _slices(entry: PortMapEntry) -> tuple[int, bool]:
    """The axis of slices of one element each, and whether they go from the last to the first."""
    numbers = {
        name: text.integer(entry.attributes.get(name, default), f"its {name}")
        for name, default in (("axis", ""), ("start", "0"), ("end", "-1"), ("stride", "1"), ("part_size", "1"))
    }
    axis, part = numbers.pop("axis"), numbers.pop("part_size")
    if axis < 0 or part != 1 or numbers not in (_FORWARD, _BACKWARD):
        raise UnsupportedError(f"its slices are not of one element each, from end to end: {dict(entry.attributes)}")
    return axis, numbers == _BACKWARD


def _condition(site: OnnxSite) -> int:
    entries: list[PortMapEntry] = site.node.attrs["port_map"]
    return next(
        entry.body_output for entry in entries
        if entry.attributes.get("purpose") == "execution_condition" and entry.body_output is not None
    )  # fmt: skip


def _trip_count(site: OnnxSite) -> Tensor:
    """How often a Loop runs at most; below 0 is without an end."""
    value = site.value(0)
    if value is not None and value.size == 1:
        count = int(value.reshape(-1)[0])
        return site.omitted() if count < 0 else site.constant(count, "int64")
    computed = int64_tensor(site, 0)
    largest = computed.inputs[0] if computed.inputs else None
    if largest is not None and largest.op == "Max" and any(map(_is_at_least_0, largest.inputs)):
        return computed
    is_endless = site.add("Less", [computed, site.constant(0, "int64")])
    made: Tensor = site.add("Where", [is_endless, site.constant(_MOST, "int64"), computed])
    return made


def _is_at_least_0(tensor: Tensor) -> bool:
    return isinstance(tensor, Constant) and tensor.values.size > 0 and bool((tensor.values >= 0).all())


def _counted(body: OnnxBody, iteration: Tensor, parameter: Tensor) -> Tensor:
    """The number of the iteration as a Parameter has it."""
    layer: Parameter = parameter.__dict__["parameter"]
    name = "INT32" if layer.data.get("element_type") == "i32" else "INT64"
    shape = text.partial_shape(layer.data.get("shape", ""), "the shape of a Parameter")
    made = cast(body.site, iteration, "INT64", name)
    return made if shape == [] else body.site.add("Unsqueeze", [made, body.site.constant([0], "int64")])


def _unsqueezed(site: OnnxSite, body: OnnxBody, entry: PortMapEntry, axis: int) -> Tensor:
    """A new input of a body that is a slice of a scanned one, with the axis that slices keep in OpenVINO."""
    whole = site.input(_port(entry))
    dtype, shape = site.dtype_of(whole), site.shape_of(whole)
    if dtype is None or (shape is not None and axis >= len(shape)):
        raise UnsupportedError("the type of what it scans is not known")
    slices = None if shape is None else (*shape[:axis], *shape[axis + 1 :])
    made: Tensor = body.parameter("slice", dtype, slices)
    return body.site.add("Unsqueeze", [made, body.site.constant([axis], "int64")])  # type: ignore[no-any-return]


def _squeezed(body: OnnxBody, tensor: Tensor, axis: int) -> Tensor:
    """What is collected along an axis that OpenVINO's slices keep. Each must have one element there."""
    shape = body.shape(tensor)
    if shape is None or axis >= len(shape) or shape[axis] != 1:
        raise UnsupportedError("what it collects is not known to have one element along the axis")
    made: Tensor = body.site.add("Squeeze", [tensor, body.site.constant([axis], "int64")])
    return made


def _moved(site: OnnxSite, tensor: Tensor, shape: Shape | None, axis: int) -> Tensor:
    """What ONNX's Loop collects along a new first axis, along another."""
    rank = len(shape or ())
    return transposed(site, tensor, [*range(1, axis + 1), 0, *range(axis + 1, rank)])


def _dtype(name: str) -> DType:
    dtype = from_openvino_name(name)
    assert dtype is not None
    return dtype


def _add(site: OnnxSite, op: str, inputs: list[Tensor], attributes: dict[str, Any], outputs: int) -> list[Tensor]:
    made = site.add(op, inputs, attributes, outputs=outputs)
    return made if isinstance(made, list) else [made]


ROWS = (
    *from_openvino("If-8", "If", _if_to_onnx),
    *from_openvino(
        "Loop-5",
        "Loop",
        _loop_to_onnx,
        limits="Refused: slices as inputs, last values of what is no state, slices of several elements.",
    ),
    *from_openvino(
        "TensorIterator-1",
        "Scan",
        _iterator_to_onnx,
        limits="Refused: last values of what is no state, slices of several elements or of a part, none at all.",
    ),
)
