"""Margins optimised over all semi-definite combinations of kernels, generated one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.kernel_learning.completion import Completion
from formulations.kernel_learning.cone import of_trace
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.masters import TraceMaster
from formulations.kernel_learning.solvers.contracts import LearnsCombination, lacking
from formulations.kernel_learning.solvers.eigenvalue_cuts import Cuts
from formulations.kernel_learning.solvers.one_kernel_machine import OneKernelMachine
from formulations.kernel_learning.solvers.saddle_interior_point import CONVERGED, UNBOUNDED, Best, SaddleInteriorPoint
from formulations.kernel_learning.solvers.weighted_grams import times
from formulations.kernel_learning.span import Span
from kopt.polyhedra import nearby_point
from kopt.solvers import Problem, RawAnswer, Solver, Watch
from kopt.solvers.solver import INTERRUPTED
from kopt.views import ProductView

Vector = np.ndarray
Matrix = np.ndarray

MOST_ROUNDS = 100
# The gap of an answer is to be this part of the tolerance, since the certificate adds to it what it repairs; that of a
# search is to be no smaller part of the answer's, since it is one of the two that make that up.
ROOM = 0.1
# While much of the gap is left, a search for a better kernel is as exact as this part of it.
SEARCH = 5e-3
# The machines are as exact as they can be: slacks follow from z, which is known to the square root of the gap.
EXACT = 1e-13


class KernelGeneration(Solver):
    r"""max over z  min over mu  of the objective of a machine with the kernel K = sum_k mu_k K_k, K semi-definite.

    The semi-definite combinations of trace c l are the means of their extreme points. For a few of these the best
    mean, and z, are a saddle point over non-negative weights. For that z the combination of the largest e'K e, e = Jz,
    is found by eigenvalue cuts, which stay valid from round to round: if it is no larger than those there already, z
    is optimal, and if it is, it is one more. The multipliers of the cuts make up the multiplier of the matrix
    inequality, and the two values at z enclose the optimum.

    >>> import kopt
    >>> from formulations.kernel_learning import SemidefiniteSoftMarginKernelLearning
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1], kernel=kernels)
    >>> solution = kopt.solve(SemidefiniteSoftMarginKernelLearning(C=2.0), sample, method="KERNEL_GENERATION")
    >>> solution.certificate.holds(1e-6)
    True
    """

    name = "KERNEL_GENERATION"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """First: conic solvers carry n^2 variables along."""
        if not isinstance(problem.formulation, LearnsCombination):
            return None
        return -1.0, "a few combinations of the kernels stand for all of them"

    def accepts(self, problem: Problem) -> str | None:
        """Duals of machines that learn weights of any sign."""
        if problem.side != "dual":
            return "it solves duals only"
        learner, sample = problem.formulation, problem.sample
        if not isinstance(learner, LearnsCombination):
            return f"it learns semi-definite combinations, and {lacking(learner, LearnsCombination)}"
        needed = 8 * sample.n**2 * 4 * len(sample.grams)
        if needed > sample.budget:
            return f"the kernels and as many combinations take {needed:.3g} bytes, more than {sample.budget:.3g}"
        machine = OneKernelMachine.read(learner, sample)
        return machine if isinstance(machine, str) else None

    def solve(self, problem: Problem) -> RawAnswer:
        """Generate kernels until the two values agree."""
        learner = problem.formulation
        assert isinstance(learner, LearnsCombination)
        machine = OneKernelMachine.read(learner, problem.sample)
        assert isinstance(machine, OneKernelMachine)
        run = Generation(problem, machine, learner.c * problem.sample.n)
        try:
            status = run.run(problem.tolerance, problem.watch)
        except KeyboardInterrupt:
            status = INTERRUPTED
        if run.best is None:
            return RawAnswer(status)
        best, completion = run.best, learner.completion(run.s)
        dual = learner.with_multipliers(run.s, machine.program.by_name(best.z), best.Z, best.tau)
        return RawAnswer(status, {**dual, **run.primal_values(completion, best.z, best.mu)})


class HeldSums:
    """Sums of matrices that are held, each of them multiplied by a factor."""

    def __init__(self, matrices: Sequence[Matrix], factor: float) -> None:
        self.matrices, self.factor = matrices, factor
        self.n, self.count = len(matrices[0]), len(matrices)
        self.diagonals = factor * np.stack([np.diag(K) for K in matrices])
        self._memory = np.empty((self.n, self.n))

    def images(self, e: Vector) -> Matrix:
        """factor K_j e, a row for each."""
        return self.factor * np.stack([times(K, e) for K in self.matrices])

    def lower_sum(self, theta: Vector) -> Matrix:
        """factor sum_j theta_j K_j, in the same memory each time."""
        self._memory[:] = 0.0
        for weight, K in zip(self.factor * theta, self.matrices, strict=True):
            self._memory += weight * K
        return self._memory


@dataclass(frozen=True)
class Round:
    """What one round found: a machine, and multipliers for it.

    mu, z     weights of the kernels, and the machine's answer for them
    Z, tau    the multipliers of the matrix inequality and of the bound on the trace, for this z
    lower     the value of z with the best combination for it
    upper     the value of the machine, which no value exceeds
    """

    mu: Vector
    z: Vector
    Z: Matrix
    tau: float
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Of the two values, relative."""
        return (self.upper - self.lower) / (abs(self.upper) or 1.0)


class Generation:
    """The combinations so far, the cuts so far, and the round with the smallest gap of its own.

    trace     of every combination
    weights   of the kernels in each of them
    lower     the largest lower value of all rounds
    """

    def __init__(self, problem: Problem, machine: OneKernelMachine, trace: float) -> None:
        self.s = ProductView(problem.sample)
        self.machine, self.trace, self.cuts = machine, trace, Cuts(self.s)
        even = FreeWeights(self.s).even
        self.weights = list(np.diag(trace * even)[even > 0])
        self.mixtures = [self.s.mixture(mu) for mu in self.weights]
        self.best: Round | None = None
        self.lower = -np.inf

    def run(self, tolerance: float, watch: Watch) -> str:
        """Machine and search in turn, the search as exact as the gap that is left makes sense of."""
        gap, enough = 1.0, ROOM * tolerance
        for _ in range(MOST_ROUNDS):
            machine, status = self._machine_solved()
            if status == UNBOUNDED:
                return status
            found = self._searched(machine, max(ROOM * enough, SEARCH * gap))
            if self.best is None or found.gap < self.best.gap:
                self.best = found
            self.lower = max(self.lower, found.lower)
            gap = (found.upper - self.lower) / (abs(found.upper) or 1.0)
            watch.report(found.upper, self.lower, int(np.count_nonzero(found.z)))
            if found.gap <= enough:
                return CONVERGED
        return f"stopped after {MOST_ROUNDS} rounds"

    def _machine_solved(self) -> tuple[Best, str]:
        """z and the mean of the combinations there are: no value is larger than that of the mean."""
        program = self.machine.saddle(HeldSums(self.mixtures, 2 * self.machine.factor), 1.0)
        method = SaddleInteriorPoint(program, EXACT)
        status = method.run()
        return method.best, status

    def _searched(self, machine: Best, gap: float) -> Round:
        """The value with the best combination for the machine's answer, which is one more of them."""
        program, mu = self.machine.program, machine.theta @ self.weights
        z = nearby_point(machine.z[: self.machine.size], program.feasible)
        e = program.terms[0].J @ z
        plain = float(-program.linear @ z - z @ (program.shift * z) / 2)
        q = self.machine.factor * np.array([e @ times(self.s.gram(name), e) for name in self.s.kernels])
        self.cuts.run(TraceMaster(Span.free(self.s).towards(q), self.s.traces, self.trace), gap)
        value = self.cuts.value
        found = Round(mu, z, self.cuts.Z, value / self.trace, lower=plain - value, upper=machine.upper)
        self.cuts.forget()
        self.weights.append(of_trace(self.s, self.cuts.mu, self.trace))
        self.mixtures.append(self.s.mixture(self.weights[-1]))
        return found

    def primal_values(self, completion: Completion, z: Vector, mu: Vector) -> dict[str, Any]:
        """The primal variables of the machine with the weights for which z is its answer."""
        e = self.machine.program.terms[0].J @ z
        f = self.s.mixture(mu) @ e
        factor, rest = completion.rest(f)
        return {"mu": mu, "f": factor * f, "t": factor**2 * float(e @ f), **rest}
