"""Command line: `python -m bench MODELS_DIR`, `... runtime`, `... scale`, `... start`, `... random`,
`... node-tests`."""

from __future__ import annotations

import fnmatch
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from bench import node_tests, options, random, runtime, scale, start
from bench.compare import Comparison, environment, importable, write_json
from bench.standings import standings_table
from bench.table import console, print_header, print_results


def _compare(arguments: list[str]) -> int:
    parser = options.parser("", "Compares tools on a folder of models.", repeat=5)
    parser.add_argument("models", type=Path, metavar="MODELS_DIR", help="searched recursively for *.onnx")
    parser.epilog = "Other commands: `python -m bench runtime -h`, `scale -h`, `start -h`, `random -h`, `node-tests -h`"
    parser.add_argument("--only", metavar="GLOB", help="only models whose path in the folder matches")
    chosen = parser.parse_args(arguments)
    folder: Path = chosen.models.resolve()
    paths = {str(path.relative_to(folder).with_suffix("")): path for path in sorted(folder.rglob("*.onnx"))}
    if chosen.only:
        paths = {name: path for name, path in paths.items() if fnmatch.fnmatch(name, chosen.only)}
    if not paths:
        parser.error(f"no *.onnx in {folder}" + (f" matches {chosen.only}" if chosen.only else ""))
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
    if arguments[:1] == ["runtime"]:
        return runtime.main(arguments[1:])
    if arguments[:1] == ["scale"]:
        return scale.main(arguments[1:])
    if arguments[:1] == ["start"]:
        return start.main(arguments[1:])
    if arguments[:1] == ["random"]:
        return random.main(arguments[1:])
    if arguments[:1] == ["node-tests"]:
        return node_tests.main(arguments[1:])
    return _compare(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
