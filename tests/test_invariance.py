"""The same machine written another way: points in another order, K in other units, costs as repetitions."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import (
    HardMargin,
    NuSoftMargin,
    SoftMargin,
    TwoNormSoftMargin,
    UnitHardMargin,
    UnitNuSoftMargin,
    UnitSoftMargin,
    UnitTwoNormSoftMargin,
)
from formulations.novelty import Hypersphere, NuHypersphere, SoftHypersphere
from formulations.regression import EpsilonInsensitive, Ridge
from kopt import Combination, Formulation, Program, Sample, Task
from kopt.kernels import Scaled
from tests.instances import (
    BY_NAME,
    FULL_RANK,
    KERNELS,
    data,
    instance,
    parameters,
    permuted,
    uses_costs,
    variable_names,
)
from tests.tolerances import (
    CERTIFIED,
    DIFFERENT,
    MAP,
    MULTIPLIER,
    PRIMAL_SIDE,
    SAME_RESIDUAL,
    SAME_RESIDUAL_ABSOLUTE,
    VALUE,
)

every_name = pytest.mark.parametrize("name", list(BY_NAME))


@cache
def solved(name: str, kernel: str) -> kopt.Solution:
    given = instance(name, kernel, 1)
    return kopt.solve(given.formulation, given.sample)


@cache
def imperfect_answer(name: str, kernel: str) -> dict[str, np.ndarray]:
    """Every primal and dual variable of an instance, a percent away from the optimum."""
    given = instance(name, kernel, 1)
    solution = solved(name, kernel)
    rng = np.random.default_rng(8)
    answer = {}
    for side, point in {"primal": solution.primal, "dual": solution.dual}.items():
        for key in variable_names(given.formulation.problem(given.sample, side)):
            value = point[key].coefficients if isinstance(point[key], Combination) else np.asarray(point[key], float)
            answer[key] = value + 0.01 * np.max(np.abs(value)) * rng.standard_normal(value.shape)
    return answer


def relative_residuals(certificate: kopt.Certificate) -> dict[tuple[str, str], float]:
    return {(block, key): residual.relative for block, key, residual in certificate.as_given}


def assert_same_residuals(one: kopt.Certificate, other: kopt.Certificate) -> None:
    expected = relative_residuals(one)
    assert relative_residuals(other) == pytest.approx(expected, rel=SAME_RESIDUAL, abs=SAME_RESIDUAL_ABSOLUTE)
    for tolerance in (CERTIFIED, 1e-3, 1e-1, 1e1):
        assert one.holds(tolerance) == other.holds(tolerance)


@every_name
class TestPermutedSample:
    def test_the_certificate_of_an_answer_is_permuted(self, name):
        given, answer = instance(name, "sum", 1), imperfect_answer(name, "sum")
        order = np.random.default_rng(2).permutation(given.sample.n)
        moved = {key: value[order] if value.shape == (given.sample.n,) else value for key, value in answer.items()}
        one = kopt.verify(given.formulation, given.sample, answer)
        other = kopt.verify(given.formulation, permuted(given.sample, order), moved)
        assert not one.holds(CERTIFIED)
        assert_same_residuals(one, other)
        assert other.bounds.lower == pytest.approx(one.bounds.lower, rel=SAME_RESIDUAL)
        assert other.bounds.upper == pytest.approx(one.bounds.upper, rel=SAME_RESIDUAL)
        assert other.points.keys() == one.points.keys()
        for key, points in one.points.items():
            np.testing.assert_allclose(
                other.points[key].margins, points.margins[order], rtol=SAME_RESIDUAL, atol=SAME_RESIDUAL_ABSOLUTE
            )
            for kind in ("zero", "free", "bound", "undecided"):
                assert set(order[getattr(other.points[key], kind)]) == set(getattr(points, kind))

    @pytest.mark.parametrize("kernel", FULL_RANK)
    def test_the_solution_is_permuted(self, name, kernel):
        given = instance(name, kernel, 1)
        order = np.random.default_rng(4).permutation(given.sample.n)
        one = solved(name, kernel)
        other = kopt.solve(given.formulation, permuted(given.sample, order))
        assert abs(other.value - one.value) <= VALUE * one.certificate.as_given.scale
        for key in variable_names(given.formulation.problem(given.sample, "dual")):
            size = np.max(np.abs(one.dual[key]))
            np.testing.assert_allclose(other.dual[key], one.dual[key][order], atol=MULTIPLIER * size)
        support = order[other.certificate.support_vectors]
        assert set(support) == set(one.certificate.support_vectors)


# How each quantity changes when K becomes s K: by the power s^e. Where the norm of w is paid for, the function stays
# and C is in units of 1 / K; where it is bounded by 1, the function grows as sqrt(K); the spheres live in units of K.
CANONICAL = {"alpha": -1, "alpha_hat": -1, "w": -1, "b": 0, "xi": 0, "xi_hat": 0, "value": -1, "C": -1, "epsilon": 0}
UNIT = {"alpha": 0, "w": -0.5, "b": 0.5, "gamma": 0.5, "xi": 0.5, "value": 0.5, "C": 0, "nu": 0}
SPHERE = {"alpha": 0, "c": 0, "R": 1, "xi": 1, "value": 1, "C": 0, "nu": 0}
POWERS = {
    HardMargin: CANONICAL,
    SoftMargin: CANONICAL,
    TwoNormSoftMargin: CANONICAL,
    EpsilonInsensitive: CANONICAL,
    NuSoftMargin: {"alpha": 0, "w": 0, "b": 1, "rho": 1, "xi": 1, "value": 1, "nu": 0},
    UnitHardMargin: UNIT,
    UnitSoftMargin: UNIT,
    UnitNuSoftMargin: UNIT,
    UnitTwoNormSoftMargin: UNIT | {"C": -0.5},
    Hypersphere: SPHERE,
    SoftHypersphere: SPHERE,
    NuHypersphere: SPHERE,
    Ridge: {"beta": 0, "w": -1, "xi": 0, "value": 0, "ridge": 1},
}


@pytest.mark.parametrize("s", [1e-6, 1e6])
@pytest.mark.parametrize("kernel", ["polynomial", "sum"])
@pytest.mark.parametrize("cls", POWERS, ids=lambda cls: cls.__name__)
class TestScaledKernel:
    def rescaled(self, cls, kernel, s):
        given = instance(cls.__name__, kernel, 1)
        powers = POWERS[cls]
        formulation = cls(**{key: value * s ** powers[key] for key, value in parameters(given.formulation).items()})
        old = given.sample
        return formulation, Sample(old.X, old.y, kernel=Scaled(s, KERNELS[kernel]), costs=old.costs)

    def test_relative_residuals_of_an_answer_stay(self, cls, kernel, s):
        given, answer = instance(cls.__name__, kernel, 1), imperfect_answer(cls.__name__, kernel)
        formulation, sample = self.rescaled(cls, kernel, s)
        one = kopt.verify(given.formulation, given.sample, answer)
        other = kopt.verify(formulation, sample, {key: v * s ** POWERS[cls][key] for key, v in answer.items()})
        assert not one.holds(CERTIFIED)
        assert_same_residuals(one, other)
        factor = s ** POWERS[cls]["value"]
        assert other.as_given.scale == pytest.approx(factor * one.as_given.scale, rel=SAME_RESIDUAL)
        for bound in ("lower", "upper"):
            expected = factor * getattr(one.bounds, bound)
            # The bounds carry an estimate of their rounding, which depends on how the norms were computed.
            rounding = 2 * (other.bounds.rounding + factor * one.bounds.rounding)
            assert getattr(other.bounds, bound) == pytest.approx(expected, rel=SAME_RESIDUAL, abs=rounding)

    def test_the_solution_is_rescaled(self, cls, kernel, s):
        one = solved(cls.__name__, kernel)
        other = kopt.solve(*self.rescaled(cls, kernel, s))
        factor = s ** POWERS[cls]["value"]
        assert other.certificate.holds(CERTIFIED)
        assert abs(other.value - factor * one.value) <= VALUE * factor * one.certificate.as_given.scale


# With costs the term c_i xi_i stands c_i times in the objective. The nu-machines divide by the number of points and
# are therefore not among these.
WITH_COSTS = [
    SoftMargin(C=0.7),
    TwoNormSoftMargin(C=1.6),
    UnitSoftMargin(C=0.12),
    UnitTwoNormSoftMargin(C=0.15),
    EpsilonInsensitive(C=2.3, epsilon=0.15),
    Ridge(ridge=0.6),
    SoftHypersphere(C=0.09),
    SoftHypersphere(C=0.02),
]


@pytest.mark.parametrize("kernel", ["polynomial", "sum"])
@pytest.mark.parametrize("formulation", WITH_COSTS, ids=repr)
def test_costs_are_repetitions(formulation, kernel):
    rng = np.random.default_rng(21)
    X, y = data(formulation.task, 17, 1.0, rng)
    times = rng.integers(1, 4, len(X))
    weighted = Sample(X, y, kernel=KERNELS[kernel], costs=times)
    repeated = Sample(np.repeat(X, times, axis=0), None if y is None else np.repeat(y, times), kernel=KERNELS[kernel])
    assert uses_costs(formulation, weighted)
    one, other = kopt.solve(formulation, weighted), kopt.solve(formulation, repeated)
    plain = kopt.solve(formulation, Sample(X, y, kernel=KERNELS[kernel]))
    scale = one.certificate.as_given.scale
    assert abs(one.value - other.value) <= VALUE * scale
    assert abs(one.value - plain.value) > 10 * VALUE * scale
    new = rng.standard_normal((9, 3))
    f = one.decision_function(new)
    np.testing.assert_allclose(other.decision_function(new), f, atol=MULTIPLIER * np.max(np.abs(f)))


@pytest.mark.parametrize("cls", [NuSoftMargin, UnitNuSoftMargin, NuHypersphere], ids=lambda cls: cls.__name__)
def test_costs_of_a_nu_machine_are_repetitions_for_another_nu(cls):
    # 1/l is in units of the number of points, so nu l is what stays.
    rng = np.random.default_rng(22)
    X, y = data(cls.task, 23, 1.0, rng)
    times = rng.integers(1, 4, len(X))
    one = kopt.solve(cls(nu=0.31), Sample(X, y, kernel=KERNELS["sum"], costs=times))
    y_repeated = None if y is None else np.repeat(y, times)
    repeated = Sample(np.repeat(X, times, axis=0), y_repeated, kernel=KERNELS["sum"])
    other = kopt.solve(cls(nu=0.31 * len(X) / times.sum()), repeated)
    new = rng.standard_normal((9, 3))
    f, g = one.decision_function(new), other.decision_function(new)
    # The form with a squared norm scales its function with nu.
    if cls is NuSoftMargin:
        f, g = f / one.primal.rho, g / other.primal.rho
    np.testing.assert_allclose(g, f, atol=MULTIPLIER * np.max(np.abs(f)))


@every_name
def test_costs_are_used_or_refused(name):
    given = instance(name, "sum", 0)
    sample = Sample(given.sample.X, given.sample.y, kernel=KERNELS["sum"], costs=np.linspace(1.1, 2.0, given.sample.n))
    if uses_costs(given.formulation, sample):
        given.formulation.check(sample)
    else:
        with pytest.raises(kopt.InputError, match="costs"):
            kopt.solve(given.formulation, sample)


class OneClass(Formulation):
    """One-class machine: the hyperplane that separates the points from the origin."""

    task = Task.NOVELTY
    nu: float = kopt.fraction(default=0.5)

    def primal(self, s):
        w, rho, xi = s.weight("w"), cp.Variable(name="rho"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared - rho + cp.sum(xi) / (self.nu * s.n)),
            {"alpha": w.values >= rho - xi, "mu": xi >= 0},
        )


def away_from_the_origin() -> tuple[np.ndarray, np.ndarray]:
    """Points and new points; around the origin the normalised linear kernel has no hyperplane but w = 0."""
    rng = np.random.default_rng(31)
    return tuple(data(Task.NOVELTY, size, 1.0, rng)[0] + [3.0, 0.0, 0.0] for size in (23, 11))


@pytest.mark.parametrize("nu", [0.13, 0.37, 0.8])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_sphere_is_the_one_class_machine_for_a_normalised_kernel(kernel, nu):
    """With k(x, x) = 1: w = c and r^2 = 1 - 2 rho + ||c||^2; catalogue 2.4."""
    X, new = away_from_the_origin()
    sample = Sample(X, kernel=KERNELS[kernel].normalised())
    sphere, plane = kopt.solve(NuHypersphere(nu=nu), sample), kopt.solve(OneClass(nu=nu), sample)
    c, w, rho = sphere.primal.c, plane.primal.w, plane.primal.rho
    assert plane.certificate.as_given.worst <= PRIMAL_SIDE
    assert (c - w).norm <= MULTIPLIER * c.norm
    assert abs(sphere.primal.R - (1 - 2 * rho + c.norm_squared)) <= MAP
    np.testing.assert_allclose(sphere.decision_function(new), 2 * (plane.decision_function(new) - rho), atol=MAP)


def test_the_sphere_is_another_machine_where_the_diagonal_varies():
    X, _ = away_from_the_origin()
    sphere, plane = kopt.solve(NuHypersphere(nu=0.37), Sample(X)), kopt.solve(OneClass(nu=0.37), Sample(X))
    assert (sphere.primal.c - plane.primal.w).norm > DIFFERENT * plane.primal.w.norm
