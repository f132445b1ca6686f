"""Command line: `python -m bench MODELS_DIR`, `... runtime`, `... conversion`, `... scale`, `... start`,
`... random`, `... node-tests`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench import conversion, node_tests, options, random, runtime, scale, start
from bench.compare import Comparison, environment, importable, write_json
from bench.standings import standings_table
from bench.table import console, print_header, print_results

_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "runtime": runtime.main,
    "conversion": conversion.main,
    "scale": scale.main,
    "start": start.main,
    "random": random.main,
    "node-tests": node_tests.main,
}


def _compare(arguments: list[str]) -> int:
    parser = options.parser("", "Compares tools on a folder of models.", repeat=5)
    parser.epilog = "Other commands: " + ", ".join(f"`python -m bench {name} -h`" for name in _COMMANDS)
    options.add_models(parser)
    chosen = parser.parse_args(arguments)
    paths = options.models(parser, chosen)
    progress = Console(stderr=True)
    with progress.status("importing the tools"):
        bench = importable(options.selected(parser, chosen))
    about = environment(bench)
    settings = {"repeat": chosen.repeat, "timeout_seconds": chosen.timeout_seconds, "only": chosen.only}
    results = []
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, progress.status("starting") as status:
        comparison = Comparison(
            bench,
            Path(scratch),
            repeat=chosen.repeat,
            timeout_seconds=chosen.timeout_seconds,
            progress=status.update,
        )
        for name, path in paths.items():
            results.append(comparison.model(name, path))
            write_json(chosen.json, about, settings, results)
    out = console()
    print_header(out, bench, about)
    print_results(out, results, bench.tools)
    standing = standings_table(results, bench.tools)
    if standing is not None:
        out.print(standing)
    return 0


def main(arguments: list[str]) -> int:
    """Runs the command that `arguments` name; the exit status."""
    command = _COMMANDS.get(arguments[0]) if arguments else None
    return _compare(arguments) if command is None else command(arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
