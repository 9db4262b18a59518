"""Terms with their coefficients, put together as a person writes them: in brackets, in one sum, with a single sign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import ONE, Monomial, product
from kopt.show.formula import Formula, Inner, Name, Norm, Number, Over, Product, Quotient, Sum, Words

Scaled: TypeAlias = tuple[Monomial, Formula]
ZERO, ONE_ITSELF = Number(0), Number(1)
NOTHING = Monomial(Fraction(0))


def total_of(terms: Iterable[Formula]) -> Formula:
    """A sum that begins with a positive term where it has one, or its only term, or 0."""
    found = list(terms)
    if not found:
        return ZERO
    first = next((k for k, term in enumerate(found) if not is_negative(term)), 0)
    found.insert(0, found.pop(first))
    return found[0] if len(found) == 1 else Sum(tuple(found))


def is_negative(formula: Formula) -> bool:
    """Whether a minus sign stands in front of a formula."""
    match formula:
        case Number(value):
            return value < 0
        case Product(factors):
            return is_negative(factors[0])
        case Quotient(above, _):
            return is_negative(above)
    return False


def grouped(terms: Sequence[Scaled]) -> list[Formula]:
    """Terms with the same symbols in their coefficients stand together in brackets: y_i (<w, phi(x_i)> + b)."""
    kinds: dict[object, list[Scaled]] = {}
    for k, (monomial, core) in enumerate(terms):
        alone = core == ONE_ITSELF or not monomial.powers
        kinds.setdefault(k if alone else frozenset(monomial.powers), []).append((monomial, core))
    return [_bracketed(kind) for kind in kinds.values()]


def _bracketed(terms: list[Scaled]) -> Formula:
    """Terms whose coefficients have the same symbols."""
    if len(terms) == 1:
        monomial, core = terms[0]
        return monomial.formula() if core == ONE_ITSELF else monomial.formula(core)
    base = next((monomial for monomial, _ in terms if monomial.number > 0), terms[0][0])
    return base.formula(total_of((Monomial(m.number) / Monomial(base.number)).formula(core) for m, core in terms))


def summed(terms: Sequence[Scaled], letter: str = "i", where: str = "") -> list[Formula]:
    """Terms summed over the same index, those with the same factor outside in one sum."""
    groups: dict[Monomial, list[Scaled]] = {}
    for monomial, core in terms:
        if not monomial.number:
            continue
        outer, inner = monomial.split(letter)
        key = Monomial(Fraction(1), outer.powers)
        groups.setdefault(key, []).append((Monomial(outer.number) * inner, core))
    found = []
    for outer, members in groups.items():
        sizes = {_size(m) for m, _ in members}
        common = Monomial(sizes.pop()) if len(sizes) == 1 else ONE
        if all(m.number < 0 for m, _ in members):
            common = -common
        inside = [(m / common, core) for m, core in members]
        inside, condition = _condition(inside, where)
        found.append((outer * common).formula(Over(total_of(grouped(inside)), (letter,), condition)))
    return found


def _condition(terms: list[Scaled], where: str) -> tuple[list[Scaled], str]:
    """A factor [y_i > 0] that all terms share becomes the condition of the sum."""
    for symbol, _ in terms[0][0].powers if not where else ():
        if isinstance(symbol, Words) and all((symbol, 1) in m.powers for m, _ in terms):
            stripped = [(m / Monomial.of(symbol), core) for m, core in terms]
            return stripped, symbol.text[1:-1]
    return terms, where


def common_size(form: LinearForm) -> Monomial:
    """The size of the numbers in a form where it is the same, without a sign."""
    sizes = {_size(term.monomial) for term in form.terms}
    return Monomial(sizes.pop()) if len(sizes) == 1 else ONE


def added(monomials: Iterable[Monomial]) -> list[Monomial]:
    """Constants with the same symbols, added."""
    found: dict[object, Monomial] = {}
    for monomial in monomials:
        key = frozenset(monomial.powers)
        found[key] = found[key] + monomial if key in found else monomial
    return [monomial for monomial in found.values() if monomial.number]


def _expanded(monomial: Monomial) -> list[Monomial]:
    """A factor that is a sum, such as 1 + epsilon, multiplied out."""
    for k, (symbol, exponent) in enumerate(monomial.powers):
        if isinstance(symbol, Sum) and exponent == 1:
            rest = Monomial(monomial.number, monomial.powers[:k] + monomial.powers[k + 1 :])
            return [rest * _as_monomial(term) for term in symbol.terms]
    return [monomial]


def _as_monomial(formula: Formula) -> Monomial:
    match formula:
        case Number(value):
            return Monomial.constant(value)
        case Product((Number(value), *rest)):
            return Monomial.constant(value) * Monomial.of(product(*rest))
    return Monomial.of(formula)


def collected(terms: Sequence[Term]) -> list[Term]:
    """Terms with their factors multiplied out, where fewer of them are left then."""
    found: list[Term] = []
    expanded = [replace(term, monomial=each) for term in terms for each in _expanded(term.monomial)]
    for term in expanded:
        alike = next((k for k, before in enumerate(found) if term.alike(before)), None)
        if alike is None:
            found.append(term)
        else:
            found[alike] = replace(term, monomial=found[alike].monomial + term.monomial)
    left = [term for term in found if term.monomial.number]
    return left if len(left) < len(terms) else list(terms)


def over_index(coefficient: Monomial, body: Formula, index: str) -> Formula:
    """A coefficient times a formula, summed over an index; what does not depend on it stands in front."""
    outer, inner = coefficient.split(index or "i")
    inside = inner.formula(body) if inner.powers else body
    return outer.formula(Over(inside, (index,))) if index else outer.formula(inside)


def squared_factors(common: Monomial, entry: Formula) -> tuple[Monomial, Formula]:
    """The square of the coefficient of an entry that is a single product, and what is left to be squared."""
    *others, last = factors_of(entry)
    if not others or not all(isinstance(each, Name | Number) for each in (*others, last)):
        return squared(common), unsigned(entry)
    for factor in others:
        common = common * (Monomial.constant(factor.value) if isinstance(factor, Number) else Monomial.of(factor))
    return squared(common), last


def _size(monomial: Monomial) -> Fraction | float:
    return -monomial.number if monomial.number < 0 else monomial.number


def squared(monomial: Monomial) -> Monomial:
    """The square of a coefficient, without a sign."""
    return Monomial(_size(monomial), monomial.powers) ** Fraction(2)


def unsigned(entry: Formula) -> Formula:
    """Without a minus sign in front: only squares are taken of it."""
    if isinstance(entry, Product) and entry.factors[0] == Number(-1):
        return product(*entry.factors[1:])
    return entry


def factors_of(formula: Formula) -> tuple[Formula, ...]:
    """The factors of a product; any other formula is the only one."""
    return formula.factors if isinstance(formula, Product) else (formula,)


def indices(index: str) -> tuple[str, ...]:
    """The index of a name, where it has one."""
    return (index,) if index else ()


def has_norm(formula: Formula) -> bool:
    """Whether an inner product or a norm is among the factors."""
    return any(isinstance(f, Inner | Norm) for f in factors_of(formula))


def without_minus(formula: Formula) -> Formula | None:
    """The residual of a constraint x >= 0 without its minus sign; None for any other."""
    if isinstance(formula, Product) and isinstance(formula.factors[0], Number) and formula.factors[0].value == -1:
        return product(*formula.factors[1:])
    return None


def opposite(t: list[Scaled], plus: Monomial = NOTHING) -> Formula:
    """plus - t."""
    constants = [plus, *(-each for m, core in t if core == ONE_ITSELF for each in _expanded(m))]
    terms = [(constant, ONE_ITSELF) for constant in added(constants)]
    return total_of(grouped([*terms, *((-m, core) for m, core in t if core != ONE_ITSELF)]))
