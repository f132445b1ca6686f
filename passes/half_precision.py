"""Constants of an IR in float16 as OpenVINO's own `save_model` writes them: each with a Convert that widens it again.

Which constants stay, and what becomes of values beyond the range of float16, is what OpenVINO 2026.4 does with them
(`compress_model_to_f16`); other than there a NaN of float32 stays one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from lxml import etree

from maxfold.model import dtypes
from maxfold.model.computed import computed_rows, is_small, row_pieces
from maxfold.model.data import Array, ArrayData, TensorData, reshaped
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.model import Model
from maxfold.model.openvino.ir import ConstantLayer, Element, Layer, Port, port_of
from maxfold.model.openvino.text import precision
from maxfold.model.reading import read_rows
from maxfold.model.view import IR_DOMAIN, View

_WIDE = ("FLOAT", "DOUBLE")
_LARGEST = 65504.0
_SMALLEST = 2.0**-24
# One value that moves by more keeps the constant wide.
_MOST_ERROR = 1.0
# A constant stays wide where so much of it is out of range, or moves by more than this part of itself: less where it is
# one value, which scales all that it meets.
_MOST_RELATIVE_ERROR = 1e-3
_MOST_RELATIVE_ERROR_OF_ONE = 1e-4
_KEPT_SHARE = 0.75
# Inputs that are sizes and places: the constants that they are computed from stay wide.
_SENSITIVE = {
    "BatchToSpace": (1, 2, 3), "SpaceToBatch": (1, 2, 3), "Broadcast": (1,), "ConvolutionBackpropData": (2,),
    "GroupConvolutionBackpropData": (2,), "Interpolate": (1,), "OneHot": (1,), "Pad": (1, 2), "Reshape": (1,),
    "StridedSlice": (1, 2, 3), "Tile": (1,), "TopK": (1,),
}  # fmt: skip
_SENSITIVE_INTERPOLATE_4 = (1, 2)
_LOW_BITS = frozenset(("INT4", "UINT4", "INT8", "UINT8", "NF4", "FLOAT8E4M3FN", "FLOAT8E5M2"))


@dataclass(frozen=True, slots=True)
class Compressed:
    """What became of the constants of float32 and float64: how many were compressed, and how many stay wide.

    `clamped` says by name how many values of a constant were beyond the range of float16 and became its largest ones.
    With `is_quantized` all stay, since OpenVINO leaves quantized models alone.
    """

    count: int
    kept: int
    clamped: dict[str, int]
    is_quantized: bool = False


def compress_to_half(model: Model) -> Compressed:
    """Gives an IR constants of float16; the model is changed in place. Weights are read once, and computed again when
    they are written."""
    edit = Edit(model)
    wide = [constant for constant in model.constants() if _is_wide(constant)]
    if _is_quantized(edit):
        return Compressed(0, len(wide), {}, is_quantized=True)
    sensitive = _sensitive(edit)
    clamped: dict[str, int] = {}
    count = 0
    for constant in wide:
        place = next(iter(constant.scope.nodes), None)
        is_open = place is not None and constant not in sensitive and not edit.is_graph_output(constant)
        beyond = _values_beyond(constant.data) if is_open else None
        if beyond is None or place is None:
            continue
        name = _compress(constant, place, edit)
        count += 1
        if beyond:
            clamped[name] = beyond
    edit.flush()
    return Compressed(count, len(wide) - count, clamped)


def _is_wide(constant: Constant) -> bool:
    return constant.data.dtype is not None and constant.data.dtype.name in _WIDE


def _compress(constant: Constant, place: Node, edit: Edit) -> str:
    """Puts a Convert of a new constant in the place of one; returns the layer's name."""
    origin = constant.origin if isinstance(constant.origin, ConstantLayer) else None
    name = str(constant.__dict__.get("layer_name", constant.name)) if origin is None else origin.layer.name
    data, dtype = constant.data, constant.data.dtype
    assert dtype is not None
    half = edit.add_constant(_half(data), like=constant)
    half.__dict__["layer_name"] = f"{name}_compressed"
    half.position = constant.position
    attributes = {"destination_type": dtype.openvino}
    convert = edit.add_node("Convert", [half], before=place, domain=f"{IR_DOMAIN}.opset1", attributes=attributes)
    result = convert.outputs[0]
    known = port_of(constant)
    port = Port(precision(dtype), [str(size) for size in data.shape], *(() if known is None else (known.names,)))
    port.extra = [] if known is None else [deepcopy(item) for item in known.extra]
    edit.replace_uses(constant, result)
    result.__dict__["port"] = port
    edit.remove_constant(constant)
    convert.name = name
    convert.position = constant.position
    convert.__dict__["layer"] = Layer(
        name, "Convert", "opset1", extra=_marked([] if origin is None else origin.layer.extra)
    )
    return name


def _marked(extra: list[Element]) -> list[Element]:
    """What a layer says beside its data, with the mark that it only gives back what was compressed."""
    found = [deepcopy(item) for item in extra]
    info = next((item for item in found if item.tag == "rt_info"), None)
    if info is None:
        info = etree.Element("rt_info")
        found.append(info)
    etree.SubElement(info, "attribute", {"name": "decompression", "version": "0"})
    return found


def _half(data: TensorData) -> TensorData:
    """The values rounded to float16, those beyond its range the largest that it has."""
    half = dtypes.from_openvino("f16")
    assert half is not None
    if not data.shape or is_small(half, data.shape):
        return ArrayData(_rounded(data.array()), half)
    return computed_rows(half, data.shape, functools.partial(_rounded_rows, data), [data])


def _rounded_rows(data: TensorData, part: slice) -> Array:
    return _rounded(read_rows(data, part))


def _rounded(values: Array) -> Array:
    with np.errstate(all="ignore"):
        narrow = values.astype(np.float32)
        return np.asarray(np.clip(narrow, -_LARGEST, _LARGEST).astype(np.float16))


def _values_beyond(data: TensorData) -> int | None:
    """How many values are beyond the range of float16; None where the constant is to stay wide."""
    rejected = beyond = 0
    total = math.prod(data.shape)
    most_relative = _MOST_RELATIVE_ERROR if total > 1 else _MOST_RELATIVE_ERROR_OF_ONE
    for values in _pieces(data):
        with np.errstate(all="ignore"):
            wide = values.astype(np.float64)
            size = np.abs(wide)
            error = np.abs(wide - values.astype(np.float32).astype(np.float16).astype(np.float64))
            is_beyond = size > _LARGEST
            is_out = is_beyond | ((size < _SMALLEST) & (wide != 0))
            if bool((error[~is_out] > _MOST_ERROR).any()):
                return None
            rejected += int((is_out | (error > most_relative * size)).sum())
            beyond += int(is_beyond.sum())
    return None if not total or rejected / total >= _KEPT_SHARE else beyond


def _pieces(data: TensorData) -> Iterator[Array]:
    rows = data if data.shape else reshaped(data, (1,))
    for part in row_pieces(rows.shape):
        yield read_rows(rows, part)


def _sensitive(view: View) -> set[Constant]:
    """The constants that sizes and places are computed from."""
    pending = [
        node.inputs[index] for node in view.nodes() for index in _sensitive_inputs(node) if index < len(node.inputs)
    ]
    seen = set(pending)
    while pending:
        maker = view.producer(pending.pop())
        for tensor in () if maker is None or maker.op == "ShapeOf" else maker.inputs:
            if tensor not in seen:
                seen.add(tensor)
                pending.append(tensor)
    return {tensor for tensor in seen if isinstance(tensor, Constant)}


def _sensitive_inputs(node: Node) -> tuple[int, ...]:
    if node.op == "Interpolate" and node.domain == f"{IR_DOMAIN}.opset4":
        return _SENSITIVE_INTERPOLATE_4
    return _SENSITIVE.get(node.op, ())


def _is_quantized(view: View) -> bool:
    return any(
        node.op in ("FakeQuantize", "FakeConvert") or (node.op == "Multiply" and _is_dequantizing(node, view))
        for node in view.nodes()
    )


def _is_dequantizing(node: Node, view: View) -> bool:
    """Whether a Multiply by a constant scales a constant of few bits, less a zero point or not."""
    if not any(isinstance(tensor, Constant) for tensor in node.inputs):
        return False
    for tensor in node.inputs:
        maker = view.producer(tensor)
        if maker is not None and maker.op == "Subtract":
            maker = view.producer(maker.inputs[0])
        if maker is None or maker.op != "Convert" or not maker.inputs:
            continue
        weight = maker.inputs[0]
        if isinstance(weight, Constant) and weight.data.dtype is not None and weight.data.dtype.name in _LOW_BITS:
            return True
    return False
