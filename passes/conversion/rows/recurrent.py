"""LSTM, GRU and RNN. OpenVINO's sequences have the batch first, other gates in front, and one bias.

OpenVINO's CPU computes sequences in one kernel, or step by step. Where the shape of the data is not known, the kernel
ignores their own lengths; a bound that no gate can pass leads to the other way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.rows.operands import shape_vector
from maxfold.passes.conversion.rows.recurrent_weights import bias, gates
from maxfold.passes.conversion.rows.tensors import is_used
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
# The activations that OpenVINO knows inside of a sequence. None has a parameter.
_KNOWN = ("sigmoid", "tanh", "relu")
# An infinite one would not do.
_NO_BOUND = float(np.finfo(np.float32).max)
_RANK = 3
_X, _W, _R, _B, _LENGTHS, _STATE, _CELL, _PEEPHOLES = range(8)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A kind of cell: its operation, its usual activations, and ONNX's places of OpenVINO's gates."""

    operation: str
    activations: tuple[str, ...]
    gates: tuple[int, ...]
    states: int = 1


_LSTM = _Cell("LSTMSequence", ("sigmoid", "tanh", "tanh"), (2, 0, 3, 1), states=2)
_GRU = _Cell("GRUSequence", ("sigmoid", "tanh"), (0, 1, 2))
_RNN = _Cell("RNNSequence", ("tanh",), (0,))


@dataclass(frozen=True, slots=True)
class _Layout:
    """How many directions and hidden elements there are, and which axis of the data is the batch."""

    directions: int
    hidden: int
    batch_axis: int

    @property
    def length_axis(self) -> int:
        """The axis of the data along which the sequence runs."""
        return 1 - self.batch_axis


def _lstm_to_openvino(site: OpenvinoSite) -> None:
    if site.has_input(_PEEPHOLES):
        raise UnsupportedError("its peepholes do not exist in OpenVINO")
    if site.attribute("input_forget", 0):
        raise UnsupportedError("its input_forget does not exist in OpenVINO")
    _convert(site, _LSTM)


def _gru_to_openvino(site: OpenvinoSite) -> None:
    _convert(site, _GRU)


def _rnn_to_openvino(site: OpenvinoSite) -> None:
    _convert(site, _RNN)


def _convert(site: OpenvinoSite, cell: _Cell) -> None:
    if site.rank(_X) != _RANK:
        raise UnsupportedError(f"its data has {site.rank(_X)} dimensions")
    direction = site.attribute("direction", "forward")
    if direction not in _DIRECTIONS:
        raise UnsupportedError(f"its direction {direction!r} does not exist")
    layout = _Layout(_DIRECTIONS[direction], _hidden(site), 0 if site.attribute("layout", 0) else 1)
    activations = _activations(site, cell, layout.directions)
    is_reset_later = cell is _GRU and bool(site.attribute("linear_before_reset", 0))
    data = {
        "direction": direction, "hidden_size": layout.hidden, "activations": ",".join(activations),
        "activations_alpha": "", "activations_beta": "", "clip": _bound(site),
    }  # fmt: skip
    if cell is _GRU:
        data["linear_before_reset"] = is_reset_later
    x = site.input(_X)
    dims = _Dims(site)
    weights = [gates(site, index, cell.gates, layout.hidden) for index in (_W, _R)]
    operands = [
        _batch_first(site, x, layout),
        *_states(site, cell, layout, dims),
        _lengths(site, layout, dims),
        *weights,
        bias(site, _B, cell.gates, (layout.directions, layout.hidden), is_split=is_reset_later),
    ]
    outputs = site.add(cell.operation, operands, data, opset=5, outputs=1 + cell.states)
    site.result(*(_as_listed(site, index, output, layout) for index, output in enumerate(outputs)))


def _hidden(site: OpenvinoSite) -> int:
    """The number of hidden elements, which the recurrent weights have too."""
    shape, given = site.shape(_R), site.attribute("hidden_size")
    if given is not None:
        return int(given)
    if shape is None or len(shape) != _RANK or shape[2] is None:
        raise UnsupportedError("its number of hidden elements is not known")
    return shape[2]


def _activations(site: OpenvinoSite, cell: _Cell, directions: int) -> tuple[str, ...]:
    """The activations of all directions, by OpenVINO's names."""
    count = len(cell.activations) * directions
    # The default of RNN has two in one direction too.
    listed = [name.lower() for name in site.attribute("activations") or cell.activations * directions][:count]
    if len(listed) != count:
        raise UnsupportedError(f"it has {len(listed)} activations")
    own = listed[: len(cell.activations)]
    if listed != own * directions:
        raise UnsupportedError("its two directions have different activations")
    unknown = next((name for name in own if name not in _KNOWN), None)
    if unknown is not None:
        raise UnsupportedError(f"its activation {unknown!r} does not exist in OpenVINO's sequences")
    # No activation that is left has parameters.
    site.ignore("activation_alpha", "activation_beta")
    return tuple(own)


def _bound(site: OpenvinoSite) -> float:
    """What `clip` says; a bound that changes nothing where sequences have lengths of their own."""
    return float(site.attribute("clip", 0.0)) or (_NO_BOUND if _has_lengths(site) else 0.0)


def _has_lengths(site: OpenvinoSite) -> bool:
    """Whether sequences may be shorter than the longest."""
    if not site.has_input(_LENGTHS):
        return False
    lengths, shape = site.value(_LENGTHS), site.shape(_X)
    longest = None if shape is None else shape[1 if site.attribute("layout", 0) else 0]
    return lengths is None or longest is None or bool((lengths != longest).any())


def _batch_first(site: OpenvinoSite, tensor: Tensor, layout: _Layout) -> Tensor:
    """A tensor of three dimensions with the batch first, as OpenVINO has data and states."""
    return tensor if layout.batch_axis == 0 else _transposed(site, tensor, [1, 0, 2])


def _as_listed(site: OpenvinoSite, index: int, tensor: Tensor, layout: _Layout) -> Tensor | None:
    """A result as ONNX has it: the whole sequence, or a state."""
    if not is_used(site, index):
        return None
    if index:
        return _batch_first(site, tensor, layout)
    return _transposed(site, tensor, [0, 2, 1, 3] if layout.batch_axis == 0 else [2, 1, 0, 3])


def _transposed(site: OpenvinoSite, tensor: Tensor, order: list[int]) -> Tensor:
    result: Tensor = site.add("Transpose", [tensor, site.constant(order, "int64")])
    return result


def _states(site: OpenvinoSite, cell: _Cell, layout: _Layout, dims: _Dims) -> list[Tensor]:
    """The initial states, zero where they are left out."""
    given = [index for index in range(_STATE, _STATE + cell.states) if site.has_input(index)]
    zero = None if len(given) == cell.states else _zero_state(site, layout, dims)
    return [
        _batch_first(site, site.input(index), layout) if zero is None or index in given else zero
        for index in range(_STATE, _STATE + cell.states)
    ]


def _zero_state(site: OpenvinoSite, layout: _Layout, dims: _Dims) -> Tensor:
    dtype = site.dtype(_X)
    if dtype is None:
        raise UnsupportedError("its element type is not known")
    batch = dims.known(layout.batch_axis)
    if batch is not None:
        return site.constant(np.zeros((batch, layout.directions, layout.hidden), dtype.numpy), dtype.numpy)
    others = site.constant([layout.directions, layout.hidden], "int64")
    shape = site.add("Concat", [dims.one(layout.batch_axis), others], {"axis": 0})
    return _broadcast(site, site.constant(0, dtype.numpy), shape)


def _lengths(site: OpenvinoSite, layout: _Layout, dims: _Dims) -> Tensor:
    """The length of each sequence, of all data where nothing says otherwise."""
    if _has_lengths(site):
        return site.input(_LENGTHS)
    length, batch = dims.known(layout.length_axis), dims.known(layout.batch_axis)
    if length is not None and batch is not None:
        return site.constant([length] * batch, "int64")
    return _broadcast(site, dims.one(layout.length_axis), dims.one(layout.batch_axis))


def _broadcast(site: OpenvinoSite, tensor: Tensor, shape: Tensor) -> Tensor:
    result: Tensor = site.add("Broadcast", [tensor, shape], {"mode": "numpy"}, opset=3)
    return result


class _Dims:
    """The dimensions of the data, as operands where they are not known."""

    def __init__(self, site: OpenvinoSite) -> None:
        self._site = site
        self._shape = site.shape(_X) or ()
        self._vector: Tensor | None = None

    def known(self, axis: int) -> int | None:
        """The size of a dimension."""
        return self._shape[axis]

    def one(self, axis: int) -> Tensor:
        """A vector of one dimension."""
        site, known = self._site, self.known(axis)
        if known is not None:
            return site.constant([known], "int64")
        if self._vector is None:
            self._vector = shape_vector(site, site.input(_X))
        operands = [self._vector, site.constant([axis], "int64"), site.constant(0, "int64")]
        dim: Tensor = site.add("Gather", operands, {"batch_dims": 0}, opset=8)
        return dim


_LIMITS = (
    "Peepholes, `input_forget`, activations other than Sigmoid, Tanh and Relu, and directions with different "
    "activations are refused. Where sequences have lengths, what overflows in Relu is the largest number."
)

ROWS: tuple[Row, ...] = (
    *from_onnx("LSTM", "LSTMSequence-5", _lstm_to_openvino, tolerance="close", limits=_LIMITS),
    *from_onnx("GRU", "GRUSequence-5", _gru_to_openvino, tolerance="close", limits=_LIMITS),
    *from_onnx("RNN", "RNNSequence-5", _rnn_to_openvino, tolerance="close", limits=_LIMITS),
)
