"""The referee on claims that are wrong as printed; and what is wrong with them, by plain CVXPY without a referee."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice

import cvxpy as cp
import numpy as np
import pytest

import kopt
from formulations.classification.fisher_discriminant import FisherDiscriminant
from formulations.classification.unit_nu_soft_margin import UnitNuSoftMargin
from formulations.classification.unit_soft_margin import UnitSoftMargin
from formulations.errata.balance_of_the_ranking_thresholds import BalanceOfTheRankingThresholds
from formulations.errata.free_points import from_free_points
from formulations.errata.leftover_term_of_nu_regression import LeftoverTermOfNuRegression
from formulations.errata.offset_and_margin_of_the_nu_machine import OffsetAndMarginOfTheNuMachine
from formulations.errata.offset_and_margin_of_the_soft_margin_machine import OffsetAndMarginOfTheSoftMarginMachine
from formulations.errata.right_hand_side_of_the_fisher_discriminant import RightHandSideOfTheFisherDiscriminant
from formulations.errata.scale_of_the_quadratic_regression_dual import ScaleOfTheQuadraticRegressionDual
from formulations.errata.soft_sphere_dual_for_small_costs import KERNELS, SoftSphereDualForSmallCosts
from formulations.errata.squares_in_the_quadratic_regression_dual import SquaresInTheQuadraticRegressionDual
from formulations.errata.weight_vector_of_the_fisher_discriminant import WeightVectorOfTheFisherDiscriminant
from formulations.novelty.soft_hypersphere import SoftHypersphere
from formulations.ranking.nu_ranking import NuRanking
from formulations.regression.nu_regression import NuRegression
from formulations.regression.quadratic_epsilon_insensitive import QuadraticEpsilonInsensitive
from kopt import Formulation, Point, Sample, View
from kopt.cones import NonNegative
from kopt.formulation import Pair
from kopt.referee import Judgement, Kind, Verdict, referee
from kopt.views import ExplicitView
from tests.instances import data, draw_parameters


def by_hand(lambda_: float, s_i: float, s_j: float) -> tuple[float, float]:
    """b and gamma by (7.15) and (7.16), where <w, phi(x_i)> = s_i / (2 lambda)."""
    b = -0.5 * (s_i + s_j) / (2 * lambda_)
    return b, s_j / (2 * lambda_) + b


class FreePointSoftMargin(UnitSoftMargin):
    """Offset and margin of `UnitSoftMargin` from two free support vectors; where there are none, by its own rule."""

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return from_free_points(s, dual.alpha, self.C * s.costs, by_hand) or super().recover(s, dual)


class FreePointNuSoftMargin(UnitNuSoftMargin):
    """The same rule for `UnitNuSoftMargin`."""

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return from_free_points(s, dual.alpha, self.bound(s), by_hand) or super().recover(s, dual)


Values = dict[str, np.ndarray]

CORRECTED = (
    QuadraticEpsilonInsensitive,
    NuRanking,
    SoftHypersphere,
    NuRegression,
    FreePointSoftMargin,
    FreePointNuSoftMargin,
    FisherDiscriminant,
)
# The one that is printed for quadratic regression is right.
RIGHT_RECOVERY = (*CORRECTED, ScaleOfTheQuadraticRegressionDual.Printed)
PRINTED_RECOVERY = (OffsetAndMarginOfTheSoftMarginMachine.Printed, OffsetAndMarginOfTheNuMachine.Printed)
INSTANCES = 3
POINTS = 3
# What interior point methods reach on a value and, with a factor 100, on what follows from a point; the mistakes are
# far larger.
SOLVED = 1e-6
MISTAKEN = 1e-2
# The minimisers of the Lagrangian lie well inside this box: what reaches its walls is unbounded.
BOX = 200.0


@cache
def verdict(cls: type[Formulation]) -> Verdict:
    return referee(cls, instances=8, seed=0)


def places(cls: type[Formulation]) -> set[tuple[Kind, str]]:
    return {(fault.kind, fault.where) for fault in verdict(cls).faults}


@pytest.mark.parametrize("cls", CORRECTED, ids=lambda cls: cls.__qualname__)
def test_the_corrected_claims_are_exact(cls: type[Formulation]) -> None:
    assert verdict(cls).judgement is Judgement.EXACT, verdict(cls).faults
    assert not verdict(cls).faults


def test_quadratic_regression_is_scaled_by_two() -> None:
    found = verdict(ScaleOfTheQuadraticRegressionDual.Printed)
    assert found.judgement is Judgement.SCALED, found.faults
    assert found.factor == "1/2 times the dual function, at multipliers times 2"


def test_quadratic_regression_to_the_letter_is_not_even_scaled() -> None:
    found = verdict(SquaresInTheQuadraticRegressionDual.Printed)
    assert found.judgement is Judgement.WRONG, found.factor
    assert {fault.kind for fault in found.faults} <= {Kind.WRONG_TERM, Kind.WRONG_OBJECTIVE}


def test_ranking_has_the_wrong_balance() -> None:
    assert verdict(BalanceOfTheRankingThresholds.Printed).judgement is Judgement.WRONG
    assert places(BalanceOfTheRankingThresholds.Printed) == {
        (Kind.MISSING_CONSTRAINT, "b"),
        (Kind.SUPERFLUOUS_CONSTRAINT, "b"),
    }


def test_the_soft_hypersphere_is_too_tight_in_the_radius() -> None:
    found = verdict(SoftSphereDualForSmallCosts.Printed)
    assert found.judgement is Judgement.WRONG
    others = [fault for fault in found.faults if fault.kind is not Kind.DUALITY_GAP]
    assert {fault.where for fault in others} == {"R"}
    (tight,) = (fault for fault in found.faults if fault.where == "R")
    assert tight.kind in (Kind.SUPERFLUOUS_CONSTRAINT, Kind.WRONG_BOUND)
    assert "sum_i alpha_i <= 1" in tight.fix, tight.fix
    (gap,) = (fault for fault in found.faults if fault.kind is Kind.DUALITY_GAP)
    assert "infeasible" in gap.what


def test_nu_regression_has_a_leftover_term() -> None:
    found = verdict(LeftoverTermOfNuRegression.Printed)
    assert found.judgement is Judgement.WRONG
    assert [fault.kind for fault in found.faults] == [Kind.WRONG_TERM]
    assert found.faults[0].where.endswith("sum(alpha_hat + alpha)")
    assert found.faults[0].fix.startswith("Leave out")


@pytest.mark.parametrize("cls", PRINTED_RECOVERY, ids=lambda cls: cls.__qualname__)
def test_the_code_fragments_recover_offset_and_margin_wrongly(cls: type[Formulation]) -> None:
    assert verdict(cls).judgement is Judgement.WRONG, verdict(cls).factor
    # The slacks follow from the two.
    wrong = {(Kind.WRONG_RECOVERY, "b"), (Kind.WRONG_RECOVERY, "gamma")}
    assert wrong <= places(cls) <= {*wrong, (Kind.WRONG_RECOVERY, "xi")}


def test_the_fisher_discriminant_has_a_wrong_term() -> None:
    found = verdict(RightHandSideOfTheFisherDiscriminant.Printed)
    assert found.judgement is Judgement.WRONG
    wrong = [fault for fault in found.faults if fault.kind is Kind.WRONG_TERM]
    assert [fault.where.partition(" * ")[2] for fault in wrong] == ["||sum_i (y - eta)_i phi(x_i)||^2"], found.faults


def test_the_fisher_discriminant_recovers_the_weight_vector_wrongly() -> None:
    printed = WeightVectorOfTheFisherDiscriminant.Printed
    assert verdict(printed).judgement is Judgement.WRONG, verdict(printed).factor
    assert (Kind.WRONG_RECOVERY, "w") in places(printed)
    # The means and deviations follow from w.
    assert places(printed) <= {(Kind.WRONG_RECOVERY, name) for name in ("w", "m", "xi")}


class Programs:
    """Both programs of one instance in coordinates, evaluated without the referee."""

    def __init__(self, formulation: Formulation, sample: Sample) -> None:
        self.formulation, self.sample = formulation, sample
        self.view = ExplicitView(sample)
        pair = Pair(formulation, self.view, self.view)
        assert pair.dual is not None
        self.primal, self.dual = pair.primal, pair.dual

    def optimum(self) -> float:
        return solved(self.primal.problem())

    def claimed_optimum(self) -> float:
        return solved(self.dual.problem())

    def claimed(self, point: Values) -> float:
        for name, variable in self.dual.variables.items():
            variable.value = point[name]
        return float(self.dual.objective.value)

    def lagrangian(self, point: Values, scale: float = 1.0) -> float:
        """The minimum over the primal variables of objective + <scale * multipliers, residuals>."""
        self.claimed(point)
        terms = self.primal.objective.args[0]
        for name, cone in self.primal.cones.items():
            multiplier = scale * (self.dual.multipliers | self.dual.variables)[name].value
            if isinstance(cone, NonNegative):  # -1e-12 on a square is not convex
                multiplier = np.maximum(multiplier, 0.0)
            terms = terms + cp.sum(cp.multiply(multiplier, cone.residual))
        box = [cp.abs(variable) <= BOX for variable in self.primal.variables.values()]
        return solved(cp.Problem(cp.Minimize(terms), box))

    def points(self) -> Iterator[Values]:
        """Random points that the dual allows, off the corners; in a box, where the set is unbounded."""
        rng = np.random.default_rng(1)
        variables = self.dual.variables
        allowed = [*self.dual.problem().constraints, *(cp.abs(v) <= 2 for v in variables.values())]
        corners = []
        for _ in range(POINTS + 1):
            cost = sum(rng.normal(size=v.shape) @ v for v in variables.values())
            assert np.isfinite(solved(cp.Problem(cp.Minimize(cost), allowed)))
            corners.append({name: v.value for name, v in variables.items()})
        for one, other in zip(corners[1:], corners[:-1], strict=True):
            yield {name: 0.7 * one[name] + 0.3 * other[name] for name in one}

    def best_point(self) -> Values:
        # A point is known to the root of the accuracy of its value, so this one is solved as far as it goes.
        assert np.isfinite(solved(self.dual.problem(), tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12))
        return {name: variable.value for name, variable in self.dual.variables.items()}

    def recovered(self) -> tuple[float, float]:
        """The value of the recovered point, and how far it is from being feasible."""
        point = self.formulation.recover(self.view, kopt.Point(self.best_point()))
        assert point is not None
        for name, variable in self.primal.variables.items():
            value = point[name]
            is_vector = isinstance(value, kopt.Combination)
            variable.value = self.sample.gram().factor.T @ value.coefficients if is_vector else value
        violations = [cone.violation(cone.residual.value) for cone in self.primal.cones.values()]
        return float(self.primal.objective.value), max(violations)


@cache
def programs(cls: type[Formulation]) -> list[Programs]:
    """A formulation's own instances, or samples of its task on which its primal has an optimum that is not 0."""
    return list(islice(drawn(cls), INSTANCES))


def drawn(cls: type[Formulation]) -> Iterator[Programs]:
    rng = np.random.default_rng(0)
    own = cls.instances(rng)
    if own is not None:
        yield from (Programs(*instance) for instance in own)
        return
    for n, kernel in cycle(zip((7, 9, 11), KERNELS, strict=True)):
        X, y = data(cls.task, n, 0.5, rng)
        found = Programs(draw_parameters(cls, rng), Sample(X, y, kernel=kernel))
        optimum = found.optimum()
        if np.isfinite(optimum) and abs(optimum) > MISTAKEN:
            yield found


def solved(problem: cp.Problem, **tolerances: float) -> float:
    """The value, infinite where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(problem.solve(solver=cp.CLARABEL, **tolerances))


def near(value: float) -> object:
    return pytest.approx(value, rel=SOLVED, abs=SOLVED)


@pytest.mark.parametrize("cls", CORRECTED, ids=lambda cls: cls.__qualname__)
def test_a_corrected_dual_is_the_dual_function(cls: type[Formulation]) -> None:
    for both in programs(cls):
        assert both.claimed_optimum() == near(both.optimum())
        for point in both.points():
            assert both.lagrangian(point) == near(both.claimed(point))


@pytest.mark.parametrize("cls", RIGHT_RECOVERY, ids=lambda cls: cls.__qualname__)
def test_a_right_recovery_is_optimal(cls: type[Formulation]) -> None:
    for both in programs(cls):
        value, violation = both.recovered()
        assert violation < 100 * SOLVED
        assert value == pytest.approx(both.optimum(), rel=100 * SOLVED, abs=100 * SOLVED)


def test_quadratic_regression_has_half_the_value_at_half_the_multipliers() -> None:
    for both in programs(ScaleOfTheQuadraticRegressionDual.Printed):
        assert 2 * both.claimed_optimum() == near(both.optimum())
        for point in both.points():
            assert both.lagrangian(point, scale=2) == near(2 * both.claimed(point))


def test_quadratic_regression_to_the_letter_is_so_at_the_optimum_only() -> None:
    for both in programs(SquaresInTheQuadraticRegressionDual.Printed):
        assert 2 * both.claimed_optimum() == near(both.optimum())
        for point in both.points():
            excess = point["alpha"] @ point["alpha_hat"] / both.formulation.C
            assert excess > MISTAKEN
            assert both.claimed(point) - both.lagrangian(point, scale=2) / 2 == near(excess)


def test_the_printed_ranking_dual_leaves_the_thresholds_unbounded() -> None:
    for both in programs(BalanceOfTheRankingThresholds.Printed):
        assert abs(both.claimed_optimum() - both.optimum()) > MISTAKEN
        assert all(both.lagrangian(point) < both.claimed(point) - MISTAKEN * BOX for point in both.points())


def test_the_printed_hypersphere_dual_is_infeasible_for_small_costs() -> None:
    small = [both.formulation.C * both.sample.n < 1 for both in programs(SoftSphereDualForSmallCosts.Printed)]
    assert any(small)
    assert not all(small)
    for both, is_small in zip(programs(SoftSphereDualForSmallCosts.Printed), small, strict=True):
        assert np.isfinite(both.optimum())
        assert both.claimed_optimum() == (-np.inf if is_small else near(both.optimum()))


def test_the_printed_nu_regression_is_off_by_the_leftover_term() -> None:
    for both in programs(LeftoverTermOfNuRegression.Printed):
        for point in both.points():
            leftover = both.formulation.epsilon * np.sum(point["alpha"] + point["alpha_hat"])
            assert both.claimed(point) + leftover == near(both.lagrangian(point))


def test_with_the_optimal_epsilon_the_leftover_is_c_nu_epsilon() -> None:
    for both in programs(LeftoverTermOfNuRegression.Printed):
        optimum = both.optimum()
        epsilon = float(both.primal.variables["epsilon"].value)
        assert epsilon > MISTAKEN
        formulation = dataclasses.replace(both.formulation, epsilon=epsilon)
        missing = optimum - Programs(formulation, both.sample).claimed_optimum()
        assert missing == pytest.approx(formulation.C * formulation.nu * epsilon, rel=100 * SOLVED)


@pytest.mark.parametrize("cls", PRINTED_RECOVERY, ids=lambda cls: cls.__qualname__)
def test_the_printed_offset_and_margin_are_not_optimal(cls: type[Formulation]) -> None:
    for both in programs(cls):
        value, violation = both.recovered()
        assert violation < SOLVED
        assert value > both.optimum() + MISTAKEN


def test_the_fisher_discriminant_solves_the_printed_system() -> None:
    for cls, corrected in ((RightHandSideOfTheFisherDiscriminant.Printed, False), (FisherDiscriminant, True)):
        for both in programs(cls):
            y, K, ridge = both.sample.y, both.sample.gram().dense, both.formulation.ridge
            D, B = weights(y)
            right = D * y if corrected else y
            alpha = both.formulation.recover(both.view, kopt.Point(both.best_point()))["w"].coefficients
            np.testing.assert_allclose((B @ K + ridge * np.eye(len(y))) @ alpha, right, atol=100 * SOLVED)


def test_the_printed_fisher_discriminant_is_right_for_classes_of_equal_size_only() -> None:
    rng = np.random.default_rng(2)
    for plus, minus in ((3, 3), (3, 5), (2, 7)):
        y = np.repeat([1.0, -1.0], [plus, minus])
        X = rng.normal(loc=(0.5, -0.3, 0.2), size=(len(y), 3)) + 0.5 * y[:, None]
        best = discriminant(FisherDiscriminant, X, y)
        printed = discriminant(RightHandSideOfTheFisherDiscriminant.Printed, X, y)
        if plus == minus:
            assert printed == near(best)
        else:
            assert printed < best - MISTAKEN


def discriminant(cls: type[Formulation], X: np.ndarray, y: np.ndarray) -> float:
    """(5.11) at the recovered w; checked to be the largest value for the corrected machine."""
    both = Programs(cls(ridge=0.37), Sample(X, y))
    w = X.T @ both.formulation.recover(both.view, kopt.Point(both.best_point()))["w"].coefficients
    means = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    ridge = 0.37 * len(y) / (2 * np.sum(y > 0) * np.sum(y < 0))
    spread = sum(np.cov(X[y == sign].T, bias=True) for sign in (1, -1)) + ridge * np.eye(X.shape[1])
    if cls is FisherDiscriminant:
        assert (means @ w) ** 2 / (w @ spread @ w) == near(means @ np.linalg.solve(spread, means))
    return float((means @ w) ** 2 / (w @ spread @ w))


def weights(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """D as a vector, and B, by (5.12)-(5.15)."""
    plus, minus, n = np.sum(y > 0), np.sum(y < 0), len(y)
    D = np.where(y > 0, 2 * minus / n, 2 * plus / n)
    j_plus, j_minus = (y > 0).astype(float), (y < 0).astype(float)
    C_plus = 2 * minus / (n * plus) * np.outer(j_plus, j_plus)
    C_minus = 2 * plus / (n * minus) * np.outer(j_minus, j_minus)
    return D, np.diag(D) - C_plus - C_minus
