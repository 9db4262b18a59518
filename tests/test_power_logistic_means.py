"""Powers of the slacks, logistic regression, and the machines made of class means, against closed forms and others."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import entr, expit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.neighbors import NearestCentroid

import kopt
from formulations.classification.fisher_discriminant import FisherDiscriminant
from formulations.classification.fisher_quotient import FisherQuotient
from formulations.classification.logistic_regression import LogisticRegression
from formulations.classification.margins import best_offset
from formulations.classification.means import mean_weights, other_class, quotient
from formulations.classification.parzen_classifier import ParzenClassifier
from formulations.classification.power_soft_margin import PowerSoftMargin
from formulations.classification.soft_margin import SoftMargin
from formulations.classification.two_norm_soft_margin import TwoNormSoftMargin
from formulations.regression.ridge import Ridge
from kopt import Combination, Point, Sample, Task
from kopt.kernels import Centred, Gaussian, Linear
from kopt.views import ProductView
from tests.instances import KERNELS, data, variable_names
from tests.tolerances import CERTIFIED, CLAIM, DIFFERENT, ENCLOSURE, LINEAR_SYSTEM, MAP, MULTIPLIER, VALUE

every_kernel = pytest.mark.parametrize("kernel", list(KERNELS))
with_and_without_costs = pytest.mark.parametrize("costs", [False, True])


def drawn(kernel: str, seed: int, n: int = 29, costs: bool = False) -> tuple[Sample, np.ndarray]:
    """A sample of overlapping, unbalanced classes, and new points."""
    rng = np.random.default_rng(seed)
    X, y = data(Task.CLASSIFICATION, n, 1.0, rng)
    drawn_costs = rng.uniform(0.4, 2.5, n) if costs else None
    return Sample(X, y, kernel=KERNELS[kernel], costs=drawn_costs), rng.standard_normal((13, 3))


def balanced(kernel: kopt.kernels.Kernel, n: int = 24) -> Sample:
    X, y = data(Task.CLASSIFICATION, n, 0.5, np.random.default_rng(8))
    order = np.argsort(X @ [0.8, 0.6, 0.0] + 0.3 * y)
    return Sample(X, np.where(np.isin(np.arange(n), order[n // 2 :]), 1.0, -1.0), kernel=kernel)


def cosine(v: np.ndarray, w: np.ndarray) -> float:
    return float(v @ w / np.linalg.norm(v) / np.linalg.norm(w))


def assert_close(actual, expected, tolerance):
    assert np.max(np.abs(actual - expected)) <= tolerance * max(1.0, np.max(np.abs(expected)))


class TestPowerSoftMargin:
    @every_kernel
    @with_and_without_costs
    def test_with_squares_it_is_the_two_norm_machine(self, kernel, costs):
        sample, new = drawn(kernel, 1, costs=costs)
        ours = kopt.solve(PowerSoftMargin(C=0.7, p=2.0), sample)
        theirs = kopt.solve(TwoNormSoftMargin(C=1.4), sample)
        assert abs(ours.value - theirs.value) <= VALUE * theirs.certificate.as_given.scale
        assert_close(ours.decision_function(new), theirs.decision_function(new), MULTIPLIER)
        assert_close(ours.dual.alpha, theirs.dual.alpha, MULTIPLIER)

    def test_with_squares_it_is_not_the_two_norm_machine_of_the_same_cost(self):
        sample, new = drawn("sum", 1)
        ours, theirs = kopt.solve(PowerSoftMargin(C=0.7, p=2.0), sample), kopt.solve(TwoNormSoftMargin(C=0.7), sample)
        assert np.max(np.abs(ours.decision_function(new) - theirs.decision_function(new))) > DIFFERENT

    @pytest.mark.parametrize("p", [1.2, 1.5, np.pi / 2, 2.0, 2.7, 3.0, 4.0])
    @pytest.mark.parametrize("C", [0.06, 1.3, 40.0])
    def test_two_points_on_a_line(self, C, p):
        """By symmetry b = 0, and w solves w = 2 p C (1 - w)^(p - 1)."""
        solution = kopt.solve(PowerSoftMargin(C=C, p=p), Sample([[-1.0], [1.0]], [-1, 1]))
        w = brentq(lambda t: t - 2 * p * C * (1 - t) ** (p - 1), 0.0, 1.0, xtol=1e-15)
        value = 0.5 * w**2 + 2 * C * (1 - w) ** p
        assert abs(solution.value - value) <= VALUE * value
        assert_close(solution.dual.alpha, np.full(2, w / 2), MAP)
        assert solution.certificate.holds(CERTIFIED)

    def test_as_p_falls_to_1_it_becomes_the_soft_margin_machine(self):
        sample, _ = drawn("gaussian", 3)
        soft = kopt.solve(SoftMargin(C=0.8), sample).value
        distance = {p: abs(kopt.solve(PowerSoftMargin(C=0.8, p=p), sample).value - soft) for p in (1.02, 1.2, 1.8)}
        assert distance[1.02] < DIFFERENT * soft < distance[1.2] < distance[1.8]

    def test_the_exponent_is_taken_as_it_is(self):
        """An exponent that is no fraction with a small denominator, on either side."""
        sample, _ = drawn("linear", 2)
        formulation = PowerSoftMargin(C=0.9, p=float(np.sqrt(2)))
        for side in ("primal", "dual"):
            solution = kopt.solve(formulation, sample, side=side)
            assert abs(solution.certificate.as_given.primal_value - solution.certificate.bounds.upper) <= (
                CERTIFIED * solution.certificate.as_given.scale
            )
            xi = np.maximum(0.0, solution.primal.xi)
            objective = 0.5 * solution.primal.w.norm_squared + 0.9 * np.sum(xi ** np.sqrt(2))
            assert abs(objective - solution.certificate.as_given.primal_value) <= ENCLOSURE * objective

    @pytest.mark.parametrize("p", [1.05, 1.5, 2.0, 3.0])
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_the_offset_is_the_minimum_for_any_scores(self, seed, p):
        sample, _ = drawn("linear", seed, n=17, costs=True)
        alpha = np.random.default_rng(seed).random(17) * 10.0 ** (2 * seed - 2)
        view = ProductView(sample)
        recovered = PowerSoftMargin(p=p).recover(view, Point({"alpha": alpha}))
        scores = recovered["w"].values

        def penalty(b):
            return sample.costs @ np.maximum(0.0, 1 - sample.y * (scores + b)) ** p

        b, unit = recovered["b"], 1 + np.max(np.abs(scores))
        found = minimize_scalar(penalty, bracket=(b - unit, b + unit), tol=1e-12)
        assert penalty(b) <= found.fun * (1 + ENCLOSURE)
        assert min(penalty(b - 1e-3 * unit), penalty(b + 1e-3 * unit)) > penalty(b)
        if p == 2:
            exact = best_offset(sample.y, scores, sample.costs, power=2)
            assert abs(b - exact) <= ENCLOSURE * unit

    def test_without_slacks_the_offset_is_in_the_middle(self):
        """Scores that leave room on both sides: every b in [-3, 1] has no slack at all."""
        sample = Sample.from_gram(np.diag([2.0, 4.0]), [1, -1])
        recovered = PowerSoftMargin(p=1.5).recover(ProductView(sample), Point({"alpha": np.array([2.0, 0.5])}))
        assert recovered["b"] == pytest.approx(-1.0)
        assert not np.any(recovered["xi"])

    @pytest.mark.parametrize("p", [1.0, 0.5, -2.0, np.inf])
    def test_other_exponents_are_refused(self, p):
        with pytest.raises(kopt.InputError, match=r"p is .* a finite number > 1"):
            PowerSoftMargin(p=p)


class TestLogisticRegression:
    @pytest.mark.parametrize("C", [0.07, 0.9, 14.0])
    @with_and_without_costs
    @every_kernel
    def test_scikit_learn(self, kernel, costs, C):
        sample, _ = drawn(kernel, 4, costs=costs)
        Phi = sample.gram().factor
        theirs = Theirs(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
        theirs.fit(Phi, sample.y, sample_weight=sample.costs)
        ours = kopt.solve(LogisticRegression(C=C), sample)
        assert_close(ours.primal.w.values + ours.primal.b, theirs.decision_function(Phi), MULTIPLIER)
        wrong = 1 - theirs.predict_proba(Phi)[np.arange(sample.n), (sample.y > 0).astype(int)]
        assert_close(ours.dual.alpha / (C * sample.costs), wrong, MULTIPLIER)

    def test_with_costs_it_is_not_the_one_without(self):
        sample, new = drawn("sum", 4, costs=True)
        plain = Sample(sample.X, sample.y, kernel=KERNELS["sum"])
        ours, other = (kopt.solve(LogisticRegression(C=0.9), each).decision_function(new) for each in (sample, plain))
        assert np.max(np.abs(ours - other)) > DIFFERENT

    @every_kernel
    def test_every_point_is_a_support_vector(self, kernel):
        sample, _ = drawn(kernel, 5)
        alpha = kopt.solve(LogisticRegression(C=3.0), sample).dual.alpha
        assert np.min(alpha) > CERTIFIED
        assert np.max(alpha) < 3.0 - CERTIFIED
        assert np.min(kopt.solve(SoftMargin(C=3.0), sample).dual.alpha) < CERTIFIED

    @pytest.mark.parametrize("plus", [1, 3, 6])
    def test_equal_points_have_the_entropy_of_the_labels(self, plus):
        y = np.where(np.arange(7) < plus, 1.0, -1.0)
        solution = kopt.solve(LogisticRegression(C=2.3), Sample(np.full((7, 2), 1.5), y))
        share = plus / 7
        value = 2.3 * 7 * (entr(share) + entr(1 - share))
        assert abs(solution.value - value) <= VALUE * value
        assert abs(expit(solution.primal.w.values[0] + solution.primal.b) - share) <= MAP

    @pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e8])
    def test_the_offset_makes_the_probabilities_add_up_for_any_scores(self, size):
        sample, _ = drawn("linear", 6, costs=True)
        alpha = size * np.random.default_rng(2).random(sample.n)
        recovered = LogisticRegression().recover(ProductView(sample), Point({"alpha": alpha}))
        scores, b = recovered["w"].values, recovered["b"]
        weight = sample.costs[sample.y > 0].sum()
        step = ENCLOSURE * max(1.0, np.max(np.abs(scores)))

        def excess(b):
            return sample.costs @ expit(scores + b) - weight

        assert excess(b - step) <= ENCLOSURE * sample.n
        assert excess(b + step) >= -ENCLOSURE * sample.n
        assert excess(b - 1e-2 * max(1.0, np.ptp(scores))) < 0 < excess(b + 1e-2 * max(1.0, np.ptp(scores)))


class TestFisher:
    @pytest.mark.parametrize("ridge", [0.03, 1.7, 60.0])
    @every_kernel
    def test_the_linear_system(self, kernel, ridge):
        sample, new = drawn(kernel, 7)
        K, y, D = sample.gram().dense, sample.y, other_class(sample.y)
        plus, minus = (y > 0).astype(float), (y < 0).astype(float)
        B = np.diag(D) - np.outer(D * plus, plus) / plus.sum() - np.outer(D * minus, minus) / minus.sum()
        alpha = np.linalg.solve(B @ K + ridge * np.eye(sample.n), D * y)
        solution = kopt.solve(FisherDiscriminant(ridge=ridge), sample)
        f = sample.gram().cross(new) @ alpha - 0.5 * alpha @ K @ mean_weights(y)
        assert_close(solution.decision_function(new), f, LINEAR_SYSTEM)

    def test_the_printed_system_is_another_machine(self):
        """With y for D y on the right, on unbalanced classes away from the origin, J is smaller."""
        rng = np.random.default_rng(0)
        y = np.where(np.arange(40) < 4, 1.0, -1.0)
        sample = Sample(rng.standard_normal((40, 2)) + [3.0, 0.0] + 0.9 * y[:, None] * [0.0, 1.0], y)
        s, D, ridge = ProductView(sample), other_class(y), 1.0
        plus, minus = (y > 0).astype(float), (y < 0).astype(float)
        B = np.diag(D) - np.outer(D * plus, plus) / plus.sum() - np.outer(D * minus, minus) / minus.sum()
        printed = s.combination(np.linalg.solve(B @ sample.gram().dense + ridge * np.eye(40), y))
        w = kopt.solve(FisherDiscriminant(ridge=ridge), sample).primal.w
        lambda_ = ridge * 40 / (2 * 4 * 36)
        assert quotient(s, printed, lambda_) < (1 - DIFFERENT) * quotient(s, w, lambda_)

    @pytest.mark.parametrize("ridge", [0.03, 1.7, 60.0])
    @every_kernel
    def test_both_forms_maximise_the_quotient(self, kernel, ridge):
        """max m'w^2 / w'F w = m' F^-1 m in coordinates of feature space."""
        sample, _ = drawn(kernel, 9)
        Phi, y = sample.gram().factor, sample.y
        m = Phi[y > 0].mean(axis=0) - Phi[y < 0].mean(axis=0)
        F = ridge * np.eye(Phi.shape[1]) + sum(np.cov(Phi[y == sign].T, bias=True) for sign in (1, -1))
        J = m @ np.linalg.solve(F, m)
        share = 2 * np.sum(y > 0) * np.sum(y < 0) / sample.n
        ours, scaled = (
            kopt.solve(FisherQuotient(ridge=ridge), sample),
            kopt.solve(FisherDiscriminant(ridge=ridge * share), sample),
        )
        assert 1 / ours.dual.nu == pytest.approx(J, rel=MAP)
        assert ours.value == pytest.approx(1 / (2 * J), rel=MAP)
        assert scaled.value == pytest.approx(-share / 2 * J, rel=MAP)
        assert scaled.primal.m[0] - scaled.primal.m[1] == pytest.approx(J, rel=MAP)
        assert_close(scaled.primal.w.values / J, ours.primal.w.values, MULTIPLIER)
        s, rng = ProductView(sample), np.random.default_rng(1)
        others = [quotient(s, s.combination(rng.standard_normal(sample.n)), ridge) for _ in range(20)]
        assert max(others) < J

    @every_kernel
    def test_a_large_ridge_gives_the_parzen_classifier(self, kernel):
        sample, _ = drawn(kernel, 10)
        parzen = kopt.solve(ParzenClassifier(), sample).primal.w.values
        angles = [
            cosine(kopt.solve(machine(ridge=ridge), sample).primal.w.values, parzen)
            for machine in (FisherDiscriminant, FisherQuotient)
            for ridge in (1e7, 1e-2)
        ]
        assert min(angles[0], angles[2]) > 1 - MAP
        assert max(angles[1], angles[3]) < 1 - DIFFERENT

    @pytest.mark.parametrize("ridge", [0.3, 4.0])
    @pytest.mark.parametrize("kernel", [Linear(), Gaussian(sigma=1.3)], ids=["linear", "gaussian"])
    def test_balanced_classes_give_ridge_regression_on_centred_data(self, kernel, ridge):
        sample = balanced(kernel)
        centred = Sample(sample.X, sample.y, kernel=Centred(kernel, sample.X))
        regression = kopt.solve(Ridge(ridge=ridge), centred).primal.w
        w = kopt.solve(FisherDiscriminant(ridge=ridge), centred).primal.w
        other = kopt.solve(FisherDiscriminant(ridge=9 * ridge), centred).primal.w
        assert 1 - cosine(w.values, regression.values) <= ENCLOSURE
        assert 1 - cosine(other.values, regression.values) > MAP
        uncentred = kopt.solve(FisherDiscriminant(ridge=ridge), sample).primal.w
        assert_close(uncentred.values - uncentred.values.mean(), w.values, MULTIPLIER)

    def test_without_ridge_it_is_linear_discriminant_analysis(self):
        """scikit-learn weighs the two covariances by the class sizes, which makes no difference where these agree."""
        sample = balanced(Linear())
        theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(sample.X, sample.y)
        ours = kopt.solve(FisherQuotient(ridge=1e-7), sample)
        new = np.random.default_rng(3).standard_normal((50, 3))
        f, g = ours.decision_function(new), theirs.decision_function(new)
        assert_close(f / np.linalg.norm(f), g / np.linalg.norm(g), MULTIPLIER)

    def test_means_that_coincide(self):
        """The quotient is not defined there, and the penalised form has w = 0."""
        X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [0.0, 0.0]])
        sample = Sample(X, [1, 1, -1, -1, -1])
        with pytest.raises(kopt.InputError, match="means of the two classes have distance"):
            kopt.solve(FisherQuotient(), sample)
        solution = kopt.solve(FisherDiscriminant(), sample)
        assert solution.primal.w.norm <= CERTIFIED
        X[0] += 0.1
        assert kopt.solve(FisherQuotient(), Sample(X, sample.y)).certificate.holds(CERTIFIED)

    def test_any_dual_point_gives_a_feasible_primal_point(self):
        """Also one whose w does not tell the means apart, or tells them apart the wrong way round."""
        sample, _ = drawn("sum", 11)
        d = sample.y * mean_weights(sample.y)
        for alpha in (np.zeros(sample.n), -d, d):
            point = FisherQuotient().recover(ProductView(sample), Point({"nu": 0.0, "alpha": alpha}))
            assert d @ point["w"].values == pytest.approx(1.0, rel=ENCLOSURE)
            assert_close(point["m"][(sample.y < 0).astype(int)] + point["xi"], point["w"].values, ENCLOSURE)


class TestParzenClassifier:
    @every_kernel
    def test_closed_form(self, kernel):
        sample, new = drawn(kernel, 12)
        K, y = sample.gram().dense, sample.y
        d, cross = y * mean_weights(y), sample.gram().cross(new)
        plus, minus = K[np.ix_(y > 0, y > 0)].mean(), K[np.ix_(y < 0, y < 0)].mean()
        solution = kopt.solve(ParzenClassifier(), sample)
        assert solution.value == pytest.approx(-0.5 * d @ K @ d, rel=VALUE)
        assert solution.primal.b == pytest.approx((plus - minus) / 2, rel=MAP)
        assert_close(solution.decision_function(new), cross @ d - (plus - minus) / 2, MAP)
        distances = [
            np.sqrt(sample.gram().kernel.diagonal(new) - 2 * cross[:, y == sign].mean(axis=1) + norm)
            for sign, norm in ((1, plus), (-1, minus))
        ]
        assert (solution.predict(new) == np.where(distances[1] > distances[0], 1, -1)).all()

    def test_scikit_learn(self):
        sample, _ = drawn("linear", 13)
        new = np.random.default_rng(5).standard_normal((200, 3))
        theirs = NearestCentroid().fit(sample.X, sample.y).predict(new)
        assert (kopt.solve(ParzenClassifier(), sample).predict(new) == theirs).all()
        assert 0 < np.mean(theirs > 0) < 1

    def test_it_does_not_depend_on_the_origin(self):
        sample, new = drawn("linear", 14)
        shift = np.array([5.0, -3.0, 2.0])
        moved = kopt.solve(ParzenClassifier(), Sample(sample.X + shift, sample.y))
        solution = kopt.solve(ParzenClassifier(), sample)
        assert_close(moved.decision_function(new + shift), solution.decision_function(new), MAP)
        assert abs(moved.primal.b - solution.primal.b) > DIFFERENT


MACHINES = [
    PowerSoftMargin(C=0.7, p=1.6),
    PowerSoftMargin(C=3.0, p=2.6),
    LogisticRegression(C=0.7),
    FisherDiscriminant(ridge=0.4),
    FisherQuotient(ridge=0.4),
    ParzenClassifier(),
]
every_machine = pytest.mark.parametrize("formulation", MACHINES, ids=repr)


@every_machine
def test_no_equality_among_the_claims_holds_by_itself(formulation):
    """At a point some percent away from the optimum every one of them fails."""
    sample, _ = drawn("sum", 15)
    solution = kopt.solve(formulation, sample)
    rng = np.random.default_rng(8)
    answer = {}
    for side, point in {"primal": solution.primal, "dual": solution.dual}.items():
        for key in variable_names(formulation.problem(sample, side)):
            value = point[key].coefficients if isinstance(point[key], Combination) else np.asarray(point[key], float)
            answer[key] = value + 0.1 * np.max(np.abs(value)) * rng.standard_normal(value.shape)
    claims = kopt.verify(formulation, sample, answer).claims
    assert [claim.statement for claim in solution.certificate.claims if not claim.holds(CLAIM)] == []
    assert [claim.statement for claim in claims if claim.relation == "=" and claim.holds(100 * CLAIM)] == []


@pytest.mark.parametrize("formulation", MACHINES[2:5], ids=repr)
def test_no_inequality_among_the_claims_holds_by_itself(formulation):
    """A direction at random is no better than the difference of the means, and a long one worse than none."""
    sample, _ = drawn("sum", 15)
    solution = kopt.solve(formulation, sample)
    primal = dict(solution.primal.items())
    primal["w"] = ProductView(sample).combination(np.random.default_rng(1).standard_normal(sample.n))
    dual = {**solution.dual, **({"nu": 10 * solution.dual.nu} if "nu" in solution.dual else {})}
    claims = list(formulation.claims(ProductView(sample), Point(primal), Point(dual)))
    inequalities = [claim for claim in claims if claim.relation == "<="]
    assert inequalities
    assert not any(claim.holds(100 * CLAIM) for claim in inequalities)


@pytest.mark.parametrize("s", [1e-6, 1e6])
@every_machine
def test_claims_in_other_units(formulation, s):
    """K in other units, the parameters left as they are or taken along."""
    sample, _ = drawn("gaussian", 16, n=19)
    scaled = Sample(sample.X, sample.y, kernel=s * KERNELS["gaussian"])
    name = {"C": 1 / s, "ridge": s}
    parameters = {key: getattr(formulation, key) for key in ("C", "p", "ridge") if hasattr(formulation, key)}
    moved = type(formulation)(**{key: value * name.get(key, 1.0) for key, value in parameters.items()})
    for each in (formulation, moved):
        solution = kopt.solve(each, scaled)
        assert solution.certificate.holds(CERTIFIED)
        assert [claim for claim in solution.certificate.claims if not claim.holds(CLAIM)] == []
