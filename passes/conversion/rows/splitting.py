"""Joining tensors along an axis, and taking them apart."""

from __future__ import annotations

from typing import Any

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import (
    int64_vector,
    one_integer,
    openvino_slice,
    positive_axis,
    shape_vector,
)
from maxfold.passes.conversion.row import Row, both, from_openvino, pair
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
# From this operator set on Split needs the number of parts.
NUM_OUTPUTS = 18


def _split_to_openvino(site: OpenvinoSite) -> None:
    axis = site.attribute("axis", 0)
    lengths = site.input(1) if site.has_input(1) else None
    if lengths is None and site.attribute("num_outputs") is not None:
        lengths = _uneven_lengths(site, axis)
    operands: list[Tensor] = [site.input(0), site.constant(axis, "int64")]
    count = site.output_count
    if lengths is None:
        made = site.add("Split", operands, {"num_splits": count}, outputs=count)
    else:
        made = site.add("VariadicSplit", [*operands, lengths], outputs=count)
    site.result(*(made if count > 1 else [made]))


def _uneven_lengths(site: OpenvinoSite, axis: int) -> Tensor | None:
    """The lengths of `num_outputs` parts, the last of which is smaller; None where all are equal."""
    count = site.attribute("num_outputs")
    if count != site.output_count:
        raise UnsupportedError(f"its num_outputs is {count} for {site.output_count} outputs")
    shape = site.shape(0)
    length = None if shape is None else shape[positive_axis(axis, len(shape))]
    if count == 1 or (length is not None and length % count == 0):
        return None
    if length is None:
        return _lengths_at_run_time(site, positive_axis(axis, site.rank(0)), count)
    part = -(-length // count)
    if part * (count - 1) > length:
        raise UnsupportedError(f"its num_outputs {count} is too many for a dimension of {length}")
    return site.constant([*[part] * (count - 1), length - part * (count - 1)], "int64")


def _lengths_at_run_time(site: OpenvinoSite, axis: int, count: int) -> Tensor:
    """The lengths of parts of a dimension that is not known: rounded up, and what is left for the last one."""
    length = openvino_slice(site, shape_vector(site, site.input(0)), axis, axis + 1)
    rounded = site.add("Add", [length, site.constant([count - 1], "int64")], _NUMPY)
    part = site.add("Divide", [rounded, site.constant([count], "int64")], {**_NUMPY, "m_pythondiv": True})
    others = site.add("Multiply", [part, site.constant([count - 1], "int64")], _NUMPY)
    last = site.add("Subtract", [length, others], _NUMPY)
    lengths: Tensor = site.add("Concat", [*[part] * (count - 1), last], {"axis": 0})
    return lengths


def _split_to_onnx(site: OnnxSite) -> None:
    count = site.integer("num_splits")
    if count != site.output_count:
        raise UnsupportedError(f"its num_splits is {count} for {site.output_count} outputs")
    attributes: dict[str, Any] = {"axis": one_integer(site, 1, "its axis")}
    if site.opset >= NUM_OUTPUTS:
        attributes["num_outputs"] = count
    made = site.add("Split", [site.input(0)], attributes, outputs=count)
    site.result(*(made if count > 1 else [made]))


def _variadic_split_to_onnx(site: OnnxSite) -> None:
    axis = one_integer(site, 1, "its axis")
    count = site.output_count
    made = site.add("Split", [site.input(0), _lengths(site, axis)], {"axis": axis}, outputs=count)
    parts = made if count > 1 else [made]
    shape = site.shape(0)
    if shape is not None:
        place = positive_axis(axis, len(shape))
        for part in parts:
            site.declare(part, site.input(0), [*shape[:place], None, *shape[place + 1 :]])
    site.result(*parts)


def _lengths(site: OnnxSite, axis: int) -> Tensor:
    """The lengths of the parts, with a number in place of the one -1 that OpenVINO allows."""
    values = site.value(2)
    lengths = int64_vector(site, 2)
    if values is not None and (values >= 0).all():
        return lengths
    shape = site.shape(0)
    length = None if shape is None else shape[positive_axis(axis, len(shape))]
    if values is not None and length is not None:
        rest = length - int(values.sum()) - 1
        return site.constant([rest if item < 0 else item for item in values.reshape(-1).tolist()], "int64")
    open_end = site.constant([-1], "int64")
    total = site.add("Gather", [site.add("Shape", [site.input(0)]), site.constant([axis], "int64")])
    given = site.add("ReduceSum", [lengths, site.constant([0], "int64")], {"keepdims": 1})
    rest_of_total = site.add("Sub", [site.add("Sub", [total, given]), site.constant([1], "int64")])
    chosen: Tensor = site.add("Where", [site.add("Equal", [lengths, open_end]), rest_of_total, lengths])
    return chosen


ROWS: tuple[Row, ...] = (
    # The axis stays negative where it is: what OpenVINO fuses around a Concat of rotated halves has it as -1.
    *pair("Concat", "Concat-1", "axis:integer"),
    *both(
        "Split",
        "Split-1",
        _split_to_openvino,
        _split_to_onnx,
        limits="num_outputs of a dimension that is not known is refused: its last part may be smaller.",
    ),
    *from_openvino("VariadicSplit-1", "Split", _variadic_split_to_onnx),
)
