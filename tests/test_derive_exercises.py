"""The derivations that the texts leave to the reader: each primal as printed, one call, and the answer."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification import HardMargin, SoftMargin, SoftMarginWithoutOffset
from formulations.novelty import Hypersphere, SoftHypersphere
from kopt import Formulation, Program, Sample, Task, fraction, positive
from kopt.kernels import Gaussian, Linear
from tests.derivations import derivation, section
from tests.tolerances import DIFFERENT, MAP, VALUE

RNG = np.random.default_rng(21)
POINTS = RNG.standard_normal((13, 2))
LABELS = np.where(POINTS @ [0.8, 0.6] > 0.3, 1.0, -1.0)
SEPARABLE = Sample(POINTS + 0.3 * LABELS[:, None] * [0.8, 0.6], LABELS)
NOISY = Sample(POINTS, LABELS * np.where(np.arange(13) % 6 == 0, -1, 1), kernel=Gaussian(sigma=1.2))
TARGETS = Sample(POINTS, np.sin(POINTS[:, 0]) + 0.4, kernel=Gaussian(sigma=1.2))
UNLABELLED = Sample(POINTS, kernel=Gaussian(sigma=1.2))


@cache
def solved(machine: Formulation, sample: Sample) -> kopt.Solution:
    """The solution by the derived dual, certified."""
    derived = derivation(type(machine)).machine(**vars(machine))
    solution = kopt.solve(derived, sample, side="dual")
    assert solution.certificate.holds(1e-6)
    return solution


def assert_same_optimum(machine: Formulation, other: Formulation, sample: Sample) -> None:
    """The derived dual of one machine has the optimum of a machine of the library."""
    expected = kopt.solve(other, sample)
    assert solved(machine, sample).value == pytest.approx(expected.value, rel=VALUE)


class Hard(Formulation):
    """6.867 lectures 7-8, (5)."""

    task = Task.CLASSIFICATION

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        return Program(cp.Minimize(0.5 * w.norm_squared), {"alpha": cp.multiply(s.y, w.values + b) >= 1})


class TestHardMargin:
    def test_the_dual(self):
        """6.867 lectures 7-8, Section 2.3, (6) and (7)."""
        assert section(derivation(Hard), "Dual") == [
            "max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)",
            "s.t.  sum_i y_i alpha_i = 0  : b",
            "      alpha_i >= 0",
        ]
        assert_same_optimum(Hard(), HardMargin(), SEPARABLE)

    def test_complementary_slackness(self):
        """6.867 lectures 7-8, Section 2.3, the KKT conditions of (5)."""
        assert "alpha_i (1 - y_i (<w, phi(x_i)> + b)) = 0" in section(derivation(Hard), "KKT conditions")

    def test_the_multipliers_add_up_to_the_inverse_square_of_the_margin(self):
        """6.867 lectures 7-8, Section 2.3, exercise."""
        solution = solved(Hard(), SEPARABLE)
        margin = np.min(SEPARABLE.y * solution.decision_function(SEPARABLE.X)) / solution.primal.w.norm
        assert np.sum(solution.dual.alpha) == pytest.approx(1 / margin**2, rel=MAP)


class Slab(Formulation):
    """The widest slab between the classes, priced so that its dual is the distance of the hulls."""

    task = Task.CLASSIFICATION

    def primal(self, s):
        w, p, q = s.weight("w"), cp.Variable(name="p"), cp.Variable(name="q")
        return Program(
            cp.Maximize(p - q - 0.25 * w.norm_squared),
            {"c": cp.multiply(s.y, w.values) >= (s.y > 0) * p - (s.y < 0) * q},
        )


class TestConvexHulls:
    def test_the_dual_is_the_distance_of_the_hulls(self):
        """6.867 lectures 7-8, Section 2.4, (8)."""
        assert section(derivation(Slab), "Dual") == [
            "min   sum_ij y_i y_j c_i c_j k(x_i, x_j)",
            "s.t.  sum_(i: y_i > 0) c_i = 1  : p",
            "      sum_(i: y_i < 0) c_i = 1  : q",
            "      c_i >= 0",
        ]

    def test_the_distance_is_twice_the_margin_and_the_multipliers_are_multiples(self):
        """6.867 lectures 7-8, Section 2.4: that (8) finds the hard margin is left to the reader."""
        hulls, hard = solved(Slab(), SEPARABLE), solved(Hard(), SEPARABLE)
        assert hulls.value == pytest.approx((2 / hard.primal.w.norm) ** 2, rel=MAP)
        np.testing.assert_allclose(2 * hulls.dual.c / hulls.value, hard.dual.alpha, atol=1e-4)

    def test_the_hull_problem_itself_is_derived_back(self):
        """6.867 lectures 7-8, (8), as a program in the points: its dual is the slab, of the same value."""
        X, y = SEPARABLE.X, SEPARABLE.y
        c, z = cp.Variable(len(y), name="c"), cp.Variable(2, name="z")
        hulls = Program(
            cp.Minimize(cp.sum_squares(z)),
            {
                "u": z == (X * y[:, None]).T @ c,
                "p": (y > 0).astype(float) @ c == 1,
                "q": (y < 0).astype(float) @ c == 1,
                "m": c >= 0,
            },
        )
        dual = kopt.derive(hulls, instances=2).program()
        assert set(dual.variables) == {"u", "p", "q"}
        dual.problem().solve(solver=cp.CLARABEL)
        assert dual.objective.value == pytest.approx(solved(Slab(), SEPARABLE).value, rel=VALUE)


class Soft(Formulation):
    """6.867 lectures 7-8, (9)."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(xi)),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0},
        )


class HingeLoss(Formulation):
    """6.867 lectures 7-8, (13), with the margins as variables."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)

    def primal(self, s):
        w, b, m = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="m")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(cp.pos(1 - m))),
            {"alpha": m == cp.multiply(s.y, w.values + b)},
        )


class TestSoftMargin:
    def test_the_dual(self):
        """6.867 lectures 7-8, Section 3, (10): an upper bound beside (7)."""
        assert section(derivation(Soft), "Dual") == [
            "max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)",
            "s.t.  sum_i y_i alpha_i = 0  : b",
            "      alpha_i <= C           : xi_i",
            "      alpha_i >= 0",
        ]
        assert_same_optimum(Soft(C=2.3), SoftMargin(C=2.3), NOISY)

    def test_the_hinge_loss_has_the_same_dual(self):
        """6.867 lectures 7-8, Section 4: the step from (9) to (13), to be made rigorous."""
        assert section(derivation(HingeLoss), "Dual") == [
            "max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)",
            "s.t.  sum_i y_i alpha_i = 0  : b",
            "      alpha_i <= C",
            "      alpha_i >= 0",
        ]
        slacks = solved(Soft(C=2.3), NOISY)
        assert solved(HingeLoss(C=2.3), NOISY).value == pytest.approx(slacks.value, rel=VALUE)
        hinges = np.maximum(0, 1 - NOISY.y * slacks.decision_function(NOISY.X))
        np.testing.assert_allclose(slacks.primal.xi, hinges, atol=1e-5)


class Nu(Formulation):
    """6.867 lectures 7-8, (11)."""

    task = Task.CLASSIFICATION
    nu: float = fraction(default=0.5)

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        rho, xi = cp.Variable(name="rho"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared - self.nu * rho + cp.sum(xi) / s.n),
            {"alpha": cp.multiply(s.y, w.values + b) >= rho - xi, "mu": xi >= 0, "delta": rho >= 0},
        )


class TestNu:
    def test_the_dual(self):
        """6.867 lectures 7-8, Section 3.1, exercise."""
        assert section(derivation(Nu), "Dual") == [
            "max   -1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)",
            "s.t.  sum_i y_i alpha_i = 0  : b",
            "      sum_i alpha_i >= nu    : rho",
            "      alpha_i <= 1/l         : xi_i",
            "      alpha_i >= 0",
        ]

    def test_compared_with_the_soft_margin(self):
        """6.867 lectures 7-8, Section 3.1, exercise: (9) with C = 1/(n rho) has the same classifier."""
        by_nu = solved(Nu(nu=0.4), NOISY)
        rho = float(by_nu.primal.rho)
        assert rho > DIFFERENT
        by_cost = solved(Soft(C=1 / (NOISY.n * rho)), NOISY)
        np.testing.assert_allclose(by_nu.dual.alpha, rho * by_cost.dual.alpha, atol=1e-5)
        np.testing.assert_allclose(
            by_nu.decision_function(NOISY.X), rho * by_cost.decision_function(NOISY.X), atol=1e-4
        )


class MeanRidge(Formulation):
    """6.867 lectures 7-8, (16), with the residuals as variables."""

    task = Task.REGRESSION
    reg: float = positive(default=1.0)

    def primal(self, s):
        w, r = s.weight("w"), cp.Variable(s.n, name="r")
        return Program(
            cp.Minimize(cp.sum_squares(r) / s.n + self.reg / 2 * w.norm_squared), {"beta": r == s.y - w.values}
        )


class SumRidge(Formulation):
    """Scheffer, kernel ridge regression, with the residuals as variables."""

    task = Task.REGRESSION
    reg: float = positive(default=1.0)

    def primal(self, s):
        theta, r = s.weight("theta"), cp.Variable(s.n, name="r")
        return Program(
            cp.Minimize(cp.sum_squares(r) + self.reg * theta.norm_squared), {"beta": r == theta.values - s.y}
        )

    def decision(self, s, primal):
        return primal.theta.values


class Interpolation(Formulation):
    """Cristianini and Shawe-Taylor, Example 3.11: of all f with the values y, the projection of t is the shortest."""

    task = Task.REGRESSION

    def primal(self, s):
        f = s.weight("f")
        return Program(cp.Minimize(f.norm_squared), {"beta": f.values == s.y})

    def decision(self, s, primal):
        return primal.f.values


class TestRidge:
    def test_the_dual_of_the_mean_loss(self):
        """6.867 lectures 7-8, Section 6.3, (16)."""
        assert section(derivation(MeanRidge), "Dual") == [
            "max  -sum_i y_i beta_i - 1/(2 reg) sum_ij beta_i beta_j k(x_i, x_j) - l/4 sum_i beta_i^2"
        ]

    def test_the_multipliers_of_the_mean_loss_solve_a_linear_system(self):
        """6.867 lectures 7-8, Section 6.3: alpha of (16), with n lambda / 2 where (17) has n lambda."""
        K, reg = TARGETS.gram().dense, 0.3
        solution = solved(MeanRidge(reg=reg), TARGETS)
        alpha = np.linalg.solve(K + TARGETS.n * reg / 2 * np.eye(TARGETS.n), TARGETS.y)
        np.testing.assert_allclose(-solution.dual.beta / reg, alpha, atol=1e-5)
        np.testing.assert_allclose(solution.decision_function(TARGETS.X), K @ alpha, atol=1e-5)
        printed = np.linalg.solve(K + TARGETS.n * reg * np.eye(TARGETS.n), TARGETS.y)
        assert np.max(np.abs(printed - alpha)) > DIFFERENT

    def test_the_dual_of_the_sum_of_squares(self):
        """Scheffer, kernel ridge regression."""
        assert section(derivation(SumRidge), "Dual") == [
            "max  sum_i y_i beta_i - 1/(4 reg) sum_ij beta_i beta_j k(x_i, x_j) - 1/4 sum_i beta_i^2"
        ]

    def test_the_value_of_the_sum_of_squares(self):
        """Scheffer, kernel ridge regression: alpha = (K + lambda I)^-1 y."""
        K, reg = TARGETS.gram().dense, 0.7
        solution = solved(SumRidge(reg=reg), TARGETS)
        alpha = np.linalg.solve(K + reg * np.eye(TARGETS.n), TARGETS.y)
        assert solution.value == pytest.approx(reg * TARGETS.y @ alpha, rel=VALUE)
        np.testing.assert_allclose(solution.decision_function(TARGETS.X), K @ alpha, atol=1e-5)

    def test_the_nearest_function_to_a_target(self):
        """Cristianini and Shawe-Taylor, Example 3.11: K alpha = y."""
        [line] = section(derivation(Interpolation), "Dual")
        assert line in (
            "max  -sum_i y_i beta_i - 1/4 sum_ij beta_i beta_j k(x_i, x_j)",
            "max  sum_i y_i beta_i - 1/4 sum_ij beta_i beta_j k(x_i, x_j)",
        )
        solution = solved(Interpolation(), TARGETS)
        alpha = np.linalg.solve(TARGETS.gram().dense, TARGETS.y)
        assert solution.value == pytest.approx(TARGETS.y @ alpha, rel=VALUE)
        np.testing.assert_allclose(solution.decision_function(TARGETS.X), TARGETS.y, atol=1e-5)


class WithoutOffset(Formulation):
    """Scheffer, kernel support vector machine: the problem with side constraints."""

    task = Task.CLASSIFICATION
    reg: float = positive(default=1.0)

    def primal(self, s):
        theta, xi = s.weight("theta"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(self.reg * cp.sum(xi) + 0.5 * theta.norm_squared),
            {"beta": cp.multiply(s.y, theta.values) >= 1 - xi, "beta0": xi >= 0},
        )

    def decision(self, s, primal):
        return primal.theta.values


class TestWithoutOffset:
    def test_the_dual(self):
        """Scheffer, kernel support vector machine: a box and no equality."""
        assert section(derivation(WithoutOffset), "Dual") == [
            "max   sum_i beta_i - 1/2 sum_ij y_i y_j beta_i beta_j k(x_i, x_j)",
            "s.t.  beta_i <= reg  : xi_i",
            "      beta_i >= 0",
        ]
        assert_same_optimum(WithoutOffset(reg=1.7), SoftMarginWithoutOffset(C=1.7), NOISY)

    def test_the_derivatives(self):
        """Scheffer, kernel support vector machine: theta and lambda from the derivatives of the Lagrangian."""
        text = "\n".join(section(derivation(WithoutOffset), "Stationarity in each variable"))
        assert "theta = sum_i y_i beta_i phi(x_i)" in text
        assert "beta_i + beta0_i = reg" in text


class Sphere(Formulation):
    """Mohri, Rostamizadeh and Talwalkar, Exercise 6.22(a), in the square R of the radius."""

    task = Task.NOVELTY

    def primal(self, s):
        c, R = s.weight("c"), cp.Variable(name="R")
        return Program(cp.Minimize(R), {"alpha": c.norm_squared - 2 * c.values + s.diagonal() <= R})

    def decision(self, s, primal):
        return primal.R - (primal.c.norm_squared - 2 * primal.c.values + s.diagonal())


class SoftSphere(Formulation):
    """Mohri, Rostamizadeh and Talwalkar, Exercise 6.22(d), in the square R >= 0 of the radius."""

    task = Task.NOVELTY
    C: float = positive(default=1.0)

    def primal(self, s):
        c, R, xi = s.weight("c"), cp.Variable(name="R"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(R + self.C * cp.sum(xi)),
            {
                "alpha": c.norm_squared - 2 * c.values + s.diagonal() <= R + xi,
                "mu": xi >= 0,
                "rho": R >= 0,
            },
        )


class TestSpheres:
    def test_the_smallest_enclosing_sphere(self):
        """Mohri, Rostamizadeh and Talwalkar, Exercise 6.22(a)."""
        assert section(derivation(Sphere), "Dual") == [
            "max   sum_i k(x_i, x_i) alpha_i - sum_ij alpha_i alpha_j k(x_i, x_j)",
            "s.t.  sum_i alpha_i = 1  : R",
            "      alpha_i >= 0",
        ]
        assert "c = sum_i alpha_i phi(x_i)" in section(derivation(Sphere), "Recovery")
        assert_same_optimum(Sphere(), Hypersphere(), UNLABELLED)

    def test_the_centre_and_the_radius_are_bounded_by_the_points(self):
        """Mohri, Rostamizadeh and Talwalkar, Exercise 6.22(b): for a Gaussian kernel M = 1."""
        solution = solved(Sphere(), UNLABELLED)
        assert solution.primal.c.norm <= 1
        assert np.sqrt(solution.value) <= 2

    def test_the_soft_sphere_for_every_cost(self):
        """Mohri, Rostamizadeh and Talwalkar, Exercise 6.22(d), with the case C < 1/m that the exercise leaves out."""
        assert section(derivation(SoftSphere), "Dual") == [
            "max   sum_i k(x_i, x_i) alpha_i - ( sum_ij alpha_i alpha_j k(x_i, x_j) ) / ( sum_i alpha_i )",
            "s.t.  sum_i alpha_i <= 1  : R",
            "      alpha_i <= C        : xi_i",
            "      alpha_i >= 0",
        ]
        for C in (0.03, 0.2):
            derived = derivation(SoftSphere).machine(C=C)
            assert kopt.solve(derived, UNLABELLED, side="dual").value == pytest.approx(
                kopt.solve(SoftHypersphere(C=C), UNLABELLED).value, rel=VALUE
            )

    def test_the_soft_sphere_as_the_exercise_has_it(self):
        """Mohri, Rostamizadeh and Talwalkar, Exercise 6.22(d): for C >= 1/m the multipliers add up to 1."""
        alpha = solved(SoftSphere(C=0.2), UNLABELLED).dual.alpha
        assert np.sum(alpha) == pytest.approx(1, abs=1e-6)
        K = UNLABELLED.gram().dense
        assert solved(SoftSphere(C=0.2), UNLABELLED).value == pytest.approx(
            np.diag(K) @ alpha - alpha @ K @ alpha, rel=MAP
        )
        small = derivation(SoftSphere).machine(C=0.03)
        assert np.sum(kopt.solve(small, UNLABELLED, side="dual").dual.alpha) == pytest.approx(0.03 * 13, rel=MAP)


class TestClassifierKernel:
    """Mohri, Rostamizadeh and Talwalkar, Exercise 6.14: the kernel h(x) h(x') of a classifier h."""

    H = np.array([1.0, 1, -1, 1, -1])

    def test_the_solution_is_the_classifier(self):
        """Exercise 6.14(b): sum alpha = 1, ||w|| = 1, margin 1, offset 0."""
        solution = solved(Hard(), Sample.from_gram(np.outer(self.H, self.H), self.H))
        assert np.sum(solution.dual.alpha) == pytest.approx(1, abs=1e-6)
        assert solution.primal.w.norm == pytest.approx(1, abs=1e-6)
        assert solution.primal.b == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(solution.decision_function(np.outer(self.H, self.H)), self.H, atol=1e-6)

    def test_the_points_are_separable_only_where_the_labels_agree(self):
        """Exercise 6.14(b): one label that differs from h, beside another of the same value that does not."""
        y = np.array([1.0, -1, -1, 1, -1])
        with pytest.raises(kopt.Infeasible, match="no feasible point"):
            kopt.solve(derivation(Hard).machine(), Sample.from_gram(np.outer(self.H, self.H), y), side="dual")


def test_the_linear_kernel_of_the_hulls_is_the_one_of_the_machine():
    """A control: with other points the hulls have another distance."""
    moved = Sample(SEPARABLE.X + 0.5 * LABELS[:, None], LABELS, kernel=Linear())
    assert solved(Slab(), moved).value > (1 + DIFFERENT) * solved(Slab(), SEPARABLE).value
