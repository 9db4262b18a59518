"""Decomposition: sequential minimal optimisation on working sets, stopped by the true duality gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kopt.separable import SeparableProgram, separable
from kopt.solvers.descent import FAST_SPECTRUM, UNBOUNDED, Descent
from kopt.solvers.low_rank import SOLVED, LowRank
from kopt.solvers.problem import Problem
from kopt.solvers.solver import INTERRUPTED, RawAnswer, Solver

Vector = NDArray[np.float64]

#: Up to so many points a dense interior point method is as fast, and more exact.
FEW_POINTS = 1000


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
        z, status, rho = _descended(program, problem, problem.stacked_start())
        slack = _slack_rows(program, rho)
        if slack.any() and status != INTERRUPTED:
            relaxed = separable(_without(program, slack))
            if not isinstance(relaxed, str):
                z, status, _ = _descended(relaxed, problem, z)
        return RawAnswer(status, {} if status == UNBOUNDED else program.source.by_name(z))


def _descended(program: SeparableProgram, problem: Problem, start: Vector | None) -> tuple[Vector, str, Vector]:
    descent = Descent(program, problem)
    try:
        descent.begin(start)
        status = descent.run()
        if status == FAST_SPECTRUM:
            by_name = program.source.by_name(program.feasible_dual(descent.c))
            answer = LowRank().solve_with(problem.beginning_at(by_name), descent.factor)
            descent.begin(problem.beginning_at(answer.values).stacked_start())
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
