"""Numbers and factors of a derivation as short text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kopt.show.expression import Writer

# A ratio of two differences of rounded values that equals a fraction agrees with it to this.
AGREES = 1e-6
LARGEST_DENOMINATOR = 12

text = Writer().text


def shown(value: Any, most: int = 4) -> str:
    """A number, or the first entries of an array.

    >>> shown(0.25), shown(np.arange(6) / 3)
    ('0.25', '[0, 0.3333, 0.6667, 1, ...]')
    """
    entries = [f"{x + 0.0:.4g}" for x in np.ravel(np.asarray(value, dtype=float), order="F")]
    if np.ndim(value) == 0:
        return entries[0]
    return f"[{', '.join(entries[:most])}{', ...' if len(entries) > most else ''}]"


def factor(ratios: ArrayLike, scalars: Mapping[str, ArrayLike], numbers: Sequence[float]) -> str | None:
    """The factor that is meant by its values at several points; None where it is not one number or power.

    scalars   the values of the scalar variables at these points, by name
    numbers   the constants that the expressions are written with

    >>> factor([0.5, 0.5], {}, []), factor([0.5, 0.25], {"lambda": [1.0, 2.0]}, []), factor([1 / 2.3] * 2, {}, [2.3])
    ('1/2', '1/2 / lambda', '1 / 2.3')
    """
    values = np.asarray(ratios)
    for name, power in [("", 0), *((name, power) for name in scalars for power in (1, -1, 2, -2))]:
        rest = values / np.asarray(scalars[name]) ** power if power else values
        if np.isfinite(rest).all() and np.ptp(rest) <= AGREES * np.max(np.abs(rest)):
            size = "" if abs(power) < 2 else f"^{abs(power)}"
            constant = number(float(np.mean(rest)), numbers)
            if not power:
                return constant
            return f"{constant} {'*' if power > 0 else '/'} {name}{size}"
    return None


def number(value: float, numbers: Sequence[float] = ()) -> str:
    """A number as a fraction, or a fraction times or over one of some constants, or in digits.

    >>> number(-0.75), number(4.69, [2.345]), number(0.1234567)
    ('-3/4', '2 * 2.345', '0.123457')
    """
    for constant, sign in [(1.0, ""), *((c, sign) for c in numbers for sign in "/*")]:
        part = value * constant if sign == "/" else value / constant
        fraction = Fraction(part).limit_denominator(LARGEST_DENOMINATOR)
        if abs(part - fraction) <= AGREES * abs(part):
            if sign == "/":
                return f"{fraction.numerator} / {fraction.denominator * constant:g}"
            return f"{fraction} * {constant:g}" if sign else str(fraction)
    return f"{value:.6g}"


def affine(coefficients: Mapping[str, np.ndarray], constant: float, most: int = 4) -> str:
    """constant + sum over the variables of <coefficients, variable>, with its first terms only.

    >>> affine({"alpha": np.array([-1.0, 0.0, 2.5]), "lambda": np.array(1.0)}, 3.0)
    '3 - alpha[0] + 2.5 alpha[2] + lambda'
    """
    size = max([abs(constant), *(float(np.max(np.abs(c))) for c in coefficients.values())])
    pairs = [(constant, "")] if abs(constant) > AGREES * size else []
    for name, entries in coefficients.items():
        used = [(c, index) for index, c in np.ndenumerate(entries) if abs(c) > AGREES * size]
        pairs += [(c, f"{name}[{', '.join(map(str, index))}]" if index else name) for c, index in used]
    parts = [_signed(float(c), label) for c, label in pairs[:most]] + ["+ ..."] * (len(pairs) > most)
    line = " ".join(parts) or "0"
    return line.removeprefix("+ ") if line[0] == "+" else line.replace("- ", "-", 1)


def _signed(coefficient: float, label: str) -> str:
    size = f"{abs(coefficient):.4g}"
    body = f"{size} {label}".strip() if size != "1" or not label else label
    return f"{'-' if coefficient < 0 else '+'} {body}"
