"""Work without Python's garbage collector.

A model is one web of objects that all stay until it is written: looking through it for garbage, again and again while
it grows, is a third of the work on a large graph.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Switches the collector off for the time of the block; what the block leaves behind is collected afterwards."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
