"""Duals whose Gram matrix is close to one of low rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kopt.gram.pivoted import PartialCholesky, pivoted_cholesky
from kopt.polyhedra import nearby_point
from kopt.projection import Polyhedron
from kopt.quadratic import QuadraticProgram
from kopt.solvers.dense import LARGE
from kopt.solvers.interior_point import CANCELLED, LowRankProgram, minimise, relative
from kopt.solvers.problem import Problem
from kopt.solvers.solver import INTERRUPTED, RawAnswer, Solver

#: What a model may leave of the diagonal of K, relative to its largest entry, from one rank to the next.
TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)
#: Ranks up to SMALL pay for any number of points, larger ones up to a quarter of it, and none above MOST.
SMALL, MOST = 500, 1000
#: What is held at once of the size of a factor: itself, in terms of the dual's variables, in their units, and a part.
COPIES = 4
#: Rounds go on at one rank while each leaves no more than this fraction of the gap.
FALLING = 0.1
#: A coordinate rests at its bound if its slope is so many times the error of the slopes of the model, or of a start.
SURE = 3.0
#: The certificate measures the gap in its own way: it is given some room.
ROOM = 0.5
#: Models are solved to this fraction of the gap that is asked for, but to no more digits than rounding leaves.
FRACTION, DIGITS = 1e-3, 1e-12

SOLVED = "solved"


class LowRank(Solver):
    """An interior point method on a low-rank model of K, corrected by products with K itself.

    In each round the dual, min f(z) over a polyhedron, is replaced by its model at the present z,

        f(z) + f'(z)(v - z) + 1/2 (v - z)' (D + V V') (v - z),    V V' = the Gram term with L L' in place of K,

    with the true gradient at z, so that a minimiser of the model at itself is a minimiser of f. A step towards the
    minimiser of the model is as long as f falls. Only the gap of f counts; where it does not fall, the rank is raised.
    """

    name = "LOW_RANK"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """After decomposition, where there are too many points for dense matrices."""
        return (-0.3, "the solvers before it failed") if problem.sample.n > LARGE else None

    def accepts(self, problem: Problem) -> str | None:
        """Duals that are quadratic programs in one Gram matrix."""
        program = problem.quadratic
        if isinstance(program, str):
            return program
        return None if len(program.terms) == 1 else f"the dual has {len(program.terms)} kernel terms, not one"

    def solve(self, problem: Problem) -> RawAnswer:
        """Rounds of growing rank, until the gap is small enough or the rank too large."""
        return self.solve_with(problem, None)

    def solve_with(self, problem: Problem, factor: PartialCholesky | None) -> RawAnswer:
        """The same beginning with a decomposition of K that is there already."""
        program = problem.quadratic
        assert isinstance(program, QuadraticProgram)
        run = _Run(problem, program, factor)
        try:
            status = run.until_solved()
        except KeyboardInterrupt:
            status = INTERRUPTED
        return RawAnswer(status, program.by_name(run.best.z))


@dataclass(frozen=True, eq=False)
class _Point:
    """A feasible z, the gradient there, the value f(z), and a bound on how far it lies above the optimum."""

    z: np.ndarray
    slope: np.ndarray
    value: float
    gap: float = np.inf


class _Run:
    """One attempt at a problem; `best` is the point with the smallest gap so far."""

    def __init__(self, problem: Problem, program: QuadraticProgram, factor: PartialCholesky | None) -> None:
        self.problem, self.program, [self.term] = problem, program, program.terms
        self.factor = factor
        self.box = _implied_box(program.feasible)
        # Where squares of the variables are minimised, conditions such as xi = alpha / C hold to the root of the gap.
        self._target = ROOM * problem.tolerance ** (2 if program.shift.any() else 1)
        given = problem.stacked_start()
        start = np.zeros(len(program.linear)) if given is None else given
        self.best = self._point(nearby_point(start, program.feasible))

    def until_solved(self) -> str:
        """Raise the rank until the gap is small enough, and say how it ended."""
        now = self.best
        for factor in self._growing():
            now = self._settled(now, np.sqrt(2 * self.term.factor) * (self.term.J.T @ factor.L))
            if self._solved(self.best):
                return SOLVED
        if self._relative(self.best) <= ROOM * self.problem.tolerance:
            return SOLVED
        left = factor.remaining.max() / (self.term.gram.diagonal.max() or 1.0)
        return (
            f"not solved: at rank {factor.rank}, which leaves {left:.1e} of the diagonal of K, the relative gap is "
            f"{self._relative(self.best):.1e}"
        )

    def _growing(self) -> Iterator[PartialCholesky]:
        """Decompositions of K, each of a higher rank than the one before."""
        most, factor, rank = _most(self.problem, self.program), self.factor, -1
        for tolerance in TOLERANCES:
            factor = pivoted_cholesky(self.term.gram, tolerance, most, start=factor)
            if factor.rank == rank:
                return
            rank = factor.rank
            yield factor

    def _settled(self, now: _Point, V: np.ndarray) -> _Point:
        """The point where rounds with one V end: they solve the problem, or no longer bring the gap down."""
        falling, resting = True, self._at_rest(now)
        while falling and not self._solved(now):
            before = now.gap
            now, resting = self._round(now, V, resting)
            falling = now.gap <= FALLING * before
        if self._solved(now) and np.any(~np.isnan(resting) & (resting != now.z)):
            self._round(now, V, resting)  # the same with fewer support vectors
        return now

    def _at_rest(self, now: _Point) -> np.ndarray:
        """The bounds at which coordinates of a good start are and will probably stay, NaN for the others.

        How good it is shows in the slopes of the coordinates between their bounds, which vanish at the optimum.
        """
        B, (lower, upper) = self.program.feasible.rows[0], self.program.feasible.box
        resting = np.full(len(now.z), np.nan)
        inside = np.flatnonzero((lower < now.z) & (now.z < upper))
        if len(inside) > B.shape[0]:
            mu = np.linalg.lstsq(B[:, inside].T.toarray(), -now.slope[inside], rcond=None)[0]
            r = _reduced(self.program, now, mu)
            far = SURE * float(np.sqrt(np.mean(r[inside] ** 2)))
            resting = np.where((now.z == lower) & (r > far), lower, resting)
            resting = np.where((now.z == upper) & (-r > far), upper, resting)
        return resting

    def _round(self, now: _Point, V: np.ndarray, resting: np.ndarray) -> tuple[_Point, np.ndarray]:
        """The point after one round, and the bounds where coordinates may rest in the next, NaN for those that move."""
        program, n = self.program, len(now.z)
        answer = minimise(_model(program, now, V, resting), max(FRACTION * self._target, DIGITS))
        ahead = self._measured(self._point(nearby_point(answer.z[:n], program.feasible)), answer.mu)
        point = ahead if self._solved(ahead) else self._measured(_lowest(now, ahead), answer.mu)
        if point.gap < self.best.gap or (self._solved(point) and _is_sparser(point, self.best)):
            self.best = point
        self._report(point)
        r = _reduced(program, ahead, answer.mu)
        error = float(np.abs(r - answer.s_lower[:n] + answer.s_upper[:n]).max())
        return point, _resting(program, V, ahead.z, r, SURE * error)

    def _report(self, point: _Point) -> None:
        upper, lower = (self.program.map_of_values(value) for value in (point.value - point.gap, point.value))
        self.problem.watch.report(upper, lower, int(np.count_nonzero(self.term.J @ point.z)))

    def _measured(self, point: _Point, mu: np.ndarray) -> _Point:
        return replace(point, gap=_gap(self.program, self.box, point, mu))

    def _solved(self, point: _Point) -> bool:
        return self._relative(point) <= self._target

    def _point(self, z: np.ndarray) -> _Point:
        program, term = self.program, self.term
        products = term.J.T @ term.gram.product(term.J @ z)
        slope = program.linear + program.shift * z + 2 * term.factor * products
        return _Point(z, slope, float(z @ (program.linear + slope)) / 2)

    def _relative(self, point: _Point) -> float:
        """The gap over the size of the objective, or where its terms cancel over a fraction of what they would be."""
        orthogonal = self.term.factor * float(self.term.gram.diagonal @ (self.term.J @ point.z) ** 2)
        linear = float(np.abs(self.program.linear) @ np.abs(point.z)) if self.program.linear.any() else np.inf
        return relative(point.gap, max(abs(point.value), min(CANCELLED * orthogonal, linear)))


def _most(problem: Problem, program: QuadraticProgram) -> int:
    """The largest rank that pays and that the budget allows."""
    affordable = problem.sample.budget // (8 * COPIES * max(problem.sample.n, program.linear.size))
    return min(affordable, MOST, max(SMALL, problem.sample.n // 4))


def _model(program: QuadraticProgram, now: _Point, V: np.ndarray, resting: np.ndarray) -> LowRankProgram:
    """The model of the objective at a point; an inequality row is an equality with a slack variable of its own."""
    B, c, equality = program.feasible.rows
    slacks = np.eye(len(c))[:, ~equality]
    none = np.zeros(slacks.shape[1])
    lower, upper = (np.where(np.isnan(resting), bound, resting) for bound in program.feasible.box)
    product = program.shift * now.z + V @ (V.T @ now.z)
    linear = now.slope - product
    return LowRankProgram(
        D=np.append(program.shift, none),
        V=np.vstack([V, np.zeros((len(none), V.shape[1]))]) if len(none) else V,
        q=np.append(linear, none),
        lower=np.append(lower, none),
        upper=np.append(upper, none + np.inf),
        A=np.hstack([B.toarray(), slacks]),
        b=c,
        constant=now.value - float(now.z @ (linear + product / 2)),
    )


def _resting(program: QuadraticProgram, V: np.ndarray, z: np.ndarray, r: np.ndarray, sure: float) -> np.ndarray:
    """The bounds of the coordinates whose slope r is sure and pulls them there, NaN for the others."""
    curvature = program.shift + np.einsum("ij,ij->i", V, V)
    lower, upper = program.feasible.box
    with np.errstate(invalid="ignore"):  # 0 times infinity: nothing rests at a bound that is not there
        down = r > np.maximum(sure, curvature * (z - lower))
        up = -r > np.maximum(sure, curvature * (upper - z))
    return np.where(down, lower, np.where(up, upper, np.nan))


def _is_sparser(point: _Point, other: _Point) -> bool:
    return bool(np.count_nonzero(point.z) < np.count_nonzero(other.z))


def _lowest(now: _Point, ahead: _Point) -> _Point:
    """The point with the smallest value on the way from one point to another."""
    step = ahead.z - now.z
    fall, curvature = -float(now.slope @ step), float(step @ (ahead.slope - now.slope))
    if fall <= 0:
        return now
    if fall >= curvature:
        return ahead
    length = fall / curvature
    slope = now.slope + length * (ahead.slope - now.slope)
    return _Point(now.z + length * step, slope, now.value - length * fall + length**2 * curvature / 2)


def _reduced(program: QuadraticProgram, at: _Point, mu: np.ndarray) -> np.ndarray:
    """The gradient of the Lagrangian, f'(z) + B' mu."""
    return np.asarray(at.slope + program.feasible.rows[0].T @ mu)


def _gap(program: QuadraticProgram, box: tuple[np.ndarray, np.ndarray], at: _Point, mu: np.ndarray) -> float:
    """A bound on f(z) - f(v) over all feasible v, for any multipliers mu of the rows B v = c or B v <= c:

        mu' (c - B z) + sum_i max { -r_i (v - z_i) - 1/2 shift_i (v - z_i)^2 : lower_i <= v <= upper_i },

    r = f'(z) + B' mu. A coordinate that nothing bounds counts as if it moved by no more than the largest of all: what
    remains is then the residual of the optimality conditions, in units of the objective.
    """
    B, c, equality = program.feasible.rows
    mu = np.where(equality, mu, np.maximum(mu, 0.0))
    r, (lower, upper) = _reduced(program, at, mu), box
    far = np.where(program.shift > 0, np.inf, np.abs(at.z).max(initial=0.0) or np.inf)
    below = np.where(np.isfinite(lower), np.minimum(lower - at.z, 0.0), -far)
    above = np.where(np.isfinite(upper), np.maximum(upper - at.z, 0.0), far)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.clip(np.where(r == 0, 0.0, -r / program.shift), below, above)
    if not np.isfinite(step).all():
        return np.inf
    return float(mu @ (c - B @ at.z) - r @ step - program.shift @ step**2 / 2)


def _implied_box(feasible: Polyhedron) -> tuple[np.ndarray, np.ndarray]:
    """The bounds, and those that follow from them and from one row where all its other terms are bounded."""
    B, c, equality = feasible.rows
    lower, upper = (bound.copy() for bound in feasible.box)
    for row, side, equal in zip(B.toarray(), c, equality, strict=True):
        for a, most in ((row, side), (-row, -side)) if equal else ((row, side),):
            used = np.flatnonzero(a)
            least = np.where(a > 0, lower, upper)[used] * a[used]
            room = (most - least.sum()) / a[used]
            if np.isfinite(room).all():
                rising = a[used] > 0
                up, down = used[rising], used[~rising]
                upper[up] = np.minimum(upper[up], lower[up] + room[rising])
                lower[down] = np.maximum(lower[down], upper[down] + room[~rising])
    return lower, upper
