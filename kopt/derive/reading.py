"""A primal program read for its derivation: constraints row by row, and what each variable costs by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.norm1 import norm1
from cvxpy.atoms.pnorm import Pnorm
from cvxpy.atoms.quad_over_lin import quad_over_lin
from cvxpy.constraints.nonpos import Inequality
from cvxpy.constraints.zero import Equality

from kopt.cones import Cone, Free, NonNegative
from kopt.derive.affine import Affine, Form, Names, Part, Reader
from kopt.derive.cannot import CannotDerive
from kopt.derive.monomial import ONE, Monomial, number
from kopt.derive.trace import Ledger, TracingView
from kopt.losses import Loss
from kopt.losses import read as read_loss
from kopt.losses.excess import Excess
from kopt.losses.hinge import Hinge
from kopt.losses.squared import Squared
from kopt.losses.squared_excess import SquaredExcess
from kopt.losses.squared_hinge import SquaredHinge
from kopt.program import Program
from kopt.show.expression import Writer
from kopt.show.mathematics import text
from kopt.views.products import ProductVector


@dataclass(frozen=True)
class Cost:
    """sum_i weight_i loss(slope_i x_i + shift_i): what a variable costs by itself, entry by entry.

    said   the term as it was declared, for messages
    """

    variable: cp.Variable
    weight: np.ndarray
    weight_name: Monomial
    loss: Loss
    slope: np.ndarray
    slope_name: Monomial
    shift: np.ndarray
    shift_name: Monomial | None
    said: str


@dataclass(frozen=True)
class Length:
    """factor * ||x|| for a variable that is a vector."""

    variable: cp.Variable
    factor: float
    name: Monomial
    said: str


@dataclass(frozen=True)
class Row:
    """One constraint, or the objective: an affine expression, and costs of single variables.

    multiplier   its name; None for the objective
    index        the letter of its rows: i for points, j for others, nothing for a single one
    """

    multiplier: str | None
    cone: Cone | None
    affine: Affine
    costs: tuple[Cost, ...] = ()
    lengths: tuple[Length, ...] = ()
    index: str = ""
    sides: tuple[Affine, Affine] | None = None
    relation: str = "<="


@dataclass
class Reading:
    """A primal as a minimisation: its objective, its constraints, its vectors in feature space.

    index     the letter of the entries of each variable, by id
    points    how many there are; None for a program without a sample
    """

    primal: Program
    names: Names
    objective: Row
    constraints: dict[str, Row]
    vectors: dict[int, ProductVector]
    kernels: Mapping[str, str | None]
    index: dict[int, str] = field(default_factory=dict)
    y: np.ndarray | None = None
    points: int | None = None

    @property
    def rows(self) -> list[Row]:
        """The objective and the constraints."""
        return [self.objective, *self.constraints.values()]

    @property
    def variables(self) -> dict[str, cp.Variable]:
        """The variables that are no leaves of vectors."""
        return {n: v for n, v in self.primal.variables.items() if v.id not in self.vectors}


def read_program(primal: Program, ledger: Ledger, view: TracingView | None = None) -> Reading:
    """Read a primal; refuse what has no separable Lagrangian."""
    vectors = {} if view is None else view.leaves
    for name, cone in primal.cones.items():
        if not isinstance(cone, Free | NonNegative):
            raise CannotDerive(
                f"the constraint {name!r} is in a {type(cone).__name__} cone",
                "one written with <= or ==, entry by entry",
            )
    for name, variable in primal.variables.items():
        if variable.ndim > 1 and variable.id in vectors:
            owner = vectors[variable.id].name
            raise CannotDerive(f"the vector {owner} has several outputs", "one weight vector for each output")
        if variable.ndim > 1:
            raise CannotDerive(f"the variable {name} is a matrix", "scalars and vectors")
    named = {each.name() for each in primal.problem().constants() if each.name()[:1].isalpha()}
    taken = {*primal.variables, *primal.constraints, *named, "l", "y", "x", "k", "i", "j", "c", "phi", "L"}
    names = Names(ledger, taken)
    reader = Reader(names, None if view is None else int(view.sample.n))
    objective = _row(reader, None, None, primal.sign * primal.objective.expr)
    constraints = {
        name: _constraint(reader, name, cone, primal.constraints[name]) for name, cone in primal.cones.items()
    }
    if not primal.constraints:
        raise CannotDerive(
            f"the primal, {_brief(reader, primal.objective.expr)}, has no constraint, so that there are no multipliers",
            'a variable for what is curved, with its defining constraint, such as {"alpha": t == ...}',
        )
    reading = Reading(primal, names, objective, constraints, vectors, {} if view is None else view.kernel_of)
    if view is not None:
        reading.y, reading.points = view.sample.y, int(view.sample.n)
    _letter(reading, reading.points)
    _settle_selections(reading)
    return reading


def _constraint(reader: Reader, name: str, cone: Cone, constraint: Any) -> Row:
    row = _row(reader, name, cone, cone.residual)
    if isinstance(constraint, Inequality | Equality) and all(arg.is_affine() for arg in constraint.args):
        left, right = (reader.read(arg) for arg in constraint.args)
        relation = "<=" if isinstance(constraint, Inequality) else "="
        row = replace(row, sides=(left, right), relation=relation)
    return row


def _row(reader: Reader, name: str | None, cone: Cone | None, expression: cp.Expression) -> Row:
    affine: list[cp.Expression] = []
    costs: list[Cost] = []
    lengths: list[Length] = []
    for term in _summands(expression):
        if term.is_affine():
            affine.append(term)
            continue
        if expression.ndim:
            raise CannotDerive(
                f"the constraint {name!r} has the curved term {_brief(reader, term)} in each of its rows",
                "a single row, or affine rows",
            )
        for cost in _costs(reader, term):
            match cost:
                case Cost():
                    costs.append(cost)
                case Length():
                    lengths.append(cost)
                case _:
                    affine.append(cost)
    read = reader.read(sum(affine[1:], affine[0]) if affine else cp.Constant(np.zeros(expression.shape)))
    if read.rows != expression.size:
        raise CannotDerive(f"the constraint {name!r} mixes rows of different numbers", "rows of one kind")
    return Row(name, cone, read, tuple(costs), tuple(lengths))


def _summands(expression: cp.Expression) -> list[cp.Expression]:
    """The terms of a sum, factors of brackets multiplied into them; what is affine stays as it is written."""
    args = expression.args
    match expression:
        case _ if expression.is_affine():
            return [expression]
        case AddExpression():
            return [term for arg in args for term in _summands(arg)]
        case NegExpression():
            return [-term for term in _summands(args[0])]
        case DivExpression() if args[1].is_constant() and args[1].is_scalar():
            return [term / args[1] for term in _summands(args[0])]
        case multiply() | MulExpression():
            for factor, other in (args, args[::-1]):
                if factor.is_constant() and factor.is_scalar():
                    return [factor * term for term in _summands(other)]
    return [expression]


def _costs(reader: Reader, expression: cp.Expression) -> Iterator[Cost | Length | cp.Expression]:
    """The costs of single variables, and affine terms, of which a curved scalar term is the sum."""
    yield from _peeled(reader, expression, np.ones(1), ONE, expression)


def _peeled(
    reader: Reader, expression: cp.Expression, weight: np.ndarray, name: Monomial, whole: cp.Expression
) -> Iterator[Cost | Length | cp.Expression]:
    args = expression.args
    names = reader.names
    match expression:
        case _ if expression.is_affine():
            yield cp.sum(cp.multiply(np.broadcast_to(weight, expression.shape), expression))
            return
        case _ if expression.id in names.ledger.losses:
            pass
        case AddExpression():
            for arg in args:
                yield from _peeled(reader, arg, weight, name, whole)
            return
        case NegExpression():
            yield from _peeled(reader, args[0], -weight, -name, whole)
            return
        case Sum() if expression.ndim == 0:
            yield from _peeled(reader, args[0], weight, name, whole)
            return
        case DivExpression() if args[1].is_constant():
            yield from _peeled(reader, args[0], weight / _value(args[1]), name / names.constant(args[1]), whole)
            return
        case multiply() | MulExpression() if any(arg.is_constant() for arg in args):
            factor, other = args if args[0].is_constant() else args[::-1]
            if factor.ndim <= 1 and (factor.is_scalar() or factor.shape == other.shape):
                yield from _peeled(reader, other, weight * _value(factor), name * names.constant(factor), whole)
                return
        case quad_over_lin() if args[1].is_constant() and np.all(_value(args[1]) == 1) and args[0].ndim <= 1:
            yield _cost(reader, cp.square(args[0]), weight, name, whole)
            return
        case norm1():
            yield _cost(reader, cp.abs(args[0]), weight, name, whole)
            return
        case Pnorm() if expression.p == 2 and isinstance(args[0], cp.Variable):
            yield Length(args[0], float(weight[0]), name, _brief(reader, whole))
            return
    yield _cost(reader, expression, weight, name, whole)


def _cost(reader: Reader, expression: cp.Expression, weight: np.ndarray, name: Monomial, whole: cp.Expression) -> Cost:
    found = reader.names.ledger.losses.get(expression.id) or read_loss(expression)
    variables = expression.variables()
    if len(variables) > 1:
        raise CannotDerive(
            f"the term {_brief(reader, whole)} mixes the variables {', '.join(map(_owner, variables))}",
            'a variable of its own, with its defining constraint, such as t and {"alpha": t == ...}',
        )
    if found is None:
        raise CannotDerive(
            f"the term {_brief(reader, whole)} in {_owner(variables[0])} has a conjugate that is not known",
            "squares, powers, absolute values, positive parts, logistic, exp or huber, or kopt.regularised_risk(loss) "
            "with a loss of your own",
        )
    factor, loss, inner = _from_zero(*found)
    read = reader.read(inner)
    variable = variables[0]
    part = read.parts[0]
    elementwise = len(read.parts) == 1 and part.form is Form.ENTRY and part.selection is None
    if not elementwise or variable.size != read.rows:
        raise CannotDerive(
            f"the term {_brief(reader, whole)} is not a sum over the entries of {variable.name()}",
            f"{variable.name()} itself in it, entry by entry, or a new variable with its defining equality",
        )
    slope, shift = part.matrix.diagonal(), read.offset
    slope_name = _plain_number(slope) or part.monomial
    shift_name = sum(read.constants[1:], read.constants[0]) if read.constants and shift.any() else None
    weight = np.broadcast_to(factor * weight, (variable.size,)).astype(float)
    if np.any(weight <= 0) or np.any(slope == 0):
        raise CannotDerive(f"the term {_brief(reader, whole)} has a weight that is not positive", "positive weights")
    weight_name, said = reader.names.number(factor) * name, _brief(reader, whole)
    return Cost(variable, weight, weight_name, loss, slope, slope_name, shift, shift_name, said)


def _from_zero(factor: float, loss: Loss, inner: cp.Expression) -> tuple[float, Loss, cp.Expression]:
    """Hinge losses as what exceeds 0: the conjugate then has no linear part that would cancel elsewhere."""
    match loss:
        case Hinge():
            return factor, Excess(epsilon=0.0), 1 - inner
        case SquaredHinge():
            return factor, SquaredExcess(epsilon=0.0), 1 - inner
    return factor, loss, inner


def _plain_number(values: np.ndarray) -> Monomial | None:
    """A simple number that all entries are, whatever they were computed from."""
    simple = number(round(float(values[0]), 12))
    return Monomial(simple) if isinstance(simple, Fraction) and np.allclose(values, float(simple), 1e-12, 0) else None


def _owner(variable: cp.Variable) -> str:
    """The name of a variable, or of the vector of which it is the values or a norm."""
    return str(variable.name()).partition(".")[0]


def _value(expression: cp.Expression) -> np.ndarray:
    value = expression.value
    return np.asarray(value.toarray() if sp.issparse(value) else value, dtype=float)


class _Brief(Writer):
    """Terms in messages, with the names of their numbers."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def variable(self, variable: cp.Variable) -> str:
        """A variable by its name."""
        return str(variable.name())

    def number(self, value: float) -> str:
        """A number by its name, a sum in brackets."""
        name = text(self.names.number(value).formula())
        return f"({name})" if " + " in name or " - " in name else name

    def array(self, value: np.ndarray) -> str:
        """An array by its name, where it has one."""
        known = self.names.ledger.name_of(value)
        return "[..]" if known is None else text(known.formula())


def _brief(reader: Reader, expression: cp.Expression) -> str:
    return _Brief(reader.names).text(expression)


def _letter(reading: Reading, points: int | None) -> None:
    """Say which rows and variables run over the points (i), over something else (j), or over nothing."""
    if points is None:
        sizes = [row.affine.rows for row in reading.constraints.values() if not row.affine.scalar]
        points = max(sizes, key=sizes.count, default=0)
    for variable in reading.primal.variables.values():
        seen = variable.id in reading.vectors
        reading.index[variable.id] = "" if variable.ndim == 0 else "i" if seen or variable.size == points else "j"
    letters = {name: "" if row.affine.scalar else "j" for name, row in reading.constraints.items()}
    changed = True
    while changed:
        changed = False
        for name, row in reading.constraints.items():
            for part in row.affine.parts:
                repeats = part.selection is not None and len(set(part.selection)) < len(part.selection)
                own = part.form is Form.ENTRY and not part.alone and not repeats
                of_points = own and reading.index[part.variable.id] == "i"
                if letters[name] == "j" and (row.affine.rows == points or of_points):
                    letters[name], changed = "i", True
                tied = own and part.selection is None and letters[name] == "i"
                if tied and reading.index[part.variable.id] == "j":
                    reading.index[part.variable.id], changed = "i", True
            if letters[name] == "j" and row.affine.rows == points:
                letters[name], changed = "i", True
    reading.constraints = {name: replace(row, index=letters[name]) for name, row in reading.constraints.items()}


def points_of(reading: Reading, row: Row) -> np.ndarray | None:
    """The points that the rows of a constraint stand for; None where they are no points."""
    if row.index != "i":
        return None
    for part in row.affine.parts:
        if part.variable.id in reading.vectors and part.form is Form.ENTRY and not part.alone:
            found = np.arange(part.variable.size) if part.selection is None else part.selection
            if len(set(found)) == len(found):
                return found
    return np.arange(row.affine.rows)


def label_of(reading: Reading, part: Part, row: Row) -> str:
    """How the entry of a variable in a row or a term is called: i, y_i, j + 1, 3, ..., nothing for a single number."""
    letter = reading.index[part.variable.id]
    if part.variable.ndim == 0 or part.selection is None:
        return letter
    return _selected(reading, part, row) or letter


def _selected(reading: Reading, part: Part, row: Row) -> str | None:
    """What the selected entries are called; None where they have no name."""
    selection, letter = part.selection, reading.index[part.variable.id]
    assert selection is not None
    if part.form is Form.ENTRY and row.affine.scalar:
        return str(int(selection[0]) + 1)
    points = points_of(reading, row) if part.form is Form.ENTRY else np.arange(len(selection))
    if letter == "i":
        return "i" if points is not None and np.array_equal(selection, points) else None
    found = None if points is None else _of_class(reading.y, selection, points)
    shift = selection - np.arange(len(selection))
    in_order = part.form is Form.ENTRY and row.index == letter and bool(np.all(shift == shift[0]))
    return found or (_moved(letter, int(shift[0])) if in_order else None)


def _of_class(y: np.ndarray | None, selection: np.ndarray, points: np.ndarray) -> str | None:
    """y_i or y_i - 1, say, where the class of a point chooses the entry."""
    if y is None or len(points) != len(selection) or len(points) > len(y):
        return None
    at = y[points]
    off = selection + 1 - at
    if np.all(off == off[0]) and off[0] == int(off[0]):
        return _moved("y_i", int(off[0]))
    return "y_i" if all(len(set(selection[at == each])) == 1 for each in np.unique(at)) else None


def _moved(index: str, by: int) -> str:
    return index if by == 0 else f"{index} {'+' if by > 0 else '-'} {abs(by)}"


def _settle_selections(reading: Reading) -> None:
    """Entries that are selected in a way without a name are written by a matrix."""

    def settled(row: Row, affine: Affine) -> Affine:
        return replace(affine, parts=tuple(_settled(reading, row, part) for part in affine.parts))

    def of_row(row: Row) -> Row:
        row = replace(row, costs=tuple(_in_letters(reading, cost) for cost in row.costs))
        sides = None if row.sides is None else (settled(row, row.sides[0]), settled(row, row.sides[1]))
        return replace(row, affine=settled(row, row.affine), sides=sides)

    reading.objective = of_row(reading.objective)
    reading.constraints = {name: of_row(row) for name, row in reading.constraints.items()}


def _in_letters(reading: Reading, cost: Cost) -> Cost:
    """The names of numbers are functions of i; those of a variable that runs over j are functions of j."""
    if reading.index[cost.variable.id] != "j":
        return cost
    weight, slope = (name.renamed("i", "j") for name in (cost.weight_name, cost.slope_name))
    shift = None if cost.shift_name is None else cost.shift_name.renamed("i", "j")
    return replace(cost, weight_name=weight, slope_name=slope, shift_name=shift)


def _settled(reading: Reading, row: Row, part: Part) -> Part:
    if part.selection is None or part.form is Form.MATRIX or _selected(reading, part, row) is not None:
        return part
    if part.form is Form.TOTAL and not part.monomial.indexed and reading.index[part.variable.id] == "i":
        values = part.matrix.toarray()[0]
        chosen = reading.names.ledger.name_of(1.0 * (values != 0))
        if chosen is not None and len(np.unique(values[values != 0])) == 1:
            return replace(part, monomial=part.monomial * chosen, selection=None)
    letter = reading.names.anonymous(part.matrix)
    return replace(part, monomial=ONE, form=Form.MATRIX, selection=None, letter=letter)


def is_squared(cost: Cost) -> bool:
    """Whether the cost is weight_i (slope_i x_i + shift_i)^2."""
    return isinstance(cost.loss, Squared)
