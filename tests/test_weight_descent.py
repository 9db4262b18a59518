"""Weights of kernels learnt with a machine: against a conic solver, in degenerate cases, and with little memory."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

import kopt
from formulations.classification import SoftMargin
from formulations.kernel_learning import Alignment, SoftMarginKernelLearning
from formulations.kernel_learning.least_hinges import least_hinges
from formulations.kernel_learning.solvers.best_shares import best_shares
from formulations.kernel_learning.solvers.weight_descent import WeightDescent
from formulations.kernel_learning.solvers.weight_set import WeightSet, even_shares, largest_gain
from formulations.kernel_learning.solvers.weighted_machine import WeightedMachine
from formulations.regression import EpsilonInsensitive
from kopt import InputError, Sample
from kopt.gram import Gram
from kopt.gram.mixture import Mixture
from kopt.kernels import Gaussian, Laplacian, Linear, Polynomial
from kopt.solvers import Problem, cholesky, descent
from kopt.solvers.solver import INTERRUPTED
from tests.tolerances import CERTIFIED, VALUE

KERNELS = {
    "narrow": Gaussian(sigma=0.5),
    "wide": Gaussian(sigma=2.0),
    "linear": Linear(),
    "quadratic": Polynomial(degree=2, R=1.0),
}


def solve(formulation, sample, **options):
    return kopt.solve(formulation, sample, method="WEIGHT_DESCENT", **options)


def reference(formulation, sample):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.CertificateWarning)
        return kopt.solve(formulation, sample, method="CLARABEL", side="dual")


def classes(n, kernels=None, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Sample(X, y, kernel=dict(kernels or KERNELS), **options)


@pytest.mark.parametrize("p", [1.0, 1.05, 1.3, 2.0, 4.0])
@pytest.mark.parametrize(("n", "C"), [(9, 1.0), (24, 0.05), (40, 30.0)])
def test_it_agrees_with_a_conic_solver(n, C, p):
    sample = classes(n, seed=n, costs=np.random.default_rng(n).uniform(0.5, 2.0, n))
    formulation = SoftMarginKernelLearning(C=C, c=0.7, p=p)
    found = solve(formulation, sample)
    assert found.certificate.holds(CERTIFIED)
    assert found.value == pytest.approx(reference(formulation, sample).value, rel=VALUE)


class TestDegenerate:
    def test_one_kernel_is_the_plain_machine(self):
        sample = classes(60, {"k": 3.0 * Gaussian(sigma=1.0)})
        found = solve(SoftMarginKernelLearning(C=2.0, c=1.5), sample)
        # r = 3, so mu = 1.5 / 3.
        plain = kopt.solve(SoftMargin(C=2.0), Sample(sample.X, sample.y, kernel=1.5 * Gaussian(sigma=1.0)))
        assert found.value == pytest.approx(plain.value, rel=VALUE)
        np.testing.assert_allclose(found.primal.mu, [0.5], rtol=1e-12)

    @pytest.mark.parametrize("p", [1.0, 2.0])
    def test_a_kernel_that_is_there_twice_changes_nothing_but_the_weights(self, p):
        twice = {**KERNELS, "narrow again": KERNELS["narrow"], "wide again": KERNELS["wide"]}
        once, again = (solve(SoftMarginKernelLearning(p=p), classes(50, kernels)) for kernels in (KERNELS, twice))
        assert again.certificate.holds(CERTIFIED)
        if p == 1:
            assert again.value == pytest.approx(once.value, rel=VALUE)
        else:
            np.testing.assert_allclose(again.primal.mu[[0, 1]], again.primal.mu[[4, 5]], rtol=1e-6)

    def test_the_scales_of_the_kernels_do_not_matter(self):
        scaled = {name: 10.0 ** (3 * i - 4) * kernel for i, (name, kernel) in enumerate(KERNELS.items())}
        plain, found = (solve(SoftMarginKernelLearning(), classes(50, kernels)) for kernels in (KERNELS, scaled))
        assert found.certificate.holds(CERTIFIED)
        assert found.value == pytest.approx(plain.value, rel=VALUE)

    def test_a_kernel_that_is_of_no_use_gets_no_weight(self):
        found = solve(SoftMarginKernelLearning(), classes(80, {**KERNELS, "constant": Gaussian(sigma=1e3)}))
        assert found.certificate.holds(CERTIFIED)
        assert found.primal.mu[-1] == 0
        assert np.sum(found.primal.mu > 0) < 5

    def test_every_multiplier_at_its_bound(self):
        sample = classes(40)
        sample = sample.relabelled(np.where(np.arange(40) % 2, 1.0, -1.0))
        assert solve(SoftMarginKernelLearning(C=1e-4), sample).certificate.holds(CERTIFIED)

    @pytest.mark.parametrize(("C", "p"), [(0.01, 1.0), (1.0, 1.0), (10.0, 1.0), (1.0, 1.1)])
    def test_a_kernel_of_rank_one_for_each_coordinate(self, C, p):
        # the sum is singular: c is not unique, and neither is the slope in a weight that is 0
        sample = classes(200)
        X = np.hstack([sample.X, np.random.default_rng(1).standard_normal((200, 4))])
        K = {f"x_{j}": np.outer(X[:, j], X[:, j]) for j in range(8)}
        found = solve(SoftMarginKernelLearning(C=C, p=p), Sample.from_gram(K, sample.y))
        assert found.certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("p", [1.0, 1.2])
    def test_many_kernels_that_are_nearly_alike(self, p):
        kernels = {f"{sigma:.3f}": Gaussian(sigma=float(sigma)) for sigma in np.geomspace(0.1, 10.0, 60)}
        found = solve(SoftMarginKernelLearning(p=p), classes(150, kernels))
        assert found.certificate.holds(CERTIFIED)

    def test_duplicated_points(self):
        sample = classes(30)
        again = Sample(np.vstack([sample.X] * 2), np.append(sample.y, sample.y), kernel=dict(KERNELS))
        formulation = SoftMarginKernelLearning(C=1.0)
        found, halves = solve(formulation, again), solve(SoftMarginKernelLearning(C=2.0), sample)
        assert found.value == pytest.approx(halves.value, rel=VALUE)


class TestManyPoints:
    @pytest.mark.parametrize("kernels", [KERNELS, {"g": Gaussian(sigma=1.0), "l": Laplacian(sigma=2.0)}])
    def test_working_sets_and_no_dense_matrix(self, monkeypatch, kernels):
        whole = solve(SoftMarginKernelLearning(), classes(400, kernels))
        monkeypatch.setattr(descent, "ALL", 4)
        sample = classes(400, kernels)
        found = solve(SoftMarginKernelLearning(), sample)
        assert found.certificate.holds(CERTIFIED)
        assert found.value == pytest.approx(whole.value, rel=VALUE)
        assert not any("dense" in vars(gram) for gram in sample.grams.values())

    def test_a_budget_below_one_matrix(self):
        whole = solve(SoftMarginKernelLearning(), classes(600))
        found = solve(SoftMarginKernelLearning(), classes(600, budget=8 * 600 * 200))
        assert found.certificate.holds(CERTIFIED)
        assert found.value == pytest.approx(whole.value, rel=VALUE)

    def test_a_rough_answer_takes_fewer_steps(self):
        rough, fine = (solve(SoftMarginKernelLearning(), classes(300), tolerance=t) for t in (1e-2, 1e-6))
        assert rough.certificate.holds(1e-2)
        assert len(rough.history) < len(fine.history)

    def test_few_steps_are_enough(self):
        found = solve(SoftMarginKernelLearning(), classes(300))
        assert len(found.history) <= 10
        gaps = [moment.relative_gap for moment in found.history]
        assert gaps[-1] <= CERTIFIED < gaps[0]

    def test_the_reported_bounds_enclose_the_optimum(self):
        found = solve(SoftMarginKernelLearning(p=1.3), classes(200))
        optimum = found.certificate.bounds.lower
        for moment in found.history:
            assert moment.dual <= optimum * (1 + VALUE)
            assert optimum <= moment.primal * (1 + VALUE)


class TestInterrupt:
    def test_the_best_so_far_is_returned(self):
        def stop(moment):
            if moment.iteration == 2:
                raise KeyboardInterrupt

        with pytest.warns(kopt.CertificateWarning):
            found = solve(SoftMarginKernelLearning(), classes(300), callback=stop)
        assert found.attempts[-1].status == INTERRUPTED
        assert found.certificate.as_given.worst < 1

    def test_before_the_first_step_there_is_a_feasible_answer(self, monkeypatch):
        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(WeightedMachine, "solved", stop)
        answer = WeightDescent().solve(Problem(SoftMarginKernelLearning(), classes(20)))
        assert answer.status == INTERRUPTED
        assert not answer.values["alpha"].any()


class TestWhatItTakes:
    def test_formulations_that_name_no_machine_are_refused(self):
        reason = "it learns weights of kernels, and the formulation has no `machine()` and no `c` and no `p`"
        for formulation in (SoftMargin(), Alignment()):
            assert WeightDescent().accepts(Problem(formulation, classes(10))) == reason
        unbounded = SimpleNamespace(machine=SoftMargin, c=1.0)
        assert WeightDescent().accepts(Problem(unbounded, classes(10))).endswith("the formulation has no `p`")

    def test_primals_are_refused(self):
        assert "duals" in WeightDescent().accepts(Problem(SoftMarginKernelLearning(), classes(10), "primal"))

    def test_products_that_do_not_fit_are_refused(self):
        reason = WeightDescent().accepts(Problem(SoftMarginKernelLearning(), classes(100, budget=3000)))
        assert "4 kernels need 3.2e-06 GB" in reason

    def test_other_variables_than_those_of_the_machine_are_refused(self):
        class Renamed(SoftMarginKernelLearning):
            def machine(self):
                return EpsilonInsensitive()

        assert "other variables" in WeightDescent().accepts(Problem(Renamed(), classes(10)))

    def test_a_machine_that_is_none_is_refused(self):
        class Nothing(SoftMarginKernelLearning):
            def machine(self):
                return "soft margin"

        reason = WeightDescent().accepts(Problem(Nothing(), classes(10)))
        assert reason == "`machine()` returns 'soft margin', and not a formulation"

    def test_a_kernel_that_vanishes_is_refused(self):
        sample = Sample.from_gram({"good": np.eye(4), "void": np.zeros((4, 4))}, [1.0, -1.0, 1.0, -1.0])
        reason = WeightDescent().accepts(Problem(SoftMarginKernelLearning(), sample))
        assert reason == "the kernel 'void' vanishes on all points"

    def test_where_it_is_tried(self):
        def place(n, **options):
            return WeightDescent().place(Problem(SoftMarginKernelLearning(), classes(n, **options)))

        few, many, little = place(20), place(2600), place(20, budget=1000)
        assert little[0] == many[0] < 0 < few[0]
        assert "2500 points" in many[1]
        assert "more than the budget" in little[1]

    def test_a_small_budget_says_how_much_it_takes(self):
        with pytest.raises(InputError, match="working set"):
            solve(SoftMarginKernelLearning(), classes(20, budget=800))


class TestWeightSet:
    R = np.array([2.5, 1.0])

    def test_of_a_sample_r_is_the_mean_of_the_diagonal(self):
        sample = Sample([[1.0], [2.0]], [1.0, -1.0], kernel={"linear": Linear(), "gaussian": Gaussian(sigma=1.0)})
        weights = WeightSet.of(SoftMarginKernelLearning(c=3.0, p=2.0), sample)
        np.testing.assert_allclose(weights.r, self.R)
        assert (weights.c, weights.p) == (3.0, 2.0)

    @pytest.mark.parametrize("p", [1.0, 1.3, 2.0])
    def test_the_best_weights_are_better_than_others(self, p):
        weights, q = WeightSet(self.R, 2.0, p), np.array([3.0, 2.0])
        best = weights.best(q)
        assert np.sum((best / weights.unit) ** p) == pytest.approx(1.0)
        for x in np.random.default_rng(0).dirichlet(np.ones(2), 200) ** (1 / p):
            assert weights.unit * x @ q <= best @ q * (1 + 1e-12)

    def test_no_gain_leaves_them_even(self):
        weights = WeightSet(self.R, 2.0, 1.0)
        np.testing.assert_allclose(weights.best(np.zeros(2)), weights.even)

    @pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 100.0])
    def test_the_largest_gain_is_that_of_the_best_weights(self, p):
        gains = np.array([3.0, -1.0, 2.0])
        assert largest_gain(gains, p) == pytest.approx(gains @ WeightSet(np.ones(3), 1.0, p).best(gains))
        assert largest_gain(-np.abs(gains), p) == 0
        assert np.sum(even_shares(5, p) ** p) == pytest.approx(1.0)


class TestBestShares:
    @pytest.mark.parametrize("p", [1.0, 1.05, 2.0, 4.0])
    @pytest.mark.parametrize("m", [1, 2, 6])
    def test_no_allowed_direction_gains(self, m, p):
        rng = np.random.default_rng(m)
        B = rng.standard_normal((m, m))
        # with gains this large the bound on the norm is tight
        gain, H, at = 40 + rng.standard_normal(m), B @ B.T, np.full(m, 1 / m)
        x = best_shares(gain, H, at, p)
        assert np.all(x >= 0)
        assert np.sum(x**p) == pytest.approx(1.0, abs=1e-12)
        slope = gain - H @ (x - at)
        for other in rng.dirichlet(np.ones(m), 300) ** (1 / p):
            assert slope @ (other - x) <= 1e-10 * np.max(gain)

    def test_a_bound_that_is_not_tight(self):
        H = 10 * np.eye(2)
        x = best_shares(np.array([-1.0, -2.0]), H, np.array([0.5, 0.5]), 1.0)
        np.testing.assert_allclose(x, [0.55, 0.45], rtol=1e-6)


class TestLeastHinges:
    @pytest.mark.parametrize(("n", "m"), [(5, 2), (60, 3), (200, 12)])
    @pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
    def test_against_a_linear_program(self, n, m, size):
        rng = np.random.default_rng(n)
        y = np.where(np.arange(n) % 3, 1.0, -1.0)
        F, cost = rng.standard_normal((n, m)) + 0.5 * y[:, None], rng.uniform(0, size, m)
        price = rng.uniform(0.5, 2.0, n)
        A = -np.hstack([y[:, None] * F, y[:, None], np.eye(n)])
        rows = np.concatenate([np.ones(m), np.zeros(1 + n)])[None]
        bounds = [(0, None)] * m + [(None, None)] + [(0, None)] * n
        whole = np.concatenate([cost, [0.0], price])
        best = linprog(whole, A_ub=A, b_ub=-np.ones(n), A_eq=rows, b_eq=[1.0], bounds=bounds).fun
        x = least_hinges(y, F, cost, price)
        assert np.all(x >= 0)
        assert x.sum() == pytest.approx(1.0)
        fixed = [(value, value) for value in x] + bounds[m:]
        found = linprog(whole, A_ub=A, b_ub=-np.ones(n), bounds=fixed).fun
        assert found == pytest.approx(best, rel=1e-8)

    def test_squares_against_small_moves(self):
        rng = np.random.default_rng(0)
        n, m = 40, 3
        y = np.where(np.arange(n) % 3, 1.0, -1.0)
        F, cost, price = rng.standard_normal((n, m)) + 0.5 * y[:, None], rng.uniform(0, 3, m), rng.uniform(0.5, 2, n)

        def at(x):
            slacks = np.maximum(0.0, 1 - y * (F @ x + np.linspace(-3, 3, 20_001)[:, None]))
            return cost @ x + np.min(slacks**2 @ price) / 2

        x = least_hinges(y, F, cost, price, power=2)
        for other in rng.dirichlet(np.ones(m), 20):
            assert at(x) <= at(x + 0.05 * (other - x)) + 1e-6


class TestParts:
    def test_a_mixture_is_the_sum_of_its_parts(self):
        X = np.random.default_rng(0).standard_normal((30, 3))
        grams = [Gram(k, X) for k in KERNELS.values()]
        mu, c = np.array([0.5, 0.0, 2.0, 0.1]), np.random.default_rng(1).standard_normal(30)
        K = sum(m * gram.dense for m, gram in zip(mu, grams, strict=True))
        fresh = Mixture(mu, [Gram(k, X) for k in KERNELS.values()])
        np.testing.assert_allclose(fresh.product(c), K @ c)
        np.testing.assert_allclose(fresh.rows([3, 5]), K[[3, 5]])
        np.testing.assert_allclose(fresh.block(slice(0, 4), slice(2, 9)), K[:4, 2:9])
        np.testing.assert_allclose(fresh.diagonal, np.diag(K))
        np.testing.assert_allclose(fresh.dense, K)
        np.testing.assert_allclose(fresh.product(c), K @ c)
        np.testing.assert_allclose(fresh.rows([3, 5]), K[[3, 5]])
        np.testing.assert_allclose(fresh.block(slice(0, 4), slice(2, 9)), K[:4, 2:9])

    @pytest.mark.parametrize("other", [Gaussian(sigma=2.0), Laplacian(sigma=2.0)])
    def test_parts_that_do_not_fit_are_not_kept(self, other):
        X = np.random.default_rng(0).standard_normal((30, 3))
        budget = 8 * 30**2
        grams = [Gram(k, X, budget=budget) for k in (KERNELS["narrow"], other)]
        np.testing.assert_allclose(Mixture([1.0, 2.0], grams).dense, KERNELS["narrow"](X) + 2 * other(X), rtol=1e-12)
        assert not any("dense" in vars(gram) for gram in grams)

    def test_features_side_by_side_unless_they_are_many(self):
        X = np.random.default_rng(0).standard_normal((8, 3))
        assert Mixture([1.0, 2.0], [Gram(Linear(), X)] * 2).features.shape == (8, 6)
        assert Mixture([1.0, 2.0, 1.0], [Gram(Linear(), X)] * 3).features is None

    @pytest.mark.parametrize("n", [1, 5, 300])
    def test_a_system_in_the_memory_of_its_matrix(self, monkeypatch, n):
        monkeypatch.setattr(cholesky, "WIDTH", 64)
        rng = np.random.default_rng(n)
        G, B = rng.standard_normal((n, n)), rng.standard_normal((n, 3))
        A = G @ G.T + n * np.eye(n)
        np.testing.assert_allclose(cholesky.solved_in_place(A.copy(), B), np.linalg.solve(A, B), rtol=1e-9, atol=1e-12)
        with pytest.raises(np.linalg.LinAlgError):
            cholesky.solved_in_place(-A, B)
