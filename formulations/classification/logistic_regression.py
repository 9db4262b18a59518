"""Logistic regression with a penalty on the norm of the weight vector."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np
from scipy.special import entr, expit, logit

from formulations.classification.margins import class_sums
from formulations.classification.monotone import zero_of_increasing
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, at_most, equal, positive


class LogisticRegression(Formulation):
    r"""Kernel logistic regression: the likelihood of the labels, where y f(x) is the log-odds of label y.

    Primal   min   1/2 <w, w> + C sum_i ln(1 + exp(-m_i))
             s.t.  m_i = y_i (<w, phi(x_i)> + b)                                : alpha_i
    Dual     max   C sum_i (h(alpha_i / C) + h((C - alpha_i) / C)) - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   0 <= alpha_i <= C

    With h(t) = -t ln t, H(t) = h(t) + h(1 - t) is the entropy of a coin. At the optimum alpha_i / C is the probability
    that the machine gives to the wrong label of x_i; it is never 0, so every point is a support vector. With costs c_i
    per point, C becomes C c_i.

    >>> import kopt
    >>> solution = kopt.solve(LogisticRegression(C=2.0), kopt.Sample([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]))
    >>> round(float(solution.primal.w.norm_squared - solution.dual.alpha @ solution.primal.m), 6)
    0.0
    """

    reference = Reference("6.867 lectures 7-8", "section 4, Figure 6")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The margins are variables, so that their definition carries the multipliers."""
        w, b, m = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="m")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ cp.logistic(-m)),
            {"alpha": m == cp.multiply(s.y, w.values + b)},
        )

    def dual(self, s: View) -> Program:
        """The entropy keeps every multiplier away from both ends of its interval."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        C = self.C * s.costs
        wrong, right = cp.multiply(1 / C, alpha), cp.multiply(1 / C, C - alpha)
        return Program(
            cp.Maximize(C @ (cp.entr(wrong) + cp.entr(right)) - 0.5 * w.norm_squared),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0, alpha <= cp.Constant(C, name="C")],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i), and b maximises the likelihood."""
        w = s.combination(s.y * dual.alpha)
        b = _offset(s, w.values)
        return {"w": w, "b": b, "m": s.y * (w.values + b)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The multipliers are probabilities, and the offset makes them right on average."""
        C = self.C * s.costs
        wrong = np.max(np.abs(dual.alpha - C * expit(-primal.m)))
        yield equal("alpha = C / (1 + exp(m)): largest difference = 0", wrong, 0.0, scale=float(np.max(C)))
        positive_weight, _ = class_sums(s.y, C)
        expected = C @ expit(s.y * primal.m)
        yield equal("C sum P(y = 1 | x) = C l_+", expected, positive_weight, scale=float(np.sum(C)))
        loss = float(C @ np.logaddexp(0.0, -primal.m))
        moments = np.abs(dual.alpha) @ np.abs(primal.m)
        yield equal("||w||^2 = sum alpha m", primal.w.norm_squared, dual.alpha @ primal.m, scale=float(moments))
        entropy = C @ (entr(dual.alpha / C) + entr(1 - dual.alpha / C))
        paid = entropy - dual.alpha @ primal.m
        yield equal("C sum ln(1 + exp(-m)) = C sum H(alpha / C) - sum alpha m", loss, paid, scale=float(entropy))
        share = positive_weight / np.sum(C)
        constant = np.sum(C) * (entr(share) + entr(1 - share))
        yield at_most("value <= C l H(l_+ / l), that of w = 0", 0.5 * primal.w.norm_squared + loss, constant)


def _offset(s: View, scores: np.ndarray) -> float:
    """The b at which the probabilities of the label +1 add up to its weight."""
    weight, _ = class_sums(s.y, s.costs)
    without_scores = float(logit(weight / np.sum(s.costs)))

    def excess(b: float) -> float:
        return float(s.costs @ expit(scores + b) - weight)

    return zero_of_increasing(excess, without_scores - float(scores.max()), without_scores - float(scores.min()))
