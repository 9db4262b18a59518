"""Gradients of affine expressions, read off where CVXPY has coefficients and asked of it where it has none."""

import cvxpy as cp
import pytest

import kopt
from formulations.classification import SoftMargin
from kopt import Formulation, Program, Task
from kopt.examples import example


def _written_with(slack):
    """The primal of the soft margin machine, its slacks written in another way."""

    class Rewritten(Formulation):
        task = Task.CLASSIFICATION

        def primal(self, s):
            w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
            return Program(
                cp.Minimize(0.5 * w.norm_squared + cp.sum(xi)),
                {"alpha": cp.multiply(s.y, w.values + b) >= 1 - slack(xi), "mu": xi >= 0},
            )

        def dual(self, s):
            return SoftMargin(C=1.0).dual(s)

    return Rewritten()


SLACKS = {
    "a parameter": lambda xi: cp.Parameter(value=1.0) * xi,
    "a first power": lambda xi: cp.power(xi, 1),
    "differences of sums": lambda xi: cp.diff(cp.cumsum(cp.hstack([0, xi]))),
}


@pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)
def test_affine_atoms_whose_coefficients_cannot_be_read_off(slack):
    sample = example(Task.CLASSIFICATION)
    solution = kopt.solve(_written_with(slack), sample)
    assert solution.certificate.holds(1e-6)
    assert solution.value == pytest.approx(kopt.solve(SoftMargin(C=1.0), sample).value, rel=1e-6)
