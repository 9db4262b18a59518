"""What the engine has for machines that learn a kernel: combinations, inner products of matrices, leaves, hooks."""

import cvxpy as cp
import numpy as np
import pytest

import kopt
from kopt import Formulation, InputError, Program, Sample, Task
from kopt.gram import FrobeniusProducts, Gram
from kopt.kernels import Centred, Gaussian, Linear, Polynomial, Precomputed, Weighted
from kopt.quadratic import quadratic_program
from kopt.verify.conditions import Conditions
from kopt.views import EvaluationView, ProductView
from tests.test_conformance import assert_two_sentences

RNG = np.random.default_rng(3)
X, NEW = RNG.standard_normal((23, 4)), RNG.standard_normal((5, 4))
Y = np.where(X[:, 0] > 0.2, 1.0, -1.0)
KERNELS = {"linear": Linear(), "gaussian": Gaussian(sigma=1.4), "polynomial": Polynomial(degree=2, R=0.5)}


def sample(**kernels) -> Sample:
    return Sample(X, Y, kernel=kernels or KERNELS)


class TestWeighted:
    MU = (0.5, -0.3, 2.0)

    def test_values_diagonals_and_new_points_are_sums(self):
        k = Weighted(self.MU, tuple(KERNELS.values()))
        for values in (lambda k: k(X), lambda k: k(NEW, X), lambda k: k.diagonal(X)):
            expected = sum(m * values(each) for m, each in zip(self.MU, KERNELS.values(), strict=True))
            np.testing.assert_allclose(values(k), expected, rtol=1e-13, atol=1e-13)

    def test_it_prints_what_counts(self):
        assert repr(Weighted((0.5, 0.0, -0.25), tuple(KERNELS.values()))) == (
            "0.5 * Linear() - 0.25 * Polynomial(degree=2, R=0.5)"
        )
        assert repr(Weighted((0.0,), (Linear(),))) == "0"
        assert repr(2 * Weighted((0.5, 1.0), (Linear(), Linear()))) == "2.0 * (0.5 * Linear() + 1 * Linear())"

    def test_semidefinite_is_what_follows_from_the_signs(self):
        kernels = tuple(KERNELS.values())
        assert Weighted((0.5, 0.0, 2.0), kernels).positive_semidefinite
        assert not Weighted((0.5, -0.1, 2.0), kernels).positive_semidefinite

    def test_features_are_there_where_weights_and_kernels_have_them(self):
        k = Weighted((0.5, 2.0), (Linear(), Polynomial(degree=2, R=0.5)))
        F = k.features(k.check(X))
        if F is not None:
            np.testing.assert_allclose(F @ F.T, k(X), rtol=1e-12, atol=1e-12)
        linear = Weighted((0.5, 2.0), (Linear(), Linear()))
        F = linear.features(linear.check(X))
        np.testing.assert_allclose(F @ F.T, linear(X), rtol=1e-12, atol=1e-12)
        assert Weighted((0.5, -2.0), (Linear(), Linear())).features(X) is None

    def test_parts_are_bound_to_the_training_points(self):
        k = Weighted((0.7, 0.2), (Linear().centred(), Gaussian(sigma=1.0))).fit(X)
        assert isinstance(k.kernels[0], Centred)
        centred = X - X.mean(axis=0)
        np.testing.assert_allclose(k(X), 0.7 * centred @ centred.T + 0.2 * Gaussian(sigma=1.0)(X), atol=1e-12)

    def test_an_indefinite_combination_is_refused_where_a_sample_uses_it(self):
        indefinite = Weighted((1.0, -1.0), (Linear(), Gaussian(sigma=1.0)))
        with pytest.raises(InputError) as caught:
            kopt.solve(formulation("SoftMargin")(), Sample(X, Y, kernel=indefinite))
        assert_two_sentences(caught.value)
        assert "eigenvalue" in caught.value.what

    @pytest.mark.parametrize("weights", [(1.0,), (1.0, 2.0, 3.0), (), (np.nan, 1.0)])
    def test_what_does_not_fit_is_refused(self, weights):
        with pytest.raises(InputError) as caught:
            Weighted(weights, (Linear(), Gaussian(sigma=1.0)))
        assert_two_sentences(caught.value)


class TestFrobeniusProducts:
    @pytest.mark.parametrize("block", [1, 3000, 10**9])
    @pytest.mark.parametrize("formed", [False, True])
    def test_one_pass_by_blocks_gives_the_sums_over_matrices(self, block, formed, monkeypatch):
        monkeypatch.setattr("kopt.gram.frobenius.BLOCK_BYTES", block)
        grams = [Gram(each, X) for each in [*KERNELS.values(), Linear().centred()]]
        matrices = [gram.kernel(X) for gram in grams]
        if formed:
            _ = [gram.dense for gram in grams]
        found = FrobeniusProducts.of(grams, Y)
        np.testing.assert_allclose(found.products, [[np.sum(K * L) for L in matrices] for K in matrices], rtol=1e-12)
        np.testing.assert_allclose(found.seen, [K @ Y for K in matrices], atol=1e-11)

    def test_many_points_take_more_than_one_tile(self):
        points = RNG.standard_normal((311, 70))
        gram = Gram(Gaussian(sigma=6.0), points)
        K = Gaussian(sigma=6.0)(points)
        part = np.empty((100, 211))
        gram.block(slice(100, 200), slice(100, 311), part)
        np.testing.assert_allclose(part, K[100:200, 100:311], rtol=1e-13)


def formulation(name: str) -> type[Formulation]:
    return next(cls for cls in kopt.discover() if cls.__name__ == name)


class Ratio(Formulation):
    """min 1/2 ||w||^2 / t + xi'xi + (t - 1)^2 / 2 over t >= 0: a length that is divided by a variable."""

    task = Task.REGRESSION

    def primal(self, s):
        w, t, xi = s.weight("w", kernel="gaussian"), cp.Variable(name="t"), cp.Variable(s.n, name="xi")
        objective = 0.5 * w.norm_squared_over(t) + cp.sum_squares(xi) + self.price(t)
        return Program(cp.Minimize(objective), {"alpha": xi == s.y - w.values})

    def price(self, t):
        return 0.5 * cp.square(t - 1)

    def dual(self, s):
        # L = 1/2 ||w||^2/t - <u, w> + ...: w = t u, and t = 1 + ||u||^2 / 2 minimises (t - 1)^2 / 2 - t ||u||^2 / 2.
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(alpha, kernel="gaussian")
        half = u.norm_squared / 2
        return Program(cp.Maximize(-s.y @ alpha - cp.sum_squares(alpha) / 4 - half - cp.square(half) / 2))

    def recover(self, s, dual):
        u = s.combination(-dual.alpha, kernel="gaussian")
        t = 1 + u.norm_squared / 2
        w = u * t
        return {"w": w, "t": t, "xi": s.y - w.values}


class LinearRatio(Ratio):
    """The same with the price t / 2, which leaves ||u|| <= 1: at w = 0 = t nothing is differentiable."""

    def price(self, t):
        return 0.5 * t

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(alpha, kernel="gaussian")
        return Program(cp.Maximize(-s.y @ alpha - cp.sum_squares(alpha) / 4), domain=[u.norm_squared <= 1])

    def recover(self, s, dual):
        return None


class TestLengthsOverAVariable:
    @pytest.mark.parametrize("cls", [Ratio, LinearRatio])
    def test_the_dual_is_judged(self, cls):
        assert kopt.referee(cls(), sample(), instances=4).judgement is kopt.Judgement.EXACT

    def test_a_wrong_factor_is_refused(self):
        class Doubled(Ratio):
            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                half = s.combination(alpha, kernel="gaussian").norm_squared
                return Program(cp.Maximize(-s.y @ alpha - cp.sum_squares(alpha) / 4 - half - cp.square(half) / 2))

        assert kopt.referee(Doubled(), sample(), instances=4).judgement is kopt.Judgement.WRONG

    def test_a_bound_too_wide_is_refused(self):
        class Wide(LinearRatio):
            def dual(self, s):
                alpha = cp.Variable(s.n, name="alpha")
                u = s.combination(alpha, kernel="gaussian")
                return Program(cp.Maximize(-s.y @ alpha - cp.sum_squares(alpha) / 4), domain=[u.norm_squared <= 2])

        assert kopt.referee(Wide(), sample(), instances=4).judgement is kopt.Judgement.WRONG

    @pytest.mark.parametrize("side", ["primal", "dual"])
    def test_both_sides_are_certified(self, side):
        assert kopt.solve(Ratio(), sample(), side=side).certificate.holds(1e-6)

    def test_stationarity_in_the_divisor_is_measured(self):
        solution = kopt.solve(Ratio(), sample())
        dual = {"alpha": solution.dual.alpha}
        wrong = {"w": solution.primal.w.coefficients, "t": 1.3 * solution.primal.t, "xi": solution.primal.xi}
        stationarity = kopt.verify(Ratio(), sample(), {**dual, **wrong}).as_given.stationarity
        assert stationarity["t"].relative > 0.05
        assert stationarity["w"].relative > 0.05

    @pytest.mark.parametrize(("targets", "stationary"), [(0.01, True), (10.0, False)])
    def test_at_zero_over_zero_the_slope_decides(self, targets, stationary):
        # w = 0 = t is optimal as long as ||u|| <= 1, with alpha = -2 y from xi = y.
        s = Sample(X, targets * Y, kernel=KERNELS)
        answer = {"w": np.zeros(23), "t": 0.0, "xi": s.y, "alpha": -2 * s.y}
        residuals = kopt.verify(LinearRatio(), s, answer).as_given.stationarity
        assert residuals["w"].relative == 0
        assert (residuals["t"].relative <= 1e-12) == stationary

    def test_a_negative_divisor_has_no_value(self):
        solution = kopt.solve(Ratio(), sample())
        answer = {
            "alpha": solution.dual.alpha,
            "w": solution.primal.w.coefficients,
            "t": -0.1,
            "xi": solution.primal.xi,
        }
        assert kopt.verify(Ratio(), sample(), answer).as_given.primal_value == np.inf


class NearestMixture(Formulation):
    """The combination nearest to the unit matrix that is positive semi-definite, with an equality for its trace."""

    task = Task.OTHER

    def primal(self, s):
        mu = cp.Variable(len(s.kernels), name="mu")
        distance = 0.5 * cp.sum_squares(s.mixture(mu) - np.eye(s.n))
        return Program(cp.Minimize(distance), {"Z": s.mixture(mu) >> 0, "tau": s.traces @ mu == s.n})


class TestMatrixLeaves:
    def test_they_give_the_numbers_that_plain_expressions_give(self):
        given, mu = sample(), np.array([0.2, -0.1, 0.05])
        Z = RNG.standard_normal((23, 23))
        Z = Z @ Z.T
        answer = {"mu": mu, "Z": Z, "tau": 0.7}
        leaves = Conditions(NearestMixture(), given)
        plain = Conditions(NearestMixture(), given)
        plain.primal_view = ProductView(given)
        for conditions in (leaves, plain):
            if conditions is plain:
                plain.primal = kopt.formulation.primal_of(NearestMixture(), plain.primal_view)
                plain.primal_view.images = []
            conditions.bind_dual({}, answer)
            conditions.bind_primal(answer)
        assert isinstance(leaves.primal_view, EvaluationView)
        assert leaves.primal_view.images
        assert leaves.primal_value == pytest.approx(plain.primal_value, rel=1e-12)
        [of_leaves, of_plain] = (c.gradient(c.primal.variables["mu"]) for c in (leaves, plain))
        np.testing.assert_allclose(of_leaves[0], of_plain[0], rtol=1e-10)
        assert leaves.multiplier_scale("Z") == pytest.approx(plain.multiplier_scale("Z"), rel=0.5)

    def test_a_primal_alone_is_certified(self):
        certificate = kopt.solve(NearestMixture(), sample()).certificate
        assert certificate.as_given.holds(1e-6)
        assert np.linalg.eigvalsh(certificate.dual.Z)[0] >= -1e-9

    def test_kernels_that_do_not_fit_into_the_budget_are_refused(self):
        with pytest.raises(InputError) as caught:
            kopt.solve(NearestMixture(), Sample(X, Y, kernel=KERNELS, budget=10_000))
        assert_two_sentences(caught.value)


class TestHooks:
    def test_a_repair_that_names_the_wrong_variables_is_the_declarations_fault(self):
        class Misnamed(Ratio):
            def repair(self, s, dual):
                return {"beta": dual.alpha}

        with pytest.raises(kopt.DeclarationError) as caught:
            kopt.solve(Misnamed(), sample())
        assert_two_sentences(caught.value)
        assert "beta" in str(caught.value)

    def test_a_repair_that_does_not_repair_gives_no_bound(self):
        class Useless(LinearRatio):
            def repair(self, s, dual):
                return {"alpha": 3 * dual.alpha}

        solution = kopt.solve(LinearRatio(), sample())
        bounds = kopt.verify(Useless(), sample(), {"alpha": solution.dual.alpha}).bounds
        assert bounds.lower == -np.inf
        assert any("could not be made feasible" in note for note in bounds.notes)

    def test_a_machine_that_learns_no_kernel_says_so(self):
        solution = kopt.solve(formulation("SoftMargin")(), Sample(X, Y))
        with pytest.raises(InputError) as caught:
            _ = solution.kernel
        assert_two_sentences(caught.value)
        assert not hasattr(solution, "kernel")  # what lists the attributes of a solution does not fail


def test_a_dual_with_the_largest_of_several_norms_is_no_quadratic_program():
    reason = quadratic_program(formulation("SoftMarginKernelLearning")(), sample())
    assert isinstance(reason, str)
    assert "curved" in reason


def test_a_checked_matrix_is_not_checked_again():
    K = Linear()(X)
    assert Sample.from_gram(K).gram().kernel.positive_semidefinite
    assert not Precomputed(K).positive_semidefinite
