"""A number on every instance, as one simple expression of the parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np

NUMBERS = tuple(map(Fraction, ("1", "2", "1/2", "4", "1/4", "3", "1/3", "3/2", "2/3", "3/4", "8", "1/8")))
EXPONENTS = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5)
AGREES = 1e-5
VERY = 1e-10
# 4/l is more likely to be 0.8 on five points.
MULTIPLE_OF_L = re.compile(r"-?[2-9].*\bl\b")


def factor_text(values: Sequence[float], settings: Sequence[Mapping[str, float]]) -> str:
    """The simplest expression that gives each value from its setting; the first number where there is none, said to be
    that of one instance where it changes.

    >>> factor_text([0.5, 0.125], [{"C": 2.0, "l": 5}, {"C": 8.0, "l": 7}])
    '1/C'
    >>> factor_text([0.5, 0.5], [{"C": 2.0}, {"C": 3.0}]), factor_text([0.7, 0.9], [{}, {}])
    ('1/2', '0.7 (on this instance)')
    """
    changes = np.ptp(values) > AGREES * abs(values[0])
    return recognised(values, settings) or f"{values[0]:.6g}{' (on this instance)' if changes else ''}"


def recognised(values: Sequence[float], settings: Sequence[Mapping[str, float]]) -> str | None:
    """The simplest expression that gives each value from its setting; None where there is none."""
    # A parameter that never changes cannot be told from a number.
    varied = [name for name in _common(settings) if len({setting[name] for setting in settings}) > 1]
    return min(_fitting(values, settings, varied, AGREES), default=(0.0, None))[1]


def named_number(value: float, setting: Mapping[str, float]) -> str | None:
    """The simplest expression of a setting that is this very number.

    >>> named_number(0.5 / 1.37, {"C": 1.37, "l": 5})
    '1/(2 C)'
    """
    fitting = _fitting([value], [setting], _common([setting]), VERY)
    return min((found for found in fitting if not MULTIPLE_OF_L.match(found[1])), default=(0.0, None))[1]


def simple_factors(settings: Sequence[Mapping[str, float]]) -> list[tuple[str, Mapping[str, float]]]:
    """Factors worth trying: small numbers and powers of one parameter, each with the exponents that define it."""
    found: list[tuple[str, Mapping[str, float]]] = [(_text(number, {}), {"": float(number)}) for number in NUMBERS[1:5]]
    for name in _common(settings):
        for number, exponent in product(NUMBERS[:3], (1.0, -1.0)):
            found.append((_text(number, {name: exponent}), {"": float(number), name: exponent}))
    return found


def evaluated(factor: Mapping[str, float], setting: Mapping[str, float]) -> float:
    """The value of one of `simple_factors` in a setting."""
    return float(factor[""] * np.prod([setting[name] ** e for name, e in factor.items() if name]))


def _common(settings: Sequence[Mapping[str, float]]) -> list[str]:
    """The names that are positive numbers in every setting."""
    return [name for name in settings[0] if all(setting.get(name, 0) > 0 for setting in settings)]


def _fitting(
    values: Sequence[float], settings: Sequence[Mapping[str, float]], names: Sequence[str], tolerance: float
) -> Iterator[tuple[float, str]]:
    """Cost and text of the expressions c p^a q^b that give the values."""
    numbers = np.asarray(values, dtype=float)
    for power in _powers(names):
        base = np.array([math.prod(s[name] ** e for name, e in power.items()) for s in settings])
        rest = numbers / base
        if np.ptp(rest) > tolerance * abs(rest[0]):
            continue
        for i, (number, sign) in enumerate(product(NUMBERS, (1, -1))):
            if abs(rest[0] - float(sign * number)) <= tolerance * abs(rest[0]):
                cost = sum(1 + EXPONENTS.index(e) / 4 for e in power.values()) + i / 20
                yield cost, _text(sign * number, power)


def _powers(names: Sequence[str]) -> Iterator[dict[str, float]]:
    """Products of powers of at most two names."""
    yield {}
    for count in (1, 2):
        for chosen in combinations(names, count):
            yield from (dict(zip(chosen, e, strict=True)) for e in product(EXPONENTS, repeat=count))


def _text(number: Fraction, power: Mapping[str, float]) -> str:
    above = [_power(name, e) for name, e in power.items() if e > 0]
    below = [_power(name, -e) for name, e in power.items() if e < 0]
    if abs(number.numerator) != 1 or not above:
        above.insert(0, str(abs(number.numerator)))
    if number.denominator != 1:
        below.insert(0, str(number.denominator))
    under = " ".join(below)
    text = " ".join(above) + (f"/({under})" if len(below) > 1 else f"/{under}" if below else "")
    return f"-{text}" if number < 0 else text


def _power(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"sqrt({name})" if exponent == 0.5 else f"{name}^{exponent:g}"
