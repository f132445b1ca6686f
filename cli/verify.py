"""`maxfold verify`: run two models on the same inputs and compare."""

from __future__ import annotations

import typer

from maxfold.cli import parameters as given
from maxfold.cli.errors import CommandError
from maxfold.cli.shell import DONE, NO, usage_error


def verify(
    first: given.First,
    second: given.Second,
    dim: given.CompareDim = None,
    inputs: given.FeedFile = None,
    seed: given.Seed = None,
    runs: given.Runs = None,
    tolerance: given.Tolerance = None,
    json: given.Json = None,
    quiet: given.Quiet = None,
    verbose: given.Verbose = None,
    version: given.Version = None,
) -> None:
    """Runs two models on the same inputs and compares their outputs.

    ONNX runs in ONNX Runtime, OpenVINO IR in OpenVINO, their optimizations off. Inputs and outputs go together by name,
    else by position. The exit status is 1 if an output differs by more than the tolerance.
    """
    from maxfold.cli.verifying import VerifyOptions, compare

    if quiet and verbose:
        raise CommandError("-q and -v contradict each other; choose one")
    for place in (first, second):
        if place in ("", "-"):
            raise usage_error("verify compares two files; give the paths of both", "verify")
    flags = {"dim": dim, "inputs": inputs, "seed": seed, "runs": runs, "tolerance": tolerance}
    options = VerifyOptions.of(flags)
    is_equal = compare(first, second, options, json=bool(json), quiet=bool(quiet), verbose=bool(verbose))
    raise typer.Exit(DONE if is_equal else NO)
