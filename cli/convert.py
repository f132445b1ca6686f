"""`maxfold convert`: from one format to the other."""

from __future__ import annotations

import typer

from maxfold.cli import parameters as given


def convert(
    inputs: given.Inputs,
    output: given.ConvertOutput = None,
    out_dir: given.ConvertOutDir = None,
    dry_run: given.DryRun = None,
    verify: given.Verify = None,
    verify_dim: given.VerifyDim = None,
    dim: given.Dim = None,
    input_shape: given.InputShape = None,
    external_data: given.ExternalData = None,
    jobs: given.Jobs = None,
    from_format: given.ConvertFrom = None,
    to_format: given.ConvertTo = None,
    opset: given.ConvertOpset = None,
    ir_version: given.IrVersion = None,
    fake_quantize: given.FakeQuantize = None,
    outputs: given.ConvertOutputs = None,
    layout: given.Layout = None,
    compress_to_fp16: given.CompressToFp16 = None,
    optimize: given.Optimize = None,
    explain: given.Explain = None,
    report: given.ReportFile = None,
    json: given.Json = None,
    quiet: given.Quiet = None,
    verbose: given.Verbose = None,
    version: given.Version = None,
) -> None:
    """Converts models between ONNX and OpenVINO IR.

    A path that ends in .xml is an IR, with its weights in the .bin file beside it; all others are ONNX. What cannot be
    converted is listed by operator, and nothing is written then. 'maxfold ops' shows what can.
    """
    from maxfold.cli.endpoints import plan, with_folder
    from maxfold.cli.options import resolve_convert
    from maxfold.cli.reporting import run

    flags = {
        "output": output, "out-dir": out_dir, "dry-run": dry_run, "verify": verify, "dim": dim,
        "input-shape": input_shape, "verify-dim": verify_dim,
        "external-data": external_data, "jobs": jobs, "from": from_format, "to": to_format, "opset": opset,
        "ir-version": ir_version, "fake-quantize": fake_quantize, "outputs": outputs, "layout": layout,
        "compress-to-fp16": compress_to_fp16,
        "optimize": optimize, "explain": explain, "report": report, "json": json,
        "quiet": quiet, "verbose": verbose,
    }  # fmt: skip
    options = resolve_convert(flags)
    options = with_folder(options)
    raise typer.Exit(run(plan(inputs, options), options))
