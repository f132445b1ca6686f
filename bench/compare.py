"""Runs every tool on every model, in turn, and has the results judged."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from bench.judge import Original, Verdict, sizes
from bench.measure import Baselines, Run, run_process, run_python, warm
from bench.peers import YARDSTICK, Bench, Tool
from bench.structure import model_files

SCHEMA = "maxfold.bench/1"
_ROOT = Path(__file__).resolve().parent.parent
_HASH_LIMIT_BYTES = 1 << 29
_JUDGE_SECONDS = 900.0


@dataclass(slots=True)
class ToolResult:
    """What one tool did with one model. `growth_bytes` is peak memory above that of the imports alone."""

    tool: str
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    peak_bytes: int | None = None
    growth_bytes: int | None = None
    output_bytes: int | None = None
    varies: bool = False
    error: str = ""
    verdict: Verdict | None = None

    @property
    def exact(self) -> bool:
        """Whether the result is valid and gives the same bits."""
        return self.verdict is not None and self.verdict.outputs == "same bits" and not self.verdict.checker

    def add(self, run: Run, baselines: Baselines, python: str) -> None:
        """Takes in the time and memory of one run that ended well."""
        self.seconds.append(run.seconds)
        self.cpu_seconds.append(run.cpu_seconds)
        if run.peak_bytes is None:
            return
        baseline = baselines.peak_bytes(python, run.modules)
        self.peak_bytes = max(self.peak_bytes or 0, run.peak_bytes)
        self.growth_bytes = None if baseline is None else max(0, self.peak_bytes - baseline)

    def seconds_median(self) -> float | None:
        """Median of the wall seconds, or None where the tool failed."""
        return median(self.seconds) if self.seconds and not self.error else None

    def cpu_median(self) -> float | None:
        """Median of the user + system CPU seconds, or None where the tool failed."""
        return median(self.cpu_seconds) if self.cpu_seconds and not self.error else None


@dataclass(slots=True)
class ModelResult:
    """One model: facts about the original, and a result for each tool."""

    name: str
    original: Original
    tools: list[ToolResult]

    def tool(self, name: str) -> ToolResult | None:
        """The result of the tool of that name."""
        return next((result for result in self.tools if result.tool == name), None)

    def ratio(self, result: ToolResult, *, cpu: bool = False) -> float | None:
        """Whole-process time of a tool over that of load + save on this model."""
        yardstick = self.tool(YARDSTICK)
        if yardstick is None:
            return None
        ours = result.cpu_median() if cpu else result.seconds_median()
        base = yardstick.cpu_median() if cpu else yardstick.seconds_median()
        return ours / base if ours is not None and base else None

    def memory_ratio(self, result: ToolResult) -> float | None:
        """Growth of peak memory over the size of the input (external data included)."""
        if result.growth_bytes is None or result.error:
            return None
        return result.growth_bytes / self.original.file_bytes


def _outputs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def _digest(paths: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 24):
                whole.update(chunk)
    return whole.hexdigest()


def _judge(arguments: list[str], folder: Path) -> dict[str, Any] | str:
    """JSON that the judge wrote, or the reason why there is none."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    # The judge's own folder is the root of the repository; its log still goes to the scratch folder.
    program = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from bench.judge import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, *arguments, str(answer)]
    _, _, error = run_process(command, folder, _JUDGE_SECONDS)
    if error is not None or not answer.exists():
        return error or "the judge wrote nothing"
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return found


class Comparison:
    """Settings and scratch space of one comparison."""

    def __init__(
        self,
        bench: Bench,
        folder: Path,
        *,
        repeat: int,
        timeout_seconds: float,
        judged: bool = True,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`folder` is emptied between models; unjudged outputs are deleted after each run."""
        self._bench = bench
        self._folder = folder
        self._repeat = repeat
        self._timeout_seconds = timeout_seconds
        self._judged = judged
        self._progress = progress
        self._baselines = Baselines(folder)

    def _original(self, path: Path) -> Original:
        original = sizes(path)
        original.not_judged = "not asked for"
        if not self._judged:
            return original
        found = _judge(["original", str(path)], self._folder)
        if not isinstance(found, str):
            return Original(**found)
        original.not_judged = f"the judge failed on the original: {found}"
        return original

    def _run(self, tool: Tool, path: Path, original: Original) -> tuple[Run, Path]:
        folder = self._folder / tool.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        target = folder / "rewritten.onnx"
        data = "rewritten.onnx.data" if original.data_bytes else ""
        body = f"{tool.imports}\n{tool.work}"
        python = self._bench.python(tool)
        return run_python(python, body, path, target, data, self._folder, self._timeout_seconds), target

    def _record(self, result: ToolResult, tool: Tool, run: Run, target: Path, digests: set[str]) -> None:
        if run.error is not None or not target.exists():
            result.error = run.error or "wrote no file"
            return
        files = _outputs(target.parent)
        result.output_bytes = sum(file.stat().st_size for file in files)
        if self._judged and result.output_bytes < _HASH_LIMIT_BYTES:
            digests.add(_digest(files))
            result.varies = len(digests) > 1
        if not self._judged:
            shutil.rmtree(target.parent)
        result.add(run, self._baselines, self._bench.python(tool))

    def _verdict(self, path: Path, tool: Tool, original: Original) -> Verdict | str:
        plan = self._folder / "plan.json"
        plan.write_text(json.dumps(asdict(original)), encoding="utf-8")
        target = self._folder / tool.name / "rewritten.onnx"
        found = _judge(["rewritten", str(path), str(target), str(plan)], self._folder)
        return found if isinstance(found, str) else Verdict(**found)

    def model(self, name: str, path: Path) -> ModelResult:
        """Runs all tools on one model file, `repeat` times in turn, and judges what they wrote last."""
        self._progress(f"{name}: original")
        original = self._original(path)
        results = {tool.name: ToolResult(tool.name) for tool in self._bench.tools}
        digests: dict[str, set[str]] = {tool.name: set() for tool in self._bench.tools}
        warm(*model_files(path))
        for turn in range(self._repeat):
            for tool in self._bench.tools:
                if results[tool.name].error:
                    continue
                self._progress(f"{name}: {tool.name}, run {turn + 1} of {self._repeat}")
                run, target = self._run(tool, path, original)
                self._record(results[tool.name], tool, run, target, digests[tool.name])
        for tool in self._bench.tools:
            if results[tool.name].error or not self._judged:
                continue
            self._progress(f"{name}: judging {tool.name}")
            verdict = self._verdict(path, tool, original)
            if isinstance(verdict, str):
                verdict = Verdict(outputs="does not run", detail=f"the judge failed: {verdict}")
            results[tool.name].verdict = verdict
        for tool in self._bench.tools:
            shutil.rmtree(self._folder / tool.name, ignore_errors=True)
        return ModelResult(name, original, list(results.values()))


def importable(bench: Bench) -> Bench:
    """The tools whose imports succeed. Python also writes its caches, so that no first run pays for that."""
    broken = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        scratch = Path(folder)
        for tool in bench.tools:
            run = run_python(bench.python(tool), tool.imports, scratch, scratch, "", scratch, 120.0)
            if run.error is not None:
                broken[tool.name] = run.error.strip().splitlines()[-1]
    return bench.without(broken)


def environment(bench: Bench) -> dict[str, Any]:
    """Versions, machine and date, as they stand in the JSON file."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "versions": bench.versions,
        "peers_versions": bench.peers_versions,
        "missing": list(bench.missing),
    }


def plain(value: Any) -> Any:
    """`value` in what JSON can say: dataclasses as objects, NaN and infinities as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: Path, environment: dict[str, Any], settings: dict[str, Any], results: Any) -> None:
    """Writes one JSON document of the schema "maxfold.bench/1"."""
    document = {"schema": SCHEMA, "environment": environment, "settings": settings, "results": results}
    text = json.dumps(plain(document), indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
