"""The machine of any loss: solved, certified, refereed, and compared with the machines of the library."""

import math

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import kopt
from formulations.classification import (
    LogisticRegression,
    PowerSoftMargin,
    SoftMargin,
    SoftMarginWithoutOffset,
    TwoNormSoftMargin,
)
from formulations.regression import (
    EpsilonInsensitive,
    EpsilonInsensitiveWithoutOffset,
    QuadraticEpsilonInsensitive,
    Ridge,
    RidgeWithOffset,
)
from kopt import DeclarationError, InputError, Judgement, Kind, losses
from kopt.kernels import Gaussian
from kopt.losses import Loss, On
from kopt.quadratic import QuadraticProgram, quadratic_program
from kopt.regularised_risk import MarginRisk, ResidualRisk, best_offset, regularised_risk
from tests.tolerances import CERTIFIED, CLAIM, LIBSVM, VALUE, WEIGHT

LOSSES = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.PowerHinge(p=1.6),
    losses.Logistic(),
    losses.Exponential(),
    losses.SmoothedHinge(width=0.6),
    losses.EpsilonInsensitive(epsilon=0.15),
    losses.SquaredEpsilonInsensitive(epsilon=0.15),
    losses.Squared(),
    losses.Absolute(),
    losses.Huber(delta=0.4),
    losses.Pinball(tau=0.3),
    losses.Power(p=1.7),
]
NOT_QUADRATIC = (losses.PowerHinge, losses.Logistic, losses.Exponential, losses.Power)
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
each_offset = pytest.mark.parametrize("offset", [True, False], ids=["offset", "no offset"])

# Two ways of writing one objective differ by the roundings of a few sums.
ROUNDING = 1e-12


def sample_for(on: On, n: int = 14, seed: int = 3) -> kopt.Sample:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    target = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
    y = np.where(target > 0.2, 1.0, -1.0) if on is On.MARGIN else target
    return kopt.Sample(X, y, kernel=Gaussian(sigma=1.1), costs=rng.uniform(0.4, 2.5, n))


class LogCosh(Loss):
    """ln cosh t, as a newcomer writes it."""

    on = On.RESIDUAL
    conjugate_domain = (-1.0, 1.0)

    def expression(self, t):
        return cp.logistic(2 * t) - t - math.log(2)

    def conjugate_expression(self, u):
        return math.log(2) - cp.entr((1 + u) / 2) - cp.entr((1 - u) / 2)


@each_offset
@pytest.mark.parametrize("loss", [*LOSSES, LogCosh()], ids=repr)
def test_both_sides_are_certified(loss, offset):
    machine, sample = regularised_risk(loss, offset=offset, cost=1.7), sample_for(loss.on)
    solutions = [kopt.solve(machine, sample, side=side) for side in ("dual", "primal")]
    for solution in solutions:
        assert solution.certificate.holds(CERTIFIED), solution
        assert solution.certificate.bounds.known
        assert all(claim.holds(CLAIM) for claim in solution.certificate.claims), solution
        assert len(solution.certificate.claims) == 3
        assert ("b" in solution.primal) == offset
    assert solutions[0].value == pytest.approx(solutions[1].value, rel=VALUE)
    predictions = solutions[0].predict(sample.X[:3])
    assert set(predictions) <= {-1, 1} if loss.on is On.MARGIN else predictions.shape == (3,)


@each_offset
@each_loss
def test_the_referee_says_exact(loss, offset):
    machine = regularised_risk(loss, offset=offset, cost=1.7)
    verdict = kopt.referee(machine, sample_for(loss.on, n=5), instances=1)
    assert verdict.judgement is Judgement.EXACT, verdict
    assert not verdict.notes, verdict


@pytest.mark.parametrize("machine", [MarginRisk, ResidualRisk])
def test_the_referee_takes_the_classes(machine):
    assert kopt.referee(machine, instances=2).judgement is Judgement.EXACT


@each_loss
def test_quadratic_duals_are_recognised(loss):
    program = quadratic_program(regularised_risk(loss, cost=1.7), sample_for(loss.on))
    assert isinstance(program, QuadraticProgram) != isinstance(loss, NOT_QUADRATIC), program


def test_the_dense_solver_takes_quadratic_duals():
    for loss in (losses.SmoothedHinge(width=0.6), losses.EpsilonInsensitive(epsilon=0.15)):
        machine, sample = regularised_risk(loss, cost=1.7), sample_for(loss.on)
        dense = kopt.solve(machine, sample, method="DENSE")
        assert dense.method == "DENSE"
        assert dense.certificate.holds(CERTIFIED)


C, EPSILON = 1.7, 0.15


# A machine of the library, the loss and the cost that make it, and by which factor value and multipliers differ.
LIBRARY = [
    (SoftMargin(C=C), losses.Hinge(), C, True, 1.0),
    (SoftMarginWithoutOffset(C=C), losses.Hinge(), C, False, 1.0),
    (TwoNormSoftMargin(C=C), losses.SquaredHinge(), C / 2, True, 1.0),
    (PowerSoftMargin(C=C, p=1.6), losses.PowerHinge(p=1.6), C, True, 1.0),
    (LogisticRegression(C=C), losses.Logistic(), C, True, 1.0),
    (EpsilonInsensitive(C=C, epsilon=EPSILON), losses.EpsilonInsensitive(EPSILON), C, True, 1.0),
    (EpsilonInsensitiveWithoutOffset(C=C, epsilon=EPSILON), losses.EpsilonInsensitive(EPSILON), C, False, 1.0),
    (
        QuadraticEpsilonInsensitive(C=C, epsilon=EPSILON),
        losses.SquaredEpsilonInsensitive(EPSILON),
        C / 2,
        True,
        2.0,
    ),
    (Ridge(ridge=0.3), losses.Squared(), 1 / 0.6, False, 0.6),
    (RidgeWithOffset(ridge=0.3), losses.Squared(), 1 / 0.6, True, 0.6),
]


def dual_value(machine, sample, values):
    problem = machine.problem(sample, side="dual")
    for variable in problem.variables():
        variable.value = values[variable.name()]
    assert all(np.max(constraint.violation()) < 1e-12 for constraint in problem.constraints)
    return problem.objective.value


def balanced(rng, sample, on, upper, offset):
    """Multipliers in a box, of which those of the two kinds (classes, or signs) add up to the same."""
    kind = sample.y > 0 if on is On.MARGIN else np.arange(sample.n) % 3 == 0
    alpha = rng.uniform(0, upper * sample.costs)
    if offset:
        sums = alpha[kind].sum(), alpha[~kind].sum()
        alpha = np.where(kind, alpha / sums[0], alpha / sums[1]) * min(sums)
    return alpha if on is On.MARGIN else np.where(kind, alpha, -alpha)


def in_both(machine, loss, alpha, factor):
    """Multipliers alpha of a machine of the library, by name in it and in the regularised risk."""
    if len(loss.summands) == 2:
        shared = 0.1 * np.min(np.abs(alpha))  # both multipliers of a point may be positive
        hat, plain = np.maximum(0, -alpha) + shared, np.maximum(0, alpha) + shared
        return {"alpha_hat": hat, "alpha": plain}, {"alpha[0]": -hat / factor, "alpha[1]": plain / factor}
    name = "beta" if isinstance(machine, Ridge | RidgeWithOffset) else "alpha"
    return {name: alpha}, {"alpha": alpha / factor}


@pytest.mark.parametrize(("machine", "loss", "cost", "offset", "factor"), LIBRARY, ids=lambda value: repr(value)[:40])
def test_machines_of_the_library_are_instances(machine, loss, cost, offset, factor):
    risk, sample = regularised_risk(loss, offset=offset, cost=cost), sample_for(loss.on)
    rng = np.random.default_rng(0)
    for _ in range(5):
        alpha = balanced(rng, sample, loss.on, 0.9 * C, offset)
        theirs, ours = in_both(machine, loss, alpha, factor)
        expected = dual_value(machine, sample, theirs)
        assert factor * dual_value(risk, sample, ours) == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
    mine, given = kopt.solve(risk, sample), kopt.solve(machine, sample)
    assert factor * mine.value == pytest.approx(given.value, rel=VALUE)
    f, g = (solution.primal.w.values + solution.primal.get("b", 0.0) for solution in (mine, given))
    np.testing.assert_allclose(f, g, atol=WEIGHT * np.max(np.abs(g)))


@pytest.mark.parametrize(
    ("loss", "theirs"),
    [
        (losses.Hinge(), SVC(C=C, kernel="precomputed", tol=1e-10)),
        (losses.EpsilonInsensitive(EPSILON), SVR(C=C, epsilon=EPSILON, kernel="precomputed", tol=1e-10)),
    ],
    ids=repr,
)
def test_scikit_learn_agrees(loss, theirs):
    sample = sample_for(loss.on, n=40)
    solution = kopt.solve(regularised_risk(loss, cost=C), sample)
    fitted = theirs.fit(sample.gram().dense, sample.y, sample_weight=sample.costs)
    w = np.zeros(sample.n)
    w[fitted.support_] = fitted.dual_coef_[0]
    f = sample.gram().dense @ w
    t = sample.y * (f + fitted.intercept_) if loss.on is On.MARGIN else sample.y - f - fitted.intercept_
    value = 0.5 * w @ f + C * sample.costs @ loss.value(t)
    assert value == pytest.approx(solution.value, rel=LIBSVM)


class WrongConstant(LogCosh):
    def conjugate_expression(self, u):
        return super().conjugate_expression(u) - math.log(2)


class WrongFactor(losses.Huber):
    def conjugate_expression(self, u):
        return super().conjugate_expression(u) / 2


class WideDomain(losses.Pinball):
    conjugate_domain = (-1.0, 1.0)


class NarrowDomain(losses.Absolute):
    conjugate_domain = (-0.5, 1.0)


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (WrongConstant(), Kind.MISSING_TERM),
        (WrongFactor(delta=0.4), Kind.WRONG_COEFFICIENT),
        (WideDomain(tau=0.3), Kind.MISSING_CONSTRAINT),
        (NarrowDomain(), Kind.SUPERFLUOUS_CONSTRAINT),
    ],
    ids=repr,
)
def test_the_referee_refuses_a_wrong_conjugate(loss, kind):
    verdict = kopt.referee(regularised_risk(loss, cost=1.7), instances=2)
    assert not verdict.accepts, verdict
    assert kind in {fault.kind for fault in verdict.faults}, verdict


def test_the_referee_accepts_the_loss_of_a_newcomer():
    assert kopt.referee(regularised_risk(LogCosh(), cost=1.7), instances=2).judgement is Judgement.EXACT


@each_loss
def test_the_offset_is_best(loss):
    rng = np.random.default_rng(1)
    for scale in (1e-3, 1.0, 30.0):
        t = scale * rng.normal(size=9)
        signs = np.where(np.arange(9) < 4, 1.0, -1.0) if loss.on is On.MARGIN else -np.ones(9)
        weights = rng.uniform(0.4, 2.5, 9)

        def total(b, t=t, signs=signs, weights=weights):
            return float(weights @ loss.value(t + signs * b))

        b = best_offset(loss, t, signs, weights)
        others = [total(b + change) for size in (1e-6, 1e-3, 0.1, 3.0) for change in (-size, size)]
        assert total(b) <= min(others) + 4e-15 * total(b)


@pytest.mark.parametrize(
    ("loss", "t", "signs", "expected"),
    [
        (losses.Hinge(), [-1.5, 0.0, 0.5, 1.0], [1, 1, -1, -1], 0.5),
        (losses.Hinge(), [0.0, 0.5], [1, 1], 1.0),
        (losses.Absolute(), [1.0, 2.0, 4.0, 9.0], [-1, -1, -1, -1], 3.0),
        (losses.Squared(), [1.0, 2.0, 6.0], [-1, -1, -1], 3.0),
        (losses.Excess(epsilon=0.0, side=1), [1.0, 2.0], [-1, -1], 2.0),
        (losses.Exponential(), [0.0, 0.0, 0.0], [1, -1, -1], -math.log(2) / 2),
        (losses.Absolute(), [], [], 0.0),
    ],
)
def test_the_offset_in_cases_done_by_hand(loss, t, signs, expected):
    b = best_offset(loss, np.array(t), np.array(signs, dtype=float), np.ones(len(t)))
    assert b == pytest.approx(expected, rel=1e-14)


def test_what_is_no_loss_is_refused():
    with pytest.raises(InputError, match=r"not an instance of a Loss\. Give one, such as Hinge\(\)\."):
        regularised_risk(losses.Hinge)
    with pytest.raises(InputError, match=r"The loss is 'hinge'.* Give one, such as losses\.Hinge\(\)\."):
        regularised_risk("hinge")
    with pytest.raises(InputError, match=r"The parameter C is 0\.0, but must be a finite number > 0\."):
        regularised_risk(losses.Hinge(), cost=0.0)
    nameless = type("Nameless", (LogCosh,), {"on": None})()
    with pytest.raises(DeclarationError, match="Nameless does not say what it is a loss of"):
        regularised_risk(nameless)
