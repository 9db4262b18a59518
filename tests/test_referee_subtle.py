"""Wrong duals that agree with the dual function wherever they are defined, and right ones that look odd."""

import cvxpy as cp
import numpy as np
import pytest

from kopt import Formulation, Program, Sample, Task, positive
from kopt.kernels import Gaussian, Linear
from kopt.referee import Judgement, referee


class Mixed(Formulation):
    """Slacks with a linear and a quadratic cost: mu is eliminated by its positive part."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)
    D: float = positive(default=1.0)

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        cost = self.C * cp.sum(xi) + self.D / 2 * cp.sum_squares(xi)
        return Program(
            cp.Minimize(0.5 * w.norm_squared + cost),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0},
        )

    def dual(self, s):
        a = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, a))
        return Program(
            cp.Maximize(cp.sum(a) - 0.5 * w.norm_squared - cp.sum_squares(cp.pos(a - self.C)) / (2 * self.D)),
            {"b": s.y @ a == 0},
            domain=[a >= 0],
            multipliers={"mu": cp.pos(self.C - a)},
        )


class MixedWithoutPositivePart(Mixed):
    def dual(self, s):
        a = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, a))
        return Program(
            cp.Maximize(cp.sum(a) - 0.5 * w.norm_squared - cp.sum_squares(a - self.C) / (2 * self.D)),
            {"b": s.y @ a == 0},
            domain=[a >= 0],
            multipliers={"mu": np.zeros(s.n)},
        )


class Tied(Formulation):
    """Multipliers forced to be equal within each class."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(xi)),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0},
        )

    def dual(self, s):
        g = cp.Variable(name="g")
        r = np.where(s.y > 0, 1 / np.sum(s.y > 0), 1 / np.sum(s.y < 0))
        w = s.combination(cp.multiply(s.y * r, g * np.ones(s.n)))
        return Program(
            cp.Maximize(2 * g - 0.5 * w.norm_squared),
            domain=[g >= 0, g * r <= self.C],
            multipliers={"alpha": g * r, "mu": self.C - g * r},
        )


class TubeInBeta(Formulation):
    """The epsilon tube with its dual in beta = alpha_hat - alpha."""

    task = Task.REGRESSION
    C: float = positive(default=1.0)
    bound = 1.0

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(xi + xi_hat)),
            {
                "alpha": w.values + b - s.y <= 0.1 + xi,
                "alpha_hat": s.y - w.values - b <= 0.1 + xi_hat,
                "mu": xi >= 0,
                "mu_hat": xi_hat >= 0,
            },
        )

    def dual(self, s):
        beta = cp.Variable(s.n, name="beta")
        w, C = s.combination(beta), self.C
        return Program(
            cp.Maximize(s.y @ beta - 0.1 * cp.norm1(beta) - 0.5 * w.norm_squared),
            {"b": cp.sum(beta) == 0},
            domain=[beta <= self.bound * C, beta >= -self.bound * C],
            multipliers={
                "alpha": cp.neg(beta),
                "alpha_hat": cp.pos(beta),
                "mu": C - cp.neg(beta),
                "mu_hat": C - cp.pos(beta),
            },
        )


class TubeHalfBound(TubeInBeta):
    bound = 0.5


class TwoKernels(Formulation):
    """1/2 t^2 with ||w_1|| + ||w_2|| <= t: the dual has two norm bounds."""

    task = Task.CLASSIFICATION
    tightened = 1.0

    @classmethod
    def instances(cls, rng):
        for n in (6, 7, 8, 9, 7, 6):
            X = rng.normal(size=(n, 2))
            y = np.where(np.arange(n) < n // 3 + 1, 1.0, -1.0)
            yield cls(), Sample(X, y, kernel={"a": Gaussian(0.8) + 0.2 * Linear(), "b": Gaussian(2.3)})

    def primal(self, s):
        u, v, t = s.weight("u", kernel="a"), s.weight("v", kernel="b"), cp.Variable(name="t")
        xi = cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * cp.square(t) + 0.7 * cp.sum(xi)),
            {
                "alpha": cp.multiply(s.y, u.values + v.values) >= 1 - xi,
                "mu": xi >= 0,
                "tau": u.norm + v.norm <= t,
            },
        )

    def dual(self, s):
        alpha, tau = cp.Variable(s.n, name="alpha"), cp.Variable(name="tau")
        u = s.combination(cp.multiply(s.y, alpha), kernel="a")
        v = s.combination(cp.multiply(s.y, alpha), kernel="b")
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * cp.square(tau)),
            {"xi": alpha <= 0.7},
            domain=[alpha >= 0, self.tightened * u.norm <= tau, v.norm <= tau],
            multipliers={"mu": 0.7 - alpha},
        )


class TwoKernelsTight(TwoKernels):
    tightened = 1.3


class Huber(Formulation):
    """The Huber loss, quadratic near 0 only."""

    task = Task.REGRESSION
    C: float = positive(default=1.0)
    d: float = positive(default=1.0)

    def primal(self, s):
        w, r = s.weight("w"), cp.Variable(s.n, name="r")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * cp.sum(cp.huber(r, self.d))), {"alpha": r == s.y - w.values}
        )

    def dual(self, s):
        a = cp.Variable(s.n, name="alpha")
        w = s.combination(-a)
        return Program(
            cp.Maximize(-s.y @ a - 0.5 * w.norm_squared - cp.sum_squares(a) / (4 * self.C)), domain=self.box(a)
        )

    def box(self, a):
        return [a <= 2 * self.d * self.C, a >= -2 * self.d * self.C]


class HuberWithoutBox(Huber):
    def box(self, a):
        return []


class Cone(Formulation):
    """A second-order cone eliminated to a ball."""

    task = Task.REGRESSION
    R: float = positive(default=1.0)
    shrunk = 1.0

    def primal(self, s):
        w, t, r = s.weight("w"), cp.Variable(name="t"), cp.Variable(s.n, name="r")
        return Program(
            cp.Minimize(self.R * t + 0.5 * w.norm_squared), {"alpha": r == s.y - w.values, "q": cp.SOC(t, r)}
        )

    def dual(self, s):
        a = cp.Variable(s.n, name="alpha")
        return Program(
            cp.Maximize(-s.y @ a - 0.5 * s.combination(-a).norm_squared),
            domain=[cp.norm(a) <= self.shrunk * self.R],
            multipliers={"q": cp.hstack([self.R, a])},
        )


class ConeShrunk(Cone):
    shrunk = 0.9


@pytest.mark.parametrize("cls", [Mixed, TubeInBeta, TwoKernels, Huber, Cone], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_odd_but_right(cls, seed):
    verdict = referee(cls, seed=seed)
    assert verdict.judgement is Judgement.EXACT, str(verdict)


@pytest.mark.parametrize(
    "cls",
    [MixedWithoutPositivePart, Tied, TubeHalfBound, TwoKernelsTight, HuberWithoutBox, ConeShrunk],
    ids=lambda cls: cls.__name__,
)
@pytest.mark.parametrize("seed", [0, 1])
def test_plausible_but_wrong(cls, seed):
    verdict = referee(cls, seed=seed)
    assert verdict.judgement is Judgement.WRONG, str(verdict)
