"""Weights of kernels and a margin together: Newton's method on the weights, a fast solver for one kernel inside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from formulations.kernel_learning.best_weights import best_shares
from kopt import Formulation, Sample
from kopt.gram.columns import Columns
from kopt.gram.mixture import Mixture
from kopt.separable import SeparableProgram
from kopt.solvers import Problem, RawAnswer, Solver, Watch
from kopt.solvers.descent import CONVERGED, STALLED, UNBOUNDED, Descent
from kopt.solvers.solver import INTERRUPTED

#: From so many points on it is tried first.
MANY_POINTS = 2500
#: The gap at which it ends, as a part of the tolerance: the certificate measures in its own way.
ROOM = 0.3
#: The machine for some weights is solved to this part of the gap that is left, and no more roughly than ROUGH.
PART, ROUGH = 0.1, 1e-2
#: A step without the inner solver counts if it leaves no more of the gap than this.
FALLING = 0.3
#: Steps, those of a line search, and those in a row that do not bring the gap down after which it ends.
MOST_STEPS, MOST_TRIALS, SLOW, PATIENCE = 100, 4, 0.9, 6
#: The share of the budget that the matrix between the points on the margin may take.
SHARE = 0.25
#: Added to the diagonal of that matrix, relative to it.
ROUNDING = 1e-12


class WeightDescent(Solver):
    r"""Newton's method on the weights mu of several kernels, around decomposition for the machine with sum_k mu_k K_k.

    It solves, for the coefficients c of a machine's dual and p >= 1,

        max over c   W(c) - 1/2 max { sum_k mu_k q_k : mu >= 0, ||(r_k mu_k)||_p <= c },   q_k = c' K_k c.

    J(mu), the optimum of the machine for fixed weights, is convex, and J' = -q/2 at its c. With F the coefficients
    between their bounds, V_k = K_k c on F, and P the inverse of K_FF on the directions that the sums of c allow, the
    second derivative is V' P V, and c moves by -P V (change of mu). So each step solves a quadratic model in mu, one
    variable for each kernel, and predicts c; near the optimum, with the right F, that is Newton's method in c and mu
    together. Where the prediction is no good, decomposition goes on from it, with the new weights.

    It ends on the true gap: W(c) - 1/2 mu' q at the best mu is a lower bound for any feasible c, and K c in all kernels
    makes an upper bound. No matrix is larger than that between the points on the margin.

    A formulation says what it needs: `machine()`, the formulation for one kernel, c, p, and the names of that
    machine's dual variables.

    >>> import kopt
    >>> from formulations.kernel_learning import SoftMarginKernelLearning
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], kernel=kernels)
    >>> kopt.solve(SoftMarginKernelLearning(), sample, method="WEIGHT_DESCENT").certificate.holds(1e-6)
    True
    """

    name = "WEIGHT_DESCENT"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """First, where there are many points."""
        if problem.sample.n > MANY_POINTS:
            return -0.6, f"with more than {MANY_POINTS} points only those on the margin are worth a dense matrix"
        return 0.5, "the solvers before it failed"

    def accepts(self, problem: Problem) -> str | None:
        """Formulations that name the machine for one kernel, where its dual has the form of `kopt.separable`."""
        machine = machine_of(problem.formulation)
        if isinstance(machine, str):
            return machine
        if problem.side != "dual":
            return "it solves duals only"
        inner = Problem(machine, problem.sample).separable
        if isinstance(inner, str):
            return f"the machine for one kernel is out of reach: {inner}"
        if not np.all(inner.source.feasible.rows[2]):
            return "the dual of the machine for one kernel has rows that are inequalities"
        needed = 8 * problem.sample.n * len(problem.sample.grams)
        if needed > problem.sample.budget:
            return f"the products with each kernel need {needed / 1e9:.3g} GB, more than the budget"
        if any(not np.any(gram.diagonal > 0) for gram in problem.sample.grams.values()):
            return "a kernel is 0 everywhere"
        return None

    def solve(self, problem: Problem) -> RawAnswer:
        """Steps until the gap is small enough, or no longer falls."""
        machine = machine_of(problem.formulation)
        assert isinstance(machine, Formulation)
        run = _Run(problem, machine)
        try:
            status = run.until_solved()
        except KeyboardInterrupt:
            status = INTERRUPTED
        if run.best is None:
            return RawAnswer(status)
        return RawAnswer(status, run.program.source.by_name(run.program.feasible_dual(run.best.c)))


def machine_of(formulation: Formulation) -> Formulation | str:
    """The machine for one kernel that a formulation names, or the reason why there is none."""
    machine = getattr(formulation, "machine", None)
    if not callable(machine) or not all(hasattr(formulation, name) for name in ("c", "p")):
        return "it is for formulations that name a machine for one kernel, and a norm of the weights"
    found = machine()
    return found if isinstance(found, Formulation) else "what it names is no machine"


@dataclass(frozen=True, eq=False)
class _Kernels:
    """The kernels of a sample, and the weights that are allowed: mu >= 0 with ||(r_k mu_k)||_p <= c."""

    sample: Sample
    c: float
    p: float

    @cached_property
    def grams(self) -> list:
        return list(self.sample.grams.values())

    @cached_property
    def r(self) -> np.ndarray:
        return np.array([np.mean(gram.diagonal) for gram in self.grams])

    def weights(self, shares: np.ndarray) -> np.ndarray:
        return np.asarray(self.c * shares / self.r)

    @property
    def even(self) -> np.ndarray:
        m = len(self.grams)
        return self.weights(np.full(m, m ** (-1 / self.p)))

    def best(self, q: np.ndarray) -> np.ndarray:
        """The weights with the largest mu' q."""
        gains = q / self.r
        if not np.max(gains) > 0:
            return self.even
        if self.p == 1:
            return self.weights(np.arange(len(q)) == np.argmax(gains))
        shares = (gains / gains.max()) ** (1 / (self.p - 1))
        return self.weights(shares / np.sum(shares**self.p) ** (1 / self.p))

    def images(self, coefficients: np.ndarray) -> np.ndarray:
        """K_k c, a row for each kernel."""
        return np.stack([gram.product(coefficients) for gram in self.grams])


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients c, the images K_k c, weights, and what is known there, in units of a program to be minimised.

    slope   of c in the objective, without the terms width |c|, and less the multipliers of the sums
    lower   a bound on the optimum for these weights; upper, one on the optimum over all weights
    recovered   the gap where the weights follow from c, as they do in a certificate: the best for q where these are
                unique, and otherwise at least as good as mu
    """

    c: np.ndarray
    images: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    slope: np.ndarray
    inner_gap: float
    lower: float
    upper: float
    recovered: float

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    def relative(self, gap: float) -> float:
        size = abs(self.lower)
        return gap / size if size > 0 else np.inf if gap > 0 else 0.0


class _Run:
    """One attempt; `best` is the point with the smallest gap so far."""

    def __init__(self, problem: Problem, machine: Formulation) -> None:
        self.problem, self.machine = problem, machine
        formulation = problem.formulation
        self.kernels = _Kernels(problem.sample, formulation.c, formulation.p)
        program = Problem(machine, problem.sample).separable
        assert isinstance(program, SeparableProgram)
        self.program = program
        # Where squares of the variables are minimised, conditions hold to the root of the gap.
        self.target = ROOM * problem.tolerance ** (2 if program.shift.any() else 1)
        self.best: _Point | None = None

    def until_solved(self) -> str:
        at = self._solved(self._descent(self.kernels.even), ROUGH)
        idle = 0
        for _ in range(MOST_STEPS):
            if at is None:
                return UNBOUNDED
            idle = 0 if self.best is None or at.recovered < SLOW * self.best.recovered else idle + 1
            if self.best is None or at.recovered < self.best.recovered:
                self.best = at
            self._report(at)
            if self.best.relative(self.best.recovered) <= self.target:
                return CONVERGED
            if idle > PATIENCE:
                return STALLED
            at = self._next(at)
        return STALLED

    def _next(self, at: _Point) -> _Point | None:
        """The point after one step."""
        mu, c = self._model(at)
        ahead = self._point(self._descent(mu, self.program.of_dual(self.program.feasible_dual(c))))
        if ahead.gap <= FALLING * at.gap:
            return ahead
        start = ahead if ahead.inner_gap < at.inner_gap else at
        tolerance = min(ROUGH, PART * min(at.relative(at.gap), 1.0))
        tolerance = max(tolerance, PART * self.target)
        rise = float((mu - at.mu) @ at.q)
        step = 1.0
        for _ in range(MOST_TRIALS):
            trial = at.mu + step * (mu - at.mu)
            found = self._solved(self._descent(trial, start.c, start.images), tolerance)
            if found is None:
                return None
            slope = float((trial - at.mu) @ found.q) / step
            if slope >= -0.5 * abs(rise) or found.gap < FALLING * at.gap:
                break
            step *= max(0.1, rise / (rise - slope)) if rise > 0 else 0.25
            start = found
        return found

    def _descent(self, mu: np.ndarray, c: np.ndarray | None = None, images: np.ndarray | None = None) -> Descent:
        """A descent for the machine with some weights, at c, where K_k c may be known."""
        program = replace(self.program, gram=Mixture(mu, self.kernels.grams))
        inner = Problem(self.machine, self.problem.sample, watch=Watch())
        descent = Descent(program, inner)
        descent.hand_over = False
        descent.mu = mu
        descent.images = None
        if c is None:
            descent.begin(None)
        else:
            descent.c = c.copy()
            descent.images = self.kernels.images(program.coefficients(c)) if images is None else images
            descent.f = mu @ descent.images
        return descent

    def _solved(self, descent: Descent, tolerance: float) -> _Point | None:
        descent.problem = replace(descent.problem, tolerance=tolerance)
        if descent.run() == UNBOUNDED:
            return None
        if not descent.exact:
            descent.refresh()
        descent.images = None
        return self._point(descent)

    def _point(self, descent: Descent) -> _Point:
        p, kernels = self.program, self.kernels
        coefficients = p.coefficients(descent.c)
        images = kernels.images(coefficients) if descent.images is None else descent.images
        q = images @ coefficients
        descent.f, descent.exact = descent.mu @ images, True
        state = descent.state()
        slope = p.slope(descent.f, descent.c) - (descent.rho[p.group] if len(p.totals) else 0.0)
        best, lower = kernels.best(q), state.value - state.gap
        upper = state.value + float((best - descent.mu) @ q) / 2
        recovered = upper - lower
        if kernels.p > 1:
            descent.f = best @ images
            recovered = descent.state().gap
        return _Point(descent.c, images, q, descent.mu, slope, state.gap, lower, upper, recovered)

    def _model(self, at: _Point) -> tuple[np.ndarray, np.ndarray]:
        """The weights that are best in the quadratic model at a point, and the coefficients that go with them."""
        p, kernels = self.program, self.kernels
        F = self._inside(at)
        if len(F) == 0:
            return kernels.best(at.q), at.c
        A = Columns(Mixture(at.mu, kernels.grams)).block(p.points[F], single=False)
        A = np.array(A)
        A[np.diag_indices(len(F))] += p.shift[F] + ROUNDING * np.mean(np.diag(A)) * len(F)
        V = at.images[:, p.points[F]]
        g = at.slope[F] + p.width[F] * np.sign(at.c[F])
        E = (p.group[F][:, None] == np.arange(len(p.totals))).astype(float)
        E = E[:, E.any(axis=0)]
        solved = np.linalg.solve(A, np.column_stack([g, V.T, E]))
        m = len(V)
        PB, X = solved[:, : 1 + m], solved[:, 1 + m :]
        if X.shape[1]:
            PB = PB - X @ np.linalg.solve(E.T @ X, E.T @ PB)
        dc, PV = -PB[:, 0], PB[:, 1:]
        unit = kernels.c / kernels.r
        H = V @ PV * np.outer(unit, unit)
        at_shares = at.mu / unit
        shares = best_shares((at.q / 2 + V @ dc) * unit, (H + H.T) / 2, at_shares, kernels.p)
        mu = kernels.weights(shares)
        c = at.c.copy()
        c[F] = np.clip(c[F] + dc - PV @ (mu - at.mu), p.lower[F], p.upper[F])
        return mu, c

    def _inside(self, at: _Point) -> np.ndarray:
        """The coefficients that may move: between their bounds, or at one from which their slope takes them away."""
        p = self.program
        inside = (p.lower < at.c) & (at.c < p.upper) & ((at.c != 0) | (p.width == 0))
        leaving = np.where(at.c <= p.lower, at.slope < 0, (at.c >= p.upper) & (at.slope > 0)) & (p.width == 0)
        F = np.flatnonzero(inside | leaving)
        most = int(np.sqrt(SHARE * self.problem.sample.budget / 8))
        return F if len(F) <= most else np.sort(np.random.default_rng(0).permutation(F)[:most])

    def _report(self, at: _Point) -> None:
        value = self.program.source.map_of_values
        lower, upper = (value(self.program.factor * each) for each in (at.upper, at.lower))
        self.problem.watch.report(upper, lower, int(np.count_nonzero(at.c)))
