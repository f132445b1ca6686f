"""What a model must hold before any pass may look at it."""

from __future__ import annotations

from maxfold.model.model import Model
from maxfold.model.order import is_sorted, sorted_nodes


def check_model(model: Model) -> None:
    """Raises `ModelError` where nodes form a cycle. The reader has checked names, sizes and paths already."""
    for scope in model.scopes():
        if not is_sorted(scope):
            sorted_nodes(scope)
