"""LSTM, GRU and RNN in elementwise operations, a step at a time: peepholes, all activations, coupled gates, and weights
in integers, of which OpenVINO's sequences know nothing.

Source: ONNX LSTM-22, GRU-22, RNN-22; ONNX Runtime where they leave something open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.recurrent_activations import Activation
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
    has_lengths,
)
from maxfold.passes.conversion.parts.recurrent_steps import (
    NUMPY,
    Cell,
    Run,
    Step,
    along,
    product,
    run_steps,
    split,
    stacked,
)
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

Fixed = dict[str, tuple[Tensor, tuple[int, ...]]]
# Products of the state and recurrent weights, in a step.
Product = Callable[[Step, Tensor], Tensor]


@dataclass(slots=True)
class Kind:
    """How many gates and states a cell has, and what makes a step of its functions."""

    gates: int
    states: int
    functions: int
    cell: Callable[[OpenvinoSite, Sequence[Activation], Weights], Cell]
    # Whether the second bias stays apart.
    is_apart: bool = False


@dataclass(slots=True)
class Weights:
    """What the weights of a direction make of data and states: the share of the data in all gates, of all steps, and
    the product with the state, of a step; `fixed` is what the steps read for it."""

    data: Tensor
    times: Product
    fixed: Fixed = field(default_factory=dict)


WeightsOf = Callable[[OpenvinoSite, Layout, int], Weights]


def composed(
    site: OpenvinoSite, kind: Kind, layout: Layout, functions: Sequence[Activation], weights_of: WeightsOf
) -> list[Tensor]:
    """The results of a node as ONNX lists them."""
    dims, dtype = Dims(site), site.dtype(X)
    if dtype is None:
        raise UnsupportedError("its element type is not known")
    lengths: Tensor | None = None
    if has_lengths(site):
        lengths = site.add("Convert", [site.input(LENGTHS)], {"destination_type": "i64"})
    results: list[list[Tensor]] = []
    for place in range(layout.directions):
        weights = weights_of(site, layout, place)
        own = functions[place * kind.functions : (place + 1) * kind.functions]
        cell = kind.cell(site, own, weights)
        _add_biases(site, kind, layout, place, weights)
        run = Run(
            dtype, weights.data, kind.gates * layout.hidden, _states(site, kind, layout, place, dims, dtype),
            (dims.known(layout.batch_axis), layout.hidden), layout.length_axis,
            layout.direction == "reverse" or place == 1, weights.fixed,
            lengths, None if lengths is None else dims.one(layout.length_axis),
        )  # fmt: skip
        results.append(run_steps(site, run, cell))
    axes = [2 if layout.batch_axis == 0 else 1, *[1 if layout.batch_axis == 0 else 0] * kind.states]
    return [stacked(site, tensors, axis) for tensors, axis in zip(zip(*results, strict=True), axes, strict=True)]


def plain_weights(gates: int) -> WeightsOf:
    """Weights that are numbers: [directions, gates * hidden, ...]."""

    def weights_of(site: OpenvinoSite, layout: Layout, place: int) -> Weights:
        data = product(site, site.input(X), along(site, site.input(W), place))
        recurrent = along(site, site.input(R), place)

        def times(step: Step, state: Tensor) -> Tensor:
            return product(step.site, state, step.fixed["recurrent"])

        return Weights(data, times, {"recurrent": (recurrent, (gates * layout.hidden, layout.hidden))})

    return weights_of


def _add_biases(site: OpenvinoSite, kind: Kind, layout: Layout, place: int, weights: Weights) -> None:
    if not site.has_input(B):
        return
    of_data, of_state = split(site, along(site, site.input(B), place), 2, 0)
    if kind.is_apart:
        weights.fixed["bias"] = of_state, (kind.gates * layout.hidden,)
    else:
        of_data = site.add("Add", [of_data, of_state], NUMPY)
    weights.data = site.add("Add", [weights.data, of_data], NUMPY)


def _states(site: OpenvinoSite, kind: Kind, layout: Layout, place: int, dims: Dims, dtype: DType) -> list[Tensor]:
    axis = 1 if layout.batch_axis == 0 else 0
    found: list[Tensor] = []
    for index in range(STATE, STATE + kind.states):
        if site.has_input(index):
            found.append(along(site, site.input(index), place, axis))
            continue
        shape = site.add("Concat", [dims.one(layout.batch_axis), site.constant([layout.hidden], "int64")], {"axis": 0})
        found.append(broadcast(site, site.constant(0, dtype.numpy), shape))
    return found


def _bounded(site: OpenvinoSite, step: Step, function: Activation, x: Tensor) -> Tensor:
    """A function of what `clip` leaves of a tensor."""
    bound = float(site.attribute("clip") or 0.0)
    if bound:
        x = step.site.add("Clamp", [x], {"min": -bound, "max": bound})
    return function.of(step.site, x)


def _lstm(site: OpenvinoSite, functions: Sequence[Activation], weights: Weights) -> Cell:
    gate, candidate, shown = functions
    is_coupled = bool(site.attribute("input_forget") or 0)

    def cell(step: Step) -> list[Tensor]:
        state, memory = step.states
        sums = step.add("Add", step.data, weights.times(step, state))
        into, out, kept, new = split(step.site, sums, 4, 1)
        into = _bounded(site, step, gate, _peeped(step, into, "peephole_i", memory))
        if is_coupled:
            dtype = site.dtype(X)
            assert dtype is not None
            kept = step.add("Subtract", step.site.constant(1, dtype.numpy), into)
        else:
            kept = _bounded(site, step, gate, _peeped(step, kept, "peephole_f", memory))
        new = _bounded(site, step, candidate, new)
        memory = step.add("Add", step.add("Multiply", kept, memory), step.add("Multiply", into, new))
        out = _bounded(site, step, gate, _peeped(step, out, "peephole_o", memory))
        return [step.add("Multiply", out, shown.of(step.site, memory)), memory]

    return cell


def _peeped(step: Step, x: Tensor, name: str, memory: Tensor) -> Tensor:
    return step.add("Add", x, step.add("Multiply", step.fixed[name], memory)) if name in step.fixed else x


def _gru(site: OpenvinoSite, functions: Sequence[Activation], weights: Weights) -> Cell:
    gate, candidate = functions
    is_reset_later = bool(site.attribute("linear_before_reset", 0))

    def cell(step: Step) -> list[Tensor]:
        (state,) = step.states
        update, reset, new = split(step.site, step.data, 3, 1)
        own = split(step.site, _biased(step, weights.times(step, state)), 3, 1)
        update = _bounded(site, step, gate, step.add("Add", update, own[0]))
        reset = _bounded(site, step, gate, step.add("Add", reset, own[1]))
        if is_reset_later:
            carried = step.add("Multiply", reset, own[2])
        else:
            product_of_rest = _biased(step, weights.times(step, step.add("Multiply", reset, state)))
            carried = split(step.site, product_of_rest, 3, 1)[2]
        new = _bounded(site, step, candidate, step.add("Add", new, carried))
        dtype = site.dtype(X)
        assert dtype is not None
        rest = step.add("Subtract", step.site.constant(1, dtype.numpy), update)
        return [step.add("Add", step.add("Multiply", rest, new), step.add("Multiply", update, state))]

    return cell


def _biased(step: Step, x: Tensor) -> Tensor:
    return step.add("Add", x, step.fixed["bias"]) if "bias" in step.fixed else x


def _rnn(site: OpenvinoSite, functions: Sequence[Activation], weights: Weights) -> Cell:
    def cell(step: Step) -> list[Tensor]:
        (state,) = step.states
        return [_bounded(site, step, functions[0], step.add("Add", step.data, weights.times(step, state)))]

    return cell


LSTM = Kind(4, 2, 3, _lstm)
GRU = Kind(3, 1, 2, _gru, is_apart=True)
RNN = Kind(1, 1, 1, _rnn)


def with_peepholes(weights_of: WeightsOf) -> WeightsOf:
    """Weights of an LSTM with those by which its gates see the memory, where there are any."""

    def weights_and_more(site: OpenvinoSite, layout: Layout, place: int) -> Weights:
        weights = weights_of(site, layout, place)
        if site.has_input(PEEPHOLES):
            parts = split(site, along(site, site.input(PEEPHOLES), place), 3, 0)
            names = ("peephole_i", "peephole_o", "peephole_f")
            weights.fixed |= {name: (part, (layout.hidden,)) for name, part in zip(names, parts, strict=True)}
        return weights

    return weights_and_more
