"""Answers that are wrong where one entry dwarfs the others, and right ones that look wrong there."""

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import (
    HardMargin,
    SoftMargin,
    TwoNormSoftMargin,
    UnitNuSoftMargin,
    UnitTwoNormSoftMargin,
)
from formulations.regression import EpsilonInsensitive, Ridge
from kopt import Formulation, Program, Sample, Task
from kopt.kernels import Gaussian, Linear, Polynomial

TOLERANCE = 1e-6


def two_classes(n=20, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0.2, 1.0, -1.0)


def without_point(formulation, sample, i, name):
    """The solution of the problem without one point, as an answer that ignores it."""
    kept = np.delete(np.arange(sample.n), i)
    smaller = Sample(sample.X[kept], sample.y[kept], kernel=sample.gram().kernel)
    solution = kopt.solve(formulation, smaller)
    answer = {}
    for key in name:
        values = np.zeros(sample.n)
        values[kept] = solution.dual[key]
        answer[key] = values
    coefficients = np.zeros(sample.n)
    coefficients[kept] = solution.primal.w.coefficients
    answer |= {"w": coefficients, "b": solution.primal.b}
    for slack in [key for key in solution.primal if key.startswith("xi")]:
        values = np.zeros(sample.n)
        values[kept] = solution.primal[slack]
        answer[slack] = values
    return answer


# The solvers need not reach the tolerance on such data; what they return must be judged rightly.
@pytest.mark.filterwarnings("ignore::kopt.CertificateWarning")
@pytest.mark.parametrize("far", [10.0, 1e3, 3e7])
def test_an_outlier_does_not_excuse_a_violated_margin(far):
    X, y = two_classes()
    sample = Sample(np.vstack([X, [[far, 0.0]]]), np.append(y, 1.0))
    formulation = SoftMargin(C=1.0)
    violated = int(np.argmax(kopt.solve(formulation, sample).primal.xi))
    certificate = kopt.verify(formulation, sample, without_point(formulation, sample, violated, ["alpha"]))
    assert not certificate.holds(TOLERANCE)
    assert certificate.as_given.primal_feasibility["alpha"].relative > 1e-3


def test_one_huge_cost_does_not_excuse_the_other_bounds():
    X, _ = two_classes()
    y = np.where(X[:, 0] > 0.2, 1.0, -1.0)
    hard = kopt.solve(HardMargin(), Sample(X, y))
    costs = np.ones(len(y))
    costs[4] = 1e8
    certificate = kopt.verify(SoftMargin(C=0.1), Sample(X, y, costs=costs), {"alpha": hard.dual.alpha})
    assert not certificate.holds(TOLERANCE)
    assert certificate.as_given.dual_feasibility["xi"].relative > 1e-3


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_an_offset_of_the_targets_does_not_excuse_a_point_that_was_left_out(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=30) + offset
    sample = Sample(X, y, kernel=Gaussian(1.0))
    formulation = EpsilonInsensitive(C=1.0, epsilon=0.1)
    solution = kopt.solve(formulation, sample)
    assert solution.certificate.holds(TOLERANCE)
    left_out = int(np.argmax(solution.primal.xi + solution.primal.xi_hat))
    answer = without_point(formulation, sample, left_out, ["alpha", "alpha_hat"])
    assert not kopt.verify(formulation, sample, answer).holds(TOLERANCE)


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e9, 1e12])
def test_the_bounds_know_the_rounding_of_an_offset(offset):
    """Targets on a grid, so that the shifted problem is exactly the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.round(64 * (np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=30))) / 64
    formulation = EpsilonInsensitive(C=1.0, epsilon=0.125)
    solution = kopt.solve(formulation, Sample(X, y, kernel=Gaussian(1.0)))
    answer = {name: solution.dual[name] for name in ("alpha", "alpha_hat")}
    bounds = kopt.verify(formulation, Sample(X, y + offset, kernel=Gaussian(1.0)), answer).bounds
    assert bounds.consistent
    assert bounds.lower <= solution.value <= bounds.upper


def test_an_answer_cannot_choose_the_scale_of_its_own_gap():
    X = np.random.default_rng(3).normal(size=(20, 2))
    sample = Sample(X, np.tile([1.0, -1.0], 10))
    solution = kopt.solve(UnitNuSoftMargin(nu=1.0), sample)
    margins = sample.y * (solution.primal.w.values + solution.primal.b)
    noise = np.random.default_rng(4).normal(size=20)
    answer = {**solution.primal, "alpha": solution.dual.alpha, "gamma": 1e7, "xi": 1e7 - margins + noise}
    assert not kopt.verify(UnitNuSoftMargin(nu=1.0), sample, answer).holds(TOLERANCE)


class PerspectiveDual(Formulation):
    """A kinked penalty, and a dual in a variable that is not one of the multipliers."""

    task = Task.REGRESSION

    def primal(self, s):
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + 0.5 * cp.square(cp.norm1(xi))), {"beta": xi == s.y - w.values}
        )

    def dual(self, s):
        theta = cp.Variable(s.n, name="theta")
        u = s.combination(theta)
        return Program(
            cp.Maximize(s.y @ theta - 0.5 * u.norm_squared - 0.5 * cp.square(cp.norm_inf(theta))),
            multipliers={"beta": -theta},
        )


def test_a_dual_without_gradients_is_solved_and_a_missing_dual_variable_counts_as_infinity():
    X, _ = two_classes()
    sample = Sample(X, X[:, 0], kernel=Gaussian(1.0))
    solution = kopt.solve(PerspectiveDual(), sample)
    assert solution.certificate.holds(TOLERANCE)
    assert solution.certificate.bounds.lower <= solution.value <= solution.certificate.bounds.upper
    w = np.ones(sample.n)
    xi = sample.y - sample.gram().product(w)
    certificate = kopt.verify(PerspectiveDual(), sample, {"w": w, "xi": xi, "beta": -np.ones(sample.n)})
    assert not certificate.holds(TOLERANCE)
    assert certificate.as_given.gap.relative == np.inf


# The solvers need not reach the tolerance on such data; what they return must be judged rightly.
@pytest.mark.filterwarnings("ignore::kopt.CertificateWarning")
@pytest.mark.parametrize(
    "X", [[[1e7], [1e7 + 1]], [[1.0], [1.0 + 1e-7]], [[1.0], [1.0 + 1e-6]]], ids=["far", "near", "less near"]
)
def test_separable_data_are_never_called_inseparable(X):
    solution = kopt.solve(HardMargin(), Sample(X, [-1, 1]))
    gap = X[1][0] - X[0][0]
    assert solution.certificate.bounds.lower <= 2 / gap**2 * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore::kopt.CertificateWarning")
@pytest.mark.parametrize(("formulation", "factor"), [(Ridge(ridge=1.0), 1e7), (Ridge(ridge=1e-6), 1e5)])
def test_a_problem_that_always_has_a_solution_is_never_called_infeasible(formulation, factor):
    X, y = two_classes()
    kopt.solve(formulation, Sample(factor * X, y))


@pytest.mark.filterwarnings("ignore::kopt.CertificateWarning")
def test_soft_margins_are_never_called_infeasible():
    X, y = two_classes()
    kopt.solve(TwoNormSoftMargin(C=1e6), Sample(X, y, kernel=1e8 * Linear()))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0)], ids=repr)
def test_a_norm_bound_without_a_price_is_recovered_on_the_dual_side(kernel):
    """Overlapping classes and a large C: lambda = 0, and the optimal w is shorter than 1."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(24, 2)), np.where(rng.random(24) > 0.4, 1.0, -1.0)
    solution = kopt.solve(UnitTwoNormSoftMargin(C=0.05), Sample(X, y, kernel=kernel), side="dual")
    assert solution.certificate.holds(TOLERANCE)
    assert solution.primal.w.norm < 0.9


def test_the_attempts_say_which_solvers_were_tried():
    """A margin of a millionth of the data: the dual side fails, and the primal side is taken."""
    solution = kopt.solve(HardMargin(), Sample([[0.0], [1.0], [1.000001], [2.0]], [-1, -1, 1, 1]))
    assert len(solution.attempts) > 1
    assert solution.attempts[0].side == "dual"
    assert solution.attempts[-1].side == solution.side == "primal"
    assert solution.attempts[0].worst > TOLERANCE >= solution.attempts[-1].worst
    assert "tried CLARABEL on the dual side" in str(solution)
