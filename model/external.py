"""Tensors kept in files beside the model: finding them safely, and laying them out anew.

Source: the ONNX specification "External Data" (`TensorProto.external_data`).
"""

from __future__ import annotations

from pathlib import Path

import onnx

from maxfold.model.errors import ModelError
from maxfold.model.storage import FileSource, Region

# Tensors below this stay in the model file: a page of their own would cost more than it saves.
EXTERNAL_BYTES = 1024
# The entries that say where the data is. A checksum is that of the whole file.
PLACE_KEYS = ("location", "offset", "length")
_CHECKSUM = "checksum"
# Large tensors start where every platform can map a file (Windows maps at multiples of 64 KiB).
_LARGE_BYTES = 1 << 20
_LARGE_ALIGNMENT = 1 << 16
_SMALL_ALIGNMENT = 64
_MAX_OFFSET = 1 << 63


class ExternalFiles:
    """The external data files of one model, each opened once."""

    def __init__(self, model_path: Path | None) -> None:
        self._folder = None if model_path is None else model_path.parent
        self._files: dict[str, FileSource] = {}

    @property
    def is_used(self) -> bool:
        """Whether any tensor was found in a file of its own."""
        return bool(self._files)

    @property
    def nbytes(self) -> int:
        """The size of all files opened."""
        return sum(file.size for file in self._files.values())

    def region(self, tensor: onnx.TensorProto) -> Region:
        """Where a tensor's data is. Raises `ModelError` for a path or range that cannot be trusted."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        file = self._open(tensor.name, entries.get("location", ""))
        offset = _number(tensor.name, "offset", entries.get("offset", "0"))
        length = _number(tensor.name, "length", entries.get("length", str(max(file.size - offset, 0))))
        if offset + length > file.size:
            raise ModelError(
                f"tensor {tensor.name!r} needs bytes {offset} to {offset + length} of {file.name}, which has only "
                f"{file.size}; the data file is incomplete or belongs to another model"
            )
        return Region(file, offset, length)

    def _open(self, name: str, location: str) -> FileSource:
        file = self._files.get(location)
        if file is None:
            file = self._files[location] = FileSource(self._resolve(name, location))
        return file

    def _resolve(self, name: str, location: str) -> Path:
        where = f"tensor {name!r} has its data in {location!r}"
        if self._folder is None:
            raise ModelError(f"{where}, but the model was not read from a file; give its path")
        if not location or "\0" in location:
            raise ModelError(f"tensor {name!r} names no usable external data file; export the model again")
        parts = Path(location.replace("\\", "/"))
        if not parts.parts:
            raise ModelError(f"{where}, a directory; export the model again")
        if parts.is_absolute() or ":" in parts.parts[0]:
            raise ModelError(f"{where}, an absolute path; external data must lie beside the model")
        if ".." in parts.parts:
            raise ModelError(f"{where}, outside the model's directory; external data must lie beside the model")
        path = self._folder / location
        try:
            real, folder = path.resolve(), self._folder.resolve()
            exists = real.exists()
        except (OSError, RuntimeError) as error:
            raise ModelError(f"{where}, which cannot be resolved: {error}") from None
        if not real.is_relative_to(folder):
            raise ModelError(f"{where}, a link out of the model's directory; put the file itself beside the model")
        if not exists:
            raise ModelError(f"{where}, but there is no such file beside the model; put it there")
        return path


def _number(name: str, key: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ModelError(f"tensor {name!r} has the external data {key} {text[:40]!r}, not a number") from None
    if not 0 <= value < _MAX_OFFSET:
        raise ModelError(f"tensor {name!r} has the external data {key} {value}, out of range")
    return value


class ExternalLayout:
    """Where each tensor goes in a new external data file: aligned, in the order of the model."""

    def __init__(self, location: str, *, keep_checksums: bool = True) -> None:
        self.location = location
        self.has_checksums = False
        self._dropped_keys = PLACE_KEYS if keep_checksums else (*PLACE_KEYS, _CHECKSUM)
        self.nbytes = 0
        self.parts: list[tuple[int, Region | bytes]] = []

    def place(self, proto: onnx.TensorProto, data: Region | bytes) -> None:
        """Lays out the data and lets the tensor point to it; its other external entries stay."""
        nbytes = data.nbytes if isinstance(data, Region) else len(data)
        alignment = _LARGE_ALIGNMENT if nbytes >= _LARGE_BYTES else _SMALL_ALIGNMENT
        offset = -(-self.nbytes // alignment) * alignment
        self.parts.append((offset, data))
        self.nbytes = offset + nbytes
        kept = [(entry.key, entry.value) for entry in proto.external_data if entry.key not in self._dropped_keys]
        self.has_checksums = self.has_checksums or any(key == _CHECKSUM for key, _ in kept)
        del proto.external_data[:]
        proto.data_location = onnx.TensorProto.EXTERNAL
        for key, value in [("location", self.location), ("offset", str(offset)), ("length", str(nbytes)), *kept]:
            proto.external_data.add(key=key, value=value)

    def is_copy(self) -> bool:
        """Whether the new file has the same bytes as one that was read, so that checksums of that file still hold."""
        if not self.parts or not isinstance(self.parts[0][1], Region):
            return False
        source = self.parts[0][1].source
        return self.nbytes == source.size and all(
            isinstance(data, Region) and data.source is source and data.offset == offset for offset, data in self.parts
        )
