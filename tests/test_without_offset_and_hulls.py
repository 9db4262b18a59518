"""Machines without offset, and the convex hulls: against closed forms, scikit-learn, an algorithm and one another."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.svm import SVC, LinearSVC, NuSVC

import kopt
from formulations.classification import (
    ConvexHulls,
    HardMargin,
    HardMarginWithoutOffset,
    NuSoftMargin,
    ReducedConvexHulls,
    SoftMargin,
    SoftMarginWithoutOffset,
    TwoNormSoftMarginWithoutOffset,
    UnitHardMargin,
    UnitSoftMargin,
)
from kopt import Sample, Task
from kopt.kernels import Gaussian, Linear, Scaled
from tests.instances import KERNELS, data, parameters
from tests.tolerances import (
    CERTIFIED,
    CLAIM,
    DIFFERENT,
    LIBSVM,
    MAP,
    MULTIPLIER,
    RAY,
    VALUE,
    WEIGHT,
)

every_kernel = pytest.mark.parametrize("kernel", list(KERNELS))
n = 31


def close(x: float):
    return pytest.approx(x, rel=MAP)


@cache
def overlapping(kernel: str, costs: bool = False, overlap: float = 1.0) -> Sample:
    """Classes that overlap; with half the overlap, hulls reduced by D <= 0.2 are apart for every kernel."""
    rng = np.random.default_rng(3)
    X, y = data(Task.CLASSIFICATION, n, overlap, rng)
    return Sample(X, y, kernel=KERNELS[kernel], costs=rng.uniform(0.4, 2.5, n) if costs else None)


@cache
def apart(kernel: str) -> Sample:
    X, y = data(Task.CLASSIFICATION, n, 0.0, np.random.default_rng(8))
    return Sample(X, y, kernel=KERNELS[kernel])


@cache
def apart_through_the_origin(kernel: str) -> Sample:
    """Classes on either side of a hyperplane through the origin, and a little apart."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 3)) * [1.0, 1.4, 0.6] + [0.2, 0.5, 0.3]
    direction = np.array([0.8, 0.6, 0.0])
    y = np.where(X @ direction > 0, 1.0, -1.0)
    return Sample(X + 0.2 * y[:, None] * direction, y, kernel=KERNELS[kernel])


def new_points() -> np.ndarray:
    return np.random.default_rng(17).standard_normal((13, 3))


def signed(sample: Sample) -> np.ndarray:
    """The Gram matrix of the points y_i phi(x_i)."""
    return sample.gram().dense * np.outer(sample.y, sample.y)


def adatron(
    G: np.ndarray, most: np.ndarray | float = np.inf, steps: np.ndarray | None = None, sweeps: int = 100_000
) -> np.ndarray:
    """Algorithm 7.59, each step divided by k(x_i, x_i) unless steps are given, and clipped at `most`."""
    alpha = np.zeros(len(G))
    most = np.broadcast_to(most, len(G))
    steps = 1 / np.diag(G) if steps is None else steps
    for _ in range(sweeps):
        before = alpha.copy()
        for i in range(len(G)):
            alpha[i] = np.clip(alpha[i] + steps[i] * (1 - G[i] @ alpha), 0.0, most[i])
        if np.max(np.abs(alpha - before)) <= 1e-13 * np.max(alpha) or not np.max(alpha) < 1e9:
            break
    return alpha


class TestKernelAdatron:
    @pytest.mark.parametrize("kernel", ["linear", "sum"])
    def test_it_reaches_the_hard_margin(self, kernel):
        sample = apart_through_the_origin(kernel)
        alpha = adatron(signed(sample))
        certificate = kopt.verify(HardMarginWithoutOffset(), sample, {"alpha": alpha})
        assert certificate.holds(CERTIFIED)
        solution = kopt.solve(HardMarginWithoutOffset(), sample)
        assert np.sum(alpha) / 2 == pytest.approx(solution.value, rel=VALUE)
        np.testing.assert_allclose(solution.dual.alpha, alpha, atol=MULTIPLIER * np.max(alpha))

    @pytest.mark.parametrize("costs", [False, True])
    @pytest.mark.parametrize("kernel", ["linear", "gaussian", "sum"])
    def test_clipped_it_reaches_the_soft_margin(self, kernel, costs):
        sample = overlapping(kernel, costs)
        alpha = adatron(signed(sample), most=0.7 * sample.costs)
        assert kopt.verify(SoftMarginWithoutOffset(C=0.7), sample, {"alpha": alpha}).holds(CERTIFIED)

    @pytest.mark.parametrize("costs", [False, True])
    @every_kernel
    def test_with_a_diagonal_it_reaches_the_two_norm_soft_margin(self, kernel, costs):
        sample = overlapping(kernel, costs)
        alpha = adatron(signed(sample) + np.diag(1 / (0.7 * sample.costs)))
        assert kopt.verify(TwoNormSoftMarginWithoutOffset(C=0.7), sample, {"alpha": alpha}).holds(CERTIFIED)

    def test_with_the_printed_steps_it_fails_where_the_kernel_is_not_normalised(self):
        sample = apart_through_the_origin("linear")
        own, printed = (adatron(signed(sample), steps=steps, sweeps=3000) for steps in (None, np.ones(n)))
        assert kopt.verify(HardMarginWithoutOffset(), sample, {"alpha": own}).holds(CERTIFIED)
        assert not kopt.verify(HardMarginWithoutOffset(), sample, {"alpha": printed}).holds(CERTIFIED)


def nearest_to_0(points: np.ndarray) -> np.ndarray:
    """The weights of the point of the convex hull of the rows that is nearest to 0, by non-negative least squares.

    The least of ||points' z||^2 + (sum z - 1)^2 over z >= 0 is a multiple of it.
    """
    z = nnls(np.vstack([points.T, np.ones(len(points))]), np.append(np.zeros(points.shape[1]), 1.0))[0]
    return z / np.sum(z)


class TestWithoutOffset:
    @every_kernel
    def test_the_margin_is_the_distance_of_the_hull_from_0(self, kernel):
        sample = apart_through_the_origin(kernel)
        points = sample.y[:, None] * sample.gram().factor
        distance = np.linalg.norm(points.T @ nearest_to_0(points))
        solution = kopt.solve(HardMarginWithoutOffset(), sample)
        assert 1 / solution.primal.w.norm == close(distance)
        assert solution.value == close(1 / (2 * distance**2))

    @every_kernel
    def test_a_constant_feature_pays_for_the_offset(self, kernel):
        """With k + t for large t the offset is all but free: the machine without offset tends to the one with it."""
        sample = overlapping(kernel)
        with_offset = kopt.solve(SoftMargin(C=0.6), sample)
        differences = []
        for t in (1e2, 1e4):
            lifted = Sample.from_gram(sample.gram().dense + t, sample.y)
            differences.append(with_offset.value - kopt.solve(SoftMarginWithoutOffset(C=0.6), lifted).value)
        # The offset costs b^2 / (2 t), to first order.
        assert -differences[0] == pytest.approx(with_offset.primal.b**2 / 2e2, rel=0.1)
        assert -differences[1] == pytest.approx(with_offset.primal.b**2 / 2e4, rel=0.1, abs=VALUE * with_offset.value)

    @pytest.mark.parametrize("C", [0.05, 1.3])
    @pytest.mark.parametrize("costs", [False, True])
    def test_liblinear_with_the_hinge_loss(self, costs, C):
        sample = overlapping("linear", costs)
        theirs = LinearSVC(C=C, loss="hinge", dual=True, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
        theirs.fit(sample.X, sample.y, sample_weight=sample.costs)
        f = theirs.decision_function(new_points())
        ours = kopt.solve(SoftMarginWithoutOffset(C=C), sample).decision_function(new_points())
        np.testing.assert_allclose(ours, f, atol=LIBSVM * max(1.0, np.max(np.abs(f))))

    @pytest.mark.parametrize("C", [0.05, 1.3])
    @pytest.mark.parametrize("costs", [False, True])
    def test_liblinear_with_the_squared_hinge_loss(self, costs, C):
        """Its penalty is C sum xi^2, twice the one here."""
        sample = overlapping("linear", costs)
        theirs = LinearSVC(C=C / 2, loss="squared_hinge", dual=True, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
        theirs.fit(sample.X, sample.y, sample_weight=sample.costs)
        f = theirs.decision_function(new_points())
        ours = kopt.solve(TwoNormSoftMarginWithoutOffset(C=C), sample).decision_function(new_points())
        np.testing.assert_allclose(ours, f, atol=LIBSVM * max(1.0, np.max(np.abs(f))))

    def test_it_is_another_machine_than_the_one_with_an_offset(self):
        sample = overlapping("gaussian")
        theirs = SVC(C=0.9, kernel="precomputed", tol=1e-10).fit(sample.gram().dense, sample.y)
        f = theirs.decision_function(KERNELS["gaussian"](new_points(), sample.X))
        ours = kopt.solve(SoftMarginWithoutOffset(C=0.9), sample).decision_function(new_points())
        assert np.max(np.abs(ours - f)) > DIFFERENT

    @every_kernel
    def test_a_wide_box_is_a_hard_margin(self, kernel):
        sample = apart_through_the_origin(kernel)
        hard = kopt.solve(HardMarginWithoutOffset(), sample)
        wide = 1.1 * float(np.max(hard.dual.alpha))
        assert kopt.solve(SoftMarginWithoutOffset(C=wide), sample).value == pytest.approx(hard.value, rel=VALUE)
        narrow = 0.3 * float(np.max(hard.dual.alpha))
        assert kopt.solve(SoftMarginWithoutOffset(C=narrow), sample).value < hard.value * (1 - MAP)

    @pytest.mark.parametrize("costs", [False, True])
    @every_kernel
    def test_the_two_norm_is_a_hard_margin_of_a_shifted_kernel(self, kernel, costs):
        sample = overlapping(kernel, costs)
        shifted = Sample.from_gram(sample.gram().dense + np.diag(1 / (0.4 * sample.costs)), sample.y)
        two_norm = kopt.solve(TwoNormSoftMarginWithoutOffset(C=0.4), sample)
        hard = kopt.solve(HardMarginWithoutOffset(), shifted)
        assert two_norm.value == pytest.approx(hard.value, rel=VALUE)
        np.testing.assert_allclose(two_norm.dual.alpha, hard.dual.alpha, atol=MULTIPLIER * np.max(hard.dual.alpha))

    def test_the_text_s_first_form_is_the_problem_divided_by_lambda(self):
        sample = overlapping("sum")
        solution = kopt.solve(SoftMarginWithoutOffset(C=0.35), sample)
        hinge = np.sum(np.maximum(0.0, 1 - sample.y * solution.primal.w.values))
        assert hinge + solution.primal.w.norm_squared / (2 * 0.35) == pytest.approx(solution.value / 0.35, rel=VALUE)

    def test_a_small_penalty_puts_every_multiplier_at_its_bound(self):
        """Closed form: where C sum_j k(x_i, x_j) <= 1 for all i, alpha = C and w = C sum_i y_i phi(x_i)."""
        sample = overlapping("gaussian")
        C = 0.9 / float(np.max(sample.gram().dense.sum(axis=1)))
        solution = kopt.solve(SoftMarginWithoutOffset(C=C), sample)
        np.testing.assert_allclose(solution.dual.alpha, C, rtol=CERTIFIED)
        assert solution.value == pytest.approx(C * n - C**2 / 2 * np.sum(signed(sample)), rel=VALUE)

    @pytest.mark.parametrize("cls", [SoftMarginWithoutOffset, TwoNormSoftMarginWithoutOffset])
    @every_kernel
    def test_costs_are_repetitions(self, cls, kernel):
        sample = overlapping(kernel)
        times = np.random.default_rng(3).integers(1, 4, n)
        weighted = Sample(sample.X, sample.y, kernel=KERNELS[kernel], costs=times)
        repeated = Sample(np.repeat(sample.X, times, axis=0), np.repeat(sample.y, times), kernel=KERNELS[kernel])
        one, other = kopt.solve(cls(C=0.4), weighted), kopt.solve(cls(C=0.4), repeated)
        assert one.value == pytest.approx(other.value, rel=VALUE)
        assert abs(one.value - kopt.solve(cls(C=0.4), sample).value) > DIFFERENT * one.value


class TestNotSeparableThroughTheOrigin:
    def refusal(self, sample: Sample) -> kopt.Infeasible:
        with pytest.raises(kopt.Infeasible, match="hyperplane through the origin") as caught:
            kopt.solve(HardMarginWithoutOffset(), sample)
        ray = caught.value.ray.alpha
        assert np.min(ray) >= 0
        assert sample.gram().norm_squared(ray * sample.y) <= RAY * ray.sum() ** 2 * np.max(sample.gram().diagonal)
        return caught.value

    def test_classes_on_one_side_of_the_origin(self):
        """An offset would separate them; the weights by hand: 0 = 2/3 (+1) x_1 + 1/3 (-1) x_2 with x = 1 and 2."""
        sample = Sample([[1.0], [2.0]], [1, -1])
        error = self.refusal(sample)
        assert "0.667 y_0 x_0, 0.333 y_1 x_1" in error.what
        assert "offset" in error.remedy
        assert kopt.solve(HardMargin(), sample).certificate.holds(CERTIFIED)

    def test_a_point_at_the_origin(self):
        error = self.refusal(Sample([[1.0, 0.5], [0.0, 0.0], [-1.0, 0.3]], [1, 1, -1]))
        assert "1 y_1 x_1 " in error.what

    def test_all_points_at_the_origin(self):
        with pytest.raises(kopt.Infeasible, match="hyperplane through the origin"):
            kopt.solve(HardMarginWithoutOffset(), Sample(np.zeros((5, 2)), [1, -1, 1, -1, -1]))

    def test_a_point_and_its_duplicate_in_the_other_class(self):
        sample = apart_through_the_origin("gaussian")
        twins = Sample(np.vstack([sample.X, sample.X[:1]]), np.append(sample.y, -sample.y[0]), kernel=Gaussian(1.3))
        self.refusal(twins)

    def test_multipliers_that_do_not_separate_give_no_upper_bound(self):
        sample = apart_through_the_origin("linear")
        worst = int(np.argmin(sample.X[:, 0] * sample.y))
        bounds = kopt.verify(HardMarginWithoutOffset(), sample, {"alpha": np.eye(n)[worst]}).bounds
        assert bounds.upper == np.inf
        assert bounds.lower <= kopt.solve(HardMarginWithoutOffset(), sample).value


def distance_of_hulls(sample: Sample) -> float:
    """The points y_i phi(x_i) with one more coordinate N y_i: for large N both classes must have the same weight."""
    points = sample.y[:, None] * sample.gram().factor
    c = 2 * nearest_to_0(np.column_stack([points, 1e4 * np.linalg.norm(points) * sample.y]))
    return float(np.linalg.norm(points.T @ c))


def closest_points(solution: kopt.Solution) -> tuple[kopt.Combination, kopt.Combination]:
    gram, y, c = solution.sample.gram(), solution.sample.y, solution.dual.c
    return kopt.Combination(gram, c * (y > 0)), kopt.Combination(gram, c * (y < 0))


@every_kernel
class TestConvexHulls:
    def test_the_optimum_is_the_squared_distance(self, kernel):
        sample = apart(kernel)
        solution = kopt.solve(ConvexHulls(), sample)
        assert np.sqrt(solution.value) == close(distance_of_hulls(sample))

    def test_it_is_the_hard_margin_machine(self, kernel):
        """w = 2 (p - q) / d^2, b = (||q||^2 - ||p||^2) / d^2, alpha = 2 c / d^2, gamma = d / 2."""
        sample = apart(kernel)
        hulls, hard = kopt.solve(ConvexHulls(), sample), kopt.solve(HardMargin(), sample)
        (p, q), d2 = closest_points(hulls), hulls.value
        assert 2 / np.sqrt(d2) == close(hard.primal.w.norm)
        assert (2 / d2 * (p - q) - hard.primal.w).norm <= WEIGHT * hard.primal.w.norm
        offset = (q.norm_squared - p.norm_squared) / d2
        assert offset == pytest.approx(hard.primal.b, abs=MAP * max(1.0, abs(hard.primal.b)))
        assert kopt.verify(HardMargin(), sample, {"alpha": 2 * hulls.dual.c / d2}).holds(MAP)
        f = hard.decision_function(new_points())
        np.testing.assert_allclose(hulls.decision_function(new_points()) / d2, f, atol=MAP * np.max(np.abs(f)))
        assert set(hulls.certificate.support_vectors) == set(hard.certificate.support_vectors)

    def test_the_unit_margin_is_half_the_distance(self, kernel):
        sample = apart(kernel)
        unit, hulls = kopt.solve(UnitHardMargin(), sample), kopt.solve(ConvexHulls(), sample)
        assert 2 * unit.value == close(np.sqrt(hulls.value))
        assert kopt.verify(ConvexHulls(), sample, {"c": 2 * unit.dual.alpha}).holds(MAP)

    def test_it_predicts_the_classes(self, kernel):
        sample = apart(kernel)
        assert (kopt.solve(ConvexHulls(), sample).predict(sample.X) == sample.y).all()

    def test_hulls_that_meet_have_distance_0(self, kernel):
        sample = overlapping(kernel)
        X, y = np.vstack([sample.X, sample.X[:1]]), np.append(sample.y, -sample.y[0])
        solution = kopt.solve(ConvexHulls(), Sample(X, y, kernel=KERNELS[kernel]))
        assert solution.certificate.holds(CERTIFIED)
        size = np.max(sample.gram().diagonal)
        assert 0 <= solution.value <= CERTIFIED * size
        assert solution.primal.w.norm <= MULTIPLIER * np.sqrt(size)
        assert [claim for claim in solution.certificate.claims if not claim.holds(CLAIM)] == []

    def test_reduced_by_1_they_are_themselves(self, kernel):
        sample = apart(kernel)
        whole = kopt.solve(ConvexHulls(), sample)
        assert kopt.solve(ReducedConvexHulls(D=1.0), sample).value == pytest.approx(whole.value, rel=VALUE)
        used = float(np.max(whole.dual.c))
        assert kopt.solve(ReducedConvexHulls(D=0.6 * used), sample).value > whole.value * (1 + MAP)


@every_kernel
class TestReducedConvexHulls:
    @pytest.mark.parametrize("costs", [False, True])
    @pytest.mark.parametrize("nu", [0.36, 0.52])
    def test_it_is_the_nu_machine(self, kernel, nu, costs):
        """D = 2 / (nu l): the optimum of the nu-machine is -nu^2/8 d^2, and its w is nu/2 (p - q)."""
        sample = overlapping(kernel, costs, overlap=0.5)
        hulls, machine = kopt.solve(ReducedConvexHulls(D=2 / (nu * n)), sample), kopt.solve(NuSoftMargin(nu=nu), sample)
        p, q = closest_points(hulls)
        assert machine.value == pytest.approx(-(nu**2) / 8 * hulls.value, rel=MAP)
        assert (nu / 2 * (p - q) - machine.primal.w).norm <= WEIGHT * machine.primal.w.norm
        assert kopt.verify(NuSoftMargin(nu=nu), sample, {"alpha": nu / 2 * hulls.dual.c}).holds(MAP)
        f = machine.decision_function(new_points())
        ours = nu / 4 * hulls.decision_function(new_points())
        np.testing.assert_allclose(ours, f, atol=MULTIPLIER * np.max(np.abs(f)))

    def test_it_is_the_nu_machine_of_scikit_learn(self, kernel):
        sample = overlapping(kernel, overlap=0.5)
        theirs = NuSVC(nu=0.44, kernel="precomputed", tol=1e-10, shrinking=False).fit(sample.gram().dense, sample.y)
        f = theirs.decision_function(KERNELS[kernel](new_points(), sample.X))
        hulls = kopt.solve(ReducedConvexHulls(D=2 / (0.44 * n)), sample)
        margin = (hulls.primal.rho_plus - hulls.primal.rho_minus) / 2
        ours = hulls.decision_function(new_points()) / margin
        np.testing.assert_allclose(ours, f, atol=LIBSVM * max(1.0, np.max(np.abs(f))))

    def test_half_their_distance_is_the_value_of_the_unit_soft_margin(self, kernel):
        sample = overlapping(kernel, overlap=0.5)
        unit, hulls = kopt.solve(UnitSoftMargin(C=0.075), sample), kopt.solve(ReducedConvexHulls(D=0.15), sample)
        assert -unit.value == close(np.sqrt(hulls.value) / 2)

    @pytest.mark.parametrize("costs", [False, True])
    def test_at_the_smallest_d_a_class_is_its_mean(self, kernel, costs):
        sample = overlapping(kernel, costs, overlap=0.5)
        plus = sample.y > 0
        totals = [float(sample.costs[side].sum()) for side in (plus, ~plus)]
        smaller = plus if totals[0] < totals[1] else ~plus
        solution = kopt.solve(ReducedConvexHulls(D=1 / min(totals)), sample)
        assert solution.certificate.holds(CERTIFIED)
        np.testing.assert_allclose(solution.dual.c[smaller], sample.costs[smaller] / min(totals), rtol=MULTIPLIER)

    def test_balanced_classes_with_the_smallest_d_are_two_means(self, kernel):
        sample = overlapping(kernel, overlap=0.5)
        chosen = np.concatenate([np.flatnonzero(sample.y > 0)[:7], np.flatnonzero(sample.y < 0)[:7]])
        K, y = sample.gram().dense[np.ix_(chosen, chosen)], sample.y[chosen]
        solution = kopt.solve(ReducedConvexHulls(D=1 / 7), Sample.from_gram(K, y))
        assert solution.value == pytest.approx(y @ K @ y / 49, rel=VALUE)
        assert [claim for claim in solution.certificate.claims if not claim.holds(CLAIM)] == []

    def test_they_shrink_with_d(self, kernel):
        sample = overlapping(kernel, overlap=0.5)
        distances = [kopt.solve(ReducedConvexHulls(D=D), sample).value for D in (0.1, 0.13, 0.2)]
        assert distances[0] > distances[1] > distances[2]

    def test_below_the_smallest_d_it_is_refused_with_the_number(self, kernel):
        sample = overlapping(kernel, overlap=0.5)
        smallest = 1 / float(min(np.sum(sample.y > 0), np.sum(sample.y < 0)))
        with pytest.raises(kopt.InputError, match=f"Choose D >= {smallest!r}"):
            kopt.solve(ReducedConvexHulls(D=smallest * 0.999), sample)
        ReducedConvexHulls(D=smallest).check(sample)

    def test_costs_are_repetitions(self, kernel):
        sample = overlapping(kernel, overlap=0.5)
        times = np.random.default_rng(3).integers(1, 4, n)
        weighted = Sample(sample.X, sample.y, kernel=KERNELS[kernel], costs=times)
        repeated = Sample(np.repeat(sample.X, times, axis=0), np.repeat(sample.y, times), kernel=KERNELS[kernel])
        one, other = (kopt.solve(ReducedConvexHulls(D=0.09), each) for each in (weighted, repeated))
        assert one.value == pytest.approx(other.value, rel=VALUE)
        assert abs(one.value - kopt.solve(ReducedConvexHulls(D=0.13), sample).value) > DIFFERENT * one.value


def test_the_hulls_of_a_triangle_and_a_point():
    """By hand: the segment from (3, -1) to (3, 1) is nearest to the origin at (3, 0)."""
    sample = Sample([[0.0, 0.0], [3.0, -1.0], [3.0, 1.0], [5.0, 0.0]], [-1, 1, 1, 1])
    solution = kopt.solve(ConvexHulls(), sample)
    assert solution.value == pytest.approx(9.0, rel=VALUE)
    np.testing.assert_allclose(solution.dual.c, [1.0, 0.5, 0.5, 0.0], atol=CERTIFIED)
    assert [solution.primal.rho_plus, solution.primal.rho_minus] == pytest.approx([18.0, 0.0], abs=18 * CERTIFIED)
    np.testing.assert_allclose(solution.decision_function([[1.5, 7.0], [2.5, 0.0]]), [0.0, 6.0], atol=18 * CERTIFIED)
    assert 3 not in solution.certificate.support_vectors


def test_the_hyperplane_of_reduced_hulls_is_not_halfway_between_their_closest_points():
    """The one halfway between p and q is another classifier, which is why `decision` does not use it."""
    solution = kopt.solve(ReducedConvexHulls(D=0.13), overlapping("sum"))
    p, q = closest_points(solution)
    middle = (solution.primal.rho_plus + solution.primal.rho_minus) / 2
    assert abs(p.norm_squared - q.norm_squared - middle) > DIFFERENT * abs(middle)


MACHINES = [
    HardMarginWithoutOffset(),
    SoftMarginWithoutOffset(C=0.7),
    TwoNormSoftMarginWithoutOffset(C=0.7),
    ConvexHulls(),
    ReducedConvexHulls(D=0.15),
]
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@every_machine
def test_a_scaled_kernel_scales_the_solution(machine, scale):
    """Values in units of 1 / K with C in the same units; the hulls in units of K, whatever D."""
    sample = apart_through_the_origin("sum")
    canonical = not isinstance(machine, ConvexHulls | ReducedConvexHulls)
    rescaled = {key: value / scale if key == "C" else value for key, value in parameters(machine).items()}
    other = kopt.solve(type(machine)(**rescaled), Sample(sample.X, sample.y, kernel=Scaled(scale, KERNELS["sum"])))
    one = kopt.solve(machine, sample)
    assert other.certificate.holds(CERTIFIED)
    assert other.value == pytest.approx(one.value * scale ** (-1 if canonical else 1), rel=VALUE)
    assert [claim for claim in other.certificate.claims if not claim.holds(CLAIM)] == []
    assert (other.predict(new_points()) == one.predict(new_points())).all()


@every_machine
def test_any_feasible_multipliers_bound_the_optimum_from_both_sides(machine):
    sample = apart_through_the_origin("gaussian")
    known = kopt.solve(machine, sample).certificate.bounds
    rng = np.random.default_rng(4)
    for _ in range(20):
        alpha = rng.dirichlet(np.full(n, 0.3)) * rng.choice([0.1, 3.0])
        name = "c" if isinstance(machine, ConvexHulls | ReducedConvexHulls) else "alpha"
        bounds = kopt.verify(machine, sample, {name: alpha}).bounds
        assert bounds.lower <= known.upper
        assert bounds.upper >= known.lower
        assert np.isfinite(bounds.lower)
        assert np.isfinite(bounds.upper) or isinstance(machine, HardMarginWithoutOffset)


@pytest.mark.parametrize("D", [0.2, 0.5, 1.0, 3.0, 30.0])
def test_a_bound_that_binds_nothing_does_no_harm(D):
    """From D = 1 on nothing is reduced, and the solver must not mind."""
    sample = apart("polynomial")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = kopt.solve(ReducedConvexHulls(D=D), sample)
    assert solution.certificate.holds(CERTIFIED)
    if D >= 1:
        assert solution.value == pytest.approx(kopt.solve(ConvexHulls(), sample).value, rel=VALUE)


def test_without_an_offset_the_place_of_the_origin_matters():
    """With an offset the linear machine does not see a translation of the sample; without one it does."""
    sample = overlapping("linear")
    moved = Sample(sample.X + 2.0, sample.y, kernel=Linear())
    one, other = (kopt.solve(SoftMargin(C=0.4), each).value for each in (sample, moved))
    assert one == pytest.approx(other, rel=VALUE)
    one, other = (kopt.solve(SoftMarginWithoutOffset(C=0.4), each).value for each in (sample, moved))
    assert abs(one - other) > DIFFERENT * one
