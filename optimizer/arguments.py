"""What the functions of the Python API are given."""

from __future__ import annotations

from maxfold.model import Model


def require_model(function: str, *models: object) -> None:
    """Refuses what is not a loaded model, such as a path."""
    for model in models:
        if not isinstance(model, Model):
            raise TypeError(f"{function} takes a Model, not {type(model).__name__}: load() it first")
