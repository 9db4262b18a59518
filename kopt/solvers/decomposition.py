"""Decomposition: sequential minimal optimisation on working sets, stopped by the true duality gap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kopt.errors import InputError
from kopt.gram.columns import Columns
from kopt.gram.pivoted import pivoted_cholesky
from kopt.polyhedra import nearby_point
from kopt.separable import SeparableProgram, separable
from kopt.solvers.low_rank import SOLVED, LowRank
from kopt.solvers.problem import Problem
from kopt.solvers.solver import INTERRUPTED, RawAnswer, Solver

EPS = float(np.finfo(np.float64).eps)
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Up to so many points a dense interior point method is as fast, and more exact.
FEW_POINTS = 1000
#: Up to so many variables the working set is all of them, in double precision.
ALL = 2048
#: The variables that are worked on at a time, the share of them that is kept, and how far their violation is reduced.
BLOCK, KEPT, REDUCTION = 1536, 0.5, 0.1
LEAST_BLOCK = 16
#: Where so few variables may still move, these are the working set: no further on the right side of their margin than
#: so many times as far as the worst is on the wrong one.
FEW, FEW_WITHIN = 3072, 2.0
#: After so many rounds, and so many times as many as it takes to work on each support vector once, and with a gap below
#: a limit, the working set becomes all variables that may still move ("the band").
FIRST_ROUNDS, TIMES_EACH, BAND_FROM = 10, 6.0, 0.2
#: How near the margin these are, in units of the mean distance, at first and at last; and how far they are reduced.
BAND_WIDTH, BAND_LEAST, BAND_REDUCTION = 0.4, 0.02, 0.01
#: No more than so many times those that have to be in it.
BAND_MOST = 1.5
#: The share of the memory budget that the matrix of a working set may take.
SHARE = 0.25
#: Where a variable has no bound the gap is an estimate, and taken so many times.
ESTIMATED = 10.0
#: What a factor of K may leave of its diagonal, and the most columns it may have, for its spectrum to count as fast.
FACTOR_ERROR, MOST_COLUMNS = 1e-6, 250
#: Steps between two looks at the gap, and at the interrupt; fewer where the gradient is kept in single precision,
#: which is enough while the violation is not much smaller than the gradient.
MOST_STEPS, COARSE_STEPS, COARSE = 100_000, 25_000, 1e-3
#: Steps in all: a problem that needs more is for another method.
LEAST_STEPS, STEPS_PER_VARIABLE = 500_000, 300
#: The gap that values in single precision should show before they are computed anew in double.
AIM = 0.7
#: f is computed anew where the violation is below so many times the error that single precision has left in it, and
#: no violation is reduced below that error; where its estimate is too large, it is measured at so many points.
DRIFTED, PROBES = 2.0, 64
#: What a round should gain, as a part of the gap, and the rounds in a row without that after which it ends.
WORTHWHILE, PATIENCE = 1e-4, 20
MOST_ROUNDS = 20_000

CONVERGED, STALLED, UNBOUNDED, FAST_SPECTRUM = "converged", "stalled", "unbounded", "fast spectrum"


class Decomposition(Solver):
    """Block decomposition: kernel values in single precision, judged and corrected in double.

    For duals with one kernel form over a box, in which the sums over some groups of variables are fixed: with an
    offset (one sum), nu-machines (a sum per class), without offset (none), tubes, two-norm and hard margins. See
    `kopt.separable`.

    >>> import kopt
    >>> from kopt.examples import example
    >>> [SoftMargin] = [f for f in kopt.discover() if f.__name__ == "SoftMargin"]
    >>> kopt.solve(SoftMargin(C=1.0), example(SoftMargin.task), method="DECOMPOSITION").certificate.holds(1e-6)
    True
    """

    name = "DECOMPOSITION"

    def place(self, problem: Problem) -> tuple[float, str]:
        """First, where there are many points."""
        if problem.sample.n > FEW_POINTS:
            return -0.5, f"with more than {FEW_POINTS} points it is faster to work on some of them at a time"
        return 1.7, "the solvers before it failed"

    def accepts(self, problem: Problem) -> str | None:
        """Duals in the form of `kopt.separable`."""
        program = problem.separable
        return program if isinstance(program, str) else None

    def solve(self, problem: Problem) -> RawAnswer:
        """Descend; a row that turns out to be a slack inequality is left out the second time."""
        program = problem.separable
        assert isinstance(program, SeparableProgram)
        z, status, rho = _descended(program, problem, problem.start)
        slack = _slack_rows(program, rho)
        if slack.any() and status != INTERRUPTED:
            relaxed = separable(_without(program, slack))
            if not isinstance(relaxed, str):
                z, status, _ = _descended(relaxed, problem, program.source.by_name(z))
        return RawAnswer(status, {} if status == UNBOUNDED else program.source.by_name(z))


def _descended(program: SeparableProgram, problem: Problem, start: Any) -> tuple[Vector, str, Vector]:
    descent = Descent(program, problem)
    try:
        descent.begin(start)
        status = descent.run()
        if status == FAST_SPECTRUM:
            by_name = program.source.by_name(program.feasible_dual(descent.c))
            answer = LowRank().solve(problem.beginning_at(by_name))
            descent.begin(answer.values)
            status = answer.status if answer.status in (SOLVED, INTERRUPTED) else descent.run()
    except KeyboardInterrupt:
        status = INTERRUPTED
    return program.feasible_dual(descent.c), status, descent.rho


def _slack_rows(program: SeparableProgram, rho: Vector) -> NDArray[np.bool_]:
    """The inequality rows, taken as equalities, whose multipliers have the wrong sign."""
    equality = program.source.feasible.rows[2]
    if equality.all() or not np.isfinite(rho).all():
        return np.zeros(len(equality), dtype=bool)
    mu = program.multipliers_of_rows(rho)
    return ~equality & (mu > 1e-9 * np.abs(mu).max(initial=0.0))


def _without(program: SeparableProgram, slack: NDArray[np.bool_]) -> Any:
    feasible = program.source.feasible
    kept = ~slack[np.size(feasible.b) :]
    G = feasible.G[np.flatnonzero(kept)] if kept.any() else None
    return replace(program.source, feasible=replace(feasible, G=G, h=np.asarray(feasible.h)[kept]))


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
        self.steps_left = max(LEAST_STEPS, STEPS_PER_VARIABLE * program.size)
        self.whole = program.size <= ALL and 8 * program.size**2 <= SHARE * problem.sample.budget
        self.single = not self.whole
        self.band_width = BAND_WIDTH
        self.band: Indices | None = None
        self.few: Indices | None = None
        self.rounds = 0
        self.coarse = True
        self.hand_over = True
        self.block: Indices = np.zeros(0, dtype=np.intp)
        self._matrix: tuple[Indices, NDArray[Any]] | None = None
        if self.whole:
            _ = program.gram.dense
        elif self.largest < LEAST_BLOCK:
            needed = int(np.ceil(8 * LEAST_BLOCK**2 / SHARE))
            raise InputError(
                f"The budget of {problem.sample.budget} bytes has no room for a working set of {LEAST_BLOCK} points.",
                f"Raise it to {needed} bytes at least, as in Sample(..., budget={needed}).",
            )

    def begin(self, start: Any) -> None:
        """Begin at given dual variables, or as near to 0 as the sums allow with few variables."""
        program = self.program
        if start is not None and set(program.source.variables) <= set(start):
            parts = [np.asarray(start[name], dtype=float).ravel(order="F") for name in program.source.variables]
            stacked = np.concatenate(parts)
            if stacked.shape == program.source.linear.shape and np.isfinite(stacked).all():
                self.c = program.of_dual(nearby_point(stacked, program.source.feasible))
        else:
            self.c = _filled(program)
        coefficients = program.coefficients(self.c)
        if self.single and program.gram.known_product(coefficients) is None:
            support = np.flatnonzero(coefficients)
            self.f = np.zeros(program.gram.n)
            self.columns.add(support, coefficients[support], self.f)
            self.exact, self.drift_squared = len(support) == 0, float(np.sum(coefficients**2))
        else:
            self.refresh()

    def refresh(self) -> None:
        """Make c feasible to rounding, and compute f = K c in double precision."""
        self.c = self.program.of_dual(self.program.feasible_dual(self.c))
        self.f = self.program.gram.product(self.program.coefficients(self.c))
        self.exact, self.drift_squared = True, 0.0

    def run(self) -> str:
        """Descend until the gap is small enough, in values that are exact; the status says why it ended."""
        tolerance, last, idle, last_exact = self.problem.tolerance, np.inf, 0, np.inf
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
            if self.band is not None and self.hand_over and self._has_fast_spectrum():
                return FAST_SPECTRUM
            moved = self.improve(where, state)
            if moved is None:
                return UNBOUNDED
            if self.steps_left <= 0:
                return STALLED
            if (not moved or idle > PATIENCE) and not self._more_exactly():
                return STALLED
            idle = 0 if idle > PATIENCE else idle
        return STALLED

    def _has_fast_spectrum(self) -> bool:
        """Whether a few columns are nearly all there is to K; it is asked once."""
        self.hand_over = False
        gram = self.program.gram
        factor = pivoted_cholesky(gram, FACTOR_ERROR, MOST_COLUMNS)
        return bool(factor.remaining.max() <= FACTOR_ERROR * gram.diagonal.max())

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
        probes = np.random.default_rng(self.rounds).integers(self.program.gram.n, size=PROBES)
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
        return 3 * violation * float(np.sum(np.abs(self.c))) if self.program.shift.any() else 0.0

    def working_set(self, state: State) -> Indices:
        """The variables to work on next, ordered by group."""
        p = self.program
        if self.whole:
            chosen = np.arange(p.size)
        else:
            self.rounds += 1
            band = self._few(state)
            if band is None and self._blocks_are_slow(state):
                band = self._band(state)
            chosen = self._next_block(state) if band is None else band
            self.block = chosen if band is None else chosen[:0]
        return chosen[np.argsort(p.group[chosen], kind="stable")] if len(p.totals) > 1 else chosen

    def _few(self, state: State) -> Indices | None:
        """The variables that are not far on the right side of their margin, as far as the worst goes; None if many."""
        far = FEW_WITHIN * state.violation
        if self.few is not None:
            outside = (state.up < 0) | (state.down > 0)
            outside[self.few] = False
            if not outside.any():
                return self.few  # its matrix is there already
        near = np.flatnonzero((state.up < far) | (state.down > -far))
        self.few = near if len(near) <= min(FEW, self.largest) else None
        return self.few

    def _blocks_are_slow(self, state: State) -> bool:
        """Whether blocks take long to come to an end; once they did, they are not tried again."""
        enough = FIRST_ROUNDS + TIMES_EACH * np.count_nonzero(self.c) / ((1 - KEPT) * BLOCK)
        return self.band is not None or bool(state.relative_gap < BAND_FROM and self.rounds > enough)

    @cached_property
    def largest(self) -> int:
        """The largest working set whose matrix fits into its share of the budget."""
        return int(np.sqrt(SHARE * self.problem.sample.budget / 8))

    def _band(self, state: State) -> Indices | None:
        """All variables between their bounds, on the wrong side of the margin, or near it; None if these are many."""
        p, distance = self.program, np.abs(state.slope)
        # strictly inside, and not at rest in a kink
        inside = (p.lower < self.c) & (self.c < p.upper) & ((self.c != 0) | (p.width == 0))
        must = inside | (state.up < 0) | (state.down > 0)
        if self.band is not None and np.count_nonzero(must[self.band]) == np.count_nonzero(must):
            return self.band  # its matrix is there already
        count = np.count_nonzero(must)
        if count > self.largest:
            return None
        width = self.band_width * float(np.mean(distance))
        if p.width.any():
            distance = np.minimum(np.abs(state.slope - p.width), np.abs(state.slope + p.width))
        distance[must] = 0.0
        near = np.flatnonzero(distance < max(width, np.finfo(float).tiny))
        most = min(self.largest, int(BAND_MOST * count) + BLOCK)
        self.band = near if len(near) <= most else np.sort(near[np.argpartition(distance[near], most)[:most]])
        self.band_width = max(BAND_LEAST, self.band_width / 2)
        return self.band

    def _next_block(self, state: State) -> Indices:
        """The variables that violate most in either direction, and a part of those worked on last."""
        size = min(BLOCK, self.largest)
        kept = self.block[len(self.block) - int(KEPT * size) :] if len(self.block) >= size // 2 else self.block[:0]
        rising, falling = -state.up, state.down
        rising[kept] = falling[kept] = -np.inf
        half = (size - len(kept)) // 2
        new = np.union1d(_largest(rising, half), _largest(falling, half))
        return np.concatenate([kept, new])

    def improve(self, where: Indices, state: State) -> bool | None:
        """Descend on a working set and bring f up to date; False if nothing moved, None if it is unbounded."""
        from kopt.fused.pairs import pairs, singles

        p, in_band = self.program, len(self.block) == 0
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
        self.coarse = self.coarse and not (coarse and steps == most)
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


def _largest(values: Vector, count: int) -> Indices:
    """The places of the largest values, those that are not positive left out."""
    places = np.argpartition(-values, min(count, len(values) - 1))[:count]
    return places[values[places] > 0]


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


def _filled(program: SeparableProgram) -> Vector:
    """A feasible point with few variables that are not 0: each group is filled up in order of its variables."""
    c = np.clip(np.zeros(program.size), program.lower, program.upper)
    for g, total in enumerate(program.totals):
        members = np.flatnonzero(program.group == g)
        missing = total - float(np.sum(c[members]))
        room = (program.upper if missing > 0 else program.lower)[members] - c[members]
        if np.isinf(room).any():
            first = members[np.flatnonzero(np.isinf(room))[0]]
            c[first] += missing
            continue
        reached = np.cumsum(np.abs(room))
        c[members] += np.sign(missing) * np.clip(abs(missing) - (reached - np.abs(room)), 0.0, np.abs(room))
    return c
