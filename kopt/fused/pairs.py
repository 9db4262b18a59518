"""Sequential minimal optimisation: two variables of a group at a time, or one where nothing ties them together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kopt.fused.extremes import larger, smaller

#: Entries looked at together: the place of an extreme value is searched in one stretch only.
STRETCH = 128
# A division that might have to raise an error would keep its loop from being vectorised: error_model="numpy".
#: The least curvature along a pair, relative to the diagonal: duplicate points have none.
FLAT = 1e-12

INEXACT = {"contract", "nsz", "reassoc", "arcp"}


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def slopes(f: Any, points: Any, c: Any, gain: Any, width: Any, shift: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    """The slopes of the objective upwards and downwards in each variable, infinite where its bound is reached."""
    up, down = np.empty(len(c)), np.empty(len(c))
    for a in range(len(c)):
        slope = f[points[a]] + shift[a] * c[a] - gain[a]
        up[a] = np.inf if c[a] >= upper[a] else slope + (width[a] if c[a] >= 0 else -width[a])
        down[a] = -np.inf if c[a] <= lower[a] else slope + (width[a] if c[a] > 0 else -width[a])
    return up, down


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _mark(a: int, c: Any, width: Any, lower: Any, upper: Any, up: Any, down: Any) -> None:
    """What is added to the gradient of a variable to give its slopes upwards and downwards."""
    up[a] = np.inf if c[a] >= upper[a] else (width[a] if c[a] >= 0 else -width[a])
    down[a] = -np.inf if c[a] <= lower[a] else (width[a] if c[a] > 0 else -width[a])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _room_up(c: float, width: float, upper: float) -> float:
    """How far a variable may rise before its bound or its kink."""
    return -c if c < 0 and width > 0 and upper > 0 else upper - c


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _room_down(c: float, width: float, lower: float) -> float:
    return c if c > 0 and width > 0 and lower < 0 else c - lower


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _raised(c: float, step: float, room: float, upper: float) -> float:
    """c + step, exactly on the bound or the kink where the step is as long as the room."""
    return c + step if step < room else (0.0 if room == -c else upper)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _lowered(c: float, step: float, room: float, lower: float) -> float:
    return c - step if step < room else (0.0 if room == c else lower)


@njit(fastmath=INEXACT, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _ends(G: Any, up: Any, down: Any, lowest: Any) -> tuple[float, float]:
    """The smallest slope upwards, also of each stretch, and the largest downwards."""
    real = G.dtype.type
    least, most = real(np.inf), real(-np.inf)
    for k, start in enumerate(range(0, len(G), STRETCH)):
        stop = min(start + STRETCH, len(G))
        g, u, d = G[start:stop], up[start:stop], down[start:stop]
        here = real(np.inf)
        for a in range(len(g)):
            here = smaller(here, g[a] + u[a])
            most = larger(most, g[a] + d[a])
        lowest[k] = here
        least = smaller(least, here)
    return least, most


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _place(G: Any, up: Any, lowest: Any, least: float) -> int:
    k = 0
    while lowest[k] != least:
        k += 1
    a = k * STRETCH
    while G[a] + up[a] != least:
        a += 1
    return a


@njit(fastmath=INEXACT, error_model="numpy", nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _gain(g: Any, d: Any, k: Any, q: Any, own: Any, least: Any) -> Any:
    """What lowering a variable gains, to second order and but for a factor, while the one with `least` rises."""
    real = type(g)
    slope = larger(g + d - least, real(0.0))
    together = own + q
    return slope * slope / larger(together - (k + k), real(FLAT) * together + real(1e-30))


@njit(fastmath=INEXACT, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _largest_gain(g: Any, d: Any, k: Any, q: Any, own: float, least: float) -> float:
    most = g.dtype.type(0.0)
    for b in range(len(g)):
        most = larger(most, _gain(g[b], d[b], k[b], q[b], own, least))
    return most


@njit(fastmath=INEXACT, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _partner(G: Any, down: Any, row: Any, diagonal: Any, own: float, least: float) -> int:
    """The variable to lower that gains most while the one with the slope `least` rises."""
    most, place = G.dtype.type(-1.0), 0
    for start in range(0, len(G), STRETCH):
        stop = min(start + STRETCH, len(G))
        here = _largest_gain(G[start:stop], down[start:stop], row[start:stop], diagonal[start:stop], own, least)
        if here > most:
            most, place = here, start
    most = G.dtype.type(-1.0)
    for b in range(place, min(place + STRETCH, len(G))):
        gain = _gain(G[b], down[b], row[b], diagonal[b], own, least)
        if gain > most:
            most, place = gain, b
    return place


@njit(fastmath=INEXACT, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _shift_by(G: Any, step: float, raised: Any, lowered: Any) -> None:
    for a in range(len(G)):
        G[a] += step * (raised[a] - lowered[a])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def pairs(
    K: Any, diagonal: Any, G: Any, c: Any, width: Any, lower: Any, upper: Any, starts: Any, goal: float, most: int
) -> tuple[int, float]:
    """Move pairs within groups until no slope upwards is below one downwards by more than `goal`.

    K          the matrix between the variables, without the shift that `diagonal` includes
    G          the gradient at c without the kinks; kept up to date, in its own precision
    starts     where each group begins, and where the last one ends
    most       the largest number of steps

    Returns the number of steps and the largest violation left; a step of infinite length leaves -1.
    """
    real = G.dtype.type
    up, down = np.empty(len(c), G.dtype), np.empty(len(c), G.dtype)
    lowest = np.empty(len(c) // STRETCH + 1, G.dtype)
    for a in range(len(c)):
        _mark(a, c, width, lower, upper, up, down)
    violation = np.inf
    for step_number in range(most):
        worst, begin, end = real(-np.inf), 0, 0
        least = real(0.0)
        for s in range(len(starts) - 1):
            first, last = starts[s], starts[s + 1]
            low, high = _ends(G[first:last], up[first:last], down[first:last], lowest)
            if high - low > worst:
                worst, begin, end, least = high - low, first, last, low
        violation = float(worst)
        if violation <= goal:
            return step_number, max(violation, 0.0)
        if len(starts) > 2:
            _ends(G[begin:end], up[begin:end], down[begin:end], lowest)
        i = begin + _place(G[begin:end], up[begin:end], lowest, least)
        j = begin + _partner(G[begin:end], down[begin:end], K[i, begin:end], diagonal[begin:end], diagonal[i], least)
        together = float(diagonal[i] + diagonal[j])
        curvature = max(together - 2 * float(K[i, j]), FLAT * together)
        room_i, room_j = _room_up(c[i], width[i], upper[i]), _room_down(c[j], width[j], lower[j])
        slope = float(G[j] + down[j] - least)
        step = min(slope / curvature if curvature > 0 else np.inf, room_i, room_j)
        if np.isinf(step):
            return -1, violation
        c[i] = _raised(c[i], step, room_i, upper[i])
        c[j] = _lowered(c[j], step, room_j, lower[j])
        _mark(i, c, width, lower, upper, up, down)
        _mark(j, c, width, lower, upper, up, down)
        _shift_by(G, real(step), K[i], K[j])
        # The shift of the diagonal is in `diagonal` only.
        G[i] += real(step * (float(diagonal[i]) - float(K[i, i])))
        G[j] -= real(step * (float(diagonal[j]) - float(K[j, j])))
    return most, violation


@njit(fastmath=INEXACT, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _steepest(G: Any, up: Any, down: Any, diagonal: Any, gains: Any) -> tuple[int, float]:
    """The variable whose move alone gains most, to second order, and the largest violation."""
    real = G.dtype.type
    most, place, violation = real(-1.0), 0, real(0.0)
    for start in range(0, len(G), STRETCH):
        stop = min(start + STRETCH, len(G))
        g, u, d, q = G[start:stop], up[start:stop], down[start:stop], diagonal[start:stop]
        here = real(0.0)
        for a in range(len(g)):
            slope = larger(larger(-(g[a] + u[a]), g[a] + d[a]), real(0.0))
            violation = larger(violation, slope)
            gain = slope * slope / larger(q[a], real(1e-30))
            gains[a] = gain
            here = larger(here, gain)
        if here > most:
            most = here
            for a in range(len(g)):
                if gains[a] == here:
                    place = start + a
                    break
    return place, violation


@njit(fastmath=INEXACT, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add_row(G: Any, step: float, row: Any) -> None:
    for a in range(len(G)):
        G[a] += step * row[a]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def singles(
    K: Any, diagonal: Any, G: Any, c: Any, width: Any, lower: Any, upper: Any, goal: float, most: int
) -> tuple[int, float]:
    """As `pairs`, for variables that nothing ties together: each step moves one of them."""
    real = G.dtype.type
    up, down = np.empty(len(c), G.dtype), np.empty(len(c), G.dtype)
    gains = np.empty(STRETCH, G.dtype)
    for a in range(len(c)):
        _mark(a, c, width, lower, upper, up, down)
    violation = np.inf
    for step_number in range(most):
        i, worst = _steepest(G, up, down, diagonal, gains)
        violation = float(worst)
        if violation <= goal:
            return step_number, violation
        curvature = float(diagonal[i])
        rises = -(G[i] + up[i]) >= G[i] + down[i]
        room = _room_up(c[i], width[i], upper[i]) if rises else _room_down(c[i], width[i], lower[i])
        slope = float(-(G[i] + up[i]) if rises else G[i] + down[i])
        step = min(slope / curvature if curvature > 0 else np.inf, room)
        if np.isinf(step):
            return -1, violation
        c[i] = _raised(c[i], step, room, upper[i]) if rises else _lowered(c[i], step, room, lower[i])
        _mark(i, c, width, lower, upper, up, down)
        signed = step if rises else -step
        _add_row(G, real(signed), K[i])
        G[i] += real(signed * (curvature - float(K[i, i])))
    return most, violation


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def gap_of(slope: Any, c: Any, width: Any, shift: Any, lower: Any, upper: Any) -> float:
    """The duality gap: by how much each variable alone could lower the linearised objective, added up.

    The terms 1/2 shift c^2 and width |c| are taken as they are, the rest as its slope, less the multiplier of the
    sum that the variable is in. Infinite where a variable without a bound would go on for ever.
    """
    total = 0.0
    for a in range(len(c)):
        linear = slope[a] - shift[a] * c[a]
        if shift[a] == 0 and width[a] == 0:
            if linear != 0:
                total += linear * (c[a] - (lower[a] if linear > 0 else upper[a]))
            continue
        here = linear * c[a] + 0.5 * shift[a] * c[a] ** 2 + width[a] * abs(c[a])
        best = here
        if lower[a] < 0 < upper[a] or c[a] == 0:
            best = min(best, 0.0)
        for side in (1.0, -1.0):
            # The part of the interval on one side of 0, on which |c| = side c.
            low = max(lower[a], 0.0) if side > 0 else lower[a]
            high = upper[a] if side > 0 else min(upper[a], 0.0)
            if low > high:
                continue
            s = linear + side * width[a]
            if shift[a] > 0:
                end = min(max(-s / shift[a], low), high)
            elif s == 0:
                continue
            else:
                end = low if s > 0 else high
            if np.isinf(end):
                return np.inf
            best = min(best, s * end + 0.5 * shift[a] * end * end)
        total += here - best
    return total
