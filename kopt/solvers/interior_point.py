"""A primal-dual interior point method for quadratic programs whose matrix is diagonal plus low rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kopt.kernels.points import blocks

ACCURACY = 1e-9
MOST_ITERATIONS = 100
#: So many iterations in a row may fail to take a tenth off complementarity or a residual.
PATIENCE = 6
#: How much of the way to the nearest bound a step goes.
STEP = 0.99
#: After so many of these the steps go towards the centre: to products that all are this part of their mean.
IDLE, CENTRED = 3, 0.3
#: The start keeps this fraction of the width of the box, or of the size of the variables, from the bounds.
INSIDE = 0.1
#: Added to the diagonal, relative to it: without bounds or close to the optimum nothing else keeps it from 0.
PROXIMAL = 1e-10
#: Added to the diagonal of the matrix that is factorised, relative to it and per row.
ROUNDING = 1e-15
#: Singular values of the rows, each of length 1, that count as zero.
REDUNDANT = 1e-12
#: Steps of iterative refinement, taken while more than this fraction of the right-hand side is left.
MOST_REFINEMENTS = 2
REFINED = 1e-6
#: Where the terms of the objective cancel, a gap is compared with this fraction of 1/2 sum_i P_ii z_i^2.
CANCELLED = 1e-4
#: Rows of V that are scaled and multiplied at once, so that they stay in cache.
BLOCK = 4096

#: Rows that an answer misses by more, relative to their terms, contradict each other.
MISSED = 1e-6

CONVERGED, STALLED, LIMIT, INCONSISTENT = "converged", "stalled", "iteration limit", "inconsistent rows"


@dataclass(frozen=True, eq=False)
class LowRankProgram:
    """min 1/2 z' (D + V V') z + q'z + constant   s.t.   lower <= z <= upper  (s),   A z = b  (mu).

    D          the diagonal, non-negative
    V          n x r
    A, b       a few rows, dense; they may be redundant
    constant   what else belongs to the objective: it only says how large a gap is
    """

    D: np.ndarray
    V: np.ndarray
    q: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    A: np.ndarray
    b: np.ndarray
    constant: float = 0.0

    @cached_property
    def curvature(self) -> np.ndarray:
        """The diagonal of D + V V'."""
        return np.asarray(self.D + np.einsum("ij,ij->i", self.V, self.V))

    def times(self, z: np.ndarray) -> np.ndarray:
        """(D + V V') z."""
        return np.asarray(self.D * z + self.V @ (self.V.T @ z))


@dataclass(frozen=True, eq=False)
class LowRankAnswer:
    """The best point found, within its bounds, and its multipliers: (D + V V') z + q + A' mu = s_lower - s_upper.

    error        the largest of relative gap and relative residuals
    iterations   how many Newton systems were factorised
    status       "converged", "stalled", "iteration limit" or "inconsistent rows"
    """

    z: np.ndarray
    mu: np.ndarray
    s_lower: np.ndarray
    s_upper: np.ndarray
    error: float
    iterations: int
    status: str


def minimise(program: LowRankProgram, accuracy: float = ACCURACY) -> LowRankAnswer:
    """The minimiser of a low-rank program, by Mehrotra's predictor and corrector.

    Each iteration costs n r^2 operations (Fine and Scheinberg 2001, Ferris and Munson 2003). It ends when the relative
    gap and the relative residuals are at most `accuracy`, or where they stop falling.

    >>> V = np.array([[1.0], [1.0]])
    >>> q, none = np.array([-0.5, -2.0]), np.zeros((0, 2))
    >>> program = LowRankProgram(np.zeros(2), V, q, lower=np.zeros(2), upper=np.ones(2), A=none, b=none[:, 0])
    >>> minimise(program).z.round(6).tolist()
    [0.0, 1.0]
    """
    free = np.flatnonzero(program.lower < program.upper)
    unit = _units(program)[free]
    inner, rows = _without_redundant_rows(_in_units(program, free, unit))
    with np.errstate(all="ignore"):  # a point that overflows is never the best
        best, iterations, status = _iterate(inner, accuracy)
    z = program.lower.copy()
    z[free] = np.clip(unit * best.at.z, program.lower[free], program.upper[free])
    mu = rows @ best.at.mu
    slope = program.times(z) + program.q + program.A.T @ mu
    s_lower = np.where(np.isfinite(program.lower), np.maximum(slope, 0.0), 0.0)
    s_upper = np.where(np.isfinite(program.upper), np.maximum(-slope, 0.0), 0.0)
    missed = _missed(program, z)
    if status == CONVERGED and missed > MISSED:
        status = INCONSISTENT
    return LowRankAnswer(z, mu, s_lower, s_upper, max(best.error(best.size), missed), iterations, status)


def relative(gap: float, size: float) -> float:
    """A gap over the size of the objective; where that is 0, only 0 is small."""
    if gap == 0:
        return 0.0
    return gap / size if size > 0 else np.inf


def _units(program: LowRankProgram) -> np.ndarray:
    """A size for each variable: the width of its box, or what costs as much as a unit of the others."""
    width, curvature = program.upper - program.lower, program.curvature
    return np.where(np.isfinite(width), width, 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0)))


def _in_units(program: LowRankProgram, free: np.ndarray, unit: np.ndarray) -> LowRankProgram:
    """The program in the coordinates that are free to move, in these units; the others stay at their bounds."""
    fixed = program.lower.copy()
    fixed[free] = 0.0
    slope = program.times(fixed)
    return LowRankProgram(
        program.D[free] * unit**2,
        (np.ascontiguousarray(program.V[free].T) * unit).T,  # by columns, the faster order for products
        (program.q + slope)[free] * unit,
        program.lower[free] / unit,
        program.upper[free] / unit,
        program.A[:, free] * unit,
        program.b - program.A @ fixed,
        program.constant + float(fixed @ (program.q + slope / 2)),
    )


def _without_redundant_rows(program: LowRankProgram) -> tuple[LowRankProgram, np.ndarray]:
    """The program with orthonormal rows, and the matrix that takes their multipliers to those of the given rows."""
    if program.A.size == 0:
        return replace(program, A=program.A[:0], b=program.b[:0]), np.zeros((len(program.b), 0))
    length = np.linalg.norm(program.A, axis=1)
    length[length == 0] = 1.0
    U, values, rows = np.linalg.svd(program.A / length[:, None], full_matrices=False)
    kept = values > REDUNDANT
    back = U[:, kept] / values[kept] / length[:, None]
    return replace(program, A=rows[kept], b=back.T @ program.b), back


@dataclass(frozen=True, eq=False)
class _Point:
    """A point or a step: z, mu, and for lower and upper bounds the distances x and the multipliers s.

    The distances are carried along, because z - lower loses its digits close to a bound.
    """

    z: np.ndarray
    mu: np.ndarray
    x: np.ndarray
    s: np.ndarray

    def moved(self, length: float, step: _Point) -> _Point:
        return _Point(
            self.z + length * step.z,
            self.mu + length * step.mu,
            self.x + length * step.x,
            self.s + length * step.s,
        )

    def is_finite(self) -> bool:
        return all(np.isfinite(part).all() for part in (self.z, self.mu, self.x, self.s))


@dataclass(frozen=True, eq=False)
class _Measured:
    """A point and how far it is from optimal.

    dual, primal   the residuals of stationarity and of the rows
    distance       what complementarity and residuals may be worth, in units of the objective
    missed         the largest residual of a row, relative to its terms
    size           what the distance is compared with
    """

    at: _Point
    dual: np.ndarray
    primal: np.ndarray
    distance: float
    missed: float
    size: float

    def parts(self, accuracy: float) -> np.ndarray:
        """Complementarity, as far as it matters, and the largest residuals: progress makes one of them fall."""
        largest = [np.abs(residual).max(initial=0.0) for residual in (self.dual, self.primal)]
        return np.array([max(np.sum(self.at.x * self.at.s), accuracy * self.size), *largest])

    def error(self, size: float) -> float:
        return max(relative(self.distance, size), self.missed)


def _iterate(program: LowRankProgram, accuracy: float) -> tuple[_Measured, int, str]:
    bounded = np.isfinite(np.stack([program.lower, program.upper]))
    now = best = _measure(program, _start(program, bounded))
    smallest, since = now.parts(accuracy), 0
    for iteration in range(MOST_ITERATIONS):
        if best.error(best.size) <= accuracy:
            return best, iteration, CONVERGED
        if since >= PATIENCE:
            return best, iteration, STALLED
        at = _next(program, now, bounded, CENTRED if since >= IDLE else 0.0)
        if at is None or not at.is_finite():
            return best, iteration + 1, STALLED
        now = _measure(program, at)
        parts = now.parts(accuracy)
        since = 0 if (parts < 0.9 * smallest).any() else since + 1
        smallest = np.minimum(smallest, parts)
        # The objective may pass through zero on its way: both are compared with the same size.
        if now.error(now.size) < best.error(now.size):
            best = now
    return best, MOST_ITERATIONS, LIMIT


def _measure(program: LowRankProgram, at: _Point) -> _Measured:
    product = program.times(at.z)
    dual = product + program.q + program.A.T @ at.mu - at.s[0] + at.s[1]
    primal = program.A @ at.z - program.b
    # A coordinate moves by no more than the width of its box, or than the largest coordinate.
    reach = np.minimum(program.upper - program.lower, 2 * np.abs(at.z).max(initial=0.0))
    distance = float(np.sum(at.x * at.s) + np.abs(dual) @ reach + np.abs(at.mu) @ np.abs(primal))
    objective = float(at.z @ (product / 2 + program.q)) + program.constant
    linear = float(np.abs(program.q) @ np.abs(at.z)) if program.q.any() else np.inf
    size = max(abs(objective), min(CANCELLED * float(program.curvature @ at.z**2) / 2, linear))
    return _Measured(at, dual, primal, distance, _missed(program, at.z), size)


def _missed(program: LowRankProgram, z: np.ndarray) -> float:
    """The largest residual of a row, relative to its terms."""
    residual = np.abs(program.A @ z - program.b)
    terms = np.abs(program.A) @ np.abs(z) + np.abs(program.b)
    return float(np.divide(residual, terms, out=np.zeros_like(terms), where=terms > 0).max(initial=0.0))


def _start(program: LowRankProgram, bounded: np.ndarray) -> _Point:
    """A point well inside the bounds, near a minimiser without them, with multipliers of a common size."""
    lower, upper, both = program.lower, program.upper, bounded.all(axis=0)
    curvature = np.where(program.curvature > 0, program.curvature, program.curvature.max(initial=0.0) or 1.0)
    centre = np.clip(0.0, lower, upper)
    centre[both] = (lower[both] + upper[both]) / 2
    newton = _Newton(program, curvature)
    step, mu = newton.solve(-program.times(centre) - program.q, program.b - program.A @ centre)
    width = np.where(both, upper - lower, np.maximum(np.abs(step), _mean(np.abs(step)) or 1.0))
    z = np.maximum(np.minimum(centre + step, upper - INSIDE * width), lower + INSIDE * width)
    x = np.where(bounded, np.abs(np.stack([z - lower, upper - z])), 1.0)
    slope = program.times(z) + program.q + program.A.T @ mu
    common = _mean(np.abs(slope) * width) or 1.0
    s = np.where(bounded, common / x + np.maximum(0.0, [slope, -slope]), 0.0)
    # Where there are two bounds, the larger multiplier makes up for what is missing to stationarity.
    excess = np.where(both, s[0] - s[1] - slope, 0.0)
    return _Point(z, mu, x, s + np.maximum(0.0, [-excess, excess]))


def _mean(values: np.ndarray) -> float:
    return float(values.sum()) / max(1, values.size)


def _next(program: LowRankProgram, now: _Measured, bounded: np.ndarray, centred: float) -> _Point | None:
    """The point after one predictor and one corrector; None where the Newton system cannot be factorised.

    Where `centred` is not 0 one step goes to products of distances and multipliers that all are this part of their
    mean: where they differ too much, the next bound is always near.
    """
    at, count = now.at, max(1, np.count_nonzero(bounded))
    try:
        newton = _Newton(program, np.sum(at.s / at.x, axis=0))
    except np.linalg.LinAlgError:
        return None
    predictor = _direction(newton, now, bounded, -at.x * at.s, refinements=0)
    ahead = at.moved(_longest(at, predictor), predictor)
    average, predicted = np.sum(at.x * at.s) / count, np.sum(ahead.x * ahead.s) / count
    target = average * (max(0.0, predicted) / average) ** 3 if average > 0 else 0.0
    second = predictor.x * predictor.s
    if centred:
        target, second = centred * average, np.zeros_like(second)
    step = _direction(newton, now, bounded, target - at.x * at.s - second, MOST_REFINEMENTS)
    return at.moved(min(1.0, STEP * _longest(at, step)), step)


def _direction(
    newton: _Newton, now: _Measured, bounded: np.ndarray, complementarity: np.ndarray, refinements: int
) -> _Point:
    """The step at which dual and primal residual vanish and x ds + s dx = complementarity."""
    at = now.at
    pull = np.where(bounded, complementarity / at.x, 0.0)
    dz, dmu = newton.solve(-now.dual + pull[0] - pull[1], -now.primal, refinements)
    dx = np.where(bounded, [dz, -dz], 0.0)
    return _Point(dz, dmu, dx, pull - at.s / at.x * dx)


def _longest(at: _Point, step: _Point) -> float:
    """How far a step can go before a distance or a multiplier vanishes."""
    ends = [np.min(-a[d < 0] / d[d < 0], initial=np.inf) for a, d in ((at.x, step.x), (at.s, step.s))]
    return float(min(1.0, *ends))


class _Newton:
    """The system  (D + theta + V V') dz + A' dmu = f,   A dz = g,   factorised.

    With E = D + theta, W = [V A'] and y = V' dz it is dz = E^-1 (f - W [y; dmu]), where

        (W' E^-1 W + diag(1, .., 1, 0, .., 0)) [y; dmu] = W' E^-1 f - [0; g].

    The entries of E differ by many orders of magnitude near the optimum, and dz is then found by differences of large
    numbers: iterative refinement gives back the digits.
    """

    def __init__(self, program: LowRankProgram, theta: np.ndarray) -> None:
        self.V, self.A, self.rank = program.V, program.A, program.V.shape[1]
        flat = np.where(theta > 0, 0.0, program.curvature.max(initial=0.0) or 1.0)
        self.exact = program.D + theta
        self.E = self.exact + PROXIMAL * np.where(program.curvature > 0, program.curvature, flat)
        M = self._products()
        M[: self.rank, : self.rank] += np.eye(self.rank)
        diagonal = np.diag(M)
        self.scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        M = self.scale[:, None] * M * self.scale + ROUNDING * len(M) * np.eye(len(M))
        # Refinement makes up for the inverse; a triangular solver is in SciPy only, whose threads fight with NumPy's.
        self.inverse = np.linalg.inv(np.linalg.cholesky(M))

    def _products(self) -> np.ndarray:
        """W' E^-1 W."""
        root, weighted = 1 / np.sqrt(self.E), self.A / self.E
        VV, AV, AA = np.zeros((self.rank, self.rank)), weighted @ self.V, weighted @ self.A.T
        for rows in blocks(len(root), BLOCK):
            part = self.V.T[:, rows] * root[rows]
            VV += part @ part.T
        return np.block([[VV, AV.T], [AV, AA]])

    def solve(self, f: np.ndarray, g: np.ndarray, refinements: int = MOST_REFINEMENTS) -> tuple[np.ndarray, np.ndarray]:
        """dz and dmu, refined as long as that helps."""
        dz, dmu = self._once(f, g)
        left = np.inf
        for _ in range(refinements):
            rest = f - self.exact * dz - self.V @ (self.V.T @ dz) - self.A.T @ dmu, g - self.A @ dz
            before, left = left, self._size(*rest)
            if left <= REFINED * self._size(f, g) or left >= before:
                break
            more, also = self._once(*rest)
            dz, dmu = dz + more, dmu + also
        return dz, dmu

    def _once(self, f: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        right = np.append(self.V.T @ (f / self.E), self.A @ (f / self.E) - g)
        solution = self.scale * (self.inverse.T @ (self.inverse @ (self.scale * right)))
        y, dmu = solution[: self.rank], solution[self.rank :]
        return (f - self.V @ y - self.A.T @ dmu) / self.E, dmu

    def _size(self, f: np.ndarray, g: np.ndarray) -> float:
        """The length of a right-hand side, both parts in roots of the units of the objective."""
        return float(np.linalg.norm(f / np.sqrt(self.E)) + np.linalg.norm(self.scale[self.rank :] * g))
