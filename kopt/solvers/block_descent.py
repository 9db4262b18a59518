"""The descent of a block decomposition: which variables to work on, how far to go, and how large the gap is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kopt.errors import InputError
from kopt.polyhedra import nearby_point
from kopt.quadratic import QuadraticProgram
from kopt.solvers.block import Block, at_bounds
from kopt.solvers.form import Form
from kopt.solvers.implied_box import implied_box
from kopt.solvers.linear_programs import best_multipliers, sparse_point
from kopt.solvers.problem import Problem
from kopt.views.products import NORM_FLOOR

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: The variables that are worked on at first, and the most: a block of 3000 takes its solver ten seconds.
BLOCK, LARGEST = 250, 3000
#: The share of a block that is kept for the next, and the share that variables between their bounds may take.
KEPT, INSIDE = 0.5, 0.75
#: Of the variables with the same entries in all rows, so many in each direction are worked on always.
PARTNERS = 4
#: The relative gap from which on products are in double precision.
SINGLE_UNTIL = 1e-2
#: The part of the tolerance to reach: the certificate's multipliers, where they are not unique, give other sizes.
AIM = 0.5
#: What counts as a gain, relative to the gap, and the rounds without one after which the blocks grow.
GAIN, PATIENCE = 1e-3, 5
MOST_ROUNDS = 2000
#: The part of a box that rounding may have moved a variable off its bound.
LAST_DIGITS = 1e-12
#: The gap, in units of the smallest so far, that shows a block to know too little about the multipliers.
FAR_OFF = 10.0
#: How much more than its value the terms of an objective may count: multipliers that are not unique may be anything.
CANCELLED = 30.0
#: The share of the memory budget that one matrix may take: the solver of a block holds four of its size.
SHARE = 0.2

CONVERGED, STALLED, INFEASIBLE = "converged", "stalled", "infeasible"


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
    def below_and_above(self) -> tuple[Vector, Vector]:
        """How far each variable is from its two bounds, 0 where that is rounding."""
        lower, upper = self.program.feasible.box
        z = at_bounds(self.z, lower, upper, LAST_DIGITS)
        return z - lower, upper - z

    @property
    def inside(self) -> Mask:
        """Which variables are between their bounds."""
        return np.minimum(*self.below_and_above) > 0

    @property
    def gradient(self) -> Vector:
        """The gradient in all variables, from the products."""
        p = self.program
        return np.asarray(p.linear + p.shift * self.z + sum(form.gradient for form in self.forms))

    def begin(self, given: Vector | None) -> bool:
        """Begin at given dual variables, or with few that are not 0; False if no point is feasible."""
        feasible = self.program.feasible
        try:
            start = sparse_point(feasible) if given is None else given
            self.z = nearby_point(at_bounds(start, *feasible.box), feasible)
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
        lowest, narrowest, idle, changed = np.inf, np.inf, 0, True
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
            if idle > PATIENCE or not changed:
                if not self._harder(state):
                    return STALLED
                idle = 0
            changed = self.improve(state)
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
        below, above = self.below_and_above
        rising, falling = (
            np.where(room > 0, slope, -np.inf) for room, slope in ((above, -state.slope), (below, state.slope))
        )
        violation = np.maximum(rising, falling)
        each = min(PARTNERS, BLOCK // max(1, 2 * len(self.alike)))
        partners = [group[_largest(way[group], each)] for group in self.alike for way in (rising, falling)]
        kept = self.where[inside[self.where]][: int(KEPT * self.size)]
        others = self.without_values[_largest(violation[self.without_values], self.size // 2)]
        first = np.unique(np.concatenate([others, kept, *partners]))
        violation[first] = -np.inf
        return np.concatenate([first, _largest(violation, self.size - len(first))])

    def improve(self, state: State) -> bool:
        """Solve the next block, go to its solution as far as the objective falls, and keep its multipliers.

        False if neither was possible: the next block would be the same.
        """
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
        return found or length > 0


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
    return np.asarray((linear + 0.5 * shift * v) * v)


def _largest(values: Vector, count: int) -> Indices:
    """The places of the largest values."""
    count = max(0, min(count, len(values)))
    return np.argpartition(-values, count - 1)[:count] if count else np.zeros(0, dtype=np.intp)
