"""Machines that are not in the library, each with its right dual and with wrong ones: what the referee says."""

import cvxpy as cp
import numpy as np
import pytest

import kopt
from kopt import Formulation, Program, Task, nonnegative, positive
from kopt.parameters import Domain
from kopt.referee import Judgement, Kind, referee


def kinds(verdict):
    return {(fault.kind, fault.where) for fault in verdict.faults}


class Logistic(Formulation):
    """min 1/2 <w, w> + C sum log(1 + exp(-t_i)), t_i = y_i (<w, phi(x_i)> + b) : alpha_i."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)
    factor = 1.0

    def primal(self, s):
        w, b, t = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="t")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(cp.logistic(-t))),
            {"alpha": t <= cp.multiply(s.y, w.values + b)},
        )

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        p = alpha / self.C
        entropy = cp.sum(cp.entr(p) + cp.entr(1 - p))
        return Program(
            cp.Maximize(self.factor * self.C * entropy - 0.5 * w.norm_squared),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0, *self.bounds(alpha)],
        )

    def bounds(self, alpha):
        return [alpha <= self.C]


class LogisticWithoutC(Logistic):
    factor = 0.5


class LogisticHalfBound(Logistic):
    def bounds(self, alpha):
        return [alpha <= self.C / 2]


class Power(Formulation):
    """Slacks to the power p: min 1/2 <w, w> + C sum xi_i^p."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)
    p: float = kopt.parameter(Domain("a number > 1", lambda p: p > 1, (1.2, 4.0)), default=3.0)

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(cp.power(xi, self.p))),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0},
        )

    def dual(self, s):
        alpha, mu = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="mu")
        w = s.combination(cp.multiply(s.y, alpha))
        q = self.p / (self.p - 1)
        cost = self.weight(q) * cp.sum(cp.power(alpha + mu, q))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared - cost),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0, mu >= 0],
        )

    def weight(self, q):
        return (self.C * self.p) ** (1 - q) / q


class PowerOfTheTexts(Power):
    def weight(self, q):
        return self.C ** (1 - q) / q


class ShortestSeparation(Formulation):
    """min ||w|| s.t. y_i (<w, phi(x_i)> + b) >= 1: the dual has a norm bound."""

    task = Task.CLASSIFICATION

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        return Program(cp.Minimize(w.norm), {"alpha": cp.multiply(s.y, w.values + b) >= 1})

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        u = s.combination(cp.multiply(s.y, alpha))
        return Program(cp.Maximize(cp.sum(alpha)), {"b": s.y @ alpha == 0}, domain=[alpha >= 0, *self.ball(u)])

    def ball(self, u):
        return [u.norm <= 1]


class ShortestWithoutBall(ShortestSeparation):
    def ball(self, u):
        return []


class ShortestInSmallBall(ShortestSeparation):
    def ball(self, u):
        return [u.norm <= 0.5]


class TwoTasks(Formulation):
    """A common vector and one per task, by their sums: min 1/2 ||v||^2 + lam/2 (||v_1||^2 + ||v_2||^2) + ridge loss."""

    task = Task.REGRESSION
    lam: float = positive(default=2.0)
    shared = 1.0

    def primal(self, s):
        first, second = np.arange(s.n // 2), np.arange(s.n // 2, s.n)
        v, a, b = s.weight("v"), s.weight("a"), s.weight("b_task")
        one, two = v + a, v + b
        xi = cp.Variable(s.n, name="xi")
        predicted = cp.hstack([one.values[first], two.values[second]])
        return Program(
            cp.Minimize(
                0.5 * v.norm_squared + 0.5 * self.lam * (a.norm_squared + b.norm_squared) + 0.5 * cp.sum_squares(xi)
            ),
            {"beta": xi == s.y - predicted},
        )

    def dual(self, s):
        n = s.n
        beta = cp.Variable(n, name="beta")
        mask = np.arange(n) < n // 2
        u, one, two = (s.combination(cp.multiply(m, beta)) for m in (np.ones(n), 1.0 * mask, 1.0 * ~mask))
        own = (one.norm_squared + two.norm_squared) / (2 * self.lam)
        shared = 0.5 * self.shared * u.norm_squared
        return Program(cp.Maximize(-s.y @ beta - 0.5 * cp.sum_squares(beta) - shared - own))


class TwoTasksForgetful(TwoTasks):
    shared = 2.0


class NormalisedKernelTarget(Formulation):
    """max <K, Z> s.t. Z positive semi-definite, trace(Z) <= tau: the dual is the largest eigenvalue."""

    task = Task.NOVELTY
    tau: float = positive(default=2.0)
    slope = 1.0

    def primal(self, s):
        Z = cp.Variable((s.n, s.n), name="Z", symmetric=True)
        return Program(cp.Maximize(cp.trace(s.gram() @ Z)), {"lam": cp.trace(Z) <= self.tau, "S": Z >> 0})

    def dual(self, s):
        lam = cp.Variable(name="lam")
        S = lam * np.eye(s.n) - s.gram()
        return Program(cp.Minimize(self.slope * self.tau * lam), domain=[*self.cone(S), lam >= 0], multipliers={"S": S})

    def cone(self, S):
        return [S >> 0]


class TargetWithoutCone(NormalisedKernelTarget):
    def cone(self, S):
        return []


class TargetDoubled(NormalisedKernelTarget):
    slope = 2.0


class InsensitiveByNorm(Formulation):
    """A second-order cone of the user's own: min 1/2 <w, w> + rho s.t. ||y - f|| <= rho."""

    task = Task.REGRESSION
    C: float = positive(default=1.5)
    sign = 1.0

    def primal(self, s):
        w, rho = s.weight("w"), cp.Variable(name="rho")
        return Program(cp.Minimize(0.5 * w.norm_squared + self.C * rho), {"cone": cp.SOC(rho, s.y - w.values)})

    def dual(self, s):
        cone = cp.Variable(s.n + 1, name="cone")
        u = s.combination(cone[1:])
        return Program(
            cp.Maximize(-self.sign * s.y @ cone[1:] - 0.5 * u.norm_squared),
            {"rho": cone[0] == self.C},
            domain=[cp.SOC(cone[0], cone[1:])],
        )


class InsensitiveWrongSign(InsensitiveByNorm):
    sign = -1.0


class Hinges(Formulation):
    """The hinge as an atom of a residual: min 1/2 <w, w> + C sum pos(1 - t)."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)

    def primal(self, s):
        w, b, t = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="t")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(cp.pos(1 - t))),
            {"alpha": t == cp.multiply(s.y, w.values + b)},
        )

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0, alpha <= self.C],
        )


class HingesUnbounded(Hinges):
    def dual(self, s):
        program = super().dual(s)
        return Program(program.objective, program.constraints, domain=[program.domain[0]])


class AtomsOfValues(Formulation):
    """A norm of the values themselves, which only coordinates can express."""

    task = Task.REGRESSION
    C: float = positive(default=1.0)
    scale = 1.0

    def primal(self, s):
        w, z = s.weight("w"), cp.Variable(s.n, name="z")
        smooth = cp.sum_squares(w.values)
        return Program(
            cp.Minimize(0.5 * w.norm_squared + 0.5 * self.C * smooth + 0.5 * cp.sum_squares(z)),
            {"beta": z == s.y - w.values},
        )

    def dual(self, s):
        beta = cp.Variable(s.n, name="beta")
        K = s.gram()
        # (I + C K)^-1 K for the quadratic in beta
        M = np.linalg.solve(np.eye(s.n) + self.C * K, K)
        quadratic = cp.quad_form(beta, cp.psd_wrap((M + M.T) / 2))
        return Program(cp.Maximize(-s.y @ beta - 0.5 * cp.sum_squares(beta) - 0.5 * self.scale * quadratic))


class AtomsScaled(AtomsOfValues):
    scale = 3.0


class Restricted(Formulation):
    """nu-machine with sum alpha = nu where the dual has >=: smaller set, same optimum."""

    task = Task.CLASSIFICATION
    nu: float = nonnegative(default=0.3)

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        rho, xi = cp.Variable(name="rho"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared - 0.1 * rho + cp.sum(xi) / s.n),
            {"alpha": cp.multiply(s.y, w.values + b) >= rho - xi, "mu": xi >= 0, "delta": rho >= 0},
        )

    def dual(self, s):
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(-0.5 * w.norm_squared),
            {"b": s.y @ alpha == 0, "rho": cp.sum(alpha) == 0.1, "xi": alpha <= 1 / s.n},
            domain=[alpha >= 0],
            multipliers={"mu": 1 / s.n - alpha, "delta": 0.0},
        )


RIGHT = [
    Logistic, Power, ShortestSeparation, TwoTasks, NormalisedKernelTarget, InsensitiveByNorm, Hinges, AtomsOfValues,
]  # fmt: skip
WRONG = {
    LogisticWithoutC: None,
    LogisticHalfBound: Kind.SUPERFLUOUS_CONSTRAINT,
    PowerOfTheTexts: Kind.WRONG_COEFFICIENT,
    ShortestWithoutBall: Kind.MISSING_CONSTRAINT,
    ShortestInSmallBall: Kind.SUPERFLUOUS_CONSTRAINT,
    TwoTasksForgetful: Kind.WRONG_COEFFICIENT,
    TargetWithoutCone: None,
    TargetDoubled: Kind.WRONG_COEFFICIENT,
    InsensitiveWrongSign: Kind.WRONG_COEFFICIENT,
    HingesUnbounded: Kind.MISSING_CONSTRAINT,
    AtomsScaled: Kind.WRONG_COEFFICIENT,
}


@pytest.mark.parametrize("cls", RIGHT, ids=lambda cls: cls.__name__)
def test_a_right_dual_is_exact(cls):
    verdict = referee(cls, instances=4)
    assert verdict.judgement is Judgement.EXACT, str(verdict)
    assert verdict.points > 30


@pytest.mark.parametrize("cls", WRONG, ids=lambda cls: cls.__name__)
def test_a_wrong_dual_is_refused(cls):
    verdict = referee(cls, instances=8)
    assert verdict.judgement in (Judgement.WRONG, Judgement.SCALED), str(verdict)
    expected = WRONG[cls]
    if expected is not None:
        assert expected in {fault.kind for fault in verdict.faults}, str(verdict)


class LogisticWithoutBounds(Logistic):
    """The entropy is -inf outside [0, C], so that the bounds need not be written."""

    def bounds(self, alpha):
        return []


def test_a_constraint_that_the_objective_implies_may_be_left_out():
    verdict = referee(LogisticWithoutBounds, instances=4)
    assert verdict.judgement is Judgement.EXACT, str(verdict)


def test_a_smaller_set_with_the_same_optimum_is_restricted():
    verdict = referee(Restricted, instances=4)
    assert verdict.judgement is Judgement.RESTRICTED
    assert kinds(verdict) == {(Kind.SUPERFLUOUS_CONSTRAINT, "rho")}
