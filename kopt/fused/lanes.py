"""Numbers side by side in one register: arithmetic on them, and exp(x) for x <= 0, as code to be compiled.

Compilers are careful with the widest registers of a processor, and keep no tile of a matrix in them by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import binding, ir


def _has_wide_registers() -> bool:
    try:
        return bool(binding.get_host_cpu_features().get("avx512f"))
    except RuntimeError:  # it cannot be told of this processor
        return False


#: The bytes of a register: two of them for each of four rows must fit beside their factors.
BYTES = 64 if _has_wide_registers() else 32
#: A product and a sum may be rounded once instead of twice.
FUSED = ("contract",)


@dataclass(frozen=True)
class Exponential:
    """exp(x) = 2^k exp(f), f = x - k ln 2: k is rounded by adding `rounder`, exp(f) is a polynomial.

    ln2         in two parts, the first with so few digits that its multiples are exact
    least       the smallest k: what is below 2^k becomes 2^k
    rounder     1.5 times the number from which on the numbers of this precision are whole
    mantissa    bits of the mantissa, by which k is shifted to where the exponent stands
    polynomial  coefficients of exp(f) on |f| <= ln(2) / 2, at Chebyshev's points, highest first
    """

    ln2: tuple[float, float]
    least: float
    rounder: float
    mantissa: int
    polynomial: tuple[float, ...]


SINGLE = Exponential(
    ln2=(0.693359375, -2.1219444e-4),
    least=-125.0,
    rounder=1.5 * 2.0**23,
    mantissa=23,
    polynomial=(1.39262508e-3, 8.36323288e-3, 4.16665542e-2, 1.66665767e-1, 0.5, 1.0, 1.0),
)
DOUBLE = Exponential(
    ln2=(6.93147180369123816490e-01, 1.90821492927058770002e-10),
    least=-1021.0,
    rounder=1.5 * 2.0**52,
    mantissa=52,
    polynomial=(
        2.5110049204818658e-08,
        2.763265472252779e-07,
        2.755724088722987e-06,
        2.4801485441561313e-05,
        1.9841269890076403e-04,
        1.3888888952352863e-03,
        8.333333333319589e-03,
        4.166666666648795e-02,
        1.666666666666668e-01,
        0.5000000000000019,
        1.0,
        1.0,
    ),
)


class Lanes:
    """Writes operations on registers of one precision into the code that `builder` builds."""

    def __init__(self, builder: Any, single: bool) -> None:
        self.builder = builder
        self.number: Any = ir.FloatType() if single else ir.DoubleType()
        self.count = BYTES // (4 if single else 8)
        self.vector = ir.VectorType(self.number, self.count)
        self._whole = ir.VectorType(ir.IntType(32 if single else 64), self.count)
        self._exponential = SINGLE if single else DOUBLE

    def constant(self, value: float) -> Any:
        """The same number in every lane."""
        return ir.Constant(self.vector, [value] * self.count)

    def load(self, data: Any, place: Any, kind: Any = None) -> Any:
        """As many numbers as there are lanes, from a place in an array on."""
        return self.builder.load(self._address(data, place, kind or self.vector), align=4)

    def store(self, value: Any, data: Any, place: Any) -> None:
        """Write all lanes to an array."""
        self.builder.store(value, self._address(data, place, value.type), align=4)

    def spread(self, data: Any, place: Any) -> Any:
        """One number of an array in every lane."""
        one = self.builder.load(self.builder.gep(data, [place]))
        first = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), one, ir.IntType(32)(0))
        return self.builder.shuffle_vector(
            first, first, ir.Constant(ir.VectorType(ir.IntType(32), self.count), [0] * self.count)
        )

    def add(self, a: Any, b: Any) -> Any:
        """a + b."""
        return self.builder.fadd(a, b, flags=FUSED)

    def subtract(self, a: Any, b: Any) -> Any:
        """a - b."""
        return self.builder.fsub(a, b, flags=FUSED)

    def multiply(self, a: Any, b: Any) -> Any:
        """a b."""
        return self.builder.fmul(a, b, flags=FUSED)

    def times_plus(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c, rounded once where the processor can."""
        return self.add(self.multiply(a, b), c)

    def exp(self, x: Any) -> Any:
        """exp(x) for x <= 0, or at most a little above."""
        builder, e = self.builder, self._exponential
        least, rounder = self.constant(e.least * 0.6931471805599453), self.constant(e.rounder)
        x = builder.select(builder.fcmp_ordered("<", x, least), least, x)
        # Rounded twice on purpose: what the sum loses is what is rounded away.
        whole = builder.fadd(builder.fmul(x, self.constant(1.4426950408889634)), rounder)
        k = builder.fsub(whole, rounder)
        f = self.subtract(x, self.multiply(k, self.constant(e.ln2[0])))
        f = self.subtract(f, self.multiply(k, self.constant(e.ln2[1])))
        p = self.constant(e.polynomial[0])
        for coefficient in e.polynomial[1:]:
            p = self.times_plus(p, f, self.constant(coefficient))
        shift = ir.Constant(self._whole, [e.mantissa] * self.count)
        exponent = builder.shl(builder.bitcast(whole, self._whole), shift)
        return builder.bitcast(builder.add(builder.bitcast(p, self._whole), exponent), self.vector)

    def _address(self, data: Any, place: Any, kind: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(data, [place]), ir.PointerType(kind))
