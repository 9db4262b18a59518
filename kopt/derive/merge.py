"""Pairs of multipliers of which only the difference matters, found in a dual and merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import scipy.sparse as sp

from kopt.derive.dual import Ball, Dual, Multiplier
from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import Monomial
from kopt.derive.pairs import Merged, Pair
from kopt.derive.pieces import Arrow, Conjugate, Image, Piece
from kopt.derive.reading import Reading
from kopt.derive.writing import Writing
from kopt.show.mathematics import text

# Numbers that a sum of this many roundings explains are 0.
ROUNDING = 8 * np.finfo(float).eps
SAME = 1e-12
LETTERS = ("beta", "delta", "gamma", "eta", "theta", "zeta", "kappa")


class _NoPair(Exception):
    """Two multipliers that are more than their difference."""


def merged(dual: Dual, name: str = "beta") -> Merged | None:
    r"""The dual in the differences of its pairs of multipliers; None where it has no pair.

    name   of the difference, unless it is taken

    The signs on which this rests, such as epsilon >= 0, are those of the instance that was read.

    >>> import cvxpy as cp
    >>> from kopt.derive.dual import raw_dual
    >>> from kopt.derive.reading import read_program
    >>> from kopt.derive.trace import Ledger
    >>> from kopt.program import Program
    >>> x = cp.Variable(name="x")
    >>> primal = Program(cp.Minimize(cp.square(x)), {"a": x - 3 <= 1, "a_hat": 3 - x <= 1})
    >>> found = merged(raw_dual(read_program(primal, Ledger())))
    >>> found.pairs
    (Pair(name='beta', plus='a_hat', minus='a'),)
    >>> float(round(found.program(None).problem().solve(solver="CLARABEL"), 6))
    4.0
    """
    found = Merged(**{each.name: getattr(dual, each.name) for each in fields(Dual)})
    for first, second in combinations(dual.variables.values(), 2):
        alike = first.signed and second.signed and (first.shape, first.index) == (second.shape, second.index)
        if alike and {first.name, second.name} <= found.multipliers.keys():
            try:
                found = _with_pair(found, _oriented(found, first.name, second.name, name))
            except _NoPair:
                continue
    return found if found.pairs else None


def _with_pair(dual: Merged, pair: Pair) -> Merged:
    """The dual with one more pair merged."""

    def difference(form: LinearForm) -> LinearForm:
        return _difference(form, pair)

    return replace(
        dual,
        reading=_extended(dual.reading, pair),
        linear=_falling(_split(dual.linear, pair), pair),
        multipliers=_multipliers(dual, pair),
        pieces=_pieces(dual, pair),
        equalities={name: difference(form) for name, form in dual.equalities.items()},
        bounds=[replace(bound, form=_bound(bound.form, pair)) for bound in dual.bounds],
        balls=_changed(dual.balls, difference),
        vanishing=_changed(dual.vanishing, difference),
        # Forms stay in the multipliers of the pair, whose values are at hand.
        eliminated={
            name: replace(each, lengths=_changed(each.lengths, difference)) for name, each in dual.eliminated.items()
        },
        pairs=(*dual.pairs, pair),
    )


def _changed(part: Any, change: Callable[[LinearForm], LinearForm]) -> Any:
    """A part of a dual with every form in it changed."""
    match part:
        case LinearForm():
            return change(part)
        case list() | tuple():
            return type(part)(_changed(each, change) for each in part)
        case Piece() | Ball() | Image() | Arrow():
            return type(part)(**{name: _changed(value, change) for name, value in vars(part).items()})
    return part


def _oriented(dual: Dual, first: str, second: str, name: str) -> Pair:
    """The pair whose difference has the sign of the weight vector: minus that of the first slope with both of them."""
    forms = [form for piece in dual.pieces.values() for form in piece.forms]
    forms += [*dual.equalities.values(), *(each.slope.q for each in dual.balls), *(each.q for each in dual.vanishing)]
    for form in forms:
        if first in form.matrices and second in form.matrices:
            term = next(term for term in form.terms if term.multiplier in (first, second))
            falling = (term.monomial.number < 0) == (term.multiplier == first)
            return Pair(_fresh(dual, name), *((first, second) if falling else (second, first)))
    raise _NoPair


def _fresh(dual: Dual, name: str) -> str:
    """The first letter that stands in nothing else."""
    write, reading = Writing(dual.reading), dual.reading
    taken = " ".join([*reading.names.taken, *reading.constraints, *(text(write.row(row)) for row in reading.rows)])
    return next((letter for letter in (name, *LETTERS) if letter not in taken), f"{name}'")


def _extended(reading: Reading, pair: Pair) -> Reading:
    """The reading in which the difference is written like the multiplier of a constraint."""
    row = replace(reading.constraints[pair.plus], multiplier=pair.name)
    return replace(reading, constraints={**reading.constraints, pair.name: row})


def _multipliers(dual: Dual, pair: Pair) -> dict[str, Multiplier]:
    """The difference, of either sign, in the place of the first of its pair."""
    merged = replace(dual.multipliers[pair.plus], name=pair.name, signed=False)
    replaced = (merged if name in (pair.plus, pair.minus) else each for name, each in dual.multipliers.items())
    return {each.name: each for each in replaced}


def _split(form: LinearForm, pair: Pair) -> LinearForm:
    """P p + M m = 1/2 (P - M) beta + 1/2 (P + M) |beta|, where one of p_i and m_i is 0."""
    present = [form.matrices[name] for name in (pair.plus, pair.minus) if name in form.matrices]
    if not present:
        return form
    P, M = (form.matrices.get(name, sp.csr_array(present[0].shape)) for name in (pair.plus, pair.minus))
    unit = max(float(abs(each).max()) for each in present)
    matrices = {pair.name: _rounded((P - M) / 2, unit), pair.size: _rounded((P + M) / 2, unit)}
    added = LinearForm(form.index, tuple(_split_terms(form, pair)), matrices, np.zeros(form.size))
    return form.without(pair.plus).without(pair.minus) + added


def _split_terms(form: LinearForm, pair: Pair) -> Iterator[Term]:
    for stand_in, of_minus in ((pair.name, -0.5), (pair.size, 0.5)):
        for term in form.terms:
            if term.multiplier in (pair.plus, pair.minus):
                half = Monomial.constant(0.5 if term.multiplier == pair.plus else of_minus)
                yield replace(term, monomial=half * term.monomial, multiplier=stand_in)


def _rounded(matrix: sp.csr_array, unit: float) -> sp.csr_array:
    """The matrix without what rounding has left."""
    found = sp.csr_array(matrix)
    found.data[np.abs(found.data) <= ROUNDING * unit] = 0.0
    return found


def _occurs(form: LinearForm, name: str) -> bool:
    """Whether a form has a multiplier in its numbers or as it is written."""
    return name in form.matrices or any(term.multiplier == name for term in form.terms)


def _difference(form: LinearForm, pair: Pair) -> LinearForm:
    """A form that depends on the difference alone."""
    found = _split(form, pair)
    if _occurs(found, pair.size):
        raise _NoPair
    return found


def _falling(form: LinearForm, pair: Pair) -> LinearForm:
    """A form that does not rise in |beta|."""
    if pair.size in form.matrices and form.matrices[pair.size].max() > 0:
        raise _NoPair
    return form


def _bound(form: LinearForm, pair: Pair) -> LinearForm:
    """form >= 0 in the difference or in its size; C - d p_i >= 0 as C - d beta_i >= 0, C - d m_i as C + d beta_i."""
    found = _split(form, pair)
    if not (_occurs(found, pair.name) and _occurs(found, pair.size)):
        return _falling(found, pair)
    (name, matrix), *others = form.matrices.items()
    single = not others and bool(np.all(np.diff(matrix.indptr) <= 1)) and all(t.over is None for t in form.terms)
    if not single or matrix.max() > 0 or np.any(form.offset < 0):
        raise _NoPair
    return _turned(form, name, pair.name, 1.0 if name == pair.plus else -1.0)


def _turned(form: LinearForm, old: str, new: str, sign: float = 1.0) -> LinearForm:
    """A form in one multiplier with it replaced by plus or minus another."""
    factor = Monomial.constant(sign)
    terms = tuple(
        replace(term, multiplier=new, monomial=factor * term.monomial) if term.multiplier == old else term
        for term in form.terms
    )
    return replace(form, terms=terms, matrices={new: sign * form.matrices[old]})


def _pieces(dual: Dual, pair: Pair) -> dict[str, Piece]:
    """The pieces in the difference; equal squares of the two become one."""
    found = {name: piece for name, piece in dual.pieces.items() if not piece.is_zero}
    plus, minus = ({n: _square_of(p, m) for n, p in found.items()} for m in (pair.plus, pair.minus))
    for one, other in product(found, found):
        if _are_equal(plus[one], minus[other]):
            found[one] = _changed(found[one], lambda form: _turned(form, pair.plus, pair.name))
            del found[other]
            break
    return {name: _changed(piece, lambda form: _difference(form, pair)) for name, piece in found.items()}


_Weights = tuple[np.ndarray, tuple[Monomial, ...]]


def _square_of(piece: Piece, multiplier: str) -> _Weights | None:
    """The weights with which a piece is minus the squares of a multiplier, and how they are written."""
    if not isinstance(piece, Conjugate) or not piece.square or set(piece.slope.matrices) != {multiplier}:
        return None
    diagonal, terms, cost = piece.slope.diagonal(multiplier), piece.slope.terms, piece.cost
    if diagonal is None or len(terms) != 1 or piece.slope.offset.any():
        return None
    written = (cost.weight_name, cost.slope_name**2, terms[0].monomial ** 2)
    return piece.square * (diagonal / cost.slope) ** 2 / cost.weight, written


def _are_equal(one: _Weights | None, other: _Weights | None) -> bool:
    if one is None or other is None:
        return False
    return one[1] == other[1] and bool(np.allclose(one[0], other[0], rtol=SAME, atol=0))


__all__ = ["Merged", "Pair", "merged"]
