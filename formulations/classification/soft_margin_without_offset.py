"""The soft margin machine through the origin, with a linear penalty."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.statements import case_claims
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal, positive


class SoftMarginWithoutOffset(Formulation):
    r"""Support vector machine with soft margin and no offset, the slacks penalised linearly.

    Primal   min   1/2 <w, w> + C sum_i xi_i
             s.t.  y_i <w, phi(x_i)> >= 1 - xi_i                                : alpha_i
                   xi_i >= 0                                                    : mu_i
    Dual     max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)
             s.t.  alpha_i <= C                                                 : xi_i
                   alpha_i >= 0

    Without an offset the dual has no equality, and each alpha_i can be improved alone. The text writes lambda for C,
    and states the problem first as 1/C times this one, sum_i max(0, 1 - y_i <w, phi(x_i)>) + 1/(2C) <w, w>. With
    costs c_i per point, C becomes C c_i.

    >>> import kopt
    >>> sample = kopt.Sample([[-1.0], [2.0]], [-1, 1])
    >>> kopt.solve(SoftMarginWithoutOffset(C=0.25), sample).dual.alpha.round(6).tolist()
    [0.25, 0.125]
    """

    reference = Reference("Scheffer", "Kernel Support Vector Machine")
    task = Task.CLASSIFICATION

    C: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        """The norm and the slacks are minimised."""
        w, xi = s.weight("w"), cp.Variable(s.n, name="xi")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * s.costs @ xi),
            {
                "alpha": cp.multiply(s.y, w.values) >= 1 - xi,
                "mu": xi >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over a box."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared),
            {"xi": alpha <= self.C * s.costs},
            domain=[alpha >= 0],
            multipliers={"mu": self.C * s.costs - alpha},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i)."""
        w = s.combination(s.y * dual.alpha)
        return {"w": w, "xi": np.maximum(0.0, 1 - s.y * w.values)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """What the multipliers add up to, and where they are 0 or C."""
        spent = float(primal.w.norm_squared + self.C * s.costs @ primal.xi)
        yield equal("sum alpha = ||w||^2 + C sum xi", np.sum(dual.alpha), spent)
        unit = max(1.0, float(np.max(np.abs(primal.w.values))))
        yield from case_claims(dual.alpha, primal.xi, 1 - s.y * primal.w.values, self.C * s.costs, spent, unit)
