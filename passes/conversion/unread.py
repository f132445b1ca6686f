"""What nothing reads any more when all rows have made what they make."""

from __future__ import annotations

from collections.abc import Collection

from maxfold.model.graph import Graph, Node, Tensor
from maxfold.passes.conversion.sites.site import Target


def drop_unread(scope: Graph, target: Target, returned: Collection[Tensor]) -> None:
    """Removes what is read in the source, and that rows have put something else in the place of.

    What nothing reads in the source stays, and what becomes of the tensors that are `returned`.
    """
    results = frozenset(scope.outputs)
    held = {
        id(made) for source, made in target.tensors.items()
        if source in returned or not (source.outputs or source in results)
    }  # fmt: skip
    held.update(map(id, (*target.remembered.values(), *target.graph.outputs)))
    nodes: list[Node] = []
    for node in reversed(target.graph.nodes):
        if node.outputs and not any(output.outputs or id(output) in held for output in node.outputs):
            node.inputs.clear()
            continue
        nodes.append(node)
    target.graph.nodes = nodes[::-1]
    for constant in scope.constants:
        made = target.tensors.get(constant)
        if constant.outputs and made is not None and not made.outputs and constant not in returned:
            del target.tensors[constant]
    kept = set(map(id, target.tensors.values()))
    target.graph.constants = [made for made in target.graph.constants if made.outputs or id(made) in kept]
