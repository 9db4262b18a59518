"""Margins optimised over non-negative weights of kernels, as saddle points."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations.kernel_learning.solvers.one_kernel_machine import OneKernelMachine
from formulations.kernel_learning.solvers.saddle_interior_point import UNBOUNDED, Best, SaddleInteriorPoint
from formulations.kernel_learning.solvers.saddle_newton import Iterate
from formulations.kernel_learning.solvers.saddle_program import SaddleProgram
from formulations.kernel_learning.solvers.weighted_grams import WeightedGrams, least_bytes
from kopt import Infeasible
from kopt.kernels import Weighted
from kopt.polyhedra import nearby_point
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.solvers.infeasibility import prove_infeasible
from kopt.solvers.solver import INTERRUPTED

#: Conditions such as stationarity hold to the root of the gap: it is asked for the square of the tolerance.
FINEST, COARSEST = 1e-10, 1e-8
#: With p beyond this the weights are those of the largest norm, to a hundredth part.
LARGEST_P = 100.0


class SaddlePoint(Solver):
    r"""A primal-dual interior point method for machines that learn weights of kernels together with a margin:

        max over z  min over mu  gain'z - 1/2 z' diag(shift) z - factor sum_k mu_k e'K_k e,   e = J z,

    z in a box with a few rows, mu >= 0 with sum_k (r_k mu_k)^p <= c^p, and r_k the mean of k_k(x, x). It takes every
    formulation that says what the machine for one kernel is (`machine`) and how the weights are bounded (`c`, `p`):
    gain, shift, box, rows, J and factor are read off the dual of that machine. Each iteration factorises one matrix
    of the size of the sample, sum_k mu_k K_k and a diagonal, and one of the number of kernels.

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
        if not _learns_weights(problem):
            return None
        return 0.5, "it factorises one matrix in each step, where conic solvers hold a factor of each kernel"

    def accepts(self, problem: Problem) -> str | None:
        """Duals of machines with learnt weights that are quadratic programs for each kernel."""
        if problem.side != "dual":
            return "it solves duals only"
        if not _learns_weights(problem):
            return "it learns weights of kernels, of a formulation that has `machine()`, `c` and `p`"
        p = _bound(problem.formulation)[1]
        if not 1 <= p <= LARGEST_P:
            return f"p is {p:g}, and it takes norms from 1 to {LARGEST_P:g}"
        needed, budget = least_bytes(problem.sample.n, len(problem.sample.grams)), problem.sample.budget
        if needed > budget:
            return f"it needs {needed / 1e9:.3g} GB, more than the budget of {budget / 1e9:.3g} GB"
        read = _read(problem)
        return read if isinstance(read, str) else None

    def solve(self, problem: Problem) -> RawAnswer:
        """Iterate; the answer is made exactly feasible."""
        read = _read(problem)
        assert not isinstance(read, str)
        machine, program = read
        n = machine.size

        def report(at: Iterate, found: Best) -> None:
            upper, lower = (machine.program.map_of_values(-value) for value in (found.upper, found.lower))
            at_zero = (np.stack([program.lower, program.upper]) == 0) & (at.x < at.s)
            problem.watch.report(upper, lower, n - int(np.count_nonzero(at_zero[:, :n].any(axis=0))))

        method = SaddleInteriorPoint(program, _accuracy(problem.tolerance), report)
        try:
            status = method.run(lambda: _prove_unbounded(problem))
        except KeyboardInterrupt:
            status = INTERRUPTED
        if status == UNBOUNDED:
            return RawAnswer(status)
        z = nearby_point(method.best.z[:n], machine.program.feasible)
        return RawAnswer(status, machine.program.by_name(z))


def _learns_weights(problem: Problem) -> bool:
    """Whether a formulation says what the machine for one kernel is, and how its weights are bounded."""
    return all(hasattr(problem.formulation, name) for name in ("machine", "c", "p"))


def _bound(formulation: Any) -> tuple[float, float]:
    """The bound c on the weights, and the p of its norm."""
    return float(formulation.c), float(formulation.p)


def _accuracy(tolerance: float) -> float:
    return min(COARSEST, max(FINEST, tolerance**2))


def _read(problem: Problem) -> tuple[OneKernelMachine, SaddleProgram] | str:
    """The machine for one kernel, and the saddle program; or why there is none."""
    sample, formulation, grams = problem.sample, problem.formulation, list(problem.sample.grams.values())
    machine = OneKernelMachine.read(formulation.machine(), sample)  # type: ignore[attr-defined]
    if isinstance(machine, str):
        return machine
    traces = np.array([float(gram.diagonal.mean()) for gram in grams])
    if not np.all(traces > 0):
        return f"the kernel {list(sample.grams)[int(np.argmin(traces))]} vanishes on all points"
    c, p = _bound(formulation)
    return machine, machine.saddle(WeightedGrams(grams, 2 * machine.factor * c / traces, sample.budget), p)


def _prove_unbounded(problem: Problem) -> None:
    """Raise Infeasible where a ray is found on which every kernel vanishes, and with it their sum.

    The machine with the sum of the kernels, each divided by its trace, has the same rays.
    """
    sample, formulation = problem.sample, problem.formulation
    grams = list(sample.grams.values())
    total = Weighted.of([1 / float(gram.diagonal.mean()) for gram in grams], [gram.kernel for gram in grams])
    machine = formulation.machine()  # type: ignore[attr-defined]
    try:
        prove_infeasible(Problem(machine, sample.under(total)))
    except Infeasible as proof:
        raise Infeasible(
            f"The primal of {formulation!r} has no feasible point for any weights of the kernels: its dual grows "
            "without bound along a ray on which every kernel vanishes.",
            "Relax a constraint, for example with slack variables, or add a kernel that is richer.",
            proof.ray,
        ) from None
