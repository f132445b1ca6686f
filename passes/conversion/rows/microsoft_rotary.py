"""ONNX Runtime's RotaryEmbedding: pairs of elements turned by angles of their position."""

from __future__ import annotations

from collections.abc import Sequence

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_DOMAIN = "com.microsoft"
_NUMPY = {BROADCAST: "numpy"}
_BY_HEAD = [0, 2, 1, 3]
_BY_TOKEN_RANK, _BY_HEAD_RANK = 3, 4


def _rotary_to_openvino(site: OpenvinoSite) -> None:
    for name, usual in (("rotary_embedding_dim", 0), ("is_packed_batching", 0), ("scale", 1.0)):
        if site.attribute(name, usual) != usual:
            raise UnsupportedError(f"its attribute {name!r} is not covered")
    if site.rank(1) != 2:
        raise UnsupportedError("a position that is the same start for all rows is not covered")
    rank, size = site.rank(0), _head_size(site)
    # How many heads there are follows from their size.
    site.ignore("num_heads")
    x = site.input(0)
    if rank == _BY_TOKEN_RANK:
        x = _transposed(site, _reshaped(site, x, [0, 0, -1, size]))
    elif rank != _BY_HEAD_RANK or (site.shape(0) or (None,))[-1] != size:
        raise UnsupportedError(f"its input is not of 3 dimensions, or of 4 with heads of {size}")
    cosine, sine = (_angles(site, index) for index in (2, 3))
    if site.attribute("interleaved", 0):
        pairs = _reshaped(site, x, [0, 0, 0, size // 2, 2])
        last = site.constant(-1, "int64")
        halves = [site.add("Squeeze", [part, last]) for part in _halves(site, pairs)]
        turned = [site.add("Unsqueeze", [part, last]) for part in _turned(site, halves, cosine, sine)]
        result = _reshaped(site, site.add("Concat", turned, {"axis": -1}), [0, 0, 0, size])
    else:
        result = site.add("Concat", _turned(site, _halves(site, x), cosine, sine), {"axis": -1})
    if rank == _BY_TOKEN_RANK:
        result = _reshaped(site, _transposed(site, result), [0, 0, -1])
    site.result(result)


def _head_size(site: OpenvinoSite) -> int:
    """The size of a head, two elements for each angle."""
    shape = site.shape(2)
    if shape is None or len(shape) != 2 or shape[1] is None:
        raise UnsupportedError("the size of its caches is not known")
    return 2 * shape[1]


def _angles(site: OpenvinoSite, index: int) -> Tensor:
    """What a cache has for all positions, the same for all heads."""
    operands = [site.input(index), site.input(1), site.constant(0, "int64")]
    found = site.add("Gather", operands, {"batch_dims": 0}, opset=8)
    made: Tensor = site.add("Unsqueeze", [found, site.constant([1], "int64")])
    return made


def _halves(site: OpenvinoSite, x: Tensor) -> list[Tensor]:
    made: list[Tensor] = site.add("Split", [x, site.constant(-1, "int64")], {"num_splits": 2}, outputs=2)
    return made


def _turned(site: OpenvinoSite, halves: Sequence[Tensor], cosine: Tensor, sine: Tensor) -> list[Tensor]:
    first, second = halves

    def times(x: Tensor, factor: Tensor) -> Tensor:
        made: Tensor = site.add("Multiply", [x, factor], _NUMPY)
        return made

    return [
        site.add("Subtract", [times(first, cosine), times(second, sine)], _NUMPY),
        site.add("Add", [times(second, cosine), times(first, sine)], _NUMPY),
    ]


def _reshaped(site: OpenvinoSite, x: Tensor, shape: list[int]) -> Tensor:
    made: Tensor = site.add("Reshape", [x, site.constant(shape, "int64")], {"special_zero": True})
    return made


def _transposed(site: OpenvinoSite, x: Tensor) -> Tensor:
    made: Tensor = site.add("Transpose", [x, site.constant(_BY_HEAD, "int64")])
    return made


ROWS: tuple[Row, ...] = from_onnx(
    f"{_DOMAIN}.RotaryEmbedding", "Multiply-1", _rotary_to_openvino, tolerance="1e-6 relative",
    limits="A position for each token; heads that are turned in part are refused.",
)  # fmt: skip
