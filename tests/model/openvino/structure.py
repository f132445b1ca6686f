"""A model as OpenVINO holds it in memory, as plain data that can be compared."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import openvino as ov

from tests.model.openvino.plain import Plain

# Written by the reader itself: where in the .bin a constant stood.
_WHERE_IT_STOOD = "WeightlessCacheAttribute"
_FEW_BYTES = 64
_BYTE_BITS = 8
# Given by the reader to bodies, and to files that name nothing; counted through the life of the process.
_MADE_UP_NAME = re.compile(r"Model\d+")


def describe(model: ov.Model) -> Plain:
    """Everything that OpenVINO tells about a model.

    Operations stand in an order that depends on the graph alone: those that each Result needs, Result by Result in
    the model's order, then those that each Assign needs, then the Parameters that nothing needs.
    """
    operations = _in_order(model)
    numbers = {operation.get_name(): number for number, operation in enumerate(operations)}
    return {
        "name": "" if _MADE_UP_NAME.fullmatch(model.get_friendly_name()) else model.get_friendly_name(),
        "parameters": [numbers[node.get_name()] for node in model.get_parameters()],
        "results": [numbers[node.get_name()] for node in model.get_results()],
        "sinks": [numbers[node.get_name()] for node in _sinks(model)],
        "variables": [_variable(variable) for variable in _variables(model)],
        "rt_info": _runtime_info(model.get_rt_info()),
        "operations": [_operation(node, numbers) for node in operations],
    }


def _in_order(model: ov.Model) -> list[Any]:
    """All operations that stay, each after its inputs; not recursive, since chains may be long."""
    order: dict[str, Any] = {}
    for root in [*model.get_results(), *_sinks(model), *model.get_parameters()]:
        pending = [(root, False)]
        while pending:
            node, inputs_are_done = pending.pop()
            if node.get_name() in order:
                continue
            if inputs_are_done:
                order[node.get_name()] = node
                continue
            pending.append((node, True))
            pending += [(value.get_node(), False) for value in reversed(node.input_values())]
    return list(order.values())


def _sinks(model: ov.Model) -> list[Any]:
    return sorted(model.get_sinks(), key=lambda node: str(node.get_attributes().get("variable_id", "")))


def _variables(model: ov.Model) -> list[Any]:
    return sorted(model.get_variables(), key=lambda variable: str(variable.info.variable_id))


def _variable(variable: Any) -> Plain:
    info = variable.info
    return [info.variable_id, str(info.data_shape), str(info.data_type)]


def _operation(node: Any, numbers: dict[str, int]) -> Plain:
    kind = node.get_type_info()
    description: dict[str, Plain] = {
        "type": f"{kind.name} {kind.version_id}",
        "name": _name(node),
        "attributes": {key: _value(value) for key, value in node.get_attributes().items()},
        "from": [[numbers[value.get_node().get_name()], value.get_index()] for value in node.input_values()],
        "inputs": [_runtime_info(port.get_rt_info()) for port in node.inputs()],
        "outputs": [_output(port) for port in node.outputs()],
        "rt_info": _runtime_info(node.get_rt_info()),
    }
    if kind.name == "Constant":
        description["data"] = _constant_data(node)
    if kind.name == "If":
        description["then"] = _body(node, 0)
        description["else"] = _body(node, 1)
    if kind.name in ("Loop", "TensorIterator"):
        description["body"] = _body(node)
    if kind.name == "Loop":
        description["special ports"] = _value(node.get_special_body_ports())
    return description


def _name(node: Any) -> str:
    """The name; "" for one like those that the reader makes up where the file has none."""
    name = str(node.get_friendly_name())
    return "" if re.fullmatch(rf"{node.get_type_name()}_\d+", name) else name


def _output(port: Any) -> Plain:
    info = _runtime_info(port.get_rt_info())
    if any(key.startswith("layout") for key in info):
        info["layout"] = str(ov.layout_helpers.get_layout(port))
    return {
        "type": str(port.get_element_type()),
        "shape": str(port.get_partial_shape()),
        "names": sorted(port.get_names()),
        "rt_info": info,
    }


def _constant_data(node: Any) -> Plain:
    if node.get_element_type() == ov.Type.string:
        return list(node.get_value_strings())
    data = node.data.tobytes()
    if node.get_element_type().bitwidth < _BYTE_BITS:
        # The reader keeps bytes behind the constant's own where the file gives it too many.
        data = data[: ov.Tensor(node.get_element_type(), node.get_output_shape(0)).get_byte_size()]
    return data if len(data) <= _FEW_BYTES else f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()}"


def _body(node: Any, *index: int) -> Plain:
    return {
        "inputs": [_port_description(entry) for entry in _by_text(node.get_input_descriptions(*index))],
        "outputs": [_port_description(entry) for entry in _by_text(node.get_output_descriptions(*index))],
        "model": describe(node.get_function(*index)),
    }


def _by_text(descriptions: Iterable[Any]) -> list[Any]:
    """The order of port descriptions in a file means nothing."""
    return sorted(descriptions, key=lambda entry: repr(_port_description(entry)))


def _port_description(entry: Any) -> Plain:
    fields = {key: getattr(entry, key) for key in sorted(dir(entry)) if not key.startswith("_")}
    values: dict[str, Plain] = {key: value for key, value in fields.items() if isinstance(value, int)}
    return {"kind": type(entry).__name__, **values}


def _runtime_info(info: Any) -> dict[str, Plain]:
    return {key: _value(value) for key, value in sorted(info.items()) if not key.startswith(_WHERE_IT_STOOD)}


def _value(value: Any) -> Plain:
    """Plain data for an attribute or an entry of rt_info; floats as text, so that NaN equals NaN."""
    if isinstance(value, ov.OVAny):
        try:
            value = value.value
        except (RuntimeError, TypeError):
            return "present"
    if hasattr(value, "items"):
        return {str(key): _value(item) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, set):
        return [_value(item) for item in sorted(value)]
    if isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int | str) or value is None:
        return value
    text = str(value)
    return type(value).__name__ if " at 0x" in text or " object" in text else text
