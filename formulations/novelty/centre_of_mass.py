"""The centre of mass as the point with the smallest mean squared distance."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.novelty.spheres import squared_distances
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, at_most, equal


class CentreOfMass(Formulation):
    r"""Point in feature space with the smallest mean squared distance from the sample.

    Primal   min   1/l sum_i d_i
             s.t.  ||phi(x_i) - c||^2 <= d_i                                    : alpha_i
    Dual     max   sum_i alpha_i k(x_i, x_i) - sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  alpha_i = 1/l                                                : d_i

    The squared distances are variables, so that their definition carries the multipliers. These are fixed: the dual
    has a single point, and its value 1/l tr K - 1/l^2 sum_ij k(x_i, x_j) is the optimum. A point counts as novel
    where its squared distance from the centre is above the mean.

    >>> import kopt
    >>> solution = kopt.solve(CentreOfMass(), kopt.Sample([[0.0], [1.0], [5.0]]))
    >>> round(solution.value, 6), solution.predict([[2.0], [6.0]]).tolist()
    (4.666667, [1, -1])
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Proposition 5.2, (5.3), (5.4)")
    task = Task.NOVELTY

    def primal(self, s: View) -> Program:
        """The mean of the squared distances."""
        c, d = s.weight("c"), cp.Variable(s.n, name="d")
        return Program(
            cp.Minimize(cp.sum(d) / s.n),
            {"alpha": s.diagonal() - 2 * c.values + c.norm_squared <= d},
        )

    def dual(self, s: View) -> Program:
        """The value at its only point."""
        alpha = cp.Variable(s.n, name="alpha")
        c = s.combination(alpha)
        return Program(
            cp.Maximize(s.diagonal() @ alpha - c.norm_squared),
            {"d": alpha == np.full(s.n, 1 / s.n)},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """c = 1/l sum_i phi(x_i), whatever the multipliers."""
        c = s.combination(np.full(s.n, 1 / s.n))
        return {"c": c, "d": squared_distances(s, c)}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """The mean squared distance less ||phi(x) - c||^2, negative for novel points."""
        return np.asarray(np.mean(primal.d) - squared_distances(s, primal.c))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """Proposition 5.2: the centre of mass, and its mean squared distance (5.4)."""
        mean = s.combination(np.full(s.n, 1 / s.n))
        size, longest = float(np.mean(s.diagonal())), float(np.sqrt(np.max(s.diagonal())))
        value = np.mean(s.diagonal()) - np.mean(mean.values)
        yield equal("mean squared distance = 1/l tr K - 1/l^2 j'Kj", np.mean(primal.d), value, scale=size)
        yield at_most("c = 1/l sum phi: ||c - 1/l sum phi|| = 0", (primal.c - mean).norm, 0.0, scale=longest)
        off = np.max(np.abs(dual.alpha - 1 / s.n))
        yield equal("alpha = 1/l: max |alpha_i - 1/l| = 0", off, 0.0, scale=1 / s.n)
