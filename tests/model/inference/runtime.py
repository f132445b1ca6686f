"""ONNX Runtime in a process of its own, since operands that do not fit end the process, or never come back."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from onnx import ModelProto

from tests.model.inference.evaluation import Array

_PATIENCE_SECONDS = 60
_CONTEXT = multiprocessing.get_context("spawn")


class Runtime:
    """Runs models; the process is started when it is needed, and again after it ended."""

    def __init__(self, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._patience_seconds = patience_seconds
        self._process: Any = None
        self._connection: Any = None
        self._loaded: bytes | None = None

    def run(self, proto: ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array] | None:
        """The outputs that are arrays, None where ONNX Runtime takes not the model or not the operands."""
        model = proto.SerializeToString()
        try:
            if self._process is None:
                self._start()
            results = self._ask(None if model == self._loaded else model, dict(feeds))
        except (EOFError, OSError):
            self.close()
            return None
        self._loaded = model
        if results is None:
            return None
        names = [info.name for info in proto.graph.output]
        return {name: value for name, value in zip(names, results, strict=True) if isinstance(value, np.ndarray)}

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = self._loaded = None

    def _start(self) -> None:
        self._connection, other = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def _ask(self, model: bytes | None, feeds: dict[str, Array]) -> list[Any] | None:
        self._connection.send((model, feeds))
        if not self._connection.poll(self._patience_seconds):
            raise EOFError
        results: list[Any] | None = self._connection.recv()
        return results


def _serve(connection: Connection) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session: Any = None
    while True:
        model, feeds = connection.recv()
        try:
            if model is not None:
                session = None
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            results = None if session is None else session.run(None, feeds)
        except Exception:  # ONNX Runtime's exceptions have no common type
            results = None
        connection.send(results if results is None else [_plain(value) for value in results])


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else None
