"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from maxfold.model import system
from maxfold.model.errors import ModelError
from maxfold.model.staging import Staged, remove, replace, sweep
from maxfold.model.storage import Region, write_all

Writer = Callable[[BinaryIO], None]

_RESERVED_BYTES = 1 << 24


def real_path(target: str | Path) -> Path:
    """The file that a path leads to, links followed. Raises `ModelError` for a path that cannot be one."""
    try:
        return Path(system.without_limit(os.path.realpath(target)))
    except (OSError, ValueError) as error:
        raise ModelError(f"{target}: is not a usable path: {error}") from None


def write_files(files: list[tuple[Path, Writer]], sizes: Sequence[int] = ()) -> int:
    """Writes all files before any of them takes the place of its target, in order.

    `sizes` are the bytes that each will have, where known: large files are then reserved at once. A target that is not
    a regular file (a device, a pipe) is written directly. Returns the bytes written.
    Raises `ModelError` where that fails; then no target has changed and nothing is left behind.
    """
    staged: list[Staged] = []
    nbytes = 0
    current = files[0][0]
    nbytes_of = {path: size for (path, _), size in zip(files, sizes, strict=False)}
    try:
        for current, write in files:
            real = real_path(current)
            if real.exists() and not real.is_file():
                nbytes += _write_directly(real, write)
                continue
            sweep(real)
            made = Staged(real)
            staged.append(made)
            with made.file as file:
                _reserve(file, nbytes_of.get(current, 0))
                write(file)
                nbytes += file.tell()
        _publish(staged)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ModelError(f"{current}: cannot be written: {reason}; nothing was changed") from None
    finally:
        for made in staged:
            made.close()
    return nbytes


def _reserve(file: BinaryIO, nbytes: int) -> None:
    """Asks for the space of a large file before it is written: faster, and a full disk shows at once."""
    if nbytes >= _RESERVED_BYTES:
        system.reserve(file.fileno(), nbytes)


def _publish(staged: list[Staged]) -> None:
    """Puts all or none in place: what a target was before is kept under a second name until all are done."""
    backups: list[tuple[Path, Path]] = []
    done: list[Path] = []
    try:
        for made in staged[:-1]:
            if made.target.exists():
                backup = made.name.with_suffix(".old")
                backups.append((backup, made.target))
                _back_up(made.target, backup)
        for made in staged:
            made.publish()
            done.append(made.target)
    except BaseException:
        for backup, real in backups:
            if backup.exists():
                replace(backup, real)
        for real in set(done) - {real for _, real in backups}:
            remove(real)
        raise
    finally:
        for backup, _ in backups:
            remove(backup)


def _back_up(real: Path, backup: Path) -> None:
    """A second name for a file; where the file system has none, the file is put aside for the moment."""
    try:
        system.second_name(real, backup)
    except OSError:
        replace(real, backup)


def parts_writer(parts: Sequence[tuple[int, Region | bytes]]) -> Writer:
    """A writer of data at given offsets, in ascending order; gaps are filled with zeros."""

    def write(file: BinaryIO) -> None:
        position = 0
        for offset, data in parts:
            write_all(file, b"\0" * (offset - position))
            if isinstance(data, Region):
                data.copy_to(file)
                position = offset + data.nbytes
            else:
                write_all(file, data)
                position = offset + len(data)

    return write


def write_stream(target: BinaryIO, write: Writer) -> None:
    """Writes to an open stream. Raises `ModelError` where that fails."""
    try:
        write(target)
        target.flush()
    except ValueError as error:
        raise ModelError(f"the output stream cannot be written: {error}") from None
    except BrokenPipeError:
        raise ModelError("standard output was closed before the model was written; nothing else was changed") from None
    except OSError as error:
        raise ModelError(f"the output stream cannot be written: {error.strerror or error}") from None


def _write_directly(target: Path, write: Writer) -> int:
    if target.is_dir():
        raise ModelError(f"{target}: is a directory; give the path of the file to write")
    with target.open("wb") as file:
        counter = _Counter(file)
        write(counter)  # type: ignore[arg-type]  # only what writers call is there
        return counter.nbytes


class _Counter:
    """A stream that counts; it has no descriptor, so that regions go through it too."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.nbytes = 0

    def write(self, data: bytes) -> int:
        self.nbytes += len(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()
