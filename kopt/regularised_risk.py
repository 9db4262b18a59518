"""The machine of any loss: a penalty on the norm of the weight vector, and the losses of all points."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from kopt.claim import Claim, at_most, equal
from kopt.errors import DeclarationError, InputError
from kopt.formulation import Formulation
from kopt.losses import Loss, On
from kopt.losses.bisection import first
from kopt.losses.hinge import Hinge
from kopt.losses.squared import Squared
from kopt.parameters import positive
from kopt.point import Point
from kopt.program import Program
from kopt.task import Task
from kopt.views import View

# Slopes this small beside the terms of which they are sums are rounding, as in `minimise_hinges`.
ROUNDING = 8 * float(np.finfo(float).eps)
FURTHEST = 1e300


class RegularisedRisk(Formulation):
    r"""The regularised risk of a loss, in t_i = y_i (<w, phi(x_i)> + b) or t_i = y_i - <w, phi(x_i)> - b.

    Primal   min   1/2 <w, w> + C sum_i c_i loss(t_i)
             s.t.  t_i = sigma_i (<w, phi(x_i)> + b) + r_i                        : alpha_i
    Dual     max   -C sum_i c_i loss*(-alpha_i / (C c_i)) - sum_i r_i alpha_i
                   - 1/2 sum_ij sigma_i sigma_j alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i sigma_i alpha_i = 0                                      : b
                   -alpha_i / (C c_i) in the domain of loss*

    with sigma_i = y_i, r_i = 0 for a loss of the margin and sigma_i = -1, r_i = y_i for one of the residual; c_i are
    the sample's costs. Without an offset, b and its constraint are missing. A loss that is a sum of simpler ones has a
    copy t[k] of the argument and a multiplier alpha[k] for each, and the machine adds these multipliers up.
    """

    loss: Loss
    offset: bool = True
    C: float = positive(default=1.0)

    @abstractmethod
    def signs(self, s: View) -> np.ndarray:
        """sigma: by how much t rises with <w, phi(x)> + b."""

    @abstractmethod
    def start(self, s: View) -> np.ndarray:
        """r: the value of t where <w, phi(x)> + b = 0."""

    def primal(self, s: View) -> Program:
        """The arguments of the loss are variables, so that their definition carries the multipliers."""
        w = s.weight("w")
        f = w.values + cp.Variable(name="b") if self.offset else w.values
        t = {name: cp.Variable(s.n, name=name) for name in self._names("t")}
        risk = sum(loss.expression(each) for loss, each in zip(self.loss.summands, t.values(), strict=True))
        argument = cp.multiply(self.signs(s), f) + self.start(s)
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ risk),
            {name: each == argument for name, each in zip(self._names("alpha"), t.values(), strict=True)},
        )

    def dual(self, s: View) -> Program:
        """The conjugate of the loss takes the place of the loss."""
        alphas = [cp.Variable(s.n, name=name) for name in self._names("alpha")]
        alpha, C = sum(alphas[1:], alphas[0]), self.C * s.costs
        w = s.combination(cp.multiply(self.signs(s), alpha))
        objective = -0.5 * w.norm_squared
        if np.any(self.start(s)):
            objective -= self.start(s) @ alpha
        for loss, each in zip(self.loss.summands, alphas, strict=True):
            conjugate = loss.conjugate_expression(cp.multiply(-1 / C, each))
            objective -= 0 if conjugate.is_zero() else C @ conjugate
        return Program(
            cp.Maximize(objective),
            {"b": self.signs(s) @ alpha == 0} if self.offset else {},
            domain=[
                bound for loss, each in zip(self.loss.summands, alphas, strict=True) for bound in _box(loss, each, C)
            ],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i sigma_i alpha_i phi(x_i), and b minimises the sum of the losses."""
        signs, alpha = self.signs(s), self._total(dual)
        w = s.combination(signs * alpha)
        t = signs * w.values + self.start(s)
        if not self.offset:
            return {"w": w, **dict.fromkeys(self._names("t"), t)}
        b = best_offset(self.loss, t, signs, s.costs)
        return {"w": w, "b": b, **dict.fromkeys(self._names("t"), t + signs * b)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Fenchel and Young's inequality is an equality; the norm; and no machine is worse than a constant."""
        C, pairs = self.C * s.costs, self._pairs(primal, dual)
        risk = sum(float(C @ loss.value(t)) for loss, t, _ in pairs)
        earned = sum(float(C @ loss.conjugate(np.clip(-alpha / C, *loss.conjugate_domain))) for loss, _, alpha in pairs)
        paid = -sum(float(alpha @ t) for _, t, alpha in pairs)
        size = abs(risk) + abs(earned) + sum(float(np.abs(alpha) @ np.abs(t)) for _, t, alpha in pairs)
        yield equal("C sum loss(t) + C sum loss*(-alpha / C) = -sum alpha t", risk + earned, paid, scale=size)
        t, alpha = self._each(primal, "t")[0], self._total(dual)
        moments = alpha @ (t - self.start(s))
        scale = float(np.abs(alpha) @ (np.abs(t) + np.abs(self.start(s))))
        yield equal("||w||^2 = sum sigma alpha <w, phi(x)>", primal.w.norm_squared, moments, scale=scale)
        constant = best_offset(self.loss, self.start(s), self.signs(s), s.costs) if self.offset else 0.0
        value = 0.5 * primal.w.norm_squared + risk
        without = float(C @ self.loss.value(self.start(s) + self.signs(s) * constant))
        yield at_most("value <= C sum loss, that of w = 0", value, without, scale=max(abs(value), abs(without)))

    def _names(self, letter: str) -> list[str]:
        count = len(self.loss.summands)
        return [letter] if count == 1 else [f"{letter}[{k}]" for k in range(count)]

    def _each(self, point: Point, letter: str) -> list[np.ndarray]:
        return [np.asarray(point[name]) for name in self._names(letter)]

    def _pairs(self, primal: Point, dual: Point) -> list[tuple[Loss, np.ndarray, np.ndarray]]:
        """Each summand of the loss with its argument and its multiplier."""
        return list(zip(self.loss.summands, self._each(primal, "t"), self._each(dual, "alpha"), strict=True))

    def _total(self, dual: Point) -> np.ndarray:
        return np.sum(self._each(dual, "alpha"), axis=0)


class MarginRisk(RegularisedRisk):
    """The regularised risk of a loss of the margin t_i = y_i (<w, phi(x_i)> + b)."""

    task = Task.CLASSIFICATION
    loss: Loss = Hinge()

    def signs(self, s: View) -> np.ndarray:
        """The labels."""
        return np.asarray(s.y)

    def start(self, s: View) -> np.ndarray:
        """Zeros."""
        return np.zeros(s.n)


class ResidualRisk(RegularisedRisk):
    """The regularised risk of a loss of the residual t_i = y_i - <w, phi(x_i)> - b."""

    task = Task.REGRESSION
    loss: Loss = Squared()

    def signs(self, s: View) -> np.ndarray:
        """Minus ones."""
        return -np.ones(s.n)

    def start(self, s: View) -> np.ndarray:
        """The targets."""
        return np.asarray(s.y)


def regularised_risk(loss: Loss, offset: bool = True, cost: float = 1.0) -> RegularisedRisk:
    """The complete formulation min 1/2 <w, w> + C sum_i c_i loss(t_i) of a loss, with its dual and recovery.

    loss     one of kopt.losses, or a subclass of kopt.losses.Loss of your own
    offset   whether the machine has an offset b
    cost     C

    >>> import kopt
    >>> from kopt import losses
    >>> sample = kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1])
    >>> solution = kopt.solve(regularised_risk(losses.Hinge(), cost=10.0), sample)
    >>> round(float(solution.primal.b), 6), solution.certificate.holds(1e-6)
    (-3.0, True)
    """
    if not isinstance(loss, Loss):
        example = loss.__name__ if isinstance(loss, type) and issubclass(loss, Loss) else "losses.Hinge"
        raise InputError(f"The loss is {loss!r:.60}, not an instance of a Loss.", f"Give one, such as {example}().")
    on: Any = getattr(loss, "on", None)
    if not isinstance(on, On):
        raise DeclarationError(
            f"{type(loss).__name__} does not say what it is a loss of: `on` is {on!r}.",
            "Write `on = On.MARGIN` or `on = On.RESIDUAL` in the class.",
        )
    return (MarginRisk if on is On.MARGIN else ResidualRisk)(loss=loss, offset=offset, C=cost)


def _box(loss: Loss, alpha: cp.Variable, C: np.ndarray) -> Iterator[Any]:
    """That -alpha / C lies in the domain of the conjugate."""
    lower, upper = loss.conjugate_domain
    if math.isfinite(upper):
        yield alpha >= _multiple(-upper, C)
    if math.isfinite(lower):
        yield alpha <= _multiple(-lower, C)


def _multiple(factor: float, C: np.ndarray) -> cp.Expression:
    """A multiple of the costs, under a name for messages."""
    names = {0.0: "0", 1.0: "C", -1.0: "-C"}
    return cp.Constant(factor * C if factor else 0.0, name=names.get(factor, f"{factor:g} C"))


@np.errstate(over="ignore", invalid="ignore")
def best_offset(loss: Loss, t: np.ndarray, signs: np.ndarray, weights: np.ndarray) -> float:
    """The b that minimises sum_i c_i loss(t_i + sigma_i b), |sigma_i| = 1, by bisection on the sum of the slopes.

    Of an interval of minimisers the middle, of a half-infinite one its end, and 0 where every b is one.

    >>> best_offset(Hinge(), np.array([-1.5, 0.0, 1.0]), np.array([1.0, 1.0, -1.0]), np.ones(3))
    1.0
    """
    rising = signs > 0

    def slopes(b: float) -> tuple[float, float]:
        """Largest and smallest slope of the sum at b, as far as rounding allows."""
        lower, upper = loss.subdifferential(t + signs * b)
        low, high = weights * np.where(rising, lower, -upper), weights * np.where(rising, upper, -lower)
        excused = ROUNDING * float(np.sum(np.maximum(np.abs(low), np.abs(high))))
        return float(np.sum(high)) + excused, float(np.sum(low)) - excused

    reach = 1.0 + float(np.max(np.abs(t), initial=0.0))
    while reach < FURTHEST and not (slopes(reach)[0] > 0 > slopes(-reach)[1]):
        reach *= 1024.0
    reach = min(reach, FURTHEST)
    least = float(first(lambda b: np.asarray(slopes(float(b))[0] >= 0), -reach, reach))
    most = -float(first(lambda b: np.asarray(slopes(-float(b))[1] <= 0), -reach, reach))
    return _chosen(least, most, reach)


def _chosen(least: float, most: float, reach: float) -> float:
    ends: Sequence[float] = [end for end in (least, most) if abs(end) < reach]
    return sum(ends) / len(ends) if ends else 0.0
