"""exp(x) for x <= 0 in a form that compilers vectorise: a power of 2 from its bits, times a polynomial."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

F = np.float32
#: ln 2 in two parts, the first with so few digits that its multiples are exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@intrinsic  # type: ignore[untyped-decorator]
def _float32_of_bits(typing_context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), build


@intrinsic  # type: ignore[untyped-decorator]
def _float64_of_bits(typing_context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), build


@njit(fastmath=True, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def exp32(x: Any) -> Any:
    """exp(x) in single precision, to 2e-7 relative; 2^-126 and below are the same."""
    t = max(x * F(1.4426950408889634), F(-126.0))
    k = np.floor(t + F(0.5))
    f = t - k
    p = F(1.5403530e-4)
    p = p * f + F(1.3333558e-3)
    p = p * f + F(9.6181291e-3)
    p = p * f + F(5.5504109e-2)
    p = p * f + F(2.4022651e-1)
    p = p * f + F(6.9314718e-1)
    p = p * f + F(1.0)
    return p * _float32_of_bits((np.int32(k) + np.int32(127)) << np.int32(23))


@njit(fastmath={"contract", "nnan", "ninf", "nsz"}, nogil=True, inline="always")  # type: ignore[untyped-decorator]
def exp64(x: Any) -> Any:
    """exp(x) in double precision, to 4e-16 relative; 2^-1022 and below are the same."""
    t = max(x * 1.4426950408889634, -1022.0)
    k = np.floor(t + 0.5)
    f = (max(x, -708.3964185322641) - k * LN2_HIGH) - k * LN2_LOW
    p = 1.6059043836821613e-10
    p = p * f + 2.08767569878681e-09
    p = p * f + 2.505210838544172e-08
    p = p * f + 2.755731922398589e-07
    p = p * f + 2.7557319223985893e-06
    p = p * f + 2.48015873015873e-05
    p = p * f + 1.984126984126984e-04
    p = p * f + 1.388888888888889e-03
    p = p * f + 8.333333333333333e-03
    p = p * f + 4.1666666666666664e-02
    p = p * f + 1.6666666666666666e-01
    p = p * f + 0.5
    p = p * f + 1.0
    p = p * f + 1.0
    # Through 32 bits, because few processors convert to 64 in vectors.
    return p * _float64_of_bits(np.int64(np.int32(k) + np.int32(1023)) << np.int64(52))
