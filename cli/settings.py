"""Settings files: `maxfold.toml`, or `[tool.maxfold]` in `pyproject.toml`.

They are looked for in the current directory and in those above it; the first one found is the only one read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from maxfold.cli.errors import CommandError

OWN_FILE, PROJECT_FILE = "maxfold.toml", "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of a settings file, by the long names of options; `path` is None where there is no file."""

    path: Path | None = None
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The file as messages name it, with the section where it has sections."""
        return f"{self.path}: [tool.maxfold]" if self.path and self.path.name == PROJECT_FILE else f"{self.path}:"


def find_settings(folder: Path | None = None) -> Settings:
    """The settings that hold in a directory (default: the current one).

    Raises `CommandError` for a file that cannot be read or is no TOML. A `pyproject.toml` that does not mention maxfold
    is passed over, whatever is wrong with it.
    """
    try:
        start = (folder or Path.cwd()).absolute()
    except OSError:
        return Settings()
    for place in (start, *start.parents):
        own = _read(place / OWN_FILE)
        if own is not None:
            return Settings(place / OWN_FILE, _spelled(own))
        section = _section(place / PROJECT_FILE)
        if section is not None:
            return Settings(place / PROJECT_FILE, _spelled(section))
    return Settings()


def _section(path: Path) -> Mapping[str, object] | None:
    content = _read(path, required=b"maxfold")
    tool = None if content is None else content.get("tool")
    section = tool.get("maxfold") if isinstance(tool, Mapping) else None
    if section is not None and not isinstance(section, Mapping):
        raise CommandError(f"{path}: tool.maxfold must be a table; write its keys below [tool.maxfold]")
    return section


def _read(path: Path, required: bytes = b"") -> Mapping[str, object] | None:
    """The parsed file; None where there is none, or where it does not have the required bytes in it."""
    try:
        if not path.is_file():
            return None
        data = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror}; check its permissions") from None
    if required not in data:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CommandError(f"{path}: is not valid TOML: {error}; correct it") from None


def _spelled(values: Mapping[str, object]) -> Mapping[str, object]:
    """Keys as the command line spells them: hyphens for underscores."""
    return {key.replace("_", "-"): value for key, value in values.items()}
