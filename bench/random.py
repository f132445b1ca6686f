"""`python -m bench random`: random models through maxfold, many more of them than the tests take.

The generator and the judge are those of the tests. Seeds are checked in worker processes, so that one that ends its
process or does not end at all is named like any other failure.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from rich.console import Console

from bench import workers

_FAILED, _REFUSED = "failed", "refused"
# The kind of models that cross between the formats.
_CONVERTED = "converted"
_LONGEST_MESSAGE = 300
# How many characters of two messages must agree for two failures to be the same.
_SAME_FAILURE = 24


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a seed in one mode: how its results are right, "no model", or "refused" or "failed" and why."""

    seed: int
    mode: str
    verdict: str
    message: str = ""


def check_seed(seed: int, kind: str) -> list[Outcome]:
    """The outcome of a seed in each mode."""
    from tests.random_models import KINDS, NoModelError, random_model
    from tests.random_models.checking import MODES, check

    try:
        case = random_model(seed, kind=KINDS[kind])
    except NoModelError as error:
        return [Outcome(seed, "any", "no model", _short(error))]
    found = []
    for mode in MODES:
        try:
            found.append(Outcome(seed, mode, check(case, mode)))
        except Exception as error:
            found.append(Outcome(seed, mode, _FAILED, _short(error)))
    return found


def check_conversion(seed: int) -> list[Outcome]:
    """The outcome of a seed on each way between the formats."""
    from maxfold.passes.conversion import ConversionError
    from tests.random_models import NoModelError
    from tests.random_models.bridge import WAYS

    found = []
    for way, (model, check) in WAYS.items():
        try:
            with TemporaryDirectory() as folder:
                found.append(Outcome(seed, way, check(model(seed), Path(folder))))
        except NoModelError as error:
            found.append(Outcome(seed, way, "no model", _short(error)))
        except ConversionError as error:
            reasons = [f"{refusal.operator}: {refusal.reason}" for refusal in error.refusals]
            found.append(Outcome(seed, way, _REFUSED, "\n".join(reasons)))
        except Exception as error:
            found.append(Outcome(seed, way, _FAILED, _short(error)))
    return found


def shrunk(seed: int, mode: str, kind: str) -> onnx.ModelProto | None:
    """A small model that fails as the one of the seed does; None where it does not fail again."""
    from tests.random_models import KINDS, RandomModel, random_model
    from tests.random_models.bridge import WAYS
    from tests.random_models.checking import check
    from tests.random_models.shrinking import shrink

    def failure(case: RandomModel) -> str:
        try:
            if mode in WAYS:
                with TemporaryDirectory() as work:
                    WAYS[mode][1](case, Path(work))
            else:
                check(case, "relaxed" if mode == "relaxed" else "exact")
        except Exception as error:
            return _short(error)[:_SAME_FAILURE]
        return ""

    case = WAYS[mode][0](seed) if mode in WAYS else random_model(seed, kind=KINDS[kind])
    found = failure(case)
    if not found:
        return None
    return shrink(case, lambda smaller: failure(smaller) == found).model


def run(seeds: range, *, kind: str, jobs: int, timeout_seconds: float) -> Iterator[list[Outcome]]:
    """The outcomes of seeds, as they come."""
    check = check_conversion if kind == _CONVERTED else partial(check_seed, kind=kind)
    for seed, found in workers.run(check, seeds, jobs=min(jobs, len(seeds)), timeout_seconds=timeout_seconds):
        yield [Outcome(seed, "any", _FAILED, found.message)] if isinstance(found, workers.Lost) else found


def main(arguments: list[str]) -> int:
    """Checks the seeds that the arguments name; 1 where any failed."""
    parser = argparse.ArgumentParser(prog="python -m bench random", description="Checks maxfold on random models.")
    parser.add_argument("--seeds", type=int, default=1000, metavar="N", help="how many (default %(default)s)")
    parser.add_argument("--start", type=int, default=0, metavar="N", help="the first one (default %(default)s)")
    kinds = ("whole", "shapes", "layouts", "targeted", "fused", "patterns")
    parser.add_argument("--kind", choices=kinds, default="whole", help="of models (default %(default)s)")
    parser.add_argument(
        "--convert", dest="kind", action="store_const", const=_CONVERTED, help="have models cross between the formats"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default %(default)s)")
    parser.add_argument("--timeout-seconds", type=float, default=120.0, metavar="S", help="limit of one seed")
    parser.add_argument("--shrink", type=Path, metavar="DIR", help="write a small model for each failure there")
    chosen = parser.parse_args(arguments)
    out, counts, failures = Console(highlight=False), Counter[tuple[str, str]](), []
    refusals = Counter[tuple[str, str]]()
    started = time.monotonic()
    seeds = range(chosen.start, chosen.start + chosen.seeds)
    with Console(stderr=True).status("starting") as status:
        for found in run(seeds, kind=chosen.kind, jobs=chosen.jobs, timeout_seconds=chosen.timeout_seconds):
            counts.update((outcome.mode, outcome.verdict) for outcome in found)
            for outcome in found:
                if outcome.verdict == _REFUSED:
                    refusals.update((outcome.mode, reason) for reason in outcome.message.splitlines())
                if outcome.verdict == _FAILED:
                    failures.append(outcome)
                    out.print(f"seed {outcome.seed}, {outcome.mode}: {outcome.message}", markup=False, soft_wrap=True)
            status.update(f"{sum(counts.values())} results, {len(failures)} failures")
    for outcome in failures if chosen.shrink else ():
        _write_shrunk(chosen.shrink, outcome, chosen.kind, out)
    for (mode, verdict), count in sorted(counts.items()):
        out.print(f"{mode:13} {verdict:16} {count:6}", markup=False)
    for (mode, reason), count in sorted(refusals.items(), key=lambda item: (item[0][0], -item[1], item[0][1])):
        out.print(f"{mode:13} refused {count:8}  {reason}", markup=False, soft_wrap=True)
    out.print(f"{len(seeds)} seeds in {time.monotonic() - started:.0f} s, {len(failures)} failures")
    return 1 if failures else 0


def _write_shrunk(folder: Path, outcome: Outcome, kind: str, out: Console) -> None:
    if outcome.mode == "any":
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{outcome.seed}-{outcome.mode.replace(' ', '-')}.onnx"
    model = shrunk(outcome.seed, outcome.mode, kind)
    if model is None:
        out.print(f"seed {outcome.seed}, {outcome.mode}: does not fail again", soft_wrap=True)
        return
    onnx.save(model, path)
    out.print(f"{path}: {len(model.graph.node)} nodes", markup=False, soft_wrap=True)


def _short(error: Exception) -> str:
    """What went wrong; for an assertion without a message, the line it stands in."""
    text = " ".join(str(error).split())
    if not text:
        text = (traceback.extract_tb(error.__traceback__)[-1].line or "").strip()
    return f"{type(error).__name__}: {text}"[:_LONGEST_MESSAGE]
