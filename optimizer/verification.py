"""Verification by running: two files of one model, the same inputs, the outputs compared.

Needs onnxruntime (the `verify` extra), whose own optimizations are switched off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxfold.model import ModelError
from maxfold.model.data import Array

VERIFICATION_SCHEMA = "maxfold.verification/1"

# What dynamic dimensions are tried with, (first axis, other axes): small ones first, then sizes that models of
# sound and images ask for. The first two that the model can run are used.
_DRAWN_SIZES = ((2, 2), (3, 3), (2, 64), (1, 96), (1, 224), (1, 320), (1, 512), (1, 16), (1, 1))
_RUNS = 2

_NUMPY_TYPES = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
    "tensor(int8)": np.int8, "tensor(int16)": np.int16, "tensor(int32)": np.int32, "tensor(int64)": np.int64,
    "tensor(uint8)": np.uint8, "tensor(uint16)": np.uint16, "tensor(uint32)": np.uint32,
    "tensor(uint64)": np.uint64, "tensor(bool)": np.bool_, "tensor(string)": np.object_,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """One output in one run: largest absolute and relative difference; a NaN equals a NaN."""

    name: str
    is_bit_equal: bool
    max_abs: float
    max_rel: float


@dataclass(frozen=True, slots=True)
class Verification:
    """All outputs of all runs. `is_equal` says whether all are within the tolerance (0: the same bits)."""

    is_equal: bool
    tolerance: float
    runs: int
    outputs: tuple[OutputComparison, ...]

    def to_dict(self) -> dict[str, Any]:
        """The verification as JSON-ready data of schema "maxfold.verification/1"."""
        return {"schema": VERIFICATION_SCHEMA, **asdict(self)}


def verify_files(
    first: Path, second: Path, *, tolerance: float = 0.0, dims: Mapping[str, int] | None = None, seed: int = 0
) -> Verification:
    """Runs two ONNX files on seeded random inputs of the declared shapes and compares their outputs.

    Twice, with different sizes for dynamic dimensions (`dims` fixes a named one). `tolerance` bounds the difference
    relative to the larger of 1 and the value. Raises `ModelError` where onnxruntime is missing, cannot run the first
    file, or an input's type has no random values.
    """
    runtime = _runtime()
    sessions = [_session(runtime, path) for path in (first, second)]
    names = [output.name for output in sessions[0].get_outputs()]
    outputs: list[OutputComparison] = []
    runs = 0
    failure = ""
    for index, sizes in enumerate(_DRAWN_SIZES):
        feeds = _feeds(sessions[0], sizes, dims or {}, np.random.default_rng((seed, index)))
        expected, failure = _run(sessions[0], names, feeds)
        if expected is None:
            continue
        actual, reason = _run(sessions[1], names, feeds)
        if actual is None:
            raise ModelError(f"{second}: onnxruntime cannot run it: {reason}")
        outputs += [compare(*item) for item in zip(names, expected, actual, strict=True)]
        runs += 1
        if runs == _RUNS:
            break
    if not runs:
        raise ModelError(f"{first}: onnxruntime cannot run it: {failure}")
    is_equal = all(output.is_bit_equal or output.max_rel <= tolerance for output in outputs)
    return Verification(is_equal, tolerance, runs, tuple(outputs))


def _run(session: Any, names: list[str], feeds: dict[str, Array]) -> tuple[list[Any] | None, str]:
    """The outputs, or None and why not."""
    try:
        return session.run(names, feeds), ""
    except Exception as error:  # onnxruntime raises classes of its own, which share no other base
        return None, _line(error)


def compare(name: str, expected: Any, actual: Any) -> OutputComparison:
    """Compares two values of an output: arrays, or sequences of them. `max_rel` is relative to max(1, |expected|)."""
    if isinstance(expected, (list, tuple, dict)) or expected is None or isinstance(actual, (list, tuple, dict)):
        return _compare_many(name, expected, actual)
    left, right = np.asarray(expected), np.asarray(actual)
    if left.dtype != right.dtype or left.shape != right.shape:
        return OutputComparison(name, False, float("inf"), float("inf"))
    if left.dtype.kind in "OUS" or left.dtype.kind == "b":
        is_same = bool((left == right).all())
        return OutputComparison(name, is_same, 0.0 if is_same else float("inf"), 0.0 if is_same else float("inf"))
    if _same_bits(left, right):
        return OutputComparison(name, True, 0.0, 0.0)
    wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(all="ignore"):
        difference = np.abs(wide_left - wide_right)
        both_nan = np.isnan(wide_left) & np.isnan(wide_right)
        difference[both_nan | (wide_left == wide_right)] = 0.0
        difference[np.isnan(difference)] = np.inf
        relative = difference / np.maximum(1.0, np.abs(np.nan_to_num(wide_left)))
    return OutputComparison(name, False, float(difference.max()), float(relative.max()))


def _compare_many(name: str, expected: Any, actual: Any) -> OutputComparison:
    pairs: Sequence[tuple[Any, Any]]
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        pairs = [(expected[key], actual[key]) for key in expected]
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)) and len(expected) == len(actual):
        pairs = list(zip(expected, actual, strict=True))
    else:
        is_same = expected is None and actual is None
        return OutputComparison(name, is_same, 0.0 if is_same else float("inf"), 0.0 if is_same else float("inf"))
    parts = [compare(name, left, right) for left, right in pairs]
    return OutputComparison(
        name,
        all(part.is_bit_equal for part in parts),
        max((part.max_abs for part in parts), default=0.0),
        max((part.max_rel for part in parts), default=0.0),
    )


def _same_bits(left: Array, right: Array) -> bool:
    if left.dtype.kind not in "fc" and left.dtype.isbuiltin:
        return bool((left == right).all())
    codes = [np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1) for array in (left, right)]
    with np.errstate(all="ignore"):
        both_nan = (left != left) & (right != right)
    return bool(((codes[0] == codes[1]).all(axis=1) | both_nan.reshape(-1)).all())


def _feeds(
    session: Any, sizes: tuple[int, int], dims: Mapping[str, int], random: np.random.Generator
) -> dict[str, Array]:
    """Random inputs; a symbolic dimension has one size wherever it stands."""
    drawn = dict(dims)
    feeds: dict[str, Array] = {}
    for declared in session.get_inputs():
        dtype = _NUMPY_TYPES.get(declared.type)
        if dtype is None:
            raise ModelError(f"input {declared.name!r} has the type {declared.type}, which has no random values")
        shape: list[int] = []
        for axis, dim in enumerate(declared.shape):
            size = sizes[0] if axis == 0 else sizes[1]
            if isinstance(dim, str):
                size = drawn.setdefault(dim, size)
            elif isinstance(dim, int) and dim >= 0:
                size = dim
            shape.append(size)
        feeds[declared.name] = _random(np.dtype(dtype), shape, random)
    return feeds


def _random(dtype: np.dtype[Any], shape: Sequence[int], random: np.random.Generator) -> Array:
    """Normal floats, small integers (they are often indices), coin flips, short strings."""
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "O":
        return np.array(random.integers(0, 10, shape).astype(str), dtype)
    return random.integers(0, 3, shape).astype(dtype)


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ModelError("verification runs the models in onnxruntime; pip install 'maxfold[verify]'") from None
    onnxruntime.set_default_logger_severity(4)
    return onnxruntime


def _session(runtime: Any, path: Path) -> Any:
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"{path}: onnxruntime cannot load it: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
