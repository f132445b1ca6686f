"""Verification by running: two files of one model, the same inputs, the outputs compared.

ONNX files run in ONNX Runtime, IR in OpenVINO; what these need is the `verify` extra.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxfold.model import Model, ModelError
from maxfold.model.data import Array
from maxfold.optimizer.api import load
from maxfold.optimizer.comparison import OutputComparison, compare
from maxfold.optimizer.feeds import check_dims, draw, has_open_dims, merged, read_inputs
from maxfold.optimizer.index_bounds import index_bounds
from maxfold.optimizer.row_order import is_reordered
from maxfold.optimizer.runtimes import (
    OPENVINO,
    Port,
    RunError,
    Runtime,
    SizeError,
    missing_runtime,
    open_runtime,
    runtime_for,
)
from maxfold.optimizer.sizes import SIZES
from maxfold.optimizer.sources import ModelSource, files_of
from maxfold.passes.conversion.names import shapes_of

VERIFICATION_SCHEMA = "maxfold.verification/1"

# Two runtimes round differently, and a model adds that up.
CROSS_TOLERANCE = 1e-4
_RUNS = 2

_NARROWED = {"INT64": "i64 in 32 bits", "UINT64": "u64 in 32 bits", "DOUBLE": "f64 as f32"}


class UnfitError(ModelError):
    """A model cannot run with sizes that were drawn for its open dimensions; other ones may do."""


@dataclass(frozen=True, slots=True)
class FedInput:
    """An input of one run: its type in ONNX's spelling, and the shape that it had."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    run: int


@dataclass(frozen=True, slots=True)
class Verification:
    """All outputs of all runs. `is_equal` says whether all are within the tolerance (0: the same bits, but for the sign
    of zeros). `runtimes` names what ran the first and the second file; `notes` are lines on what the comparison cannot
    tell, or tells by other means than names and types. `seed` is None where inputs were given.
    """

    is_equal: bool
    tolerance: float
    runs: int
    seed: int | None
    runtimes: tuple[str, str]
    inputs: tuple[FedInput, ...]
    outputs: tuple[OutputComparison, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The verification as JSON-ready data of schema "maxfold.verification/1"."""
        return {"schema": VERIFICATION_SCHEMA, **asdict(self)}


def verify(
    first: ModelSource,
    second: ModelSource,
    *,
    tolerance: float | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: str | Path | None = None,
    seed: int = 0,
    runs: int = _RUNS,
) -> Verification:
    """Runs two models, each ONNX or OpenVINO IR, on the same inputs and compares their outputs.

    Each is whatever `load` takes. The inputs are `runs` times seeded random values of the declared types and shapes;
    open dimensions get other sizes each time, unless `dims` gives them: by a symbol's name, or as "input:axis".
    `inputs` is an `.npz` file with arrays by input names to take instead, for one run. `tolerance` bounds the
    difference relative to the larger of 1 and the value; the default is 0 within one format, and 1e-4 between two,
    whose runtimes round differently.

    Raises `ModelError` where a runtime is missing or cannot run a file, or inputs and outputs do not go together.
    """
    with files_of("verify", first, second) as (one, other):
        return _verify((one, other), tolerance, dims, inputs, seed, runs)


def _verify(
    paths: tuple[Path, Path],
    tolerance: float | None,
    dims: Mapping[str, int] | None,
    inputs: str | Path | None,
    seed: int,
    runs: int,
) -> Verification:
    missing = missing_runtime(paths)
    if missing is not None:
        raise ModelError(missing)
    # Read by maxfold first: it says what is wrong with a file, and keeps the names of dimensions in IR.
    models = [load(path) for path in paths]
    runtimes = [open_runtime(path) for path in paths]
    if len(runtimes[0].inputs) != len(runtimes[1].inputs) and any(map(_keeps_states, models)):
        places = " and ".join(str(path) for path, model in zip(paths, models, strict=True) if _keeps_states(model))
        raise ModelError(
            f"{places} keeps states from one run to the next, which are inputs and outputs in ONNX; "
            "the two cannot be compared by running them"
        )
    chosen = tolerance
    if chosen is None:
        chosen = 0.0 if runtimes[0].label == runtimes[1].label else CROSS_TOLERANCE
    ports = [_with_symbols(*pair) for pair in zip(runtimes, models, strict=True)]
    comparison = _Comparison(paths, runtimes, ports, index_bounds(models[0]))
    feeds = comparison.given(inputs) if inputs is not None else comparison.drawn(dict(dims or {}), seed, runs)
    return comparison.run(feeds, 1 if inputs is not None else runs, None if inputs is not None else seed, chosen)


def _keeps_states(model: Model) -> bool:
    return any(node.op == "ReadValue" for node in model.graph.nodes)


def _with_symbols(runtime: Runtime, model: Model) -> list[Port]:
    """The inputs, with the symbols that maxfold keeps in IR for them."""
    shapes = shapes_of(model.net)
    ports = []
    for port in runtime.inputs:
        known = next((name for name in port.names if name in shapes.inputs), port.name)
        shape = shapes.input_shape(known, port.shape)
        ports.append(replace(port, shape=None if shape is None else tuple(shape)))
    return ports


def _given_names(port: Port) -> frozenset[str]:
    return frozenset(port.names[: port.given])


def _all_names(port: Port) -> frozenset[str]:
    return frozenset(port.names)


def _partner(
    port: Port, others: Sequence[Port], names: Callable[[Port], frozenset[str]], taken: Collection[int]
) -> int | None:
    """Which port that is not taken has a name of this one, the same first name if possible."""
    found = [place for place, other in enumerate(others) if place not in taken and names(port) & names(other)]
    return min(found, key=lambda place: port.name != others[place].name, default=None)


class _Run(NamedTuple):
    """What both models were fed, in the order of the first, and what they gave."""

    values: list[Array]
    expected: list[Any]
    actual: list[Any]


class _Comparison:
    def __init__(
        self,
        paths: Sequence[Path],
        runtimes: Sequence[Runtime],
        inputs: Sequence[list[Port]],
        indexed: Mapping[str, int],
    ) -> None:
        self._paths = paths
        self._runtimes = runtimes
        self._notes: list[str] = []
        # For each input (output) of the first model, which one of the second it is.
        self._inputs = self._pairs("inputs", *inputs)
        self._outputs = self._pairs("outputs", runtimes[0].outputs, runtimes[1].outputs)
        self._ports = merged(inputs[0], [inputs[1][place] for place in self._inputs])
        self._indexed = indexed
        self._is_drawn = False

    def _pairs(self, what: str, first: Sequence[Port], second: Sequence[Port]) -> list[int]:
        """Which of the second model's ports belongs to each of the first: by name, else by position."""
        if len(first) != len(second):
            counted = f"1 {what[:-1]}" if len(first) == 1 else f"{len(first)} {what}"
            raise ModelError(
                f"{self._paths[0]} has {counted}, and {self._paths[1]} has {len(second)}; they cannot be compared"
            )
        places: dict[int, int] = {}
        # A name that a runtime makes up never takes the place of one that the file gives.
        for names in (_given_names, _all_names):
            for index, port in enumerate(first):
                if index not in places and (place := _partner(port, second, names, places.values())) is not None:
                    places[index] = place
        left = [index for index in range(len(first)) if index not in places]
        if left:
            named = ", ".join(repr(first[index].name) for index in left)
            self._notes.append(f"{what} are taken by position: no name of {named} is in the second model")
        free = (place for place in range(len(second)) if place not in places.values())
        places.update(zip(left, list(free), strict=True))
        return [places[index] for index in range(len(first))]

    def given(self, path: str | Path) -> Iterator[list[Array]]:
        yield read_inputs(path, self._ports)

    def drawn(self, dims: Mapping[str, int], seed: int, runs: int) -> Iterator[list[Array]]:
        """Inputs to try: those that the first model cannot run are passed over."""
        check_dims(self._ports, dims)
        self._is_drawn = has_open_dims(self._ports, dims)
        sizes = SIZES if self._is_drawn else SIZES[:1]
        for index in range(runs * len(sizes)):
            random = np.random.default_rng((seed, index))
            # A mask that masks nothing does not tell whether it is read.
            is_padded = index % 2 == 1
            yield draw(self._ports, sizes[index % len(sizes)], dims, random, self._indexed, is_padded=is_padded)

    def run(self, feeds: Iterator[list[Array]], runs: int, seed: int | None, tolerance: float) -> Verification:
        first, second = self._runtimes
        done: list[_Run] = []
        empty: list[_Run] = []
        refused, failure, skipped = 0, "", ""
        for values in feeds:
            if refused >= len(SIZES) and not done:
                break
            try:
                expected = first.run(values)
            except RunError as error:
                refused, failure = refused + 1, failure or self._failure(0, error)
                continue
            try:
                actual = second.run(self._in_order(values))
            except SizeError as error:
                refused, failure = refused + 1, failure or self._failure(1, error)
                skipped = skipped or self._skipped(values, error)
                continue
            except RunError as error:
                kind = UnfitError if self._is_drawn else ModelError
                raise kind(self._failure(1, error)) from None
            # Of results without elements nothing can be told, and runtimes differ where they come from.
            is_empty = any(np.size(result) == 0 for result in (*expected, *actual))
            (empty if is_empty else done).append(_Run(values, expected, actual))
            if len(done) == runs:
                break
        done = done or empty[:runs]
        if not done:
            raise UnfitError(failure) if self._is_drawn else ModelError(failure)
        fed: list[FedInput] = []
        outputs: list[OutputComparison] = []
        for run, (values, expected, actual) in enumerate(done):
            for port, value in zip(self._ports, values, strict=True):
                fed.append(FedInput(port.name, str(port.dtype), value.shape, run))
            for index, place in enumerate(self._outputs):
                found = compare(first.outputs[index].name, expected[index], actual[place], run)
                outputs.append(found)
                if found.max_rel > tolerance and is_reordered(expected[index], actual[place], tolerance):
                    self._notes.append(
                        f"{found.name!r} has the same rows in another order: what is sorted by scores may tell apart "
                        "those that are next to equal"
                    )
        self._notes += [skipped] if skipped else []
        self._note_types()
        self._note_nan(outputs)
        return Verification(
            is_equal=all(output.is_bit_equal or output.max_rel <= tolerance for output in outputs),
            tolerance=tolerance,
            runs=len(done),
            seed=seed,
            runtimes=(first.label, second.label),
            inputs=tuple(fed),
            outputs=tuple(outputs),
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def _failure(self, place: int, error: RunError) -> str:
        return f"{self._paths[place]}: {self._runtimes[place].label} cannot run it: {error}"

    def _skipped(self, values: Sequence[Array], error: SizeError) -> str:
        """That the second model does not take the sizes of some inputs, which the first takes."""
        shapes = ", ".join(f"{port.name} {list(value.shape)}" for port, value in zip(self._ports, values, strict=True))
        return f"{self._runtimes[1].label} does not take {shapes}, which was passed over: {error}"

    def _in_order(self, values: Sequence[Array]) -> list[Array]:
        """Values of the first model's inputs in the order of the second's."""
        ordered = list(values)
        for value, place in zip(values, self._inputs, strict=True):
            ordered[place] = value
        return ordered

    def _note_types(self) -> None:
        first, second = self._runtimes
        if first.label == second.label:
            return
        ports = (*first.inputs, *first.outputs)
        narrowed = {
            _NARROWED[port.dtype.name] for port in ports if port.dtype is not None and port.dtype.name in _NARROWED
        }
        if narrowed:
            self._notes.append(f"{OPENVINO}'s CPU computes {' and '.join(sorted(narrowed))}")

    def _note_nan(self, outputs: Sequence[OutputComparison]) -> None:
        """Where one has a NaN and the other has not, and one of them is OpenVINO."""
        if self._runtimes[0].label == self._runtimes[1].label:
            return
        if any(output.mismatch.startswith("NaN") for output in outputs):
            self._notes.append(
                f"{OPENVINO}'s Maximum and Minimum give their second operand where the first is NaN, ONNX gives NaN"
            )


__all__ = ["OutputComparison", "Verification", "compare", "missing_runtime", "runtime_for", "verify"]
