"""Matrix products."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
_SUMS = "Sums are made in another order; OpenVINO's CPU computes integers in f32."


def _matmul_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("MatMul", site.inputs(), {"transpose_a": False, "transpose_b": False}))


def _matmul_to_onnx(site: OnnxSite) -> None:
    a = _transposed(site, 0, site.flag("transpose_a"))
    b = _transposed(site, 1, site.flag("transpose_b"))
    site.result(site.add("MatMul", [a, b]))


def _transposed(site: OnnxSite, index: int, is_transposed: bool) -> Tensor:
    """An operand with its last two dimensions swapped, where it has two."""
    tensor = site.input(index)
    if not is_transposed:
        return tensor
    rank = site.rank(index)
    if rank < 2:
        return tensor
    order = [*range(rank - 2), rank - 1, rank - 2]
    result: Tensor = site.add("Transpose", [tensor], {"perm": order})
    return result


def _gemm_to_openvino(site: OpenvinoSite) -> None:
    flags = {"transpose_a": bool(site.attribute("transA", 0)), "transpose_b": bool(site.attribute("transB", 0))}
    result = site.add("MatMul", [site.input(0), site.input(1)], flags)
    alpha, beta = site.attribute("alpha", 1.0), site.attribute("beta", 1.0)
    # It says what the shapes say, that the third operand has fewer dimensions.
    if alpha != 1:
        result = site.add("Multiply", [result, scalar_like(site, alpha)], _NUMPY)
    if not site.has_input(2):
        site.result(result)
        return
    addend = site.input(2)
    if beta != 1:
        addend = site.add("Multiply", [addend, scalar_like(site, beta)], _NUMPY)
    site.result(site.add("Add", [result, addend], _NUMPY))


ROWS: tuple[Row, ...] = (
    *both("MatMul", "MatMul-1", _matmul_to_openvino, _matmul_to_onnx, tolerance="1e-5 relative", limits=_SUMS),
    *from_onnx("Gemm", "MatMul-1", _gemm_to_openvino, tolerance="1e-5 relative", limits=_SUMS),
)  # fmt: skip
