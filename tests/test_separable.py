"""The form in which fast solvers see a dual: the same feasible set, the same values, the same maximisers."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from kopt.polyhedra import nearby_point
from kopt.quadratic import QuadraticProgram
from kopt.separable import SeparableProgram, separable
from kopt.solvers import Problem
from tests.instances import FORMULATIONS, instance
from tests.tolerances import VALUE

NAMES = [cls.__name__ for cls in FORMULATIONS]
REFUSED = {
    "FisherQuotient": "the dual objective has terms that are not quadratic in K or in single variables",
    "LinearSeparation": "the dual has 0 kernel terms, not one",
    "LogisticRegression": "the dual objective is not differentiable everywhere",
    "PowerSoftMargin": "the dual objective is not differentiable everywhere",
    "UnitTwoNormSoftMargin": "a norm enters the dual objective otherwise than by its square",
    "FurthestPoint": "the dual has 0 kernel terms, not one",
    "SoftHypersphere": "a norm enters the dual objective otherwise than by its square",
    "AugmentedHardRanking": "a norm enters the dual objective through a curved function",
    "NuRanking": "the rows of the dual tie sums of several groups of variables together",
    "OrderedNuRanking": "a variable of the dual does not belong to exactly one point",
    "RankSeparation": "the dual has 0 kernel terms, not one",
    "LeastSquares": "the dual has 0 kernel terms, not one",
    "Alignment": "the dual objective has terms that are not quadratic in K or in single variables",
    "AlignmentSpectrum": "the dual objective has terms that are not quadratic in K or in single variables",
    "CentredAlignment": "the dual objective has terms that are not quadratic in K or in single variables",
    "LeastSquaresAlignment": "the dual objective has terms that are not quadratic in K or in single variables",
    "SchurAlignment": "the dual's feasible set is not a box with a few rows",
    "SemidefiniteAlignment": "the dual's feasible set is not a box with a few rows",
    "TraceBoundedAlignment": "the dual's feasible set is not a box with a few rows",
    "TransductiveAlignment": "the dual's feasible set is not a box with a few rows",
    "SoftMarginKernelLearning": "a norm enters the dual objective through a curved function",
    "HardMarginKernelLearning": "a norm enters the dual objective through a curved function",
    "TwoNormKernelLearning": "a norm enters the dual objective through a curved function",
    "SemidefiniteSoftMarginKernelLearning": "the dual's feasible set is not a box with a few rows",
    "SemidefiniteHardMarginKernelLearning": "the dual's feasible set is not a box with a few rows",
    "SemidefiniteTwoNormKernelLearning": "the dual's feasible set is not a box with a few rows",
    "RidgeInBall": "a norm enters the dual objective otherwise than by its square",
}
ACCEPTED = [name for name in NAMES if name not in REFUSED]


def problem(name: str, kernel: str, seed: int) -> Problem:
    given = instance(name, kernel, seed)
    return Problem(given.formulation, given.sample)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_has_a_reason(name):
    assert problem(name, "sum", 0).separable == REFUSED[name]


@pytest.mark.parametrize("name", ACCEPTED)
@pytest.mark.parametrize(("kernel", "seed"), [("sum", 0), ("polynomial", 1)])
def test_values_agree_at_random_feasible_points(name, kernel, seed):
    given = problem(name, kernel, seed)
    program = given.separable
    assert isinstance(program, SeparableProgram)
    dual = given.formulation.problem(given.sample, side="dual")
    by_name = {variable.name(): variable for variable in dual.variables()}
    rng, box = np.random.default_rng(seed), program.source.feasible.box
    size = np.where(np.isfinite(box[1] - box[0]), box[1] - box[0], 3.0)
    for _ in range(5):
        z = nearby_point(np.maximum(box[0], -3.0) + size * rng.random(len(size)), program.source.feasible)
        z = one_sided(program, z)
        for variable, value in program.source.by_name(z).items():
            by_name[variable].save_value(value)
        c = program.of_dual(z)
        assert np.all((program.lower - 1e-12 <= c) & (c <= program.upper + 1e-12))
        values = program.gram.product(program.coefficients(c))
        ours = program.source.map_of_values(program.factor * program.value(values, c))
        assert ours == pytest.approx(float(dual.objective.value), rel=1e-9, abs=1e-9)


def one_sided(program: SeparableProgram, z: np.ndarray) -> np.ndarray:
    """With both parts of a pair reduced until one is 0: where there are pairs, c says no more."""
    if not any(side.part for side in program.sides):
        return z
    plus, minus = program.sides
    both = np.minimum(z[plus.columns], z[minus.columns])
    z = z.copy()
    z[plus.columns] -= both
    z[minus.columns] -= both
    return z


@pytest.mark.parametrize("name", ACCEPTED)
def test_there_and_back(name):
    program = problem(name, "gaussian", 1).separable
    assert isinstance(program, SeparableProgram)
    rng = np.random.default_rng(0)
    lower, upper = np.maximum(program.lower, -2.0), np.minimum(program.upper, 2.0)
    z = program.feasible_dual(lower + (upper - lower) * rng.random(program.size))
    assert program.source.feasible.contains(z)
    c = program.of_dual(z)
    np.testing.assert_allclose(program.feasible_dual(c), z, atol=1e-12)
    if len(program.totals) and np.all(program.source.feasible.rows[2]):
        sums = np.bincount(program.group, c)
        np.testing.assert_allclose(sums, program.totals, atol=1e-10 * max(1.0, np.abs(c).sum()))


@pytest.mark.parametrize("name", ACCEPTED)
def test_maximisers_agree_with_those_of_the_declared_dual(name):
    """The program as it is seen here, with inequality rows as equalities, solved by CVXPY."""
    given = instance(name, "sum", 0)
    program = Problem(given.formulation, given.sample).separable
    assert isinstance(program, SeparableProgram)
    c = cp.Variable(program.size)
    K = program.gram.dense[np.ix_(program.points, program.points)]
    objective = 0.5 * cp.quad_form(c, cp.psd_wrap(K + np.diag(program.shift))) - program.gain @ c
    objective += program.width @ cp.abs(c)
    constraints = [cp.sum(c[program.group == g]) == total for g, total in enumerate(program.totals)]
    for bound, sign in ((program.lower, 1), (program.upper, -1)):
        finite = np.flatnonzero(np.isfinite(bound))
        constraints += [sign * c[finite] >= sign * bound[finite]] if len(finite) else []
    optimum = cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL", tol_gap_rel=1e-11)
    mapped = program.source.map_of_values(program.factor * optimum)
    assert mapped == pytest.approx(given.optimum, rel=VALUE, abs=VALUE)


class TestRefusals:
    def program(self) -> QuadraticProgram:
        program = problem("SoftMargin", "gaussian", 0).quadratic
        assert isinstance(program, QuadraticProgram)
        return program

    def test_rows_that_contradict_each_other(self):
        program = self.program()
        A = program.feasible.A
        from scipy.sparse import vstack

        feasible = replace(program.feasible, A=vstack([A, A], format="csr"), b=[0.0, 1.0])
        assert separable(replace(program, feasible=feasible)) == "the rows of the dual contradict each other"

    def test_several_kernel_terms(self):
        program = self.program()
        assert separable(replace(program, terms=program.terms * 2)) == "the dual has 2 kernel terms, not one"
