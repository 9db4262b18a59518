"""The machines that predict a number: against scikit-learn, against closed forms, and against one another."""

import numpy as np
import pytest
from sklearn.svm import SVR, NuSVR

import kopt
from formulations.regression import (
    EpsilonInsensitive,
    EpsilonInsensitiveWithoutOffset,
    HardTube,
    LeastSquares,
    MinimumNormInterpolation,
    NuRegression,
    QuadraticEpsilonInsensitive,
    Ridge,
    RidgeInBall,
    RidgeWithOffset,
)
from formulations.regression.fits import least_squares_value, shortest_fit
from kopt import Sample, Task
from kopt.kernels import Gaussian, Linear, Polynomial, Scaled
from kopt.views import ProductView
from tests.instances import KERNELS, data
from tests.tolerances import CERTIFIED, CLAIM, DIFFERENT, LIBSVM, LINEAR_SYSTEM, MAP, MULTIPLIER, RAY, VALUE

every_kernel = pytest.mark.parametrize("kernel", list(KERNELS))
with_and_without_costs = pytest.mark.parametrize("costs", [False, True])
STOP = {"kernel": "precomputed", "tol": 1e-10, "shrinking": False}
n = 31


def drawn(kernel: str, seed: int, costs: bool = False, size: int = n):
    """A sample, new points, and the two Gram matrices."""
    rng = np.random.default_rng(seed)
    X, y = data(Task.REGRESSION, size, 1.0, rng)
    new, k = rng.standard_normal((13, 3)), KERNELS[kernel]
    return Sample(X, y, kernel=k, costs=rng.uniform(0.4, 2.5, size) if costs else None), new, k(X), k(new, X)


def assert_close(actual, expected, tolerance):
    assert np.max(np.abs(actual - expected)) <= tolerance * max(1.0, np.max(np.abs(expected)))


def close(x: float):
    return pytest.approx(x, rel=MAP)


def certified(formulation: kopt.Formulation, sample: Sample) -> kopt.Solution:
    solution = kopt.solve(formulation, sample)
    assert solution.certificate.holds(CERTIFIED)
    assert [claim for claim in solution.certificate.claims if not claim.holds(CLAIM)] == []
    return solution


class TestLeastSquares:
    @with_and_without_costs
    @pytest.mark.parametrize("kernel", ["linear", "polynomial"])
    def test_it_is_the_least_squares_of_numpy(self, kernel, costs):
        sample, new, _, _ = drawn(kernel, 1, costs)
        Phi, root = sample.gram().factor, np.sqrt(sample.costs)
        assert Phi.shape[1] < n
        z, left = np.linalg.lstsq(root[:, None] * Phi, root * sample.y, rcond=None)[:2]
        solution = certified(LeastSquares(), sample)
        assert solution.value == pytest.approx(left[0], rel=VALUE)
        assert solution.primal.w.norm == close(np.linalg.norm(z))
        assert_close(solution.primal.w.values, Phi @ z, LINEAR_SYSTEM)
        assert_close(solution.dual.beta, -2 * sample.costs * solution.primal.xi, MULTIPLIER)
        new_values = sample.gram().cross(new) @ sample.gram().coefficients(z)
        assert_close(solution.decision_function(new), new_values, LINEAR_SYSTEM)

    def test_costs_change_the_fit(self):
        weighted, new, _, _ = drawn("linear", 1, costs=True)
        plain = Sample(weighted.X, weighted.y)
        one, other = (certified(LeastSquares(), s).decision_function(new) for s in (weighted, plain))
        assert np.max(np.abs(one - other)) > DIFFERENT

    @pytest.mark.parametrize("kernel", ["gaussian", "linear"])
    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_independent_points_are_fitted_exactly(self, kernel, size):
        sample = drawn(kernel, 2, size=size)[0]
        solution = certified(LeastSquares(), sample)
        assert solution.value == 0
        assert not solution.dual.beta.any()
        assert_close(solution.primal.w.values, sample.y, LINEAR_SYSTEM)

    def test_points_at_the_origin_are_not_fitted_at_all(self):
        y = np.array([1.0, -2.0, 0.5])
        solution = certified(LeastSquares(), Sample(np.zeros((3, 2)), y))
        assert solution.value == pytest.approx(y @ y, rel=CERTIFIED)
        assert solution.primal.w.norm == 0

    @pytest.mark.parametrize("scale", [1e-6, 1e6])
    def test_the_scale_of_the_kernel_does_not_matter(self, scale):
        sample = drawn("polynomial", 3, costs=True)[0]
        scaled = Sample(sample.X, sample.y, kernel=Scaled(scale, KERNELS["polynomial"]), costs=sample.costs)
        assert certified(LeastSquares(), scaled).value == close(certified(LeastSquares(), sample).value)

    def test_the_dual_without_its_condition_is_refused(self):
        class Unconditional(LeastSquares):
            def dual(self, s):
                return kopt.Program(super().dual(s).objective)

        verdict = kopt.referee(Unconditional, instances=4)
        assert verdict.judgement is kopt.Judgement.WRONG
        assert [(fault.kind.name, fault.where) for fault in verdict.faults] == [("MISSING_CONSTRAINT", "w")]

    def test_a_dual_with_too_many_conditions_is_refused(self):
        class Centred(LeastSquares):
            def dual(self, s):
                declared = super().dual(s)
                [beta] = declared.objective.variables()
                return kopt.Program(declared.objective, domain=[*declared.domain, sum(beta) == 0])

        assert not kopt.referee(Centred, instances=4).accepts


class TestMinimumNormInterpolation:
    @pytest.mark.parametrize("kernel", ["gaussian", "sum"])
    def test_it_is_a_linear_system(self, kernel):
        sample, new, K, K_new = drawn(kernel, 4, size=11)
        solution = certified(MinimumNormInterpolation(), sample)
        alpha = np.linalg.solve(K, sample.y)
        assert solution.value == close(sample.y @ alpha / 2)
        assert_close(solution.primal.w.values, sample.y, LINEAR_SYSTEM)
        assert_close(solution.decision_function(new), K_new @ alpha, MAP)

    def test_it_is_the_limit_of_ridge_regression(self):
        sample, new, _, _ = drawn("sum", 4, size=11)
        exact = certified(MinimumNormInterpolation(), sample).decision_function(new)
        far, near = (
            np.max(np.abs(certified(Ridge(ridge=r), sample).decision_function(new) - exact)) for r in (1, 1e-5)
        )
        assert near <= 1e-3 * far

    def test_duplicated_points_with_equal_targets(self):
        X, y = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0])
        solution = certified(MinimumNormInterpolation(), Sample(X, y))
        assert_close(solution.primal.w.values, y, LINEAR_SYSTEM)

    @pytest.mark.parametrize("kernel", [Linear(), Gaussian(sigma=1.1)])
    def test_what_cannot_be_interpolated_is_refused_with_a_proof(self, kernel):
        X, y = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.5])
        sample = Sample(X, y, kernel=kernel)
        with pytest.raises(kopt.Infeasible, match="No function of this kernel takes these targets") as caught:
            kopt.solve(MinimumNormInterpolation(), sample)
        ray = caught.value.ray.alpha
        assert ray @ y == pytest.approx(1, rel=CERTIFIED)
        assert sample.gram().norm_squared(ray) <= RAY * np.sum(np.abs(ray)) ** 2


class TestRidgeInBall:
    @with_and_without_costs
    @every_kernel
    def test_lambda_is_the_ridge(self, kernel, costs):
        """B = ||w|| of ridge regression, whose ridge is then the multiplier of the ball."""
        sample, new, _, _ = drawn(kernel, 5, costs)
        ridge = certified(Ridge(ridge=0.7), sample)
        ball = certified(RidgeInBall(B=ridge.primal.w.norm), sample)
        assert ball.dual["lambda"] == close(0.7)
        assert_close(ball.decision_function(new), ridge.decision_function(new), MAP)
        assert ball.value == close(ridge.value - 0.7 * ridge.primal.w.norm_squared)
        assert_close(ball.dual.beta, ridge.dual.beta, MULTIPLIER)

    def test_a_smaller_ball_has_a_larger_ridge(self):
        sample = drawn("sum", 5)[0]
        ridges = [certified(RidgeInBall(B=B), sample).dual["lambda"] for B in (0.1, 0.3, 0.9, 2.7)]
        assert ridges == sorted(ridges, reverse=True)
        assert ridges[0] > (1 + DIFFERENT) * ridges[-1]

    @with_and_without_costs
    @pytest.mark.parametrize("kernel", ["linear", "polynomial"])
    def test_a_ball_that_does_not_bind_is_least_squares(self, kernel, costs):
        sample, new, _, _ = drawn(kernel, 6, costs)
        free = certified(LeastSquares(), sample)
        wide = certified(RidgeInBall(B=3 * free.primal.w.norm), sample)
        assert wide.value == pytest.approx(free.value, rel=VALUE)
        assert wide.dual["lambda"] <= CERTIFIED * np.max(np.abs(wide.dual.beta))
        assert wide.primal.w.norm == close(free.primal.w.norm)
        assert_close(wide.decision_function(new), free.decision_function(new), MAP)

    @pytest.mark.parametrize("part", [1 - 1e-4, 1 - 1e-7, 1.0, 1 + 1e-7, 1 + 1e-4])
    def test_a_ball_that_hardly_binds(self, part):
        sample = drawn("linear", 6, costs=True)[0]
        free = certified(LeastSquares(), sample)
        tight = certified(RidgeInBall(B=part * free.primal.w.norm), sample)
        assert tight.value == pytest.approx(free.value, rel=1e-4)
        assert tight.primal.w.norm <= part * free.primal.w.norm * (1 + CERTIFIED)

    def test_any_multipliers_give_a_point_in_the_ball(self):
        sample = drawn("polynomial", 7)[0]
        view, rng = ProductView(sample), np.random.default_rng(0)
        for beta in (np.zeros(n), rng.standard_normal(n), 1e-9 * rng.standard_normal(n)):
            w = RidgeInBall(B=0.2).recover(view, kopt.Point({"beta": beta}))["w"]
            assert w.norm <= 0.2 * (1 + CERTIFIED)


class TestRidgeWithOffset:
    @with_and_without_costs
    @every_kernel
    def test_it_is_a_bordered_system(self, kernel, costs):
        sample, new, K, K_new = drawn(kernel, 8, costs)
        system = np.block([[K + 0.8 * np.diag(1 / sample.costs), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        alpha, b = np.split(np.linalg.solve(system, np.append(sample.y, 0.0)), [n])
        solution = certified(RidgeWithOffset(ridge=0.8), sample)
        assert solution.value == pytest.approx(0.8 * sample.y @ alpha, rel=VALUE)
        assert solution.primal.b == pytest.approx(b[0], abs=LINEAR_SYSTEM * np.max(np.abs(sample.y)))
        assert_close(solution.decision_function(new), K_new @ alpha + b, LINEAR_SYSTEM)

    def test_a_shift_of_the_targets_moves_the_offset_alone(self):
        sample = drawn("sum", 8, costs=True)[0]
        shifted = Sample(sample.X, sample.y + 5, kernel=KERNELS["sum"], costs=sample.costs)
        one, other = (certified(RidgeWithOffset(ridge=0.8), s) for s in (sample, shifted))
        assert other.primal.b - one.primal.b == close(5)
        assert (other.primal.w - one.primal.w).norm <= MULTIPLIER * one.primal.w.norm
        without = certified(Ridge(ridge=0.8), shifted)
        assert without.value > (1 + DIFFERENT) * other.value

    @with_and_without_costs
    def test_it_is_the_quadratic_machine_without_a_tube(self, costs):
        sample, new, _, _ = drawn("sum", 8, costs)
        ridge = certified(RidgeWithOffset(ridge=0.4), sample)
        quadratic = certified(QuadraticEpsilonInsensitive(C=1 / 0.4, epsilon=0.0), sample)
        assert quadratic.value == close(ridge.value / 0.4)
        assert_close(quadratic.decision_function(new), ridge.decision_function(new), MAP)
        tube = certified(QuadraticEpsilonInsensitive(C=1 / 0.4, epsilon=0.4), sample)
        assert np.max(np.abs(tube.decision_function(new) - ridge.decision_function(new))) > DIFFERENT


class TestQuadraticEpsilonInsensitive:
    @pytest.mark.parametrize("epsilon", [0.05, 0.3])
    @with_and_without_costs
    @every_kernel
    def test_the_multipliers_are_the_slacks(self, kernel, costs, epsilon):
        sample = drawn(kernel, 9, costs)[0]
        solution = certified(QuadraticEpsilonInsensitive(C=1.7, epsilon=epsilon), sample)
        r = sample.y - solution.primal.w.values - solution.primal.b
        beta = (solution.dual.alpha_hat - solution.dual.alpha) / 2
        expected = 1.7 * sample.costs * np.sign(r) * np.maximum(0, np.abs(r) - epsilon)
        assert_close(beta, expected, MULTIPLIER)
        assert 0 < np.sum(np.abs(r) < epsilon) < n
        assert (solution.primal.w - sample_combination(sample, beta)).norm <= MULTIPLIER * solution.primal.w.norm

    def test_it_is_the_linear_machine_on_a_shifted_kernel(self):
        """beta maximises y' beta - epsilon |beta| - 1/2 beta' (K + I / C) beta with sum beta = 0: Algorithm 7.45."""
        sample, _, K, _ = drawn("sum", 9)
        quadratic = certified(QuadraticEpsilonInsensitive(C=1.7, epsilon=0.2), sample)
        shifted = Sample.from_gram(K + np.eye(n) / 1.7, sample.y)
        linear = certified(EpsilonInsensitive(C=1e3, epsilon=0.2), shifted)
        assert quadratic.value == close(2 * linear.value)
        beta = (quadratic.dual.alpha_hat - quadratic.dual.alpha) / 2
        assert_close(beta, linear.dual.alpha_hat - linear.dual.alpha, MULTIPLIER)


def sample_combination(sample: Sample, beta: np.ndarray) -> kopt.Combination:
    return ProductView(sample).combination(beta)


class TestNuRegression:
    @pytest.mark.parametrize(("C", "nu"), [(3.0, 0.2), (20.0, 0.45), (9.0, 0.9)])
    @every_kernel
    def test_scikit_learn(self, kernel, C, nu):
        """Its C is that of the text divided by the number of points; compared where kernel values are not large."""
        sample, _, K, _ = drawn(kernel, 10)
        theirs = NuSVR(C=C / n, nu=nu, **STOP).fit(K, sample.y)
        ours = certified(NuRegression(C=C, nu=nu), sample)
        assert_close(ours.primal.w.values + ours.primal.b, theirs.predict(K), LIBSVM)
        other = NuSVR(C=2 * C / n, nu=nu, **STOP).fit(K, sample.y)
        assert np.max(np.abs(other.predict(K) - theirs.predict(K))) > 10 * LIBSVM

    @pytest.mark.parametrize("nu", [0.2, 0.45])
    @with_and_without_costs
    @every_kernel
    def test_it_is_the_linear_machine_with_the_epsilon_found(self, kernel, costs, nu):
        sample = drawn(kernel, 11, costs)[0]
        ours = certified(NuRegression(C=12.0, nu=nu), sample)
        assert ours.primal.epsilon > DIFFERENT
        given = certified(EpsilonInsensitive(C=12.0 / n, epsilon=ours.primal.epsilon), sample)
        assert (ours.primal.w - given.primal.w).norm <= MULTIPLIER * given.primal.w.norm
        assert ours.value == close(given.value + 12.0 * nu * ours.primal.epsilon)
        assert np.sum(ours.dual.alpha + ours.dual.alpha_hat) == close(12.0 * nu)

    @pytest.mark.parametrize("nu", [0.2, 0.45, 0.7])
    def test_nu_bounds_the_points_outside_the_tube(self, nu):
        sample = drawn("sum", 11)[0]
        solution = certified(NuRegression(C=12.0, nu=nu), sample)
        excess = np.abs(sample.y - solution.primal.w.values - solution.primal.b) - solution.primal.epsilon
        outside, at_least = np.sum(excess > MAP), np.sum(excess > -MAP)
        assert outside <= nu * n <= at_least
        assert outside < at_least

    def test_costs_of_a_nu_machine_are_repetitions_for_another_nu(self):
        rng = np.random.default_rng(12)
        X, y = data(Task.REGRESSION, 17, 1.0, rng)
        times = rng.integers(1, 4, 17)
        weighted = Sample(X, y, kernel=KERNELS["sum"], costs=times)
        repeated = Sample(np.repeat(X, times, axis=0), np.repeat(y, times), kernel=KERNELS["sum"])
        part = times.sum() / 17
        one = certified(NuRegression(C=8.0, nu=0.4), weighted)
        other = certified(NuRegression(C=8.0 * part, nu=0.4 / part), repeated)
        plain = certified(NuRegression(C=8.0, nu=0.4), Sample(X, y, kernel=KERNELS["sum"]))
        assert other.value == close(one.value)
        assert abs(plain.value - one.value) > DIFFERENT * one.value
        new = rng.standard_normal((9, 3))
        assert_close(other.decision_function(new), one.decision_function(new), MULTIPLIER)

    @pytest.mark.parametrize("nu", [0.6, 1.0])
    def test_beyond_the_mean_cost_the_tube_is_closed(self, nu):
        sample = drawn("sum", 13)[0]
        cheap = Sample(sample.X, sample.y, kernel=KERNELS["sum"], costs=np.full(n, 0.5))
        solution = certified(NuRegression(C=4.0, nu=nu), cheap)
        assert solution.primal.epsilon == 0
        closed = certified(EpsilonInsensitive(C=4.0 / n, epsilon=0.0), cheap)
        assert solution.value == close(closed.value)

    @pytest.mark.parametrize("nu", [0.3, 1.0])
    def test_any_multipliers_give_the_best_tube(self, nu):
        """The order statistics against every pair of walls among the errors."""
        sample = drawn("sum", 14, costs=True, size=9)[0]
        beta, view, machine = np.random.default_rng(1).standard_normal(9), ProductView(sample), NuRegression(nu=nu)
        dual = kopt.Point({"alpha": np.maximum(0, -beta), "alpha_hat": np.maximum(0, beta)})
        point = machine.recover(view, dual)
        errors = sample.y - point["w"].values

        def price(b, epsilon):
            return nu * epsilon + sample.costs @ np.maximum(0, np.abs(errors - b) - epsilon) / 9

        walls = [((p + q) / 2, abs(p - q) / 2) for p in errors for q in errors]
        assert price(point["b"], point["epsilon"]) == pytest.approx(min(price(*wall) for wall in walls), rel=CERTIFIED)


class TestTubesWithoutOffset:
    @pytest.mark.parametrize(("C", "epsilon"), [(0.3, 0.05), (2.5, 0.21)])
    @with_and_without_costs
    @every_kernel
    def test_a_large_constant_kernel_is_an_offset(self, kernel, costs, C, epsilon):
        """With k + s the offset is sqrt(s) times a weight that costs b^2 / (2 s): nothing as s grows."""
        sample, _, K, _ = drawn(kernel, 15, costs)
        machine = EpsilonInsensitiveWithoutOffset(C=C, epsilon=epsilon)
        through_origin = certified(machine, sample)
        with_constant = certified(machine, Sample.from_gram(K + 1e5, sample.y, costs=sample.costs))
        offset = certified(EpsilonInsensitive(C=C, epsilon=epsilon), sample)
        assert with_constant.value == pytest.approx(offset.value, rel=1e-4)
        assert through_origin.value > offset.value * (1 + 1e-4)

    def test_scikit_learn_with_balanced_targets(self):
        """Points x and -x with targets y and -y: the best offset is 0, so that SVR finds the same function."""
        rng = np.random.default_rng(16)
        half = rng.standard_normal((9, 3))
        X, y = np.vstack([half, -half]), np.sin(half[:, 0]) + 0.3 * rng.standard_normal(9)
        sample = Sample(X, np.append(y, -y), kernel=Linear() + 0.2 * Polynomial(degree=3, R=0.0))
        K = sample.gram().dense
        theirs = SVR(C=0.6, epsilon=0.1, **STOP).fit(K, sample.y)
        ours = certified(EpsilonInsensitiveWithoutOffset(C=0.6, epsilon=0.1), sample)
        assert abs(theirs.intercept_[0]) <= LIBSVM
        assert_close(ours.primal.w.values, theirs.predict(K), LIBSVM)

    def test_the_on_line_algorithm_finds_both(self):
        """Algorithm 7.61 with steps divided by k(x, x): clipped to [-C, C], and as printed."""
        X = np.linspace(-2, 2, 9)[:, None]
        sample = Sample(X, np.sin(1.5 * X[:, 0]) + 0.4, kernel=2.0 * Gaussian(sigma=0.3))
        clipped, printed = ascended(sample, 0.1, C=0.15), ascended(sample, 0.1, C=np.inf)
        soft = certified(EpsilonInsensitiveWithoutOffset(C=0.15, epsilon=0.1), sample)
        hard = certified(HardTube(epsilon=0.1), sample)
        assert_close(soft.dual.alpha_hat - soft.dual.alpha, clipped, MULTIPLIER)
        assert_close(hard.dual.alpha_hat - hard.dual.alpha, printed, MULTIPLIER)
        assert np.max(np.abs(printed)) > 0.15 + DIFFERENT

    def test_a_wide_box_is_a_hard_tube(self):
        sample = Sample(*hard_data(), kernel=KERNELS["sum"])
        hard = certified(HardTube(epsilon=0.2), sample)
        largest = np.max(hard.dual.alpha + hard.dual.alpha_hat)
        wide, narrow = (
            certified(EpsilonInsensitiveWithoutOffset(C=part * largest, epsilon=0.2), sample) for part in (1.1, 0.3)
        )
        assert wide.value == close(hard.value)
        assert narrow.value < hard.value * (1 - DIFFERENT)

    def test_a_hard_tube_of_no_width_interpolates(self):
        sample = Sample(*hard_data(), kernel=KERNELS["sum"])
        closed = certified(HardTube(epsilon=0.0), sample)
        assert closed.value == close(certified(MinimumNormInterpolation(), sample).value)
        assert closed.value > (1 + DIFFERENT) * certified(HardTube(epsilon=0.1), sample).value

    def test_any_multipliers_give_a_point_in_the_tube(self):
        rng = np.random.default_rng(2)
        for formulation, sample in (next(HardTube.instances(rng)) for _ in range(12)):
            alpha, alpha_hat = rng.exponential(size=(2, sample.n))
            w = formulation.recover(ProductView(sample), kopt.Point({"alpha": alpha, "alpha_hat": alpha_hat}))["w"]
            assert np.max(np.abs(sample.y - w.values)) <= formulation.epsilon + CERTIFIED * np.max(np.abs(sample.y))

    def test_a_tube_that_is_too_narrow_is_refused_with_a_proof(self):
        """Two equal points with targets 1 and 1.5: no function comes nearer than 0.25 to both."""
        X, y = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.5])
        with pytest.raises(kopt.Infeasible, match=r"within epsilon = 0\.2 of the targets") as caught:
            kopt.solve(HardTube(epsilon=0.2), Sample(X, y))
        assert "epsilon >= 0.25 " in caught.value.remedy
        ray = caught.value.ray
        beta = ray.alpha_hat - ray.alpha
        assert beta @ y - 0.2 * np.sum(ray.alpha_hat + ray.alpha) == pytest.approx(1, rel=MAP)
        assert Sample(X, y).gram().norm_squared(beta) <= RAY * np.sum(np.abs(beta)) ** 2
        assert certified(HardTube(epsilon=0.26), Sample(X, y)).value > 0


def hard_data() -> tuple[np.ndarray, np.ndarray]:
    return data(Task.REGRESSION, 9, 1.0, np.random.default_rng(17))


def ascended(sample: Sample, epsilon: float, C: float) -> np.ndarray:
    """Coordinate ascent: the soft threshold of what is left of y_i, divided by k_ii, and clipped."""
    K, beta = sample.gram().dense, np.zeros(sample.n)
    for _ in range(3000):
        for i in range(sample.n):
            left = sample.y[i] - K[i] @ beta + K[i, i] * beta[i]
            beta[i] = np.clip(np.sign(left) * max(0.0, abs(left) - epsilon) / K[i, i], -C, C)
    return beta


WITH_COSTS = [
    LeastSquares(),
    RidgeInBall(B=0.4),
    RidgeWithOffset(ridge=0.6),
    QuadraticEpsilonInsensitive(C=1.3, epsilon=0.15),
    EpsilonInsensitiveWithoutOffset(C=0.8, epsilon=0.15),
]


@pytest.mark.parametrize("formulation", WITH_COSTS, ids=repr)
def test_costs_are_repetitions(formulation):
    rng = np.random.default_rng(18)
    X, y = data(Task.REGRESSION, 17, 1.0, rng)
    times = rng.integers(1, 4, 17)
    kernel = KERNELS["polynomial"]
    one = certified(formulation, Sample(X, y, kernel=kernel, costs=times))
    other = certified(formulation, Sample(np.repeat(X, times, axis=0), np.repeat(y, times), kernel=kernel))
    plain = certified(formulation, Sample(X, y, kernel=kernel))
    assert other.value == close(one.value)
    assert abs(plain.value - one.value) > DIFFERENT * one.value
    new = rng.standard_normal((9, 3))
    assert_close(other.decision_function(new), one.decision_function(new), MULTIPLIER)


# How parameters and the value change when K becomes s K and the function stays: by the power s^e.
POWERS = {
    RidgeInBall(B=0.4): ({"B": -0.5}, 0),
    RidgeWithOffset(ridge=0.6): ({"ridge": 1}, 0),
    QuadraticEpsilonInsensitive(C=1.3, epsilon=0.15): ({"C": -1, "epsilon": 0}, -1),
    NuRegression(C=5.0, nu=0.4): ({"C": -1, "nu": 0}, -1),
    EpsilonInsensitiveWithoutOffset(C=0.8, epsilon=0.15): ({"C": -1, "epsilon": 0}, -1),
    HardTube(epsilon=0.3): ({"epsilon": 0}, -1),
    MinimumNormInterpolation(): ({}, -1),
}


@pytest.mark.parametrize("s", [1e-6, 1e6])
@pytest.mark.parametrize("formulation", POWERS, ids=repr)
def test_the_kernel_in_other_units(formulation, s):
    X, y = data(Task.REGRESSION, 11, 1.0, np.random.default_rng(19))
    powers, of_value = POWERS[formulation]
    scaled = type(formulation)(**{key: getattr(formulation, key) * s**power for key, power in powers.items()})
    one = certified(formulation, Sample(X, y, kernel=KERNELS["sum"]))
    other = certified(scaled, Sample(X, y, kernel=Scaled(s, KERNELS["sum"])))
    assert other.value / s**of_value == close(one.value)
    new = np.random.default_rng(20).standard_normal((9, 3))
    assert_close(other.decision_function(new), one.decision_function(new), MULTIPLIER)


class TestFits:
    def test_the_shortest_fit_is_that_of_the_pseudo_inverse(self):
        sample = drawn("polynomial", 21)[0]
        targets, K = np.random.default_rng(3).standard_normal(n), sample.gram().dense
        w = shortest_fit(ProductView(sample), targets)
        assert_close(w.values, K @ np.linalg.pinv(K, rcond=1e-10) @ targets, LINEAR_SYSTEM)
        assert w.norm_squared == close(targets @ np.linalg.pinv(K, rcond=1e-10) @ targets)

    def test_the_least_squares_value(self):
        sample = drawn("linear", 21)[0]
        P = sample.gram().factor @ np.linalg.pinv(sample.gram().factor)
        value = least_squares_value(ProductView(sample), sample.y, np.ones(n))
        assert value == pytest.approx(sample.y @ (np.eye(n) - P) @ sample.y, rel=LINEAR_SYSTEM)

    def test_no_points_span_nothing(self):
        view = ProductView(Sample(np.zeros((3, 2)), [1.0, 2.0, 3.0]))
        assert shortest_fit(view, view.y).norm == 0
        assert least_squares_value(view, view.y, np.ones(3)) == pytest.approx(14)
