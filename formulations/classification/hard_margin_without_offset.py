"""The maximal margin machine through the origin."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.classification.margins import hard_margin_claims
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal
from kopt.kernels import Gaussian, Linear, Polynomial


class HardMarginWithoutOffset(Formulation):
    r"""Maximal margin hyperplane through the origin of feature space: the problem that the kernel adatron solves.

    Primal   min   1/2 <w, w>
             s.t.  y_i <w, phi(x_i)> >= 1                                       : alpha_i
    Dual     max   sum_i alpha_i - 1/2 sum_ij y_i y_j alpha_i alpha_j k(x_i, x_j)
             s.t.  alpha_i >= 0

    The geometric margin is gamma = 1 / ||w||, the distance of 0 from the convex hull of the points y_i phi(x_i). The
    text's updates of one alpha_i at a time reach the optimum if divided by k(x_i, x_i); as printed they are made for
    k(x, x) = 1.

    >>> import kopt
    >>> sample = kopt.Sample([[-1.0], [2.0]], [-1, 1])
    >>> kopt.solve(HardMarginWithoutOffset(), sample).dual.alpha.round(6).tolist()
    [1.0, 0.0]
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.59")
    task = Task.CLASSIFICATION

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Classes on either side of a hyperplane through the origin, and kernels that keep them there."""
        kernels = (Linear(), 0.3 * Linear() + Gaussian(sigma=0.9), Polynomial(degree=2, R=0.7), Gaussian(sigma=1.3))
        while True:
            for k in rng.permutation(len(kernels)):
                X = rng.standard_normal((int(rng.integers(5, 12)), 3)) * [1.0, 1.4, 0.6] + [-0.5, -0.3, 0.2]
                height = X @ [0.8, 0.6, 0.0]
                height[:2] = [0.9, -0.7]  # at least one point on each side
                y = np.where(height > 0, 1.0, -1.0)
                X += np.outer(height - X @ [0.8, 0.6, 0.0] + 0.3 * y, [0.8, 0.6, 0.0])
                yield cls(), Sample(np.round(X, 1), y, kernel=kernels[k])

    def primal(self, s: View) -> Program:
        """The shortest w that separates with functional margin 1."""
        w = s.weight("w")
        return Program(
            cp.Minimize(0.5 * w.norm_squared),
            {"alpha": cp.multiply(s.y, w.values) >= 1},
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over the non-negative orthant."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(cp.multiply(s.y, alpha))
        return Program(
            cp.Maximize(cp.sum(alpha) - 0.5 * w.norm_squared),
            domain=[alpha >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i y_i alpha_i phi(x_i), scaled to functional margin 1."""
        w = s.combination(s.y * dual.alpha)
        margin = np.min(s.y * w.values)
        # Multipliers that do not separate: no scaling makes the point feasible.
        return {"w": w / margin if margin > 0 else w}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Theorem 7.27 without offset; the margin of the nearest point, and as the distance of 0 from the hull."""
        yield from hard_margin_claims(s, primal, dual)
        yield equal("the smallest margin is 1", np.min(s.y * primal.w.values), 1.0)
        total, hull = np.sum(dual.alpha), s.combination(s.y * dual.alpha)
        yield equal(
            "the hull is gamma from 0: sum alpha = ||sum alpha y phi|| / gamma", total, primal.w.norm * hull.norm
        )

    def explain_infeasible(self, s: View, ray: Point) -> tuple[str, str]:
        """The ray weighs the points y_i phi(x_i) to 0."""
        weights = ray.alpha / ray.alpha.sum()
        distance = s.combination(s.y * weights).norm
        used = np.flatnonzero(weights > 1e-9)
        shown = ", ".join(f"{weights[i]:.3g} y_{i} x_{i}" for i in used[:6]) + (", ..." if len(used) > 6 else "")
        return (
            f"The classes are not separable by a hyperplane through the origin with this kernel: 0 is in the convex "
            f"hull of the points y_i phi(x_i), as their mean with the weights {shown} (length {distance:.1e}).",
            "Use an offset, a soft margin, or a kernel with a richer feature space.",
        )
