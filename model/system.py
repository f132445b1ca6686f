"""What not every operating system has, each with what is done where it is missing. No other module names it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from pathlib import Path, PureWindowsPath
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    fcntl = None

CLOSED_AND_BINARY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Windows takes longer paths only with this in front of them.
_UNLIMITED = "\\\\?\\"
_LONGEST_PATH = 240

_seeking = threading.Lock()


def has_locks() -> bool:
    """Whether files can be locked, renamed and removed while they are open: elsewhere they are closed before."""
    return fcntl is not None


def open_for_reading(path: Path) -> int:
    """A descriptor of a file; one of a pipe does not wait for its writer. Raises `OSError`, `ValueError`."""
    return os.open(path, os.O_RDONLY | CLOSED_AND_BINARY | getattr(os, "O_NONBLOCK", 0))


def read_at(descriptor: int, nbytes: int, offset: int) -> bytes:
    """At most so many bytes of a file from an offset on."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, nbytes, offset)
    with _seeking:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, nbytes)


def read_into(descriptor: int, buffer: memoryview, offset: int) -> int:
    """Reads a file from an offset on into a buffer; returns the number of bytes, 0 at the end of the file."""
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [buffer], offset)
    found = read_at(descriptor, len(buffer), offset)
    buffer[: len(found)] = found
    return len(found)


def copy_mode(target: Path, descriptor: int) -> None:
    """Gives an open file the permissions of another one, if that exists. Windows has none that matter here."""
    if hasattr(os, "fchmod"):
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode))


def reserve(descriptor: int, nbytes: int) -> None:
    """Asks for the space of a file, where that can be. Raises `OSError` where there is too little."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, nbytes)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise


def second_name(path: Path, name: Path) -> None:
    """Gives a file a second name. Raises `OSError` where that cannot be."""
    if not hasattr(os, "link"):
        raise OSError(errno.ENOSYS, "there are no links")
    os.link(path, name)


def open_unnamed(folder: Path, mode: int) -> int | None:
    """A new file without a name; None where the system or the file system has none such."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or fcntl is None or not hasattr(os, "link"):
        return None
    with contextlib.suppress(OSError):
        return os.open(folder, flag | os.O_RDWR | CLOSED_AND_BINARY, mode)
    return None


def give_name(descriptor: int, path: Path) -> None:
    """Gives a file without a name one that no file has yet. Raises `OSError`."""
    folder = os.open(path.parent, os.O_RDONLY | CLOSED_AND_BINARY)
    try:
        # With a directory's descriptor the system's linkat is called, which follows the link in /proc.
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def lock(descriptor: int) -> None:
    """Marks a file as in use for as long as a descriptor of it is open. Some file systems have no locks."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def remove_unlocked(path: Path) -> None:
    """Removes a regular file that no process has locked; where there are no locks, it stays. Raises `OSError`."""
    if fcntl is None:
        return
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_RDONLY | flags | CLOSED_AND_BINARY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)


def without_limit(path: str, is_windows: bool = os.name == "nt") -> str:
    """An absolute path in the form that may be longer than usual, where it needs one."""
    if not is_windows or len(path) < _LONGEST_PATH or path.startswith(_UNLIMITED):
        return path
    pure = PureWindowsPath(path)
    if path.startswith("\\\\"):
        return f"{_UNLIMITED}UNC\\{str(pure)[2:]}"
    return f"{_UNLIMITED}{pure}" if pure.is_absolute() else path
