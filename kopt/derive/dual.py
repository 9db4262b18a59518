"""The dual function: the Lagrangian minimised over one primal variable at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kopt.cones import Cone, Free, NonNegative
from kopt.derive.cannot import CannotDerive
from kopt.derive.forms import LinearForm, Term, zero
from kopt.derive.monomial import Monomial, number
from kopt.derive.pieces import Arrow, Conjugate, Image, Lengths, Piece, Slope, Square, SquareOver, length
from kopt.derive.reading import Cost, Length, Reading, Row, is_squared
from kopt.derive.slopes import constant_part, slope_in
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


@dataclass
class Dual:
    """Objective and constraints in the multipliers.

    equalities   slope = 0, by primal variable
    vanishing    sum_i q_i phi(x_i) = 0, for weight vectors without a price
    steps        what each primal variable gave, in order
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
        ]

    @property
    def variables(self) -> dict[str, Multiplier]:
        """The multipliers that are left."""
        return {name: m for name, m in self.multipliers.items() if name not in self.eliminated}

    def program(self, s: View) -> Program:
        """The dual as a program on a sample."""
        variables = {name: cp.Variable(m.shape, name=name) for name, m in self.variables.items()}
        sign = self.reading.primal.sign
        parts = [-piece.negative(s, variables) for piece in self.pieces.values()]
        if not self.linear.vanishes or not parts:
            parts.insert(0, self.linear.expression(variables))
        if sign < 0:
            parts = [part.args[0] if isinstance(part, cp.atoms.affine.unary_operators.NegExpression) else -part for part in parts]
        total = sum(parts[1:], parts[0])
        constraints = {name: equality_of(form, variables, sign) for name, form in self.equalities.items()}
        constraints |= {b.about: inequality_of(b.form, variables) for b in self.bounds if b.named}
        domain = [inequality_of(b.form, variables) for b in self.bounds if not b.named]
        domain += [length(b.slope, s, variables) <= b.radius.expression(variables) for b in self.balls]
        domain += [s.vanishing(image.q.expression(variables), image.kernel, image.rows) for image in self.vanishing]
        domain += [variables[name] >= 0 for name, m in self.variables.items() if m.signed]
        given = {name: self._value(each, s, variables) for name, each in self.eliminated.items()}
        # A multiplier that occurs nowhere else is still a variable of the dual.
        used = {v.name() for part in [total, *constraints.values(), *domain] for v in part.variables()}
        return Program(
            cp.Maximize(total) if sign > 0 else cp.Minimize(total),
            constraints,
            domain=domain,
            multipliers=given | {name: np.zeros(m.shape) for name, m in self.variables.items() if not _seen(name, used, given, s)},
        )

    def _value(self, each: Eliminated, s: View, variables: dict[str, cp.Variable]) -> cp.Expression:
        if each.form is not None:
            return each.form.expression(variables)
        assert each.lengths is not None
        return each.lengths.negative(s, variables)


def _seen(name: str, used: set[str], given: dict[str, cp.Expression], s: View) -> bool:
    leaves = getattr(s, "leaves", {})
    below = {
        v.name() for vector in leaves.values() for v in getattr(getattr(vector, "coefficients", None), "variables", list)()
    }
    return name in used or name in below


def equality_of(form: LinearForm, variables: dict[str, cp.Variable], sign: float) -> cp.Constraint:
    """form = 0 with its constant on the right, written so that the primal variable is its multiplier."""
    turned = -form
    left = replace(turned, offset=np.zeros(form.size)).expression(variables)
    right = form.offset if form.index else form.offset[0]
    return left == right if sign > 0 else -left == -right


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
    for row in reading.rows:
        for cost in (*row.costs, *row.lengths):
            if any(cost.variable is leaf for leaf in vector.leaves):
                raise CannotDerive(
                    f"the vector {vector.name} enters through a curved term in its values or norms",
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
    if len(fixed) + len(fixed_length) + len(priced) + len(priced_length) > 1:
        raise CannotDerive(
            f"the variable {name} has several curved terms, whose conjugates do not add up",
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
    else:
        dual.equalities[name] = slope


def _price(row: Row, cost: Cost, name: str) -> LinearForm:
    """The multiplier times the weight of a sum of squares in its constraint."""
    plain = is_squared(cost) and not cost.shift.any() and np.all(np.abs(cost.slope) == 1)
    if not plain or np.any(cost.weight != cost.weight[0]):
        raise CannotDerive(
            f"the constraint {row.multiplier!r} has a curved term in {name} that is not a plain sum of squares",
            f"cp.sum_squares({name})",
        )
    return _as_form(row, float(cost.weight[0]), cost.weight_name)


def _as_form(row: Row, value: float, name: Monomial) -> LinearForm:
    if row.multiplier is None:
        return LinearForm("", (Term(name),), {}, np.array([value]))
    return LinearForm("", (Term(name, row.multiplier),), {row.multiplier: sp.csr_array([[value]])}, np.zeros(1))


def _conjugate(dual: Dual, name: str, cost: Cost, slope: LinearForm) -> None:
    """min over x_i of weight loss(s x + d) + g x = -weight loss*(-g / (weight s)) - g d / s."""
    inverse = Monomial.constant(-1.0) / cost.slope_name
    v = slope.scaled(inverse, -1 / cost.slope)  # -g / s
    if cost.shift_name is not None:
        dual.linear = dual.linear + v.weighted_sum(cost.shift_name, cost.shift)
    u = v.scaled(Monomial() / cost.weight_name, 1 / cost.weight)
    linear, square = polynomial(cost)
    if linear:
        dual.linear = dual.linear + (-v).weighted_sum(Monomial.constant(linear), np.full(v.size, linear))
    if square is None or square:
        dual.pieces[name] = Conjugate(cost, slope, u, linear, square)
    else:
        dual.pieces[name] = Conjugate(cost, slope, u, linear, 0.0)
    lower, upper = cost.loss.conjugate_domain
    for end, side in ((lower, 1.0), (upper, -1.0)):
        if math.isfinite(end):
            named = dual.reading.names.number(end)
            edge = LinearForm(v.index, (Term(named * cost.weight_name),), {}, end * cost.weight) if end else zero(v.size, v.index)
            form = v + -edge
            bound = Bound(form if side > 0 else -form, name, named=False)
            if not any(_same(bound.form, dual.multipliers[m]) for m in bound.form.matrices):
                dual.bounds.append(bound)


def _same(form: LinearForm, multiplier: Multiplier) -> bool:
    """Whether form >= 0 says no more than that a multiplier is >= 0."""
    if not multiplier.signed or len(form.matrices) > 1 or form.offset.any():
        return False
    matrix = form.matrices[multiplier.name]
    diagonal = matrix.diagonal()
    return bool(matrix.shape[0] == matrix.shape[1] and matrix.nnz == len(diagonal) and np.all(diagonal > 0))


def polynomial(cost: Cost) -> tuple[float | None, float | None]:
    """(linear, square) of a conjugate that is linear u + square u^2 on its domain; None where it is not."""
    lower, upper = cost.loss.conjugate_domain
    low = lower if math.isfinite(lower) else (upper - 4.0 if math.isfinite(upper) else -2.0)
    high = upper if math.isfinite(upper) else (lower + 4.0 if math.isfinite(lower) else 2.0)
    u = np.linspace(low, high, 9)
    values = cost.loss.conjugate(u)
    if not np.isfinite(values).all():
        return None, None
    basis = np.stack([u, u**2], axis=1)
    (linear, square), *_ = np.linalg.lstsq(basis, values, rcond=None)
    linear, square = (0.0 if abs(c) < 1e-12 else float(number(round(c, 12))) for c in (linear, square))
    exact = np.max(np.abs(basis @ [linear, square] - values)) <= 1e-12 * max(1.0, float(np.max(np.abs(values))))
    return (linear, square) if exact else (None, None)


__all__ = ["Bound", "Cone", "Dual", "Eliminated", "Free", "Length", "raw_dual"]
