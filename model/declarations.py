"""What a file declares of its results, where rewrites have shown that it is otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx

from maxfold.model import dtypes
from maxfold.model.graph import Graph, Tensor
from maxfold.model.inference import Fact
from maxfold.model.types import declared_shape
from maxfold.model.view import View


def forget_contradicted(view: View) -> None:
    """Leaves out the declarations of results that cannot be true, in all scopes; graph inputs and outputs keep theirs.

    Such a declaration does no harm as long as static checks derive nothing of the result. After a rewrite they may
    derive it, and refuse the file.
    """
    for scope in view.model.scopes():
        infos = {info.name: info for info in scope.value_info if info.name not in scope.forgotten}
        for tensor in _tensors(scope) if infos else ():
            info = infos.get(tensor.name)
            if info is not None and _contradicts(info, view.fact(tensor)):
                scope.forgotten.add(tensor.name)


def _tensors(scope: Graph) -> Iterator[Tensor]:
    yield from scope.constants
    for node in scope.nodes:
        yield from node.outputs


def _contradicts(info: onnx.ValueInfoProto, fact: Fact) -> bool:
    kind = info.type.WhichOneof("value")
    is_tensor = fact.dtype is not None or fact.dims is not None
    if kind is None:
        return False
    if kind != "tensor_type":
        return is_tensor
    if fact.proto is not None:
        return True
    own, shape = dtypes.from_onnx(info.type.tensor_type.elem_type), declared_shape(info)
    if own is not None and fact.dtype is not None and own is not fact.dtype:
        return True
    return shape is not None and fact.dims is not None and not _fit(shape, fact.dims)


def _fit(declared: Sequence[int | None], derived: Sequence[object]) -> bool:
    """Whether shapes may be one: as many dimensions, of which none has two sizes."""
    sizes = zip(declared, derived, strict=False)
    differ = any(own is not None and isinstance(other, int) and own != other for own, other in sizes)
    return len(declared) == len(derived) and not differ
