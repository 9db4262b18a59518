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
#: The share of a block that may be kept for the next, and the share that variables between their bounds may take.
KEPT, INSIDE = 0.5, 0.75
#: Variables with the same entries in all rows that are worked on always: so many in each direction.
PARTNERS = 4
#: A variable that has the values of more points than this would make the matrices of its blocks too large.
MOST_POINTS = 8
#: The accuracy of a block, in units in which its terms are about 1, and the distance that counts as none.
ACCURACY, AT_BOUND = 1e-12, 1e-9
MOST_ITERATIONS = 60
#: The relative gap from which products are in double precision, and the part of the tolerance to see before a refresh.
SINGLE_UNTIL, AIM = 1e-2, 0.7
#: What counts as a gain, relative to the gap, and the rounds in a row without one after which the blocks grow.
GAIN, PATIENCE = 1e-3, 5
MOST_ROUNDS = 2000
#: How much larger than its value the terms of an objective may count: multipliers that are not unique can be anything.
CANCELLED = 1e3
#: The share of the memory budget that one matrix may take: the solver of a block holds four of its size.
SHARE = 0.2

CONVERGED, STALLED, INFEASIBLE = "converged", "stalled", "infeasible"


class Blocks(Solver):
    """Block decomposition for duals with any few rows and any number of kernel terms, stopped by the true gap.

    Where `kopt.separable` finds a form for it, `Decomposition` is faster; this one takes what that refuses: rows that
    tie sums of several groups of variables together, variables without kernel values, several kernels.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [OrderedNuRanking] = [f for f in kopt.discover() if f.__name__ == "OrderedNuRanking"]
    >>> sample = example(OrderedNuRanking.task)
    >>> kopt.solve(OrderedNuRanking(nu=0.4), sample, method="BLOCKS").certificate.holds(1e-6)
    True
    """

    name = "BLOCKS"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """After the decomposition into pairs, before one dense matrix."""
        if problem.sample.n > FEW_POINTS:
            return -0.4, f"with more than {FEW_POINTS} points a few hundred at a time are faster than one dense matrix"
        return None

    def accepts(self, problem: Problem) -> str | None:
        """Duals with a kernel term, in which no variable can go on for ever: there the gap would be infinite."""
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
        """Descend from a feasible point with few variables that are not 0."""
        program = problem.quadratic
        assert isinstance(program, QuadraticProgram)
        descent = Descent(program, problem)
        try:
            descent.begin(problem.start)
            status = descent.run()
        except KeyboardInterrupt:
            status = INTERRUPTED
        except InputError:  # no point meets the rows: whoever asks for a proof finds it
            return RawAnswer(INFEASIBLE)
        return RawAnswer(status, program.by_name(nearby_point(descent.z, program.feasible)))


class Form:
    """A kernel term factor (J z)' K (J z), and the products K (J z) at the point z where a descent is."""

    def __init__(self, term: KernelTerm, budget: float) -> None:
        self.factor, self.gram, self.J = term.factor, term.gram, sp.csc_array(term.J)
        self.columns = Columns(self.gram)
        self.products = np.zeros(self.gram.n)
        if self.gram.features is None and self.gram.fused is None and 8 * self.gram.n**2 <= budget:
            _ = self.gram.dense  # values that compiled code does not compute are computed once

    @property
    def gradient(self) -> Vector:
        """2 factor J' K J z."""
        return np.asarray(2 * self.factor * (self.J.T @ self.products))

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
        J = self.J[:, where]
        points = np.unique(J.indices)
        J = sp.csr_array(sp.csr_array(J)[points].T)
        K = self.columns.block(points, single=False)
        return np.asarray(2 * self.factor * (J @ (J @ K).T))

    def value(self, z: Vector) -> float:
        """factor (J z)' K (J z)."""
        return self.factor * self.gram.norm_squared(self.J @ z, self.products)

    def orthogonal(self, z: Vector) -> float:
        """What the term would be if the points were orthogonal."""
        return self.factor * float((self.J @ z) ** 2 @ self.gram.diagonal)

    def rounding(self, z: Vector) -> float:
        """What of the term may be rounding."""
        return self.factor * self.gram.rounding(self.J @ z)


@dataclass(frozen=True)
class State:
    """Where a descent is: the slopes with the multipliers of the rows, the objective, and what is open, of what size.

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
    """A descent on a quadratic program: the variables z, always feasible, and the multipliers y of the rows.

    min  sum of forms + 1/2 sum_a shift_a z_a^2 + linear' z    s.t.  lower <= z <= upper,  B z = c or B z <= c  : y

    For a block W of variables the change d minimises 1/2 d' P_WW d + g_W' d with B_W d = 0 or at most the slack, g the
    gradient. Its multipliers give the slopes r = g + B' y of all variables: those with the wrong sign come next.
    """

    def __init__(self, program: QuadraticProgram, problem: Problem) -> None:
        self.program, self.problem = program, problem
        self.box = implied_box(program.feasible)
        self.rows, self.right, self.equality = program.feasible.rows
        self.z, self.y = np.zeros(len(program.linear)), np.zeros(len(self.right))
        self.single = self.exact = True
        self.block: Indices = np.zeros(0, dtype=np.intp)
        budget = SHARE * problem.sample.budget
        self.largest = min(LARGEST, len(self.z), int(np.sqrt(budget / 8)) // points_per_variable(program))
        self.size = min(BLOCK, self.largest)
        self.forms = [Form(term, budget / len(program.terms)) for term in program.terms]

    @cached_property
    def homogeneous(self) -> bool:
        """Whether the objective is a squared norm and nothing else; that of the dual may be the norm."""
        return not self.program.linear.any() and not self.program.shift.any()

    @cached_property
    def alike(self) -> list[Indices]:
        """The variables in groups with the same entries in all rows; none where these would fill a block."""
        _, group, count = np.unique(self.rows.toarray(), axis=1, return_inverse=True, return_counts=True)
        if 4 * len(count) > BLOCK:
            return []
        return [np.flatnonzero(group.reshape(-1) == g) for g in range(len(count))]

    @cached_property
    def valueless(self) -> Indices:
        """The variables without kernel values, which cost next to nothing in a block."""
        return np.flatnonzero(sum(np.diff(form.J.indptr) for form in self.forms) == 0)

    @property
    def inside(self) -> Mask:
        """The variables between their bounds."""
        lower, upper = self.program.feasible.box
        return np.asarray((lower < self.z) & (self.z < upper))

    def begin(self, start: Any) -> None:
        """Begin at given dual variables, or at a feasible point with few that are not 0."""
        given = _stacked(start, self.program)
        self.z = nearby_point(sparse_point(self.program.feasible) if given is None else given, self.program.feasible)
        self.refresh()

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
            self._report(state)
            if self.exact and state.relative_gap <= self.problem.tolerance:
                return CONVERGED
            gained = state.value < lowest - GAIN * state.gap or state.gap < (1 - GAIN) * narrowest
            lowest, narrowest = min(lowest, state.value), min(narrowest, state.gap)
            idle = 0 if gained else idle + 1
            if idle > PATIENCE:
                if not self._harder(state):
                    return STALLED
                idle = 0
            self.improve(self.working_set(state), state)
        return STALLED

    def judged(self) -> State:
        """The state, from exact products where it is near what is asked for, or columns cost less than blocks."""
        state, enough = self.state(), AIM * self.problem.tolerance
        if self.single:
            enough = np.inf if self.size > BLOCK else max(enough, SINGLE_UNTIL)
        if state.relative_gap <= enough and not self.exact:
            self.single = False
            self.refresh()
            state = self.state()
        return state

    def _harder(self, state: State) -> bool:
        """Go on in double precision, or with larger blocks; False if there are none, or if what is left is rounding."""
        if not self.single and self.size == self.largest:
            return False
        if not self.single and state.open <= sum(form.rounding(self.z) for form in self.forms):
            return False
        self.size = self.size if self.single else min(2 * self.size, self.largest)
        self.single = False
        self.refresh()
        self.y = best_multipliers(self.gradient, self.z, self.box, self.program.feasible)
        return True

    @property
    def gradient(self) -> Vector:
        """The gradient in all variables, from the products."""
        p = self.program
        return np.asarray(p.linear + p.shift * self.z + sum(form.gradient for form in self.forms))

    def state(self) -> State:
        r"""Look at all variables.

        With slopes r and the single terms apart, the lower bound is that of the Lagrangian, min over the box,

            -1/2 z' K z + sum_a min_v ( (r_a - shift_a z_a) v + 1/2 shift_a v^2 ) - y' c
        """
        p, z, y = self.program, self.z, self.y
        gradient = self.gradient
        slope = gradient + self.rows.T @ y
        linear = slope - p.shift * z
        single, least = (linear + 0.5 * p.shift * z) * z, least_terms(linear, p.shift, *self.box)
        slack = float(y @ (self.right - self.rows @ z))
        gap = max(0.0, float(np.sum(single - least)) + slack)
        square = sum(form.value(z) for form in self.forms)
        value = square + float((p.linear + 0.5 * p.shift * z) @ z)
        terms = square + float(np.sum(np.abs(least))) + float(np.abs(y) @ np.abs(self.right))
        size = min(terms, CANCELLED * max(abs(value), abs(value - gap)))
        if not self.homogeneous:
            curved = (p.shift > 0) & self.inside
            return State(slope, value, gap, max(gap, float(np.sum(np.abs(slope * z)[curved]))), size)
        # The norm N of the square N^2 has the slopes r / 2N: all times 2N. It is at least 0, and counts for something.
        norm = float(np.sqrt(max(value, 0.0)))
        floor = NORM_FLOOR * float(np.sqrt(sum(form.orthogonal(z) for form in self.forms)))
        if gap > 2 * value:
            return State(slope, value, gap, 2 * norm**2, 2 * norm * max(norm, floor))
        return State(slope, value, gap, gap, max(size, 2 * norm * max(norm, floor)))

    def _report(self, state: State) -> None:
        dual, primal = (self.program.map_of_values(value) for value in (state.value, state.value - state.gap))
        support = max(int(np.count_nonzero(form.J @ self.z)) for form in self.forms)
        self.problem.watch.report(primal, dual, support)

    def working_set(self, state: State) -> Indices:
        """The variables to work on next: those that violate most, partners for them, and a part of the last ones.

        Where many are between their bounds the block grows to hold them all: in parts they would go on for ever.
        """
        inside = self.inside
        if np.sum(inside) > INSIDE * self.size:
            self.size = min(self.largest, int(np.sum(inside) / INSIDE) + BLOCK // 4)
        lower, upper = self.program.feasible.box
        rising = np.where(self.z < upper, -state.slope, -np.inf)
        falling = np.where(self.z > lower, state.slope, -np.inf)
        partners = [group[_largest(way[group], PARTNERS)] for group in self.alike for way in (rising, falling)]
        kept = self.block[inside[self.block]][: int(KEPT * self.size)]
        violation = np.maximum(rising, falling)
        without = self.valueless[_largest(violation[self.valueless], self.size // 2)]
        first = np.unique(np.concatenate([without, kept, *partners]))
        violation[first] = -np.inf
        self.block = np.concatenate([first, _largest(violation, self.size - len(first))])
        return self.block

    def improve(self, where: Indices, state: State) -> None:
        """Solve a block and go to its solution, as far as the objective falls; the multipliers are the new ones."""
        P = np.diag(self.program.shift[where])
        for form in self.forms:
            P += form.block(where)
        # Equalities leave the step alone when their multipliers are part of its slopes; these are then small.
        fixed = np.where(self.equality, self.y, 0.0)
        B, z = self.rows[:, where].toarray(), self.z[where]
        slope = state.slope[where] - B.T @ (self.y - fixed)
        slack = np.where(self.equality, 0.0, np.maximum(0.0, self.right - self.rows @ self.z))
        lower, upper = (bound[where] for bound in self.program.feasible.box)
        step, y, found = solved(P, slope, Polyhedron(lower - z, upper - z, *_rows(B, slack, self.equality)))
        step = _snapped(z, step, lower, upper, B, slack, self.equality)
        fall, curvature = -float(slope @ step), float(step @ P @ step)
        if found or fall > 0:
            self.y = fixed + y
        if not fall > 0:
            return
        length = min(1.0, fall / curvature) if curvature > 0 else 1.0
        moved = np.flatnonzero(step)
        for form in self.forms:
            form.add(where[moved], length * step[moved], self.single)
        self.z[where] = np.clip(z + length * step, lower, upper)
        self.exact = False


def points_per_variable(program: QuadraticProgram) -> int:
    """The largest number of points whose kernel values one variable has, at least 1."""
    return max(1, *(int(np.max(np.diff(sp.csc_array(term.J).indptr), initial=0)) for term in program.terms))


def least_terms(linear: Vector, shift: Vector, lower: Vector, upper: Vector) -> Vector:
    """min over lower_a <= v <= upper_a of linear_a v + 1/2 shift_a v^2, for each variable.

    >>> least_terms(np.array([2.0, -2.0]), np.array([0.0, 1.0]), np.zeros(2), np.array([1.0, np.inf])).tolist()
    [0.0, -2.0]
    """
    curved = shift > 0
    v = np.where(linear > 0, lower, np.where(linear < 0, upper, np.clip(0.0, lower, upper)))
    v[curved] = np.clip(-linear[curved] / shift[curved], lower[curved], upper[curved])
    return linear * v + 0.5 * shift * v**2


def solved(P: Matrix, linear: Vector, feasible: Polyhedron) -> tuple[Vector, Vector, bool]:
    """The x that minimises 1/2 x' P x + linear' x over a polyhedron, the multipliers of its rows, and whether it is found.

    >>> x, y, _ = solved(np.eye(2), np.zeros(2), Polyhedron(np.zeros(2), np.ones(2), np.ones((1, 2)), [1.0]))
    >>> x.round(9).tolist(), y.round(9).tolist()
    ([0.5, 0.5], [-0.5])
    """
    lower, upper = feasible.box
    finite = np.abs(np.concatenate([lower, upper]))
    far, slope, diagonal = np.max(finite[np.isfinite(finite)], initial=0.0), np.max(np.abs(linear)), np.mean(np.diag(P))
    unit = float(min(far or np.inf, slope / diagonal if diagonal > 0 else np.inf))
    unit = unit if 0 < unit < np.inf else 1.0
    size = max(unit * float(slope), unit**2 * float(diagonal)) or 1.0
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_rel"):
        setattr(solver.settings, name, ACCURACY)
    solver.settings.eps_duality_gap_abs = ACCURACY**2
    solver.settings.max_iter = MOST_ITERATIONS
    A, b = _dense(feasible.A, feasible.b, unit)
    G, h = _dense(feasible.G, feasible.h, unit)
    quadratic = np.asfortranarray(P * (unit**2 / size))
    solver.setup(quadratic, linear * (unit / size), A, b, G, None, h, lower / unit, upper / unit)
    status = solver.solve()
    x, y = solver.result.x * unit, np.concatenate([solver.result.y, solver.result.z_u]) * (size / unit)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return np.clip(0.0, lower, upper), np.zeros(len(y)), False
    return np.clip(x, lower, upper), y, status == piqp.PIQP_SOLVED


def best_multipliers(gradient: Vector, z: Vector, box: tuple[Vector, Vector], feasible: Polyhedron) -> Vector:
    """The multipliers of the rows with the smallest gap: those of min gradient' v over the polyhedron.

    An infinite bound is taken as far away as the largest variable.
    """
    unit, far = float(np.max(np.abs(gradient))) or 1.0, float(np.max(np.abs(z))) or 1.0
    lower, upper = (
        np.where(np.isfinite(bound), bound - z, sign * far) for sign, bound in zip((-1, 1), box, strict=True)
    )
    found = linprog(
        gradient / unit,
        A_ub=feasible.G,
        b_ub=None if feasible.G is None else np.maximum(0.0, feasible.h - feasible.G @ z),
        A_eq=feasible.A,
        b_eq=None if feasible.A is None else np.zeros(np.size(feasible.b)),
        bounds=np.column_stack([lower, upper]),
    )
    if found.x is None:
        return np.zeros(len(feasible.rows[1]))
    return -unit * np.concatenate([found.eqlin.marginals, found.ineqlin.marginals])


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
    """Replace infinite bounds by those that sum_j b_j v_j <= side implies."""
    least = b * np.where(b > 0, lower[where], upper[where])
    unknown = np.isinf(least)
    if np.sum(unknown) > 1:
        return
    others = np.sum(least[~unknown]) - np.where(unknown, 0.0, least)
    reach = np.where(unknown | ~unknown.any(), (side - others) / b, np.sign(b) * np.inf)
    above, below = where[(b > 0) & np.isinf(upper[where])], where[(b < 0) & np.isinf(lower[where])]
    upper[above] = np.maximum(reach[(b > 0) & np.isinf(upper[where])], lower[above])
    lower[below] = np.minimum(reach[(b < 0) & np.isinf(lower[where])], upper[below])


def sparse_point(feasible: Polyhedron) -> Vector:
    """A point with the least sum of absolute values, found as a vertex: almost all of its variables are at bounds.

    >>> sparse_point(Polyhedron(np.zeros(4), np.full(4, 0.5), np.ones((1, 4)), [1.0])).round(9).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    lower, upper = feasible.box
    parts = [(np.maximum(lower, 0.0), np.maximum(upper, 0.0)), (np.maximum(-upper, 0.0), np.maximum(-lower, 0.0))]
    found = linprog(
        np.ones(2 * len(lower)),
        A_ub=None if feasible.G is None else sp.hstack([feasible.G, -feasible.G], format="csr"),
        b_ub=None if feasible.G is None else feasible.h,
        A_eq=None if feasible.A is None else sp.hstack([feasible.A, -feasible.A], format="csr"),
        b_eq=None if feasible.A is None else feasible.b,
        bounds=np.vstack([np.column_stack(part) for part in parts]),
    )
    return np.zeros(len(lower)) if found.x is None else np.subtract(*np.split(found.x, 2))


def _stacked(start: Any, program: QuadraticProgram) -> Vector | None:
    """Values of the dual variables as one vector; None where they are not all there."""
    if start is None or not set(program.variables) <= set(start):
        return None
    z = np.concatenate([np.asarray(start[name], dtype=float).ravel(order="F") for name in program.variables])
    return z if z.shape == program.linear.shape and np.isfinite(z).all() else None


def _snapped(z: Vector, step: Vector, lower: Vector, upper: Vector, B: Matrix, slack: Vector, equality: Mask) -> Vector:
    """The step with variables that end at a bound exactly there; the others make up for what that does to the rows."""
    end, near = z + step, AT_BOUND * np.where(np.isfinite(upper - lower), upper - lower, np.max(np.abs(z + step)))
    end = np.where(end - lower <= near, lower, np.where(upper - end <= near, upper, end))
    inside = (lower < end) & (end < upper)
    excess = B @ (end - z) - slack
    excess = np.where(equality, excess, np.maximum(0.0, excess))
    if inside.any() and excess.any():
        end[inside] -= np.linalg.lstsq(B[:, inside], excess, rcond=None)[0]
    return np.clip(end, lower, upper) - z


def _rows(B: Matrix, side: Vector, equality: Mask) -> tuple[Matrix | None, Vector, Matrix | None, Vector]:
    """The rows as A, b, G, h; None for none."""
    parts = [(B[kind] if kind.any() else None, side[kind]) for kind in (equality, ~equality)]
    return *parts[0], *parts[1]


def _dense(rows: Any, side: Any, unit: float) -> tuple[Matrix | None, Vector | None]:
    return (None, None) if rows is None else (np.asfortranarray(rows), np.asarray(side, dtype=float) / unit)


def _largest(values: Vector, count: int) -> Indices:
    """The places of the largest values."""
    count = max(0, min(count, len(values)))
    return np.argpartition(-values, count - 1)[:count] if count else np.zeros(0, dtype=np.intp)
