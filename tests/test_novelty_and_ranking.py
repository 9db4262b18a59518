"""Novelty detection without a free sphere, and ranking: closed forms, other libraries, other machines, edges."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import OneClassSVM

import kopt
from formulations.classification import UnitHardMargin, UnitNuSoftMargin
from formulations.novelty import CentreOfMass, FurthestPoint, Hypersphere, NuHypersphere, OneClass, SoftHypersphere
from formulations.ranking import AugmentedHardRanking, NuRanking, OrderedNuRanking
from formulations.ranking.thresholds import (
    Thresholds,
    best_margin_and_ordered_thresholds,
    best_margin_and_thresholds,
    shortest_with_margin,
)
from kopt import Sample, Task
from kopt.examples import example
from kopt.views import ProductView
from tests.instances import KERNELS, data
from tests.tolerances import CERTIFIED, CLAIM, DIFFERENT, ENCLOSURE, LIBSVM, MAP, MULTIPLIER, VALUE

every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def drawn(task: Task, kernel: str, seed: int, costs: bool = False, n: int = 23) -> Sample:
    rng = np.random.default_rng(seed)
    X, y = data(task, n, 0.5, rng)
    if task is Task.NOVELTY:  # a plane can keep these points away from the origin
        X = X + np.array([3.0, 0.0, 0.0])
    return Sample(X, y, kernel=KERNELS[kernel], costs=rng.uniform(0.4, 2.5, n) if costs else None)


def broken_claims(formulation, sample, solution, **changed) -> list[str]:
    """The claims that fail for an answer with some of its numbers changed."""
    answer = {**solution.primal, **solution.dual, **changed}
    answer = {k: v.coefficients if isinstance(v, kopt.Combination) else v for k, v in answer.items()}
    return [c.statement for c in kopt.verify(formulation, sample, answer).claims if not c.holds(CLAIM)]


class TestOneClass:
    @every_kernel
    @pytest.mark.parametrize("nu", [0.17, 0.62])
    def test_scikit_learn_agrees(self, kernel, nu):
        sample = drawn(Task.NOVELTY, kernel, 1)
        solution = kopt.solve(OneClass(nu=nu), sample)
        K = sample.gram().dense
        theirs = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-10).fit(K)
        alpha = np.zeros(sample.n)
        alpha[theirs.support_] = theirs.dual_coef_[0] / (nu * sample.n)
        difference = sample.gram().norm_squared(alpha - solution.dual.alpha)
        assert difference <= LIBSVM * solution.primal.w.norm_squared
        size = np.max(np.abs(solution.primal.w.values))
        ours = solution.decision_function(sample.X)
        np.testing.assert_allclose(theirs.decision_function(K) / (nu * sample.n), ours, atol=LIBSVM * size)

    @every_kernel
    def test_costs_are_repetitions(self, kernel):
        sample, times = drawn(Task.NOVELTY, kernel, 2), np.arange(23) % 3 + 1
        weighted = Sample(sample.X, kernel=KERNELS[kernel], costs=times.astype(float))
        repeated = Sample(np.repeat(sample.X, times, axis=0), kernel=KERNELS[kernel])
        one = kopt.solve(OneClass(nu=0.4), weighted)
        other = kopt.solve(OneClass(nu=0.4 * weighted.n / repeated.n), repeated)
        assert one.value == pytest.approx(other.value, rel=VALUE)
        other_costs = Sample(sample.X, kernel=KERNELS[kernel], costs=times[::-1].astype(float))
        assert abs(kopt.solve(OneClass(nu=0.4), other_costs).value - one.value) > VALUE * abs(one.value) * 1e2

    def test_it_is_the_sphere_where_all_points_have_the_same_length(self):
        sample = drawn(Task.NOVELTY, "gaussian", 3)
        plane, sphere = kopt.solve(OneClass(nu=0.37), sample), kopt.solve(NuHypersphere(nu=0.37), sample)
        np.testing.assert_allclose(0.37 * plane.dual.alpha, sphere.dual.alpha, atol=MULTIPLIER * 0.37)
        w, rho = plane.primal.w, plane.primal.rho
        assert abs(sphere.primal.R - (1 - 2 * rho + w.norm_squared)) <= MAP * sphere.primal.R
        assert any("sphere" in claim.statement for claim in plane.certificate.claims)

    def test_it_is_not_the_sphere_otherwise(self):
        sample = drawn(Task.NOVELTY, "sum", 3)
        plane, sphere = kopt.solve(OneClass(nu=0.37), sample), kopt.solve(NuHypersphere(nu=0.37), sample)
        assert (plane.primal.w - sphere.primal.c).norm > DIFFERENT * sphere.primal.c.norm
        assert not any("sphere" in claim.statement for claim in plane.certificate.claims)

    def test_claims_can_fail(self):
        sample = drawn(Task.NOVELTY, "gaussian", 4)
        formulation = OneClass(nu=0.4)
        solution = kopt.solve(formulation, sample)
        assert broken_claims(formulation, sample, solution) == []
        rho = solution.primal.rho
        assert len(broken_claims(formulation, sample, solution, rho=1.05 * rho)) >= 3
        assert len(broken_claims(formulation, sample, solution, alpha=np.full(sample.n, 1 / sample.n))) >= 2

    def test_nu_above_the_mean_cost_is_refused(self):
        sample = Sample(np.eye(4), costs=[0.5, 0.5, 0.5, 0.9])
        with pytest.raises(kopt.InputError, match=r"nu is 0\.7, but .* at most 0\.6\. Choose nu <= 0\.6\."):
            kopt.solve(OneClass(nu=0.7), sample)
        assert kopt.solve(OneClass(nu=0.6), sample).certificate.holds(CERTIFIED)


class TestCentreOfMass:
    @every_kernel
    def test_the_value_is_the_mean_of_the_centred_diagonal(self, kernel):
        sample = drawn(Task.NOVELTY, kernel, 5)
        K, H = sample.gram().dense, np.eye(sample.n) - 1 / sample.n
        solution = kopt.solve(CentreOfMass(), sample)
        assert solution.value == pytest.approx(np.trace(H @ K @ H) / sample.n, rel=ENCLOSURE)
        pairs = np.diag(K)[:, None] + np.diag(K) - 2 * K
        assert solution.value == pytest.approx(pairs.mean() / 2, rel=ENCLOSURE)

    @every_kernel
    def test_the_soft_sphere_shrinks_to_it(self, kernel):
        sample = drawn(Task.NOVELTY, kernel, 6)
        sphere = kopt.solve(SoftHypersphere(C=0.5 / sample.n), sample)
        centre = kopt.solve(CentreOfMass(), sample)
        assert sphere.value == pytest.approx(0.5 * centre.value, rel=VALUE)
        assert (sphere.primal.c - centre.primal.c).norm <= MAP * centre.primal.c.norm
        assert kopt.solve(SoftHypersphere(C=3 / sample.n), sample).value < (3 - DIFFERENT) * centre.value

    def test_novel_is_what_is_further_than_the_mean(self):
        sample = Sample([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
        solution = kopt.solve(CentreOfMass(), sample)
        np.testing.assert_allclose(solution.decision_function([[1.0, 1.0], [3.0, 1.0]]), [2.0, -2.0], atol=VALUE)

    def test_claims_can_fail(self):
        sample = drawn(Task.NOVELTY, "sum", 7)
        solution = kopt.solve(CentreOfMass(), sample)
        c = solution.primal.c.coefficients
        assert broken_claims(CentreOfMass(), sample, solution) == []
        assert len(broken_claims(CentreOfMass(), sample, solution, c=1.01 * c)) == 1
        assert len(broken_claims(CentreOfMass(), sample, solution, d=1.01 * solution.primal.d)) == 1
        assert len(broken_claims(CentreOfMass(), sample, solution, alpha=1.01 * solution.dual.alpha)) == 1


class TestFurthestPoint:
    @every_kernel
    def test_it_is_the_largest_distance(self, kernel):
        sample = drawn(Task.NOVELTY, kernel, 8)
        Phi = sample.gram().factor
        distances = np.linalg.norm(Phi - Phi.mean(axis=0), axis=1)
        solution = kopt.solve(FurthestPoint(), sample)
        assert solution.primal.r == pytest.approx(distances.max(), rel=VALUE)
        assert np.argmax(solution.dual.beta) == np.argmax(distances)
        assert solution.primal.r**2 > kopt.solve(Hypersphere(), sample).primal.R

    def test_two_points_at_the_same_distance_share_the_weight(self):
        solution = kopt.solve(FurthestPoint(), Sample([[-3.0], [0.5], [-0.5], [3.0]]))
        assert solution.dual.beta[[0, 3]].sum() == pytest.approx(1.0, abs=VALUE)
        assert solution.certificate.holds(CERTIFIED)

    def test_the_allowance_is_that_of_the_text(self):
        sample = Sample([[3.0], [-1.0], [1.0], [0.0]])
        by_hand = 2 * np.sqrt(2 * 9 / 4) * (np.sqrt(2) + np.sqrt(np.log(1 / 0.05)))
        assert FurthestPoint(delta=0.05).allowance(sample) == pytest.approx(by_hand, rel=ENCLOSURE)
        assert FurthestPoint(delta=0.01).allowance(sample) > by_hand > FurthestPoint(delta=0.5).allowance(sample)

    def test_points_are_novel_beyond_radius_and_allowance(self):
        sample = Sample([[3.0], [-1.0], [1.0], [1.0]])
        solution = kopt.solve(FurthestPoint(delta=0.05), sample)
        limit = 2.0 + FurthestPoint(delta=0.05).allowance(sample)
        X_new = [[1 + 0.99 * limit], [1 + 1.01 * limit], [1 - 0.99 * limit], [1 - 1.01 * limit]]
        assert solution.predict(X_new).tolist() == [1, -1, 1, -1]
        assert np.all(solution.predict(sample.X) == 1)

    def test_claims_can_fail(self):
        sample = drawn(Task.NOVELTY, "sum", 9)
        solution = kopt.solve(FurthestPoint(), sample)
        assert broken_claims(FurthestPoint(), sample, solution) == []
        assert len(broken_claims(FurthestPoint(), sample, solution, r=0.2 * solution.primal.r)) == 3
        assert len(broken_claims(FurthestPoint(), sample, solution, r=20 * solution.primal.r)) == 3
        assert len(broken_claims(FurthestPoint(), sample, solution, beta=np.full(sample.n, 1 / sample.n))) == 1


class TestRanks:
    @pytest.mark.parametrize(
        ("y", "words"),
        [
            (None, "no y, but ranking needs ranks"),
            ([2, 2, 2], "All 3 points have the rank 2"),
            ([0, 1, 2], "The ranks are 0, 1, 2, but must be 1, 2"),
            ([1, 3, 3], "The ranks are 1, 3, but must be"),
            ([1, 1.5, 2], r"The ranks are 1, 1\.5, 2, but must be"),
            ([-1, 1, 1], "The ranks are -1, 1, but must be"),
        ],
    )
    def test_what_is_no_rank_is_refused(self, y, words):
        with pytest.raises(kopt.InputError, match=words) as caught:
            kopt.solve(NuRanking(), Sample([[0.0], [1.0], [2.0]], y))
        assert caught.value.remedy.endswith(".")

    def test_the_remedy_works(self):
        y = np.array([10.0, 40.0, 20.0, 40.0])
        Task.RANKING.check(np.unique(y, return_inverse=True)[1] + 1)

    def test_the_rank_is_the_first_threshold_above(self):
        decision = np.array([[-1.0, -2.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 1.0]])
        assert Task.RANKING.predict(decision).tolist() == [1, 2, 3, 1]

    @pytest.mark.parametrize("cls", [NuRanking, OrderedNuRanking, AugmentedHardRanking])
    def test_new_points_are_ranked(self, cls):
        rng = np.random.default_rng(0)
        y = np.repeat([1, 2, 3], [4, 7, 5])
        X = np.column_stack([2.0 * y + rng.uniform(-0.5, 0.5, 16), rng.uniform(-0.5, 0.5, 16)])
        solution = kopt.solve(cls(), Sample(X, y))
        assert solution.decision_function(X).shape == (16, 2)
        assert solution.predict(X).tolist() == y.tolist()
        assert solution.predict([[-5.0, 0.0], [4.0, 0.0], [20.0, 0.0]]).tolist() == [1, 2, 3]

    def test_the_example_has_ranks(self):
        sample = example(Task.RANKING)
        assert np.unique(sample.y).tolist() == [1, 2, 3, 4]
        solution = kopt.solve(OrderedNuRanking(nu=0.4), sample)
        assert solution.certificate.holds(CERTIFIED)
        assert np.mean(solution.predict(sample.X) == sample.y) > 0.5


def two_ranks(kernel: str, seed: int, costs: bool) -> tuple[Sample, Sample]:
    """The same sample with classes and with ranks, the classes far enough apart for a margin."""
    drawn_classes = drawn(Task.CLASSIFICATION, kernel, seed, costs)
    y, costs_given = drawn_classes.y, drawn_classes.costs
    X = drawn_classes.X + 0.5 * y[:, None] * np.array([0.8, 0.6, 0.0])
    return tuple(Sample(X, labels, kernel=KERNELS[kernel], costs=costs_given) for labels in (y, (y + 3) / 2))


@pytest.mark.parametrize("cls", [NuRanking, OrderedNuRanking])
class TestNuRankings:
    @every_kernel
    @pytest.mark.parametrize("costs", [False, True])
    def test_two_ranks_are_two_classes(self, cls, kernel, costs):
        classes, ranks = two_ranks(kernel, 20, costs)
        one, other = kopt.solve(UnitNuSoftMargin(nu=0.55), classes), kopt.solve(cls(nu=0.55), ranks)
        assert abs(one.value) > DIFFERENT**2
        scale = one.certificate.as_given.scale
        assert abs(one.value - other.value) <= VALUE * scale
        assert (one.primal.w - other.primal.w).norm <= MULTIPLIER
        # b may be any number of an interval; the slacks that it leaves add up to the same.
        gamma, b = other.primal.gamma, other.primal.b
        xi = np.maximum(0.0, gamma - classes.y * (other.primal.w.values - b[0]))
        moved = -gamma + classes.costs @ xi / (0.55 * classes.n)
        assert abs(moved - one.value) <= VALUE * scale
        assert one.primal.b == pytest.approx(-b[0], abs=MULTIPLIER * np.max(np.abs(one.primal.w.values)))

    @pytest.mark.parametrize("costs", [False, True])
    def test_the_largest_nu(self, cls, costs):
        rng, y = np.random.default_rng(11), np.repeat([1, 2, 3], [5, 2, 6])
        sample = Sample(rng.normal(size=(13, 2)) + y[:, None], y, costs=rng.uniform(0.4, 2.5, 13) if costs else None)
        by_rank = np.array([sample.costs[sample.y == rank].sum() for rank in (1, 2, 3)])
        unordered = 2 * np.minimum(by_rank[1:], by_rank[:-1]).sum() / sample.n
        largest = unordered if cls is NuRanking else 2 * (by_rank.sum() - by_rank.max()) / sample.n
        assert (largest > (1 + DIFFERENT) * unordered) == (cls is OrderedNuRanking)
        assert kopt.solve(cls(nu=largest), sample).certificate.holds(CERTIFIED)
        with pytest.raises(kopt.InputError, match="it can be at most"):
            kopt.solve(cls(nu=1.001 * largest), sample)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = cls(nu=1.01 * largest).problem(sample)
            problem.solve(solver="CLARABEL")
        assert problem.status == "unbounded"

    def test_nu_that_leaves_no_slack_is_the_hard_margin(self, cls):
        classes = Sample(*data(Task.CLASSIFICATION, 23, 0.0, np.random.default_rng(12)))
        ranks = Sample(classes.X, (classes.y + 3) / 2)
        hard = kopt.solve(UnitHardMargin(), classes)
        assert kopt.solve(cls(nu=1 / 23), ranks).primal.gamma == pytest.approx(hard.primal.gamma, rel=MAP)
        assert kopt.solve(cls(nu=0.5), ranks).primal.gamma > (1 + DIFFERENT) * hard.primal.gamma

    @pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
    @pytest.mark.parametrize("costs", [False, True])
    def test_the_kernel_in_other_units(self, cls, scale, costs):
        sample = drawn(Task.RANKING, "sum", 13, costs)
        scaled = Sample.from_gram(scale * sample.gram().dense, sample.y, costs=sample.costs)
        one, other = kopt.solve(cls(nu=0.4), sample), kopt.solve(cls(nu=0.4), scaled)
        assert other.certificate.holds(CERTIFIED)
        assert [claim for claim in other.certificate.claims if not claim.holds(CLAIM)] == []
        assert other.value == pytest.approx(np.sqrt(scale) * one.value, rel=MAP)

    def test_claims_can_fail(self, cls):
        sample = drawn(Task.RANKING, "sum", 14)
        formulation = cls(nu=0.4)
        solution = kopt.solve(formulation, sample)
        gamma, b = solution.primal.gamma, solution.primal.b
        assert broken_claims(formulation, sample, solution) == []
        assert len(broken_claims(formulation, sample, solution, gamma=gamma + 0.2)) >= 3
        assert len(broken_claims(formulation, sample, solution, b=b[::-1])) >= 3
        assert "||w||^2 = 1 (the relaxation is tight)" in broken_claims(
            formulation, sample, solution, w=0.9 * solution.primal.w.coefficients
        )

    def test_any_dual_point_gives_a_feasible_primal_one(self, cls):
        sample = drawn(Task.RANKING, "gaussian", 15, costs=True)
        formulation, t = cls(nu=0.4), Thresholds(sample.y)
        rng = np.random.default_rng(0)
        optimum = kopt.solve(formulation, sample).value
        for _ in range(20):
            dual = {"alpha_l": rng.random(len(t.lower)), "alpha_u": rng.random(len(t.upper)), "eta": rng.random(2)}
            primal = kopt.Point(formulation.recover(ProductView(sample), kopt.Point(dual)))
            lower, upper = t.excess(primal.w.values, primal.b, primal.gamma)
            assert np.all(primal.xi_l >= np.maximum(0.0, lower))
            assert np.all(primal.xi_u >= np.maximum(0.0, upper))
            assert primal.w.norm <= 1 + ENCLOSURE
            C = sample.costs / (0.4 * sample.n)
            assert -primal.gamma + C[t.lower] @ primal.xi_l + C[t.upper] @ primal.xi_u >= optimum


def disordered(seed: int) -> Sample:
    """Three ranks that overlap, the middle one the smallest."""
    y = np.repeat([1, 2, 3], [5, 3, 5])
    return Sample(np.random.default_rng(seed).normal(size=(13, 2)) + 0.5 * (y[:, None] - 2.0), y)


def test_only_the_constraint_keeps_thresholds_in_order():
    out_of_order = 0
    for seed in range(6):
        free, ordered = (kopt.solve(cls(nu=0.9), disordered(seed)) for cls in (NuRanking, OrderedNuRanking))
        assert np.all(np.diff(ordered.primal.b) >= 0)
        scale = free.certificate.as_given.scale
        assert ordered.value >= free.value - VALUE * scale
        if np.any(np.diff(free.primal.b) < -DIFFERENT):
            out_of_order += 1
            assert ordered.value > free.value + CLAIM
        else:
            assert ordered.value == pytest.approx(free.value, abs=VALUE * scale)
    assert 2 <= out_of_order <= 4


def test_nu_counts_constraints_and_not_points():
    """The text's Theorem 8.10 speaks of points, of which too few are on the margin or beyond it here."""
    fewer = 0
    for seed in range(6):
        sample = disordered(seed)
        solution, t = kopt.solve(NuRanking(nu=0.9), sample), Thresholds(sample.y)
        lower, upper = t.excess(solution.primal.w.values, solution.primal.b, solution.primal.gamma)
        touched = np.union1d(t.lower[lower >= -CLAIM], t.upper[upper >= -CLAIM])
        beyond = np.union1d(t.lower[lower > CLAIM], t.upper[upper > CLAIM])
        assert 0.45 * sample.n <= len(touched)
        assert len(beyond) <= 0.9 * sample.n
        fewer += len(touched) < 0.9 * sample.n
    assert fewer > 0


class TestRules:
    """The closed rules against plain linear and quadratic programs."""

    @staticmethod
    def value(t: Thresholds, scores, costs, gamma, b) -> float:
        lower, upper = t.excess(scores, b, gamma)
        return -gamma + costs[t.lower] @ np.maximum(0.0, lower) + costs[t.upper] @ np.maximum(0.0, upper)

    @staticmethod
    def plain(t: Thresholds, scores, costs, ordered: bool) -> float:
        gamma, b = cp.Variable(), cp.Variable(t.count)
        lower = cp.pos(scores[t.lower] - b[t.above] + gamma)
        upper = cp.pos(b[t.below] + gamma - scores[t.upper])
        order = [b[:-1] <= b[1:]] if ordered else []
        problem = cp.Problem(cp.Minimize(-gamma + costs[t.lower] @ lower + costs[t.upper] @ upper), order)
        return float(problem.solve(solver="CLARABEL"))

    @pytest.mark.parametrize("seed", range(12))
    def test_margin_and_thresholds(self, seed):
        rng = np.random.default_rng(seed)
        y = np.concatenate([[1, 2, 3, 4], rng.integers(1, 5, 14)])
        scores = rng.normal(size=18) + 0.3 * y * (seed % 3)
        if seed % 4 == 0:
            scores = np.round(scores)
        t, costs = Thresholds(y), rng.uniform(0.2, 1.5, 18) if seed % 2 else np.full(18, 0.25)
        free = self.value(t, scores, costs, *best_margin_and_thresholds(t, scores, costs))
        gamma, b = best_margin_and_ordered_thresholds(t, scores, costs)
        assert np.all(np.diff(b) >= 0)
        assert free == pytest.approx(self.plain(t, scores, costs, False), abs=VALUE)
        assert self.value(t, scores, costs, gamma, b) == pytest.approx(self.plain(t, scores, costs, True), abs=VALUE)

    def test_the_order_costs_something(self):
        t, scores = Thresholds(np.array([1, 1, 2, 3, 3])), np.array([0.0, 3.0, 1.0, -2.0, 4.0])
        costs = np.full(5, 0.4)
        gamma, b = best_margin_and_thresholds(t, scores, costs)
        ordered = self.value(t, scores, costs, *best_margin_and_ordered_thresholds(t, scores, costs))
        assert b[0] > b[1]
        assert ordered > self.value(t, scores, costs, gamma, b) + DIFFERENT

    @pytest.mark.parametrize("seed", range(8))
    def test_shortest_with_margin(self, seed):
        rng = np.random.default_rng(seed)
        y = np.repeat([1, 2, 3], [3, 2, 4])
        scores = rng.uniform(0.0, 0.8, 9) + y + rng.normal(scale=3.0)
        t = Thresholds(y)
        a, b = shortest_with_margin(t, scores, 0.7)
        scale, thresholds = cp.Variable(), cp.Variable(2)
        lower = scale * scores[t.lower] <= thresholds[t.above] - 1
        upper = scale * scores[t.upper] >= thresholds[t.below] + 1
        objective = cp.Minimize(0.7**2 * cp.square(scale) + cp.sum_squares(thresholds))
        best = cp.Problem(objective, [lower, upper]).solve(solver="CLARABEL")
        assert 0.7**2 * a**2 + b @ b == pytest.approx(best, rel=VALUE)
        assert max(map(np.max, t.excess(a * scores, b, 1.0))) <= ENCLOSURE * np.max(np.abs(a * scores))

    def test_no_margin_without_separation(self):
        assert shortest_with_margin(Thresholds(np.array([1, 2, 1])), np.array([0.0, 1.0, 2.0]), 1.0)[0] is None


class TestAugmentedHardRanking:
    def test_two_points_by_hand(self):
        """w 12 <= b - gamma and w 16 >= b + gamma are tight: b = 14 w and gamma = 2 w, with w^2 (1 + 14^2) = 1."""
        solution = kopt.solve(AugmentedHardRanking(), Sample([[12.0], [16.0]], [1, 2]))
        w = 1 / np.sqrt(197)
        assert solution.primal.gamma == pytest.approx(2 * w, rel=VALUE)
        assert solution.primal.b[0] == pytest.approx(14 * w, rel=VALUE)
        assert (16**2 + 1) / solution.primal.gamma**2 == pytest.approx(12657.25, rel=VALUE)

    @every_kernel
    def test_it_is_at_most_the_margin_with_free_thresholds(self, kernel):
        X, y = data(Task.RANKING, 17, 0.0, np.random.default_rng(16))
        sample = Sample(X, y, kernel=KERNELS[kernel])
        augmented, free = kopt.solve(AugmentedHardRanking(), sample), kopt.solve(NuRanking(nu=1 / 17), sample)
        assert 0 < augmented.primal.gamma < (1 - DIFFERENT) * free.primal.gamma

    def test_what_cannot_be_separated_has_no_margin(self):
        sample = Sample([[0.0], [1.0], [2.0], [1.0]], [1, 2, 3, 3])
        solution = kopt.solve(AugmentedHardRanking(), sample)
        assert abs(solution.value) <= VALUE
        assert solution.certificate.holds(CERTIFIED)

    def test_a_kernel_that_is_0_is_refused(self):
        with pytest.raises(kopt.InputError, match="All 2 points are 0 in feature space"):
            kopt.solve(AugmentedHardRanking(), Sample(np.zeros((2, 1)), [1, 2]))

    def test_claims_can_fail(self):
        X, y = data(Task.RANKING, 17, 0.0, np.random.default_rng(17))
        sample = Sample(X, y)
        solution = kopt.solve(AugmentedHardRanking(), sample)
        formulation, b = AugmentedHardRanking(), solution.primal.b
        assert broken_claims(formulation, sample, solution) == []
        assert len(broken_claims(formulation, sample, solution, b=0.9 * b)) >= 2
        assert len(broken_claims(formulation, sample, solution, gamma=1.1 * solution.primal.gamma)) >= 1
        assert len(broken_claims(formulation, sample, solution, b=np.full(3, b.mean()))) >= 2
