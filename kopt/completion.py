"""Order-statistic rules: the exact minimisers of a one-dimensional convex sum of hinges."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kopt.errors import InputError

Vector = NDArray[np.float64]
Hinges = tuple[ArrayLike, ArrayLike]

# Weights such as 1/(nu l) carry a few roundings each; so does their compensated sum.
ROUNDING = 8 * float(np.finfo(float).eps)
NONE: Hinges = ((), ())


@dataclass(frozen=True)
class Minimisers:
    """All minimisers, the interval [low, high] (ends may be infinite), and the one that is `chosen`."""

    low: float
    high: float
    chosen: float


def minimise_hinges(
    slope: float,
    rising: Hinges = NONE,
    falling: Hinges = NONE,
    power: Literal[1, 2] = 1,
    t_min: float = -math.inf,
) -> Minimisers:
    """Return all t >= t_min that minimise a convex sum of hinges, by sorting.

        slope * t + sum_i a_i (t - p_i)_+^power + sum_j c_j (q_j - t)_+^power

    `rising = (a, p)` and `falling = (c, q)`; weights are non-negative, and one number stands for equal weights.
    The chosen point is the middle of a finite interval, the finite end of a half-infinite one, and the point next
    to 0 when the function is constant. With power 1 a slope counts as zero when it is below 8 eps times the sum of
    the |terms| that form it, so that a tie such as 10 * 0.1 = 1 gives the whole interval.

    The offset of the soft margin, f_i = sum_j alpha_j y_j k(x_i, x_j): minimise C sum_i (1 - y_i (f_i + b))_+ over b.
    Points with y_i = -1 rise at b = -1 - f_i, points with y_i = 1 fall at b = 1 - f_i:

    >>> minimise_hinges(0, rising=(1.0, [-1.5, 0.0]), falling=(1.0, [0.5, 2.0]))
    Minimisers(low=0.0, high=0.5, chosen=0.25)

    The squared radius of a ball, R + C sum_i (d_i - R)_+ over R >= 0: R is the 1/C-th largest distance d_i.

    >>> minimise_hinges(1, falling=(0.4, [1.0, 4.0, 9.0, 16.0]), t_min=0)
    Minimisers(low=4.0, high=4.0, chosen=4.0)

    The nu-machine's margins, -u/2 + C sum_i (u - s_i)_+ over u, where 1/2 = 5 C up to rounding is a tie:

    >>> minimise_hinges(-0.5, rising=(0.1, range(40)))
    Minimisers(low=4.0, high=5.0, chosen=4.5)
    """
    if not math.isfinite(slope) or power not in (1, 2) or math.isnan(t_min) or t_min == math.inf:
        raise InputError(
            f"The slope is {slope}, the power {power} and the lower limit {t_min}.",
            "Give a finite slope, power 1 or 2, and a lower limit that is finite or -inf.",
        )
    a, p = _sorted("rising", rising)
    c, q = _sorted("falling", falling)
    low, high = (_kinks if power == 1 else _parabolas)(float(slope), a, p, c, q)
    low, high = max(low, t_min), max(high, t_min)
    if low == math.inf or high == -math.inf:
        raise _unbounded(slope, a, c, low == math.inf, power)
    return Minimisers(low, high, _chosen(low, high, t_min))


def _kinks(slope: float, a: Vector, p: Vector, c: Vector, q: Vector) -> tuple[float, float]:
    """Power 1: right of each breakpoint t the slope is slope + sum_{p <= t} a - sum_{q > t} c."""
    t = np.concatenate([[-math.inf], np.sort(np.concatenate([p, q]))])
    up = _prefix(a)[np.searchsorted(p, t, side="right")]
    down = _suffix(c)[np.searchsorted(q, t, side="right")]
    total = slope + up - down
    zero = ROUNDING * (abs(slope) + up + down)
    return _first(t, total >= -zero), _first(t, total > zero)


def _parabolas(slope: float, a: Vector, p: Vector, c: Vector, q: Vector) -> tuple[float, float]:
    """Power 2: half the derivative, slope/2 + sum a (t - p)_+ - sum c (q - t)_+, is linear between breakpoints."""
    last, first = (float(q[-1]) if q.size else -math.inf), (float(p[0]) if p.size else math.inf)
    if slope == 0 and last <= first:
        return last, first
    # A breakpoint at 0 with no weight: then there is always one.
    t = np.sort(np.concatenate([p, q, [0.0]]))
    up = _prefix(a)[np.searchsorted(p, t, side="right")]
    down = _suffix(c)[np.searchsorted(q, t, side="left")]
    # Sums of non-negative terms from either side: nothing cancels before the last line.
    rise = _prefix(up[:-1] * np.diff(t))
    fall = _suffix(down[1:] * np.diff(t))
    half = slope / 2 + rise - fall
    k = int(np.argmax(np.append(half >= 0, True)))
    left, right = np.concatenate([[-math.inf], t, [math.inf]])[k : k + 2]
    curvature = (up[k - 1] if k else 0.0) + (down[k] if k < t.size else 0.0)
    if curvature == 0:
        return (-math.inf, -math.inf) if slope > 0 else (math.inf, math.inf)
    near = min({max(k - 1, 0), min(k, t.size - 1)}, key=lambda e: abs(half[e]))
    root = float(np.clip(t[near] - half[near] / curvature, left, right))
    return root, root


def _prefix(weights: Vector) -> Vector:
    """Return 0, w_1, w_1 + w_2, ..., each sum good to the last digit: the error of every addition is known exactly."""
    s = np.concatenate([[0.0], np.cumsum(weights)])
    before, after = s[:-1], s[1:]
    added = after - before
    lost = (before - (after - added)) + (weights - added)
    s[1:] += np.cumsum(lost)
    return s


def _suffix(weights: Vector) -> Vector:
    """Return w_1 + ... + w_n, ..., w_n, 0, summed from the end."""
    return _prefix(weights[::-1])[::-1]


def _first(t: Vector, reached: NDArray[np.bool_]) -> float:
    return float(t[np.argmax(reached)]) if reached.any() else math.inf


def _chosen(low: float, high: float, t_min: float) -> float:
    if low == high:
        return low
    if low == t_min and high == math.inf:
        return max(0.0, low)
    if math.isinf(low) or math.isinf(high):
        return high if math.isinf(low) else low
    return low / 2 + high / 2


def _sorted(name: str, hinges: Hinges) -> tuple[Vector, Vector]:
    """Return the positive weights and their points, by increasing point."""
    points = np.asarray(hinges[1], dtype=float)
    weights = np.asarray(hinges[0], dtype=float)
    if points.ndim != 1 or weights.shape not in ((), points.shape):
        raise InputError(
            f"The {name} hinges have weights of shape {weights.shape} and points of shape {points.shape}.",
            "Give one point per hinge, and one weight per point or a single number.",
        )
    weights = np.broadcast_to(weights, points.shape)
    bad = ~(np.isfinite(points) & np.isfinite(weights) & (weights >= 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"The {name} hinge {i} has weight {weights[i]} at point {points[i]}.",
            "Give finite points and finite weights that are not negative.",
        )
    order = np.argsort(points, kind="stable")
    order = order[weights[order] > 0]
    return weights[order], points[order]


def _unbounded(slope: float, a: Vector, c: Vector, right: bool, power: int) -> InputError:
    weights = a if right else -c
    end = slope + (math.fsum(weights) if power == 1 else 0.0)
    return InputError(
        f"The function has no minimum: its slope towards {'+inf' if right else '-inf'} is {end:.6g}.",
        "Give rising hinges enough weight to make it at least 0."
        if right
        else "Give falling hinges enough weight to make it at most 0, or set a lower limit t_min.",
    )
