"""Forms, rows and pieces of a derivation as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal, TypeAlias

import cvxpy as cp
import numpy as np

from kopt.derive.affine import Affine, Form, Part
from kopt.derive.dual import Ball, Bound, Dual, polynomial
from kopt.derive.forms import LinearForm, Term
from kopt.derive.monomial import ONE, Monomial, negated, product, reindexed
from kopt.derive.pieces import Arrow, Conjugate, Image, Lengths, Piece, Slope, Square, SquareOver
from kopt.derive.reading import Cost, Reading, Row, is_squared, label_of
from kopt.derive.sums import (
    ONE_ITSELF,
    ZERO,
    Scaled,
    added,
    collected,
    common_size,
    factors_of,
    grouped,
    has_norm,
    indices,
    opposite,
    over_index,
    squared,
    squared_factors,
    summed,
    unsigned,
    without_minus,
)
from kopt.derive.sums import (
    total_of as total_of,
)
from kopt.losses import Loss
from kopt.losses.absolute import Absolute
from kopt.losses.excess import Excess
from kopt.losses.exponential import Exponential
from kopt.losses.logistic import Logistic
from kopt.losses.power_hinge import PowerHinge
from kopt.losses.squared import Squared
from kopt.losses.squared_excess import SquaredExcess
from kopt.show.formula import (
    Call,
    Formula,
    Inner,
    Kernel,
    Name,
    Norm,
    Number,
    Over,
    Phi,
    Positive,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Words,
)
from kopt.show.mathematics import text

Sign: TypeAlias = Literal["=", "<=", ">="]
_HALF = Fraction(1, 2)


class Writing:
    """The formulas of one derivation.

    losses   those that formulas call by a name, by that name
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        # Labels are +1 or -1 in classification: their squares are gone.
        y = reading.y
        signs = y is not None and bool(np.all(np.abs(y) == 1))
        self.signs = frozenset({Name("y", ("i",)), Name("y", ("j",))} if signs else ())
        self.losses: dict[str, Loss] = {}
        self._several = len({cost.loss for row in reading.rows for cost in row.costs if not is_squared(cost)}) > 1
        kernels = {vector.name: reading.kernels.get(vector.name) for vector in reading.vectors.values()}
        self._kernels = kernels if len(set(kernels.values())) > 1 else {}

    # Rows of the primal

    def variable(self, variable: cp.Variable, label: str) -> Formula:
        """An entry of a variable, or what stands for a vector in feature space."""
        vector = self.reading.vectors.get(variable.id)
        if vector is None:
            return Name(variable.name(), (label,) if label else ())
        name = Name(vector.name)
        if variable is vector.values:
            return Inner(name, self.phi(vector.name, label))
        return Inner(name, name) if variable is vector.norm_squared else Norm(name)

    def phi(self, weight: str, index: str) -> Formula:
        """The image of a point in the feature space of a weight vector, named where there are several kernels."""
        return Phi(index, self._kernels.get(weight) or "")

    def kernel(self, weight: str) -> Formula:
        """k(x_i, x_j) in the feature space of a weight vector."""
        return Kernel("i", "j", self._kernels.get(weight) or "")

    def affine(self, row: Row, affine: Affine) -> Formula:
        """An affine expression; parts with a common factor stand together in brackets."""
        return total_of(self._terms_of(row, affine))

    def _terms_of(self, row: Row, affine: Affine) -> list[Formula]:
        entries: list[Scaled] = []
        totals: dict[str, list[Scaled]] = {}
        for part in affine.parts:
            core = self._part(row, part)
            if part.form is Form.TOTAL:
                label = "j" if self._label(row, part) == "j" else "i"
                totals.setdefault(label, []).append(core)
            else:
                entries.append(core)
        entries += [(constant, ONE_ITSELF) for constant in added(affine.constants)]
        return [*grouped(entries), *(f for letter, terms in totals.items() for f in summed(terms, letter))]

    def _label(self, row: Row, part: Part) -> str:
        return label_of(self.reading, part, row)

    def _part(self, row: Row, part: Part) -> Scaled:
        label = self._label(row, part)
        monomial = part.monomial
        if part.form is Form.MATRIX:
            inner = "j" if row.index != "j" else "i"
            entry = Name(part.letter, tuple(x for x in (row.index, inner) if x))
            return monomial, Over(product(entry, self.variable(part.variable, inner)), (inner,))
        if label == "j" and row.index != "i":
            monomial = monomial.renamed("i", "j")
        return monomial, self.variable(part.variable, label)

    def cost(self, cost: Cost) -> Formula:
        """sum_i weight_i loss(slope_i x_i + shift_i)."""
        index = self.reading.index[cost.variable.id]
        x = self.variable(cost.variable, index)
        terms = [(cost.slope_name, x)] + ([] if cost.shift_name is None else [(cost.shift_name, ONE_ITSELF)])
        return over_index(cost.weight_name, self._loss(cost.loss, terms), index)

    def _loss(self, loss: Loss, t: list[Scaled]) -> Formula:
        """A loss at t: as a formula where it has a short one, else by the name that a legend explains."""
        match loss:
            case Squared():
                return Power(total_of(grouped(t)), Number(2))
            case Absolute():
                return Call("abs", (total_of(grouped(t)),))
            case Logistic():
                return Call("log", (Sum((ONE_ITSELF, Call("exp", (opposite(t),)))),))
            case Exponential():
                return Call("exp", (opposite(t),))
            case Excess(epsilon=0.0, side=1):
                return Positive(total_of(grouped(t)))
            case SquaredExcess(epsilon=0.0, side=1):
                return Power(Positive(total_of(grouped(t))), Number(2))
            case PowerHinge():
                return Power(Positive(opposite(t, ONE)), self.reading.names.number(loss.p).formula())
        return Call(self.named(loss), (total_of(grouped(t)),))

    def named(self, loss: Loss) -> str:
        """The name of a loss, which a legend then explains."""
        known = next((name for name, each in self.losses.items() if each == loss), None)
        name = known or (f"loss{len(self.losses) + 1}" if self._several else "loss")
        self.losses[name] = loss
        return name

    def row(self, row: Row) -> Formula:
        """A whole row: affine terms first, then costs."""
        terms = self._terms_of(row, row.affine)
        costs = [self.cost(cost) for cost in row.costs]
        lengths = [length.name.formula(Norm(Name(length.variable.name()))) for length in row.lengths]
        vectors = [t for t in terms if has_norm(t)]
        return total_of([*vectors, *costs, *lengths, *(t for t in terms if not has_norm(t))])

    def relation(self, row: Row) -> Relation:
        """A constraint as it was declared; an inequality with the vector, or more variables, on its left."""
        equality = row.relation == "="
        if row.sides is None:
            constant = replace(row.affine, parts=(), constants=tuple(-each for each in row.affine.constants))
            curved = replace(row, affine=replace(row.affine, constants=()))
            return Relation(self.row(curved), "=" if equality else "<=", self.affine(row, constant))
        left, right = row.sides
        turned = not equality and self._weight(right) > self._weight(left)
        if turned:
            left, right = right, left
        sign: Sign = "=" if equality else ">=" if turned else "<="
        return Relation(self.affine(row, left), sign, self.affine(row, right))

    def _weight(self, side: Affine) -> int:
        vectors = [part for part in side.parts if part.variable.id in self.reading.vectors]
        return 100 * bool(vectors) + len(side.parts)

    def multiplier(self, name: str) -> Formula:
        """A multiplier with its index."""
        return Name(name, indices(self.reading.constraints[name].index))

    def priced(self, row: Row) -> Formula:
        """multiplier * residual, summed over the rows."""
        assert row.multiplier is not None
        residual = self.row(row)
        price = self.multiplier(row.multiplier)
        negative = without_minus(residual)
        body = product(price, residual if negative is None else negative)
        whole: Formula = Over(body, (row.index,)) if row.index else body
        return whole if negative is None else Product((Number(-1), whole))

    # Forms in the multipliers

    def term(self, term: Term) -> Scaled:
        """The coefficient of a term, and the multiplier with its index; the coefficient inside a sum stays inside."""
        core: Formula = ONE_ITSELF if term.multiplier is None else Name(term.multiplier, indices(term.index))
        return term.monomial, core

    def form(self, form: LinearForm, constants: bool = True) -> Formula:
        """A linear form; sums over the same index stand together."""
        return total_of(self.form_terms(form, constants))

    def form_terms(self, form: LinearForm, constants: bool = True) -> list[Formula]:
        """The terms of a linear form."""
        kinds: dict[tuple[str, str] | None, list[Scaled]] = {}
        for term in collected(form.terms):
            if term.multiplier is not None or constants:
                kinds.setdefault(None if term.over is None else (term.letter, term.over), []).append(self.term(term))
        return [f for kind, terms in kinds.items() for f in (summed(terms, *kind) if kind else grouped(terms))]

    def equality(self, form: LinearForm) -> Relation:
        """form = 0 with its constants on the right and its first multiplier positive."""
        return self._relation(form, "=", "=")

    def at_least(self, form: LinearForm) -> Relation:
        """form >= 0 with its constants on the right and its first multiplier positive."""
        return self._relation(form, ">=", "<=")

    def _relation(self, form: LinearForm, sign: Sign, turned: Sign) -> Relation:
        first = next((term for term in form.terms if term.multiplier is not None), None)
        if first is not None and first.monomial.number < 0:
            form, sign = -form, turned
        if first is not None and abs(first.monomial.number) != 1:
            size = abs(float(first.monomial.number))
            form = form.scaled(Monomial.constant(1 / size), 1 / size)
        return Relation(self.form(form, constants=False), sign, (-form.constants).formula())

    # Pieces of the dual objective

    def image(self, slope: Slope) -> tuple[Monomial, Formula]:
        """A factor without an index, and the entries of minus the slope without it: w is a multiple of them."""
        form = -slope.q
        factors = {term.monomial.split(form.index or "i")[0] for term in form.terms if term.over is None}
        single = len(factors) == 1 and all(term.over is None for term in form.terms)
        common = factors.pop() if single else common_size(form)
        inside = [(term.monomial / common, self.term(term)[1]) for term in form.terms if term.over is None]
        sums = tuple(replace(t, monomial=t.monomial / common) for t in form.terms if t.over is not None)
        return common, total_of([*grouped(inside), *self.form_terms(LinearForm("", sums, {}, np.zeros(1)))])

    def squared(self, slope: Slope) -> tuple[Monomial, Formula]:
        """A factor and ||slope||^2 without it."""
        common, entry = self.image(slope)
        factor = squared(common)
        if isinstance(slope, Arrow):
            index = slope.q.index
            square = Power(entry, Number(2))
            return factor, Over(square, (index,)) if index else square
        entry = self._apart(unsigned(entry))
        pair = [*factors_of(entry), *factors_of(reindexed(entry, "i", "j"))]
        pair.sort(key=self._rank)
        return factor, Over(Product((*pair, self.kernel(slope.weight))), ("i", "j"))

    def _apart(self, entry: Formula) -> Formula:
        """An entry whose own sums do not run over j: it is about to be written once for i and once for j."""
        match entry:
            case Over(body, ("j",), where):
                free = next(letter for letter in "mnpqrstuv" if letter not in self.reading.names.taken)
                return Over(reindexed(body, "j", free), (free,), where.replace("_j", f"_{free}"))
            case Sum(terms):
                return Sum(tuple(self._apart(term) for term in terms))
            case Product(factors):
                return Product(tuple(self._apart(factor) for factor in factors))
        return entry

    def _rank(self, formula: Formula) -> int:
        """Numbers first, then data, then multipliers, as the texts write them."""
        if isinstance(formula, Number):
            return 0
        return 1 if isinstance(formula, Name) and formula.letter not in self.reading.constraints else 2

    def piece(self, piece: Piece) -> Formula:
        """A term of the dual objective."""
        match piece:
            case Square(slope, _, a):
                factor, square = self.squared(slope)
                return (-(factor / (Monomial(Fraction(4)) * a))).formula(square)
            case SquareOver(slope, a):
                factor, square = self.squared(slope)
                scale, below = self._over(a)
                scaled = -(factor / (Monomial(Fraction(4)) * scale))
                if isinstance(below, Name):
                    return (scaled / Monomial.of(below)).formula(square)
                return scaled.formula(Quotient(square, below))
            case Lengths(slopes, _, name):
                factor, root = self.root(slopes)
                return (-(name * factor)).formula(root)
            case Conjugate():
                return self.conjugate(piece)
        raise TypeError(piece)

    def root(self, slopes: Sequence[Slope]) -> tuple[Monomial, Formula]:
        """A factor and (sum of ||slope||^2)^(1/2) without it."""
        squares = [self.squared(slope) for slope in slopes]
        if len({factor for factor, _ in squares}) == 1:
            factor, inside = squares[0][0], total_of(square for _, square in squares)
        else:
            factor, inside = ONE, total_of(f.formula(square) for f, square in squares)
        return factor**_HALF, Power(inside, Number(_HALF))

    def _over(self, a: LinearForm) -> tuple[Monomial, Formula]:
        """A number, and the form without it."""
        numbers = {term.monomial.number for term in a.terms}
        common = numbers.pop() if len(numbers) == 1 else Fraction(1)
        scaled = a.scaled(Monomial(common) ** Fraction(-1), 1 / float(common))
        return Monomial(common), self.form(scaled)

    def conjugate(self, piece: Conjugate) -> Formula:
        """-sum_i weight_i loss*(u_i)."""
        cost, index = piece.cost, piece.slope.index
        if piece.square is None:
            return over_index(-cost.weight_name, self._conjugate_of(cost.loss, piece.u), index)
        if not piece.square:
            return ZERO
        scale = self.reading.names.number(piece.square) / (cost.weight_name * cost.slope_name ** Fraction(2))
        common, entry = self.image(Arrow(cost.variable.name(), piece.slope))
        squared, rest = squared_factors(common, entry)
        coefficient = (scale * squared).without_squares_of(self.signs)
        return over_index(-coefficient, Power(rest, Number(2)), index)

    def _conjugate_of(self, loss: Loss, u: LinearForm) -> Formula:
        """loss*(u): as a formula in v = -u where it has a short one, else by the name that a legend explains."""
        v = self.form(-u)
        match loss:
            case Logistic():
                other = total_of([ONE_ITSELF, self.form(u)])
                return Sum((Product((v, Call("log", (v,)))), Product((other, Call("log", (other,))))))
            case Exponential():
                return Sum((Product((v, Call("log", (v,)))), negated(v)))
            case PowerHinge():
                p = self.reading.names.number(loss.p)
                q, below = (p / (p - ONE)).formula(), (p - ONE).formula()
                return Sum((Product((below, Power(Quotient(v, p.formula()), q))), negated(v)))
        return Call(f"{self.named(loss)}*", (self.form(u),))

    def slope_of(self, loss: Loss, t: Formula, u: LinearForm) -> Relation:
        """What stationarity says of a loss at t: u is its slope."""
        v, minus = self.form(-u), negated(t)
        match loss:
            case Logistic():
                return Relation(v, "=", Quotient(ONE_ITSELF, Sum((ONE_ITSELF, Call("exp", (t,))))))
            case Exponential():
                return Relation(v, "=", Call("exp", (minus,)))
            case SquaredExcess(epsilon=0.0, side=1):
                return Relation(self.form(u), "=", Product((Number(2), Positive(t))))
        if polynomial(loss) == (0.0, 0.0):
            return Relation(self.form(u), "in", Words(self._interval(loss)))
        return Relation(self.form(u), "in", Call(f"d {self.named(loss)}", (t,)))

    def _interval(self, loss: Loss) -> str:
        ends = (text(self.reading.names.number(end).formula()) for end in loss.conjugate_domain)
        return f"[{', '.join(ends)}]"

    def dual_objective(self, dual: Dual) -> Formula:
        """The objective of the dual as a maximisation."""
        terms = [*self.form_terms(dual.linear), *(self.piece(piece) for piece in dual.pieces.values())]
        return total_of(term for term in terms if term != ZERO)

    def bound(self, bound: Bound) -> Relation:
        """A bound."""
        return self.at_least(bound.form)

    def ball(self, ball: Ball) -> Relation:
        """||slope|| <= radius."""
        return Relation(self.length(ball.slope), "<=", self.form(ball.radius))

    def length(self, slope: Slope) -> Formula:
        """||slope||."""
        factor, root = self.root([slope])
        return factor.formula(root)

    def vanishing(self, image: Image) -> Relation:
        """sum_i q_i phi(x_i) = 0."""
        return Relation(self.vector(image)[1], "=", ZERO)

    def vector(self, slope: Slope) -> tuple[Monomial, Formula]:
        """A factor, and minus the slope as a vector without it."""
        common, entry = self.image(slope)
        if isinstance(slope, Arrow):
            return common, entry
        return common, Over(product(*factors_of(entry), self.phi(slope.weight, "i")), ("i",))
