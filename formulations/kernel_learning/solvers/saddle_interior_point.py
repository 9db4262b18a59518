"""A primal-dual interior point method for saddle points over weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from formulations.kernel_learning.solvers.saddle_newton import Direction, Iterate, Residuals, SaddleNewton
from formulations.kernel_learning.solvers.saddle_program import SaddleProgram
from formulations.kernel_learning.solvers.weight_set import even_shares, largest_gain
from formulations.kernel_learning.solvers.weighted_grams import times
from kopt.solvers.interior_point import CANCELLED, relative

Vector = np.ndarray
Matrix = np.ndarray

MOST_ITERATIONS = 80
#: So many iterations in a row may fail to take a tenth off the gap, complementarity or a residual.
PATIENCE = 6
#: Below this relative gap only the gap counts, and so many iterations may fail to bring it down: rounding is near.
GOOD, LITTLE_PATIENCE = 1e-8, 3
#: How much of the way to the nearest bound a step goes.
STEP = 0.99
#: The start in the units of the program, and where it turned out to be too near to the bounds. Too large costs an
#: iteration or two for each power of ten, too small may fail.
STARTS = (10.0, 1e4, 1e7)
#: Rows that are missed by more than this part of their terms are not met.
MISSED = 1e-9
#: The length of sum_i e_i phi_k(x_i) in each kernel, relative to what it would be without cancellation, below which
#: the objective may be growing along a ray.
FLAT = 1e-6

CONVERGED, STALLED, LIMIT, UNBOUNDED = "converged", "stalled", "iteration limit", "unbounded"


@dataclass(frozen=True, eq=False)
class Best:
    """The best answer so far: the optimum lies between `lower` and `upper`, rows that are missed apart.

    theta    the weights for which no value is larger than the upper one
    size     what the gap is compared with
    missed   the largest residual of a row, relative to its terms
    """

    z: Vector
    theta: Vector
    lower: float = -np.inf
    upper: float = np.inf
    size: float = 0.0
    missed: float = np.inf

    @property
    def error(self) -> float:
        """The relative gap, or how far a row is missed."""
        if not np.isfinite(self.upper - self.lower):
            return np.inf
        return max(relative(abs(self.upper - self.lower), self.size), self.missed)


class SaddleInteriorPoint:
    r"""Mehrotra's predictor and corrector for the optimality conditions of a `SaddleProgram`:

        gain - S z - J' sum_k theta_k K_k e - B'nu + s_lower - s_upper = 0,      B z = c,
        tau p theta_k^(p-1) - 1/2 e'K_k e - w_k = 0,                             sum_k theta_k^p = 1,

    and the products of distances and multipliers. With H = S + s/x + J' (sum_k theta_k K_k) J and V_k = J'K_k e a
    step is

        [ H   V   B' ] [dz    ]
        [ V' -E   0  ] [dtheta],     E = diag(w / theta + tau p (p-1) theta^(p-2)),
        [ B   0   0  ] [dnu   ]

    bordered by dtau: a factorisation of H, and a system of the size of the weights and the rows. The corrector
    includes the products dtheta_k K_k de. `best` is the iterate with the smallest gap.

    report   called with each `Iterate` and the bounds that it gives
    """

    def __init__(
        self, program: SaddleProgram, accuracy: float, report: Callable[[Iterate, Best], object] = lambda *_: None
    ) -> None:
        self.program, self.accuracy, self.report = program, accuracy, report
        self.bounded = np.isfinite(np.stack([program.lower, program.upper]))
        self.pairs = np.count_nonzero(self.bounded) + program.grams.count
        self.seems_unbounded = False
        self.best = Best(np.clip(0.0, program.lower, program.upper), even_shares(program.grams.count, program.p))

    def run(self, prove_unbounded: Callable[[], object] = lambda: None) -> str:
        """Iterate until the gap is small enough, from larger and larger starts, and say how it ended.

        prove_unbounded   called once, where the objective seems to grow along a ray; it raises if that is so
        """
        status = STALLED
        for size in STARTS:
            with np.errstate(all="ignore"):  # an iterate that overflows is never the best
                status = self._from(size)
            if status == UNBOUNDED:
                prove_unbounded()
                self.seems_unbounded = True
            if status == CONVERGED or self.best.error <= GOOD:
                return status
        return UNBOUNDED if self.seems_unbounded else status

    def _from(self, size: float) -> str:
        now, since, smallest = self._start(size), 0, np.full(3, np.inf)
        for _ in range(MOST_ITERATIONS):
            residuals = self._residuals(now)
            found = self._measured(now)
            if found.error < self.best.error:
                self.best = found
            self.report(now, found)
            if self.best.error <= self.accuracy:
                return CONVERGED
            if not self.seems_unbounded and self._is_flat(now):
                return UNBOUNDED
            sizes = np.array([found.error, self._complementarity(now), np.abs(residuals.z).max()])
            good = found.error <= GOOD
            since = 0 if (sizes < 0.9 * smallest)[: 1 if good else 3].any() else since + 1
            smallest = np.fmin(smallest, sizes)
            ahead = self._next(now, residuals) if since < (LITTLE_PATIENCE if good else PATIENCE) else None
            if ahead is None:
                return STALLED
            now = ahead
        return LIMIT

    def _start(self, size: float) -> Iterate:
        """Equal weights, z well inside its bounds, and multipliers of a common size."""
        program, p, m = self.program, self.program.p, self.program.grams.count
        curvature = program.curvature.mean() or 1.0
        # Without a gain it is the rows that say how large z is.
        least = np.linalg.lstsq(program.B, program.c, rcond=None)[0] if len(program.c) else np.zeros(1)
        unit = size * (max(float(np.abs(program.gain).mean() / curvature), float(np.abs(least).mean())) or 1.0)
        inside = np.minimum(unit, (program.upper - program.lower) / 2)
        below, above = self.bounded
        z = np.where(below, program.lower + inside, np.where(above, program.upper - inside, 0.0))
        x = np.where(self.bounded, [z - program.lower, program.upper - z], 1.0)
        theta, (V, q) = even_shares(m, p), self._seen(z)
        slope = program.shift * z + program.gathered(times(theta, V)) - program.gain
        common = float(np.sum(np.abs(slope) * np.where(self.bounded, x, 0.0))) / max(1.0, float(self.pairs - m))
        common = common or float(np.max(q)) or 1.0
        s = np.where(self.bounded, common / x + np.maximum(0.0, [slope, -slope]), 0.0)
        powers = p * theta ** (p - 1)
        tau = float(np.max(1.1 * q / 2 / powers)) + 2 * common
        return Iterate(z, np.zeros(len(program.c)), theta, tau, x, s, tau * powers - q / 2, V, q)

    def _seen(self, z: Vector) -> tuple[Matrix, Vector]:
        e = self.program.spread(z)
        V = self.program.grams.images(e)
        return V, times(V, e)

    def _complementarity(self, at: Iterate) -> float:
        """The mean of the products of distances and multipliers."""
        return (float(np.sum(at.x * at.s * self.bounded)) + float(at.theta @ at.w)) / self.pairs

    def _residuals(self, at: Iterate) -> Residuals:
        program, p = self.program, self.program.p
        slope = program.shift * at.z + program.gathered(times(at.theta, at.V)) + program.B.T @ at.nu
        return Residuals(
            z=program.gain - slope + at.s[0] - at.s[1],
            nu=program.c - program.B @ at.z,
            theta=at.tau * p * at.theta ** (p - 1) - at.q / 2 - at.w,
            tau=1 - float(np.sum(at.theta**p)),
        )

    def _measured(self, at: Iterate) -> Best:
        """The value at z, and a bound on all values from the weights and the multipliers of the rows:

            1/2 u'Gu + nu'c + sum_i max { r_i v - 1/2 shift_i v^2 : lower_i <= v <= upper_i },   u = J z,

        r = gain - J'Gu - B'nu. A coordinate that neither a bound nor the shift holds counts as if it moved by no more
        than the largest of all.
        """
        program, p = self.program, self.program.p
        theta = at.theta / float(np.sum(at.theta**p)) ** (1 / p)
        r = program.gain - program.gathered(times(theta, at.V)) - program.B.T @ at.nu
        far = np.where(program.shift > 0, np.inf, np.abs(at.z).max(initial=0.0))
        lower = np.where(self.bounded[0], program.lower, at.z - far)
        upper = np.where(self.bounded[1], program.upper, at.z + far)
        v = np.clip(np.divide(r, program.shift, out=np.sign(r) * np.inf, where=program.shift > 0), lower, upper)
        v[r == 0] = np.clip(0.0, lower, upper)[r == 0]
        bound = theta @ at.q / 2 + program.c @ at.nu + np.sum(r * v - program.shift * v**2 / 2)
        missed, terms = np.abs(program.B @ at.z - program.c), np.abs(program.B) @ np.abs(at.z) + np.abs(program.c)
        rows = np.divide(missed, terms, out=np.zeros_like(terms), where=terms > 0)
        return Best(
            z=at.z,
            theta=theta,
            lower=program.value(at.z, at.q),
            upper=float(bound),
            size=self._size(at, float(bound)),
            missed=float(rows.max(initial=0.0)),
        )

    def _size(self, at: Iterate, bound: float) -> float:
        """The size of the objective, or where its terms cancel a fraction of what they would be."""
        program = self.program
        orthogonal = largest_gain(program.grams.diagonals @ program.spread(at.z) ** 2, program.p) / 2
        linear = float(np.abs(program.gain) @ np.abs(at.z)) if program.gain.any() else np.inf
        return max(abs(bound), min(CANCELLED * orthogonal, linear))

    def _is_flat(self, at: Iterate) -> bool:
        """Whether the objective may be growing along z: nothing bends it in the coordinates that are not bounded."""
        free = ~self.bounded.all(axis=0) & (self.program.owner >= 0) & (self.program.shift == 0)
        if not free.any() or not float(self.program.gain @ np.where(free, at.z, 0.0)) > 0:
            return False
        lengths = np.sqrt(self.program.grams.diagonals) @ np.abs(self.program.spread(at.z))
        return bool(np.all(at.q <= (FLAT * lengths) ** 2))

    def _next(self, at: Iterate, residuals: Residuals) -> Iterate | None:
        """The iterate after one predictor and one corrector; None where there is no Newton step."""
        try:
            newton = SaddleNewton(self.program, self.bounded, at, residuals)
            predictor = newton.direction(0.0)
            length = self._longest(at, predictor)
            target, now = self._ahead(at, predictor, length), self._complementarity(at)
            corrector = newton.direction(now * min(1.0, max(0.0, target) / now) ** 3, predictor, length)
        except np.linalg.LinAlgError:
            return None
        t = min(1.0, STEP * self._longest(at, corrector))
        z = at.z + t * corrector.z
        theta, tau, nu = at.theta + t * corrector.theta, at.tau + t * corrector.tau, at.nu + t * corrector.nu
        x, s, w = at.x + t * corrector.x, at.s + t * corrector.s, at.w + t * corrector.w
        if not all(np.isfinite(part).all() for part in (z, theta, x, s, w)):
            return None
        return Iterate(z, nu, theta, tau, x, s, w, *self._seen(z))

    def _ahead(self, at: Iterate, step: Direction, t: float) -> float:
        products = (at.x + t * step.x) * (at.s + t * step.s) * self.bounded
        return float(np.sum(products) + (at.theta + t * step.theta) @ (at.w + t * step.w)) / self.pairs

    def _longest(self, at: Iterate, step: Direction) -> float:
        """How far a step can go before a distance, a weight or a multiplier vanishes."""
        pairs = (at.x, step.x), (at.s, step.s), (at.theta, step.theta), (at.w, step.w)
        return min(1.0, *(float(np.min(-a[d < 0] / d[d < 0], initial=np.inf)) for a, d in pairs))
