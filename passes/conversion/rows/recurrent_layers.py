"""Sequences and cells of LSTM, GRU and RNN to ONNX: the batch second, other gates in front, and two biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxfold.model.data import Array, reshaped
from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import cast, transposed
from maxfold.passes.conversion.parts.recurrent_weights import in_order
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import is_used
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.rows.splitting import NUM_OUTPUTS
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.undone import parts_of

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}
# From here on a bound holds nothing back; it only makes OpenVINO compute step by step.
_NO_BOUND = float(np.finfo(np.float32).max)
_LSTM_GATES = "fico"
_X = 0


@dataclass(frozen=True, slots=True)
class _Kind:
    """An ONNX operator, OpenVINO's places of its gates, and how many states a cell has."""

    operator: str
    gates: str
    states: int = 1
    activations: int = 1


# ONNX's gates in its order, by OpenVINO's letters.
_LSTM = _Kind("LSTM", "iofc", states=2, activations=3)
_GRU = _Kind("GRU", "zrh", activations=2)
_RNN = _Kind("RNN", "h")


def _lstm_sequence(site: OnnxSite) -> None:
    _sequence(site, _LSTM, _LSTM_GATES)


def _gru_sequence(site: OnnxSite) -> None:
    _sequence(site, _GRU, "zrh")


def _rnn_sequence(site: OnnxSite) -> None:
    _sequence(site, _RNN, "h")


def _lstm_cell(site: OnnxSite) -> None:
    if site.version >= 4:
        _cell(site, _LSTM, _LSTM_GATES)
        return
    if site.flag("input_forget"):
        raise UnsupportedError("coupled gates are not covered")
    peepholes = site.value(6) if site.has_input(6) else None
    if site.has_input(6) and (peepholes is None or np.any(peepholes)):
        raise UnsupportedError("peepholes are not covered")
    # OpenVINO's CPU takes the gates for these, whatever the attribute says.
    site.ignore("weights_format")
    gates = str(site.node.attrs.get("weights_format", _LSTM_GATES))
    if gates != _LSTM_GATES:
        raise UnsupportedError(f"its gates are in the order {gates!r}, which OpenVINO's CPU does not look at")
    _cell(site, _LSTM, _LSTM_GATES)


def _gru_cell(site: OnnxSite) -> None:
    _cell(site, _GRU, "zrh")


def _rnn_cell(site: OnnxSite) -> None:
    _cell(site, _RNN, "h")


def _sequence(site: OnnxSite, kind: _Kind, gates: str) -> None:
    direction = site.text("direction")
    if direction not in _DIRECTIONS:
        raise UnsupportedError(f"its direction {direction!r} does not exist")
    states = [transposed(site, site.input(1 + index), [1, 0, 2]) for index in range(kind.states)]
    place = 1 + kind.states
    operands = [site.input(place + index) for index in (1, 2, 3)]
    data, lengths = transposed(site, site.input(_X), [1, 0, 2]), _lengths(site, place)
    outputs = _added(site, kind, gates, [data, *operands, lengths, *states], direction)
    whole = outputs[0] if is_used(site, 0) else None
    lasts = (output if is_used(site, 1 + index) else None for index, output in enumerate(outputs[1:]))
    site.result(
        None if whole is None else transposed(site, whole, [2, 1, 0, 3]),
        *(None if last is None else transposed(site, last, [1, 0, 2]) for last in lasts),
    )


def _cell(site: OnnxSite, kind: _Kind, gates: str) -> None:
    """A sequence of one step."""
    first = site.constant([0], "int64")
    place = 1 + kind.states
    operands = [_with_direction(site, site.input(index)) for index in (place, place + 1)]
    bias = _with_direction(site, site.input(place + 2)) if site.has_input(place + 2) else site.omitted()
    data, *states = (site.add("Unsqueeze", [site.input(index), first]) for index in range(place))
    _, *lasts = _added(site, kind, gates, [data, *operands, bias, site.omitted(), *states], "forward")
    site.result(*(site.add("Squeeze", [last, first]) for last in lasts))


def _added(site: OnnxSite, kind: _Kind, gates: str, operands: list[Tensor], direction: str) -> list[Tensor]:
    """The operator's outputs. The operands are X, W, R, B, lengths and states, the weights as OpenVINO has them."""
    hidden, directions = site.integer("hidden_size"), _DIRECTIONS[direction]
    order = [gates.index(letter) for letter in kind.gates]
    is_split = kind is _GRU and site.flag("linear_before_reset")
    _check_sizes(site, operands, (directions, len(order), hidden), len(order) + is_split)
    data, *weights, bias, lengths = operands[:5]
    if bias.name:
        bias = _two_biases(site, bias, order, (directions, hidden), is_split=is_split)
    weights = [_gates(site, tensor, order, (directions, hidden)) for tensor in weights]
    attributes: dict[str, object] = {"hidden_size": hidden, "direction": direction}
    attributes["activations"] = _activations(site, kind) * directions
    bound = site.floating("clip")
    if bound < 0 or np.isnan(bound):
        raise UnsupportedError(f"its clip {bound:g} is no bound")
    if 0 < bound < _NO_BOUND:
        attributes["clip"] = bound
    if is_split:
        attributes["linear_before_reset"] = 1
    found: list[Tensor] = site.add(
        kind.operator, [data, *weights, bias, lengths, *operands[5:]], attributes, outputs=1 + kind.states
    )
    return found


def _activations(site: OnnxSite, kind: _Kind) -> list[str]:
    names = [name.strip().lower() for name in site.text("activations").split(",")]
    if len(names) != kind.activations or not set(names) <= set(_ACTIVATIONS):
        raise UnsupportedError(f"its activations {', '.join(names)} are not covered")
    # None of those has a parameter.
    site.ignore("activations_alpha", "activations_beta")
    return [_ACTIVATIONS[name] for name in names]


def _check_sizes(site: OnnxSite, operands: list[Tensor], sizes: tuple[int, int, int], bias_rows: int) -> None:
    """Raises `UnsupportedError` where known sizes do not belong together."""
    directions, count, hidden = sizes
    if dtype_of(site).name not in ("FLOAT", "DOUBLE", "FLOAT16"):
        raise UnsupportedError(f"its element type {dtype_of(site)} is not covered")
    rows, state = (directions, count * hidden), (directions, "batch", hidden)
    wanted: list[tuple[object, ...]] = [
        ("length", "batch", "input"), (*rows, "input"), (*rows, hidden), (directions, bias_rows * hidden), ("batch",),
        state, state,
    ]  # fmt: skip
    found: dict[object, int] = {}
    for operand, expected in zip(operands, wanted, strict=False):
        shape = site.shape_of(operand) if operand.name else None
        if shape is not None and len(shape) != len(expected):
            raise UnsupportedError(f"an operand of the shape {list(shape)} has another number of dimensions")
        for size, name in zip(shape or (), expected, strict=False):
            known = name if isinstance(name, int) else found.setdefault(name, size) if size is not None else None
            if size is not None and size != known:
                raise UnsupportedError(f"an operand of the shape {list(shape or ())} does not fit the others")


def _lengths(site: OnnxSite, index: int) -> Tensor:
    """How long each sequence is; left out where all are as long as the data."""
    if site.is_size_of(index, _X, 1):
        return site.omitted()
    return cast(site, site.input(index), dtype_of(site, index).name, "INT32")


def _with_direction(site: OnnxSite, tensor: Tensor) -> Tensor:
    """Weights of a cell as those of one direction."""
    if isinstance(tensor, Constant):
        return site.constant_of(reshaped(tensor.data, (1, *tensor.data.shape)), tensor.name)
    result: Tensor = site.add("Unsqueeze", [tensor, site.constant([0], "int64")])
    return result


def _gates(site: OnnxSite, tensor: Tensor, order: Sequence[int], sizes: tuple[int, int]) -> Tensor:
    """Weights of [directions, gates * hidden, ...], the gates in an order."""
    _, hidden = sizes
    if list(order) == list(range(len(order))):
        return tensor
    source = _stored(tensor)
    if source is not None:
        made: Tensor = site.constant_of(in_order(source.data, order, hidden), source.name)
        # Weights of half precision stay so.
        return made if source is tensor else cast(site, made, None, dtype_of(site).name)
    parts = _split(site, tensor, len(order), hidden)
    joined: Tensor = site.add("Concat", [parts[place] for place in order], {"axis": 1})
    return joined


def _split(site: OnnxSite, tensor: Tensor, count: int, hidden: int) -> list[Tensor]:
    """Equal parts of weights or biases along the second axis."""
    if count == 1:
        return [tensor]
    joined = parts_of(tensor, 1, count, hidden)
    if joined is not None:
        return joined
    attributes = {"axis": 1, **({"num_outputs": count} if site.opset >= NUM_OUTPUTS else {})}
    parts: list[Tensor] = site.add("Split", [tensor], attributes, outputs=count)
    return parts


def _stored(tensor: Tensor) -> Constant | None:
    """The constant that weights are, or are widened from."""
    if isinstance(tensor, Constant):
        return tensor
    producer = tensor.inputs[0] if tensor.inputs else None
    source = producer.inputs[0] if producer is not None and producer.op == "Cast" else None
    return source if isinstance(source, Constant) else None


def _two_biases(
    site: OnnxSite, tensor: Tensor, order: Sequence[int], sizes: tuple[int, int], *, is_split: bool
) -> Tensor:
    """ONNX's two biases, of which OpenVINO has the sum; those of the last gate are two already if `is_split`."""
    directions, hidden = sizes
    count, source = len(order), _stored(tensor)
    if source is not None:
        parts = source.values.reshape(directions, count + is_split, hidden)
        both = _spread(parts, order, is_split=is_split).reshape(directions, 2 * count * hidden)
        made: Tensor = site.constant(both, both.dtype)
        return made if source is tensor else cast(site, made, None, dtype_of(site).name)
    zero = site.constant(np.zeros((directions, hidden), dtype_of(site).numpy), dtype_of(site).numpy)
    gates = _split(site, tensor, count + is_split, hidden)
    of_state = [zero] * (count - is_split) + ([gates[-1]] if is_split else [])
    joined: Tensor = site.add("Concat", [*(gates[place] for place in order), *of_state], {"axis": 1})
    return joined


def _spread(parts: Array, order: Sequence[int], *, is_split: bool) -> Array:
    of_input = parts[:, list(order)]
    of_state = np.zeros_like(of_input)
    if is_split:
        of_state[:, -1] = parts[:, -1]
    return np.concatenate([of_input, of_state], axis=1)


_TOLERANCE = "1e-5 relative, 1e-6 absolute"
_LIMITS = "Other activations than sigmoid, tanh and relu are refused, peepholes and coupled gates too."

ROWS: tuple[Row, ...] = (
    *from_openvino("LSTMSequence-5", "LSTM", _lstm_sequence, tolerance=_TOLERANCE, limits=_LIMITS),
    *from_openvino("GRUSequence-5", "GRU", _gru_sequence, tolerance=_TOLERANCE, limits=_LIMITS),
    *from_openvino("RNNSequence-5", "RNN", _rnn_sequence, tolerance=_TOLERANCE, limits=_LIMITS),
    *from_openvino("LSTMCell-1", "LSTM", _lstm_cell, tolerance=_TOLERANCE, limits=_LIMITS),
    *from_openvino("GRUCell-3", "GRU", _gru_cell, tolerance=_TOLERANCE, limits=_LIMITS),
    *from_openvino("RNNCell-1", "RNN", _rnn_cell, tolerance=_TOLERANCE, limits=_LIMITS),
)
