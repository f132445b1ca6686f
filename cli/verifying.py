"""The work of `maxfold verify`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maxfold.cli import values
from maxfold.cli.errors import CommandError, is_model_error, is_unfit, one_line
from maxfold.cli.shell import usage_error

_KINDS: dict[str, values.Kind] = {
    "dim": values.dims,
    "inputs": values.path,
    "seed": values.whole,
    "runs": values.count,
    "tolerance": values.difference,
}


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What `maxfold verify` was asked to do."""

    dims: tuple[tuple[str, int], ...] = ()
    inputs: str | None = None
    seed: int = 0
    runs: int = 2
    tolerance: float | None = None

    @classmethod
    def of(cls, flags: Mapping[str, Any]) -> VerifyOptions:
        """The options from flags. Raises `CommandError` for a value that is none, or options that contradict."""
        chosen: dict[str, Any] = {}
        for name, value in flags.items():
            if value is None or value == () or value == []:
                continue
            kind = _KINDS[name]
            try:
                chosen["dims" if name == "dim" else name] = kind(values.from_flag(kind, value))
            except ValueError as error:
                raise usage_error(f"--{name} must be {error}, not {values.shown(value)}", "verify") from None
        overruled = [name for name in ("dim", "seed", "runs") if "inputs" in chosen and flags.get(name)]
        if overruled:
            raise CommandError(f"--inputs and --{overruled[0]} contradict each other; choose one")
        return cls(**chosen)


def compare(first: str, second: str, options: VerifyOptions, *, json: bool, quiet: bool, verbose: bool) -> bool:
    """Runs both and tells the result on standard output; returns whether they are equal within the tolerance."""
    from maxfold.cli.progress import progress_for
    from maxfold.optimizer import verify

    with progress_for(quiet) as progress:
        progress.stage("verifying")
        try:
            verification = verify(
                first, second, tolerance=options.tolerance, dims=dict(options.dims), inputs=options.inputs,
                seed=options.seed, runs=options.runs,
            )  # fmt: skip
        except Exception as error:
            if not is_model_error(error):
                raise
            named = any(one_line(place) in str(error) for place in (first, second, options.inputs) if place)
            hint = "; --dim fixes open dimensions, --inputs gives real values" if is_unfit(error) else ""
            raise CommandError(f"{error if named else f'{first} and {second}: {error}'}{hint}") from error
    if json:
        from maxfold.cli.output import write_json

        content = verification.to_dict()
        write_json({"schema": content.pop("schema"), "first": first, "second": second, **content})
    elif not quiet:
        from maxfold.cli.output import stdout_console
        from maxfold.cli.verification_view import show_verification

        show_verification(stdout_console(), (first, second), verification, is_full=verbose)
    return verification.is_equal
