"""Derivations that several tests look at, each made once; machines as a newcomer writes them, by their primal alone."""

import re
from functools import cache

import cvxpy as cp
import numpy as np

import kopt
from formulations.classification.margins import best_offset
from kopt import Formulation, Program, Sample, Task, fraction, positive
from kopt.kernels import Gaussian, Linear
from tests.instances import FORMULATIONS

# What the referee tries before a derivation is returned. One is enough here: what is derived is compared with what is
# declared, and the referee's own tests try more.
INSTANCES = 1

# Machines whose dual is declared only, and what it says when it is to be derived.
NOT_DERIVED = {
    "Alignment": "sum_squares([..] @ mu) is not a sum over the entries of mu",
    "CentredAlignment": "sum_squares([..] @ mu) is not a sum over the entries of mu",
    "LeastSquaresAlignment": "sum_squares([..] @ mu) is not a sum over the entries of mu",
    "SchurAlignment": "the constraint 'W' is in a Semidefinite cone",
    "SemidefiniteAlignment": "the constraint 'Z' is in a Semidefinite cone",
    "TraceBoundedAlignment": "the constraint 'Z' is in a Semidefinite cone",
    "TransductiveAlignment": "the constraint 'Z' is in a Semidefinite cone",
    "SoftMarginKernelLearning": "the squared norm of w[linear] is divided by mu[0]",
    "HardMarginKernelLearning": "the squared norm of w[linear] is divided by mu[0]",
    "TwoNormKernelLearning": "the squared norm of w[linear] is divided by mu[0]",
    "SemidefiniteSoftMarginKernelLearning": "the constraint 'V' is in a Semidefinite cone",
    "SemidefiniteHardMarginKernelLearning": "the constraint 'V' is in a Semidefinite cone",
    "SemidefiniteTwoNormKernelLearning": "the constraint 'V' is in a Semidefinite cone",
}
DERIVED = [cls for cls in FORMULATIONS if cls.__name__ not in NOT_DERIVED]


@cache
def derivation(cls: type[Formulation]) -> kopt.Derivation:
    """The derivation of a machine given by its class."""
    return kopt.derive(cls, instances=INSTANCES)


def section(derived: kopt.Derivation, title: str) -> list[str]:
    """The lines of one section below its title, without the indentation."""
    [found] = [each for each in derived.sections if each.title == title]
    return [line[2:] for line in found.text().splitlines()[1:]]


def displayed(fragment: str) -> list[str]:
    r"""The formulas between \[ and \]."""
    return re.findall(r"\\\[\n(.*?)\n\\\]", fragment, flags=re.DOTALL)


def between_dollars(markdown: str) -> list[str]:
    """The formulas between $$ and $$."""
    return re.findall(r"\$\$\n(.*?)\n\$\$", markdown, flags=re.DOTALL)


GREEK = "alpha|beta|gamma|delta|epsilon|eta|kappa|lambda|mu|nu|rho|tau|theta|xi"


def as_typed(formula: str) -> list[str]:
    r"""What stands in a formula as it would in plain text: alpha for \alpha, <= for \le."""
    outside = re.sub(r"\\(?:text|operatorname)\{[^{}]*\}", "", formula)
    return re.findall(rf"(?<![\\A-Za-z])(?:{GREEK})(?![A-Za-z])|[<>]=", outside)


class Quantile(Formulation):
    """A conditional quantile: errors above and below cost differently."""

    task = Task.REGRESSION
    C: float = positive(default=1.0)
    tau: float = fraction(default=0.5)

    def primal(self, s):
        w, b = s.weight("w"), cp.Variable(name="b")
        above, below = cp.Variable(s.n, name="above"), cp.Variable(s.n, name="below")
        price = self.C * s.costs
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.tau * price @ above + (1 - self.tau) * price @ below),
            {
                "alpha": s.y - w.values - b <= above,
                "beta": w.values + b - s.y <= below,
                "mu": above >= 0,
                "nu": below >= 0,
            },
        )


class HuberWithPricedOffset(Formulation):
    """Huber's loss of the residuals, and an offset that has a price of its own."""

    task = Task.REGRESSION
    C: float = positive(default=1.0)
    M: float = positive(default=1.0)
    delta: float = positive(default=1.0)

    def primal(self, s):
        w, b, r = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="r")
        return Program(
            cp.Minimize(
                0.5 * w.norm_squared + 0.5 * self.delta * cp.square(b) + self.C * s.costs @ cp.huber(r, self.M)
            ),
            {"alpha": r == s.y - w.values - b},
        )


class SquaredOneClass(Formulation):
    """The one-class machine with squared slacks."""

    task = Task.NOVELTY
    C: float = positive(default=1.0)

    def primal(self, s):
        w, rho, xi = s.weight("w"), cp.Variable(name="rho"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared - rho + 0.5 * self.C * s.costs @ cp.square(xi)),
            {"alpha": w.values >= rho - xi},
        )

    def decision(self, s, primal):
        return primal.w.values - primal.rho


class TwoKernels(Formulation):
    """A sum of two functions, one from each kernel, whose norms have prices of their own."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)
    kappa: float = positive(default=1.0)

    def primal(self, s):
        u, v = s.weight("u", kernel="smooth"), s.weight("v", kernel="rough")
        b, xi = cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * u.norm_squared + self.kappa * v.norm_squared + self.C * s.costs @ xi),
            {"alpha": cp.multiply(s.y, u.values + v.values + b) >= 1 - xi, "mu": xi >= 0},
        )

    def decision(self, s, primal):
        return primal.u.values + primal.v.values + primal.b

    @classmethod
    def instances(cls, rng):
        while True:
            X, y = rng.standard_normal((7, 2)), np.array([1.0, 1, 1, -1, -1, -1, -1])
            kernels = {"smooth": Linear(), "rough": Gaussian(sigma=rng.uniform(0.5, 1.5))}
            sample = Sample(X, y, kernel=kernels, costs=rng.uniform(0.4, 2.5, 7))
            yield cls(C=rng.uniform(0.3, 3.0), kappa=rng.uniform(0.2, 2.0)), sample


class InBall(Formulation):
    """The least sum of slacks in a ball; the norm is not squared, so that the length of w needs a rule."""

    task = Task.CLASSIFICATION
    B: float = positive(default=1.0)

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(s.costs @ xi),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1 - xi, "mu": xi >= 0, "lambda": w.norm <= self.B},
        )

    def recover(self, s, dual):
        u = s.combination(s.y * dual.alpha)
        w = u * (self.B / u.norm)
        return {"w": w, "b": (b := best_offset(s.y, w.values, s.costs)), "xi": np.maximum(0, 1 - s.y * (w.values + b))}


class BoundedOffset(Formulation):
    """A soft margin machine whose offset is kept between two bounds."""

    task = Task.CLASSIFICATION
    C: float = positive(default=1.0)
    B: float = positive(default=0.1)

    def primal(self, s):
        w, b, xi = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ xi),
            {
                "alpha": cp.multiply(s.y, w.values + b) >= 1 - xi,
                "mu": xi >= 0,
                "upper": b <= self.B,
                "lower": b >= -self.B,
            },
        )


NEWCOMERS = [Quantile, HuberWithPricedOffset, SquaredOneClass, TwoKernels, InBall, BoundedOffset]
