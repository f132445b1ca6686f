"""OpenVINO as the judge of IR files, in a process of its own that may crash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any

ROOT = Path(__file__).parents[3]


class OracleError(Exception):
    """OpenVINO raised an error, or crashed."""


class CrashError(OracleError):
    """OpenVINO crashed."""


class Oracle:
    """Asks OpenVINO. A crash is an `OracleError`, and the next question starts a new process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def case_count(self) -> int:
        """How many test cases of ONNX operators there are."""
        return int(self._ask("count"))

    def convert_case(self, number: int, folder: Path) -> Path:
        """The IR of an operator case, written into `folder`; OracleError if OpenVINO does not convert it."""
        return Path(self._ask("convert", number, str(folder)))

    def make(self, name: str, path: Path) -> None:
        """Writes one of the models of `tests.model.openvino.made`."""
        self._ask("make", name, str(path))

    def error(self, path: Path) -> str | None:
        """Why OpenVINO does not read a file; None if it does."""
        try:
            self._ask("read", str(path))
        except OracleError as error:
            return str(error)
        return None

    def layer(self, path: Path) -> dict[str, Any]:
        """Version, attributes as text and number of results of the layer of an operation's sample."""
        found: dict[str, Any] = self._ask("layer", str(path))
        return found

    def version(self, kind: str, opset: int) -> str | None:
        """The version of an operation that an operator set has, None where it has none."""
        try:
            return str(self._ask("version", kind, opset))
        except CrashError:
            raise
        except OracleError:
            return None

    def made(self, kind: str, opset: int) -> dict[str, str]:
        """The attributes, as text, of an operation before it is given any."""
        found: dict[str, str] = self._ask("made", kind, opset)
        return found

    def compare(self, original: Path, rewritten: Path) -> list[str]:
        """Where two models differ, as OpenVINO reads them; the original must be readable."""
        try:
            lines: list[str] = self._ask("compare", str(original), str(rewritten))
        except OracleError as error:
            if (reason := self.error(original)) is not None:
                raise OracleError(f"the original is unreadable: {reason}") from error
            return [f"OpenVINO does not read what was written: {error}"]
        return lines

    def run(self, original: Path, rewritten: Path, *, case: int | None = None, seed: int = 0) -> list[str] | None:
        """Where the outputs differ, with a case's own inputs or random ones.

        None where running the original says nothing: it fails, or gives other bits each time.
        """
        arguments = (str(original), str(rewritten), case, seed)
        try:
            try:
                lines: list[str] | None = self._ask("run", *arguments)
            except CrashError:
                # A run before may have spoilt the memory of the process: a crash counts in a new one only.
                lines = self._ask("run", *arguments)
        except OracleError as error:
            return [f"OpenVINO does not run it: {error}"] if self._runs(original, case, seed) else None
        return lines

    def _runs(self, path: Path, case: int | None, seed: int) -> bool:
        try:
            return self._ask("run", str(path), str(path), case, seed) is not None
        except OracleError:
            return False

    def _ask(self, request: str, *arguments: object) -> Any:
        process = self._running()
        answer = ""
        try:
            _pipe(process.stdin).write(json.dumps({"do": request, "arguments": arguments}) + "\n")
            _pipe(process.stdin).flush()
            answer = _pipe(process.stdout).readline()
        except BrokenPipeError:
            pass
        if not answer:
            self._stop()
            raise CrashError(f"OpenVINO crashed with status {process.returncode}")
        parsed = json.loads(answer)
        if "error" in parsed:
            raise OracleError(parsed["error"])
        return parsed["result"]

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.model.openvino.worker"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                try:
                    _pipe(pipe).close()
                except BrokenPipeError:
                    continue
            process.wait(timeout=60)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
