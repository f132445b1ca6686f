"""What the functions of the Python API take for a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import onnx
import onnx_graphsurgeon as gs

from maxfold.model import Model, ModelError, read_onnx
from maxfold.model.adopt import adopt, from_graphsurgeon


class GraphsurgeonGraph(Protocol):
    """An `onnx_graphsurgeon.Graph`, as far as type checkers are concerned: that package has no types."""

    nodes: Any
    inputs: Any
    outputs: Any
    opset: Any


class ExportedProgram(Protocol):
    """A `torch.onnx.ONNXProgram`, or anything else that has a `model_proto`."""

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model as a message."""


@runtime_checkable
class BinaryReader(Protocol):
    """A file that was opened for reading bytes."""

    def read(self) -> bytes:
        """All that is left of it."""


ModelPath: TypeAlias = "str | os.PathLike[str]"

ModelSource: TypeAlias = (
    "ModelPath | bytes | bytearray | memoryview | BinaryReader | onnx.ModelProto | GraphsurgeonGraph"
    " | ExportedProgram | Model"
)
"""What a model can be given as."""

ModelInPlace: TypeAlias = "onnx.ModelProto | GraphsurgeonGraph | Model"
"""What can be rewritten where it is."""

TAKEN = (
    "a path, bytes, a binary file, an onnx.ModelProto, an onnx_graphsurgeon.Graph, a torch.onnx.ONNXProgram "
    "or a maxfold.Model"
)


def model_of(function: str, source: ModelSource) -> Model:
    """The model that a function was given; a `Model` is itself. Raises `TypeError` for what is none."""
    if isinstance(source, Model):
        adopt(source)
        return source
    if isinstance(source, gs.Graph):
        return from_graphsurgeon(source)
    if isinstance(source, (onnx.ModelProto, bytes)):
        return read_onnx(source)
    if isinstance(source, (bytearray, memoryview)):
        return read_onnx(bytes(source))
    if isinstance(source, (str, os.PathLike)):
        return _of_path(Path(source))
    # An exported program makes its message anew each time.
    proto = getattr(source, "model_proto", None)
    if isinstance(proto, onnx.ModelProto):
        return read_onnx(proto)
    if isinstance(source, BinaryReader):
        return _of_file(function, source)
    raise TypeError(f"{function} takes {TAKEN}, not {type(source).__name__}")


def _of_path(path: Path) -> Model:
    if not is_openvino_path(path):
        return read_onnx(path)
    from maxfold.model import read_openvino

    return read_openvino(path)


def _of_file(function: str, file: BinaryReader) -> Model:
    data: object = file.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{function} takes {TAKEN}, not a file that gives {type(data).__name__}: open it in mode 'rb'")
    return read_onnx(bytes(data))


def is_openvino_path(path: ModelPath) -> bool:
    """Whether a path names an IR: by its suffix `.xml`."""
    return os.fspath(path).lower().endswith(".xml")


def names_of(names: str | Sequence[str], separator: str | None = ",") -> tuple[str, ...]:
    """Names that were given one by one, or as one text with commas between, as on the command line."""
    if not isinstance(names, str):
        return tuple(names)
    return tuple(part.strip() for part in names.split(separator) if part.strip()) if separator else (names,)


@contextmanager
def files_of(function: str, *sources: ModelSource) -> Iterator[list[Path]]:
    """The files of models, for what reads files only; those that are none yet are written for the time being.

    Messages of errors call these "model 1" and so on.
    """
    import tempfile

    # Where a file that is mapped cannot be removed, it is left.
    with tempfile.TemporaryDirectory(prefix="maxfold-", ignore_cleanup_errors=True) as folder:
        labels: dict[str, str] = {}
        paths = [
            Path(source)
            if isinstance(source, (str, os.PathLike))
            else _written(function, source, folder, place, labels)
            for place, source in enumerate(sources, 1)
        ]
        try:
            yield paths
        except ModelError as error:
            message = str(error)
            for path, label in labels.items():
                message = message.replace(path, label)
            if message == str(error):
                raise
            raise type(error)(message) from None


def _written(function: str, source: ModelSource, folder: str, place: int, labels: dict[str, str]) -> Path:
    from maxfold.optimizer.api import save

    model = model_of(function, source)
    path = Path(folder) / f"{place}{'.xml' if model.format == 'openvino' else '.onnx'}"
    labels[str(path)] = f"model {place}"
    save(model, path)
    return path
