"""The machine for one kernel inside a machine that learns it, as a quadratic program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.kernel_learning.solvers.contracts import LearnsCombination, LearnsWeights, machine_of
from formulations.kernel_learning.solvers.saddle_program import SaddleProgram, Sums
from kopt import Sample
from kopt.quadratic import QuadraticProgram, quadratic_program


@dataclass(frozen=True, eq=False)
class OneKernelMachine:
    """max gain'z - 1/2 z' diag(shift) z - factor e'K e over a polyhedron, e = J z.

    owner, a   the point to which each variable belongs, or -1, and the factor with which it enters e there
    """

    program: QuadraticProgram
    factor: float
    owner: np.ndarray
    a: np.ndarray

    @classmethod
    def read(cls, learner: LearnsWeights | LearnsCombination, sample: Sample) -> OneKernelMachine | str:
        """Read off the dual of the machine with the first kernel of a sample; the reason where it is something else."""
        machine = machine_of(learner)
        if isinstance(machine, str):
            return machine
        program = quadratic_program(machine, sample.under(next(iter(sample.kernels.values()))))
        if isinstance(program, str):
            return f"of the machine for one kernel, {program}"
        if len(program.terms) != 1:
            return f"the dual of the machine for one kernel has {len(program.terms)} kernel terms, not one"
        lower, upper = program.feasible.box
        if np.any(lower == upper):
            return f"{np.sum(lower == upper)} variables have no room between their bounds"
        [term] = program.terms
        J = term.J.tocsc()
        J.sum_duplicates()
        J.eliminate_zeros()
        count = np.diff(J.indptr)
        if np.any(count > 1):
            return "a variable of the dual belongs to several points"
        owner, a = np.full(J.shape[1], -1), np.ones(J.shape[1])
        owner[count == 1], a[count == 1] = J.indices, J.data
        return cls(program, term.factor, owner, a)

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.program.linear)

    def saddle(self, grams: Sums, p: float) -> SaddleProgram:
        """The program for a weighted sum of kernels; an inequality is an equality with a variable of its own."""
        B, side, equality = self.program.feasible.rows
        slacks = np.eye(len(side))[:, ~equality]
        none = np.zeros(slacks.shape[1])
        lower, upper = self.program.feasible.box
        return SaddleProgram(
            grams=grams,
            owner=np.append(self.owner, np.full(len(none), -1)),
            a=np.append(self.a, none + 1.0),
            gain=np.append(-self.program.linear, none),
            shift=np.append(self.program.shift, none),
            lower=np.append(lower, none),
            upper=np.append(upper, none + np.inf),
            B=np.hstack([B.toarray(), slacks]),
            c=side,
            p=p,
        )
