"""Shares of kernels and an offset with the least sum of slacks, in time proportional to the number of points."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kopt.solvers.interior_point import LowRankProgram, minimise

#: What the interior point method is asked for; it ends where it gets no further.
ACCURACY = 1e-13


def least_hinges(
    y: np.ndarray, F: np.ndarray, cost: np.ndarray, price: np.ndarray, power: Literal[1, 2] = 1
) -> np.ndarray:
    r"""The x >= 0 with sum_k x_k = 1 that minimises cost'x + sum_i price_i xi_i, xi_i = (1 - y_i (F x + b)_i)_+.

    With the power 2 it is 1/2 sum_i price_i xi_i^2. The dual has a variable for each point, but only m + 1 rows,

        max   sum_i beta_i - tau   s.t.   (F' y beta)_k + s_k - tau = cost_k   (x_k),   y'beta = 0   (b),

    0 <= beta <= price (with the power 2 it is - 1/2 sum_i beta_i^2 / price_i instead), s >= 0: an interior point
    method solves m + 1 equations in each iteration, and x are the multipliers of the rows.

    >>> F = np.array([[0.5, 1.0], [-0.5, -1.0]])
    >>> least_hinges(np.array([1.0, -1.0]), F, np.array([0.1, 0.1]), np.ones(2)).round(6).tolist()
    [0.0, 1.0]
    """
    n, m = F.shape
    unit = float(np.max(np.abs(cost))) or 1.0
    squares = 1 / price if power == 2 else np.zeros(n)
    rows = np.vstack([np.hstack([(F * y[:, None]).T, np.eye(m), -np.ones((m, 1))]), np.append(y, np.zeros(m + 1))])
    program = LowRankProgram(
        D=np.concatenate([squares * unit, np.zeros(m + 1)]),
        V=np.zeros((n + m + 1, 0)),
        q=np.concatenate([-np.ones(n), np.zeros(m), [1.0]]),
        lower=np.concatenate([np.zeros(n + m), [-np.inf]]),
        upper=np.concatenate([price / unit if power == 1 else np.full(n, np.inf), np.full(m + 1, np.inf)]),
        A=rows,
        b=np.append(cost / unit, 0.0),
    )
    answer = minimise(program, ACCURACY)
    x, s = answer.mu[:m], answer.z[n : n + m]
    # Of two numbers whose product vanishes the smaller one is 0.
    x = np.where(x > s, x, 0.0)
    return x / x.sum() if x.sum() > 0 else np.full(m, 1 / m)
