"""What LSTM, GRU and RNN read beside their weights: how data and states lie, and how long sequences are."""

from __future__ import annotations

from dataclasses import dataclass

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import shape_vector
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
_RANK = 3
X, W, R, B, LENGTHS, STATE, CELL, PEEPHOLES = range(8)


@dataclass(frozen=True, slots=True)
class Layout:
    """How many directions and hidden elements there are, and which axis of the data is the batch."""

    direction: str
    directions: int
    hidden: int
    batch_axis: int

    @property
    def length_axis(self) -> int:
        """The axis of the data along which the sequence runs."""
        return 1 - self.batch_axis


def layout_of(site: OpenvinoSite) -> Layout:
    """How a node's tensors lie. Raises `UnsupportedError` for what ONNX does not have."""
    if site.rank(X) != _RANK:
        raise UnsupportedError(f"its data has {site.rank(X)} dimensions")
    if 0 in (site.shape(X) or ()):
        raise UnsupportedError("its data has no elements, at which OpenVINO's CPU fails or ends the process")
    direction = site.attribute("direction") or "forward"
    if direction not in _DIRECTIONS:
        raise UnsupportedError(f"its direction {direction!r} does not exist")
    return Layout(direction, _DIRECTIONS[direction], _hidden(site), 0 if site.attribute("layout", 0) else 1)


def check_sizes(site: OpenvinoSite, layout: Layout, gates: int) -> None:
    """Raises `UnsupportedError` where known sizes of operands do not belong together, which onnx's inference does not
    look at."""
    directions, hidden = layout.directions, layout.hidden
    state: tuple[object, ...] = (directions, "batch", hidden)
    data: tuple[object, ...] = ("length", "batch", "input")
    if layout.batch_axis == 0:
        state, data = ("batch", directions, hidden), ("batch", "length", "input")
    rows = gates * hidden
    wanted = (data, (directions, rows, "input"), (directions, rows, hidden), (directions, 2 * rows), ("batch",), state)
    sizes: dict[object, int] = {}
    for index, expected in enumerate((*wanted, state, (directions, 3 * hidden))):
        shape = site.shape(index) if site.has_input(index) else None
        for size, name in zip(shape or (), expected, strict=False):
            known = name if isinstance(name, int) else sizes.setdefault(name, size) if size is not None else None
            if size is not None and size != known:
                raise UnsupportedError(f"its input {index} of the shape {list(shape or ())} does not fit the others")


def _hidden(site: OpenvinoSite) -> int:
    """The number of hidden elements, which the recurrent weights have too."""
    shape, given = site.shape(R), site.attribute("hidden_size")
    if given is not None:
        return int(given)
    if shape is None or len(shape) != _RANK or shape[2] is None:
        raise UnsupportedError("its number of hidden elements is not known")
    return shape[2]


def has_lengths(site: OpenvinoSite) -> bool:
    """Whether sequences may be shorter than the longest."""
    if not site.has_input(LENGTHS):
        return False
    lengths, shape = site.value(LENGTHS), site.shape(X)
    longest = None if shape is None else shape[1 if site.attribute("layout", 0) else 0]
    return lengths is None or longest is None or bool((lengths != longest).any())


def broadcast(site: OpenvinoSite, tensor: Tensor, shape: Tensor) -> Tensor:
    """A tensor in a shape that is computed."""
    result: Tensor = site.add("Broadcast", [tensor, shape], {"mode": "numpy"}, opset=3)
    return result


class Dims:
    """The dimensions of the data, as operands where they are not known."""

    def __init__(self, site: OpenvinoSite) -> None:
        self._site = site
        self._shape = site.shape(X) or ()
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
            self._vector = shape_vector(site, site.input(X))
        operands = [self._vector, site.constant([axis], "int64"), site.constant(0, "int64")]
        dim: Tensor = site.add("Gather", operands, {"batch_dims": 0}, opset=8)
        return dim
