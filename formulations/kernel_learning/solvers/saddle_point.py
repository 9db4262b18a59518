"""Margins optimised over non-negative weights of kernels, as saddle points."""

from __future__ import annotations

import numpy as np

from formulations.kernel_learning.solvers.contracts import LearnsWeights, lacking, machine_of
from formulations.kernel_learning.solvers.one_kernel_machine import OneKernelMachine
from formulations.kernel_learning.solvers.saddle_interior_point import UNBOUNDED, Best, SaddleInteriorPoint
from formulations.kernel_learning.solvers.saddle_newton import Iterate
from formulations.kernel_learning.solvers.saddle_program import SaddleProgram
from formulations.kernel_learning.solvers.weight_set import WeightSet
from formulations.kernel_learning.solvers.weighted_grams import WeightedGrams, least_bytes
from kopt import Formulation, Infeasible, Sample
from kopt.kernels import Weighted
from kopt.polyhedra import nearby_point
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.solvers.infeasibility import prove_infeasible
from kopt.solvers.solver import INTERRUPTED

#: Conditions such as stationarity hold to the root of the gap: it is asked for the square of the tolerance. Slacks that
#: follow from z itself, squared ones, are as exact as z: there it goes on as long as it gets anywhere.
FINEST, COARSEST, SQUARED = 1e-10, 1e-8, 1e-14
#: With p beyond this the weights are those of the largest norm, to a hundredth part.
LARGEST_P = 100.0


class SaddlePoint(Solver):
    r"""A primal-dual interior point method for machines that learn weights of kernels together with a margin:

        max over z  min over mu  gain'z - 1/2 z' diag(shift) z - factor sum_k mu_k e'K_k e,   e = J z,

    z in a box with a few rows, mu >= 0 with sum_k (r_k mu_k)^p <= c^p, and r_k the mean of k_k(x, x). It takes every
    formulation that `LearnsWeights`: gain, shift, box, rows, J and factor are read off the dual of its machine for one
    kernel. Each iteration factorises one matrix of the size of the sample, sum_k mu_k K_k and a diagonal, and one of
    the number of kernels.

    The gap counts, between the objective at z and a bound from the weights and multipliers. It begins anew from
    further inside the bounds where it gets stuck, never at `start`: an optimum is a bad start for it.

    >>> import kopt
    >>> from formulations.kernel_learning import SoftMarginKernelLearning
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], kernel=kernels)
    >>> solution = kopt.solve(SoftMarginKernelLearning(C=10.0), sample, method="SADDLE_POINT")
    >>> solution.primal.mu.round(6).tolist(), solution.certificate.holds(1e-6)
    ([0.0, 1.0], True)
    """

    name = "SADDLE_POINT"

    def place(self, problem: Problem) -> tuple[float, str] | None:
        """Before the conic solvers: they take every kernel as a cone with a factor of its own."""
        if not isinstance(problem.formulation, LearnsWeights):
            return None
        return 0.5, "it factorises one matrix in each step, where conic solvers hold a factor of each kernel"

    def accepts(self, problem: Problem) -> str | None:
        """Duals of machines with learnt weights that are quadratic programs for each kernel."""
        if problem.side != "dual":
            return "it solves duals only"
        learner, sample = problem.formulation, problem.sample
        if not isinstance(learner, LearnsWeights):
            return f"it learns weights of kernels, and {lacking(learner, LearnsWeights)}"
        if not 1 <= learner.p <= LARGEST_P:
            return f"p is {learner.p:g}, and it takes norms from 1 to {LARGEST_P:g}"
        needed, budget = least_bytes(sample.n, len(sample.grams)), sample.budget
        if needed > budget:
            return f"it needs {needed / 1e9:.3g} GB, more than the budget of {budget / 1e9:.3g} GB"
        read = saddle_of(learner, sample)
        return read if isinstance(read, str) else None

    def solve(self, problem: Problem) -> RawAnswer:
        """Iterate; the answer is made exactly feasible."""
        learner = problem.formulation
        assert isinstance(learner, LearnsWeights)
        read = saddle_of(learner, problem.sample)
        assert not isinstance(read, str)
        machine, program = read
        n = machine.size

        def report(at: Iterate, found: Best) -> None:
            upper, lower = (machine.program.map_of_values(-value) for value in (found.upper, found.lower))
            at_zero = (np.stack([program.lower, program.upper]) == 0) & (at.x < at.s)
            problem.watch.report(upper, lower, n - int(np.count_nonzero(at_zero[:, :n].any(axis=0))))

        method = SaddleInteriorPoint(program, _accuracy(problem.tolerance, program), report)
        try:
            status = method.run(lambda: _prove_unbounded(problem))
        except KeyboardInterrupt:
            status = INTERRUPTED
        if status == UNBOUNDED:
            return RawAnswer(status)
        z = nearby_point(method.best.z[:n], machine.program.feasible)
        return RawAnswer(status, machine.program.by_name(z))


def _accuracy(tolerance: float, program: SaddleProgram) -> float:
    return SQUARED if program.shift.any() else min(COARSEST, max(FINEST, tolerance**2))


def saddle_of(learner: LearnsWeights, sample: Sample) -> tuple[OneKernelMachine, SaddleProgram] | str:
    """The machine for one kernel, and the saddle program; or why there is none."""
    machine = OneKernelMachine.read(learner, sample)
    if isinstance(machine, str):
        return machine
    weights = WeightSet.of(learner, sample)
    if isinstance(weights, str):
        return weights
    grams = WeightedGrams(list(sample.grams.values()), 2 * machine.factor * weights.unit, sample.budget)
    return machine, machine.saddle(grams, weights.p)


def _prove_unbounded(problem: Problem) -> None:
    """Raise Infeasible where a ray is found on which every kernel vanishes, and with it their sum.

    The machine with the sum of the kernels, each divided by the mean of its diagonal, has the same rays.
    """
    sample, formulation = problem.sample, problem.formulation
    assert isinstance(formulation, LearnsWeights)
    machine, weights = machine_of(formulation), WeightSet.of(formulation, sample)
    assert isinstance(machine, Formulation)
    assert isinstance(weights, WeightSet)
    total = Weighted.of(1 / weights.r, [gram.kernel for gram in sample.grams.values()])
    try:
        prove_infeasible(Problem(machine, sample.under(total)))
    except Infeasible as proof:
        raise Infeasible(
            f"The primal of {formulation!r} has no feasible point for any weights of the kernels: its dual grows "
            "without bound along a ray on which every kernel vanishes.",
            "Relax a constraint, for example with slack variables, or add a kernel that is richer.",
            proof.ray,
        ) from None
