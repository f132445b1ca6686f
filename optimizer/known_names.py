"""Names of passes and operators that are given as options: what is said of one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import defs

from maxfold.model import ModelError
from maxfold.model.spelling import did_you_mean
from maxfold.optimizer.own_passes import installed, is_own_name, own_pass
from maxfold.passes import CATALOGUE


def why_no_pass(name: str, listed: str = "catalogue() lists them") -> str | None:
    """What is said of a name that no pass has, None for the name of one; `listed` says where all are."""
    if not is_own_name(name):
        return _why_unknown(name, "a pass", (*(entry.name for entry in CATALOGUE), *installed()), listed)
    try:
        own_pass(name)
    except ModelError as error:
        return str(error)
    return None


def why_no_operator(name: str) -> str | None:
    """What is said of a name that no operator of ONNX's own has in any version, None for the name of one."""
    known = {schema.name for schema in defs.get_all_schemas_with_history() if not schema.domain}
    return _why_unknown(name, "an operator of ONNX's own", known, "names are spelled as in ONNX's specification")


def _why_unknown(name: str, kind: str, known: Iterable[str], otherwise: str) -> str | None:
    listed = sorted(known)
    if name in listed:
        return None
    return f"{name!r} is not {kind}; {did_you_mean(name, listed) or otherwise}"
