"""What only some operating systems have stands in one module, which says what is done without it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.contract.repository import FLOORS, PACKAGE, ROOT, imported_by, parsed, python_files

# Names of the standard library that are the same everywhere, of the modules that differ between systems.
EVERYWHERE = {
    "os": {
        "PathLike", "SEEK_CUR", "SEEK_SET", "_exit", "close", "devnull", "dup", "dup2", "environ", "fdopen", "fsdecode",
        "fsencode", "fspath", "fstat", "getcwd", "getpid", "kill", "lseek", "name", "open", "path", "read", "scandir",
        "sep", "urandom", "walk", "write", "cpu_count",
        "O_CREAT", "O_EXCL", "O_RDONLY", "O_RDWR", "O_WRONLY",
    },
    "signal": {"SIGINT", "SIGTERM", "SIG_DFL", "default_int_handler", "getsignal", "signal"},
}  # fmt: skip

# What only some systems have, where it may be used, with a fallback that `test_other_systems.py` runs.
SOMEWHERE = {
    "model/system.py": {
        "fcntl", "os.pread", "os.preadv", "os.fchmod", "os.posix_fallocate", "os.link",
    },
    "cli/pool.py": {"signal.pthread_sigmask", "signal.SIG_BLOCK", "signal.SIG_SETMASK", "signal.SIG_UNBLOCK"},
}  # fmt: skip

MODULES = {
    "crypt", "fcntl", "grp", "msvcrt", "nt", "posix", "pty", "pwd", "readline", "resource", "select", "syslog",
    "termios", "tty", "winreg", "_winapi",
}  # fmt: skip


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def platform_only(path: Path) -> set[str]:
    """What a file uses of modules and names that are not the same on every system."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        found |= {name for name in imported_by(node) if name.split(".")[0] in MODULES}
        if isinstance(node, ast.ImportFrom) and node.module in EVERYWHERE:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} - _known(node.module)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in EVERYWHERE:
            found |= {f"{node.value.id}.{node.attr}"} - _known(node.value.id)
    return found


def _known(module: str) -> set[str]:
    return {f"{module}.{name}" for name in EVERYWHERE[module]}


@pytest.mark.parametrize("path", python_files(*FLOORS, PACKAGE), ids=relative)
def test_platform_only_names_stand_where_their_fallback_is(path: Path) -> None:
    assert platform_only(path) <= SOMEWHERE.get(relative(path), set())


def test_every_name_on_the_list_is_used() -> None:
    for name, expected in SOMEWHERE.items():
        assert platform_only(ROOT / name) == expected
