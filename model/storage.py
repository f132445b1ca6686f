"""Bytes that stay where they are: files opened for reading, and regions of them.

A region is viewed through a memory map, or copied from file to file in small pieces; it is never read into memory as a
whole unless somebody asks for its values.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, ClassVar
from weakref import WeakSet

from maxfold.model import system
from maxfold.model.errors import ModelError
from maxfold.model.records import frequent_value

# What is at most so large is read, not mapped.
CHUNK_BYTES = 1 << 18
# Copies of this size stay in the processor's cache: faster than copy_file_range and sendfile (measured on ext4).
_COPY_BYTES = 1 << 17


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

    def fetch(self, offset: int, nbytes: int) -> bytes | memoryview:
        """A range, not through the map of a file: pages that are mapped stay in memory."""
        return self.read(offset, nbytes)

    def sample(self, offset: int, nbytes: int) -> bytes:
        """A few bytes, to compare them."""
        return self.read(offset, nbytes)

    def copy_to(self, offset: int, nbytes: int, target: BinaryIO) -> None:
        """Writes a range to a file object."""
        write_all(target, self.view(offset, nbytes))


class ComputedSource(Source):
    """Bytes that are computed a piece at a time when somebody asks for them; the last piece alone is kept.

    `compute(index)` gives the bytes from `index * piece_nbytes` on, the same each time. So new weights take memory one
    at a time, or a piece of one. `depth` counts the sources of this kind that it is computed from, one from another.
    """

    _last: ClassVar[tuple[ComputedSource, int, memoryview] | None] = None

    def __init__(self, nbytes: int, piece_nbytes: int, compute: Callable[[int], memoryview], depth: int = 1) -> None:
        self.name = "<computed>"
        self.size = nbytes
        self.depth = depth
        self._piece_nbytes = max(1, piece_nbytes)
        self._compute = compute
        self._samples: dict[tuple[int, int], bytes] = {}
        self._digest: bytes | None = None

    def view(self, offset: int, nbytes: int) -> memoryview:
        first, start = divmod(offset, self._piece_nbytes)
        if start + nbytes <= self._piece_nbytes:
            return self._piece(first)[start : start + nbytes]
        found = memoryview(bytearray(nbytes))
        done = 0
        while done < nbytes:
            part = self._piece(first)[start : start + nbytes - done]
            found[done : done + len(part)] = part
            done += len(part)
            first, start = first + 1, 0
        return found.toreadonly()

    def copy_to(self, offset: int, nbytes: int, target: BinaryIO) -> None:
        write = _writer(target)
        while nbytes:
            index, start = divmod(offset, self._piece_nbytes)
            taken = min(nbytes, self._piece_nbytes - start)
            write(self._piece(index)[start : start + taken])
            offset, nbytes = offset + taken, nbytes - taken
        ComputedSource._last = None

    def fetch(self, offset: int, nbytes: int) -> bytes | memoryview:
        return self.view(offset, nbytes)

    def sample(self, offset: int, nbytes: int) -> bytes:
        """A few bytes, which are kept: they are compared again and again."""
        found = self._samples.get((offset, nbytes))
        if found is None:
            found = self._samples[offset, nbytes] = self.read(offset, nbytes)
        return found

    def digest(self) -> bytes:
        """What two sources are compared by without both of them being computed at once: computed once."""
        if self._digest is None:
            self._digest = digest_of(self._pieces())
        return self._digest

    def _pieces(self) -> Iterator[memoryview]:
        for index in range(-(-self.size // self._piece_nbytes)):
            yield self._piece(index)

    def _piece(self, index: int) -> memoryview:
        last = ComputedSource._last
        if last is None or last[0] is not self or last[1] != index:
            # The one before goes first.
            ComputedSource._last = last = None
            last = ComputedSource._last = (self, index, self._compute(index).toreadonly())
        return last[2]


def digest_of(parts: Iterable[bytes | memoryview]) -> bytes:
    """A digest of bytes that come in parts: equal only for equal bytes."""
    from hashlib import blake2b

    digest = blake2b()
    for part in parts:
        digest.update(part)
    return digest.digest()


class FileSource(Source):
    """A regular file, opened once and mapped when first viewed.

    Raises `ModelError` where the path cannot be opened or is not a regular file.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        try:
            self._fd = system.open_for_reading(Path(system.without_limit(str(path))))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ModelError(f"{path}: cannot be read: {reason}; give the path of a model file") from None
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise ModelError(f"{path}: is {kind}; give the path of a model file")
        self.size = status.st_size
        self._map: memoryview | None = None
        self._is_kept_elsewhere = False
        _open_files.add(self)

    def __del__(self) -> None:
        descriptor = getattr(self, "_fd", None)
        if descriptor is not None:
            os.close(descriptor)

    def view(self, offset: int, nbytes: int) -> memoryview:
        if self._map is None:
            if not self.size:
                return memoryview(b"")
            self._map = memoryview(mmap.mmap(self._fd, self.size, access=mmap.ACCESS_READ))
        return self._map[offset : offset + nbytes]

    def read(self, offset: int, nbytes: int) -> bytes:
        return system.read_at(self._fd, nbytes, offset)

    def copy_to(self, offset: int, nbytes: int, target: BinaryIO) -> None:
        buffer = memoryview(bytearray(min(_COPY_BYTES, nbytes)))
        write = _writer(target)
        while nbytes:
            taken = system.read_into(self._fd, buffer[: min(nbytes, _COPY_BYTES)], offset)
            if not taken:
                raise ModelError(f"{self.name}: became shorter while it was read; run again")
            write(buffer[:taken])
            offset, nbytes = offset + taken, nbytes - taken

    def keep_elsewhere(self, path: Path) -> bool:
        """Copies the contents into a temporary file if this is the file at a path, and lets go of that; whether it did.

        Raises `PermissionError` where somebody still looks at the mapped file.
        """
        if self._is_kept_elsewhere or not os.path.samestat(os.fstat(self._fd), path.stat()):
            return False
        self._unmap()
        import tempfile

        with tempfile.TemporaryFile() as copy:
            self.copy_to(0, self.size, copy)
            copy.flush()
            os.close(self._fd)
            self._fd = os.dup(copy.fileno())
        self._is_kept_elsewhere = True
        return True

    def _unmap(self) -> None:
        if self._map is None:
            return
        mapped = self._map.obj
        assert isinstance(mapped, mmap.mmap)
        self._map.release()
        self._map = None
        try:
            mapped.close()
        except BufferError:
            self._map = memoryview(mapped)
            raise PermissionError(errno.EACCES, "its contents are still in use; write to another path") from None


_open_files: WeakSet[FileSource] = WeakSet()


def release(path: Path) -> bool:
    """Lets go of a file that is to be replaced: what reads it keeps a copy. Whether anything did. Raises `OSError`."""
    released = [file.keep_elsewhere(path) for file in list(_open_files) if path.exists()]
    return any(released)


def _writer(target: BinaryIO) -> Callable[[memoryview], None]:
    """What writes to a file object: past its buffer where it has a descriptor, since the data is large."""
    descriptor = _descriptor(target)
    if descriptor is None:
        return lambda data: write_all(target, data)
    target.flush()

    def write(data: memoryview) -> None:
        while data:
            data = data[os.write(descriptor, data) :]

    return write


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


@frequent_value
class Region:
    """A range of bytes of a source."""

    source: Source
    offset: int
    nbytes: int

    def view(self) -> memoryview:
        """The bytes, read-only: mapped, or read where there are few, since a page that is mapped may bring its whole
        neighbourhood into the process."""
        if self.nbytes <= CHUNK_BYTES:
            return memoryview(self.source.read(self.offset, self.nbytes))
        return self.source.view(self.offset, self.nbytes)

    def copy_to(self, target: BinaryIO) -> None:
        """Writes the bytes to a file object, in pieces."""
        self.source.copy_to(self.offset, self.nbytes, target)

    def chunks(self) -> Iterator[bytes]:
        """The bytes in pieces that are read, not mapped, so that they do not add to the process's memory."""
        for start in range(0, self.nbytes, CHUNK_BYTES):
            yield self.source.read(self.offset + start, min(CHUNK_BYTES, self.nbytes - start))

    def digest(self) -> bytes:
        """A digest of the bytes; that of a computed source is computed once."""
        if isinstance(self.source, ComputedSource) and (self.offset, self.nbytes) == (0, self.source.size):
            return self.source.digest()
        return digest_of(self.chunks())

    def sample(self, nbytes: int) -> bytes:
        """The first, middle and last `nbytes` bytes: cheap to compare before comparing everything."""
        if self.nbytes <= 3 * nbytes:
            return self.source.sample(self.offset, self.nbytes)
        starts = (0, (self.nbytes - nbytes) // 2, self.nbytes - nbytes)
        return b"".join(self.source.sample(self.offset + start, nbytes) for start in starts)
