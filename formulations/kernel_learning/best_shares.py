"""The best weights in a quadratic model: a small convex problem, one variable for each kernel."""

from __future__ import annotations

import numpy as np

#: Complementarity that is left, relative to the terms of the objective.
ACCURACY = 1e-14
#: How much faster than the gap the products of the next point are to fall; how much of the way to a bound a step goes.
CENTRING, STEP = 0.1, 0.95
MOST_ITERATIONS, MOST_HALVINGS = 80, 40
#: With p = 1 a share below this, which the model pushes further down, is none.
NONE = 1e-7
#: A bound is tight where this much of it is used.
TIGHT = 0.999


def best_shares(gain: np.ndarray, H: np.ndarray, at: np.ndarray, p: float) -> np.ndarray:
    """The x >= 0 with ||x||_p = 1 that maximises gain'x - 1/2 (x - at)' H (x - at), H positive semi-definite.

    That is the maximiser with ||x||_p <= 1 where the bound is tight, as it is near the optimum,
    where every kernel helps.
    Elsewhere it is scaled to this norm; with p = 1 a number added to each gain_k,
    which changes nothing else, makes it tight.

    >>> best_shares(np.array([1.0, 2.0]), np.eye(2), np.array([0.5, 0.5]), p=1.0).round(6).tolist()
    [0.0, 1.0]
    >>> best_shares(np.array([3.0, 4.0]), np.zeros((2, 2)), np.array([0.5, 0.5]), p=2.0).round(6).tolist()
    [0.6, 0.8]
    """
    x = _maximiser(gain, H, at, p)
    if p == 1 and np.sum(x) < TIGHT:
        x = _maximiser(gain + 2 * np.max(np.abs(H)) + np.max(np.abs(gain)), H, at, p)
    size = float(np.sum(x**p) ** (1 / p))
    return x / size if size > 0 else at


def _maximiser(gain: np.ndarray, H: np.ndarray, at: np.ndarray, p: float) -> np.ndarray:
    """The x >= 0 with sum_k x_k^p <= 1 that maximises gain'x - 1/2 (x - at)' H (x - at), H positive semi-definite.

    A primal-dual interior point method; s are the multipliers of x >= 0 and t that of the norm:

        -gain + H (x - at) + t p x^(p-1) = s,      s_k x_k -> 0,      t (1 - sum_k x_k^p) -> 0.

    Where several x are best, as for a kernel that is there twice, it returns one between them.
    """
    size = float(np.max(np.abs(gain))) or 1.0
    gain, H, m = gain / size, H / size, len(gain)
    x = np.full(m, 0.5 / m)
    s, t = np.ones(m), 1.0
    for _ in range(MOST_ITERATIONS):
        room = 1 - np.sum(x**p)
        gap = float(s @ x + t * room)
        slope = p * x ** (p - 1)
        dual = -gain + H @ (x - at) + t * slope - s
        if gap <= ACCURACY * (1 + float(np.abs(gain) @ x)) and np.max(np.abs(dual)) <= ACCURACY * (1 + t):
            break
        aim = CENTRING * gap / (m + 1)
        M = H + np.diag(s / x + t * p * (p - 1) * x ** (p - 2)) + t / room * np.outer(slope, slope)
        right = -(dual + s - aim / x + (aim / room - t) * slope)
        dx = np.linalg.lstsq(M, right, rcond=None)[0]
        ds = (aim - s * dx) / x - s
        dt = (aim + t * (slope @ dx)) / room - t
        length = STEP * min(1 / STEP, _room(x, dx), _room(s, ds), _room(np.array([t]), np.array([dt])))
        before = x
        for _ in range(MOST_HALVINGS):
            x = before + length * dx
            if np.sum(x**p) < 1:
                break
            length /= 2
        else:
            x = before
            break
        s, t = s + length * ds, t + length * dt
    if p == 1:
        x = np.where((x < NONE) & (s > x), 0.0, x)
    return x


def _room(values: np.ndarray, step: np.ndarray) -> float:
    """How far values can go before one of them vanishes."""
    falling = step < 0
    return float(np.min(-values[falling] / step[falling], initial=np.inf))
