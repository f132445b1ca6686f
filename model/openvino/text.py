"""Numbers, lists and shapes as IR spells them in attributes.

As OpenVINO 2026.4 reads and writes them; what it would read as something else without a word is refused.
"""

from __future__ import annotations

import re

import numpy as np

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.errors import ModelError

_INTEGER = re.compile(r"\s*-?\d+\s*")
# Python itself refuses to read longer ones, and no IR has them.
_MAX_DIGITS = 20

# How ports spell element types; lower-case element types are read too.
PRECISIONS = {
    "FP32": "f32", "FP16": "f16", "BF16": "bf16", "FP64": "f64", "BOOL": "boolean", "BIN": "u1", "I4": "i4",
    "I8": "i8", "I16": "i16", "I32": "i32", "I64": "i64", "U2": "u2", "U3": "u3", "U4": "u4", "U6": "u6", "U8": "u8",
    "U16": "u16", "U32": "u32", "U64": "u64", "NF4": "nf4", "F8E4M3": "f8e4m3", "F8E5M2": "f8e5m2",
    "F4E2M1": "f4e2m1", "F8E8M0": "f8e8m0", "STRING": "string", "UNSPECIFIED": "dynamic", "DYNAMIC": "dynamic",
    "UNDEFINED": "dynamic",
}  # fmt: skip
_PRECISION_OF = {element_type: precision for precision, element_type in reversed(PRECISIONS.items())}
DYNAMIC_TYPES = ("dynamic", "undefined")


def integer(text: str, what: str) -> int:
    """A plain decimal integer. Raises `ModelError` naming `what`."""
    if not _INTEGER.fullmatch(text) or len(text.strip()) > _MAX_DIGITS:
        raise ModelError(f"{what} is {text[:40]!r}, not an integer")
    return int(text)


def integers(text: str, what: str) -> list[int]:
    """A list of integers between commas; empty text is an empty list."""
    items = text.split(",")
    if not items[-1].strip():
        items.pop()
    return [integer(item, what) for item in items]


def element_type(text: str, what: str) -> DType | None:
    """The element type of a Const or Parameter, None for a dynamic one."""
    if text in DYNAMIC_TYPES:
        return None
    found = dtypes.from_openvino(text)
    if found is None:
        raise ModelError(f"{what} has the element type {text[:40]!r}, which IR does not have")
    return found


def precision_dtype(text: str, what: str) -> str:
    """The element type (OpenVINO's name) of a port's precision."""
    name = PRECISIONS.get(text.upper(), text.lower())
    if name not in DYNAMIC_TYPES and dtypes.from_openvino(name) is None:
        raise ModelError(f"{what} has the precision {text[:40]!r}, which IR does not have")
    return name


def precision(dtype: DType | None) -> str:
    """How a port spells an element type."""
    if dtype is None or dtype.openvino is None:
        return "UNSPECIFIED"
    return _PRECISION_OF[dtype.openvino]


def partial_shape(text: str, what: str) -> list[tuple[int, int | None]] | None:
    """The dimensions of a Parameter as (lowest, highest or None), None for a dynamic rank.

    An interval whose ends are swapped is read as fully dynamic, as OpenVINO does.
    """
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    if inner == "...":
        return None
    return [_dimension(item.strip(), what) for item in inner.split(",")] if inner else []


def _dimension(text: str, what: str) -> tuple[int, int | None]:
    if text in ("?", "-1"):
        return 0, None
    if ".." in text:
        low, _, high = text.partition("..")
        lowest = integer(low, what) if low.strip() else 0
        highest = integer(high, what) if high.strip() else None
        return (0, None) if highest is not None and highest < lowest else (lowest, highest)
    size = integer(text, what)
    if size < 0:
        raise ModelError(f"{what} has the dimension {size}, which no shape has")
    return size, size


def boolean(text: str, default: bool) -> bool:
    """A flag; anything that is none leaves the default, as OpenVINO does."""
    return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower(), default)


def spell(value: object) -> str:
    """A text, flag or number, or a list of them, as IR spells it. Raises `TypeError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)) and not any(isinstance(item, (list, tuple)) for item in value):
        return ", ".join(map(spell, value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value)).removesuffix(".0")
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    raise TypeError(f"IR has no attributes of type {type(value).__name__}")


def is_boolean(text: str) -> bool:
    """Whether a text is a flag that OpenVINO understands."""
    return text.strip().lower() in ("true", "1", "false", "0")
