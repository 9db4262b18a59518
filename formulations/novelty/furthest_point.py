"""The sphere around the centre of mass that contains all points."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.novelty.spheres import squared_distances
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, at_most, equal, fraction


class FurthestPoint(Formulation):
    r"""Largest distance of a point from the centre of mass, and novelty beyond it.

    Primal   min   r
             s.t.  d_i <= r                                                     : beta_i
    Dual     max   sum_i beta_i d_i
             s.t.  sum_i beta_i = 1                                             : r
                   beta_i >= 0

    d_i = ||phi(x_i) - phi_S|| with phi_S = 1/l sum_i phi(x_i) are numbers, so that this is a linear program without
    a weight vector; beta sits on the furthest points. A point is novel where its distance from phi_S exceeds
    r + 2 (2 R^2 / l)^(1/2) (sqrt 2 + (ln 1/delta)^(1/2)), R the length of the longest point: twice the error of phi_S
    as an estimate of the expectation, which is not larger with probability 1 - delta.

    >>> import kopt
    >>> solution = kopt.solve(FurthestPoint(), kopt.Sample([[0.0], [1.0], [5.0]]))
    >>> round(float(solution.primal.r), 6), solution.dual.beta.round(6).tolist()
    (3.0, [0.0, 0.0, 1.0])
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 5.4, (5.5)-(5.7)")
    task = Task.NOVELTY

    delta: float = fraction(default=0.01)

    def primal(self, s: View) -> Program:
        """The largest of the distances."""
        r = cp.Variable(name="r")
        return Program(cp.Minimize(r), {"beta": s.named("d", distances_from_mean(s)) <= r})

    def dual(self, s: View) -> Program:
        """A mean of the distances, with the best weights."""
        beta = cp.Variable(s.n, name="beta")
        return Program(
            cp.Maximize(distances_from_mean(s) @ beta),
            {"r": cp.sum(beta) == 1},
            domain=[beta >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """r = max_i d_i, whatever the multipliers."""
        return {"r": np.max(distances_from_mean(s))}

    def allowance(self, sample: Sample) -> float:
        """2 (2 R^2 / l)^(1/2) (sqrt 2 + (ln 1/delta)^(1/2))."""
        R_squared = float(np.max(sample.gram().diagonal))
        return float(2 * np.sqrt(2 * R_squared / sample.n) * (np.sqrt(2) + np.sqrt(np.log(1 / self.delta))))

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """r and the allowance less ||phi(x) - phi_S||, negative for novel points (Algorithm 5.4)."""
        return np.asarray(primal.r + self.allowance(s.sample) - distances_from_mean(s))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The furthest point, between the root mean squared distance (5.4) and the diameter."""
        d, longest = distances_from_mean(s), float(np.sqrt(np.max(s.diagonal())))
        yield equal("r = max d", primal.r, np.max(d), scale=longest)
        near = dual.beta @ np.abs(primal.r - d)
        yield equal("beta = 0 except at the furthest: sum beta |r - d| = 0", near, 0.0, scale=longest)
        mean = np.sqrt(np.mean(d**2))
        yield at_most("the root mean squared distance is at most r", mean, primal.r, scale=longest)
        yield at_most("r <= 2 max ||phi(x_i)||", primal.r, 2 * longest, scale=longest)


def distances_from_mean(s: Any) -> np.ndarray:
    """||phi(x) - phi_S|| for the points of s, phi_S the mean of the sample that s is seen from."""
    n = s.sample.n
    return np.sqrt(np.maximum(0.0, squared_distances(s, s.combination(np.full(n, 1 / n)))))
