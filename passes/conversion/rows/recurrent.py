"""LSTM, GRU and RNN. OpenVINO's sequences have the batch first, other gates in front, and one bias.

OpenVINO's CPU computes sequences in one kernel, or step by step. Where the shape of the data is not known, the kernel
ignores their own lengths; a bound that no gate can pass leads to the other way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts import recurrent_cells
from maxfold.passes.conversion.parts.recurrent_activations import activations_of
from maxfold.passes.conversion.parts.recurrent_cells import Kind
from maxfold.passes.conversion.parts.recurrent_inputs import (
    LENGTHS,
    PEEPHOLES,
    STATE,
    B,
    Dims,
    Layout,
    R,
    W,
    X,
    broadcast,
    check_sizes,
    has_lengths,
    layout_of,
)
from maxfold.passes.conversion.parts.recurrent_weights import bias, gates
from maxfold.passes.conversion.parts.tensors import is_used
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

# The activations that OpenVINO knows inside of a sequence. None has a parameter.
_KNOWN = ("sigmoid", "tanh", "relu")
# An infinite one would not do.
_NO_BOUND = float(np.finfo(np.float32).max)


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


def _lstm_to_openvino(site: OpenvinoSite) -> None:
    is_beyond = site.has_input(PEEPHOLES) or bool(site.attribute("input_forget", 0))
    _convert(site, _LSTM, recurrent_cells.LSTM, is_beyond=is_beyond)


def _gru_to_openvino(site: OpenvinoSite) -> None:
    _convert(site, _GRU, recurrent_cells.GRU)


def _rnn_to_openvino(site: OpenvinoSite) -> None:
    _convert(site, _RNN, recurrent_cells.RNN)


def _convert(site: OpenvinoSite, cell: _Cell, kind: Kind, *, is_beyond: bool = False) -> None:
    bound = site.attribute("clip")
    if bound is not None and not bound > 0:
        raise UnsupportedError(f"its clip {bound:g} is no bound in OpenVINO")
    layout = layout_of(site)
    check_sizes(site, layout, len(cell.gates))
    functions = activations_of(site, cell.activations, layout.directions)
    names = [function.name for function in functions]
    own = names[: len(cell.activations)]
    # Of what Relu makes, a bound might be less.
    is_bounded = cell is not _RNN or own != ["relu"] or not has_lengths(site)
    if is_beyond or names != own * layout.directions or not set(own) <= set(_KNOWN) or not is_bounded:
        weights_of = recurrent_cells.with_peepholes(recurrent_cells.plain_weights(kind.gates))
        site.result(*recurrent_cells.composed(site, kind, layout, functions, weights_of))
        return
    is_reset_later = cell is _GRU and bool(site.attribute("linear_before_reset", 0))
    data = {
        "direction": layout.direction, "hidden_size": layout.hidden, "activations": ",".join(own),
        "activations_alpha": "", "activations_beta": "", "clip": _bound(site),
    }  # fmt: skip
    if cell is _GRU:
        data["linear_before_reset"] = is_reset_later
    dims = Dims(site)
    weights = [gates(site, index, cell.gates, layout.hidden) for index in (W, R)]
    operands = [
        _batch_first(site, site.input(X), layout),
        *_states(site, cell, layout, dims),
        _lengths(site, layout, dims),
        *weights,
        bias(site, B, cell.gates, (layout.directions, layout.hidden), is_split=is_reset_later),
    ]
    outputs = site.add(cell.operation, operands, data, opset=5, outputs=1 + cell.states)
    site.result(*(_as_listed(site, index, output, layout) for index, output in enumerate(outputs)))


def _bound(site: OpenvinoSite) -> float:
    """What `clip` says; a bound that changes nothing where sequences have lengths of their own."""
    return float(site.attribute("clip", 0.0)) or (_NO_BOUND if has_lengths(site) else 0.0)


def _batch_first(site: OpenvinoSite, tensor: Tensor, layout: Layout) -> Tensor:
    """A tensor of three dimensions with the batch first, as OpenVINO has data and states."""
    return tensor if layout.batch_axis == 0 else _transposed(site, tensor, [1, 0, 2])


def _as_listed(site: OpenvinoSite, index: int, tensor: Tensor, layout: Layout) -> Tensor | None:
    """A result as ONNX has it: the whole sequence, or a state."""
    if not is_used(site, index):
        return None
    if index:
        return _batch_first(site, tensor, layout)
    return _transposed(site, tensor, [0, 2, 1, 3] if layout.batch_axis == 0 else [2, 1, 0, 3])


def _transposed(site: OpenvinoSite, tensor: Tensor, order: list[int]) -> Tensor:
    result: Tensor = site.add("Transpose", [tensor, site.constant(order, "int64")])
    return result


def _states(site: OpenvinoSite, cell: _Cell, layout: Layout, dims: Dims) -> list[Tensor]:
    """The initial states, zero where they are left out."""
    given = [index for index in range(STATE, STATE + cell.states) if site.has_input(index)]
    zero = None if len(given) == cell.states else _zero_state(site, layout, dims)
    return [
        _batch_first(site, site.input(index), layout) if zero is None or index in given else zero
        for index in range(STATE, STATE + cell.states)
    ]


def _zero_state(site: OpenvinoSite, layout: Layout, dims: Dims) -> Tensor:
    dtype = site.dtype(X)
    if dtype is None:
        raise UnsupportedError("its element type is not known")
    batch = dims.known(layout.batch_axis)
    if batch is not None:
        return site.constant(np.zeros((batch, layout.directions, layout.hidden), dtype.numpy), dtype.numpy)
    others = site.constant([layout.directions, layout.hidden], "int64")
    shape = site.add("Concat", [dims.one(layout.batch_axis), others], {"axis": 0})
    return broadcast(site, site.constant(0, dtype.numpy), shape)


def _lengths(site: OpenvinoSite, layout: Layout, dims: Dims) -> Tensor:
    """The length of each sequence, of all data where nothing says otherwise."""
    if has_lengths(site):
        return site.input(LENGTHS)
    length, batch = dims.known(layout.length_axis), dims.known(layout.batch_axis)
    if length is not None and batch is not None:
        return site.constant([length] * batch, "int64")
    return broadcast(site, dims.one(layout.length_axis), dims.one(layout.batch_axis))


_LIMITS = (
    "What OpenVINO's sequences lack (peepholes, other activations, coupled gates) is computed a step at a time. "
    "Data without elements is refused where that is known; the last states of no steps are undefined in OpenVINO."
)

ROWS: tuple[Row, ...] = (
    *from_onnx("LSTM", "LSTMSequence-5", _lstm_to_openvino, tolerance="1e-5 relative, 1e-6 absolute", limits=_LIMITS),
    *from_onnx("GRU", "GRUSequence-5", _gru_to_openvino, tolerance="1e-5 relative, 1e-6 absolute", limits=_LIMITS),
    *from_onnx("RNN", "RNNSequence-5", _rnn_to_openvino, tolerance="1e-5 relative, 1e-6 absolute", limits=_LIMITS),
)
