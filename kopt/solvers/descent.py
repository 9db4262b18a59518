"""A descent on a separable program, from one working set to the next, with the true gap in sight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kopt.errors import InputError
from kopt.gram.columns import Columns
from kopt.gram.pivoted import PartialCholesky, pivoted_cholesky
from kopt.polyhedra import nearby_point
from kopt.separable import SeparableProgram
from kopt.solvers.problem import Problem
from kopt.solvers.working_sets import WorkingSets

EPS = float(np.finfo(np.float64).eps)
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Up to so many variables the working set is all of them, in double precision.
ALL = 2048
#: How far the violation is reduced in a block, and where all variables that may still move are in the working set.
REDUCTION, BAND_REDUCTION = 0.1, 0.01
LEAST_BLOCK = 16
#: The share of the memory budget that the matrix of a working set may take.
SHARE = 0.25
#: Where a variable has no bound the gap is an estimate, and taken so many times.
ESTIMATED = 10.0
#: Where there are squared terms the conditions are met to the violation itself, which is taken so many times.
SQUARED = 3.0
#: What a factor of K may leave of its diagonal, and the most columns it may have, for its spectrum to count as fast.
FACTOR_ERROR, MOST_COLUMNS = 1e-6, 250
#: What a quarter of these may leave at most.
SLOW = 0.3
#: The variables from which slopes are estimated before there are any.
ESTIMATING = 512
#: Steps between two looks at the gap, and at the interrupt; fewer where the gradient is kept in single precision,
#: which is enough while the violation is not much smaller than the gradient.
MOST_STEPS, COARSE_STEPS, COARSE = 100_000, 25_000, 1e-3
#: Steps in which the gap should have halved at least: a problem that needs more is for another method.
LEAST_STEPS, STEPS_PER_VARIABLE = 500_000, 300
#: The gap that values in single precision should show before they are computed anew in double.
AIM = 0.7
#: f is computed anew where the violation is below so many times the error that single precision has left in it, and
#: no violation is reduced below that error; where its estimate is too large, it is measured at so many points.
DRIFTED, PROBES = 2.0, 64
#: What a round should gain, as a part of the gap, and the rounds in a row without that after which it ends.
WORTHWHILE, PATIENCE = 1e-4, 20
MOST_ROUNDS = 20_000

CONVERGED, STALLED, STEP_LIMIT, UNBOUNDED = "converged", "stalled", "too many steps", "unbounded"
FAST_SPECTRUM = "fast spectrum"


@dataclass(frozen=True)
class State:
    """Where a descent is: the slopes of each variable, the multipliers rho of the sums, and what they leave open."""

    up: Vector
    down: Vector
    slope: Vector
    violation: float
    gap: float
    value: float
    complementarity: float

    @property
    def relative_gap(self) -> float:
        """What is open over the size of the primal value.

        That is the gap, except for squared terms: there it is of second order in the violations, and the conditions
        of the optimum are met only when what the violation costs at the multipliers is as small.
        """
        size, still_open = abs(self.gap - self.value), max(self.gap, self.complementarity)
        if np.isinf(still_open):
            return np.inf
        return still_open / size if size > 0 else np.inf if still_open > 0 else 0.0


class Descent:
    """A descent on a separable program: the variables c, the values f = K c, and how exactly these are known."""

    def __init__(self, program: SeparableProgram, problem: Problem) -> None:
        self.program, self.problem = program, problem
        self.columns = Columns(program.gram)
        self.c, self.f = np.zeros(program.size), np.zeros(program.gram.n)
        self.rho = np.zeros(len(program.totals))
        self.exact = True
        self.drift_squared = 0.0
        self.steps = self.steps_left = max(LEAST_STEPS, STEPS_PER_VARIABLE * program.size)
        self.whole = program.size <= ALL and 8 * program.size**2 <= SHARE * problem.sample.budget
        self.single = not self.whole
        self.sets = WorkingSets(program, int(np.sqrt(SHARE * problem.sample.budget / 8)))
        self.coarse = True
        self.hand_over = True
        self.factor: PartialCholesky | None = None
        self._matrix: tuple[Indices, NDArray[Any]] | None = None
        _ = program.gram.diagonal  # refused where it is not finite
        if self.whole:
            _ = program.gram.dense
        elif self.sets.largest < LEAST_BLOCK:
            needed = int(np.ceil(8 * LEAST_BLOCK**2 / SHARE))
            raise InputError(
                f"The budget of {problem.sample.budget} bytes has no room for a working set of {LEAST_BLOCK} points.",
                f"Raise it to {needed} bytes at least, as in Sample(..., budget={needed}).",
            )

    def begin(self, start: Vector | None) -> None:
        """Begin at given dual variables, or as near to 0 as the sums allow with few variables."""
        program = self.program
        self.c = self._filled() if start is None else program.of_dual(nearby_point(start, program.source.feasible))
        coefficients = program.coefficients(self.c)
        if self.single and program.gram.known_product(coefficients) is None:
            support = np.flatnonzero(coefficients)
            self.f = np.zeros(program.gram.n)
            self.columns.add(support, coefficients[support], self.f)
            self.exact, self.drift_squared = len(support) == 0, float(np.sum(coefficients**2))
        else:
            self.refresh()

    def _filled(self) -> Vector:
        """A feasible point with few variables that are not 0: each group is filled up with those that gain most."""
        p = self.program
        c = np.clip(np.zeros(p.size), p.lower, p.upper)
        missing = np.array([total - float(np.sum(c[p.group == g])) for g, total in enumerate(p.totals)])
        if not missing.any():
            return c
        slope = self._slope_if_alike(missing)
        for g, amount in enumerate(missing):
            members = np.flatnonzero(p.group == g)
            members = members[np.argsort(np.sign(amount) * slope[members], kind="stable")]
            room = np.abs((p.upper if amount > 0 else p.lower)[members] - c[members])
            before = np.cumsum(np.append(0.0, room[:-1]))
            c[members] += np.sign(amount) * np.clip(abs(amount) - before, 0.0, room)
        return c

    def _slope_if_alike(self, totals: Vector) -> Vector:
        """An estimate of the gradient where all variables of a group are alike, from some of them."""
        p = self.program
        alike = totals[p.group] / np.bincount(p.group, minlength=len(totals))[p.group]
        some = np.sort(np.random.default_rng(0).permutation(p.size)[:ESTIMATING])
        f = np.zeros(p.gram.n)
        self.columns.add(p.points[some], alike[some] * (p.size / len(some)), f)
        return p.slope(f, alike)

    def refresh(self) -> None:
        """Make c feasible to rounding, and compute f = K c in double precision."""
        self.c = self.program.of_dual(self.program.feasible_dual(self.c))
        self.f = self.program.gram.product(self.program.coefficients(self.c))
        self.exact, self.drift_squared = True, 0.0

    def run(self) -> str:
        """Descend until the gap is small enough, in values that are exact; the status says why it ended."""
        tolerance, last, idle, last_exact, gap_then = self.problem.tolerance, np.inf, 0, np.inf, np.inf
        for _ in range(MOST_ROUNDS):
            state = self.state()
            self._report(state)
            if state.relative_gap <= (tolerance if self.exact else AIM * tolerance):
                if self.exact:
                    return CONVERGED
                self.refresh()
                state = self.state()
                if state.relative_gap <= tolerance:
                    self._report(state)
                    return CONVERGED
                if state.relative_gap > last_exact / 4 and not self._more_exactly():
                    return STALLED
                last_exact = state.relative_gap
            idle = idle + 1 if last - state.value < WORTHWHILE * state.gap else 0
            last = state.value
            if not self.exact and DRIFTED * self.drift_beside(state.violation / DRIFTED) > state.violation:
                self.refresh()
                state = self.state()
            where = self.working_set(state)
            if self.sets.band is not None and self.hand_over and self._has_fast_spectrum():
                return FAST_SPECTRUM
            moved = self.improve(where, state)
            if moved is None:
                return UNBOUNDED
            if self.steps_left <= 0:
                if state.gap > gap_then / 2:
                    return STEP_LIMIT
                self.steps_left, gap_then = self.steps, state.gap
            if (not moved or idle > PATIENCE) and not self._more_exactly():
                return STALLED
            idle = 0 if idle > PATIENCE else idle
        return STALLED

    def _has_fast_spectrum(self) -> bool:
        """Whether a few columns are nearly all there is to K; it is asked once, and given up early where it is slow."""
        self.hand_over = False
        gram = self.program.gram
        most = min(MOST_COLUMNS, int(SHARE * self.problem.sample.budget) // (8 * gram.n))
        first = pivoted_cholesky(gram, FACTOR_ERROR, most // 4)
        if first.remaining.max() > SLOW * gram.diagonal.max():
            return False
        self.factor = pivoted_cholesky(gram, FACTOR_ERROR, most, start=first)
        return bool(self.factor.remaining.max() <= FACTOR_ERROR * gram.diagonal.max())

    def _more_exactly(self) -> bool:
        """Go on in double precision; False if that is what was done already."""
        if not self.single and self.exact:
            return False
        self.single = False
        self._matrix = None
        self.refresh()
        return True

    @property
    def drift(self) -> float:
        """An estimate of the error in f since it was last exact: independent errors of the entries of K added up."""
        return self.columns.single_error * float(np.sqrt(self.drift_squared)) if self.single else 0.0

    def drift_beside(self, size: float) -> float:
        """The error in f: the estimate if that is below some size, otherwise measured at a few points."""
        if self.drift <= size:
            return self.drift
        probes = np.random.default_rng(self.sets.rounds).integers(self.program.gram.n, size=PROBES)
        exact = self.columns.values(probes, self.program.coefficients(self.c))
        return float(np.sqrt(np.mean((self.f[probes] - exact) ** 2)))

    def _report(self, state: State) -> None:
        values = self.program.source.map_of_values, self.program.factor
        lower, upper = (values[0](values[1] * w) for w in (state.value, state.value - state.gap))
        self.problem.watch.report(upper, lower, int(np.count_nonzero(self.c)))

    def state(self) -> State:
        """Look at all variables."""
        from kopt.fused.pairs import gap_of, slopes

        p, c = self.program, self.c
        up, down = slopes(self.f, p.points, c, p.gain, p.width, p.shift, p.lower, p.upper)
        if len(p.totals):
            least, most = _by_group(np.minimum, up, p), _by_group(np.maximum, down, p)
            self.rho = _between(least, most)
            tried = [self.rho, least, most]
            violation = float(np.max(most - least, initial=0.0))
            rho = self.rho[p.group]
        else:
            rho, tried = np.zeros(len(c)), [np.zeros(0)]
            violation = max(0.0, float(np.max(-up, initial=0.0)), float(np.max(down, initial=0.0)))
        whole = p.slope(self.f, c)
        slope = whole - rho
        if self.exact and len(p.totals):
            tried.append(self._best_multipliers(whole))
        shifted = [whole - each[p.group] if len(each) else whole for each in tried if np.isfinite(each).all()]
        gap = min(gap_of(each, c, p.width, p.shift, p.lower, p.upper) for each in shifted)
        if not np.isfinite(gap):  # a variable without bound: what the violation costs at the multipliers
            gap = ESTIMATED * violation * float(np.sum(np.abs(c))) if c.any() else np.inf
        violation = max(violation, 0.0)
        complementarity = self._complementarity(violation)
        return State(up - rho, down - rho, slope, violation, gap, p.value(self.f, c), complementarity)

    def _best_multipliers(self, slope: Vector) -> Vector:
        """The multipliers with the smallest gap, a piecewise linear function of each: a weighted quantile of slopes.

        At the middle between the extreme slopes the gap is as small only if every variable rests where it should.
        """
        p, rho = self.program, self.rho.copy()
        if p.shift.any() or not np.isfinite(p.upper - p.lower).all():
            return rho
        for g in range(len(p.totals)):
            members = np.flatnonzero(p.group == g)
            kinks = np.concatenate([slope[members] - p.width[members], slope[members] + p.width[members]])
            weights = np.concatenate([-p.lower[members], p.upper[members]])
            order = np.argsort(kinks)
            reached = np.cumsum(weights[order]) >= np.sum((self.c - p.lower)[members])
            rho[g] = kinks[order[int(np.argmax(reached))]]
        return rho

    def _complementarity(self, violation: float) -> float:
        """What the violation costs at the multipliers, where there are squared terms."""
        return SQUARED * violation * float(np.sum(np.abs(self.c))) if self.program.shift.any() else 0.0

    def working_set(self, state: State) -> Indices:
        """The variables to work on next, ordered by group."""
        p = self.program
        chosen = np.arange(p.size) if self.whole else self.sets.next(state, self.c)
        return chosen[np.argsort(p.group[chosen], kind="stable")] if len(p.totals) > 1 else chosen

    def improve(self, where: Indices, state: State) -> bool | None:
        """Descend on a working set and bring f up to date; False if nothing moved, None if it is unbounded."""
        from kopt.fused.pairs import pairs, singles

        p, in_band = self.program, not self.sets.in_block
        points = p.points[where]
        K = self._matrix_of(where, points)
        rough = state.violation > COARSE * np.abs(state.slope).max()
        coarse = self.coarse and (not in_band or (K.dtype == np.float32 and rough))
        real = K.dtype if coarse else np.float64
        most = min(COARSE_STEPS if coarse else MOST_STEPS, self.steps_left)
        diagonal = (np.diagonal(K) + p.shift[where]).astype(real)
        G, c = (state.slope[where]).astype(real), self.c[where]
        rounding = 8 * EPS * max(float(np.abs(G).max()), float(np.abs(p.gain[where]).max()))
        # The gap falls with the violation: no further than needed.
        needed = AIM / 2 * self.problem.tolerance / state.relative_gap if state.relative_gap > 0 else 1.0
        goal = max((BAND_REDUCTION if in_band else REDUCTION) * state.violation, needed * state.violation, rounding)
        if not self.exact:
            goal = max(goal, self.drift_beside(goal))
        box = p.width[where], p.lower[where], p.upper[where]
        if len(p.totals):
            G += self.rho[p.group[where]].astype(real)
            starts = np.unique(np.searchsorted(p.group[where], np.arange(len(p.totals) + 1)))
            steps, _ = pairs(K, diagonal, G, c, *box, starts, goal, most)
        else:
            steps, _ = singles(K, diagonal, G, c, *box, goal, most)
        if steps < 0:
            return None
        self.steps_left -= steps
        self.coarse = self.coarse and (in_band or steps < most)
        change = c - self.c[where]
        changed = np.flatnonzero(change)
        self.columns.add(points[changed], change[changed], self.f, self.single)
        self.drift_squared += float(np.sum(change[changed] ** 2))
        self.c[where] = c
        self.exact = self.exact and len(changed) == 0
        return len(changed) > 0

    def _matrix_of(self, where: Indices, points: Indices) -> NDArray[Any]:
        if self._matrix is None or not np.array_equal(self._matrix[0], where):
            self._matrix = where, self.columns.block(points, self.single)
        return self._matrix[1]


def _by_group(extreme: Any, values: Vector, program: SeparableProgram) -> Vector:
    if len(program.totals) == 1:
        return np.array([extreme.reduce(values)])
    start = np.inf if extreme is np.minimum else -np.inf
    result = np.full(len(program.totals), start)
    extreme.at(result, program.group, values)
    return result


def _between(least: Vector, most: Vector) -> Vector:
    """The middle between two slopes, or the one that is finite."""
    finite = np.isfinite(least) & np.isfinite(most)
    one = np.where(np.isfinite(least), least, np.where(np.isfinite(most), most, 0.0))
    with np.errstate(invalid="ignore"):
        return np.where(finite, (least + most) / 2, one)
