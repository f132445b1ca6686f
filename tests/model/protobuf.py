"""Protobuf messages by reflection: walking, comparing and filling them, whatever the onnx release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet


def has_field(message: Message, name: str) -> bool:
    """Whether the installed onnx knows the field `name` of this kind of message."""
    return name in message.DESCRIPTOR.fields_by_name


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether the field is a list; older protobuf releases say so by a label."""
    modern = getattr(field, "is_repeated", None)
    if modern is not None:
        return bool(modern)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def children(message: Message) -> Iterator[tuple[str, Message]]:
    """Each message that stands directly in a field of `message`, with the path to it."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if not is_repeated(field):
            yield field.name, value
            continue
        for position, item in enumerate(value):
            yield f"{field.name}[{position}]", item


def walk(message: Message) -> Iterator[Message]:
    """`message` and every message inside it, parents first."""
    pending = [message]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed([child for _, child in children(current)]))


def reachable_types(root: Descriptor) -> list[Descriptor]:
    """Every message type that a message of type `root` may hold, `root` first."""
    found: dict[str, Descriptor] = {}
    pending = [root]
    while pending:
        current = pending.pop()
        if current.full_name in found:
            continue
        found[current.full_name] = current
        pending.extend(field.message_type for field in current.fields if field.message_type is not None)
    return list(found.values())


def fields_set(message: Message) -> set[tuple[str, str]]:
    """(message type, field name) of every field that is set anywhere in `message`."""
    return {(part.DESCRIPTOR.full_name, field.name) for part in walk(message) for field, _ in part.ListFields()}


def fields_missing(message: Message) -> list[str]:
    """Every field of every reachable message type that is set nowhere in `message`."""
    present = fields_set(message)
    return sorted(
        f"{kind.full_name}.{field.name}"
        for kind in reachable_types(message.DESCRIPTOR)
        for field in kind.fields
        if (kind.full_name, field.name) not in present
    )


def difference(expected: Any, actual: Any, where: str = "") -> list[str]:
    """What differs between two messages of one type, one line each, fields this onnx does not know too."""
    lines: list[str] = []
    for field in expected.DESCRIPTOR.fields:
        path = f"{where}.{field.name}".lstrip(".")
        left, right = getattr(expected, field.name), getattr(actual, field.name)
        if is_repeated(field):
            lines.extend(_list_difference(field, left, right, path))
            continue
        present = expected.HasField(field.name), actual.HasField(field.name)
        if present == (False, False):
            continue
        if present[0] != present[1]:
            lines.append(f"{path}: {'lost' if present[0] else 'appeared'}")
            continue
        lines.extend(_value_difference(field, left, right, path))
    unknown = _unknown(expected), _unknown(actual)
    if unknown[0] != unknown[1]:
        lines.append(f"{where or 'message'}: unknown fields {unknown[0]!r} became {unknown[1]!r}")
    return lines


def _list_difference(field: FieldDescriptor, expected: Any, actual: Any, path: str) -> list[str]:
    if len(expected) != len(actual):
        return [f"{path}: {len(expected)} entries became {len(actual)}"]
    lines: list[str] = []
    for position, (left, right) in enumerate(zip(expected, actual, strict=True)):
        lines.extend(_value_difference(field, left, right, f"{path}[{position}]"))
    return lines


def _value_difference(field: FieldDescriptor, expected: Any, actual: Any, path: str) -> list[str]:
    if field.message_type is not None:
        return difference(expected, actual, path)
    # repr tells 0.0 from -0.0 and finds one NaN equal to another.
    if repr(expected) == repr(actual):
        return []
    return [f"{path}: {repr(expected)[:80]} became {repr(actual)[:80]}"]


def _unknown(message: Message) -> list[tuple[int, int, str]]:
    fields = UnknownFieldSet(message)
    return [(field.field_number, field.wire_type, repr(field.data)[:80]) for field in fields]


def assert_same(expected: Message, actual: Message) -> None:
    """Fail with the differing fields unless both messages hold the same fields, unknown ones included."""
    if expected.SerializeToString(deterministic=True) == actual.SerializeToString(deterministic=True):
        return
    lines = difference(expected, actual) or ["the same fields, in other bytes (order of unknown fields?)"]
    more = [f"... and {len(lines) - 20} more"] if len(lines) > 20 else []
    raise AssertionError("\n".join(["the message changed:", *lines[:20], *more]))


def fill_missing(message: Message) -> list[str]:
    """Set every field that is set nowhere in `message` once, and return their names.

    This is how fields that a later onnx adds take part. A field goes into the first message of its type.
    """
    filled: list[str] = []
    while True:
        present = fields_set(message)
        missing = [
            (part, field)
            for part in walk(message)
            for field in part.DESCRIPTOR.fields
            if (part.DESCRIPTOR.full_name, field.name) not in present and field.containing_oneof is None
        ]
        if not missing:
            return filled
        part, field = missing[0]
        _set(part, field)
        filled.append(f"{part.DESCRIPTOR.full_name}.{field.name}")


def _set(message: Message, field: FieldDescriptor) -> None:
    if field.message_type is not None:
        target = getattr(message, field.name)
        child = target.add() if is_repeated(field) else target
        child.SetInParent()
        return
    value: Any = 1
    if field.enum_type is not None:
        value = field.enum_type.values[-1].number
    elif field.type == FieldDescriptor.TYPE_STRING:
        value = "filled"
    elif field.type == FieldDescriptor.TYPE_BYTES:
        value = b"filled"
    if is_repeated(field):
        getattr(message, field.name).append(value)
        return
    setattr(message, field.name, value)


def set_defaults(message: Message) -> None:
    """Make every absent number, string and enum of every message present with its default value.

    Presence is data: a written 0 is not the same file as no field. Fields of a oneof stay as they are,
    and so does `raw_data`, whose presence says where a tensor's values are.
    """
    for part in list(walk(message)):
        for field in part.DESCRIPTOR.fields:
            if field.message_type is not None or is_repeated(field) or field.containing_oneof is not None:
                continue
            if field.name != "raw_data" and not part.HasField(field.name):
                setattr(part, field.name, field.default_value)
