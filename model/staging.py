"""New contents of a file, which nobody sees before they are whole.

Where the system can, they have no name until then, so that a process that is killed leaves nothing behind. Elsewhere
they stand beside their target under a hidden name, which the next write to that target removes.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_NAME_BYTES = 100
_CLOSED = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# The second name of what a target was before exists for an instant only.
_BACKUP_SECONDS = 60.0


class Staged:
    """The contents that `target` gets: written to `file`, put in place by `publish`, and closed in any case.

    Raises `OSError` where there can be no file beside the target.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.name = target.with_name(f"{_prefix(target)}{os.urandom(4).hex()}.part")
        self._descriptor, self._has_name = _open(self.name)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(self._descriptor, stat.S_IMODE(target.stat().st_mode))
            # Not "wb": ext4 writes a file to disk at once when it is closed after being cut to nothing.
            self.file = os.fdopen(os.dup(self._descriptor), "r+b")
        except BaseException:
            self._discard()
            raise

    def publish(self) -> None:
        """Puts the contents, which are complete, in the place of the target."""
        if not self._has_name:
            # A link replaces no file that is there.
            _link(self._descriptor, self.name)
            self._has_name = True
        self.name.replace(self.target)
        self._has_name = False

    def close(self) -> None:
        """Lets go of what has not been published."""
        with contextlib.suppress(OSError):
            self.file.close()
        self._discard()

    def _discard(self) -> None:
        if self._descriptor < 0:
            return
        if self._has_name:
            remove(self.name)
        os.close(self._descriptor)
        self._descriptor = -1


def remove(path: Path) -> None:
    """Removes a file where that can be."""
    with contextlib.suppress(OSError):
        path.unlink()


def sweep(target: Path) -> None:
    """Removes what processes that were killed have left of their writes to a target."""
    pattern = re.compile(re.escape(_prefix(target)) + r"[a-z0-9_]{8}\.(part|old)")
    try:
        with os.scandir(target.parent) as entries:
            found = [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name)]
    except OSError:
        return
    for path in found:
        if path.suffix == ".part":
            _remove_unlocked(path)
        elif target.exists() and _age_seconds(path) > _BACKUP_SECONDS:
            remove(path)


def _prefix(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:_NAME_BYTES])}."


def _open(name: Path) -> tuple[int, bool]:
    """A new file in the directory of a name, and whether it has that name; no other process sweeps it."""
    descriptor = _open_unnamed(name)
    has_name = descriptor is None
    while descriptor is None:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOSED, 0o666)
        _lock(descriptor)
        if not os.fstat(descriptor).st_nlink:
            # It was swept before it was locked.
            os.close(descriptor)
            descriptor = None
    return descriptor, has_name


def _open_unnamed(name: Path) -> int | None:
    """A new file without a name that can be given this one; None where the system or the file system has none such."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not _can_link(name, flag):
        return None
    descriptor = os.open(name.parent, flag | os.O_RDWR | _CLOSED, 0o666)
    _lock(descriptor)
    return descriptor


def _can_link(name: Path, flag: int) -> bool:
    """Tries with an empty file: a large one that then gets no name would have been written in vain."""
    try:
        descriptor = os.open(name.parent, flag | os.O_RDWR | _CLOSED, 0o600)
    except OSError:
        return False
    try:
        _link(descriptor, name)
        name.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _link(descriptor: int, path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | _CLOSED)
    try:
        # With a directory's descriptor the system's linkat is called, which follows the link in /proc.
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _lock(descriptor: int) -> None:
    """Marks a file as in use for as long as a descriptor of it is open. Some file systems have no locks."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def _remove_unlocked(path: Path) -> None:
    """Removes a file that no process is writing; on Windows, which has no such locks, leftovers stay."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | _CLOSED)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)


def _age_seconds(path: Path) -> float:
    """Seconds since a file got its name."""
    try:
        return time.time() - path.stat().st_ctime
    except OSError:
        return 0.0
