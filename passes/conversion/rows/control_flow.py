"""If, Loop and Scan: bodies with inputs of their own for what they read of the graph around.

Source: OpenVINO 2026.4, by running it. The trip count -1 is without an end; the condition that the body of a Loop reads
is true whenever it runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxfold.model.dtypes import DTYPES, DType
from maxfold.model.graph import Constant, Graph, Tensor
from maxfold.model.inference.loops import counter_shape
from maxfold.model.openvino.ir import PortMapEntry
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.memory import copied, is_read, may_share
from maxfold.passes.conversion.parts.operands import openvino_scalar, positive_axis
from maxfold.passes.conversion.row import from_onnx
from maxfold.passes.conversion.sites.openvino_body import Body, convert_all
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.port_maps import back_edge, port_input, port_output
from maxfold.passes.conversion.sites.site import Shape

# Inputs of a Loop and of its body before the states.
_OF_LOOP = 2
_UNMAPPED = -1
# OpenVINO's CPU plugin counts in 32 bits.
_MOST_TRIPS = 2**31 - 1
_ENDLESS = -1
_INT64 = next(dtype for dtype in DTYPES if dtype.name == "INT64")
_NUMPY = {"auto_broadcast": "numpy"}


def _if_to_openvino(site: OpenvinoSite) -> None:
    inputs = [openvino_scalar(site, 0)]
    names = ("then", "else")
    sources = [_graph(site, f"{name}_branch") for name in names]
    for source in sources:
        _check_counts(source, 0, site.output_count)
    bodies = [site.body(source) for source in sources]
    outputs = convert_all(bodies)
    maps = [_captured(body, inputs, 1) for body in bodies]
    data: dict[str, Any] = {}
    for name, body, entries, results in zip(names, bodies, maps, outputs, strict=True):
        entries += [port_output(len(inputs) + index, body.leave(tensor)) for index, tensor in enumerate(results)]
        data |= {f"{name}_port_map": entries, f"{name}_body": body.graph}
    _finish(site, "If", inputs, data, opset=8)


def _loop_to_openvino(site: OpenvinoSite) -> None:
    inputs = [_trip_count(site), openvino_scalar(site, 1) if site.has_input(1) else site.constant(True, "bool")]
    inputs += [site.input(index) for index in range(_OF_LOOP, site.input_count)]
    source = _graph(site, "body")
    states = len(inputs) - _OF_LOOP
    _check_counts(source, len(inputs), 1 + site.output_count)
    body = site.body(source)
    iteration, condition = source.inputs[:_OF_LOOP]
    body.enter(iteration, body.parameter(iteration.name, _INT64, counter_shape(iteration)))
    body.enter(condition, body.site.constant(np.full(counter_shape(condition), 1), "bool"))
    for tensor in source.inputs[_OF_LOOP:]:
        body.enter_parameter(tensor)
    outputs = body.convert()
    if not _runs(inputs):
        outputs = _kept(body, outputs, states)
    entries = [port_input(_UNMAPPED, 0, purpose="current_iteration")]
    entries += [port_input(_OF_LOOP + index, 1 + index) for index in range(states)]
    entries += _captured(body, inputs, len(inputs))
    entries.append(port_output(_UNMAPPED, body.leave(outputs[0]), purpose="execution_condition"))
    back_edges = [back_edge(1 + index, 1 + index) for index in range(states)]
    for index, tensor in enumerate(outputs[1:]):
        port = len(inputs) + index
        if index < states:
            entries.append(port_output(port, _leave_state(body, tensor, 1 + index, body.source_dtype(1 + index))))
        else:
            entries.append(port_output(port, body.leave(_raised(body, tensor, 0)), **_slices(0, is_reversed=False)))
    _finish(site, "Loop", inputs, {"port_map": entries, "back_edges": back_edges, "body": body.graph}, opset=5)


def _runs(inputs: list[Tensor]) -> bool:
    """Whether a Loop is known to run at least once."""
    count, condition = inputs[:_OF_LOOP]
    is_constant = isinstance(count, Constant) and isinstance(condition, Constant)
    return is_constant and bool(count.values != 0) and bool(condition.values)


def _kept(body: Body, outputs: list[Tensor], states: int) -> list[Tensor]:
    """The outputs of a Loop's body, which read all of its states: one that nothing reads, OpenVINO forgets, and has
    nothing to give back where the Loop never runs."""
    iteration = body.graph.inputs[0]
    found = list(outputs)
    for index in range(1, 1 + states):
        state = body.graph.inputs[index]
        if is_read(state, found):
            continue
        is_running = body.add("GreaterEqual", [iteration, body.site.constant(0, "int64")], _NUMPY)
        found[index] = body.chosen(is_running, found[index], state, body.source_dtype(index))
    return found


def _trip_count(site: OpenvinoSite) -> Tensor:
    """How often a Loop runs at most. One that is computed may be below 0, which for OpenVINO is without an end."""
    if not site.has_input(0):
        return site.constant(_ENDLESS, "int64")
    value = site.value(0)
    if value is not None and value.size == 1:
        count = max(0, int(value.reshape(-1)[0]))
        return site.constant(count if count < _MOST_TRIPS else _ENDLESS, "int64")
    count_at_run_time = openvino_scalar(site, 0)
    if _is_at_least_0(site.maker_of(0, "Max")):
        return count_at_run_time
    made: Tensor = site.add("Maximum", [count_at_run_time, site.constant(0, "int64")], _NUMPY)
    return made


def _is_at_least_0(largest: OpenvinoSite | None) -> bool:
    values = [largest.value(index) for index in range(largest.input_count)] if largest is not None else []
    return any(value is not None and value.size > 0 and bool((value >= 0).all()) for value in values)


def _scan_to_openvino(site: OpenvinoSite) -> None:
    inputs = site.inputs()
    source = _graph(site, "body")
    count: int = site.attribute("num_scan_inputs")
    states = len(inputs) - count
    _check_counts(source, len(inputs), site.output_count)
    if not 0 <= states <= site.output_count:
        raise UnsupportedError(f"its num_scan_inputs {count} does not fit its inputs and results")
    axes, directions = (_each(site, f"scan_input_{name}", count) for name in ("axes", "directions"))
    body = site.body(source)
    entries: list[PortMapEntry] = []
    for index, tensor in enumerate(source.inputs):
        slot = index - states
        if slot < 0:
            body.enter_parameter(tensor)
            entries.append(port_input(index, index))
            continue
        axis = _axis(axes[slot], site.shape(index))
        body.enter(tensor, _lowered(body, tensor, site, index, axis))
        entries.append(port_input(index, index, **_slices(axis, is_reversed=bool(directions[slot]))))
    outputs = body.convert()
    if count and not any(is_read(tensor, outputs) for tensor in body.graph.inputs[states : states + count]):
        # OpenVINO would leave out what nothing reads, and no longer know how often it runs.
        raise UnsupportedError("its body reads nothing of what is scanned")
    entries += _captured(body, inputs, len(inputs))
    collected = len(outputs) - states
    axes, directions = (_each(site, f"scan_output_{name}", collected) for name in ("axes", "directions"))
    back_edges = [back_edge(index, index) for index in range(states)]
    for index, tensor in enumerate(outputs):
        slot = index - states
        port = len(inputs) + index
        if slot < 0:
            entries.append(port_output(port, _leave_state(body, tensor, index, body.source_dtype(index))))
            continue
        shape = body.source_shape(index)
        axis = _axis(axes[slot], None if shape is None else (*shape, None))
        slices = _slices(axis, is_reversed=bool(directions[slot]))
        entries.append(port_output(port, body.leave(_raised(body, tensor, axis)), **slices))
    _finish(site, "TensorIterator", inputs, {"port_map": entries, "back_edges": back_edges, "body": body.graph})


def _each(site: OpenvinoSite, name: str, count: int) -> list[int]:
    """An integer for each thing that is scanned, 0 by default."""
    values = list(site.attribute(name) or [0] * count)
    if len(values) != count:
        raise UnsupportedError(f"its {name} has {len(values)} elements instead of {count}")
    return values


def _axis(axis: int, shape: Shape | None) -> int:
    if shape is not None:
        return positive_axis(axis, len(shape))
    if axis < 0:
        raise UnsupportedError(f"its axis {axis} is counted from the end of a tensor whose rank is not known")
    return axis


def _lowered(body: Body, tensor: Tensor, site: OpenvinoSite, index: int, axis: int) -> Tensor:
    """A slice of a scanned input, which for OpenVINO keeps its axis, as the body reads it."""
    shape = site.shape(index)
    slices = None if shape is None else (*shape[:axis], 1, *shape[axis + 1 :])
    parameter = body.parameter(tensor.name, site.dtype(index), slices)
    return body.add("Squeeze", [parameter, body.site.constant([axis], "int64")])


def _raised(body: Body, tensor: Tensor, axis: int) -> Tensor:
    """A result of a body with the axis along which it is collected."""
    return body.add("Unsqueeze", [tensor, body.site.constant([axis], "int64")])


def _slices(axis: int, *, is_reversed: bool) -> dict[str, str]:
    start, end, stride = (-1, 0, -1) if is_reversed else (0, -1, 1)
    return {"axis": str(axis), "start": str(start), "end": str(end), "stride": str(stride), "part_size": "1"}


def _graph(site: OpenvinoSite, name: str) -> Graph:
    graph = site.attribute(name)
    if not isinstance(graph, Graph):
        raise UnsupportedError(f"its attribute {name!r} is no graph")
    return graph


def _check_counts(graph: Graph, inputs: int, outputs: int) -> None:
    for what, found, wanted in (("inputs", graph.inputs, inputs), ("outputs", graph.outputs, outputs)):
        if len(found) != wanted:
            raise UnsupportedError(f"its body has {len(found)} {what} instead of {wanted}")


def _captured(body: Body, inputs: list[Tensor], own: int) -> list[PortMapEntry]:
    """What maps the inputs of a body that stand for tensors around it, which become inputs of the layer behind its
    `own` ones, each once."""
    entries: list[PortMapEntry] = []
    first = len(body.graph.inputs) - len(body.captured)
    for index, tensor in enumerate(body.captured, first):
        place = next((place for place in range(own, len(inputs)) if inputs[place] is tensor), len(inputs))
        if place == len(inputs):
            inputs.append(tensor)
        entries.append(port_input(place, index))
    return entries


def _leave_state(body: Body, tensor: Tensor, index: int, dtype: DType | None) -> int:
    """Makes a tensor the next value of an input of a body."""
    inputs = body.graph.inputs
    if may_share(tensor, [item for item in inputs if item is not inputs[index]]):
        tensor = copied(body, tensor, dtype)
    return body.leave(tensor)


def _finish(site: OpenvinoSite, op: str, inputs: list[Tensor], data: dict[str, Any], *, opset: int = 1) -> None:
    made = site.add(op, inputs, data, opset=opset, outputs=site.output_count)
    site.result(*(made if isinstance(made, list) else [made]))


_RANKS = "OpenVINO's CPU plugin loads no file in which a result has a rank that changes."

ROWS = (
    *from_onnx("If", "If-8", _if_to_openvino, limits=_RANKS),
    *from_onnx(
        "Loop",
        "Loop-5",
        _loop_to_openvino,
        limits=f"{_RANKS} It counts in 32 bits: a constant count beyond them is endless, one that is computed another.",
    ),
    *from_onnx(
        "Scan",
        "TensorIterator-1",
        _scan_to_openvino,
        limits="Refused: batches and lengths of operator set 8, and a body that reads nothing of what is scanned.",
    ),
)
