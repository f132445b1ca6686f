"""What the contract tests know about the repository they stand in."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]

FLOORS = ("model", "passes", "optimizer", "cli")
"""The four folders, lowest floor first."""

PACKAGE = "package"
"""The folder of what `import maxfold` itself is: names that stand for those of the floors."""


def python_files(*folders: str) -> list[Path]:
    """Every .py file below the named folders of the repository, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def pyproject() -> dict[str, Any]:
    """The parsed pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def imported_modules(path: Path) -> list[str]:
    """Full names of all modules that a file imports, at any depth of nesting.

    `from a.b import c` gives "a.b.c", since c may be a module.
    """
    return [name for node in ast.walk(parsed(path)) for name in imported_by(node)]


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported_by(node: ast.AST) -> list[str]:
    """The names that one node of a syntax tree imports, as in `imported_modules`; none if it is no import."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        prefix = "." * node.level + (node.module or "")
        return [f"{prefix}.{alias.name}" for alias in node.names]
    return []


@dataclass(frozen=True)
class Block:
    """One fenced block of a Markdown file; `mark` is the `<!-- mark -->` comment on the line before it."""

    mark: str
    language: str
    text: str


_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def fenced_blocks(path: Path) -> list[Block]:
    """The fenced blocks of a Markdown file, in order."""
    return [
        Block(found["mark"] or "", found["language"], found["text"])
        for found in _BLOCK.finditer(path.read_text(encoding="utf-8"))
    ]


def documentation() -> str:
    """The text of README.md and of all files in docs/, joined."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)
