r"""Pairs of multipliers of which only the difference matters: alpha_hat_i - alpha_i = beta_i, as the texts write it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, cast

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.derive.dual import Ball, Bound, Dual, Eliminated, Multiplier, equality_of, inequality_of
from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import Monomial, negated
from kopt.derive.pieces import Arrow, Conjugate, Lengths, Piece, Square, SquareOver
from kopt.derive.reading import Reading
from kopt.derive.section import NOT_NEGATIVE, Cell, Phrase, Section, listed
from kopt.derive.writing import Writing
from kopt.program import Program
from kopt.show.formula import Call, Formula, Name, Positive, Relation, Sum
from kopt.views import View

# Numbers that a sum of this many roundings explains are 0.
ROUNDING = 8 * np.finfo(float).eps
SAME = 1e-12
LETTERS = ("beta", "delta", "gamma", "eta", "theta", "zeta", "kappa")


class _NoPair(Exception):
    """Two multipliers that are more than their difference."""


@dataclass(frozen=True)
class Pair:
    """name = plus - minus, where plus = (name)_+ and minus = (-name)_+."""

    name: str
    plus: str
    minus: str

    @property
    def size(self) -> str:
        """What |name| = plus + minus is called in a form."""
        return f"|{self.name}|"


@dataclass
class Merged(Dual):
    r"""A dual in which the difference of two multipliers stands for both.

    Let p, m >= 0 be two multipliers and beta = p - m. They are merged where, with the other multipliers fixed,

    - the objective is g(beta) + sum_i s_i (p_i + m_i) - sum_i r_i (p_i^2 + m_i^2) with s_i <= 0 and r_i >= 0;
    - every equality, norm and curvature depends on beta alone;
    - every inequality depends on beta alone, or bounds a single p_i or m_i above by a number >= 0, or bounds above a
      combination of the p_i + m_i with weights >= 0.

    Nothing is lost. Given any feasible p, m, take t_i = min(p_i, m_i) off both: they stay >= 0, beta stays, upper
    bounds are kept by less, and the objective does not fall, as s_i <= 0 and r_i >= 0. One of p_i and m_i is now 0,
    so p = (beta)_+, m = (-beta)_+, p + m = |beta|, p^2 + m^2 = beta^2. Conversely each feasible beta gives feasible
    p, m with the same value. So the suprema are the same, and one is attained where the other is. Where s_i < 0 or
    r_i > 0 every optimum has p_i m_i = 0; elsewhere there may be others, and one of them has. For a number C >= 0,
    p_i <= C says that beta_i <= C, and m_i <= C that beta_i >= -C.

    The merged program is the dual function where p_i m_i = 0, not on its whole domain: it is restricted, at no cost.

    pairs   which were merged; `linear` and `bounds` are forms in beta and |beta|
    """

    pairs: tuple[Pair, ...] = ()

    def program(self, s: View | None) -> Program:
        """The dual in the differences, with both multipliers of a pair as expressions of theirs."""
        variables = {name: cp.Variable(m.shape, name=name) for name, m in self.variables.items()}
        values: dict[str, Any] = dict(variables)
        given: dict[str, Any] = {}
        for pair in self.pairs:
            beta = variables[pair.name]
            values[pair.size] = cp.abs(beta)
            given |= {pair.minus: cp.pos(-beta), pair.plus: cp.pos(beta)}
        total = self._objective(s, values)
        constraints = {name: equality_of(form, values, self._sign) for name, form in self.equalities.items()}
        constraints |= {b.about: inequality_of(b.form, values) for b in self.bounds if b.named}
        domain = [inequality_of(b.form, values) for b in self.bounds if not b.named]
        domain += [ball.slope.length(s, values) <= ball.radius.expression(values) for ball in self.balls]
        domain += [image.vanishes(s, values) for image in self.vanishing]
        domain += [variables[name] >= 0 for name, m in self.variables.items() if m.signed]
        given |= {name: each.expression(s, values | given) for name, each in self.eliminated.items()}
        # A multiplier that occurs in combinations only would not be found among the variables.
        seen = {v.name() for part in (total, *constraints.values(), *domain) for v in part.variables()}
        own = {name: variables[name] for name in self.variables if name in self.reading.primal.constraints}
        given |= {name: variable for name, variable in own.items() if name not in seen}
        sense = cp.Maximize if self._sign > 0 else cp.Minimize
        return Program(sense(total), constraints, domain=domain, multipliers=given)

    def section(self) -> Section:
        """The program written out."""
        return Section(
            f"Dual in {', '.join(pair.name for pair in self.pairs)}",
            tuple(self._rows(Writing(self.reading))),
            "less of both at the same difference is allowed and no worse, so that one of the two can be 0",
        )

    def _rows(self, write: Writing) -> Iterator[tuple[Cell, ...]]:
        for k, pair in enumerate(self.pairs):
            difference = Sum((self._entry(pair.plus, pair), negated(self._entry(pair.minus, pair))))
            yield "with" if k == 0 else "", Relation(self._entry(pair.name, pair), "=", difference), ""
        objective = self._sized(write.dual_objective(self))
        yield ("max", objective, "") if self._sign > 0 else ("min", negated(objective), "")
        for k, (condition, about) in enumerate(self._conditions(write)):
            yield (
                "s.t." if k == 0 else "",
                condition if isinstance(condition, Phrase) else self._sized(condition),
                about,
            )
        for k, pair in enumerate(self.pairs):
            beta = self._entry(pair.name, pair)
            yield "then" if k == 0 else "", Relation(self._entry(pair.plus, pair), "=", Positive(beta)), ""
            yield "", Relation(self._entry(pair.minus, pair), "=", Positive(negated(beta))), ""

    def _conditions(self, write: Writing) -> Iterator[tuple[Formula | Phrase, Cell]]:
        for name, form in self.equalities.items():
            yield write.equality(form), _about((name, form))
        boxed: list[Bound] = []
        for pair in self.pairs:
            for lower, upper in self._box(pair):
                boxed += [lower, upper]
                left = Relation((-lower.form.constants).formula(), "<=", self._entry(pair.name, pair))
                named = [(bound.about, bound.form) for bound in (lower, upper) if bound.named]
                yield Relation(left, "<=", upper.form.constants.formula()), _about(*named)
        for bound in self.bounds:
            if not any(bound is each for each in boxed):
                yield write.bound(bound), _about((bound.about, bound.form)) if bound.named else ""
        for ball in self.balls:
            yield write.ball(ball), ""
        for image in self.vanishing:
            yield write.vanishing(image), ""
        signed = [write.multiplier(name) for name, m in self.variables.items() if m.signed]
        if signed:
            yield listed(signed, NOT_NEGATIVE), ""

    def _box(self, pair: Pair) -> list[tuple[Bound, Bound]]:
        """The bounds -C <= beta_i and beta_i <= C, where each stands once."""
        lower = [bound for bound in self.bounds if _is_entry(bound.form, pair.name, 1)]
        upper = [bound for bound in self.bounds if _is_entry(bound.form, pair.name, -1)]
        return [(lower[0], upper[0])] if len(lower) == len(upper) == 1 else []

    def _entry(self, name: str, pair: Pair) -> Formula:
        index = self.multipliers[pair.name].index
        return Name(name, (index,) if index else ())

    def _sized(self, formula: Formula) -> Formula:
        """The formula with |beta_i| where a form has its stand-in."""
        names = {pair.size: pair.name for pair in self.pairs}
        if isinstance(formula, Name):
            inside = Name(names.get(formula.letter, formula.letter), formula.index)
            return Call("abs", (inside,)) if formula.letter in names else formula
        parts = {each.name: self._sized_part(getattr(formula, each.name)) for each in fields(formula)}
        return cast(Formula, replace(formula, **parts))

    def _sized_part(self, value: Any) -> Any:
        if isinstance(value, Formula):
            return self._sized(value)
        return tuple(map(self._sized_part, value)) if isinstance(value, tuple) else value


def merged(dual: Dual, name: str = "beta") -> Merged | None:
    r"""The dual in the differences of its pairs of multipliers; None where it has no pair.

    name   of the difference, unless it is taken

    The signs on which this rests, such as epsilon >= 0, are those of the instance that was read.

    >>> from kopt.derive.dual import raw_dual
    >>> from kopt.derive.reading import read_program
    >>> from kopt.derive.trace import Ledger
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
        if first.name not in found.multipliers or second.name not in found.multipliers:
            continue
        if first.signed and second.signed and (first.shape, first.index) == (second.shape, second.index):
            try:
                found = _with_pair(found, _oriented(found, first.name, second.name, name))
            except _NoPair:
                continue
    return found if found.pairs else None


def _with_pair(dual: Merged, pair: Pair) -> Merged:
    """The dual with one more pair merged."""
    if not any(pair.plus in form.matrices and pair.minus in form.matrices for form in _through_differences(dual)):
        raise _NoPair
    return Merged(
        reading=_extended(dual.reading, pair),
        linear=_falling(_split(dual.linear, pair), pair),
        multipliers=_multipliers(dual, pair),
        pieces=_pieces(dual, pair),
        equalities={name: _difference(form, pair) for name, form in dual.equalities.items()},
        bounds=[replace(bound, form=_bound(bound.form, pair)) for bound in dual.bounds],
        balls=[
            Ball(replace(ball.slope, q=_difference(ball.slope.q, pair)), _difference(ball.radius, pair))
            for ball in dual.balls
        ],
        vanishing=[replace(image, q=_difference(image.q, pair)) for image in dual.vanishing],
        eliminated={name: _eliminated(each, pair) for name, each in dual.eliminated.items()},
        pairs=(*dual.pairs, pair),
    )


def _through_differences(dual: Dual) -> list[LinearForm]:
    """The forms that may only depend on a difference."""
    return [
        *(form for piece in dual.pieces.values() for form in piece.forms),
        *dual.equalities.values(),
        *(ball.slope.q for ball in dual.balls),
        *(image.q for image in dual.vanishing),
    ]


def _oriented(dual: Dual, first: str, second: str, name: str) -> Pair:
    """The pair whose difference has the sign of the weight vector: minus that of the first slope."""
    fresh = _fresh(dual, name)
    for form in (*_through_differences(dual), -dual.linear):
        for term in form.terms:
            if term.multiplier in (first, second):
                rising = term.monomial.number > 0
                plus = second if rising == (term.multiplier == first) else first
                return Pair(fresh, plus, second if plus == first else first)
    raise _NoPair


def _fresh(dual: Dual, name: str) -> str:
    """The first letter that stands for nothing else."""
    write, names = Writing(dual.reading), dual.reading.names
    taken = {*names.taken, *names.given, *dual.reading.constraints}
    taken |= {letter for row in dual.reading.rows for letter in _letters(write.row(row))}
    for letter in (name, *LETTERS):
        if letter not in taken:
            return letter
    while name in taken:
        name += "'"
    return name


def _letters(value: Any) -> Iterator[str]:
    if isinstance(value, Name):
        yield value.letter
    elif isinstance(value, Formula):
        yield from (letter for each in fields(value) for letter in _letters(getattr(value, each.name)))
    elif isinstance(value, tuple):
        yield from (letter for each in value for letter in _letters(each))


def _extended(reading: Reading, pair: Pair) -> Reading:
    """The reading in which the difference is written like the multiplier of a constraint."""
    row = replace(reading.constraints[pair.plus], multiplier=pair.name)
    return replace(reading, constraints={**reading.constraints, pair.name: row})


def _multipliers(dual: Dual, pair: Pair) -> dict[str, Multiplier]:
    """The difference, of either sign, in the place of the first of its pair."""
    found: dict[str, Multiplier] = {}
    for name, each in dual.multipliers.items():
        if name in (pair.plus, pair.minus):
            found[pair.name] = replace(each, name=pair.name, signed=False)
        else:
            found[name] = each
    return found


def _split(form: LinearForm, pair: Pair) -> LinearForm:
    """P p + M m = 1/2 (P - M) beta + 1/2 (P + M) |beta|, where one of p_i and m_i is 0."""
    present = [name for name in (pair.plus, pair.minus) if name in form.matrices]
    if not present:
        return form
    empty = sp.csr_array(form.matrices[present[0]].shape)
    P, M = (sp.csr_array(form.matrices.get(name, empty)) for name in (pair.plus, pair.minus))
    unit = float(max(abs(P).max(), abs(M).max()))
    matrices = {pair.name: _rounded((P - M) / 2, unit), pair.size: _rounded((P + M) / 2, unit)}
    added = LinearForm(form.index, tuple(_split_terms(form, pair)), matrices, np.zeros(form.size))
    return form.without(pair.plus).without(pair.minus) + added


def _split_terms(form: LinearForm, pair: Pair) -> Iterator[Term]:
    for stand_in, falling in ((pair.name, -0.5), (pair.size, 0.5)):
        for term in form.terms:
            if term.multiplier in (pair.plus, pair.minus):
                half = Monomial.constant(0.5 if term.multiplier == pair.plus else falling)
                yield replace(term, monomial=half * term.monomial, multiplier=stand_in)


def _rounded(matrix: sp.csr_array, unit: float) -> sp.csr_array:
    """The matrix without what rounding has left."""
    found = sp.csr_array(matrix)
    found.data[np.abs(found.data) <= ROUNDING * unit] = 0.0
    found.eliminate_zeros()
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
    """form >= 0 in the difference or in its size."""
    found = _split(form, pair)
    if not _occurs(found, pair.size):
        return found
    if not _occurs(found, pair.name):
        return _falling(found, pair)
    return _single_bound(form, pair)


def _single_bound(form: LinearForm, pair: Pair) -> LinearForm:
    """C - d p_i >= 0 as C - d beta_i >= 0, and C - d m_i >= 0 as C + d beta_i >= 0, where C and d are >= 0."""
    (name, matrix), *others = form.matrices.items()
    alone = not others and bool(np.all(np.diff(matrix.indptr) <= 1))
    if not alone or matrix.max() > 0 or np.any(form.offset < 0) or any(t.over is not None for t in form.terms):
        raise _NoPair
    return _turned(form, name, pair.name, 1.0 if name == pair.plus else -1.0)


def _turned(form: LinearForm, old: str, new: str, sign: float = 1.0) -> LinearForm:
    """The form with a multiplier replaced by plus or minus another."""
    factor = Monomial.constant(sign)
    terms = tuple(
        replace(term, multiplier=new, monomial=factor * term.monomial) if term.multiplier == old else term
        for term in form.terms
    )
    matrices = {new if m == old else m: sign * each if m == old else each for m, each in form.matrices.items()}
    return replace(form, terms=terms, matrices=matrices)


def _pieces(dual: Dual, pair: Pair) -> dict[str, Piece]:
    """The pieces in the difference; equal squares of the two become one."""
    squares = {name: _square_of(piece) for name, piece in dual.pieces.items()}
    own = [name for name, each in squares.items() if each is not None and each[0] in (pair.plus, pair.minus)]
    if own and not _same_squares([cast(_Weighted, squares[name]) for name in own]):
        raise _NoPair
    found: dict[str, Piece] = {}
    for name, piece in dual.pieces.items():
        if name in own:
            if cast(_Weighted, squares[name])[0] == pair.plus:
                found[name] = _renamed(piece, pair)
        elif not piece.is_zero:
            found[name] = _piece(piece, pair)
    return found


_Weighted = tuple[str, np.ndarray, tuple[Monomial, ...]]


def _square_of(piece: Piece) -> _Weighted | None:
    """The multiplier of which a piece is minus the weighted squares, the weights, and how they are written."""
    match piece:
        case Conjugate(cost, form) if piece.square:
            factors = piece.square / cost.weight / cost.slope**2
            written: tuple[Monomial, ...] = (cost.weight_name, cost.slope_name**2)
        case Square(Arrow(_, form), a, a_name):
            factors, written = np.full(form.size, 1 / (4 * a)), (a_name,)
        case _:
            return None
    if len(form.matrices) != 1 or len(form.terms) != 1 or form.offset.any():
        return None
    (name,) = form.matrices
    diagonal = form.diagonal(name)
    return None if diagonal is None else (name, factors * diagonal**2, (*written, form.terms[0].monomial ** 2))


def _same_squares(squares: list[_Weighted]) -> bool:
    """Whether the squares of one multiplier of a pair have the weights of those of the other."""
    if len(squares) != 2 or squares[0][0] == squares[1][0]:
        return False
    (_, left, left_name), (_, right, right_name) = squares
    return left_name == right_name and bool(np.all(np.abs(left - right) <= SAME * np.abs(left)))


def _renamed(piece: Piece, pair: Pair) -> Piece:
    """A square of plus as one of the difference."""
    if isinstance(piece, Conjugate):
        slope, u = (_turned(form, pair.plus, pair.name) for form in (piece.slope, piece.u))
        return replace(piece, slope=slope, u=u)
    assert isinstance(piece, Square)
    return replace(piece, slope=replace(piece.slope, q=_turned(piece.slope.q, pair.plus, pair.name)))


def _piece(piece: Piece, pair: Pair) -> Piece:
    """A piece that depends on the difference alone."""
    match piece:
        case Square(slope):
            return replace(piece, slope=replace(slope, q=_difference(slope.q, pair)))
        case SquareOver(slope, a):
            return SquareOver(replace(slope, q=_difference(slope.q, pair)), _difference(a, pair))
        case Lengths():
            return _lengths(piece, pair)
        case Conjugate():
            return replace(piece, slope=_difference(piece.slope, pair), u=_difference(piece.u, pair))
    raise _NoPair


def _lengths(lengths: Lengths, pair: Pair) -> Lengths:
    slopes = tuple(replace(slope, q=_difference(slope.q, pair)) for slope in lengths.slopes)
    return replace(lengths, slopes=slopes)


def _eliminated(each: Eliminated, pair: Pair) -> Eliminated:
    """Forms stay in the multipliers of the pair, whose values are at hand; lengths are taken of the difference."""
    return each if each.lengths is None else replace(each, lengths=_lengths(each.lengths, pair))


def _is_entry(form: LinearForm, name: str, sign: int) -> bool:
    """Whether a form is a constant plus or minus an entry of a multiplier."""
    if set(form.matrices) != {name}:
        return False
    diagonal = form.diagonal(name)
    written = [term.monomial for term in form.terms if term.multiplier == name]
    return diagonal is not None and bool(np.all(diagonal == sign)) and written == [Monomial.constant(float(sign))]


def _about(*members: tuple[str, LinearForm]) -> Cell:
    """The primal variables that are the multipliers of a constraint."""
    names: list[Formula] = [Name(name, (form.index,) if form.index else ()) for name, form in members]
    return Phrase((": ", *listed(names, "").parts)) if names else ""


__all__ = ["Merged", "Pair", "merged"]
