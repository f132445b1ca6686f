"""Weights of recurrent cells with their gates in another order. Constants are put in order when they are written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxfold.model.computed import computed_rows, is_small
from maxfold.model.data import Array, ArrayData, TensorData, reshaped
from maxfold.model.graph import Constant, Tensor
from maxfold.model.reading import read_array, read_rows
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.undone import parts_of

_NUMPY = {"auto_broadcast": "numpy"}


def gates(site: OpenvinoSite, index: int, order: Sequence[int], hidden: int) -> Tensor:
    """Weights of [directions, gates * hidden, ...], the gates in an order."""
    tensor = site.input(index)
    if list(order) == list(range(len(order))):
        return tensor
    if isinstance(tensor, Constant):
        return site.constant_of(in_order(tensor.data, order, hidden), tensor.name)
    return _joined(site, _split(site, tensor, len(order), hidden), order)


def in_order(data: TensorData, order: Sequence[int], hidden: int) -> TensorData:
    """Weights of [directions, gates * hidden, ...], the gates in an order. Raises `UnsupportedError` where they do not
    fit."""
    count, dtype = len(order), data.dtype
    if dtype is None or len(data.shape) < 2 or data.shape[1] != count * hidden:
        raise UnsupportedError(f"weights of shape {list(data.shape)} do not fit {hidden} hidden elements")
    rows = (data.shape[0] * count, hidden * int(np.prod(data.shape[2:], dtype=np.int64)))
    source = reshaped(data, rows)

    def places(part: slice) -> list[int]:
        return [place - place % count + order[place % count] for place in range(part.start, part.stop)]

    def compute(part: slice) -> Array:
        return np.concatenate([read_rows(source, slice(place, place + 1)) for place in places(part)])

    if is_small(dtype, rows):
        return ArrayData(read_array(source)[places(slice(0, rows[0]))].reshape(data.shape), dtype)
    return reshaped(computed_rows(dtype, rows, compute, [data]), data.shape)


def bias(
    site: OpenvinoSite, index: int, order: Sequence[int], sizes: tuple[int, int], *, is_split: bool = False
) -> Tensor:
    """OpenVINO's one bias of ONNX's two, which are added, the gates in an order; zero where there is none.

    `sizes` are the numbers of directions and of hidden elements. With `is_split` those of the last gate stay two.
    """
    count = len(order)
    if not site.has_input(index):
        dtype = site.dtype(0)
        if dtype is None:
            raise UnsupportedError("its element type is not known")
        return site.constant(np.zeros((sizes[0], (count + is_split) * sizes[1]), dtype.numpy), dtype.numpy)
    value = site.value(index)
    if value is not None:
        if value.shape != (sizes[0], 2 * count * sizes[1]):
            raise UnsupportedError(f"its bias has the shape {list(value.shape)}")
        return site.constant(_one_bias(value, order, sizes, is_split=is_split), value.dtype)
    parts = _split(site, site.input(index), 2 * count, sizes[1])
    kept = count - 1 if is_split else count
    sums = [_sum(site, parts[gate], parts[gate + count]) for gate in range(kept)]
    return _joined(site, [*sums, *([parts[count - 1], parts[-1]] if is_split else [])], [*order, *[count] * is_split])


def _sum(site: OpenvinoSite, of_input: Tensor, of_state: Tensor) -> Tensor:
    if isinstance(of_state, Constant) and not of_state.values.any():
        return of_input
    made: Tensor = site.add("Add", [of_input, of_state], _NUMPY)
    return made


def _one_bias(value: Array, order: Sequence[int], sizes: tuple[int, int], *, is_split: bool) -> Array:
    directions, hidden = sizes
    of_input, of_state = value.reshape(directions, 2, len(order), hidden).transpose(1, 2, 0, 3)
    parts = [of_input[gate] + of_state[gate] for gate in order]
    if is_split:
        parts[-1:] = [of_input[-1], of_state[-1]]
    return np.concatenate(parts, axis=1)


def _split(site: OpenvinoSite, tensor: Tensor, count: int, hidden: int) -> list[Tensor]:
    """Equal parts along the second axis."""
    if count == 1:
        return [tensor]
    joined = parts_of(tensor, 1, count, hidden)
    if joined is not None:
        return joined
    parts: list[Tensor] = site.add("Split", [tensor, site.constant(1, "int64")], {"num_splits": count}, outputs=count)
    return parts


def _joined(site: OpenvinoSite, parts: Sequence[Tensor], order: Sequence[int]) -> Tensor:
    if len(order) == 1:
        return parts[0]
    joined: Tensor = site.add("Concat", [parts[place] for place in order], {"axis": 1})
    return joined
