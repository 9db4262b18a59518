"""The maximal margin machine in canonical form."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.margins import hard_margin_claims, hull_points, nearest_claims
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal


class HardMargin(Formulation):
    r"""Maximal margin hyperplane, scaled so that the nearest points have functional margin 1.

    Primal   min   1/2 <w, w>
             s.t.  y_i (<w, phi(x_i)> + b) >= 1                                 : alpha_i
    Dual     max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i y_i alpha_i = 0                                        : b
                   alpha_i >= 0

    The geometric margin is gamma = 1 / ||w||.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [2.0]], [-1, 1])
    >>> round(float(kopt.solve(HardMargin(), sample).primal.w.norm_squared), 6)
    1.0
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.26; 6.867 (5)-(7)")
    task = Task.CLASSIFICATION

    def primal(self, s: View) -> Program:
        """The shortest w that separates with functional margin 1."""
        w, b = s.weight("w"), cp.Variable(name="b")
        return Program(
            cp.Minimize(0.5 * w.norm_squared),
            {"alpha": cp.multiply(s.y, w.values + b) >= 1},
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over the non-negative orthant with one row."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared),
            {"b": s.y @ alpha == 0},
            domain=[alpha >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i) and b halfway between the classes, scaled to functional margin 1."""
        w = s.combination(s.y * dual.alpha)
        nearest_plus, nearest_minus = w.values[s.y > 0].min(), w.values[s.y < 0].max()
        margin = (nearest_plus - nearest_minus) / 2
        b = -(nearest_plus + nearest_minus) / 2
        if margin <= 0:  # these multipliers do not separate, so no scaling makes the point feasible
            return {"w": w, "b": b}
        return {"w": w / margin, "b": b / margin}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Theorem 7.27; the margin and the offset from the closest points p and q of the hulls, at distance d."""
        yield from hard_margin_claims(s, primal, dual)
        yield from nearest_claims(s.y, s.y * (primal.w.values + primal.b), 1.0, scale=1.0, name="1")
        total = np.sum(dual.alpha)
        p, q = hull_points(s, 2 * dual.alpha / total)
        yield equal("gamma = d / 2: ||w|| d = 2", primal.w.norm * (p - q).norm, 2.0)
        squares = p.norm_squared, q.norm_squared
        offset = primal.b * (p - q).norm_squared
        yield equal("b = (||q||^2 - ||p||^2) / d^2", offset, squares[1] - squares[0], scale=max(squares))

    def explain_infeasible(self, s: View, ray: Point) -> tuple[str, str]:
        """The ray weighs the points of each class to the same point of feature space."""
        weights = 2 * ray.alpha / ray.alpha.sum()
        distance = s.combination(s.y * weights).norm
        used = np.flatnonzero(weights > 1e-9)
        shown = ", ".join(f"{weights[i]:.3g} x_{i}" for i in used[:6]) + (", ..." if len(used) > 6 else "")
        return (
            f"The classes are not separable with this kernel: their convex hulls share a point, the mean of either "
            f"class with the weights {shown} (distance of the two means {distance:.1e}).",
            "Use a soft margin, or a kernel with a richer feature space.",
        )
