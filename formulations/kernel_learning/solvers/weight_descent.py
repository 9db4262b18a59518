"""Weights of kernels and a margin together: Newton's method on the weights, a fast solver for one kernel inside."""

from __future__ import annotations

import numpy as np

from formulations.kernel_learning.solvers.contracts import LearnsWeights, lacking, machine_of
from formulations.kernel_learning.solvers.weight_model import model_step
from formulations.kernel_learning.solvers.weight_set import WeightSet
from formulations.kernel_learning.solvers.weighted_machine import Tried, WeightedMachine
from kopt import Formulation
from kopt.formulation import dual_of
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.solvers.descent import CONVERGED, STALLED, UNBOUNDED
from kopt.solvers.solver import INTERRUPTED
from kopt.views import ProductView

#: Up to FEW_POINTS a conic solver is tried before it; from MANY_POINTS on nothing is.
FEW_POINTS, MANY_POINTS = 300, 2500
#: The gap at which it ends, as a part of the tolerance: the certificate measures in its own way.
ROOM = 0.3
#: The machine for some weights is solved to this part of the gap that is left, and no more roughly than ROUGH;
#: more exactly after each step that has not brought the gap down.
PART, ROUGH, MORE_EXACTLY = 0.03, 1e-2, 0.1
#: A point is good if it leaves no more of the gap than this.
FALLING = 0.3
#: Where the slope at new weights is against the step, by more than this part of the slope at its beginning, the step
#: was too long; it is not made shorter by more than SHORTEST at a time.
OVERSHOT, SHORTEST = 0.5, 0.1
#: Steps, and weights tried in one. After PATIENCE steps in a row that leave more than SLOW of the gap it ends.
MOST_STEPS, MOST_TRIALS, SLOW, PATIENCE = 100, 4, 0.9, 12


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

    It takes formulations that say what it needs, `LearnsWeights`.

    >>> import kopt
    >>> from formulations.kernel_learning import SoftMarginKernelLearning
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], kernel=kernels)
    >>> kopt.solve(SoftMarginKernelLearning(), sample, method="WEIGHT_DESCENT").certificate.holds(1e-6)
    True
    """

    name = "WEIGHT_DESCENT"

    def place(self, problem: Problem) -> tuple[float, str]:
        """First, where there are many points or no matrix fits into memory."""
        n, needed = problem.sample.n, 8 * problem.sample.n**2
        if needed > problem.sample.budget:
            return -0.6, f"K takes {needed / 1e9:.3g} GB, more than the budget, and it does without"
        if n > MANY_POINTS:
            return -0.6, f"with more than {MANY_POINTS} points only those on the margin are worth a dense matrix"
        if n > FEW_POINTS:
            return (
                0.5,
                f"with more than {FEW_POINTS} points a machine for one kernel is solved faster than a conic program",
            )
        return 1.2, "the solvers before it failed"

    def accepts(self, problem: Problem) -> str | None:
        """Formulations that name the machine for one kernel, where its dual has the form of `kopt.separable`."""
        if problem.side != "dual":
            return "it solves duals only"
        learner, sample = problem.formulation, problem.sample
        if not isinstance(learner, LearnsWeights):
            return f"it learns weights of kernels, and {lacking(learner, LearnsWeights)}"
        machine = machine_of(learner)
        if isinstance(machine, str):
            return machine
        needed = 8 * sample.n * len(sample.grams)
        if needed > sample.budget:
            return (
                f"products with {len(sample.grams)} kernels need {needed / 1e9:.3g} GB, more than the budget of "
                f"{sample.budget / 1e9:.3g} GB"
            )
        weights = WeightSet.of(learner, sample)
        if isinstance(weights, str):
            return weights
        inner = Problem(machine, sample).separable
        if isinstance(inner, str):
            return f"the machine for one kernel is out of reach: {inner}"
        equality = inner.source.feasible.rows[2]
        if not np.all(equality):
            return f"{np.sum(~equality)} rows of the dual of the machine for one kernel are inequalities"
        if set(inner.source.variables) != dual_names(problem):
            return "the dual has other variables than that of the machine for one kernel"
        return None

    def solve(self, problem: Problem) -> RawAnswer:
        """Steps until the gap is small enough, or no longer falls."""
        learner = problem.formulation
        assert isinstance(learner, LearnsWeights)
        machine, weights = machine_of(learner), WeightSet.of(learner, problem.sample)
        assert isinstance(machine, Formulation)
        assert isinstance(weights, WeightSet)
        run = _Run(problem, machine, weights)
        try:
            status = run.until_solved()
        except KeyboardInterrupt:
            status = INTERRUPTED
        return RawAnswer(status, {} if status == UNBOUNDED else run.values)


def dual_names(problem: Problem) -> set[str]:
    """The names of the dual variables."""
    view = ProductView(problem.sample)
    dual = dual_of(problem.formulation, view)
    return set() if dual is None else {name for name, v in dual.variables.items() if v.id not in view.leaves}


class _Run:
    """One attempt; `best` is the point with the smallest gap so far."""

    def __init__(self, problem: Problem, machine: Formulation, weights: WeightSet) -> None:
        self.problem = problem
        self.machine = WeightedMachine(machine, problem, weights)
        self.enough = self.target = ROOM * problem.tolerance
        if self.machine.program.shift.any():  # conditions hold to the root of the gap, as far as rounding lets it fall
            self.target *= problem.tolerance
        self.best: Tried | None = None

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The dual variables of the best point, by name; any that are feasible where there is none yet."""
        program = self.machine.program
        c = np.zeros(program.size) if self.best is None else self.best.c
        return program.source.by_name(program.feasible_dual(c))

    def until_solved(self) -> str:
        """Steps until the gap is small enough, or no longer falls; the status says why it ended."""
        at, idle = self.machine.solved(self.machine.weights.even, None, ROUGH), 0
        for _ in range(MOST_STEPS):
            if at is None:
                return UNBOUNDED
            idle = 0 if self.best is None or at.recovered < SLOW * self.best.recovered else idle + 1
            if self.best is None or at.recovered < self.best.recovered:
                self.best = at
            self._report(at)
            left = self.best.relative(self.best.recovered)
            if left <= self.target or (left <= self.enough and idle > 1):
                return CONVERGED
            if idle > PATIENCE:
                return STALLED
            at = self._next(at, PART * MORE_EXACTLY**idle)
        return STALLED

    def _next(self, at: Tried, part: float) -> Tried | None:
        """What the model predicts where that is good; otherwise the machine solved on the way to its weights."""
        mu, c = model_step(self.machine, at)
        ahead = self.machine.point(mu, c)
        if ahead.gap <= FALLING * at.gap:
            return ahead
        near = ahead if ahead.inner_gap < at.inner_gap else at
        tolerance = max(part * self.target, min(ROUGH, part * at.relative(at.gap)))
        rise, length = float((mu - at.mu) @ at.q), 1.0
        for _ in range(MOST_TRIALS):
            found = self.machine.solved(at.mu + length * (mu - at.mu), near, tolerance)
            if found is None:
                return None
            slope = float((mu - at.mu) @ found.q)
            if slope >= -OVERSHOT * abs(rise) or found.gap <= FALLING * at.gap:
                break
            # J' along the way is known at both ends: to where a straight line between them is 0.
            length *= max(SHORTEST, rise / (rise - slope)) if rise > 0 else SHORTEST
            near = found
        return found

    def _report(self, at: Tried) -> None:
        program = self.machine.program
        primal, dual = (program.source.map_of_values(program.factor * value) for value in (at.lower, at.upper))
        self.problem.watch.report(primal, dual, int(np.count_nonzero(at.c)))
