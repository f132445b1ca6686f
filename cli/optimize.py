"""`maxfold optimize`: rewrite models within one format."""

from __future__ import annotations

import typer

from maxfold.cli import parameters as given


def optimize(
    inputs: given.Inputs,
    output: given.Output = None,
    in_place: given.InPlace = None,
    out_dir: given.OutDir = None,
    check: given.Check = None,
    dry_run: given.DryRun = None,
    verify: given.Verify = None,
    verify_dim: given.VerifyDim = None,
    dim: given.Dim = None,
    input_shape: given.InputShape = None,
    fold_quantized: given.FoldQuantized = None,
    inline_functions: given.InlineFunctions = None,
    expand: given.Expand = None,
    external_data: given.ExternalData = None,
    jobs: given.Jobs = None,
    from_format: given.FromFormat = None,
    to_format: given.ToFormat = None,
    passes: given.Passes = None,
    skip: given.Skip = None,
    math: given.MathMode = None,
    target: given.TargetRuntime = None,
    max_growth: given.MaxGrowth = None,
    keep: given.Keep = None,
    opset: given.Opset = None,
    explain: given.Explain = None,
    hints: given.Hints = None,
    report: given.ReportFile = None,
    json: given.Json = None,
    quiet: given.Quiet = None,
    verbose: given.Verbose = None,
    version: given.Version = None,
) -> None:
    """Makes models smaller without changing what they compute.

    The result goes to -o OUTPUT, over the input (--in-place), into a directory (--out-dir) or nowhere (--check,
    --dry-run). Options can also stand in maxfold.toml, or in pyproject.toml under [tool.maxfold]; a flag wins, and each
    switch has a --no- form for that.
    """
    from maxfold.cli.endpoints import plan, with_folder
    from maxfold.cli.options import resolve
    from maxfold.cli.reporting import run
    from maxfold.cli.settings import find_settings

    flags = {
        "output": output, "in-place": in_place, "out-dir": out_dir, "check": check, "dry-run": dry_run,
        "verify": verify, "dim": dim, "input-shape": input_shape,
        "verify-dim": verify_dim, "fold-quantized": fold_quantized, "inline-functions": inline_functions,
        "expand": expand,
        "external-data": external_data, "jobs": jobs, "from": from_format,
        "to": to_format, "passes": passes, "skip": skip, "math": math, "target": target,
        "max-growth": max_growth, "keep": keep,
        "opset": opset, "explain": explain, "hints": hints,
        "report": report, "json": json, "quiet": quiet, "verbose": verbose,
    }  # fmt: skip
    options = resolve(flags, find_settings())
    options = with_folder(options)
    raise typer.Exit(run(plan(inputs, options), options))
