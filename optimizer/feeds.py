"""What models are run with: random values of the declared types and shapes, or arrays of a file."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxfold.model import ModelError
from maxfold.model.data import Array, why_no_array
from maxfold.optimizer.runtimes import Dim, Port

# What open dimensions are tried with, (first axis, other axes): small ones first, then sizes that models of sound and
# images ask for.
SIZES = ((2, 2), (3, 3), (2, 64), (1, 96), (1, 224), (1, 320), (1, 512), (1, 16), (1, 1))

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
    ports: Sequence[Port], sizes: tuple[int, int], dims: Mapping[str, int], random: np.random.Generator
) -> list[Array]:
    """Random inputs; a symbol has one size wherever it stands. Raises `ModelError` for a type without random values."""
    symbols = dict(dims)
    values = []
    for port in ports:
        if port.dtype is None or port.dtype.is_packed or port.dtype.kind in ("complex", "opaque"):
            raise ModelError(f"input {port.name!r} is of type {port.kind}, which has no random values; give --inputs")
        reason = why_no_array(port.shape or ())
        if reason is not None:
            raise ModelError(f"input {port.name!r} {reason}, so it cannot be fed")
        values.append(_random(port.dtype.numpy, _drawn_shape(port, sizes, symbols), random))
    return values


def _drawn_shape(port: Port, sizes: tuple[int, int], symbols: dict[str, int]) -> list[int]:
    shape: list[int] = []
    for axis, dim in enumerate((None,) * _UNKNOWN_RANK if port.shape is None else port.shape):
        size = sizes[0] if axis == 0 else sizes[1]
        low, high = port.bounds[axis] if axis < len(port.bounds) else (0, None)
        size = max(size, low) if high is None else min(max(size, low), high)
        if isinstance(dim, str):
            size = symbols.setdefault(dim, size)
        elif isinstance(dim, int):
            size = dim
        else:
            size = symbols.get(f"{port.name}:{axis}", size)
        shape.append(size)
    return shape


def _random(dtype: np.dtype[Any], shape: Sequence[int], random: np.random.Generator) -> Array:
    """Normal floats, small integers (they are often indices), coin flips, short strings."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "O":
        return np.array(random.integers(0, 10, shape).astype(str), dtype)
    if dtype.kind in "iu":
        return random.integers(0, 3, shape).astype(dtype)
    # 16- and 8-bit floats of ml_dtypes are of kind "V".
    return random.standard_normal(shape).astype(dtype)


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
