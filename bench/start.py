"""`python -m bench start`: how long each command takes to say what it can do."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console

from bench import options
from bench.compare import environment, write_json
from bench.measure import run_process
from bench.peers import Bench
from bench.table import console, plain_table, print_header, ratio_text


@dataclass(slots=True)
class Start:
    """One command and its wall seconds."""

    name: str
    command: list[str]
    seconds: list[float] = field(default_factory=list)
    error: str = ""


def _commands(bench: Bench) -> list[Start]:
    """The `--help` of each installed command, after a bare interpreter for comparison."""
    # Not resolved: the scripts of a virtual environment stand beside its link to the interpreter.
    own, peers = Path(sys.executable).parent, Path(bench.peers_python).absolute().parent
    scripts = {
        "maxfold --help": own / "maxfold",
        "onnxslim --help": peers / "onnxslim",
        "onnxsim --help": peers / "onnxsim",
        "onnxoptimizer --help": peers / "onnxoptimizer",
    }
    commands = [
        Start("python -c pass", [sys.executable, "-c", "pass"]),
        Start("import onnx", [sys.executable, "-c", "import onnx"]),
    ]
    for name, script in scripts.items():
        if script.is_file():
            commands.append(Start(name, [str(script), "--help"]))
    return commands


def main(arguments: list[str]) -> int:
    """Times the commands in turn and prints the medians; the exit status."""
    parser = options.parser(" start", "Compares the start-up of the commands.", repeat=20)
    chosen = parser.parse_args(arguments)
    bench = options.selected(parser, chosen)
    about = environment(bench)
    commands = _commands(bench)
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, progress.status("starting") as status:
        for turn in range(-1, chosen.repeat):
            status.update(f"run {turn + 1} of {chosen.repeat}")
            for start in commands:
                if start.error:
                    continue
                seconds, _, error = run_process(start.command, Path(scratch), chosen.timeout_seconds)
                start.error = error or ""
                # The first round only fills the caches.
                if turn >= 0:
                    start.seconds.append(seconds)
    write_json(chosen.json, about, {"repeat": chosen.repeat}, commands)
    out = console()
    print_header(out, bench, about)
    table = plain_table("Start-up", "command", ["median s", "best s", "x import onnx"])
    base = median(commands[1].seconds) if commands[1].seconds else None
    for start in commands:
        if start.error or not start.seconds:
            table.add_row(start.name, "failed", "-", "-")
            continue
        middle = median(start.seconds)
        ratio = ratio_text(middle / base) if base else "-"
        table.add_row(start.name, f"{middle:.3f}", f"{min(start.seconds):.3f}", ratio)
    out.print(table)
    return 0
