"""The machines against scikit-learn, against closed forms, and against one another."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

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
from kopt import Sample, Task
from kopt.kernels import Gaussian, Polynomial
from tests.instances import KERNELS, data
from tests.tolerances import CERTIFIED, DIFFERENT, LIBSVM, LINEAR_SYSTEM, MAP, MULTIPLIER, VALUE

every_kernel = pytest.mark.parametrize("kernel", list(KERNELS))
n = 31
STOP = {"kernel": "precomputed", "tol": 1e-10, "shrinking": False}


def drawn(task: Task, kernel: str, seed: int, overlap: float = 1.0, costs: bool = False):
    """A sample, new points, and the two Gram matrices for a library that takes them precomputed."""
    rng = np.random.default_rng(seed)
    X, y = data(task, n, overlap, rng)
    new = rng.standard_normal((13, 3))
    k = KERNELS[kernel]
    return Sample(X, y, kernel=k, costs=rng.uniform(0.4, 2.5, n) if costs else None), new, k(X), k(new, X)


def assert_close(actual, expected, tolerance):
    assert np.max(np.abs(actual - expected)) <= tolerance * max(1.0, np.max(np.abs(expected)))


class TestScikitLearn:
    @pytest.mark.parametrize("C", [0.07, 0.9, 14.0])
    @pytest.mark.parametrize("costs", [False, True])
    @every_kernel
    def test_soft_margin(self, kernel, costs, C):
        sample, new, K, K_new = drawn(Task.CLASSIFICATION, kernel, 1, costs=costs)
        theirs = SVC(C=C, **STOP).fit(K, sample.y, sample_weight=sample.costs)
        assert_close(
            kopt.solve(SoftMargin(C=C), sample).decision_function(new), theirs.decision_function(K_new), LIBSVM
        )

    def test_soft_margin_with_costs_is_not_the_one_without(self):
        sample, new, K, K_new = drawn(Task.CLASSIFICATION, "sum", 1, costs=True)
        theirs = SVC(C=0.9, **STOP).fit(K, sample.y).decision_function(K_new)
        ours = kopt.solve(SoftMargin(C=0.9), sample).decision_function(new)
        assert np.max(np.abs(ours - theirs)) > DIFFERENT

    @pytest.mark.parametrize("nu", [0.36, 0.52])
    @every_kernel
    def test_nu_soft_margins(self, kernel, nu):
        sample, new, K, K_new = drawn(Task.CLASSIFICATION, kernel, 2, overlap=0.5)
        theirs = NuSVC(nu=nu, **STOP).fit(K, sample.y).decision_function(K_new)
        unit, squared = kopt.solve(UnitNuSoftMargin(nu=nu), sample), kopt.solve(NuSoftMargin(nu=nu), sample)
        assert_close(unit.decision_function(new) / unit.primal.gamma, theirs, LIBSVM)
        assert_close(squared.decision_function(new) / squared.primal.rho, theirs, LIBSVM)

    @pytest.mark.parametrize(("C", "epsilon"), [(0.3, 0.05), (2.5, 0.21)])
    @pytest.mark.parametrize("costs", [False, True])
    @every_kernel
    def test_epsilon_insensitive(self, kernel, costs, C, epsilon):
        sample, new, K, K_new = drawn(Task.REGRESSION, kernel, 3, costs=costs)
        theirs = SVR(C=C, epsilon=epsilon, **STOP).fit(K, sample.y, sample_weight=sample.costs)
        ours = kopt.solve(EpsilonInsensitive(C=C, epsilon=epsilon), sample)
        assert_close(ours.decision_function(new), theirs.predict(K_new), LIBSVM)

    @pytest.mark.parametrize("nu", [0.14, 0.45, 0.77])
    @every_kernel
    def test_one_class(self, kernel, nu):
        """With k(x, x) = 1 the sphere's R - ||phi(x) - c||^2 is 2 (<w, phi(x)> - rho); LIBSVM multiplies by nu l."""
        sample, new, _, _ = drawn(Task.NOVELTY, kernel, 4)
        # Around the origin the normalised linear kernel has no hyperplane but w = 0.
        away = np.array([3.0, 0.0, 0.0])
        X, new, k = sample.X + away, new + away, KERNELS[kernel].normalised()
        theirs = OneClassSVM(nu=nu, **STOP).fit(k(X)).decision_function(k(new, X))
        ours = kopt.solve(NuHypersphere(nu=nu), Sample(X, kernel=k)).decision_function(new)
        assert_close(nu * n / 2 * ours, theirs, LIBSVM)

    @pytest.mark.parametrize("costs", [False, True])
    @every_kernel
    def test_ridge(self, kernel, costs):
        sample, new, K, K_new = drawn(Task.REGRESSION, kernel, 5, costs=costs)
        theirs = KernelRidge(alpha=0.37, kernel="precomputed").fit(K, sample.y, sample_weight=sample.costs)
        ours = kopt.solve(Ridge(ridge=0.37), sample).decision_function(new)
        assert_close(ours, theirs.predict(K_new), LINEAR_SYSTEM)


class TestClosedForms:
    def test_exclusive_or(self):
        """The polynomial kernel of degree 2 turns exclusive or into the product x1 x2."""
        X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
        solution = kopt.solve(HardMargin(), Sample(X, X[:, 0] * X[:, 1], kernel=Polynomial(degree=2, R=1.0)))
        np.testing.assert_allclose(solution.dual.alpha, 1 / 8, rtol=CERTIFIED)
        assert solution.value == pytest.approx(1 / 4, rel=CERTIFIED)
        assert solution.primal.w.norm_squared == pytest.approx(1 / 2, rel=CERTIFIED)
        assert 1 / solution.primal.w.norm == pytest.approx(np.sqrt(2), rel=CERTIFIED)
        assert solution.primal.b == pytest.approx(0, abs=CERTIFIED)
        new = np.random.default_rng(0).standard_normal((11, 2))
        np.testing.assert_allclose(solution.decision_function(new), new[:, 0] * new[:, 1], atol=CERTIFIED)
        assert solution.certificate.support_vectors.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("cls", [UnitHardMargin, HardMargin])
    def test_two_points(self, cls):
        solution = kopt.solve(cls(), Sample([[1.0, 2.0], [4.0, 6.0]], [-1, 1]))
        margin = solution.primal.gamma if cls is UnitHardMargin else 1 / solution.primal.w.norm
        assert margin == pytest.approx(5 / 2, rel=CERTIFIED)

    @every_kernel
    def test_ridge_is_a_linear_system(self, kernel):
        sample, _, K, _ = drawn(Task.REGRESSION, kernel, 6, costs=True)
        solution = kopt.solve(Ridge(ridge=0.8), sample)
        alpha = np.linalg.solve(K + 0.8 * np.diag(1 / sample.costs), sample.y)
        assert solution.value == pytest.approx(0.8 * sample.y @ alpha, rel=CERTIFIED)
        np.testing.assert_allclose(solution.primal.w.values, K @ alpha, atol=LINEAR_SYSTEM * np.max(np.abs(sample.y)))

    def test_the_sphere_of_a_line_segment(self):
        solution = kopt.solve(Hypersphere(), Sample([[1.0, 0.0], [5.0, 3.0], [3.0, 1.0]]))
        assert pytest.approx(25 / 4, rel=CERTIFIED) == solution.primal.R
        np.testing.assert_allclose(solution.decision_function([[3.0, 1.5]]), 25 / 4, rtol=CERTIFIED)

    @pytest.mark.parametrize("costs", [False, True])
    @every_kernel
    def test_below_one_over_l_the_soft_sphere_is_the_mean(self, kernel, costs):
        """The printed dual is infeasible there, the primal is not."""
        sample, _, K, _ = drawn(Task.NOVELTY, kernel, 7, costs=costs)
        C = 0.5 / np.sum(sample.costs)
        solution = kopt.solve(SoftHypersphere(C=C), sample)
        weights = sample.costs / np.sum(sample.costs)
        variance = weights @ np.diag(K) - weights @ K @ weights
        assert solution.value == pytest.approx(C * np.sum(sample.costs) * variance, rel=VALUE)
        assert pytest.approx(0, abs=CERTIFIED * np.max(np.diag(K))) == solution.primal.R
        mean = sample.gram().norm_squared(solution.primal.c.coefficients - weights)
        assert np.sqrt(mean) <= MULTIPLIER * np.sqrt(np.max(np.diag(K)))


def separable(kernel: str, seed: int = 8) -> Sample:
    return drawn(Task.CLASSIFICATION, kernel, seed, overlap=0.0)[0]


def root(solution: kopt.Solution) -> float:
    """sqrt(-W) = sqrt(alpha' G alpha)."""
    alpha = solution.dual.alpha * solution.sample.y
    return float(np.sqrt(solution.sample.gram().norm_squared(alpha)))


def smallest(sample: Sample) -> int:
    """The size of the smaller class."""
    return int(min(np.sum(sample.y > 0), np.sum(sample.y < 0)))


def close(x: float):
    return pytest.approx(x, rel=MAP)


@every_kernel
class TestMaps:
    """The maps by their formulas, without `kopt.convert`."""

    def test_unit_hard_margin_to_hard_margin(self, kernel):
        sample = separable(kernel)
        unit, hard = kopt.solve(UnitHardMargin(), sample), kopt.solve(HardMargin(), sample)
        gamma = unit.primal.gamma
        assert gamma == close(root(unit))
        assert gamma == close(np.sum(hard.dual.alpha) ** -0.5)
        assert (unit.primal.w - gamma * hard.primal.w).norm <= MAP
        assert unit.primal.b == pytest.approx(gamma * hard.primal.b, abs=MAP)
        image = unit.dual.alpha / gamma**2
        assert kopt.verify(HardMargin(), sample, {"alpha": image}).holds(MAP)

    def test_hard_margin_is_half_the_distance_of_the_hulls(self, kernel):
        sample = separable(kernel)
        weight = cp.Variable(n)
        plus, minus = sample.y > 0, sample.y < 0
        hulls = [weight >= 0, cp.sum(weight[plus]) == 1, cp.sum(weight[minus]) == 1]
        distance = cp.Problem(cp.Minimize(cp.norm(sample.gram().factor.T @ cp.multiply(sample.y, weight))), hulls)
        assert kopt.solve(UnitHardMargin(), sample).value == close(distance.solve(solver=cp.CLARABEL) / 2)

    @pytest.mark.parametrize("nu", [0.33, 0.58])
    def test_unit_soft_margin_is_the_unit_nu_machine(self, kernel, nu):
        sample = drawn(Task.CLASSIFICATION, kernel, 9, overlap=0.5)[0]
        soft = kopt.solve(UnitSoftMargin(C=1 / (nu * n)), sample)
        other = kopt.solve(UnitNuSoftMargin(nu=nu), sample)
        assert soft.value == close(other.value)
        assert soft.primal.gamma == close(other.primal.gamma)
        assert (soft.primal.w - other.primal.w).norm <= MULTIPLIER

    def test_unit_soft_margin_to_soft_margin_and_back(self, kernel):
        sample = drawn(Task.CLASSIFICATION, kernel, 9, overlap=0.5)[0]
        C = 1 / (0.58 * n)
        unit = kopt.solve(UnitSoftMargin(C=C), sample)
        gamma, s = unit.primal.gamma, 1 / (root(unit) * unit.primal.gamma)
        soft = kopt.solve(SoftMargin(C=s * C), sample)
        assert (soft.primal.w - unit.primal.w / gamma).norm <= MULTIPLIER * soft.primal.w.norm
        assert kopt.verify(SoftMargin(C=s * C), sample, {"alpha": s * unit.dual.alpha}).holds(MAP)
        assert 1 / soft.primal.w.norm == close(gamma)
        assert np.sum(soft.dual.alpha) / (s * C * n) == close(0.58)

    @pytest.mark.parametrize("C", [0.4, 3.0])
    def test_soft_margin_to_the_unit_nu_machine(self, kernel, C):
        """The image is optimal; where nu l / 2 is an integer (one class has no free multiplier) it is not unique."""
        sample = drawn(Task.CLASSIFICATION, kernel, 10)[0]
        soft = kopt.solve(SoftMargin(C=C), sample)
        total, length = np.sum(soft.dual.alpha), soft.primal.w.norm
        nu = min(float(total / (C * n)), 2 * smallest(sample) / n)
        image = {
            "w": soft.primal.w.coefficients / length,
            "b": soft.primal.b / length,
            "gamma": 1 / length,
            "xi": soft.primal.xi / length,
            "alpha": soft.dual.alpha / total,
        }
        assert kopt.verify(UnitNuSoftMargin(nu=nu), sample, image).holds(CERTIFIED)
        unit = kopt.solve(UnitNuSoftMargin(nu=nu), sample)
        assert (unit.primal.w - soft.primal.w / length).norm <= MULTIPLIER
        if abs(nu * n / 2 - round(nu * n / 2)) > MAP:
            assert unit.primal.gamma == close(1 / length)

    @pytest.mark.parametrize("nu", [0.33, 0.58])
    def test_the_two_nu_machines(self, kernel, nu):
        sample = drawn(Task.CLASSIFICATION, kernel, 9, overlap=0.5)[0]
        unit, squared = kopt.solve(UnitNuSoftMargin(nu=nu), sample), kopt.solve(NuSoftMargin(nu=nu), sample)
        assert squared.value == close(-((nu * root(unit)) ** 2) / 2)
        assert squared.primal.rho == close(nu * root(unit) * unit.primal.gamma)
        assert kopt.verify(NuSoftMargin(nu=nu), sample, {"alpha": nu * unit.dual.alpha}).holds(MAP)

    def test_a_wide_box_is_a_hard_margin(self, kernel):
        sample = separable(kernel)
        hard = kopt.solve(UnitHardMargin(), sample)
        wide = 1.1 * np.max(hard.dual.alpha)
        assert kopt.solve(UnitSoftMargin(C=wide), sample).value == close(-hard.value)

    @pytest.mark.parametrize("mu", [0.2, 1.7])
    def test_two_norm_margins_are_hard_margins_of_a_shifted_kernel(self, kernel, mu):
        """mu = 1/C in the canonical form and sqrt(alpha' G alpha) / (2 C) in the unit one."""
        sample, _, K, _ = drawn(Task.CLASSIFICATION, kernel, 11)
        shifted = Sample.from_gram(K + mu * np.eye(n), sample.y)
        canonical = kopt.solve(TwoNormSoftMargin(C=1 / mu), sample)
        assert canonical.value == close(kopt.solve(HardMargin(), shifted).value)
        hard = kopt.solve(UnitHardMargin(), shifted)
        length = np.sqrt(sample.gram().norm_squared(sample.y * hard.dual.alpha))
        C = length / (2 * mu)
        unit = kopt.solve(UnitTwoNormSoftMargin(C=C), sample)
        assert unit.primal.gamma == close(hard.value**2 / length)
        assert root(unit) == close(length)
        assert length**2 == close(hard.value**2 - mu * np.sum(hard.dual.alpha**2))

    @pytest.mark.parametrize("nu", [0.18, 0.61, 1.0])
    def test_soft_sphere_is_the_nu_sphere(self, kernel, nu):
        sample, new, _, _ = drawn(Task.NOVELTY, kernel, 12)
        soft, other = kopt.solve(SoftHypersphere(C=1 / (nu * n)), sample), kopt.solve(NuHypersphere(nu=nu), sample)
        assert other.value == close(nu * soft.value)
        assert (soft.primal.c - other.primal.c).norm <= MULTIPLIER * np.sqrt(np.max(sample.gram().diagonal))
        if nu < 1:  # at nu = 1 a whole interval of radii is optimal
            assert_close(soft.decision_function(new), other.decision_function(new), MULTIPLIER)

    def test_soft_spheres_become_the_hard_one(self, kernel):
        sample = drawn(Task.NOVELTY, kernel, 12)[0]
        hard = kopt.solve(Hypersphere(), sample)
        wide = 1.1 * float(np.max(hard.dual.alpha))
        assert kopt.solve(SoftHypersphere(C=wide), sample).value == close(hard.value)
        assert kopt.solve(NuHypersphere(nu=0.97 / n), sample).value == close(0.97 / n * hard.value)
        narrow = kopt.solve(SoftHypersphere(C=0.3 * float(np.max(hard.dual.alpha))), sample)
        assert narrow.value < hard.value * (1 - MAP)

    def test_hard_sphere_and_margin_from_the_origin(self, kernel):
        """With k(x, x) = 1: r^2 + gamma^2 = 1, gamma the distance of the convex hull from the origin."""
        X = drawn(Task.NOVELTY, kernel, 12)[0].X
        # Gaussian values are positive, so that the hull cannot contain the origin.
        sample = Sample(X, kernel=(KERNELS[kernel] + 2.0 * Gaussian(sigma=4.0)).normalised())
        weight = cp.Variable(n)
        gamma = cp.Problem(
            cp.Minimize(cp.norm(sample.gram().factor.T @ weight)), [weight >= 0, cp.sum(weight) == 1]
        ).solve(solver=cp.CLARABEL)
        assert kopt.solve(Hypersphere(), sample).primal.R + gamma**2 == close(1)


@pytest.mark.parametrize("cls", [NuSoftMargin, UnitNuSoftMargin])
class TestTheLargestNu:
    """nu is at most 2 min(l+, l-) / l, not 1."""

    def test_it_is_reached(self, cls):
        sample = drawn(Task.CLASSIFICATION, "gaussian", 13)[0]
        assert kopt.solve(cls(nu=2 * smallest(sample) / n), sample).certificate.holds(CERTIFIED)

    def test_beyond_it_is_refused_with_the_number(self, cls):
        sample = drawn(Task.CLASSIFICATION, "gaussian", 13)[0]
        largest = 2 * smallest(sample) / n
        with pytest.raises(kopt.InputError, match=f"at most {largest!r}"):
            kopt.solve(cls(nu=largest * 1.001), sample)


def test_the_smallest_c_of_the_unit_soft_margin():
    sample = drawn(Task.CLASSIFICATION, "gaussian", 13)[0]
    least = 0.5 / smallest(sample)
    assert kopt.solve(UnitSoftMargin(C=least), sample).certificate.holds(CERTIFIED)
    with pytest.raises(kopt.InputError, match=f"at least {least!r}"):
        kopt.solve(UnitSoftMargin(C=least * 0.999), sample)


def test_the_nu_machine_of_balanced_classes_with_nu_1_is_the_difference_of_the_means():
    X, y = data(Task.CLASSIFICATION, 17, 1.0, np.random.default_rng(14))
    chosen = np.concatenate([np.flatnonzero(y > 0)[:4], np.flatnonzero(y < 0)[:4]])
    sample = Sample(X[chosen], y[chosen], kernel=Gaussian(sigma=1.1))
    solution = kopt.solve(UnitNuSoftMargin(nu=1.0), sample)
    half = np.sqrt(sample.gram().norm_squared(y[chosen] / 8))
    assert -solution.value == close(half)
