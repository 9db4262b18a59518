"""The on-line algorithms as solvers: against CLARABEL on the same formulation, and the theory about their runs."""

import dataclasses
import warnings

import numpy as np
import pytest

import kopt
from formulations.classification import (
    HardMargin,
    HardMarginWithoutOffset,
    LinearSeparation,
    SoftMargin,
    SoftMarginWithoutOffset,
    TwoNormSoftMarginWithoutOffset,
    UnitHardMargin,
)
from formulations.online import coordinate_ascent, kernel_perceptron, mistake_driven, online_ranking
from formulations.online.kernel_adatron import adatron
from formulations.online.kernel_perceptron import novikoff, perceptron
from formulations.online.online_ranking import rank_on_line, update_bound
from formulations.online.online_regression import regression
from formulations.ranking import AugmentedHardRanking, RankSeparation
from formulations.regression import EpsilonInsensitive, EpsilonInsensitiveWithoutOffset, HardTube, Ridge
from kopt import Sample
from kopt.kernels import Gaussian, Linear, Polynomial
from kopt.solvers.choice import available
from tests.instances import instance
from tests.tolerances import CERTIFIED, CLAIM, DIFFERENT, MULTIPLIER, VALUE

XOR = Sample([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]], [1, 1, -1, -1], kernel=Polynomial(degree=2, R=1))
METHODS = ("ADATRON", "ONLINE_RANKING", "ONLINE_REGRESSION", "PERCEPTRON")
KERNELS = ("linear", "gaussian", "polynomial", "sum")


def solve_unwarned(formulation, sample, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kopt.CertificateWarning)
        return kopt.solve(formulation, sample, **options)


def drawn(cls):
    """One instance for each kernel, half of them with costs where the formulation makes use of them."""
    given = [instance(cls.__name__, kernel, seed) for seed, kernel in enumerate(KERNELS)]
    return [(each.formulation, each.sample) for each in given]


def failing(claims):
    return [claim for claim in claims if not claim.holds(CLAIM)]


def assert_agrees(solution, formulation, sample):
    reference = kopt.solve(formulation, sample, method="CLARABEL")
    assert solution.certificate.holds(CERTIFIED)
    assert solution.attempts[0].status == "converged"
    assert solution.claims
    assert failing(solution.claims) == []
    assert abs(solution.value - reference.value) <= VALUE * reference.certificate.as_given.scale
    difference = solution.primal.w - reference.primal.w
    assert difference.norm <= MULTIPLIER * reference.primal.w.norm


@pytest.mark.parametrize("method", METHODS)
def test_they_are_found_and_have_to_be_named(method):
    assert available()[method].place(XOR) is None


class TestAdatron:
    @pytest.mark.parametrize("cls", [HardMarginWithoutOffset, SoftMarginWithoutOffset, TwoNormSoftMarginWithoutOffset])
    def test_it_agrees_with_clarabel(self, cls):
        for formulation, sample in drawn(cls):
            assert_agrees(kopt.solve(formulation, sample, method="ADATRON"), formulation, sample)

    @pytest.mark.parametrize("cls", [Ridge, HardTube, EpsilonInsensitiveWithoutOffset])
    def test_it_takes_any_quadratic_program_over_a_box(self, cls):
        [(formulation, sample)] = drawn(cls)[:1]
        assert_agrees(kopt.solve(formulation, sample, method="ADATRON"), formulation, sample)

    @pytest.mark.parametrize(
        ("formulation", "side", "reason"),
        [
            (SoftMargin(), "dual", "offset"),
            (HardMargin(), "dual", "offset"),
            (UnitHardMargin(), "dual", "offset"),
            (SoftMarginWithoutOffset(), "primal", "duals only"),
            (LinearSeparation(), "dual", "not a box|ties its variables|offset"),
        ],
    )
    def test_it_refuses_what_it_cannot_solve(self, formulation, side, reason):
        sample = Sample([[-1.0], [2.0], [3.0]], [-1, 1, 1])
        with pytest.raises(kopt.InputError, match=reason):
            kopt.solve(formulation, sample, side=side, method="ADATRON")

    def test_it_refuses_what_is_too_large(self, monkeypatch):
        monkeypatch.setattr(coordinate_ascent, "MOST_VARIABLES", 3)
        with pytest.raises(kopt.InputError, match="4 variables, more than 3"):
            kopt.solve(HardMarginWithoutOffset(), XOR, method="ADATRON")

    def test_the_printed_step_diverges_where_the_diagonal_exceeds_2(self):
        """One point with k(x, x) = 2.5: with a step of 1 alpha is 0 and 1 in turn, with 1/2.5 it is there at once."""
        printed = [adatron_as_printed(np.array([[2.5]]), np.array([1.0]), sweeps)[0] for sweeps in (100, 101)]
        assert np.min(np.abs(np.array(printed) - 1 / 2.5)) >= DIFFERENT
        run = adatron(np.array([[2.5]]), np.ones(1), np.zeros(1), np.full(1, np.inf))
        assert run.z[0] == 1 / 2.5
        assert failing(run.claims()) == []

    def test_the_printed_step_is_the_right_one_for_a_unit_diagonal(self):
        rng = np.random.default_rng(2)
        X, y = rng.standard_normal((9, 2)), np.where(rng.permutation(9) < 4, 1.0, -1.0)
        K = Gaussian(sigma=0.3)(X, X)
        printed = adatron_as_printed(K, y, sweeps=3000)
        ours = kopt.solve(HardMarginWithoutOffset(), Sample.from_gram(K, y), method="ADATRON").dual.alpha
        assert np.max(np.abs(printed - ours)) <= MULTIPLIER * np.max(ours)

    def test_a_point_at_the_origin_goes_to_its_bound(self):
        sample = Sample([[-1.0], [2.0], [0.0]], [-1, 1, 1])
        solution = kopt.solve(SoftMarginWithoutOffset(C=0.7), sample, method="ADATRON")
        assert solution.dual.alpha[2] == 0.7
        assert solution.certificate.holds(CERTIFIED)

    def test_a_point_at_the_origin_without_a_bound_is_a_proof(self):
        with pytest.raises(kopt.Infeasible, match="not separable"):
            kopt.solve(HardMarginWithoutOffset(), Sample([[-1.0], [2.0], [0.0]], [-1, 1, 1]), method="ADATRON")

    def test_classes_that_are_not_separable_are_refused(self, monkeypatch):
        monkeypatch.setattr(coordinate_ascent, "MOST_SWEEPS", 200)
        with pytest.raises(kopt.Infeasible, match="not separable"):
            kopt.solve(HardMarginWithoutOffset(), Sample([[1.0], [2.0], [3.0]], [-1, 1, 1]), method="ADATRON")

    def test_unfinished_sweeps_are_not_called_converged(self, monkeypatch):
        monkeypatch.setattr(coordinate_ascent, "MOST_SWEEPS", 1)
        formulation, sample = drawn(SoftMarginWithoutOffset)[3]
        with pytest.warns(kopt.CertificateWarning):
            solution = kopt.solve(formulation, sample, method="ADATRON")
        assert solution.attempts[0].status.startswith("not converged")
        assert [claim.statement for claim in failing(solution.claims)] == [solution.claims[1].statement]
        assert not solution.certificate.holds(CERTIFIED)

    def test_the_claims_fail_for_another_record(self):
        P, gain = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
        run = adatron(P, gain, np.zeros(2), np.full(2, np.inf))
        assert failing(run.claims()) == []
        fallen = dataclasses.replace(run, values=(*run.values, run.values[-1] - DIFFERENT))
        assert len(failing(fallen.claims())) == 1
        elsewhere = dataclasses.replace(run, violation=DIFFERENT)
        assert len(failing(elsewhere.claims())) == 1

    def test_a_step_in_the_wrong_direction_shows(self):
        """Control: with a step that is too long the objective does not rise over the sweeps."""
        P, gain = np.array([[1.0]]), np.array([1.0])
        run = coordinate_ascent.ascend(
            P,
            np.array([0.5]),
            best=lambda i, z_i, product: z_i + 2.5 * (1.0 - product),
            value=lambda z, products: float(gain @ z - z @ products / 2),
            violation=lambda z, products: float(np.max(np.abs(gain - products))) if abs(z[0]) < 1e6 else 0.0,
            size=1.0,
        )
        assert failing(run.claims())


def adatron_as_printed(K, y, sweeps):
    """Algorithm 7.59 with a step of 1."""
    alpha = np.zeros(len(y))
    for _ in range(sweeps):
        for i in range(len(y)):
            alpha[i] = max(0.0, alpha[i] + 1 - y[i] * (K[i] @ (y * alpha)))
    return alpha


class TestOnlineRegression:
    @pytest.mark.parametrize("cls", [HardTube, EpsilonInsensitiveWithoutOffset])
    def test_it_agrees_with_clarabel(self, cls):
        for formulation, sample in drawn(cls):
            solution = kopt.solve(formulation, sample, method="ONLINE_REGRESSION")
            assert_agrees(solution, formulation, sample)
            assert not np.any((solution.dual.alpha > 0) & (solution.dual.alpha_hat > 0))

    def test_it_agrees_with_the_adatron_on_the_same_dual(self):
        formulation, sample = drawn(EpsilonInsensitiveWithoutOffset)[1]
        here, there = (kopt.solve(formulation, sample, method=method) for method in ("ONLINE_REGRESSION", "ADATRON"))
        assert (here.primal.w - there.primal.w).norm <= MULTIPLIER * there.primal.w.norm

    def test_the_clip_makes_the_difference(self):
        """Without it the algorithm finds the hard tube, as the text prints it."""
        x = np.linspace(0, 3, 7)
        sample = Sample(x[:, None], np.sin(3 * x) + 0.2, kernel=Gaussian(sigma=0.4))
        hard = kopt.solve(HardTube(epsilon=0.1), sample, method="ONLINE_REGRESSION")
        clipped = kopt.solve(EpsilonInsensitiveWithoutOffset(C=0.3, epsilon=0.1), sample, method="ONLINE_REGRESSION")
        loose = kopt.solve(EpsilonInsensitiveWithoutOffset(C=50.0, epsilon=0.1), sample, method="ONLINE_REGRESSION")
        assert (hard.primal.w - loose.primal.w).norm <= MULTIPLIER * hard.primal.w.norm
        assert (hard.primal.w - clipped.primal.w).norm >= DIFFERENT * hard.primal.w.norm

    @pytest.mark.parametrize(
        ("formulation", "reason"),
        [(EpsilonInsensitive(), "offset"), (Ridge(), "alpha and alpha_hat")],
    )
    def test_it_refuses_what_it_cannot_solve(self, formulation, reason):
        with pytest.raises(kopt.InputError, match=reason):
            kopt.solve(formulation, Sample([[1.0], [2.0]], [1.0, 3.0]), method="ONLINE_REGRESSION")

    def test_a_point_at_the_origin(self):
        sample = Sample([[1.0], [2.0], [0.0], [0.0]], [1.0, 2.0, -3.0, 0.05])
        solution = kopt.solve(EpsilonInsensitiveWithoutOffset(C=0.2, epsilon=0.1), sample, method="ONLINE_REGRESSION")
        beta = solution.dual.alpha_hat - solution.dual.alpha
        assert beta[2:].tolist() == [-0.2, 0.0]
        assert solution.certificate.holds(CERTIFIED)
        with pytest.raises(kopt.Infeasible):
            kopt.solve(HardTube(epsilon=0.1), sample, method="ONLINE_REGRESSION")

    def test_one_coefficient_is_a_soft_threshold(self):
        box = np.full(1, -np.inf), np.full(1, np.inf)
        for y, expected in ((3.0, 1.25), (-3.0, -1.25), (0.4, 0.0)):
            run = regression(np.array([[2.0]]), np.array([y]), np.array([0.5]), *box)
            assert run.z[0] == expected

    def test_the_claims_fail_for_another_record(self):
        run = regression(np.eye(2), np.array([1.0, -2.0]), np.full(2, 0.1), np.full(2, -1.0), np.full(2, 1.0))
        assert failing(run.claims()) == []
        assert failing(dataclasses.replace(run, violation=DIFFERENT).claims())
        assert failing(dataclasses.replace(run, values=run.values[::-1]).claims())


def separable(seed, n=20):
    """Points on either side of a plane through the origin, and a kernel under which they stay there."""
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return Sample(X, np.where(X @ [0.8, 0.6, 0.0] > 0, 1, -1), kernel=Linear())


class TestPerceptron:
    def test_xor(self):
        run = perceptron(XOR.gram().dense, XOR.y)
        assert (XOR.y * run.alpha).tolist() == [1, 1, -1, -1]
        assert (run.updates, run.separated) == (4, True)
        [along, bound] = novikoff(run, XOR)
        assert bound.left == 4
        assert abs(bound.right - 4.5) <= VALUE * 4.5
        assert failing([*run.claims(), along, bound]) == []

    @pytest.mark.parametrize("seed", range(4))
    def test_it_separates_what_can_be_separated(self, seed):
        sample = separable(seed)
        solution = kopt.solve(LinearSeparation(), sample, method="PERCEPTRON")
        assert solution.attempts[0].status == "separated"
        assert solution.certificate.holds(CERTIFIED)
        assert solution.value == 0
        assert np.min(sample.y * solution.primal.w.values) >= 1 - CERTIFIED
        assert len(solution.claims) == 4
        assert failing(solution.claims) == []
        assert np.array_equal(solution.predict(sample.X), sample.y)

    def test_clarabel_finds_the_same_optimum(self):
        assert abs(solve_unwarned(LinearSeparation(), separable(0), method="CLARABEL").value) <= VALUE

    def test_costs_do_not_matter_where_nothing_is_lost(self):
        sample = separable(1)
        costly = Sample(sample.X, sample.y, costs=np.linspace(0.5, 3, sample.n))
        plain, dear = (kopt.solve(LinearSeparation(), s, method="PERCEPTRON") for s in (sample, costly))
        assert dear.certificate.holds(CERTIFIED)
        assert np.array_equal(plain.primal.w.values, dear.primal.w.values)
        assert len(dear.claims) == 4

    def test_what_cannot_be_separated_ends_with_an_honest_status(self, monkeypatch):
        monkeypatch.setattr(kernel_perceptron, "MOST_EPOCHS", 50)
        sample = Sample([[1.0], [2.0], [3.0]], [-1, 1, 1])
        with pytest.warns(kopt.CertificateWarning, match="does not hold"):
            solution = kopt.solve(LinearSeparation(), sample, method="PERCEPTRON")
        assert solution.attempts[0].status.startswith("not separated")
        assert not solution.certificate.holds(CERTIFIED)
        exact = kopt.solve(LinearSeparation(), sample)
        assert exact.certificate.holds(CERTIFIED)
        bounds = solution.certificate.bounds
        assert bounds.lower <= exact.value <= bounds.upper + VALUE
        assert len(solution.claims) == 2
        assert failing(solution.claims) == []

    def test_it_refuses_what_it_cannot_solve(self, monkeypatch):
        with pytest.raises(kopt.InputError, match="LinearSeparation only"):
            kopt.solve(HardMarginWithoutOffset(), XOR, method="PERCEPTRON")
        monkeypatch.setattr(mistake_driven, "MOST_POINTS", 3)
        with pytest.raises(kopt.InputError, match="4 points, more than 3"):
            kopt.solve(LinearSeparation(), XOR, method="PERCEPTRON")

    def test_the_bound_is_left_out_where_it_would_cost_too_much(self, monkeypatch):
        monkeypatch.setattr(mistake_driven, "MOST_POINTS_WITH_BOUND", 3)
        assert len(kopt.solve(LinearSeparation(), XOR, method="PERCEPTRON").claims) == 2

    def test_the_claims_fail_for_another_record(self):
        run = perceptron(XOR.gram().dense, XOR.y)
        more = dataclasses.replace(run, updates=5)
        assert [claim.statement for claim in failing(more.claims())] == ["sum alpha = number of mistakes t"]
        assert len(failing(novikoff(more, XOR))) == 2
        assert len(failing(dataclasses.replace(run, norm_squared=37.0).claims())) == 1

    def test_the_margin_with_an_offset_would_bound_too_little(self):
        """Control: far from the origin the margin with offset is large, the one without is not."""
        sample = Sample([[12.0, 1.0], [16.0, 1.0]], [-1, 1])
        run = perceptron(sample.gram().dense, sample.y)
        gamma = 1 / kopt.solve(HardMargin(), sample).primal.w.norm
        assert run.updates > run.radius_squared / gamma**2
        assert failing(novikoff(run, sample)) == []


def ranked(seed, n=18):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    return Sample(X, 1 + np.searchsorted([-0.7, 0.1, 0.9], X @ [0.8, 0.6]))


class TestOnlineRanking:
    @pytest.mark.parametrize("seed", range(4))
    def test_it_ranks_what_can_be_ranked(self, seed):
        sample = ranked(seed)
        solution = kopt.solve(RankSeparation(), sample, method="ONLINE_RANKING")
        assert solution.attempts[0].status == "separated"
        assert solution.certificate.holds(CERTIFIED)
        assert abs(solution.value) <= VALUE
        assert np.array_equal(solution.predict(sample.X), sample.y)
        assert np.all(np.diff(solution.primal.b) >= 2 - CERTIFIED)
        assert len(solution.claims) == 6
        assert failing(solution.claims) == []

    def test_the_printed_bound_is_too_small(self):
        """Ranks 1 at 12 and 2 at 16: the margin of w alone is 2, but 345 ranks are wrong on the way."""
        sample = Sample([[12.0], [16.0]], [1, 2])
        run = rank_on_line(sample.gram().dense, sample.y)
        assert run.updates == run.errors == 345
        assert run.errors > (16**2 + 1) / 2**2
        [along, bound] = update_bound(run, sample)
        assert failing([along, bound]) == []
        gamma = kopt.solve(AugmentedHardRanking(), sample).primal.gamma
        assert abs(bound.right - (16**2 + 1) / gamma**2) <= VALUE * bound.right

    def test_two_ranks_are_a_perceptron_in_the_space_of_w_and_b(self):
        """(phi(x), -1) with labels -1 and +1; a point on the threshold is a mistake for the lower rank only."""
        rng = np.random.default_rng(3)
        X = rng.standard_normal((15, 2))
        y = np.where(X @ [0.8, 0.6] > 0.3, 2, 1)
        ranking = rank_on_line(X @ X.T, y.astype(float))
        alpha, values, updates = np.zeros(15), np.zeros(15), 0
        K, sign = X @ X.T + 1, 2.0 * y - 3
        while np.any((values >= 0) != (sign > 0)):
            for i in range(15):
                if (values[i] >= 0) != (sign[i] > 0):
                    alpha[i] += 1
                    values += sign[i] * K[i]
                    updates += 1
        assert ranking.updates == updates
        assert np.array_equal(ranking.alpha, sign * alpha)
        assert ranking.b[0] == -np.sum(sign * alpha)

    def test_a_point_on_a_threshold_ends_up_beside_it(self):
        """At the end one point is on the threshold below it, which counts as the right rank."""
        sample = Sample([[0.0], [1.0]], [1, 2])
        run = rank_on_line(sample.gram().dense, sample.y)
        assert np.min(np.abs(run.values - run.b[0])) == 0
        solution = kopt.solve(RankSeparation(), sample, method="ONLINE_RANKING")
        assert solution.certificate.holds(CERTIFIED)

    def test_what_cannot_be_ranked_ends_with_an_honest_status(self, monkeypatch):
        monkeypatch.setattr(online_ranking, "MOST_EPOCHS", 50)
        sample = Sample([[0.0], [1.0], [2.0], [3.0]], [1, 3, 2, 3])
        with pytest.warns(kopt.CertificateWarning, match="does not hold"):
            solution = kopt.solve(RankSeparation(), sample, method="ONLINE_RANKING")
        assert solution.attempts[0].status.startswith("not separated")
        exact = kopt.solve(RankSeparation(), sample)
        assert exact.certificate.holds(CERTIFIED)
        assert exact.value > DIFFERENT
        bounds = solution.certificate.bounds
        assert bounds.lower <= exact.value <= bounds.upper + VALUE
        assert failing(solution.claims) == []

    def test_it_refuses_what_it_cannot_solve(self):
        with pytest.raises(kopt.InputError, match="RankSeparation only"):
            kopt.solve(AugmentedHardRanking(), ranked(0), method="ONLINE_RANKING")

    @pytest.mark.parametrize(
        "change", [{"closest": -1.0}, {"alpha": np.ones(18)}, {"updates": 10**6}, {"values": np.full(18, 1e6)}]
    )
    def test_the_claims_fail_for_another_record(self, change):
        sample = ranked(0)
        run = rank_on_line(sample.gram().dense, sample.y)
        run = dataclasses.replace(run, alpha=np.abs(run.alpha) + 1) if "values" in change else run
        assert failing(dataclasses.replace(run, **change).claims())

    def test_the_bound_fails_for_another_record(self):
        sample = Sample([[12.0], [16.0]], [1, 2])
        run = rank_on_line(sample.gram().dense, sample.y)
        assert len(failing(update_bound(dataclasses.replace(run, errors=13_000), sample))) == 2


class TestSeparation:
    def test_the_optimum_of_opposite_points_is_their_number(self):
        """x and -x with the same label: the hinge losses of t and -t add up to at least 2."""
        sample = Sample([[1.0], [-1.0], [2.0], [-2.0]], [1, 1, -1, -1])
        solution = kopt.solve(LinearSeparation(), sample)
        assert abs(solution.value - 4) <= VALUE * 4
        assert np.max(np.abs(solution.dual.alpha - 1)) <= MULTIPLIER

    def test_two_ranks_are_two_classes_with_an_offset(self):
        """The offset as a constant feature, free of charge as everything is."""
        rng = np.random.default_rng(5)
        X, y = rng.standard_normal((13, 2)), np.where(rng.permutation(13) < 5, 1, -1)
        costs = rng.uniform(0.5, 2.0, 13)
        classes = Sample(np.column_stack([X, np.ones(13)]), y, costs=costs)
        ranks = Sample(X, (y + 3) / 2, costs=costs)
        one, other = kopt.solve(LinearSeparation(), classes), kopt.solve(RankSeparation(), ranks)
        assert one.value > DIFFERENT
        assert abs(one.value - other.value) <= VALUE * one.value

    def test_the_order_of_the_thresholds_has_a_price(self):
        """Ranks 1, 3, 2 along a line: without the order the thresholds would cross."""
        sample = Sample([[0.0], [0.1], [1.0], [1.1], [0.5], [0.6]], [1, 1, 3, 3, 2, 1])
        solution = kopt.solve(RankSeparation(), sample)
        assert np.all(np.diff(solution.primal.b) >= 0)
        assert solution.certificate.holds(CERTIFIED)

    @pytest.mark.parametrize("factor", [1e-6, 1e6])
    def test_the_size_of_the_kernel_does_not_matter(self, factor):
        for cls in (LinearSeparation, RankSeparation):
            for formulation, sample in drawn(cls)[:2]:
                K = sample.gram().dense
                solution = kopt.solve(formulation, sample)
                scaled = kopt.solve(formulation, Sample.from_gram(factor * K, sample.y, costs=sample.costs))
                assert scaled.certificate.holds(CERTIFIED)
                assert failing(scaled.certificate.claims) == []
                assert abs(scaled.value - solution.value) <= VALUE * solution.certificate.as_given.scale
