"""The dual function: the Lagrangian minimised over one primal variable at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.cones import NonNegative
from kopt.derive.cannot import CannotDerive
from kopt.derive.forms import LinearForm, Term, zero
from kopt.derive.monomial import Monomial, number
from kopt.derive.pieces import (
    Arrow,
    Conjugate,
    Image,
    Lengths,
    OfOneProgram,
    Piece,
    Slope,
    Square,
    SquareOver,
    Variables,
)
from kopt.derive.reading import Cost, Length, Reading, Row, is_squared
from kopt.derive.slopes import constant_part, slope_in
from kopt.losses import Loss
from kopt.program import Program
from kopt.views import View
from kopt.views.products import ProductVector


@dataclass(frozen=True)
class Multiplier:
    """A multiplier: its name, its shape, the letter of its entries, and whether it is >= 0."""

    name: str
    shape: tuple[int, ...]
    index: str
    signed: bool


@dataclass(frozen=True)
class Bound:
    """form >= 0.

    about   the primal variable from which it comes
    named   whether that variable is its multiplier
    """

    form: LinearForm
    about: str
    named: bool


@dataclass(frozen=True)
class Ball:
    """||slope|| <= radius, from a norm that is not squared."""

    slope: Slope
    radius: LinearForm


@dataclass(frozen=True)
class Eliminated:
    """A multiplier that is an expression of the others: a form, or a multiple of the length of slopes."""

    form: LinearForm | None = None
    lengths: Lengths | None = None

    def expression(self, s: View | None, variables: Variables) -> cp.Expression:
        """The multiplier in terms of those that are left."""
        if self.form is not None:
            return self.form.expression(variables)
        assert self.lengths is not None
        return self.lengths.negative(s, variables)


@dataclass
class Dual:
    """Objective and constraints in the multipliers.

    equalities   slope = 0, by primal variable
    vanishing    sum_i q_i phi(x_i) = 0, for weight vectors without a price
    eliminated   the multipliers that are no variables of the dual any more
    """

    reading: Reading
    linear: LinearForm
    multipliers: dict[str, Multiplier]
    pieces: dict[str, Piece] = field(default_factory=dict)
    equalities: dict[str, LinearForm] = field(default_factory=dict)
    bounds: list[Bound] = field(default_factory=list)
    balls: list[Ball] = field(default_factory=list)
    vanishing: list[Image] = field(default_factory=list)
    eliminated: dict[str, Eliminated] = field(default_factory=dict)

    @property
    def forms(self) -> list[LinearForm]:
        """Every form in which a multiplier may occur, but for the linear part of the objective."""
        return [
            *(form for piece in self.pieces.values() for form in piece.forms),
            *self.equalities.values(),
            *(bound.form for bound in self.bounds),
            *(form for ball in self.balls for form in (ball.slope.q, ball.radius)),
            *(image.q for image in self.vanishing),
            *(each.form for each in self.eliminated.values() if each.form is not None),
        ]

    @property
    def variables(self) -> dict[str, Multiplier]:
        """The multipliers that are left."""
        return {name: m for name, m in self.multipliers.items() if name not in self.eliminated}

    def program(self, s: View | None) -> Program:
        """The dual as a program on a sample; without one where no vector in feature space occurs."""
        variables = OfOneProgram({name: cp.Variable(m.shape, name=name) for name, m in self.variables.items()})
        total = self._objective(s, variables)
        constraints = {name: equality_of(form, variables, self._sign) for name, form in self.equalities.items()}
        constraints |= {b.about: inequality_of(b.form, variables) for b in self.bounds if b.named}
        domain = [inequality_of(b.form, variables) for b in self.bounds if not b.named]
        domain += [ball.slope.length(s, variables) <= ball.radius.expression(variables) for ball in self.balls]
        domain += [image.vanishes(s, variables) for image in self.vanishing]
        domain += [variables[name] >= 0 for name, m in self.variables.items() if m.signed]
        given = {name: each.expression(s, variables) for name, each in self.eliminated.items()}
        # A multiplier that occurs in combinations only would not be found among the variables.
        seen = {v.name() for part in (total, *constraints.values(), *domain) for v in part.variables()}
        total = sum((0.0 * cp.sum(v) for name, v in variables.items() if name not in seen), total)
        sense = cp.Maximize if self._sign > 0 else cp.Minimize
        return Program(sense(total), constraints, domain=domain, multipliers=given)

    @property
    def _sign(self) -> float:
        return self.reading.primal.sign

    def _objective(self, s: View | None, variables: Variables) -> cp.Expression:
        """The dual function, or its negative where the primal maximises."""
        convex = [piece.negative(s, variables) for piece in self.pieces.values() if not piece.is_zero]
        linear = self.linear if self._sign > 0 else -self.linear
        parts = [] if linear.vanishes and convex else [linear.expression(variables)]
        parts += [-part for part in convex] if self._sign > 0 else convex
        return sum(parts[1:], parts[0])


def equality_of(form: LinearForm, variables: dict[str, cp.Variable], sign: float) -> cp.Constraint:
    """form = 0 with its constant on the right, written so that the primal variable is its multiplier."""
    turned = -form if sign > 0 else form
    left = replace(turned, offset=np.zeros(form.size)).expression(variables)
    right = 0.0 - turned.offset
    return left == (right if form.index else right[0])


def inequality_of(form: LinearForm, variables: dict[str, cp.Variable]) -> cp.Constraint:
    """form >= 0 with its constant on the right and its first multiplier positive."""
    first = next(iter(form.matrices.values()))
    falling = first.data[0] < 0
    left = replace(-form if falling else form, offset=np.zeros(form.size)).expression(variables)
    right = form.offset if falling else -form.offset
    right = right if form.index else right[0]
    return left <= right if falling else left >= right


def raw_dual(reading: Reading) -> Dual:
    """The Lagrangian minimised over every variable, with all multipliers."""
    multipliers = {}
    for name, row in reading.constraints.items():
        assert row.cone is not None
        multipliers[name] = Multiplier(name, row.cone.residual.shape, row.index, isinstance(row.cone, NonNegative))
    dual = Dual(reading, constant_part(reading), multipliers)
    for vector in _vectors(reading):
        _minimise_vector(dual, vector)
    for name, variable in reading.variables.items():
        _minimise_variable(dual, name, variable)
    return dual


def _vectors(reading: Reading) -> list[ProductVector]:
    found: list[ProductVector] = []
    for variable in reading.primal.variables.values():
        vector = reading.vectors.get(variable.id)
        if vector is not None and not any(vector is each for each in found):
            found.append(vector)
    return found


def _minimise_vector(dual: Dual, vector: ProductVector) -> None:
    reading = dual.reading
    if len(vector.terms) > 1 or vector.terms[0][1] is not vector:
        raise CannotDerive(
            f"the vector {vector.name} is a sum of others", "the values of each vector, and each norm by itself"
        )
    if vector.values.ndim > 1:
        raise CannotDerive(f"the vector {vector.name} has several outputs", "one weight vector for each output")
    if vector.quotients:
        raise CannotDerive(
            f"the squared norm of {vector.name} is divided by {vector.quotients[0].t}", "squared norms by themselves"
        )
    for row in reading.rows:
        terms: list[Cost | Length] = [*row.costs, *row.lengths]
        for cost in terms:
            if any(cost.variable is leaf for leaf in vector.leaves):
                raise CannotDerive(
                    f"the vector {vector.name} enters through the curved term {cost.said}",
                    "its values, its norm and its squared norm in affine terms, and a variable of its own for the rest",
                )
    q, a, k = (slope_in(reading, leaf) for leaf in (vector.values, vector.norm_squared, vector.norm))
    image = Image(vector.name, q, reading.kernels.get(vector.name), vector.rows)
    _minimise_norms(dual, vector.name, image, a, k)


def _minimise_norms(dual: Dual, name: str, slope: Slope, a: LinearForm, k: LinearForm) -> None:
    """min over w of <slope, w> + a ||w||^2 + k ||w||."""
    if not a.vanishes and not k.vanishes:
        raise CannotDerive(f"both the norm of {name} and its square have a price", "one of the two")
    if a.vanishes and k.vanishes:
        assert isinstance(slope, Image)
        dual.vanishing.append(slope)
    elif not k.vanishes:
        dual.balls.append(Ball(slope, k))
    elif a.constant:
        if not a.offset[0] > 0:
            raise CannotDerive(f"the squared norm of {name} has the price {a.offset[0]:g}", "a positive price")
        dual.pieces[name] = Square(slope, float(a.offset[0]), a.constants)
    else:
        dual.pieces[name] = SquareOver(slope, a)


def _minimise_variable(dual: Dual, name: str, variable: cp.Variable) -> None:
    reading = dual.reading
    if variable.ndim > 1:
        raise CannotDerive(f"the variable {name} is a matrix", "scalars and vectors")
    slope = slope_in(reading, variable)
    fixed = [c for c in reading.objective.costs if c.variable is variable]
    fixed_length = [c for c in reading.objective.lengths if c.variable is variable]
    priced = [(row, c) for row in reading.constraints.values() for c in row.costs if c.variable is variable]
    priced_length = [(row, c) for row in reading.constraints.values() for c in row.lengths if c.variable is variable]
    of_constraints: list[Cost | Length] = [*(cost for _, cost in priced), *(norm for _, norm in priced_length)]
    curved = [*fixed, *fixed_length, *of_constraints]
    if len(curved) > 1:
        terms = " and ".join(dict.fromkeys(each.said for each in curved))
        raise CannotDerive(
            f"the variable {name} has several curved terms ({terms}), whose conjugates do not add up",
            "one curved term, or a variable of its own for each, tied by an equality",
        )
    if fixed:
        _conjugate(dual, name, fixed[0], slope)
    elif priced:
        row, cost = priced[0]
        dual.pieces[name] = SquareOver(Arrow(name, slope), _price(row, cost, name))
    elif fixed_length or priced_length:
        row, norm = (reading.objective, fixed_length[0]) if fixed_length else priced_length[0]
        dual.balls.append(Ball(Arrow(name, slope), _as_form(row, norm.factor, norm.name)))
    elif slope.constant and slope.offset.any():
        raise CannotDerive(f"the Lagrangian falls for ever in {name}, which no constraint holds", "a constraint on it")
    elif not slope.constant:
        dual.equalities[name] = slope


def _price(row: Row, cost: Cost, name: str) -> LinearForm:
    """The multiplier times the weight of a sum of squares in its constraint."""
    plain = is_squared(cost) and not cost.shift.any() and np.all(np.abs(cost.slope) == 1)
    if not plain or np.any(cost.weight != cost.weight[0]):
        raise CannotDerive(
            f"the constraint {row.multiplier!r} has the term {cost.said} in {name}, which is no plain sum of squares",
            f"cp.sum_squares({name})",
        )
    return _as_form(row, float(cost.weight[0]), cost.weight_name)


def _as_form(row: Row, value: float, name: Monomial) -> LinearForm:
    if row.multiplier is None:
        return LinearForm("", (Term(name),), {}, np.array([value]))
    return LinearForm("", (Term(name, row.multiplier),), {row.multiplier: sp.csr_array([[value]])}, np.zeros(1))


def _conjugate(dual: Dual, name: str, cost: Cost, slope: LinearForm) -> None:
    """min over x of weight loss(s x + d) + g x = -weight loss*(-g / (weight s)) - g d / s, entry by entry."""
    v = slope.scaled(Monomial.constant(-1.0) / cost.slope_name, -1 / cost.slope)  # -g / s
    u = v.scaled(Monomial() / cost.weight_name, 1 / cost.weight)
    points, (linear, square) = dual.reading.points, polynomial(cost.loss)
    if (cost.shift_name is not None or linear) and v.index and any(term.over is not None for term in v.terms):
        raise CannotDerive(
            f"the cost of {name} is shifted, and {name} enters its constraints through a sum",
            f"the shift in the constraints, and {name} alone in its cost",
        )
    dual.pieces[name] = Conjugate(cost, slope, u, linear, square)
    if cost.shift_name is not None:
        dual.linear = dual.linear + v.weighted_sum(cost.shift_name, cost.shift, points)
    if linear:
        dual.linear = dual.linear + (-v).weighted_sum(Monomial.constant(linear), np.full(v.size, linear), points)
    lower, upper = cost.loss.conjugate_domain
    for end, side in sorted(((lower, 1.0), (upper, -1.0)), key=lambda each: each[0] == 0):
        if math.isfinite(end):
            form = v + -_edge(dual, cost, end, v)
            form = form if side > 0 else -form
            if form.constant and np.any(form.offset < 0):
                raise CannotDerive(f"the cost of {name} has no minimum, and nothing holds it", "a constraint on it")
            if form.matrices and not any(_says_no_more(form, dual.multipliers[m]) for m in form.matrices):
                dual.bounds.append(Bound(form, name, named=False))


def _edge(dual: Dual, cost: Cost, end: float, like: LinearForm) -> LinearForm:
    """weight_i times an end of the conjugate's domain."""
    if not end:
        return zero(like.size, like.index)
    named = dual.reading.names.number(end) * cost.weight_name
    return LinearForm(like.index, (Term(named),), {}, end * cost.weight)


def _says_no_more(form: LinearForm, multiplier: Multiplier) -> bool:
    """Whether form >= 0 says no more than that a multiplier is >= 0."""
    if not multiplier.signed or len(form.matrices) > 1 or form.offset.any():
        return False
    diagonal = form.diagonal(multiplier.name)
    return diagonal is not None and bool(np.all(diagonal > 0))


def polynomial(loss: Loss) -> tuple[float | None, float | None]:
    """(linear, square) of a conjugate that is linear u + square u^2 on its domain; None where it is not.

    >>> from kopt.losses.squared_hinge import SquaredHinge
    >>> from kopt.losses.logistic import Logistic
    >>> polynomial(SquaredHinge()), polynomial(Logistic())
    ((1.0, 0.25), (None, None))
    """
    lower, upper = loss.conjugate_domain
    low = lower if math.isfinite(lower) else min(upper, 2.0) - 4.0
    high = upper if math.isfinite(upper) else max(lower, -2.0) + 4.0
    u = np.linspace(low, high, 9)
    values = loss.conjugate(u)
    if not np.isfinite(values).all():
        return None, None
    basis = np.stack([u, u**2], axis=1)
    found, *_ = np.linalg.lstsq(basis, values, rcond=None)
    linear, square = (float(number(round(float(c), 12))) for c in found)
    exact = np.max(np.abs(basis @ [linear, square] - values)) <= 1e-12 * max(1.0, float(np.max(np.abs(values))))
    return (linear, square) if exact else (None, None)
