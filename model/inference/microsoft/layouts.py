"""Operators of the blocked layout of ONNX Runtime, in which channels are filled up to blocks of the machine's size."""

from __future__ import annotations

from maxfold.model.inference import convolution
from maxfold.model.inference.call import Call
from maxfold.model.inference.facts import Fact
from maxfold.model.inference.microsoft.row import number
from maxfold.model.inference.symbolic import Dim


def reorder_input(call: Call) -> Fact:
    """ReorderInput: nobody knows the channels here that another machine makes."""
    dims = call.known_dims(0)
    spatial = dims[1:-1] if call.attribute("channels_last", 0) else dims[2:]
    return Fact(call.dtype(0), (dims[0], None, *spatial))


def reorder_output(call: Call) -> Fact:
    """ReorderOutput: back to as many channels as an attribute says."""
    dims, channels = call.known_dims(0), number(call, "channels")
    is_last = bool(call.attribute("channels_last", 0))
    return Fact(call.dtype(0), (dims[0], *dims[2:], channels) if is_last else (dims[0], channels, *dims[2:]))


def upsample(call: Call) -> Fact:
    """Upsample: by whole factors."""
    dims, scales = call.known_dims(0), call.integers("scales") or ()
    if len(scales) != len(dims):
        raise ValueError("scales has not one factor for each axis")
    sizes: list[Dim] = [dim * scale for dim, scale in zip(dims, scales, strict=True)]
    return Fact(call.dtype(0), tuple(sizes))


def pool(call: Call) -> Fact:
    """MaxPool and AveragePool."""
    return convolution.pool(call)[0]
