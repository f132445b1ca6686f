"""New contents of a file, which nobody sees before they are whole.

Where the system can, they have no name until then, so that a process that is killed leaves nothing behind. Elsewhere
they stand beside their target under a hidden name, which the next write to that target removes.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from maxfold.model import system
from maxfold.model.storage import release

_NAME_BYTES = 100
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
            system.copy_mode(target, self._descriptor)
            # Not "wb": ext4 writes a file to disk at once when it is closed after being cut to nothing.
            self.file = os.fdopen(os.dup(self._descriptor), "r+b")
        except BaseException:
            self._discard()
            raise

    def publish(self) -> None:
        """Puts the contents, which are complete, in the place of the target."""
        if not self._has_name:
            # A link replaces no file that is there.
            system.give_name(self._descriptor, self.name)
            self._has_name = True
        if not system.has_locks():
            self._close()
        replace(self.name, self.target)
        self._has_name = False

    def close(self) -> None:
        """Lets go of what has not been published."""
        with contextlib.suppress(OSError):
            self.file.close()
        self._discard()

    def _discard(self) -> None:
        if not system.has_locks():
            self._close()
        if self._has_name:
            remove(self.name)
            self._has_name = False
        self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def replace(path: Path, target: Path) -> None:
    """Gives a file the name of another one, which goes, or a new name. Raises `OSError`.

    Some systems refuse that while this process reads one of them: its contents are then kept elsewhere.
    """
    try:
        path.replace(target)
    except PermissionError:
        released = [release(path), release(target)]
        if not any(released):
            raise
        path.replace(target)


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
            with contextlib.suppress(OSError):
                system.remove_unlocked(path)
        elif target.exists() and _age_seconds(path) > _BACKUP_SECONDS:
            remove(path)


def _prefix(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:_NAME_BYTES])}."


def _open(name: Path) -> tuple[int, bool]:
    """A new file in the directory of a name, and whether it has that name; no other process sweeps it."""
    descriptor = _open_unnamed(name)
    has_name = descriptor is None
    while descriptor is None:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | system.CLOSED_AND_BINARY, 0o666)
        system.lock(descriptor)
        if not os.fstat(descriptor).st_nlink:
            # It was swept before it was locked.
            os.close(descriptor)
            descriptor = None
    return descriptor, has_name


def _open_unnamed(name: Path) -> int | None:
    """A new file without a name that can be given this one; None where the system or the file system has none such."""
    if not _can_link(name):
        return None
    descriptor = system.open_unnamed(name.parent, 0o666)
    if descriptor is not None:
        system.lock(descriptor)
    return descriptor


def _can_link(name: Path) -> bool:
    """Tries with an empty file: a large one that then gets no name would have been written in vain."""
    descriptor = system.open_unnamed(name.parent, 0o600)
    if descriptor is None:
        return False
    try:
        system.give_name(descriptor, name)
        name.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _age_seconds(path: Path) -> float:
    """Seconds since a file got its name."""
    try:
        return time.time() - path.stat().st_ctime
    except OSError:
        return 0.0
