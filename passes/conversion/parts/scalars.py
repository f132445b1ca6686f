"""What is known of operands that elementwise operators compute with: their element type, and a constant's number."""

from __future__ import annotations

from maxfold.model.dtypes import DType
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.site import Site


def dtype_of(site: Site, index: int = 0) -> DType:
    """The element type of an input. Raises `UnsupportedError` where it is not known."""
    dtype = site.dtype(index)
    if dtype is None:
        raise UnsupportedError(f"the element type of input {index} is not known")
    return dtype


def number_of(site: Site, index: int, what: str) -> float:
    """The only element of a constant input, of any rank.

    Raises `UnsupportedError` where it is computed at run time, or has another number of elements.
    """
    value = site.value(index)
    if value is None:
        raise UnsupportedError(f"{what} is computed at run time")
    if value.size != 1:
        raise UnsupportedError(f"{what} has {value.size} elements, not one")
    return float(value.reshape(-1)[0])
