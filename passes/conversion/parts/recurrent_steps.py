"""Recurrent cells step by step: a TensorIterator over elementwise operations, for what OpenVINO's sequences lack.

The products with the data are made before it, for all steps at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from maxfold.model.dtypes import DType, from_onnx
from maxfold.model.graph import Tensor
from maxfold.model.openvino.ir import PortMapEntry
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

NUMPY = {BROADCAST: "numpy"}
Cell = Callable[["Step"], list[Tensor]]


@dataclass(slots=True)
class Step:
    """What a cell sees in one step: its share of the data times weights, its states, and what stays the same."""

    site: OpenvinoSite
    data: Tensor
    states: list[Tensor]
    fixed: dict[str, Tensor] = field(default_factory=dict)

    def add(self, op: str, *inputs: Tensor) -> Tensor:
        """An elementwise operation."""
        made: Tensor = self.site.add(op, list(inputs), NUMPY)
        return made


@dataclass(frozen=True, slots=True)
class Run:
    """One direction of a sequence.

    `data` is [length, batch, ...] or the other way about, as `length_axis` says; `states` are [batch, hidden], of a
    batch that may be unknown. `lengths`, i64, and `total`, the longest as a vector of i64, are there where sequences
    are of different lengths.
    """

    dtype: DType
    data: Tensor
    width: int
    states: list[Tensor]
    sizes: tuple[int | None, int]
    length_axis: int
    is_reversed: bool
    fixed: dict[str, tuple[Tensor, tuple[int, ...]]]
    lengths: Tensor | None = None
    total: Tensor | None = None


def run_steps(site: OpenvinoSite, run: Run, cell: Cell) -> list[Tensor]:
    """The results of all steps, with the axes of the data, and the last states."""
    lengths = run.lengths
    data = run.data
    if lengths is not None and run.is_reversed:
        data = _turned(site, data, run)
    inputs = [data, *run.states]
    body = site.inner("body")
    x = body.parameter("data", run.dtype, _slice_shape(run, run.width))
    states = [body.parameter(f"state_{index}", run.dtype, run.sizes) for index in range(len(run.states))]
    entries = [_input(0, 0, **_slices(run)), *(_input(place, place) for place in range(1, len(inputs)))]
    mask: Tensor | None = None
    if lengths is not None:
        entries.append(_input(len(inputs), len(inputs), **_slices(run)))
        inputs.append(_mask(site, run))
        mask = _squeezed(body, body.parameter("goes_on", _boolean(), _slice_shape(run, 1)), run)
    fixed: dict[str, Tensor] = {}
    for name, (tensor, shape) in run.fixed.items():
        entries.append(_input(len(inputs), len(inputs)))
        inputs.append(tensor)
        fixed[name] = body.parameter(name, run.dtype, shape)
    share = _squeezed(body, x, run)
    # OpenVINO's CPU adds products in place, and so would leave the next state where it then writes the next share.
    share = body.add("Maximum", [share, share], NUMPY)
    after = cell(Step(body, share, states, fixed))
    shown = after[0]
    if mask is not None:
        zero = body.constant(0, run.dtype.numpy)
        shown = body.add("Select", [mask, after[0], zero], NUMPY)
        after = [body.add("Select", [mask, new, old], NUMPY) for new, old in zip(after, states, strict=True)]
    back_edges: list[PortMapEntry] = []
    for index, tensor in enumerate(after):
        body.leave(tensor)
        entries.append(_output(len(inputs) + 1 + index, index))
        back_edges.append(PortMapEntry("edge", {}, body_input=1 + index, body_output=index))
    axis = body.constant([run.length_axis], "int64")
    body.leave(body.add("Unsqueeze", [shown, axis]))
    entries.append(_output(len(inputs), len(after), **_slices(run)))
    data_of_layer = {"port_map": entries, "back_edges": back_edges, "body": body.graph}
    sequence, *last = site.add("TensorIterator", inputs, data_of_layer, outputs=1 + len(after))
    if lengths is None:
        return [sequence, *last]
    if run.is_reversed:
        sequence = _turned(site, sequence, run)
    return [sequence, *(_unless_empty(site, state, run) for state in last)]


def _slice_shape(run: Run, width: int) -> tuple[int | None, ...]:
    batch = run.sizes[0]
    return (1, batch, width) if run.length_axis == 0 else (batch, 1, width)


def _slices(run: Run) -> dict[str, str]:
    """The pieces that steps read and make, the last first where the sequence goes backwards."""
    is_backwards = run.is_reversed and run.lengths is None
    start, end, stride = (-1, 0, -1) if is_backwards else (0, -1, 1)
    return {
        "axis": str(run.length_axis), "start": str(start), "end": str(end), "stride": str(stride), "part_size": "1"
    }  # fmt: skip


def _squeezed(body: OpenvinoSite, tensor: Tensor, run: Run) -> Tensor:
    made: Tensor = body.add("Squeeze", [tensor, body.constant([run.length_axis], "int64")])
    return made


_BOOLEAN = from_onnx(9)


def _boolean() -> DType:

    found = _BOOLEAN
    assert found is not None
    return found


def _turned(site: OpenvinoSite, tensor: Tensor, run: Run) -> Tensor:
    """Sequences from their own ends to their starts. One without elements stays as one of a single one."""
    assert run.lengths is not None
    lengths = site.add("Maximum", [run.lengths, site.constant(1, "int64")], NUMPY)
    axes = {"batch_axis": 1 - run.length_axis, "seq_axis": run.length_axis}
    made: Tensor = site.add("ReverseSequence", [tensor, lengths], axes)
    return made


def _mask(site: OpenvinoSite, run: Run) -> Tensor:
    """Whether sequences go on in a step, [length, batch, 1] or the other way about."""
    assert run.lengths is not None
    assert run.total is not None
    zero, one = site.constant(0, "int64"), site.constant(1, "int64")
    total = site.add("Squeeze", [run.total, site.constant([0], "int64")])
    steps = site.add("Range", [zero, total, one], {"output_type": "i64"}, opset=4)
    orders = [[-1, 1, 1], [1, -1, 1]]
    across = orders if run.length_axis == 0 else orders[::-1]
    operands = [
        site.add("Reshape", [vector, site.constant(order, "int64")], {"special_zero": False})
        for vector, order in zip((steps, run.lengths), across, strict=True)
    ]
    made: Tensor = site.add("Less", operands, NUMPY)
    return made


def _unless_empty(site: OpenvinoSite, state: Tensor, run: Run) -> Tensor:
    """The last state, zero of a sequence without elements, as ONNX Runtime has it."""
    assert run.lengths is not None
    column = site.add("Unsqueeze", [run.lengths, site.constant([1], "int64")])
    is_there = site.add("Greater", [column, site.constant(0, "int64")], NUMPY)
    made: Tensor = site.add("Select", [is_there, state, site.constant(0, run.dtype.numpy)], NUMPY)
    return made


def _input(port: int, index: int, **attributes: str) -> PortMapEntry:
    return PortMapEntry("input", {"external_port_id": str(port), **attributes}, body_input=index)


def _output(port: int, index: int, **attributes: str) -> PortMapEntry:
    return PortMapEntry("output", {"external_port_id": str(port), **attributes}, body_output=index)


def split(site: OpenvinoSite, tensor: Tensor, count: int, axis: int) -> list[Tensor]:
    """Equal parts along an axis."""
    if count == 1:
        return [tensor]
    made: list[Tensor] = site.add("Split", [tensor, site.constant(axis, "int64")], {"num_splits": count}, outputs=count)
    return made


def product(site: OpenvinoSite, left: Tensor, right: Tensor, *, is_transposed: bool = True) -> Tensor:
    """A matrix product, with the second matrix transposed or not."""
    made: Tensor = site.add("MatMul", [left, right], {"transpose_a": False, "transpose_b": is_transposed})
    return made


def along(site: OpenvinoSite, tensor: Tensor, place: int, axis: int = 0) -> Tensor:
    """What is at one place of an axis, without the axis."""
    operands = [tensor, site.constant(place, "int64"), site.constant(axis, "int64")]
    made: Tensor = site.add("Gather", operands, {"batch_dims": 0}, opset=8)
    return made


def stacked(site: OpenvinoSite, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors along a new axis."""
    where = site.constant([axis], "int64")
    parts = [site.add("Unsqueeze", [tensor, where]) for tensor in tensors]
    made: Tensor = parts[0] if len(parts) == 1 else site.add("Concat", parts, {"axis": axis})
    return made
