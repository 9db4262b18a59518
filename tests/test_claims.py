"""What the texts state about an optimum: it holds there, and every statement fails for an answer that is near it."""

from collections.abc import Iterator
from functools import cache
from itertools import chain

import numpy as np
import pytest

import kopt
from formulations.classification import HardMargin, NuSoftMargin, UnitNuSoftMargin
from formulations.novelty import Hypersphere, SoftHypersphere
from kopt import Combination, Sample, Solution, Task
from kopt.kernels import Gaussian, Scaled
from tests.instances import BY_NAME, KERNELS, data, instance, parameters, variable_names
from tests.tolerances import CLAIM, VANISHING

every_name = pytest.mark.parametrize("name", list(BY_NAME))
every_kernel = pytest.mark.parametrize("kernel", ["sum"])

# One part of the answer at a time is wrong by this much of its largest entry.
ERRORS = (0.1, -0.1, 0.01, -0.01)
# An inequality may leave room for all of these; then it has to fail for one of these multiples.
MULTIPLES = (0.0, -1.0, 10.0)


@cache
def solved(name: str, kernel: str) -> Solution:
    given = instance(name, kernel, 1)
    return kopt.solve(given.formulation, given.sample)


def variables(solution: Solution, side: str) -> dict[str, np.ndarray]:
    """The variables of one side of a solution, weight vectors by their coefficients."""
    found = {}
    for key in variable_names(solution.formulation.problem(solution.sample, side)):
        value = getattr(solution, side)[key]
        found[key] = value.coefficients if isinstance(value, Combination) else np.asarray(value, float)
    return found


def nearby(solution: Solution) -> Iterator[dict[str, np.ndarray]]:
    """Answers in which one variable is too large, too small, or uneven; one that vanishes, in units of its side."""
    sides = [variables(solution, side) for side in ("primal", "dual")]
    right, rng = {**sides[0], **sides[1]}, np.random.default_rng(0)
    for error in ERRORS:
        for side in sides:
            largest = max(float(np.max(np.abs(value))) for value in side.values())
            for key, value in side.items():
                size = float(np.max(np.abs(value)))
                off = error * (largest if size <= VANISHING * largest else size)
                yield {**right, key: value * (1 + error)}
                yield {**right, key: value + off}
                yield {**right, key: value + off * rng.standard_normal(value.shape)}


def multiples(solution: Solution) -> Iterator[dict[str, np.ndarray]]:
    """Answers in which one variable is a multiple of what it should be."""
    right = variables(solution, "primal") | variables(solution, "dual")
    for factor in MULTIPLES:
        for key, value in right.items():
            yield {**right, key: factor * value}


def unbroken(solution: Solution, stated: set[str], answers: Iterator[dict[str, np.ndarray]]) -> set[str]:
    """Those of the statements that hold for all of the answers."""
    for answer in answers:
        if not stated:
            break
        claims = kopt.verify(solution.formulation, solution.sample, answer).claims
        stated = stated - {claim.statement for claim in claims if not claim.holds(CLAIM)}
    return stated


def stated(solution: Solution, relation: str) -> set[str]:
    return {claim.statement for claim in solution.certificate.claims if claim.relation == relation}


@every_kernel
@every_name
class TestEveryClaim:
    def test_it_holds_at_the_optimum(self, name, kernel):
        claims = solved(name, kernel).certificate.claims
        assert claims
        assert [claim for claim in claims if not claim.holds(CLAIM)] == []

    def test_it_is_stated_once(self, name, kernel):
        claims = solved(name, kernel).certificate.claims
        assert len({claim.statement for claim in claims}) == len(claims)

    def test_an_equation_fails_nearby(self, name, kernel):
        solution = solved(name, kernel)
        assert unbroken(solution, stated(solution, "="), nearby(solution)) == set()

    def test_an_inequality_can_fail(self, name, kernel):
        solution = solved(name, kernel)
        answers = chain(multiples(solution), nearby(solution))
        assert unbroken(solution, stated(solution, "<="), answers) == set()


# The machines for points in feature space, and the unit of C in powers of K; nu has none.
UNIT_OF_C = {
    "HardMargin": 0,
    "HardMarginWithoutOffset": 0,
    "SoftMargin": -1,
    "SoftMarginWithoutOffset": -1,
    "TwoNormSoftMargin": -1,
    "TwoNormSoftMarginWithoutOffset": -1,
    "NuSoftMargin": 0,
    "UnitHardMargin": 0,
    "UnitSoftMargin": 0,
    "UnitNuSoftMargin": 0,
    "UnitTwoNormSoftMargin": -0.5,
    "Hypersphere": 0,
    "SoftHypersphere": 0,
    "NuHypersphere": 0,
    "OneClass": 0,
}


@pytest.mark.parametrize("s", [1e-6, 1e6])
@every_kernel
@pytest.mark.parametrize("name", UNIT_OF_C)
def test_the_claims_hold_for_a_scaled_kernel(name, kernel, s):
    """Under the same names: none disappears because a number that is not small has become small."""
    given = instance(name, kernel, 1)
    old, units = given.sample, {"C": UNIT_OF_C[name], "nu": 0}
    formulation = BY_NAME[name](**{key: C * s ** units[key] for key, C in parameters(given.formulation).items()})
    scaled = kopt.solve(formulation, Sample(old.X, old.y, kernel=Scaled(s, old.gram().kernel), costs=old.costs))
    claims = scaled.certificate.claims
    assert [claim for claim in claims if not claim.holds(CLAIM)] == []
    assert [claim.statement for claim in claims] == [
        claim.statement for claim in solved(name, kernel).certificate.claims
    ]


def assert_claimed(solution: Solution, part: str) -> None:
    """Exactly one claim is about this; it holds, and fails nearby."""
    (claim,) = (claim for claim in solution.certificate.claims if part in claim.statement)
    assert claim.holds(CLAIM)
    assert unbroken(solution, {claim.statement}, nearby(solution)) == set()


def claims_about(solution: Solution, part: str) -> list[str]:
    return [claim.statement for claim in solution.certificate.claims if part in claim.statement]


def points(task: Task, n: int = 17) -> tuple[np.ndarray, np.ndarray | None]:
    return data(task, n, 0.5, np.random.default_rng(6))


class TestClaimsOfSomeSamplesOnly:
    def test_the_largest_nu_of_balanced_classes_gives_the_distance_of_the_means(self):
        X, y = points(Task.CLASSIFICATION, 31)
        chosen = np.concatenate([np.flatnonzero(y > 0)[:7], np.flatnonzero(y < 0)[:7]])
        balanced = Sample(X[chosen], y[chosen], kernel=Gaussian(1.3))
        assert_claimed(kopt.solve(UnitNuSoftMargin(nu=1.0), balanced), "distance of the means")
        assert claims_about(kopt.solve(UnitNuSoftMargin(nu=0.9), balanced), "distance of the means") == []
        weighted = Sample(X, y, kernel=Gaussian(1.3), costs=np.where(y > 0, 1 / np.sum(y > 0), 1 / np.sum(y < 0)))
        assert_claimed(kopt.solve(UnitNuSoftMargin(nu=2 / 31), weighted), "distance of the means")

    def test_the_sphere_of_points_of_one_length(self):
        X, _ = points(Task.NOVELTY)
        assert_claimed(kopt.solve(Hypersphere(), Sample(X, kernel=Gaussian(1.3))), "r^2 + ||c||^2 = k(x, x)")
        assert claims_about(kopt.solve(Hypersphere(), Sample(X)), "r^2 + ||c||^2") == []

    @pytest.mark.parametrize("kernel", list(KERNELS))
    def test_the_soft_sphere_for_small_and_large_costs(self, kernel):
        sample = Sample(points(Task.NOVELTY)[0], kernel=KERNELS[kernel])
        point, soft, hard = (kopt.solve(SoftHypersphere(C=C), sample) for C in (0.9 / 17, 0.3, 1.1))
        assert_claimed(point, "r = 0 if C < 1/l")
        assert_claimed(hard, "no point is outside if C > 1")
        for solution in (soft, hard):
            assert claims_about(solution, "r = 0") == []
            assert len(claims_about(solution, "1/C")) == 2
        assert claims_about(soft, "no point is outside") == []

    def test_no_nu_property_where_the_margin_of_the_nu_machine_is_0(self):
        """Opposite duplicates cannot be told apart: rho = 0, and what depends on a margin is not claimed."""
        X, y = points(Task.CLASSIFICATION)
        twins = Sample(np.vstack([X, X]), np.append(y, -y), kernel=Gaussian(1.3))
        solution = kopt.solve(NuSoftMargin(nu=0.4), twins)
        assert claims_about(solution, "nu l") == claims_about(solution, "nu/2") == []
        assert claims_about(solution, "alpha = 0 where y f > rho")


def test_a_wrong_offset_is_told_by_the_hulls():
    """By hand: p = 3 and q = 1, so b = (1 - 9) / 4 = -2; the formula needs the squares of p and q, not p and q."""
    sample = Sample([[1.0], [0.0], [3.0], [7.0]], [-1, -1, 1, 1])
    solution = kopt.solve(HardMargin(), sample)
    (claim,) = (claim for claim in solution.certificate.claims if claim.statement.startswith("b ="))
    assert [claim.left, claim.right] == pytest.approx([-8.0, -8.0], rel=CLAIM)
    right = variables(solution, "primal") | variables(solution, "dual")
    wrong = kopt.verify(HardMargin(), sample, {**right, "b": -2.02}).claims
    failed = {claim.statement for claim in wrong if not claim.holds(CLAIM)}
    nearest = {f"the smallest margin of the {of} points is 1" for of in ("positive", "negative")}
    assert failed == {claim.statement, "alpha > 0 only where y f = 1: sum alpha |y f - 1| = 0", *nearest}
