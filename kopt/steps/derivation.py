"""A Lagrangian, the claims of one step of a derivation, and random points to try them at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.atoms.affine.sum import Sum
from cvxpy.constraints.constraint import Constraint
from scipy.sparse.linalg import LinearOperator, lsqr

from kopt.cones import Free, NonNegative
from kopt.errors import InputError
from kopt.gradients import restored
from kopt.show.expression import is_ones
from kopt.steps.allowed import HIGHEST, LOWEST, Allowed, distinct, stacked, unstack
from kopt.steps.notation import shown
from kopt.steps.stated import affine_cone, check_leaves, check_primal, claim, in_order, occurring, scalar
from kopt.terms import Term, additive_terms

# What counts as 0, relative to the absolute terms of a value, or to the size of a derivative nearby. Extrapolated
# differences reach 1e-10; what somebody forgot is far above.
TOLERANCE = 1e-8
# Terms that cancel for every value leave rounding in a derivative here and nearby: it counts beside this part of them.
CANCELLED = 1e-6
# Multipliers are corrected until the slopes that have to vanish are this small.
SETTLED = 1e-10
# How often differences are halved, and how often multipliers are corrected, before giving up.
HALVINGS, CORRECTIONS = 14, 12
# The part of their size by which multipliers are varied to differentiate slopes, which are mostly affine in them.
SHIFT = 1e-3


class Derivation:
    """L, what is claimed about it, and a current point, which the variables themselves hold.

    claims       claimed variables and their expressions, in an order in which they can be substituted
    conditions   the equalities among the conditions, each with its residual
    bound        the other variables over which L is minimised, if L is affine in them: then slopes have to vanish
    curved       the same, if it is not
    rest         all remaining variables: the multipliers
    """

    def __init__(
        self,
        L: cp.Expression,
        stationarity: Mapping[cp.Variable, Any],
        conditions: Sequence[Constraint],
        gives: Any,
        over: Sequence[cp.Variable] | None,
        seed: int,
    ) -> None:
        self.L = scalar("L", L)
        self.gives = None if gives is None else scalar("The expression in gives=", gives)
        self.claims = in_order([claim(self.L, v, e) for v, e in stationarity.items()])
        chosen = [occurring(self.L, v, "over=[...]") for v in over or ()]
        cones = [(c, affine_cone(c)) for c in conditions]
        self.conditions = [(c, cone.residual) for c, cone in cones if isinstance(cone, Free)]
        stated = [*(e for _, e in self.claims), *(cone.residual for _, cone in cones)]
        stated += [] if self.gives is None else [self.gives]
        self.variables = distinct(v for part in [self.L, *stated] for v in part.variables())
        claimed = {v.id for v, _ in self.claims}
        check_leaves([self.L, *stated])
        check_primal(cones, claimed, {v.id for v in chosen})
        self._terms = [(t, {v.id for v in t.expression.variables()}) for t in distributed_terms(self.L)]
        self._rng = np.random.default_rng(seed)
        self._allowed = Allowed(
            [residual for _, residual in self.conditions],
            [cone.residual for _, cone in cones if isinstance(cone, NonNegative)],
        )
        self.bound: list[cp.Variable] = []
        self.curved: list[cp.Variable] = []
        self.rest = [v for v in self.variables if v.id not in claimed]
        with restored(self.variables):
            self.draw()
            if over is None:
                chosen = self._unmentioned({v.id for part in stated for v in part.variables()} - claimed)
            for variable in (v for v in distinct(chosen) if v.id not in claimed):
                (self.bound if self.is_affine_in(variable) else self.curved).append(variable)
        primal = {v.id for v in [*self.bound, *self.curved]}
        self.rest = [v for v in self.rest if v.id not in primal]

    def _unmentioned(self, mentioned: set[int]) -> list[cp.Variable]:
        """The variables of L that nothing stated mentions, but for multipliers.

        Multipliers do not meet each other in a Lagrangian: what meets a mentioned one is none, and what meets others
        only may be one.
        """
        found, everything = [], distinct(self.L.variables())
        for v in (v for v in everything if v.id not in mentioned):
            meets = {u.id for u in everything if u is not v and self._meet(v, u)}
            found += [v] if meets & mentioned or not meets else []
        return found

    def _meet(self, v: cp.Variable, u: cp.Variable) -> bool:
        """Whether the slope of L in one variable depends on the other."""
        terms = [t for t, used in self._terms if {v.id, u.id} <= used]
        corners = []
        with restored([v, u]):
            for x, y in product((v.value, self.random_value(v)), (u.value, self.random_value(u))):
                v.save_value(x)
                u.save_value(y)
                corners.append(sum(t.coefficient * value_of(t.expression) for t in terms))
        a, b, c, d = corners
        return not abs(a - b - c + d) <= TOLERANCE * (abs(a) + abs(b) + abs(c) + abs(d))

    def random_value(self, variable: cp.Variable) -> np.ndarray:
        """Positive numbers; a symmetric matrix is positive semi-definite as well."""
        value = np.asarray(self._rng.uniform(LOWEST, HIGHEST, variable.shape))
        return value @ value.T / len(value) if _is_symmetric(variable) else value

    def draw(self) -> None:
        """Go to a random point that satisfies the conditions, with the claims substituted."""
        for variable in [*self.rest, *self.bound, *self.curved]:
            variable.save_value(self.random_value(variable))
        self._allowed.draw(self._rng)
        self.substitute()
        for name, expression in (("L", self.L), ("The expression in gives=", self.gives)):
            if expression is not None and not np.isfinite(value_of(expression)):
                raise InputError(
                    f"{name} has no finite value at {self.point()}.",
                    "Say by inequalities where the multipliers live: conditions=[..., alpha <= C].",
                )

    def wander(self) -> None:
        """Leave the conditions: the multipliers move by about their own size, or less where L is not finite there."""
        u = stacked(self.rest)
        for k in range(HALVINGS):
            unstack(u, self.rest)
            self._move(self.rest, 2.0**-k)
            self.substitute()
            if np.isfinite(value_of(self.L)):
                return

    def substitute(self) -> None:
        """Give the claimed variables the values of their expressions."""
        for variable, expression in self.claims:
            variable.save_value(_values(expression))

    def gradient(self, variable: cp.Variable) -> np.ndarray:
        """The derivatives of L in the entries of a variable, all others held."""
        units = [unit.reshape(variable.shape, order="F") for unit in np.eye(variable.size)]
        if _is_symmetric(variable):
            units = [(unit + unit.T) / 2 for unit in units]
        return np.array([self._along([variable], [unit]) for unit in units])

    def slopes(self, variables: Sequence[cp.Variable]) -> np.ndarray:
        """The derivatives of L in several variables as one vector."""
        return np.concatenate([np.zeros(0), *(self.gradient(v) for v in variables)])

    def _along(self, variables: Sequence[cp.Variable], direction: Sequence[np.ndarray]) -> float:
        """The derivative of L along a direction of some variables, all others held."""
        with restored(variables):
            start = [v.value for v in variables]

            def shifted(t: float) -> float:
                for v, x, d in zip(variables, start, direction, strict=True):
                    v.save_value(x + t * d)
                return self._sum_of_terms(variables)

            size = max(_size(x) for x in start) / (max(_largest(d) for d in direction) or 1.0)
            if {v.id for v in variables} <= {v.id for v in self.bound}:
                return (shifted(size) - shifted(-size)) / (2 * size)
            return derivative(shifted, size)

    def _sum_of_terms(self, variables: Sequence[cp.Variable], absolute: bool = False) -> float:
        """The part of L in which some variables occur, for differences that no other part can blur."""
        ids = {v.id for v in variables}
        values = [t.coefficient * value_of(t.expression) for t, used in self._terms if used & ids]
        return float(np.sum(np.abs(values) if absolute else values))

    def largest_slope(self, variable: cp.Variable, points: int) -> tuple[float, np.ndarray]:
        """The largest derivative in a variable at several random points: as a ratio, and the gradient there."""
        found = []
        for _ in range(points):
            self.draw()
            found.append((self.slope_ratio(variable), self.gradient(variable)))
        return max(found, key=lambda pair: pair[0])

    def slope_ratio(self, variable: cp.Variable) -> float:
        """The largest derivative in a variable, relative to what it is when it or the multipliers are moved."""
        slope = _largest(self.gradient(variable))
        size = self._slope_size(variable, [variable]) + self._slope_size(variable, self.rest)
        cancelled = CANCELLED * self._sum_of_terms([variable], absolute=True) / _size(variable.value)
        return _quotient(slope, size + cancelled)

    def _slope_size(self, variable: cp.Variable, moved: Sequence[cp.Variable]) -> float:
        return self._beside(lambda: self.gradient(variable), moved)

    def residual_ratio(self, residual: cp.Expression) -> float:
        """The size of a condition's residual, relative to what it is when the multipliers are moved."""
        return _quotient(_largest(_values(residual)), self._beside(lambda: _values(residual), self.rest))

    def _beside(self, measure: Callable[[], np.ndarray], moved: Sequence[cp.Variable]) -> float:
        """The largest entry of a measure when some variables are moved by about their own size, or less."""
        for k in range(HALVINGS):
            with restored(moved):
                self._move(moved, 2.0**-k)
                size = _largest(measure())
            if np.isfinite(size):
                return size
        return 0.0

    def _move(self, variables: Iterable[cp.Variable], share: float) -> None:
        for v in variables:
            v.save_value(v.value + share * _size(v.value) * self.random_value(v) / HIGHEST)

    def is_affine_in(self, variable: cp.Variable) -> bool:
        """Whether L is affine in a variable, by values on both sides of 0: a norm is affine on one of them."""
        values, size = [], 0.0
        with restored(self.variables):
            self.wander()  # under the conditions everything in this variable may cancel
            x = self.random_value(variable)
            for factor in (1.0, -0.35, -1.7):
                variable.save_value(factor * x)
                values.append(self._sum_of_terms([variable]))
                size += self._sum_of_terms([variable], absolute=True)
        return bool(abs(values[0] - 2 * values[1] + values[2]) <= TOLERANCE * size)

    def settle(self, variables: Sequence[cp.Variable]) -> bool:
        """Move the multipliers to where the slopes in some variables vanish; False where that is not found."""
        sizes = np.concatenate([np.full(v.size, self._slope_size(v, self.rest) or 1.0) for v in variables])
        best = np.inf
        for _ in range(CORRECTIONS):
            slopes = self.slopes(variables) / sizes
            largest = _largest(slopes)
            if largest <= SETTLED or not largest < best / 2:
                break
            best = largest
            u, units = stacked(self.rest), self.units()
            jacobian = LinearOperator(
                (slopes.size, u.size),
                matvec=lambda d: next(self._changes(lambda: self.slopes(variables), [d.ravel()])) / sizes,
                rmatvec=lambda z: self.row(variables, z.ravel() / sizes),
                dtype=float,
            )
            unstack(u - units * lsqr(jacobian, slopes, atol=SETTLED / 10, btol=SETTLED / 10)[0], self.rest)
            self.substitute()
        return largest <= TOLERANCE

    def units(self) -> np.ndarray:
        """The size of each multiplier, for each of its entries."""
        return np.concatenate([np.zeros(0), *(np.full(v.size, _size(v.value)) for v in self.rest)])

    def row(self, variables: Sequence[cp.Variable], z: np.ndarray) -> np.ndarray:
        """The derivatives of <z, slopes in some variables> in the multipliers, each in its unit."""
        ends = np.cumsum([v.size for v in variables])[:-1]
        parts = [part.reshape(v.shape, order="F") for v, part in zip(variables, np.split(z, ends), strict=True)]
        directions = np.eye(self.units().size)
        return np.array(list(self._changes(lambda: self._along(variables, parts), directions)))

    def _changes(self, measure: Callable[[], Any], directions: Iterable[np.ndarray]) -> Iterator[Any]:
        """The derivatives of a measure along directions of the multipliers, the claims following."""
        u, units, start = stacked(self.rest), self.units(), measure()
        for direction in directions:
            with restored(self.variables):
                unstack(u + SHIFT * units * direction, self.rest)
                self.substitute()
                change = measure() - start
            yield change / SHIFT

    def point(self) -> str:
        """The current multipliers, in words."""
        return ", ".join(f"{v.name()} = {shown(v.value)}" for v in self.rest) or "every point"


def derivative(f: Callable[[float], float], size: float) -> float:
    """f'(0) by central differences, extrapolated by Ridders' rule; exact at once for a quadratic function.

    >>> round(derivative(lambda t: 3 * t + t**2, 1.0), 12), round(derivative(lambda t: float(np.exp(t)), 1.0), 10)
    (3.0, 1.0)
    """
    best, least = np.nan, np.inf
    rows: list[list[float]] = []
    for k in range(HALVINGS):
        h = size * 2.0 ** -(k + 2)
        above, below = f(h), f(-h)
        row = [(above - below) / (2 * h)]
        if not np.isfinite(row[0]):
            continue
        for j, coarser in enumerate(rows[-1] if rows else []):
            row.append(row[j] + (row[j] - coarser) / (4.0 ** (j + 1) - 1))
        rows.append(row)
        if len(rows) > 2:  # two of them can agree by accident
            error = max(abs(row[-1] - row[-2]), abs(row[-1] - rows[-2][-1]), abs(row[-1] - rows[-3][-1]))
            best, least = (row[-1], error) if error < least else (best, least)
            if error <= 8 * np.finfo(float).eps * (abs(above) + abs(below)) / h:
                break
    return best


def distributed_terms(expression: cp.Expression, coefficient: float = 1.0) -> list[Term]:
    """The terms of which an expression is the sum, products and sums of entries multiplied out.

    >>> from kopt.steps.notation import text
    >>> x, y = cp.Variable(2, name="x"), cp.Variable(2, name="y")
    >>> [(t.coefficient, text(t.expression)) for t in distributed_terms(x @ (y - 3 * x - 2))]
    [(1.0, 'x @ y'), (-3.0, 'x @ x'), (-2.0, 'sum(x)')]
    """
    found = []
    for term in additive_terms(expression, coefficient):
        e = term.expression
        if not isinstance(e, MulExpression | multiply | Sum) or e.is_constant():
            found.append(_normalised(term))
            continue
        for parts in product(*(distributed_terms(part) for part in e.args)):
            factors = [part.expression for part in parts if not (isinstance(e, multiply) and is_ones(part.expression))]
            joined = e.copy([part.expression for part in parts]) if len(factors) == len(parts) else factors[0]
            found.append(Term(term.coefficient * prod(part.coefficient for part in parts), joined))
    return found


def _normalised(term: Term) -> Term:
    """A constant with equal entries as a multiple of ones."""
    value = np.asarray(term.expression.value) if term.expression.is_constant() else np.zeros(0)
    if value.size == 0 or not value.flat[0] or np.any(value != value.flat[0]):
        return term
    return Term(term.coefficient * float(value.flat[0]), cp.Constant(np.ones(value.shape)))


def value_of(expression: cp.Expression) -> float:
    """A scalar expression at the current point; nan outside its domain."""
    return float(_values(expression).item())


def _values(expression: cp.Expression) -> np.ndarray:
    with np.errstate(all="ignore"):
        value = expression.value
    return np.asarray(np.nan if value is None else value, dtype=float)


def _size(value: np.ndarray) -> float:
    """The size of a value, as the unit in which it is moved."""
    return _largest(value) or 1.0


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _quotient(part: float, whole: float) -> float:
    """A ratio in which 0 / 0 is 0 and what is not a number is infinite."""
    if part == 0:
        return 0.0
    return part / whole if np.isfinite(part) and whole > 0 else np.inf


def _is_symmetric(variable: cp.Variable) -> bool:
    return any(variable.attributes[name] for name in ("symmetric", "PSD", "NSD"))
