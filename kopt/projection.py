"""The Euclidean projection onto a box with a few rows, feasible to rounding."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kopt.errors import InputError

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

EPS = float(np.finfo(float).eps)
# A row is met when its exact residual is at most this fraction of the sum of its |terms|.
ROUNDING = 4 * EPS
# Eigenvalues of a Gram matrix with unit diagonal that count as zero.
SINGULAR = 1e-12
NEWTON_STEPS = 500
CORRECTIONS = 60


@dataclass(frozen=True, eq=False)
class Polyhedron:
    """The points with lower <= z <= upper, A z = b, G z <= h; bounds may be infinite, rows may be missing.

    >>> simplex = Polyhedron(np.zeros(3), np.ones(3), A=np.ones((1, 3)), b=[1.0])
    >>> simplex.contains([0.2, 0.3, 0.5])
    True
    """

    lower: ArrayLike
    upper: ArrayLike
    A: Any = None
    b: ArrayLike = ()
    G: Any = None
    h: ArrayLike = ()

    def __post_init__(self) -> None:
        """Refuse wrong shapes and crossed bounds here, where the user wrote them."""
        _ = self.box, self.rows

    @cached_property
    def box(self) -> tuple[Vector, Vector]:
        """The two bounds as arrays."""
        lower, upper = np.asarray(self.lower, dtype=float), np.asarray(self.upper, dtype=float)
        if lower.ndim != 1 or lower.shape != upper.shape:
            raise InputError(
                f"The bounds have shapes {lower.shape} and {upper.shape}.", "Give two vectors of the same length."
            )
        bad = ~(lower <= upper) | (lower == math.inf) | (upper == -math.inf)
        if bad.any():
            j = int(np.argmax(bad))
            raise InputError(
                f"The box is empty: coordinate {j} must lie between {lower[j]} and {upper[j]}.",
                "Give a lower bound below +inf that does not exceed the upper bound.",
            )
        return lower, upper

    @cached_property
    def rows(self) -> tuple[Any, Vector, Mask]:
        """The stacked rows B = [A; G], c = [b; h], and which of them are equalities."""
        n = self.box[0].size
        b, h = np.atleast_1d(np.asarray(self.b, dtype=float)), np.atleast_1d(np.asarray(self.h, dtype=float))
        A, G = (sparse.csr_array((0, n) if M is None else M, dtype=float) for M in (self.A, self.G))
        if A.shape != (b.size, n) or G.shape != (h.size, n):
            raise InputError(
                f"The rows have shapes {A.shape} and {G.shape} for {b.size} and {h.size} right-hand sides.",
                f"Give one right-hand side per row and {n} columns.",
            )
        B, c = sparse.csr_array(sparse.vstack([A, G])), np.concatenate([b, h])
        if not (np.isfinite(B.data).all() and np.isfinite(c).all()):
            raise InputError(
                "The rows or their right-hand sides have an entry that is not finite.",
                "Give finite numbers, and leave out an inequality that never binds.",
            )
        return B, c, np.arange(c.size) < b.size

    def residuals(self, z: Vector) -> tuple[Vector, Vector]:
        """Return B z - c, summed exactly, and what rounding excuses: 4 eps sum_j |B_ij z_j|."""
        B, c, _ = self.rows
        terms = [B.data[i:j] * z[B.indices[i:j]] for i, j in zip(B.indptr[:-1], B.indptr[1:], strict=True)]
        exact = [math.fsum([*row.tolist(), -rhs]) for row, rhs in zip(terms, c.tolist(), strict=True)]
        return np.array(exact, dtype=float), np.array([ROUNDING * np.abs(row).sum() for row in terms], dtype=float)

    def violations(self, z: Vector) -> Vector:
        """Return by how much each row is missed, 0 where it is met to rounding."""
        residual, excused = self.residuals(z)
        missed = (residual > excused) | (self.rows[2] & (residual < -excused))
        return np.where(missed, np.abs(residual), 0.0)

    def contains(self, z: ArrayLike) -> bool:
        """Whether z meets the bounds exactly and the rows to rounding."""
        z, (lower, upper) = np.asarray(z, dtype=float), self.box
        return z.shape == lower.shape and bool(((lower <= z) & (z <= upper)).all()) and not self.violations(z).any()


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest point of the polyhedron, and how far it is: ||z - z0||_2 and max_j |z_j - z0_j|."""

    point: Vector
    distance: float
    largest_change: float


def project(z0: ArrayLike, polyhedron: Polyhedron) -> Projection:
    """Return the nearest point of a polyhedron, feasible to rounding; a point that already is stays as it is.

        minimise 1/2 ||z - z0||^2   subject to   lower <= z <= upper,  A z = b  (mu),  G z <= h  (mu >= 0)

    With B = [A; G], c = [b; h], the dual is concave and piecewise quadratic in one mu per row: its gradient is
    B z - c at z = clip(z0 - B'mu, lower, upper). Newton's method with an exact search along each direction finds
    its maximum; a direction along which the dual grows for ever proves that the polyhedron is empty.

    >>> balanced = Polyhedron(np.zeros(4), np.ones(4), A=[[1, 1, -1, -1]], b=[0])
    >>> project([2.0, 0.5, 0.5, 0.25], balanced).point
    array([1.  , 0.25, 0.75, 0.5 ])
    """
    start, n = np.array(z0, dtype=float), polyhedron.box[0].size
    if start.shape != (n,) or not np.isfinite(start).all():
        raise InputError(
            f"The point has shape {start.shape} for {n} bounds, and {(~np.isfinite(start)).sum()} of its entries "
            "are not finite.",
            "Project a finite vector with one entry per bound.",
        )
    if polyhedron.contains(start):
        return Projection(start, 0.0, 0.0)
    point = corrected(_Dual(polyhedron).maximise(start), polyhedron)
    change = np.abs(point - start)
    largest = float(change.max(initial=0.0))
    # Scaled, because the squares of a far z0 overflow.
    return Projection(point, largest * float(np.linalg.norm(change / (largest or 1.0))), largest)


class _Dual:
    """The dual function, every row scaled to length 1."""

    def __init__(self, polyhedron: Polyhedron) -> None:
        B, c, self.equality = polyhedron.rows
        self.length = _lengths(B)
        self.B, self.c = sparse.csr_array(sparse.diags_array(1 / self.length) @ B), c / self.length
        self.BT = self.B.T.tocsr()
        self.absB, self.absBT = abs(self.B), abs(self.BT)
        self.box = polyhedron.box

    def maximise(self, z0: Vector) -> Vector:
        """Return clip(u), u = z0 - B'mu; u is updated, never formed anew: near the box no digits of a far z0 remain."""
        u, mu = z0.copy(), np.zeros(self.c.size)
        reach = float(np.abs(u - np.clip(u, *self.box)).max(initial=0.0))
        nothing = EPS**2 * float(np.abs(u).max(initial=0.0))
        for _ in range(NEWTON_STEPS):
            z = np.clip(u, *self.box)
            gradient = self.B @ z - self.c
            noise = 256 * EPS * (self.absB @ np.abs(z) + np.abs(self.c))
            rows = self.equality | (mu > 0) | (gradient > 0)
            if (np.abs(gradient) <= noise)[rows].all():
                break
            d, curved = self.direction(gradient, noise, mu, self.freedom(u, reach), rows)
            w = self.BT @ d
            w[np.abs(w) <= 4 * EPS * (self.absBT @ np.abs(d))] = 0.0
            ends = np.divide(mu, -d, out=np.full_like(mu, math.inf), where=~self.equality & (d < 0))
            t = self.step(u, w, d, float(ends.min(initial=math.inf)), curved)
            u -= t * w
            mu = np.where(ends <= t, 0.0, mu + t * d)
            moved = t * float(np.abs(w).max(initial=0.0))
            if moved <= nothing:
                break
            reach = min(reach / 8, moved) if curved else moved
        return np.clip(u, *self.box)

    def freedom(self, u: Vector, reach: float) -> Vector:
        """Return which part of u_j +- reach lies inside the bounds: 1 or 0, free or not, as reach goes to 0.

        A box that is small against the distance of z0 leaves no coordinate free and the dual almost linear, where
        Newton's method would creep from kink to kink; over a reach of the last step's length it is curved.
        """
        lower, upper = self.box
        if reach == 0:
            return ((lower < u) & (u < upper)).astype(float)
        inside: Vector = np.minimum(u + reach, upper) - np.maximum(u - reach, lower)
        return inside.clip(min=0.0) / (2 * reach)

    def direction(self, gradient: Vector, noise: Vector, mu: Vector, free: Vector, rows: Mask) -> tuple[Vector, bool]:
        """Return an ascent direction on `rows`, and whether the dual is curved along it; no mu = 0 turns negative."""
        H = _gram(self.B, self.BT, free)
        while True:
            d = np.zeros_like(mu)
            d[rows], curved = _newton(H[np.ix_(rows, rows)], gradient[rows], noise[rows])
            stuck = ~self.equality & (mu == 0) & (d < 0)
            if not stuck.any():
                return d, curved
            rows = rows & ~stuck

    def step(self, u: Vector, w: Vector, d: Vector, longest: float, curved: bool) -> float:
        """Return the first t <= longest that maximises the dual at mu + t d: its slope is w'z(t) - d'c."""
        fixed = float(d @ self.c)

        def slope(t: float) -> float:
            return float(w @ np.clip(u - t * w, *self.box)) - fixed

        unit = min(1.0, longest)
        lo, at_lo, hi, at_unit = 0.0, slope(0.0), longest, slope(unit)
        if curved and abs(at_unit) <= at_lo / 2:
            return unit
        if at_unit <= 0:
            hi = unit
        elif longest < math.inf and slope(longest) >= 0:
            return longest
        else:
            self.refuse_if_empty(u, w, d, longest)
            lo, at_lo = unit, at_unit
        noise = 8 * EPS * (float(np.abs(w) @ np.abs(np.clip(u - lo * w, *self.box))) + abs(fixed))
        kinks = self.kinks(u, w, lo, hi)
        while kinks.size:
            middle = kinks.size // 2
            t = float(np.partition(kinks, middle)[middle])
            at_t = slope(t)
            if at_t > noise:
                lo, at_lo, kinks = t, at_t, kinks[kinks > t]
            else:
                hi, kinks = t, kinks[kinks < t]
        end = hi if hi < math.inf else 2 * lo + 1.0
        fall = at_lo - slope(end)
        return lo + (end - lo) * at_lo / fall if fall > 0 else lo

    def kinks(self, u: Vector, w: Vector, lo: float, hi: float) -> Vector:
        """Return the t between lo and hi where a coordinate of u - t w meets a bound."""
        moving = w != 0
        with np.errstate(over="ignore"):
            t = np.concatenate([(u - bound)[moving] / w[moving] for bound in self.box])
        return t[(lo < t) & (t < hi)]

    def refuse_if_empty(self, u: Vector, w: Vector, d: Vector, longest: float) -> None:
        """Refuse when d'(B z - c) is positive even at its smallest over the box: then no point meets the rows."""
        lower, upper = self.box
        z = np.where(w > 0, lower, np.where(w < 0, upper, np.clip(u, lower, upper)))
        if longest < math.inf or not np.isfinite(z).all():
            return
        excess = float(w @ z - d @ self.c)
        if excess > 8 * EPS * float(np.abs(d) @ (self.absB @ np.abs(z) + np.abs(self.c))):
            weight = np.abs(d) / self.length
            raise _empty(f"at least {excess / weight.sum():.3g}", np.flatnonzero(weight > 1e-6 * weight.max()))


def corrected(z: Vector, polyhedron: Polyhedron) -> Vector:
    """Take small residuals off coordinates inside the box, off those at bounds only if need be.

    >>> half = Polyhedron(np.zeros(3), np.ones(3), A=np.ones((1, 3)), b=[1.5])
    >>> corrected(np.array([1.0, 0.25, 0.0]), half).tolist()
    [1.0, 0.5, 0.0]
    """
    B, _, equality = polyhedron.rows
    length = _lengths(B)
    for _ in range(CORRECTIONS):
        missed = polyhedron.violations(z)
        if not missed.any():
            return z
        residual, excused = polyhedron.residuals(z)
        tight = equality | (residual > -excused)
        part = sparse.csr_array(sparse.diags_array(1 / length[tight]) @ B[tight])
        z = _shift(z, part, (residual / length)[tight], (excused / length)[tight], polyhedron.box)
    raise _empty(f"{missed.max():.3g} at the nearest point found", np.flatnonzero(missed))


def _shift(z: Vector, B: Any, residual: Vector, excused: Vector, box: tuple[Vector, Vector]) -> Vector:
    """Return z minus the shortest change that removes the residual, clipped."""
    (lower, upper), BT = box, B.T.tocsr()
    usable = (lower < z) & (z < upper)
    for widened in range(6):
        H = _gram(B, BT, usable)
        mu, _ = _newton(H, residual)
        change = np.where(usable, BT @ mu, 0.0)
        outward = ((z <= lower) & (change > 0)) | ((z >= upper) & (change < 0))
        if not outward.any() and (np.abs(residual - H @ mu) <= excused / 2).all():
            break
        usable = usable & ~outward if widened else lower < upper
    shifted = z - change
    # What a correction by rounding wipes out was rounding; left there, a row A z = 0 would never be met relative to z.
    shifted[usable & (np.abs(shifted) <= 1e-8 * (abs(BT) @ np.abs(mu)))] = 0.0
    return np.clip(shifted, lower, upper)


def _lengths(B: Any) -> Vector:
    """Return the length of each row, 1 for a row of zeros."""
    length = [np.linalg.norm(B.data[i:j]) for i, j in zip(B.indptr[:-1], B.indptr[1:], strict=True)]
    return np.array([x or 1.0 for x in length], dtype=float)


def _gram(B: Any, BT: Any, free: NDArray[Any]) -> Matrix:
    """Return sum_j free_j B_j B_j'."""
    weighted = sparse.csr_array((B.data * free[B.indices], B.indices, B.indptr), shape=B.shape)
    return np.asarray((weighted @ BT).toarray(), dtype=float)


def _newton(H: Matrix, g: Vector, noise: Vector | None = None) -> tuple[Vector, bool]:
    """Return d with H d = g and True; or, with `noise`, g's part beyond it where H vanishes, and False."""
    diagonal = np.diag(H)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, V = np.linalg.eigh(scale[:, None] * H * scale)
    V, curved = scale[:, None] * V, values > SINGULAR
    along = V.T @ g
    if noise is not None:
        size = np.abs(along)
        linear = ~curved & (size > np.maximum(np.abs(V).T @ noise, 1e-6 * size.max(initial=0.0)))
        if linear.any():
            return V[:, linear] @ along[linear] / size.max(), False
    return V[:, curved] @ (along[curved] / values[curved]), True


def _empty(amount: str, rows: NDArray[np.intp]) -> InputError:
    return InputError(
        f"The polyhedron is empty: within the bounds one of its rows is missed by {amount} "
        f"(rows {', '.join(map(str, rows[:8]))} of the stacked [A; G] are in conflict).",
        "Widen the bounds or change the right-hand sides of these rows.",
    )
