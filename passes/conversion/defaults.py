"""What an attribute of an ONNX operator is where a node does not have it."""

from __future__ import annotations

import functools

import onnx

from maxfold.passes.signature_table import HINT, signature


def is_default(operator: str, opset: int, name: str, value: object) -> bool:
    """Whether an attribute's value is what its operator's version takes where it is missing.

    The hint that an operator had once never changed a result, whatever it is.
    """
    if name == HINT:
        return _had_hint(operator)
    known = signature(operator, "", opset)
    if known is None or name not in known.attributes:
        return False
    default = default_of(operator, opset, name)
    return default is not None and type(value) is type(default) and value == default


@functools.cache
def default_of(operator: str, opset: int, name: str) -> object:
    """The default in the schema, None where it has none: a node without the attribute then does something else."""
    default = onnx.defs.get_schema(operator, opset).attributes[name].default_value
    if default.type == onnx.AttributeProto.UNDEFINED:
        return None
    value: object = onnx.helper.get_attribute_value(default)
    if isinstance(value, list):
        return [item.decode() if isinstance(item, bytes) else item for item in value]
    return value.decode() if isinstance(value, bytes) else value


@functools.cache
def _had_hint(operator: str) -> bool:
    try:
        return HINT in onnx.defs.get_schema(operator, 1).attributes
    except onnx.defs.SchemaError:
        return False
