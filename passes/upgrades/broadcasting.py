"""Operators that broadcast one way before version 7, by `broadcast` and `axis`, and numpy's way since.

Source: the specification of Add-6, to which the others refer; PRelu-6; Gemm-6.
"""

from __future__ import annotations

from collections.abc import Mapping

from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal


def _binary(draft: Draft, facts: Facts) -> None:
    """Without `axis`, B's shape is a suffix of A's: numpy's rule gives the same. With it, B needs trailing ones."""
    broadcast, axis = draft.take("broadcast", 0), draft.take("axis")
    if not broadcast or axis is None:
        return
    a_rank, b_rank = facts.rank(draft.input(0)), facts.rank(draft.input(1))
    if a_rank is None or b_rank is None:
        raise Refusal("the ranks of its inputs are not known, so its 'axis' has no place in them")
    if axis < 0:
        axis += a_rank
    if axis < 0:
        raise Refusal("attribute 'axis' is outside its first input")
    missing = a_rank - axis - b_rank
    if missing < 0:
        if not _is_single(draft, facts):
            raise Refusal("attribute 'axis' does not leave room for its second input")
    elif missing > 0:
        _append_dims(draft, b_rank, missing)


def _is_single(draft: Draft, facts: Facts) -> bool:
    """Whether the second input has one element and no higher rank than the first: it fits wherever it stands."""
    a_rank, shape = facts.rank(draft.input(0)), facts.shape(draft.input(1))
    return a_rank is not None and shape is not None and len(shape) <= a_rank and all(dim == 1 for dim in shape)


def _append_dims(draft: Draft, rank: int, count: int) -> None:
    second = draft.input(1)
    draft.set_input(1, Draft("Unsqueeze", [second], {"axes": list(range(rank, rank + count))}))


def _gemm(draft: Draft, facts: Facts) -> None:
    """C has the result's shape, or is a suffix of it: numpy's rule gives the same."""
    draft.take("broadcast")


def _prelu(draft: Draft, facts: Facts) -> None:
    """A slope of more than one element is one per channel, and channels are the second axis of X."""
    if _is_single(draft, facts):
        return
    rank, slope_rank = facts.rank(draft.input(0)), facts.rank(draft.input(1))
    if rank is None or rank < 2 or slope_rank != 1:
        raise Refusal("the ranks of its inputs are not known to be those of one slope per channel")
    if rank > 2:
        _append_dims(draft, 1, rank - 2)


ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    ("Add", 7): _binary,
    ("And", 7): _binary,
    ("Div", 7): _binary,
    ("Equal", 7): _binary,
    ("Gemm", 7): _gemm,
    ("Greater", 7): _binary,
    ("Less", 7): _binary,
    ("Mul", 7): _binary,
    ("Or", 7): _binary,
    ("PRelu", 7): _prelu,
    ("Pow", 7): _binary,
    ("Sub", 7): _binary,
    ("Xor", 7): _binary,
}
