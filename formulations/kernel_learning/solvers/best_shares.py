"""The best weights in a quadratic model: a small convex problem, one variable for each kernel."""

from __future__ import annotations

import numpy as np

#: What complementarity and the residuals may leave, relative to the objective.
ACCURACY = 1e-14
#: The part of complementarity that a step aims at; how much of the way to a bound it goes.
CENTRING, STEP = 0.1, 0.95
MOST_ITERATIONS = 100
#: With p = 1 a share below this, which the model pushes further down, is none.
NONE = 1e-7


def best_shares(gain: np.ndarray, H: np.ndarray, at: np.ndarray, p: float) -> np.ndarray:
    """The x >= 0 with ||x||_p = 1 that maximises gain'x - 1/2 (x - at)' H (x - at), H positive semi-definite.

    A primal-dual interior point method; s are the multipliers of x >= 0 and t that of the norm:

        -gain + H (x - at) + t p x^(p-1) = s,      s_k x_k -> 0,      sum_k x_k^p = 1.

    Where several x are best, as for a kernel that is there twice, it returns one between them.

    >>> best_shares(np.array([1.0, 2.0]), np.eye(2), np.array([0.5, 0.5]), p=1.0).round(6).tolist()
    [0.0, 1.0]
    >>> best_shares(np.array([3.0, 4.0]), np.zeros((2, 2)), np.array([0.5, 0.5]), p=2.0).round(6).tolist()
    [0.6, 0.8]
    """
    size = float(np.max(np.abs(gain))) or 1.0
    gain, H, m = gain / size, H / size, len(gain)
    x, s, t = np.full(m, m ** (-1 / p)), np.ones(m), 1.0
    for _ in range(MOST_ITERATIONS):
        slope, curvature = p * x ** (p - 1), p * (p - 1) * x ** (p - 2)
        missed, dual = np.sum(x**p) - 1, -gain + H @ (x - at) + t * slope - s
        left = max(float(s @ x), abs(float(missed)), float(np.max(np.abs(dual))) / (1 + float(np.max(np.abs(H)))))
        if left <= ACCURACY * (1 + abs(t)):
            break
        aim = CENTRING * float(s @ x) / m
        M = np.zeros((m + 1, m + 1))
        # where the norm is not worth its bound, t < 0, the problem with the equality is not convex
        M[:m, :m] = H + np.diag(s / x + max(t, 0.0) * curvature)
        M[m, :m] = M[:m, m] = slope
        unit = np.append(1 / np.sqrt(np.diag(M)[:m]), 1.0)
        right = np.append(-dual - s + aim / x, -missed)
        step = unit * np.linalg.lstsq(unit[:, None] * M * unit, unit * right, rcond=None)[0]
        dx, dt = step[:m], step[m]
        ds = (aim - s * dx) / x - s
        length = min(1.0, STEP * _room(x, dx), STEP * _room(s, ds))
        x, s, t = x + length * dx, s + length * ds, t + length * dt
    if p == 1:
        x = np.where((x < NONE) & (s > x), 0.0, x)
    return np.asarray(x / np.sum(x**p) ** (1 / p))


def _room(values: np.ndarray, step: np.ndarray) -> float:
    """How far values can go before one of them vanishes."""
    falling = step < 0
    return float(np.min(-values[falling] / step[falling], initial=np.inf))
