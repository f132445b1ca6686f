"""Optimizes one file from Python and prints what was done: `python python_api.py INPUT.onnx OUTPUT.onnx`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import maxfold


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("usage: python_api.py INPUT.onnx OUTPUT.onnx", file=sys.stderr)
        return 2
    source, target = arguments
    try:
        model = maxfold.load(source)
        report = maxfold.optimize(model)
        written = maxfold.save(model, target)
    except maxfold.ModelError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{report.nodes_before} -> {report.nodes_after} nodes")
    print(f"{report.constants_before} -> {report.constants_after} constants")
    for entry in report.passes:
        print(f"  {entry.name}: {entry.changes} changes")
    for decline in report.declines:
        print(f"  left alone: {decline.operator} {decline.node!r}: {decline.reason} ({decline.rule})")
    print(f"{target}: {written:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
