"""Command-line options that the commands share."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from pathlib import Path

from bench.peers import Bench, select


def names(text: str) -> list[str]:
    """Splits "a,b" into its names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parser(command: str, description: str, *, repeat: int) -> argparse.ArgumentParser:
    """A parser with the shared options; `repeat` is the default number of runs."""
    made = argparse.ArgumentParser(prog=f"python -m bench{command}", description=description)
    made.add_argument("--tools", type=names, metavar="A,B", help="only these tools (and load+save)")
    made.add_argument("--repeat", type=int, default=repeat, metavar="N", help="runs a tool (default %(default)s)")
    made.add_argument("--timeout-seconds", type=float, default=600.0, metavar="S", help="limit of one run")
    made.add_argument(
        "--peers-python",
        default=sys.executable,
        metavar="PATH",
        help="interpreter that has the peers installed",
    )
    made.add_argument(
        "--json", type=Path, default=Path("bench-results.json"), metavar="FILE", help="default %(default)s"
    )
    return made


def selected(made: argparse.ArgumentParser, options: argparse.Namespace) -> Bench:
    """The tools that the options name; ends with a usage error for an unknown tool or interpreter."""
    try:
        return select(options.tools, options.peers_python)
    except (ValueError, OSError) as error:
        made.error(str(error))


def add_models(made: argparse.ArgumentParser) -> None:
    """The folder of models, and which of them."""
    made.add_argument("models", type=Path, metavar="MODELS_DIR", help="searched recursively for *.onnx")
    made.add_argument("--only", metavar="GLOB", help="only models whose path in the folder matches")


def models(made: argparse.ArgumentParser, options: argparse.Namespace) -> dict[str, Path]:
    """Paths of the models that the options name, by what the tables call them; ends with a usage error for none."""
    folder: Path = options.models.resolve()
    paths = {str(path.relative_to(folder).with_suffix("")): path for path in sorted(folder.rglob("*.onnx"))}
    chosen = {name: path for name, path in paths.items() if fnmatch.fnmatch(name, options.only or "*")}
    if not chosen:
        made.error(f"no *.onnx in {folder}" + (f" matches {options.only}" if options.only else ""))
    return chosen
