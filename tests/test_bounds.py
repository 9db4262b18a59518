"""The generalisation bounds: identities, constants, refusals, and what happens to them on random samples."""

import dataclasses
import functools
import itertools
import math
import re

import numpy as np
import pytest

import kopt
from formulations.bounds import (
    Bound,
    conditional_novelty_bound,
    hard_margin_bound,
    joint_novelty_bound,
    leave_one_out_bound,
    leave_one_out_errors,
    margin_bound,
    novelty_threshold,
    novikoff_bound,
    nu_bound,
    perceptron_bound,
    rademacher_bound,
    rademacher_complexity,
    radius_margin_bound,
    ranking_perceptron_bound,
    shell_bound,
    shell_width,
    soft_margin_bound,
    soft_sphere_bound,
    squared_error_bound,
    squared_slack_bound,
    support_vector_bound,
    trace_margin_bound,
    tube_bound,
    two_norm_bound,
)
from formulations.bounds.leave_one_out import WITH_UNIQUE_WEIGHT
from formulations.classification import (
    ConvexHulls,
    HardMargin,
    HardMarginWithoutOffset,
    LinearSeparation,
    LogisticRegression,
    NuSoftMargin,
    PowerSoftMargin,
    ReducedConvexHulls,
    SoftMargin,
    SoftMarginWithoutOffset,
    TwoNormSoftMargin,
    TwoNormSoftMarginWithoutOffset,
    UnitHardMargin,
    UnitNuSoftMargin,
    UnitSoftMargin,
    UnitTwoNormSoftMargin,
)
from formulations.novelty import Hypersphere, NuHypersphere, SoftHypersphere
from formulations.ranking import AugmentedHardRanking
from formulations.regression import EpsilonInsensitive, Ridge
from kopt import InputError, Sample
from kopt.kernels import Gaussian, Linear, Polynomial
from tests.tolerances import DIFFERENT, MAP

KERNELS = [Linear(), Gaussian(sigma=1.3), Polynomial(degree=2, R=0.7)]
ROUNDING = 1e-12


def two_classes(kernel=None, seed=0, n=30, apart=0.8, costs=None) -> Sample:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < 2 * n // 5, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + apart * y[:, None] * [1.0, 0.5]
    return Sample(X, y, kernel=kernel or Gaussian(sigma=1.3), costs=costs)


def separated(kernel=None, seed=0, n=20) -> Sample:
    return two_classes(kernel, seed, n, apart=4.0)


def cloud(seed=0, n=40) -> Sample:
    return Sample(np.random.default_rng(seed).normal(size=(n, 2)), kernel=Gaussian(sigma=1.5))


def targets(seed=0, n=30) -> Sample:
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return Sample(X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1], kernel=Gaussian(sigma=1.0))


def certified(formulation, sample):
    return kopt.solve(formulation, sample).certificate


def close(x, tolerance=MAP):
    return pytest.approx(x, rel=tolerance, abs=tolerance)


def test_the_value_is_the_sum_or_the_minimum_of_the_terms():
    reference = kopt.Reference("A text", "Theorem 1")
    assert Bound(reference, "P", {"a": 0.3, "b": 0.4}, (), 0.1).value == pytest.approx(0.7)
    least = Bound(reference, "P", {"a": 0.3, "b": 0.4}, (), 0.1, combination="minimum")
    assert least.value == 0.3
    assert not least.vacuous
    assert Bound(reference, "P", {"a": 0.6, "b": 0.4}, (), 0.1).vacuous
    assert not Bound(reference, "E", {"a": 6.0}, (), 0.1, trivial=7.0).vacuous


def test_a_bound_reads_as_a_tree_and_as_html():
    bound = margin_bound(certified(SoftMargin(C=1.0), two_classes()), 0.1)
    text, page = str(bound), bound._repr_html_()
    assert re.search(r"<= \d.* with probability 0.9 over samples.*Theorem 4.17", text.splitlines()[0])
    for piece in (*bound.terms, *bound.assumes):
        assert piece in text
        assert piece.replace("<", "&lt;") in page
    assert "&lt;= " in page


@pytest.mark.parametrize("n", [1, 2, 5, 10])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_complexity_by_enumeration_lies_between_its_bounds(kernel, n):
    sample = Sample(np.random.default_rng(n).normal(size=(n, 3)), kernel=kernel)
    K = sample.gram().dense
    mean = np.mean([math.sqrt(max(0.0, np.array(s) @ K @ s)) for s in itertools.product([-1, 1], repeat=n)])
    complexity = rademacher_complexity(sample, B=1.7)
    assert complexity.value == pytest.approx(2 * 1.7 / n * mean, rel=ROUNDING)
    assert complexity.error == 0
    assert complexity.upper == pytest.approx(2 * 1.7 / n * math.sqrt(np.trace(K)), rel=ROUNDING)
    assert complexity.lower <= complexity.value * (1 + ROUNDING)
    assert complexity.value <= complexity.upper * (1 + ROUNDING)
    assert complexity.upper == pytest.approx(math.sqrt(2) * complexity.lower, rel=ROUNDING)


def test_both_bounds_on_the_complexity_are_attained():
    same, orthogonal = Sample.from_gram(np.ones((2, 2))), Sample.from_gram(np.eye(7))
    assert rademacher_complexity(same).value == pytest.approx(rademacher_complexity(same).lower, rel=ROUNDING)
    assert rademacher_complexity(orthogonal).value == pytest.approx(rademacher_complexity(orthogonal).upper)


def test_the_supremum_over_the_ball_is_attained_by_the_signed_sum():
    sample = Sample(np.random.default_rng(4).normal(size=(6, 2)), kernel=Gaussian(sigma=1.0))
    K, B = sample.gram().dense, 0.6
    suprema = []
    for s in itertools.product([-1.0, 1.0], repeat=6):
        alpha = np.array(s) * B / math.sqrt(np.array(s) @ K @ s)
        suprema.append(abs(2 / 6 * np.array(s) @ K @ alpha))
        assert math.sqrt(alpha @ K @ alpha) == pytest.approx(B)
    assert rademacher_complexity(sample, B).value == pytest.approx(np.mean(suprema))


def test_random_signs_agree_with_all_signs_to_their_own_error_and_are_repeatable():
    X = np.random.default_rng(0).normal(size=(17, 2))
    K = Sample(X, kernel=Gaussian(sigma=1.0)).gram().dense
    signs = 1.0 - 2 * ((np.arange(2**16) >> np.arange(17)[:, None]) & 1)
    exact = 2 / 17 * np.mean(np.sqrt(np.sum(signs * (K @ signs), axis=0)))
    drawn = rademacher_complexity(Sample(X, kernel=Gaussian(sigma=1.0)), seed=3)
    assert 0 < drawn.error < 0.01 * exact
    assert abs(drawn.value - exact) < 4 * drawn.error
    assert drawn == rademacher_complexity(Sample(X, kernel=Gaussian(sigma=1.0)), seed=3)
    assert drawn != rademacher_complexity(Sample(X, kernel=Gaussian(sigma=1.0)), seed=4)


def test_theorem_4_9_with_the_complexity_of_4_12_is_theorem_4_17():
    """The ramp has the Lipschitz constant 1/gamma, which Theorem 4.15 (iv) doubles."""
    certificate = certified(SoftMargin(C=1.0), two_classes())
    by_margin = margin_bound(certificate, 0.02, gamma=0.3)
    upper = rademacher_complexity(certificate.sample).upper
    general = rademacher_bound(by_margin.terms["slacks"], 2 / 0.3 * upper, certificate.sample.n, 0.02)
    assert by_margin.value == pytest.approx(general.value)
    assert by_margin.terms["capacity"] == pytest.approx(general.terms["capacity"])


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_hard_margin_theorems_are_theorem_4_17_without_slacks(kernel):
    sample = separated(kernel)
    canonical, unit = certified(HardMargin(), sample), certified(UnitHardMargin(), sample)
    bound = hard_margin_bound(canonical, 0.1)
    assert bound.value == close(hard_margin_bound(unit, 0.1).value)
    assert bound.value == close(margin_bound(canonical, 0.1).value)
    assert bound.value == close(margin_bound(unit, 0.1).value)
    gamma = 1 / canonical.primal.w.norm
    assert bound.terms["capacity"] == close(4 / (sample.n * gamma) * math.sqrt(np.trace(sample.gram().dense)))
    assert "Theorem 7.27" in str(bound)
    assert "Theorem 7.22" in str(hard_margin_bound(unit, 0.1))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nu", [0.45, 0.7])
def test_one_machine_in_four_forms_has_one_bound(kernel, nu):
    """Theorem 7.33 = 7.30 under C = 1/(nu l); both are 4.17 at the machine's own g; and so in canonical form."""
    sample = two_classes(kernel, seed=1)
    by_nu = certified(UnitNuSoftMargin(nu=nu), sample)
    by_C = certified(UnitSoftMargin(C=1 / (nu * sample.n)), sample)
    squared = certified(NuSoftMargin(nu=nu), sample)
    canonical = certified(SoftMargin(C=1 / (sample.n * float(squared.primal.rho))), sample)
    bound = nu_bound(by_nu)
    assert bound.value == close(nu_bound(squared).value)
    assert bound.value == close(soft_margin_bound(by_C).value)
    assert bound.value == close(soft_margin_bound(canonical).value)
    for certificate in (by_nu, by_C, squared, canonical):
        assert bound.value == close(margin_bound(certificate).value)
    assert bound.terms["noise level nu"] == nu
    assert bound.terms["gain of the margin"] < -DIFFERENT


def test_the_bound_of_the_soft_margin_has_another_value_with_another_price():
    sample = two_classes(seed=1)
    values = [soft_margin_bound(certified(SoftMargin(C=C), sample)).value for C in (0.2, 5.0)]
    assert abs(values[0] - values[1]) > DIFFERENT


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_bounds_of_mohri_have_half_the_capacity_and_a_loss_of_at_most_one(kernel):
    sample = two_classes(kernel, apart=0.2)
    certificate = certified(SoftMargin(C=1.0), sample)
    w, y = certificate.primal.w, sample.y
    f = (w.values + certificate.primal.b) / w.norm
    book, mohri = (bound(certificate, 0.1, gamma=0.4) for bound in (margin_bound, trace_margin_bound))
    assert mohri.terms["capacity"] == pytest.approx(book.terms["capacity"] / 2)
    b = abs(float(certificate.primal.b)) / w.norm
    assert mohri.terms["offset"] == pytest.approx(2 * b / (0.4 * math.sqrt(sample.n)))
    assert mohri.terms["margin loss"] == pytest.approx(np.mean(np.minimum(1, np.maximum(0, 1 - y * f / 0.4))))
    assert mohri.terms["margin loss"] < book.terms["slacks"]
    r = math.sqrt(np.max(np.diag(sample.gram().dense)))
    by_radius = radius_margin_bound(certificate, 0.1, gamma=0.4)
    assert by_radius.terms["capacity"] == pytest.approx(2 * r / (0.4 * math.sqrt(sample.n)))
    assert by_radius.terms["capacity"] >= mohri.terms["capacity"] * (1 - ROUNDING)
    assert by_radius.terms["confidence"] == pytest.approx(math.sqrt(math.log(10) / (2 * sample.n)))
    wider = radius_margin_bound(certificate, 0.1, gamma=0.4, R=2 * r)
    assert wider.terms["capacity"] == pytest.approx(2 * by_radius.terms["capacity"])


def test_theorem_4_17_takes_any_answer_and_any_costs():
    sample = two_classes(seed=5)
    costs = np.linspace(0.5, 2.0, sample.n)
    rough = kopt.verify(SoftMargin(C=1.0), sample, {"alpha": 0.5 * np.ones(sample.n), "b": 0.0})
    assert not rough.holds(0.1)
    assert margin_bound(rough, gamma=0.5).value > 0
    with pytest.raises(InputError, match="is about the optimum"):
        soft_margin_bound(rough)
    weighted = certified(SoftMargin(C=1.0), two_classes(seed=5, costs=costs))
    assert margin_bound(weighted).value > 0
    with pytest.raises(InputError, match=r"Point 0 has the cost 0\.5, but the theorem has no costs"):
        soft_margin_bound(weighted)


def test_the_bounds_do_not_depend_on_the_unit_of_length():
    X, y = two_classes(Linear()).X, two_classes(Linear()).y
    small, large = Sample(X, y), Sample(1000 * X, y)
    margins = [margin_bound(certified(SoftMargin(C=c), s)).value for c, s in ((2.0, small), (2e-6, large))]
    assert margins[0] == close(margins[1])
    squares = [two_norm_bound(certified(TwoNormSoftMargin(C=c), s)).value for c, s in ((2.0, small), (2e-6, large))]
    assert squares[0] == close(squares[1])


def with_offset(certificate, b):
    """The same function with the offset b * ||w||, as an answer to be judged."""
    w = certificate.primal.w
    answer = {**certificate.primal, "w": w.coefficients, "b": b * w.norm, **certificate.dual}
    return kopt.verify(certificate.formulation, certificate.sample, answer)


def about_the_offset(bound: Bound) -> list[str]:
    return [sentence for sentence in bound.assumes if "offset" in sentence]


FOR_ANY_CLASSIFIER = {
    margin_bound: (4, 1),
    squared_slack_bound: (8, 2),
    trace_margin_bound: (2, 1),
    radius_margin_bound: (2, 1),
}


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(sigma=1.3)])
@pytest.mark.parametrize("b", [-7.0, -0.3, 0.0, 0.9, 44.0])
@pytest.mark.parametrize("theorem", FOR_ANY_CLASSIFIER, ids=lambda theorem: theorem.__name__)
def test_the_capacity_covers_the_offset(theorem, b, kernel):
    """The complexity of the ball with offsets up to |b| is a mean over signs, which the theorem bounds twofold."""
    sample, gamma = two_classes(kernel, n=10), 0.4
    constant, steepness = FOR_ANY_CLASSIFIER[theorem]
    K, n = sample.gram().dense, sample.n
    bound = theorem(with_offset(certified(SoftMargin(C=1.0), sample), b), gamma=gamma)
    signs = np.array(list(itertools.product([-1, 1], repeat=n)))
    lengths = np.sqrt(np.maximum(0.0, np.einsum("si,ij,sj->s", signs, K, signs)))
    complexity = np.mean(lengths + abs(b) * np.abs(signs.sum(axis=1))) / n
    assert bound.terms["capacity"] + bound.terms.get("offset", 0.0) >= 2 * steepness / gamma * complexity
    root = math.sqrt(n * np.max(np.diag(K)) if theorem is radius_margin_bound else np.trace(K))
    needed = 2 * steepness * (root + abs(b) * math.sqrt(n)) / (n * gamma)
    printed = constant * root / (n * gamma)
    assert bound.terms["capacity"] + bound.terms.get("offset", 0.0) == pytest.approx(max(printed, needed))
    if abs(b) > 5:
        assert printed < 2 * steepness / gamma * complexity, "the printed constant alone is too small"
    assert len(about_the_offset(bound)) == (b != 0)
    assert all("was fixed in advance" in sentence for sentence in about_the_offset(bound))


def test_an_offset_that_the_constant_has_room_for_costs_nothing():
    """2/(l gamma) (sqrt(tr K) + beta sqrt(l)) <= 4/(l gamma) sqrt(tr K) just for beta <= sqrt(tr K / l)."""
    certificate = certified(SoftMargin(C=1.0), two_classes(Linear()))
    room = math.sqrt(np.trace(certificate.sample.gram().dense) / certificate.sample.n)
    near, far = (margin_bound(with_offset(certificate, factor * room), gamma=1.0) for factor in (0.99, 1.01))
    assert "offset" not in near.terms
    assert f"the bound {room:.6g} on the offset" in str(near)
    assert far.terms["offset"] == pytest.approx(2 * 0.01 * room / math.sqrt(certificate.sample.n))
    assert f"the bound {1.01 * room:.6g} on the offset" in str(far)
    none = margin_bound(certified(HardMarginWithoutOffset(), separated(Linear())))
    assert not about_the_offset(none)


def beyond_the_room(n=60) -> Sample:
    """Most points near the origin and a few at 10, so that the offset -5 is more than the root mean square length."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) < n // 12, 1.0, -1.0)
    return Sample(np.where(y > 0, 10.0, 0.0)[:, None] + 0.1 * rng.normal(size=(n, 1)), y)


@pytest.mark.parametrize(
    ("theorem", "machine"),
    [
        (hard_margin_bound, HardMargin()),
        (hard_margin_bound, UnitHardMargin()),
        (soft_margin_bound, SoftMargin(C=1.0)),
        (nu_bound, NuSoftMargin(nu=0.15)),
        (margin_bound, SoftMargin(C=1.0)),
        (squared_slack_bound, SoftMargin(C=1.0)),
    ],
)
def test_an_optimal_offset_beyond_the_room_is_charged(theorem, machine):
    sample = beyond_the_room()
    certificate = certified(machine, sample)
    b, n = float(certificate.primal.b) / certificate.primal.w.norm, sample.n
    room = math.sqrt(np.trace(sample.gram().dense) / n)
    assert abs(b) > 1.3 * room
    bound = theorem(certificate)
    covering = bound.terms["capacity"] * (abs(b) - room) / (2 * room)  # C sqrt(tr K) has room for one sqrt(tr K)
    assert bound.terms["offset"] == close(covering)
    [sentence] = about_the_offset(bound)
    assert sentence.startswith(f"the bound {abs(b):.6g} on")
    assert "was fixed in advance" in sentence


def test_both_alternatives_of_theorem_7_38_charge_the_offset():
    sample = beyond_the_room()
    C, n, root = 50.0, sample.n, math.sqrt(np.trace(sample.gram().dense))
    certificate = certified(TwoNormSoftMargin(C=C), sample)
    total = np.sum(certificate.dual.alpha)
    gamma, squares = total**-0.5, np.sum(certificate.dual.alpha**2) / total**2
    b = abs(float(certificate.primal.b)) * gamma  # f * gamma has length 1 in the space of k + delta / C
    first, second = two_norm_bound(certificate, 0.1).terms.values()
    once, larger = 3 * math.sqrt(math.log(40) / (2 * n)), math.sqrt(root**2 + n / C)
    slacks = squares / C**2 / (n * gamma**4)
    assert b * math.sqrt(n) > 1.3 * larger
    assert first == close(slacks + 4 * (root + b * math.sqrt(n)) / (n * gamma) + once)
    assert second == close(2 * (larger + b * math.sqrt(n)) / (n * gamma) + once)


@pytest.mark.parametrize("b", [-30.0, -1.0, 0.0, 0.4, 30.0])
def test_the_regression_bounds_cover_the_offset(b):
    """g of norm at most B with an offset up to |b|: |y - g| <= 2Q, where the square has the Lipschitz constant 4Q."""
    sample = targets(n=10)
    fitted = certified(EpsilonInsensitive(C=2.0, epsilon=0.1), sample)
    certificate = with_offset(fitted, b / fitted.primal.w.norm)
    K, n, y, B = sample.gram().dense, sample.n, sample.y, 4.0
    signs = np.array(list(itertools.product([-1, 1], repeat=n)))
    lengths = np.sqrt(np.maximum(0.0, np.einsum("si,ij,sj->s", signs, K, signs)))
    complexity = np.mean(B * lengths + abs(b) * np.abs(signs.sum(axis=1))) / n
    squared, Q = squared_error_bound(certificate, 0.1, B=B), B + abs(b)
    capacity = 16 * Q / n * (B * math.sqrt(np.trace(K)) + np.linalg.norm(y))
    needed = 8 * Q / n * (B * math.sqrt(np.trace(K)) + abs(b) * math.sqrt(n))
    assert squared.terms["capacity"] + squared.terms.get("offset", 0.0) == pytest.approx(max(capacity, needed))
    assert max(capacity, needed) >= 2 * 4 * Q * complexity
    assert squared.terms["confidence"] == pytest.approx(12 * Q**2 * math.sqrt(math.log(20) / (2 * n)))
    assert squared.trivial == pytest.approx((2 * Q) ** 2)
    assert np.max(np.abs(y - certificate.primal.w.values - b)) <= 2 * Q
    tube = tube_bound(certificate, 0.8, 0.1, B=B, printed=True)
    needed = 2 / (0.7 * n) * (B * math.sqrt(np.trace(K)) + abs(b) * math.sqrt(n))
    printed = 4 / (0.7 * n) * B * math.sqrt(np.trace(K))
    assert tube.terms["capacity"] + tube.terms.get("offset", 0.0) == pytest.approx(max(printed, needed))
    assert max(printed, needed) >= 2 / 0.7 * complexity
    for bound in (squared, tube):
        assert ("offset" in bound.terms) == (abs(b) > 5)
        assert len(about_the_offset(bound)) == (b != 0)
    if abs(b) > 5:
        assert capacity < 2 * 4 * Q * complexity
        assert printed < 2 / 0.7 * complexity


def test_the_smallest_ball_of_a_regression_leaves_the_offset_its_part_of_the_targets():
    sample = targets()
    shifted = Sample(sample.X, sample.y + 20, kernel=sample.gram().kernel)
    certificate = certified(EpsilonInsensitive(C=2.0, epsilon=0.1), shifted)
    b, norm = float(certificate.primal.b), certificate.primal.w.norm
    largest = np.max(np.abs(shifted.y))
    own = squared_error_bound(certificate)
    assert own.trivial == close((2 * (max(norm, largest - b) + b)) ** 2)
    assert own.trivial < (2 * (largest + b)) ** 2 / 2


@pytest.mark.parametrize("C", [0.3, 4.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_slacks_of_theorem_7_38_are_those_of_7_13_with_mu_squared(kernel, C):
    certificate = certified(TwoNormSoftMargin(C=C), two_classes(kernel, seed=2))
    n, mu = certificate.sample.n, 1 / C
    alpha = certificate.dual.alpha / np.sum(certificate.dual.alpha)
    gamma = math.sqrt(1 / np.sum(certificate.dual.alpha))  # 7.27, for K + mu I
    slacks = squared_slack_bound(certificate).terms["squared slacks"]
    assert slacks == close(mu**2 * alpha @ alpha / (n * gamma**4))
    printed = mu * alpha @ alpha / (n * gamma**4)
    assert abs(printed - slacks) > DIFFERENT * slacks
    bound = two_norm_bound(certificate, 0.1)
    once = 3 * math.sqrt(math.log(40) / (2 * n))
    root = math.sqrt(np.trace(certificate.sample.gram().dense))
    first, second = bound.terms.values()
    assert first == close(slacks + 8 * root / (n * gamma) + once)
    assert second == close(4 * math.sqrt(root**2 + n * mu) / (n * gamma) + once)
    assert bound.value == min(first, second)
    assert "the minimum of" in str(bound)


def test_the_squared_ramp_is_twice_as_steep_as_the_ramp():
    certificate = soft()
    linear, squared = (bound(certificate, 0.1, gamma=0.4) for bound in (margin_bound, squared_slack_bound))
    assert squared.terms["capacity"] == pytest.approx(2 * linear.terms["capacity"])
    assert squared.terms["confidence"] == linear.terms["confidence"]
    g = (certificate.primal.w.values + certificate.primal.b) / certificate.primal.w.norm
    ramp = np.maximum(0.0, 1 - certificate.sample.y * g / 0.4)
    assert squared.terms["squared slacks"] == pytest.approx(np.mean(ramp**2))


@pytest.mark.parametrize("kernel", KERNELS)
def test_both_forms_of_the_two_norm_machine_have_one_bound(kernel):
    sample = two_classes(kernel, seed=2)
    unit = certified(UnitTwoNormSoftMargin(C=0.005), sample)
    mu = float(unit.dual["lambda"]) / 0.005
    canonical = certified(TwoNormSoftMargin(C=1 / mu), sample)
    for mine, other in zip(two_norm_bound(unit).terms.values(), two_norm_bound(canonical).terms.values(), strict=True):
        assert mine == close(other)
    assert squared_slack_bound(unit).value == close(squared_slack_bound(canonical).value)


def test_the_second_alternative_is_the_hard_margin_bound_for_the_larger_kernel():
    sample = two_classes(seed=3)
    K = sample.gram().dense
    hard = certified(HardMargin(), Sample.from_gram(K + np.eye(sample.n) / 0.7, sample.y))
    bound = two_norm_bound(certified(TwoNormSoftMargin(C=0.7), sample), 0.1)
    assert bound.terms["without slacks, kernel k + mu delta"] == close(hard_margin_bound(hard, 0.05).value)


def test_the_spheres_by_the_lemmas_and_as_printed():
    """12 = 2 (R^2/gamma) (4 + 2) gamma/R^2, from Theorems 4.12 and 4.15 (iv), (v), where k(x, x) = R^2 = 1."""
    sample = cloud()
    certificate = certified(SoftHypersphere(C=0.1), sample)
    bound = soft_sphere_bound(certificate, 0.9, 0.1)
    linear = rademacher_complexity(Sample.from_gram(4 * sample.gram().dense)).upper
    assert bound.terms["capacity"] == pytest.approx(2 / 0.9 * (linear + 2 / math.sqrt(sample.n)))
    assert bound.terms["slacks"] == close(np.sum(certificate.primal.xi) / (0.9 * sample.n))
    printed = soft_sphere_bound(certificate, 0.9, 0.1, printed=True)
    assert printed.terms["capacity"] == pytest.approx(bound.terms["capacity"] / 2)
    by_nu = soft_sphere_bound(certified(NuHypersphere(nu=1 / (0.1 * sample.n)), sample), 0.9, 0.1)
    assert by_nu.value == close(bound.value)
    assert "7.9" in str(bound)
    assert "7.12" in str(by_nu)


def test_the_printed_constant_of_the_spheres_bounds_the_complexity_without_absolute_values():
    """2 E sup 1/l sum s_i ramp(x_i^2 - 2 c x_i - t) over |c| <= R, |t| <= R^2 is at most 6 R^2/(gamma l^(1/2))."""
    x, gamma = np.array([-1.0, -0.8, -0.35, 0.1, 0.55, 0.9, 1.0]), 1.6
    c, t = np.meshgrid(np.linspace(-1, 1, 61), np.linspace(-1, 1, 61))
    ramps = np.clip((x**2 - 2 * np.outer(c.ravel(), x) - t.reshape(-1, 1)) / gamma, 0, 1)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(x))))
    complexity = 2 * np.mean(np.max(ramps @ signs.T, axis=0)) / len(x)
    sample = Sample(x[:, None])
    printed = shell_bound(certified(Hypersphere(), sample), gamma, printed=True).terms["capacity"]
    assert complexity <= printed
    assert complexity > printed / 12, "a bound that is far too large would show nothing"


@pytest.mark.parametrize("seed", range(4))
def test_every_optimal_sphere_has_the_offset_that_the_printed_constant_has_room_for(seed):
    sample = Sample(np.random.default_rng(seed).normal(loc=(2.0 * seed, 0.0), size=(12, 2)))
    R2 = np.max(sample.gram().diagonal)
    for machine in (Hypersphere(), SoftHypersphere(C=0.2), SoftHypersphere(C=0.01), NuHypersphere(nu=0.6)):
        primal = kopt.solve(machine, sample).primal
        assert abs(primal.R - primal.c.norm_squared) <= R2 * (1 + MAP)


def test_the_smallest_sphere_has_an_empty_shell_and_theorem_7_5_is_the_smaller():
    certificate = certified(Hypersphere(), cloud())
    assert shell_bound(certificate, 1.0).terms["points in the shell"] == close(0.0)
    soft = certified(SoftHypersphere(C=0.05), cloud())
    assert shell_bound(soft, 0.05).value < soft_sphere_bound(soft, 0.05).value
    assert shell_bound(soft, 5.0).value == close(soft_sphere_bound(soft, 5.0).value)


@pytest.mark.parametrize("p", [0.3, 0.62])
@pytest.mark.parametrize("printed", [False, True])
def test_the_smallest_test_sphere_has_nu_equal_to_the_rate_of_false_alarms(p, printed):
    sample = cloud(seed=2)
    grid = sorted({p, *np.linspace(0.1, 0.95, 18).round(3)})
    sizes = []
    for nu in grid:
        certificate = certified(NuHypersphere(nu=nu), sample)
        gamma = shell_width(certificate, p, printed=printed)
        sizes.append(float(certificate.primal.R) + gamma)
        bound = soft_sphere_bound(certificate, gamma, printed=printed)
        assert bound.value - bound.terms["confidence"] == close(p)
    assert sizes[grid.index(p)] <= min(sizes) * (1 + MAP)
    assert max(sizes) > min(sizes) + DIFFERENT


def test_the_simple_detector_misses_the_printed_rate_and_keeps_the_right_ones():
    """x = 0 but for +-1 with probability 1/300: a sample without them calls them novel, with probability 0.263."""
    rng, n, delta, rare = np.random.default_rng(0), 400, 0.01, 1 / 300
    rates = []
    for _ in range(400):
        x = rng.choice([0.0, 1.0, -1.0], size=n, p=[1 - rare, rare / 2, rare / 2])
        sample = Sample(x[:, None])
        threshold = novelty_threshold(sample, delta, R=1.0)
        novel = [abs(point - np.mean(x)) > threshold for point in (0.0, 1.0, -1.0)]
        rates.append(np.dot(novel, [1 - rare, rare / 2, rare / 2]))
    failures = np.mean(np.array(rates) > 1 / (n + 1))
    assert failures == pytest.approx((1 - rare) ** n, abs=0.08)
    assert failures > 10 * delta
    conditional = conditional_novelty_bound(sample, delta, R=1.0)
    assert conditional.value == pytest.approx(1 - delta ** (1 / n))
    assert conditional.value <= math.log(1 / delta) / n
    assert conditional.delta == 2 * delta
    assert np.mean(np.array(rates) > conditional.value) <= 2 * delta
    joint = joint_novelty_bound(sample, delta, R=1.0)
    assert joint.value == pytest.approx(1 / (n + 1) + delta)
    assert np.mean(rates) <= joint.value


def test_the_constants_of_the_squared_error():
    """Theorem 4.9 for (y - g)^2 / (2RB)^2, whose class has 4 times the complexity of its root by Theorem 4.15 (vi)."""
    sample = targets()
    certificate = certified(Ridge(ridge=0.5), sample)
    B, R, n = 3.0, 1.0, sample.n
    bound = squared_error_bound(certificate, 0.1, B=B)
    scale = (2 * R * B) ** 2
    root = rademacher_complexity(sample, 1 / (2 * R)).upper + 2 / n * np.linalg.norm(sample.y / (2 * R * B))
    errors = np.mean((sample.y - certificate.primal.w.values) ** 2)
    general = rademacher_bound(errors / scale, 4 * root, n, 0.1)
    assert bound.value == pytest.approx(scale * general.value)
    assert bound.trivial == scale
    assert bound.vacuous == general.vacuous
    own = squared_error_bound(certificate, 0.1)
    assert own.value < bound.value
    assert f"B = {max(certificate.primal.w.norm, np.max(np.abs(sample.y))):.6g}" in str(own)


def test_the_tube_with_and_without_the_term_of_the_targets():
    sample = targets()
    certificate = certified(EpsilonInsensitive(C=2.0, epsilon=0.1), sample)
    bound, printed = tube_bound(certificate, 0.8, 0.1), tube_bound(certificate, 0.8, 0.1, printed=True)
    n, norm = sample.n, certificate.primal.w.norm
    assert bound.terms["slacks"] == close(np.sum(certificate.primal.xi + certificate.primal.xi_hat) / (n * 0.7))
    lemma = 2 / 0.7 * (rademacher_complexity(sample, norm).upper + 2 / n * np.linalg.norm(sample.y))
    assert bound.terms["capacity"] + bound.terms["targets"] == close(lemma)
    assert bound.value - printed.value == pytest.approx(4 * np.linalg.norm(sample.y) / (n * 0.7))
    ridge = tube_bound(certified(Ridge(ridge=0.5), sample), 0.8)
    residuals = np.abs(sample.y - certified(Ridge(ridge=0.5), sample).primal.w.values)
    assert ridge.terms["slacks"] == close(np.mean(residuals) / 0.8)


def test_the_bounds_of_the_sparse_classifiers_from_their_union_bounds():
    """With the error at the bound, a test set of l - k points without an error is as rare as the union bound asks."""
    n, k, delta = 500, 7, 0.03
    error = perceptron_bound(k, n, delta).value
    assert n**k * math.exp(-(n - k) * error) == pytest.approx(2 * delta / n)
    certificate = certified(HardMargin(), separated(Linear(), n=60))
    d = len(certificate.support_vectors)
    error = support_vector_bound(certificate, delta).value
    assert (math.e * 60 / d) ** d * math.exp(-(60 - d) * error) == pytest.approx(delta / 60)
    assert math.comb(60, d) <= (math.e * 60 / d) ** d
    assert len(certificate.points["alpha"].undecided) == 0


def through_the_origin(n=300, seed=0) -> Sample:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 0.9 * y
    return Sample(X, y)


def perceptron_updates(sample: Sample, most: int = 100_000) -> int:
    K, y, alpha, updates = sample.gram().dense, sample.y, np.zeros(sample.n), 0
    while updates < most:
        wrong = np.flatnonzero(y * (K @ (alpha * y)) <= 0)
        if not len(wrong):
            return updates
        alpha[wrong[0]] += 1
        updates += 1
    return updates


def test_the_perceptron_keeps_within_novikoffs_bound():
    sample = through_the_origin()
    certificate = certified(HardMarginWithoutOffset(), sample)
    limit = np.max(sample.gram().diagonal) * certificate.primal.w.norm_squared
    updates = perceptron_updates(sample)
    assert 1 <= updates <= limit
    bound = novikoff_bound(certificate, 0.1)
    assert perceptron_bound(updates, sample.n, 0.1).value <= bound.value
    assert bound.value == pytest.approx(2 / 300 * (limit * math.log(300) + math.log(300 / 0.2)))


def test_the_margin_with_an_offset_does_not_bound_the_updates():
    sample = Sample([[12.0, 1.0], [16.0, 1.0]], [-1, 1])
    with_offset = certified(HardMargin(), sample)
    limit = np.max(sample.gram().diagonal) * with_offset.primal.w.norm_squared
    assert perceptron_updates(sample) > limit
    with pytest.raises(InputError, match="HardMarginWithoutOffset, not about HardMargin"):
        novikoff_bound(with_offset)
    with pytest.raises(InputError, match="needs at most l/2 = 1"):
        novikoff_bound(certified(HardMarginWithoutOffset(), sample))


def test_the_ranking_perceptron_needs_the_margin_of_the_thresholds():
    X = np.repeat([[-1.0], [0.0], [1.0]], 40, axis=0)
    sample = Sample(X, np.repeat([1, 2, 3], 40))
    certificate = certified(AugmentedHardRanking(), sample)
    updates = (2 * 1.0 + 1) / float(certificate.primal.gamma) ** 2
    bound = ranking_perceptron_bound(certificate, 0.1)
    assert bound.value == close(2 / 120 * (updates * math.log(120) + math.log(120 / 0.2)))
    with pytest.raises(InputError, match="the theorem needs at most l/2 = 1"):
        ranking_perceptron_bound(certified(AugmentedHardRanking(), Sample([[12.0], [16.0]], [1, 2])))


WITH_SLACKS = [
    SoftMargin(C=0.6),
    SoftMarginWithoutOffset(C=0.6),
    TwoNormSoftMargin(C=2.0),
    TwoNormSoftMarginWithoutOffset(C=2.0),
    PowerSoftMargin(C=2.0, p=1.5),
    UnitSoftMargin(C=0.2),
    UnitTwoNormSoftMargin(C=0.01),
    ReducedConvexHulls(D=0.4),
]
HARD = [HardMargin(), UnitHardMargin(), HardMarginWithoutOffset(), ConvexHulls()]


def test_every_machine_of_the_remark_is_tested():
    assert {type(machine) for machine in (*WITH_SLACKS, *HARD)} == set(WITH_UNIQUE_WEIGHT)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("machine", WITH_SLACKS, ids=repr)
def test_leaving_a_point_out_errs_on_support_vectors_only(machine, seed):
    sample = two_classes(seed=seed, n=15)
    certificate = certified(machine, sample)
    wrong = leave_one_out_errors(machine, sample)
    [points] = [points for name, points in certificate.points.items() if name in ("alpha", "c")]
    assert not set(wrong) & set(points.zero)
    assert len(wrong) / sample.n <= leave_one_out_bound(certificate).value


def test_the_remark_is_false_for_a_weight_vector_without_a_price_and_refused():
    """16 points in 20 dimensions: all alpha are 0, and yet the perceptron errs on most of the points left out."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(16, 20)), rng.choice([-1.0, 1.0], 16)
    solution = kopt.solve(LinearSeparation(), Sample(X, y), method="PERCEPTRON")
    assert solution.certificate.holds(1e-6)
    wrong = 0
    for i in range(16):
        keep = np.arange(16) != i
        without = kopt.solve(LinearSeparation(), Sample(X[keep], y[keep]), method="PERCEPTRON")
        wrong += y[i] * without.decision_function(X[[i]])[0] <= 0
    assert wrong > 5 + len(solution.certificate.support_vectors)
    with pytest.raises(InputError, match=r"which is not known of LinearSeparation\. Solve a machine with a price"):
        leave_one_out_bound(solution.certificate)


def test_the_remark_is_refused_where_the_weight_vector_vanishes_or_is_not_unique():
    """An outlier on the other side lets the hulls meet: w = 0 errs on all points, few of which are support vectors."""
    x = np.array([-5.0, -4.0, -3.0, -2.0, 2.0, 3.0, 4.0, 5.0, 2.5])
    sample = Sample(x[:, None], [-1, -1, -1, -1, 1, 1, 1, 1, -1])
    hulls = kopt.verify(ConvexHulls(), sample, {"c": [0, 0, 0, 0, 0.5, 0.5, 0, 0, 1]})
    assert hulls.holds(1e-6)
    assert len(hulls.support_vectors) == 3
    assert len(leave_one_out_errors(ConvexHulls(), sample)) >= 8
    with pytest.raises(InputError, match=r"ConvexHulls has the length .* classifies nothing\. Choose"):
        leave_one_out_bound(hulls)
    with pytest.raises(InputError, match=r"The multiplier of <w, w> <= 1 is .* not unique\. Choose"):
        leave_one_out_bound(certified(UnitHardMargin(), sample))
    assert leave_one_out_bound(certified(ReducedConvexHulls(D=0.3), sample)).value > 0


def test_a_machine_that_is_not_defined_without_a_point_counts_as_an_error():
    """C = 0.11 asks for 4.5 points of each class: five positive points are enough, and four are not."""
    sample = two_classes(seed=1, n=14, apart=2.0)
    assert np.sum(sample.y > 0) == 5
    machine = UnitSoftMargin(C=0.11)
    wrong = leave_one_out_errors(machine, sample)
    assert set(np.flatnonzero(sample.y > 0)) <= set(wrong)
    assert len(wrong) < 14
    assert len(wrong) / 14 <= leave_one_out_bound(certified(machine, sample)).value
    assert len(leave_one_out_errors(UnitSoftMargin(C=0.13), sample)) < len(wrong)


def test_classes_that_stay_inseparable_without_a_point_count_as_errors():
    """Without 2.5 the classes are separable, and it is on the wrong side; without any other point they are not."""
    x = np.array([-5.0, -4.0, 2.0, 3.0, 2.5])
    assert leave_one_out_errors(HardMargin(), Sample(x[:, None], [-1, -1, 1, 1, -1])).tolist() == [0, 1, 2, 3, 4]


def test_an_inaccurate_answer_without_a_point_is_an_error_of_the_solver(monkeypatch):
    def rough(formulation, sample):
        certificate = kopt.verify(formulation, sample, {"alpha": np.full(sample.n, 0.3)})
        return dataclasses.replace(kopt.solve(formulation, sample), certificate=certificate)

    monkeypatch.setattr("formulations.bounds.leave_one_out.solve", rough)
    with pytest.raises(kopt.SolverError, match=r"Without point 0 no certified answer .*\(worst.*\)\. Scale the data"):
        leave_one_out_errors(SoftMargin(C=1.0), two_classes(n=8))


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_hulls_have_the_margin_of_the_machines_that_they_are(kernel):
    sample = separated(kernel)
    hulls = certified(ConvexHulls(), sample)
    assert margin_bound(hulls, 0.1).value == close(hard_margin_bound(certified(HardMargin(), sample), 0.1).value)
    mixed = two_classes(kernel, seed=1)
    nu = 0.5
    reduced = certified(ReducedConvexHulls(D=2 / (nu * mixed.n)), mixed)
    assert margin_bound(reduced, 0.1).value == close(nu_bound(certified(NuSoftMargin(nu=nu), mixed), 0.1).value)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(sigma=1.3)])
@pytest.mark.parametrize("machine", HARD, ids=repr)
def test_leaving_a_point_out_of_the_hard_margin(machine, kernel):
    rng = np.random.default_rng(3)
    y = np.where(np.arange(12) < 4, 1.0, -1.0)
    sample = Sample(rng.normal(size=(12, 2)) * [0.5, 1.5] + np.outer(y, [1.6, 0.0]), y, kernel=kernel)
    certificate = certified(machine, sample)
    wrong = leave_one_out_errors(machine, sample)
    bound = leave_one_out_bound(certificate)
    assert len(wrong) / sample.n <= bound.value
    assert bound.terms["ends of the offset"] == 0
    [points] = certificate.points.values()
    assert not set(wrong) & set(points.zero)


def test_leave_one_out_finds_errors_and_takes_costs_along():
    costs = np.linspace(0.5, 3.0, 14)
    sample = two_classes(Linear(), seed=1, n=14, apart=0.3, costs=costs)
    wrong = leave_one_out_errors(SoftMargin(C=0.5), sample)
    by_hand = []
    for i in range(14):
        keep = np.arange(14) != i
        rest = Sample(sample.X[keep], sample.y[keep], costs=costs[keep])
        decision = kopt.solve(SoftMargin(C=0.5), rest).decision_function(sample.X[[i]])
        by_hand += [i] if sample.y[i] * decision[0] <= 0 else []
    assert wrong.tolist() == by_hand
    assert len(wrong) > 0
    assert len(wrong) / 14 <= leave_one_out_bound(certified(SoftMargin(C=0.5), sample)).value


def test_a_class_of_one_point_cannot_do_without_it():
    sample = Sample([[0.0], [1.0], [2.0], [6.0]], [-1, -1, -1, 1])
    assert 3 in leave_one_out_errors(HardMargin(), sample)


def test_an_offset_that_no_free_point_fixes_counts_its_two_ends():
    """alpha = C at 1 and -1 gives w = 0.2, and b may be anything that leaves 6 and -7 outside the margin."""
    x = np.array([1.0, -1.0, 6.0, -7.0, 30.0, -30.0, 40.0, -40.0])
    sample = Sample(x[:, None], np.sign(x))
    certificate = certified(SoftMargin(C=0.1), sample)
    assert certificate.primal.b == pytest.approx((-0.2 + 0.4) / 2)
    terms = leave_one_out_bound(certificate).terms
    assert terms == {"support vectors": 2 / 8, "undecided points": 0, "ends of the offset": 2 / 8}
    without = certified(SoftMargin(C=0.1), Sample(np.delete(x, 2)[:, None], np.sign(np.delete(x, 2))))
    assert without.primal.b == pytest.approx((-0.8 + 0.4) / 2), "6 had no multiplier, and yet the offset moves"
    fixed = certified(SoftMargin(C=10.0), sample)
    assert leave_one_out_bound(fixed).terms["ends of the offset"] == 0


def test_a_machine_with_fixed_nu_is_another_machine_on_fewer_points():
    for machine in (NuSoftMargin(nu=0.4), UnitNuSoftMargin(nu=0.4)):
        with pytest.raises(InputError, match=r"its box 1/\(nu l\) changes with l"):
            leave_one_out_bound(certified(machine, two_classes()))


@functools.cache
def soft() -> kopt.Certificate:
    return certified(SoftMargin(C=1.0), two_classes())


BY_DELTA = {
    "margin": lambda delta: margin_bound(soft(), delta),
    "soft margin": lambda delta: soft_margin_bound(soft(), delta),
    "trace": lambda delta: trace_margin_bound(soft(), delta),
    "radius": lambda delta: radius_margin_bound(soft(), delta),
    "squares": lambda delta: squared_slack_bound(soft(), delta),
    "hard": lambda delta: hard_margin_bound(certified(HardMargin(), separated()), delta),
    "two norm": lambda delta: two_norm_bound(certified(TwoNormSoftMargin(C=1.0), two_classes()), delta),
    "nu": lambda delta: nu_bound(certified(NuSoftMargin(nu=0.5), two_classes()), delta),
    "shell": lambda delta: shell_bound(certified(Hypersphere(), cloud()), 1.0, delta),
    "soft sphere": lambda delta: soft_sphere_bound(certified(SoftHypersphere(C=0.2), cloud()), 1.0, delta),
    "squared error": lambda delta: squared_error_bound(certified(Ridge(ridge=1.0), targets()), delta),
    "tube": lambda delta: tube_bound(certified(Ridge(ridge=1.0), targets()), 1.0, delta),
    "perceptron": lambda delta: perceptron_bound(3, 100, delta),
    "novikoff": lambda delta: novikoff_bound(certified(HardMarginWithoutOffset(), through_the_origin()), delta),
    "support vectors": lambda delta: support_vector_bound(certified(HardMargin(), separated()), delta),
    "conditional": lambda delta: conditional_novelty_bound(cloud(), delta),
    "general": lambda delta: rademacher_bound(0.1, 0.1, 50, delta),
}


@pytest.mark.parametrize("name", BY_DELTA)
def test_more_confidence_costs_more(name):
    values = [BY_DELTA[name](delta).value for delta in (0.4, 0.1, 0.001)]
    assert values[0] < values[1] < values[2]


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, math.nan, "a", None, True, np.array([0.1])])
@pytest.mark.parametrize("name", BY_DELTA)
def test_what_is_no_probability_of_failure_is_refused(name, delta):
    with pytest.raises(InputError, match=r"^delta is .*\. Choose"):
        BY_DELTA[name](delta)


def test_taking_the_best_of_k_margins_costs_ln_k_over_2_l_under_the_root():
    n, delta, k = soft().sample.n, 0.05, 8
    once = margin_bound(soft(), delta / k).terms["confidence"]
    assert once == pytest.approx(3 * math.sqrt(math.log(2 / delta) / (2 * n) + math.log(k) / (2 * n)))


REFUSED = {
    "solution": (lambda: margin_bound(kopt.solve(SoftMargin(C=1.0), two_classes())), "of type Solution. Give a cert"),
    "task": (
        lambda: margin_bound(certified(Ridge(), targets())),
        "made for regression, but the theorem is about",
    ),
    "machine": (lambda: soft_margin_bound(certified(HardMargin(), separated())), "not about HardMargin. Solve"),
    "sphere": (lambda: shell_bound(soft(), 1.0), "is about novelty detection. Give"),
    "tube": (lambda: tube_bound(soft(), 1.0), "is about regression. Give"),
    "hard": (lambda: support_vector_bound(soft()), "not about SoftMargin. Solve"),
    "gamma": (lambda: margin_bound(soft(), gamma=-1.0), "gamma is -1, but must be a finite number > 0. Choose"),
    "shell": (lambda: shell_bound(certified(Hypersphere(), cloud()), 0.0), "gamma is 0, but must be"),
    "radius": (lambda: radius_margin_bound(soft(), R=0.5), "R is 0.5, but a point of the sample has the length 1 in"),
    "norm": (lambda: tube_bound(certified(Ridge(), targets()), 1.0, B=0.1), "B is 0.1, but the weight vector has"),
    "targets": (
        lambda: squared_error_bound(certified(Ridge(ridge=100.0), targets()), B=0.5),
        r"A target has the size .* but B R and the offset add up to 0.5. Choose B >= ",
    ),
    "width": (
        lambda: tube_bound(certified(EpsilonInsensitive(C=1.0, epsilon=0.3), targets()), 0.2),
        "gamma is 0.2 and epsilon 0.3, but",
    ),
    "rate": (lambda: shell_width(certified(NuHypersphere(nu=0.5), cloud()), 1.0), "p is 1, but must be"),
    "updates": (lambda: perceptron_bound(60, 100), "60 updates for 100 points, but"),
    "all": (
        lambda: support_vector_bound(certified(HardMargin(), Sample([[0.0], [1.0]], [-1, 1]))),
        "All 2 points are support vectors",
    ),
    "mean": (lambda: rademacher_bound(1.5, 0.1, 10), "The empirical mean is 1.5. Scale"),
    "no mean": (lambda: rademacher_bound("a", 0.1, 10), "empirical is 'a', but must be a finite number >= 0. Choose"),
    "complexity": (lambda: rademacher_bound(0.1, -1.0, 10), "complexity is -1, but must be a finite number >= 0"),
    "points": (lambda: rademacher_bound(0.1, 0.1, 10.5), "n is 10.5, but must be a whole number >= 1. Choose"),
    "draws": (lambda: rademacher_complexity(cloud(), draws=1), "draws is 1, but must be a whole number >= 2. Choose"),
    "half a draw": (lambda: rademacher_complexity(cloud(), draws=2.5), "draws is 2.5, but must be a whole number"),
    "seed": (lambda: rademacher_complexity(cloud(), seed=None), "seed is None, but must be a whole number >= 0"),
    "array": (lambda: rademacher_complexity(np.eye(3)), "of type ndarray. Wrap the data"),
    "points as an array": (lambda: novelty_threshold(np.eye(3)), "of type ndarray. Wrap the data"),
    "joint": (lambda: joint_novelty_bound(np.eye(3)), "of type ndarray. Wrap the data"),
    "conditional": (lambda: conditional_novelty_bound(np.eye(3)), "of type ndarray. Wrap the data"),
    "gamma as text": (lambda: margin_bound(soft(), gamma="a"), "gamma is 'a', but must be a finite number > 0. Choose"),
    "squares": (lambda: squared_slack_bound(soft(), gamma=True), "gamma is True, but must be a finite number > 0"),
    "no gamma": (lambda: shell_bound(certified(Hypersphere(), cloud()), None), "gamma is None, but must be"),
    "no width": (lambda: tube_bound(certified(Ridge(), targets()), None), "gamma is None, but must be"),
    "epsilon": (lambda: tube_bound(certified(Ridge(), targets()), 1.0, epsilon="a"), "epsilon is 'a', but must be"),
    "R as text": (lambda: radius_margin_bound(soft(), R="a"), "R is 'a', but must be a finite number > 0"),
    "B as text": (lambda: squared_error_bound(certified(Ridge(), targets()), B="a"), "B is 'a', but must be"),
    "p as text": (
        lambda: shell_width(certified(NuHypersphere(nu=0.5), cloud()), "a"),
        "p is 'a', but must be strictly",
    ),
    "half an update": (lambda: perceptron_bound(1.5, 100), "updates is 1.5, but must be a whole number >= 0"),
    "ball": (lambda: rademacher_complexity(cloud(), B=0.0), "B is 0, but must be"),
    "twice": (lambda: conditional_novelty_bound(cloud(), 0.5), "fails with 2 delta. Choose"),
    "ranks": (lambda: ranking_perceptron_bound(soft()), "SoftMargin is made for classification"),
    "zero": (
        lambda: margin_bound(kopt.verify(SoftMargin(C=1.0), two_classes(), {"alpha": np.zeros(30)})),
        "The weight vector is 0",
    ),
    "nan": (
        lambda: margin_bound(kopt.verify(SoftMargin(C=1.0), two_classes(), {"alpha": np.full(30, np.nan)})),
        "has values that are not finite",
    ),
    "left out": (lambda: leave_one_out_errors(Ridge(), targets()), "is made for regression"),
    "class": (lambda: leave_one_out_errors(HardMargin, separated()), "not a formulation with its parameters. Make one"),
    "left out of an array": (lambda: leave_one_out_errors(HardMargin(), np.eye(3)), "of type ndarray. Wrap the data"),
    "no margin": (lambda: margin_bound(certified(LogisticRegression(C=1.0), two_classes())), "no margin of its own"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_is_wrong_and_what_to_do(name):
    call, words = REFUSED[name]
    with pytest.raises(InputError, match=words) as refusal:
        call()
    assert refusal.value.what.endswith(".")
    assert refusal.value.remedy.endswith(".")


def test_the_margin_bounds_hold_on_random_samples_of_a_known_distribution():
    """x uniform on the circle, the label its side of a line but for one in ten: the error of a direction is known.

    The function is learnt from each sample: the difference of the class means, with the margin 0.4 fixed in advance.
    The training error alone is no bound: it is exceeded in about half of the samples.
    """
    rng, n, noise, delta = np.random.default_rng(0), 300, 0.1, 0.05
    missed = {"training error": 0, "4.17": 0, "6.17": 0, "6.18": 0, "7.13": 0}
    for _ in range(60):
        angle = rng.uniform(0, 2 * math.pi, n)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        y = np.where(X[:, 0] > 0, 1.0, -1.0) * np.where(rng.random(n) < noise, -1, 1)
        answer = {"w": y / n, "b": 0.0, "xi": np.zeros(n), "alpha": np.full(n, 1 / n)}
        certificate = kopt.verify(SoftMargin(C=1.0), Sample(X, y), answer)
        w = X.T @ y / n
        turned = abs(math.atan2(w[1], w[0])) / math.pi
        error = noise * (1 - turned) + (1 - noise) * turned
        bounds = {
            "training error": np.mean(y * (X @ w) <= 0),
            "4.17": margin_bound(certificate, delta, gamma=0.4).value,
            "6.17": radius_margin_bound(certificate, delta, gamma=0.4).value,
            "6.18": trace_margin_bound(certificate, delta, gamma=0.4).value,
            "7.13": squared_slack_bound(certificate, delta, gamma=0.4).value,
        }
        assert bounds["6.18"] < 1
        for name, bound in bounds.items():
            missed[name] += error > bound
    assert missed.pop("training error") >= 15
    assert set(missed.values()) == {0}


def test_the_sphere_bounds_hold_on_random_samples_of_a_known_distribution():
    """x uniform on [-1, 1], so that the probability outside an interval is known; R = 1."""
    rng, outside = np.random.default_rng(1), []
    for _ in range(10):
        sample = Sample(rng.uniform(-1, 1, size=(400, 1)))
        solution = kopt.solve(NuHypersphere(nu=0.5), sample)
        c = float(sample.X[:, 0] @ solution.primal.c.coefficients)
        for gamma in (0.1, 0.6):
            radius = math.sqrt(float(solution.primal.R) + gamma)
            inside = max(0.0, min(1.0, c + radius) - max(-1.0, c - radius)) / 2
            outside.append(1 - inside)
            for printed in (False, True):
                bound = soft_sphere_bound(solution.certificate, gamma, R=1.0, printed=printed)
                assert 1 - inside <= bound.value
    assert max(outside) > bound.terms["confidence"]
