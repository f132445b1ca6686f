"""Bytes that stay where they are: files opened for reading, and regions of them.

A region is viewed through a memory map, or copied from file to file by the kernel; it is never read into
memory as a whole unless somebody asks for its values.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from maxfold.model.errors import ModelError

CHUNK_BYTES = 1 << 20

# What copy_file_range and sendfile answer where the two files cannot be copied inside the kernel.
_CANNOT_COPY_IN_KERNEL = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}


class Source:
    """Bytes of known size that can be viewed without copying."""

    def __init__(self, data: bytes, name: str = "<bytes>") -> None:
        self.name = name
        self.size = len(data)
        self._view = memoryview(data)

    def view(self, offset: int, nbytes: int) -> memoryview:
        """A read-only view of a range; the caller has checked that it lies inside."""
        return self._view[offset : offset + nbytes]

    def read(self, offset: int, nbytes: int) -> bytes:
        """A copy of a range."""
        return bytes(self.view(offset, nbytes))

    def copy_to(self, offset: int, nbytes: int, target: BinaryIO) -> None:
        """Writes a range to a file object."""
        write_all(target, self.view(offset, nbytes))


class FileSource(Source):
    """A regular file, opened once and mapped when first viewed.

    Raises `ModelError` where the path cannot be opened or is not a regular file.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        try:
            self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ModelError(f"{path}: cannot be read: {reason}; give the path of a model file") from None
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise ModelError(f"{path}: is {kind}; give the path of a model file")
        self.size = status.st_size
        self._map: memoryview | None = None

    def __del__(self) -> None:
        descriptor = getattr(self, "_fd", None)
        if descriptor is not None:
            os.close(descriptor)

    def view(self, offset: int, nbytes: int) -> memoryview:
        if self._map is None:
            self._map = memoryview(mmap.mmap(self._fd, self.size, access=mmap.ACCESS_READ) if self.size else b"")
        return self._map[offset : offset + nbytes]

    def read(self, offset: int, nbytes: int) -> bytes:
        return os.pread(self._fd, nbytes, offset)

    def copy_to(self, offset: int, nbytes: int, target: BinaryIO) -> None:
        descriptor = _descriptor(target)
        if descriptor is not None:
            target.flush()
            copied = _copy_in_kernel(self._fd, offset, nbytes, descriptor)
            offset, nbytes = offset + copied, nbytes - copied
        while nbytes:
            chunk = os.pread(self._fd, min(nbytes, CHUNK_BYTES), offset)
            if not chunk:
                raise ModelError(f"{self.name}: became shorter while it was read; run again")
            write_all(target, chunk)
            offset, nbytes = offset + len(chunk), nbytes - len(chunk)


def write_all(target: BinaryIO, data: bytes | memoryview) -> None:
    """Writes all of the data; a raw stream may take less than it is offered."""
    left = memoryview(data)
    while len(left):
        # Streams of other libraries return None for "everything".
        written: int | None = target.write(left)
        left = left[len(left) if written is None else written :]


def _descriptor(target: BinaryIO) -> int | None:
    try:
        return target.fileno()
    except (OSError, AttributeError):
        return None


def _copy_in_kernel(source: int, offset: int, nbytes: int, target: int) -> int:
    """Copies as much as the kernel can by itself; returns how many bytes that were."""
    if not hasattr(os, "copy_file_range"):
        return 0
    copied = 0
    while copied < nbytes:
        try:
            step = os.copy_file_range(source, target, nbytes - copied, offset + copied)
        except OSError as error:
            if error.errno in _CANNOT_COPY_IN_KERNEL:
                return copied
            raise
        if step == 0:
            return copied
        copied += step
    return copied


@dataclass(frozen=True, slots=True)
class Region:
    """A range of bytes of a source."""

    source: Source
    offset: int
    nbytes: int

    def view(self) -> memoryview:
        """The bytes, not copied."""
        return self.source.view(self.offset, self.nbytes)

    def copy_to(self, target: BinaryIO) -> None:
        """Writes the bytes to a file object, inside the kernel where that is possible."""
        self.source.copy_to(self.offset, self.nbytes, target)

    def chunks(self) -> Iterator[bytes]:
        """The bytes in pieces that are read, not mapped, so that they do not add to the process's memory."""
        for start in range(0, self.nbytes, CHUNK_BYTES):
            yield self.source.read(self.offset + start, min(CHUNK_BYTES, self.nbytes - start))

    def sample(self, nbytes: int) -> bytes:
        """The first, middle and last `nbytes` bytes: cheap to compare before comparing everything."""
        if self.nbytes <= 3 * nbytes:
            return self.source.read(self.offset, self.nbytes)
        starts = (0, (self.nbytes - nbytes) // 2, self.nbytes - nbytes)
        return b"".join(self.source.read(self.offset + start, nbytes) for start in starts)
