"""What kernels of elementwise operators share."""

from __future__ import annotations

import numpy as np
import pytest

from maxfold.model.dtypes import DTYPES, DType
from maxfold.passes.kernels.elementwise import is_float, settle_nan
from tests.passes.kernels.reference import FORMATS, array_of, bits_of
from tests.passes.kernels.strategies import BY_NAME


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_is_float(dtype: DType) -> None:
    assert is_float(np.empty(0, dtype.numpy)) is (dtype.kind == "float")


@pytest.mark.parametrize("name", FORMATS)
def test_settle_nan_changes_nan_alone(name: str) -> None:
    form, dtype = FORMATS[name], BY_NAME[name]
    infinity = form.encode(False, None)
    sign = 1 << (dtype.bits - 1)
    quiet = infinity | 1 << (form.precision - 2)
    numbers = [0, 1, infinity - 1, infinity]
    numbers += [sign | bits for bits in numbers]
    signalling_and_quiet = [infinity + 1, quiet, quiet + 1, sign | infinity + 1, sign | quiet]
    values = array_of([*signalling_and_quiet, *numbers], dtype, (13,))
    settle_nan(values)
    assert bits_of(values) == [quiet] * 5 + numbers


@pytest.mark.parametrize("name", FORMATS)
def test_settle_nan_of_a_scalar_and_of_nothing(name: str) -> None:
    dtype = BY_NAME[name]
    scalar = np.array(-np.nan, dtype.numpy)
    settle_nan(scalar)
    assert bits_of(scalar) == bits_of(np.array(np.nan, dtype.numpy))
    settle_nan(np.empty((0, 2), dtype.numpy))
