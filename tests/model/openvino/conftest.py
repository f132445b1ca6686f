"""OpenVINO, started once for all tests of its files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model.openvino.oracle import Oracle


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """OpenVINO in a process of its own."""
    with Oracle() as judge:
        yield judge
