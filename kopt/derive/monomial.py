"""Coefficients of a derivation: a number times powers of symbols."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from kopt.show.formula import Formula, Kernel, Name, Number, Over, Phi, Power, Product, Quotient, Sum, Words

# Decimal numbers whose fraction has a larger denominator stay decimal: 0.1 is not 1/10 to the person who wrote it.
_DENOMINATORS = (1, 2, 3, 4, 6, 8, 16)


def number(value: float | Fraction) -> Fraction | float:
    """A number as a fraction where it is a simple one.

    >>> number(0.25), number(0.1), number(1 / 3)
    (Fraction(1, 4), 0.1, Fraction(1, 3))
    """
    if isinstance(value, Fraction):
        return value
    for denominator in _DENOMINATORS:
        near = Fraction(round(value * denominator), denominator) if abs(value) < 1e6 else None
        if near is not None and float(near) == float(value):
            return near
    return float(value)


@dataclass(frozen=True)
class Monomial:
    """number * product of symbol^exponent; a sum is a symbol as well, in brackets.

    >>> C, l = Monomial.of(Name("C")), Monomial.of(Name("l"))
    >>> from kopt.show.mathematics import text
    >>> text((C / l * Monomial(Fraction(1, 2))).formula()), text((C + l).formula()), (C / C).is_one
    ('C/(2 l)', 'C + l', True)
    """

    number: Fraction | float = Fraction(1)
    powers: tuple[tuple[Formula, Fraction | float], ...] = ()

    @classmethod
    def of(cls, symbol: Formula) -> Monomial:
        """A single symbol."""
        return cls(Fraction(1), ((symbol, Fraction(1)),))

    @classmethod
    def constant(cls, value: float | Fraction) -> Monomial:
        """A number."""
        return cls(number(value))

    @property
    def is_one(self) -> bool:
        """Whether nothing is left to print."""
        return self.number == 1 and not self.powers

    @property
    def indexed(self) -> bool:
        """Whether it depends on the point i."""
        return any(mentions(symbol, "i") for symbol, _ in self.powers)

    def __mul__(self, other: Monomial) -> Monomial:
        powers = dict(self.powers)
        for symbol, exponent in other.powers:
            powers[symbol] = powers.get(symbol, Fraction(0)) + exponent
        return Monomial(
            number(self.number * other.number) if self.number and other.number else Fraction(0),
            tuple((symbol, exponent) for symbol, exponent in powers.items() if exponent != 0),
        )

    def __pow__(self, exponent: Fraction | float) -> Monomial:
        exponent = number(exponent)
        value = self.number**exponent if self.number > 0 or exponent == int(exponent) else float("nan")
        raised = tuple((symbol, each * exponent) for symbol, each in self.powers)
        return Monomial(number(value) if isinstance(value, float) else value, raised)

    def __truediv__(self, other: Monomial) -> Monomial:
        return self * other ** Fraction(-1)

    def __neg__(self) -> Monomial:
        return replace(self, number=-self.number)

    def __add__(self, other: Monomial) -> Monomial:
        if set(self.powers) == set(other.powers):
            total = number(self.number + other.number)
            return Monomial(total, self.powers if total else ())
        if not self.number or not other.number:
            return other if not self.number else self
        return Monomial.of(Sum((*_terms(self), *_terms(other))))

    def __sub__(self, other: Monomial) -> Monomial:
        return self + -other

    def without_squares_of(self, signs: frozenset[Formula]) -> Monomial:
        """The same where the symbols in `signs` are +1 or -1: their even powers are gone."""
        powers = ((s, e % 2 if s in signs and e == int(e) else e) for s, e in self.powers)
        return replace(self, powers=tuple((symbol, exponent) for symbol, exponent in powers if exponent))

    def split(self, index: str = "i") -> tuple[Monomial, Monomial]:
        """The number and the factors that do not depend on an index, and the factors that do."""
        inner = tuple((s, e) for s, e in self.powers if mentions(s, index))
        outer = tuple((s, e) for s, e in self.powers if not mentions(s, index))
        return Monomial(self.number, outer), Monomial(Fraction(1), inner)

    def renamed(self, old: str, new: str) -> Monomial:
        """With an index replaced."""
        return replace(self, powers=tuple((reindexed(symbol, old, new), e) for symbol, e in self.powers))

    def formula(self, *others: Formula) -> Formula:
        """As a formula, times others; a letter alone goes above the fraction: alpha_i/(2 C)."""
        if self.number < 0 and any(isinstance(s, Sum) and e == 1 for s, e in self.powers):
            return self._turned().formula(*others)
        above: list[Formula] = [_power(s, e) for s, e in self.powers if e > 0]
        below: list[Formula] = [_power(s, -e) for s, e in self.powers if e < 0]
        top, bottom = self.number, 1
        if isinstance(self.number, Fraction) and (below or (above and abs(self.number.numerator) == 1)):
            top, bottom = Fraction(self.number.numerator), self.number.denominator
        if not below and bottom == 1:
            return product(*(() if top == 1 and (above or others) else (Number(top),)), *above, *others)
        if not above and len(others) == 1 and isinstance(others[0], Name):
            above, others = [others[0]], ()
        numerator = product(*(() if top == 1 and above else (Number(top),)), *above)
        denominator = product(*(() if bottom == 1 else (Number(bottom),)), *below)
        return product(Quotient(numerator, denominator), *others)

    def _turned(self) -> Monomial:
        """-(tau - 1) as (1 - tau)."""
        k = next(k for k, (s, e) in enumerate(self.powers) if isinstance(s, Sum) and e == 1)
        series = self.powers[k][0]
        assert isinstance(series, Sum)
        turned = Sum(tuple(negated(term) for term in reversed(series.terms)))
        return Monomial(-self.number, (*self.powers[:k], (turned, Fraction(1)), *self.powers[k + 1 :]))


ONE = Monomial()


def negated(formula: Formula) -> Formula:
    """Minus a formula, term by term."""
    match formula:
        case Sum(terms):
            return Sum(tuple(negated(term) for term in terms))
        case Number(value):
            return Number(-value)
        case Product((Number(value), *rest)):
            return product(*rest) if value == -1 else Product((Number(-value), *rest))
    return Product((Number(-1), formula))


def product(*factors: Formula) -> Formula:
    """A product, or the factor itself where there is only one."""
    flat = [f for each in factors for f in (each.factors if isinstance(each, Product) else (each,))]
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


def mentions(formula: Formula, index: str) -> bool:
    """Whether a formula has a free index."""
    match formula:
        case Name(_, indices):
            return any(index in _letters(each) for each in indices)
        case Kernel(left, right):
            return index in (left, right)
        case Phi(each):
            return index == each
        case Words(said):
            return f"_{index}" in said
        case Over(body, indices):
            return index not in indices and mentions(body, index)
        case Sum(parts) | Product(parts):
            return any(mentions(part, index) for part in parts)
        case Power(base, exponent):
            return mentions(base, index) or mentions(exponent, index)
        case Quotient(above, below):
            return mentions(above, index) or mentions(below, index)
    return any(mentions(part, index) for part in _children(formula))


def reindexed(formula: Formula, old: str, new: str) -> Formula:
    """The formula with a free index replaced."""
    match formula:
        case Name(letter, indices):
            return Name(letter, tuple(_replaced(each, old, new) for each in indices))
        case Kernel(left, right, kernel):
            return Kernel(new if left == old else left, new if right == old else right, kernel)
        case Phi(each, kernel):
            return Phi(new if each == old else each, kernel)
        case Words(said):
            return Words(said.replace(f"_{old}", f"_{new}"))
        case Over(body, indices, where):
            return formula if old in indices else Over(reindexed(body, old, new), indices, where)
    parts = {name: _reindexed_part(value, old, new) for name, value in _fields(formula).items()}
    return replace(formula, **parts)  # type: ignore[arg-type]


def _reindexed_part(value: object, old: str, new: str) -> object:
    if isinstance(value, Formula):
        return reindexed(value, old, new)
    if isinstance(value, tuple):
        return tuple(_reindexed_part(each, old, new) for each in value)
    return value


def _children(formula: Formula) -> list[Formula]:
    found: list[Formula] = []
    for value in _fields(formula).values():
        parts = value if isinstance(value, tuple) else (value,)
        found += [part for part in parts if isinstance(part, Formula)]
    return found


def _fields(formula: Formula) -> dict[str, Any]:
    return {field.name: getattr(formula, field.name) for field in fields(formula)}


def _letters(index: str) -> set[str]:
    return set(index.replace("_", " ").replace("(", " ").replace(")", " ").split())


def _replaced(index: str, old: str, new: str) -> str:
    return new if index == old else index.replace(f"_{old}", f"_{new}").replace(f"({old})", f"({new})")


def _power(symbol: Formula, exponent: Fraction | float) -> Formula:
    return symbol if exponent == 1 else Power(symbol, Number(exponent))


def _terms(monomial: Monomial) -> tuple[Formula, ...]:
    formula = monomial.formula()
    return formula.terms if isinstance(formula, Sum) else (formula,)
