"""What models are run with: random values of the declared types and shapes, or arrays of a file."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maxfold.model import ModelError
from maxfold.model.data import Array, why_no_array
from maxfold.optimizer.runtimes import Dim, Port
from maxfold.optimizer.sizes import Sizes, drawn_shape

_MASK = re.compile(r"mask", re.IGNORECASE)
_SEGMENT = re.compile(r"token_?type|segment", re.IGNORECASE)
_RATE = re.compile(r"^(sr|fs)$|sampl\w*_?rate", re.IGNORECASE)
_LENGTH = re.compile(r"(^|_)len(gth)?s?($|_)", re.IGNORECASE)
# Integers that nothing is known of are often indices.
_FEW = 3

# How many dimensions a value of unknown rank is given.
_UNKNOWN_RANK = 2


def merged(first: Sequence[Port], second: Sequence[Port]) -> list[Port]:
    """The inputs of both models as one declaration: a size or a symbol on either side counts.

    Raises `ModelError` where they contradict each other.
    """
    return [_merged(left, right) for left, right in zip(first, second, strict=True)]


def _merged(left: Port, right: Port) -> Port:
    if left.dtype is not None and right.dtype is not None and left.dtype is not right.dtype:
        raise ModelError(f"input {left.name!r} is {left.dtype} in the first model and {right.dtype} in the second")
    chosen = left if left.dtype is not None else right
    if left.shape is None or right.shape is None:
        shape, bounds = (left.shape, left.bounds) if right.shape is None else (right.shape, right.bounds)
        return Port(left.names, chosen.kind, chosen.dtype, shape, bounds)
    fits = len(left.shape) == len(right.shape) and all(map(_fit, left.shape, right.shape))
    if not fits:
        raise ModelError(
            f"input {left.name!r} has the shape {_shape_text(left.shape)} in the first model and "
            f"{_shape_text(right.shape)} in the second"
        )
    return Port(
        left.names, chosen.kind, chosen.dtype, tuple(map(_stronger, left.shape, right.shape)),
        left.bounds or right.bounds,
    )  # fmt: skip


def _fit(left: Dim, right: Dim) -> bool:
    return not (isinstance(left, int) and isinstance(right, int)) or left == right


def _stronger(left: Dim, right: Dim) -> Dim:
    """A size before a symbol, a symbol before nothing."""
    return min((left, right), key=lambda dim: 0 if isinstance(dim, int) else 1 if isinstance(dim, str) else 2)


def _shape_text(shape: Sequence[Dim]) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in shape)}]"


def check_dims(ports: Sequence[Port], dims: Mapping[str, int]) -> None:
    """Raises `ModelError` for a key of `dims` that is neither a symbol nor the axis of an input, as in "x:0"."""
    symbols = {dim for port in ports for dim in port.shape or () if isinstance(dim, str)}
    places = {f"{port.name}:{axis}" for port in ports for axis, dim in enumerate(port.shape or ()) if dim is None}
    for key in dims:
        if key not in symbols | places:
            known = ", ".join(sorted(symbols | places)) or "none"
            raise ModelError(f"no input has an open dimension {key!r}; open dimensions: {known}")


def draw(
    ports: Sequence[Port],
    sizes: Sizes,
    dims: Mapping[str, int],
    random: np.random.Generator,
    indexed: Mapping[str, int] | None = None,
    *,
    is_padded: bool = False,
) -> list[Array]:
    """Random inputs; a symbol has one size wherever it stands. `indexed` says of inputs that are indices how many
    values there are to choose of. Masks and lengths leave nothing out, or some
    of what is last if `is_padded`.
    Raises `ModelError` for a type without random values."""
    symbols = dict(dims)
    shapes = []
    for port in ports:
        if port.dtype is None or port.dtype.is_packed or port.dtype.kind in ("complex", "opaque"):
            raise ModelError(f"input {port.name!r} is of type {port.kind}, which has no random values; give --inputs")
        reason = why_no_array(port.shape or ())
        if reason is not None:
            raise ModelError(f"input {port.name!r} {reason}, so it cannot be fed")
        shapes.append(drawn_shape(port, sizes, symbols, _UNKNOWN_RANK))
    # No part of the data is longer than its longest axis but the batch.
    longest = max((size for shape in shapes for size in shape[1:]), default=1)
    bounds = indexed or {}
    return [
        _random(port, shape, random, _Given(bounds.get(port.name), longest, sizes.rate, is_padded))
        for port, shape in zip(ports, shapes, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Given:
    """How many values an index chooses of, None where it is none; a length and a rate that fit the other inputs; and
    whether what is last is padding."""

    bound: int | None
    longest: int
    rate: int
    is_padded: bool


def _random(port: Port, shape: Sequence[int], random: np.random.Generator, given: _Given) -> Array:
    """Normal floats, integers that are what their name says or inside of what they index, coin flips, short strings."""
    assert port.dtype is not None
    dtype = port.dtype.numpy
    if _MASK.search(port.name) and dtype.kind in "biuf":
        return _mask(shape, random, is_padded=given.is_padded).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "O":
        return np.array(random.integers(0, 10, shape).astype(str), dtype)
    if dtype.kind in "iu":
        return _integers(port.name, shape, random, given).astype(dtype)
    # 16- and 8-bit floats of ml_dtypes are of kind "V".
    return random.standard_normal(shape).astype(dtype)


def _mask(shape: Sequence[int], random: np.random.Generator, *, is_padded: bool) -> Array:
    """Ones, or some of them and zeros behind along the last axis."""
    if not is_padded or not shape or not shape[-1]:
        return np.ones(shape, np.bool_)
    counts = random.integers(1, max(shape[-1], 2), (*shape[:-1], 1))
    mask: Array = np.arange(shape[-1]) < counts
    return mask


def _integers(name: str, shape: Sequence[int], random: np.random.Generator, given: _Given) -> Array:
    if given.bound is not None:
        return random.integers(0, max(given.bound, 1), shape)
    if _SEGMENT.search(name):
        return random.integers(0, 2, shape)
    if _RATE.search(name):
        return np.full(shape, given.rate)
    if _LENGTH.search(name):
        return random.integers(1, max(given.longest, 2), shape) if given.is_padded else np.full(shape, given.longest)
    return random.integers(0, _FEW, shape)


def has_open_dims(ports: Sequence[Port], dims: Mapping[str, int]) -> bool:
    """Whether some size is still to be chosen."""
    return any(
        port.shape is None
        or any(
            not isinstance(dim, int) and (dim or f"{port.name}:{axis}") not in dims
            for axis, dim in enumerate(port.shape)
        )
        for port in ports
    )


def read_inputs(path: str | Path, ports: Sequence[Port]) -> list[Array]:
    """The arrays of an `.npz` file, by the names of the inputs. Raises `ModelError` where they do not fit."""
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = dict(content) if isinstance(content, np.lib.npyio.NpzFile) else None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "is not a usable .npz file"
        raise ModelError(f"{path}: {reason}; write it with numpy.savez(path, name=array, ...)") from None
    if arrays is None:
        raise ModelError(f"{path}: holds one array without a name; write it with numpy.savez(path, name=array, ...)")
    unknown = sorted(set(arrays) - {name for port in ports for name in port.names})
    if unknown:
        raise ModelError(
            f"{path}: has an array {unknown[0]!r}, and the inputs are {', '.join(port.name for port in ports)}"
        )
    return [_array(path, port, arrays) for port in ports]


def _array(path: str | Path, port: Port, arrays: Mapping[str, Array]) -> Array:
    name = next((name for name in port.names if name in arrays), None)
    if name is None:
        raise ModelError(f"{path}: has no array for the input {port.name!r}")
    array = arrays[name]
    wanted = None if port.dtype is None else port.dtype.numpy
    if wanted is not None and wanted.kind == "O" and array.dtype.kind in "US":
        return array.astype(np.object_)
    if wanted is not None and array.dtype.kind == "V" and array.dtype.itemsize == wanted.itemsize:
        # numpy does not write the names of ml_dtypes' types into files.
        array = array.view(wanted)
    if array.dtype != wanted:
        raise ModelError(f"{path}: the array {name!r} is {array.dtype}, and the input is {port.dtype or port.kind}")
    if port.shape is not None and not (len(port.shape) == array.ndim and all(map(_fit, port.shape, array.shape))):
        raise ModelError(
            f"{path}: the array {name!r} has the shape {_shape_text(array.shape)}, "
            f"and the input {_shape_text(port.shape)}"
        )
    return array
