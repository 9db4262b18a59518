"""Block decomposition: one dense quadratic program after another in a few hundred variables, whatever the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import piqp
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from kopt.errors import InputError
from kopt.gram.columns import Columns
from kopt.polyhedra import nearby_point
from kopt.projection import Polyhedron
from kopt.quadratic import KernelTerm, QuadraticProgram
from kopt.solvers.problem import Problem
from kopt.solvers.solver import INTERRUPTED, RawAnswer, Solver
from kopt.views.products import NORM_FLOOR

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: Up to so many points one dense matrix is as fast.
FEW_POINTS = 1000
#: The variables that are worked on at first, and the most: a block of 3000 takes its solver ten seconds.
BLOCK, LARGEST = 250, 3000
#: The share of a block that is kept for the next, and the share that variables between their bounds may take.
KEPT, INSIDE = 0.5, 0.75
#: Of the variables with the same entries in all rows, so many in each direction are worked on always.
PARTNERS = 4
#: A variable with the values of more points than this would make the matrices of its blocks too large.
MOST_POINTS = 8
#: The accuracy of a block, in units in which its terms are about 1, and the part of a box that counts as no distance.
ACCURACY, AT_BOUND = 1e-12, 1e-9
MOST_ITERATIONS = 60
#: The relative gap from which on products are in double precision.
SINGLE_UNTIL = 1e-2
#: The part of the tolerance to reach: the certificate's multipliers, where they are not unique, give other sizes.
AIM = 0.5
#: What counts as a gain, relative to the gap, and the rounds without one after which the blocks grow.
GAIN, PATIENCE = 1e-3, 5
MOST_ROUNDS = 2000
#: The gap, in units of the smallest so far, that shows a block to know too little about the multipliers.
FAR_OFF = 10.0
#: How much more than its value the terms of an objective may count: multipliers that are not unique may be anything.
CANCELLED = 30.0
#: The share of the memory budget that one matrix may take: the solver of a block holds four of its size.
SHARE = 0.2

CONVERGED, STALLED, INFEASIBLE = "converged", "stalled", "infeasible"


class Blocks(Solver):
    """Block decomposition for duals with any few rows and any number of kernel terms, stopped by the true gap.

    Where `kopt.separable` finds its form, `Decomposition` is faster; this one takes what that refuses: rows that tie
    sums of several groups of variables together, variables without kernel values, several kernels.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [OrderedNuRanking] = [f for f in kopt.discover() if f.__name__ == "OrderedNuRanking"]
    >>> sample = example(OrderedNuRanking.task)
    >>> kopt.solve(OrderedNuRanking(nu=0.4), sample, method="BLOCKS").certificate.holds(1e-6)
    True
    """

    name = "BLOCKS"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """Where there are many points and the decomposition into pairs does not take the dual."""
        if problem.sample.n > FEW_POINTS and isinstance(problem.separable, str):
            return -0.4, f"with more than {FEW_POINTS} points a few hundred at a time are faster than one dense matrix"
        return None

    def accepts(self, problem: Problem) -> str | None:
        """Duals with a kernel term in which no variable can go on for ever: there the gap would be infinite."""
        program = problem.quadratic
        if isinstance(program, str):
            return program
        if not program.terms:
            return "the dual has no kernel term"
        most = points_per_variable(program)
        if most > MOST_POINTS:
            return f"a variable of the dual belongs to {most} points, more than {MOST_POINTS}"
        if not np.isfinite(np.array(implied_box(program.feasible))[:, program.shift <= 0]).all():
            return "a variable of the dual is bounded neither by a number, nor by the rows, nor by a squared term"
        return None

    def solve(self, problem: Problem) -> RawAnswer:
        """Descend from the point given, or from one with few variables that are not 0."""
        program = problem.quadratic
        assert isinstance(program, QuadraticProgram)
        descent = Descent(program, problem)
        try:
            status = descent.run() if descent.begin(problem.start) else INFEASIBLE
        except KeyboardInterrupt:
            status = INTERRUPTED
        if status == INFEASIBLE:
            return RawAnswer(status)
        return RawAnswer(status, program.by_name(nearby_point(descent.z, program.feasible)))


def points_per_variable(program: QuadraticProgram) -> int:
    """The largest number of points whose kernel values one variable has, at least 1."""
    return max(1, *(int(np.max(np.diff(sp.csc_array(term.J).indptr), initial=0)) for term in program.terms))


class Form:
    """A kernel term factor (J z)' K (J z), and the products K (J z) at the point z where a descent is."""

    def __init__(self, term: KernelTerm, budget: float) -> None:
        self.factor, self.gram, self.J = term.factor, term.gram, sp.csc_array(term.J)
        self.columns = Columns(self.gram)
        self.products = np.zeros(self.gram.n)
        if self.gram.features is None and self.gram.fused is None and 8 * self.gram.n**2 <= budget:
            _ = self.gram.dense  # values that no compiled code computes are computed once

    @property
    def gradient(self) -> Vector:
        """2 factor J' K J z."""
        return np.asarray(2 * self.factor * (self.J.T @ self.products))

    def value(self, z: Vector) -> float:
        """The term itself."""
        return self.factor * self.gram.norm_squared(self.J @ z, self.products)

    def orthogonal(self, z: Vector) -> float:
        """What the term would be if the points were orthogonal."""
        return self.factor * float((self.J @ z) ** 2 @ self.gram.diagonal)

    def rounding(self, z: Vector) -> float:
        """What of the term may be rounding."""
        return self.factor * self.gram.rounding(self.J @ z)

    def refresh(self, z: Vector) -> None:
        """Compute the products anew, in double precision."""
        self.products = self.gram.product(self.J @ z)

    def add(self, where: Indices, change: Vector, single: bool) -> None:
        """Bring the products up to date after some variables have changed."""
        coefficients = self.J[:, where] @ change
        points = np.flatnonzero(coefficients)
        self.columns.add(points, coefficients[points], self.products, single)

    def block(self, where: Indices) -> Matrix:
        """The rows and columns `where` of 2 factor J' K J."""
        J = sp.csr_array(self.J[:, where].T)
        points = np.unique(J.indices)
        J = J[:, points]
        return np.asarray(2 * self.factor * (J @ (J @ self.columns.block(points, single=False)).T))


@dataclass(frozen=True)
class State:
    """Where a descent is: the slopes of the variables, the objective, what is open, and of what size.

    open   the gap, or where that is of second order in the violations the products of slopes and variables
    size   the sum of the absolute terms of the lower bound, which are those of the primal objective
    """

    slope: Vector
    value: float
    gap: float
    open: float
    size: float

    @property
    def relative_gap(self) -> float:
        """What is open over the size."""
        return self.open / self.size if self.size > 0 else np.inf if self.open > 0 else 0.0


class Descent:
    """A descent on a quadratic program: the variables z, feasible at all times, and the multipliers y of the rows.

        min   sum of the forms + 1/2 sum_a shift_a z_a^2 + linear' z
        s.t.  lower <= z <= upper,   B z = c or B z <= c                  : y

    The multipliers are those of the block worked on last, as long as they fit the other variables too. With them
    every variable has a slope r = g + B' y, g the gradient, and those whose slope has the wrong sign come next.
    """

    def __init__(self, program: QuadraticProgram, problem: Problem) -> None:
        self.program, self.problem = program, problem
        self.box = implied_box(program.feasible)
        self.rows, self.right, self.equality = program.feasible.rows
        self.z, self.y = np.zeros(len(program.linear)), np.zeros(len(self.right))
        self.single = self.exact = True
        budget = SHARE * problem.sample.budget
        self.forms = [Form(term, budget / len(program.terms)) for term in program.terms]
        self.largest = min(LARGEST, len(self.z), int(np.sqrt(budget / 8)) // points_per_variable(program))
        self.size = min(BLOCK, self.largest)
        self.where: Indices = np.zeros(0, dtype=np.intp)

    @cached_property
    def homogeneous(self) -> bool:
        """Whether the objective is a squared norm and nothing else; that of the dual may be the norm itself."""
        return not self.program.linear.any() and not self.program.shift.any()

    @cached_property
    def alike(self) -> list[Indices]:
        """The variables in groups with the same entries in all rows; none where there are too many of these."""
        _, group, count = np.unique(self.rows.toarray(), axis=1, return_inverse=True, return_counts=True)
        few = 2 * len(count) <= BLOCK
        return [np.flatnonzero(group.reshape(-1) == g) for g in range(len(count))] if few else []

    @cached_property
    def without_values(self) -> Indices:
        """The variables without kernel values."""
        return np.flatnonzero(sum(np.diff(form.J.indptr) for form in self.forms) == 0)

    @property
    def inside(self) -> Mask:
        """Which variables are between their bounds."""
        lower, upper = self.program.feasible.box
        return np.asarray((lower < self.z) & (self.z < upper))

    @property
    def gradient(self) -> Vector:
        """The gradient in all variables, from the products."""
        p = self.program
        return np.asarray(p.linear + p.shift * self.z + sum(form.gradient for form in self.forms))

    def begin(self, start: Any) -> bool:
        """Begin at given dual variables, or with few that are not 0; False if no point is feasible."""
        given, feasible = _stacked(start, self.program), self.program.feasible
        try:
            self.z = nearby_point(sparse_point(feasible) if given is None else given, feasible)
        except InputError:
            return False
        self.refresh()
        return True

    def refresh(self) -> None:
        """Make z feasible to rounding, and compute the products in double precision."""
        self.z = nearby_point(self.z, self.program.feasible)
        for form in self.forms:
            form.refresh(self.z)
        self.exact = True

    def run(self) -> str:
        """Descend until the gap is small enough, in products that are exact; the status says why it ended."""
        lowest, narrowest, idle = np.inf, np.inf, 0
        for _ in range(MOST_ROUNDS):
            state = self.judged()
            if state.gap > FAR_OFF * narrowest:
                self.y = best_multipliers(self.gradient, self.z, self.box, self.program.feasible)
                state = self.state()
            self._report(state)
            if self.exact and state.relative_gap <= AIM * self.problem.tolerance:
                return CONVERGED
            gained = state.value < lowest - GAIN * state.gap or state.gap < (1 - GAIN) * narrowest
            lowest, narrowest = min(lowest, state.value), min(narrowest, state.gap)
            idle = 0 if gained else idle + 1
            if idle > PATIENCE:
                if not self._harder(state):
                    return STALLED
                idle = 0
            self.improve(state)
        return STALLED

    def judged(self) -> State:
        """The state, in products computed anew where these are near what is asked for."""
        state, enough = self.state(), AIM * self.problem.tolerance
        if self.single:  # larger blocks cost more than their columns do in double precision
            enough = np.inf if self.size > BLOCK else max(enough, SINGLE_UNTIL)
        if state.relative_gap <= enough and not self.exact:
            self.single = False
            self.refresh()
            state = self.state()
        return state

    def _harder(self, state: State) -> bool:
        """Go on in double precision, or with larger blocks; False if there are none, or if what is left is rounding."""
        if not self.single:
            if self.size == self.largest or state.open <= sum(form.rounding(self.z) for form in self.forms):
                return False
            self.size = min(2 * self.size, self.largest)
        self.single = False
        self.refresh()
        self.y = best_multipliers(self.gradient, self.z, self.box, self.program.feasible)
        return True

    def state(self) -> State:
        """Look at all variables.

        By convexity the forms are at least their linear part at z. What is left of the Lagrangian has its minimum in
        each variable alone, and the objective is nowhere lower than

            sum_a min_v ( (r_a - shift_a z_a) v + 1/2 shift_a v^2 ) - y' c - value of the forms

        The lower bound of a squared norm N^2 is one of N, whose slopes are r / 2N; the sizes here are 2N times those.
        """
        p, z, y = self.program, self.z, self.y
        slope = self.gradient + self.rows.T @ y
        linear = slope - p.shift * z
        least = least_terms(linear, p.shift, *self.box)
        # Not less than 0 except by rounding, or by a mistake: then it must not pass for a small one.
        gap = abs(float(np.sum((linear + 0.5 * p.shift * z) * z - least) + y @ (self.right - self.rows @ z)))
        square = sum(form.value(z) for form in self.forms)
        value = square + float((p.linear + 0.5 * p.shift * z) @ z)
        terms = square + float(np.sum(np.abs(least)) + np.abs(y) @ np.abs(self.right))
        size = min(terms, CANCELLED * max(abs(value), abs(value - gap)))
        if not self.homogeneous:
            curved = (p.shift > 0) & self.inside
            return State(slope, value, gap, max(gap, float(np.sum(np.abs(slope * z)[curved]))), size)
        norm, floor = np.sqrt(value), NORM_FLOOR * np.sqrt(sum(form.orthogonal(z) for form in self.forms))
        of_norm = float(2 * norm * max(norm, floor))
        if gap > 2 * value:  # that a norm is at least 0 says more
            return State(slope, value, gap, 2 * value, of_norm)
        return State(slope, value, gap, gap, max(size, of_norm))

    def _report(self, state: State) -> None:
        dual, primal = (self.program.map_of_values(value) for value in (state.value, state.value - state.gap))
        support = max(int(np.count_nonzero(form.J @ self.z)) for form in self.forms)
        self.problem.watch.report(primal, dual, support)

    def working_set(self, state: State) -> Indices:
        """The variables to work on next: those that violate most, partners for them, and a part of the last ones.

        Where many are between their bounds the block grows until it holds them all: in parts they would take for ever.
        """
        inside = self.inside
        if np.sum(inside) > INSIDE * self.size:
            self.size = min(self.largest, int(np.sum(inside) / INSIDE) + BLOCK // 4)
        lower, upper = self.program.feasible.box
        rising = np.where(self.z < upper, -state.slope, -np.inf)
        falling = np.where(self.z > lower, state.slope, -np.inf)
        violation = np.maximum(rising, falling)
        each = min(PARTNERS, BLOCK // max(1, 2 * len(self.alike)))
        partners = [group[_largest(way[group], each)] for group in self.alike for way in (rising, falling)]
        kept = self.where[inside[self.where]][: int(KEPT * self.size)]
        others = self.without_values[_largest(violation[self.without_values], self.size // 2)]
        first = np.unique(np.concatenate([others, kept, *partners]))
        violation[first] = -np.inf
        return np.concatenate([first, _largest(violation, self.size - len(first))])

    def improve(self, state: State) -> None:
        """Solve the next block, go to its solution as far as the objective falls, and keep its multipliers."""
        self.where = where = self.working_set(state)
        P = np.diag(self.program.shift[where])
        for form in self.forms:
            P += form.block(where)
        # Equalities do not change a step when their multipliers are in its slopes, which then are small.
        known = np.where(self.equality, self.y, 0.0)
        B, slack = self.rows[:, where].toarray(), np.maximum(0.0, self.right - self.rows @ self.z)
        slope = state.slope[where] - B.T @ (self.y - known)
        lower, upper = (bound[where] for bound in self.program.feasible.box)
        block = Block(P, slope, self.z[where], lower, upper, B, np.where(self.equality, 0.0, slack), self.equality)
        step, y, found = block.solved()
        step = block.snapped(step)
        length = block.length(step)
        if found or length > 0:
            self.y = known + y
        if length > 0:
            moved = np.flatnonzero(step)
            for form in self.forms:
                form.add(where[moved], length * step[moved], self.single)
            self.z[where] = np.clip(block.z + length * step, lower, upper)
            self.exact = False


@dataclass(frozen=True, eq=False)
class Block:
    """min 1/2 d' P d + slope' d over the change d of some variables: lower <= z + d <= upper, B d = 0 or B d <= slack.

    >>> slope, z, lower, upper = np.array([[2.0, 0.0], [0.5, 0.5], [0.0, 0.0], [1.0, 1.0]])
    >>> block = Block(np.eye(2), slope, z, lower, upper, np.ones((1, 2)), np.zeros(1), np.array([True]))
    >>> d, y, found = block.solved()
    >>> block.snapped(d).tolist(), block.length(d)
    ([-0.5, 0.5], 1.0)
    """

    P: Matrix
    slope: Vector
    z: Vector
    lower: Vector
    upper: Vector
    B: Matrix
    slack: Vector
    equality: Mask

    def solved(self) -> tuple[Vector, Vector, bool]:
        """The change, the multipliers of the rows, and whether they were found, in units in which all is about 1."""
        lower, upper, kinds = self.lower - self.z, self.upper - self.z, (self.equality, ~self.equality)
        unit = self._unit(np.abs(np.concatenate([lower, upper])))
        size = max(unit * float(np.max(np.abs(self.slope))), unit**2 * float(np.mean(np.diag(self.P)))) or 1.0
        solver = piqp.DenseSolver()
        for name in ("eps_abs", "eps_rel", "eps_duality_gap_rel"):
            setattr(solver.settings, name, ACCURACY)
        solver.settings.eps_duality_gap_abs = ACCURACY**2  # what is still to be gained may be small
        solver.settings.max_iter = MOST_ITERATIONS
        (A, b), (G, h) = ((np.asfortranarray(self.B[kind]), self.slack[kind] / unit) for kind in kinds)
        quadratic, linear = np.asfortranarray(self.P * (unit**2 / size)), self.slope * (unit / size)
        equalities, inequalities = (A, b) if len(b) else (None, None), (G, None, h) if len(h) else (None, None, None)
        solver.setup(quadratic, linear, *equalities, *inequalities, lower / unit, upper / unit)
        found = solver.solve() == piqp.PIQP_SOLVED
        d, y = unit * solver.result.x, np.zeros(len(self.B))
        y[self.equality], y[~self.equality] = (size / unit * part for part in (solver.result.y, solver.result.z_u))
        if not (np.isfinite(d).all() and np.isfinite(y).all()):
            return np.zeros(len(d)), np.zeros(len(y)), False
        return np.clip(d, lower, upper), y, found

    def _unit(self, room: Vector) -> float:
        """The length of a step: as far as the bounds are, or as slope and curvature say where that is less."""
        diagonal = float(np.mean(np.diag(self.P)))
        newton = float(np.max(np.abs(self.slope))) / diagonal if diagonal > 0 else np.inf
        unit = min(float(np.max(room[np.isfinite(room)], initial=0.0)) or np.inf, newton)
        return unit if 0 < unit < np.inf else 1.0

    def snapped(self, d: Vector) -> Vector:
        """The change with variables that end at a bound exactly there; the others make up for what that does."""
        lower, upper, end = self.lower, self.upper, self.z + d
        near = AT_BOUND * np.where(np.isfinite(upper - lower), upper - lower, np.max(np.abs(end)))
        end = np.where(end - lower <= near, lower, np.where(upper - end <= near, upper, end))
        inside = (lower < end) & (end < upper)
        excess = self.B @ (end - self.z) - self.slack
        excess = np.where(self.equality, excess, np.maximum(0.0, excess))
        if inside.any() and excess.any():
            end[inside] -= np.linalg.lstsq(self.B[:, inside], excess, rcond=None)[0]
        return np.asarray(np.clip(end, lower, upper) - self.z)

    def length(self, d: Vector) -> float:
        """The part of a change, at most all of it, at which the objective is lowest."""
        fall, curvature = -float(self.slope @ d), float(d @ self.P @ d)
        if fall <= 0:
            return 0.0
        return min(1.0, fall / curvature) if curvature > 0 else 1.0


def least_terms(linear: Vector, shift: Vector, lower: Vector, upper: Vector) -> Vector:
    """min over lower_a <= v <= upper_a of linear_a v + 1/2 shift_a v^2, for each variable.

    >>> least_terms(np.array([2.0, -2.0]), np.array([0.0, 1.0]), np.zeros(2), np.array([1.0, np.inf])).tolist()
    [0.0, -2.0]
    """
    curved = shift > 0
    v = np.where(linear > 0, lower, np.where(linear < 0, upper, np.clip(0.0, lower, upper)))
    v[curved] = np.clip(-linear[curved] / shift[curved], lower[curved], upper[curved])
    return np.asarray((linear + 0.5 * shift * v) * v)


def implied_box(feasible: Polyhedron) -> tuple[Vector, Vector]:
    """The bounds of each variable; where they are infinite, what the rows say given the bounds of the others.

    >>> lower, upper = implied_box(Polyhedron(np.zeros(3), np.full(3, np.inf), np.ones((1, 3)), [2.0]))
    >>> upper.tolist()
    [2.0, 2.0, 2.0]
    """
    lower, upper = (bound.copy() for bound in feasible.box)
    B, right, equality = feasible.rows
    for _ in range(len(right)):  # a bound from one row may give another from the next
        if np.isfinite(lower).all() and np.isfinite(upper).all():
            break
        for i, side in enumerate(right):
            where, b = B.indices[B.indptr[i] : B.indptr[i + 1]], B.data[B.indptr[i] : B.indptr[i + 1]]
            _imply(lower, upper, where, b, side)
            if equality[i]:
                _imply(lower, upper, where, -b, -side)
    return lower, upper


def _imply(lower: Vector, upper: Vector, where: Indices, b: Vector, side: float) -> None:
    """Replace infinite bounds by those that sum_j b_j v_j <= side implies when all others are at their least."""
    least = b * np.where(b > 0, lower[where], upper[where])
    unknown = np.isinf(least)
    if np.sum(unknown) > 1:
        return
    others = np.sum(least[~unknown]) - np.where(unknown, 0.0, least)
    said = unknown if unknown.any() else np.ones(len(b), dtype=bool)
    above, below = said & (b > 0) & np.isinf(upper[where]), said & (b < 0) & np.isinf(lower[where])
    upper[where[above]] = np.maximum((side - others[above]) / b[above], lower[where[above]])
    lower[where[below]] = np.minimum((side - others[below]) / b[below], upper[where[below]])


def sparse_point(feasible: Polyhedron) -> Vector:
    """A point with the least sum of absolute values, found as a vertex: almost all of its variables are at bounds.

    >>> sorted(sparse_point(Polyhedron(np.zeros(4), np.full(4, 0.5), np.ones((1, 4)), [1.0])).round(9).tolist())
    [0.0, 0.0, 0.5, 0.5]
    """
    lower, upper = feasible.box
    parts = sp.hstack([sp.eye_array(len(lower)), -sp.eye_array(len(lower))], format="csr")
    A, G = (None if rows is None else rows @ parts for rows in (feasible.A, feasible.G))
    least, most = np.concatenate([lower, -upper]), np.concatenate([upper, -lower])
    bounds = np.maximum(np.column_stack([least, most]), 0.0)
    found = _linear_program(np.ones(len(bounds)), A, feasible.b, G, feasible.h, bounds)
    return np.zeros(len(lower)) if found.x is None else np.subtract(*np.split(found.x, 2))


def best_multipliers(gradient: Vector, z: Vector, box: tuple[Vector, Vector], feasible: Polyhedron) -> Vector:
    """The multipliers of the rows with the smallest gap: those of the least gradient' d over the changes d of z.

    A bound that is infinite is taken to be as far away as the largest variable.
    """
    unit, far = float(np.max(np.abs(gradient))) or 1.0, float(np.max(np.abs(z))) or 1.0
    room = np.column_stack([np.where(np.isfinite(bound), bound - z, np.sign(bound) * far) for bound in box])
    _, right, equality = feasible.rows
    slack = None if feasible.G is None else np.maximum(0.0, right[~equality] - feasible.G @ z)
    found = _linear_program(gradient / unit, feasible.A, np.zeros(np.sum(equality)), feasible.G, slack, room)
    if found.x is None:
        return np.zeros(len(right))
    return -unit * np.concatenate([found.eqlin.marginals, found.ineqlin.marginals])


def _linear_program(cost: Vector, A: Any, b: Any, G: Any, h: Any, bounds: Matrix) -> Any:
    b, h = (None if rows is None else side for rows, side in ((A, b), (G, h)))
    return linprog(cost, A_ub=G, b_ub=h, A_eq=A, b_eq=b, bounds=bounds)


def _stacked(start: Any, program: QuadraticProgram) -> Vector | None:
    """Values of the dual variables as one vector; None where they are not all there."""
    if start is None or not set(program.variables) <= set(start):
        return None
    z = np.concatenate([np.asarray(start[name], dtype=float).ravel(order="F") for name in program.variables])
    return z if z.shape == program.linear.shape and np.isfinite(z).all() else None


def _largest(values: Vector, count: int) -> Indices:
    """The places of the largest values."""
    count = max(0, min(count, len(values)))
    return np.argpartition(-values, count - 1)[:count] if count else np.zeros(0, dtype=np.intp)
