"""Draws inputs for a model from seeds: dims, dtypes and values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, TypeProto, helper

Dim = int | str
Feed = dict[str, Any]

MAX_ELEMENTS = 1 << 26
BATCH = "[batch]"

# Rounds of dims to try: (batch dims, dims of axis 1 of rank-4 inputs, all others).
_POOLS: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
    ((1, 2, 3), (3,), (8, 16, 24, 32)),
    ((1, 2, 3), (3,), (64, 96, 128, 160)),
    ((1, 2, 3), (3,), (224, 256, 320)),
    ((1, 2, 3), (1,), (32, 48, 64)),
    ((1,), (1, 3), (32, 64, 320, 512, 640)),
    ((1,), (3,), (1, 2, 4, 8)),
    ((1, 2, 3), (48, 64, 96), (48, 64, 96)),
    ((1, 2), (1, 3), (512, 576)),
    ((4, 8, 16), (1, 3, 4), (1, 2, 3, 4)),
    ((1, 2, 8, 64), (1, 2, 4, 8, 64), (1, 4, 64, 128)),
)
ATTEMPTS = 6 * len(_POOLS)

_WORDS = ("alpha", "beta", "", "Gamma", "delta 7", "été")
# A lone integer is a sampling rate, a count or an index; the two seeds start with different ones.
_SCALARS = (16000, 8000, 1, 0, 4)


class CannotDrawError(ValueError):
    """The input has a type for which no values are drawn; str() says which."""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """A graph input: ONNX element type and dims.

    An unnamed dynamic dim gets the name "input[axis]", or `BATCH` where it looks like the batch.
    """

    name: str
    element_type: int
    dims: tuple[Dim, ...]
    is_sequence: bool


def _dims(name: str, tensor: TypeProto.Tensor) -> tuple[Dim, ...]:
    # Axis 1 of rank 3 is the batch of a recurrent state, [layers, batch, width].
    batch_axes = (0, 1) if len(tensor.shape.dim) == 3 else (0,)
    unnamed = (BATCH if axis in batch_axes else f"{name}[{axis}]" for axis in range(len(tensor.shape.dim)))
    return tuple(
        dim.dim_value if dim.dim_value > 0 else dim.dim_param or own_name
        for dim, own_name in zip(tensor.shape.dim, unnamed, strict=True)
    )


def input_specs(model: ModelProto) -> list[InputSpec]:
    """Inputs that a caller must feed: graph inputs that are no initializers."""
    given = {tensor.name for tensor in model.graph.initializer}
    given |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    specs = []
    for value in model.graph.input:
        if value.name in given:
            continue
        kind = value.type.WhichOneof("value")
        if kind == "tensor_type":
            tensor = value.type.tensor_type
        elif kind == "sequence_type" and value.type.sequence_type.elem_type.HasField("tensor_type"):
            tensor = value.type.sequence_type.elem_type.tensor_type
        else:
            raise CannotDrawError(f"input {value.name} is of kind {kind}")
        specs.append(InputSpec(value.name, tensor.elem_type, _dims(value.name, tensor), kind == "sequence_type"))
    return specs


def _terms(dim: str) -> list[str]:
    return [term.strip() for term in dim.split("+")]


def draw_dims(specs: list[InputSpec], seed: int, attempt: int) -> dict[str, int]:
    """A value for each symbol; "a + b" and "a + 1" are sums. Later attempts try other kinds of dims."""
    rng = np.random.default_rng([seed, attempt])
    # Of an image of few pixels nothing is left behind the last pools, and runtimes compute what nobody asks for.
    skipped = int(any(len(spec.dims) == 4 for spec in specs))
    first, channels, others = _POOLS[(attempt + skipped) % len(_POOLS)]
    drawn: dict[str, int] = {}
    for spec in specs:
        for axis, dim in enumerate(spec.dims):
            if isinstance(dim, int):
                continue
            is_channel = axis == 1 and len(spec.dims) == 4
            pool = first if axis == 0 or dim == BATCH else channels if is_channel else others
            for term in _terms(dim):
                if not term.isdigit() and term not in drawn:
                    drawn[term] = int(rng.choice(pool))
    return drawn


def _resolve(dim: Dim, drawn: dict[str, int]) -> int:
    if isinstance(dim, int):
        return dim
    return sum(int(term) if term.isdigit() else drawn[term] for term in _terms(dim))


def _integers(spec: InputSpec, shape: tuple[int, ...], rng: np.random.Generator, seed: int, attempt: int) -> Any:
    if re.search("mask", spec.name, re.IGNORECASE):
        return np.ones(shape) if attempt % 2 == 0 else rng.integers(0, 2, shape)
    if int(np.prod(shape)) == 1:
        return np.full(shape, _SCALARS[(attempt // len(_POOLS) + seed - 1) % len(_SCALARS)])
    return rng.integers(0, (100, 10, 2)[attempt % 3], shape)


def _values(spec: InputSpec, shape: tuple[int, ...], rng: np.random.Generator, seed: int, attempt: int) -> Any:
    dtype = helper.tensor_dtype_to_np_dtype(spec.element_type)
    if dtype.kind == "O":
        return rng.choice(np.array(_WORDS, dtype=object), shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return np.asarray(_integers(spec, shape, rng, seed, attempt)).astype(dtype)
    if dtype.kind not in "fc" or dtype.itemsize < 2:
        raise CannotDrawError(f"input {spec.name} has dtype {dtype}")
    # Odd seeds: as a normalized image or a signal; even seeds: as a plain image.
    drawn = rng.standard_normal(shape) if seed % 2 else rng.random(shape)
    return drawn.astype(dtype)


def draw_feed(specs: list[InputSpec], seed: int, attempt: int) -> tuple[dict[str, int], Feed]:
    """Dims and values for all inputs. Raises CannotDrawError for types and sizes that are not judged."""
    drawn = draw_dims(specs, seed, attempt)
    rng = np.random.default_rng([seed, attempt, 1])
    feed: Feed = {}
    for spec in specs:
        shape = tuple(_resolve(dim, drawn) for dim in spec.dims)
        if int(np.prod(shape, dtype=object)) > MAX_ELEMENTS:
            raise CannotDrawError(f"input {spec.name} of shape {list(shape)} is too large")
        if spec.is_sequence:
            feed[spec.name] = [_values(spec, shape, rng, seed, attempt) for _ in range(3)]
        else:
            feed[spec.name] = _values(spec, shape, rng, seed, attempt)
    return drawn, feed


def nudge(feed: Feed) -> Feed:
    """The same feed with each floating-point value moved to its next neighbour upward."""

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(item) for item in value]
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return np.asarray(np.nextafter(value, value.dtype.type(np.inf)))
        return value

    return {name: moved(value) for name, value in feed.items()}
