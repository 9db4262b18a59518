"""What the theory says in the same words about machines of several families."""

from collections.abc import Iterator

import numpy as np

from kopt import Claim, Point, View, at_most, equal

# A weight vector whose terms cancel to less than this fraction of them may as well be 0.
NEARLY_CANCELS = 1e-3


def radius(s: View) -> float:
    """The length of the longest point in feature space: the unit of margins."""
    return float(np.sqrt(np.max(s.diagonal())))


def case_claims(
    alpha: np.ndarray,
    xi: np.ndarray,
    excess: np.ndarray,
    price: np.ndarray,
    scale: float,
    unit: float,
    of: tuple[str, str] = ("y f", "1"),
    bound: str = "C",
) -> Iterator[Claim]:
    """Where a point lies tells its slack, and whether its multiplier is 0, at its bound, or may be between.

    excess   by how much each point is on the wrong side of the margin (negative: on the right side)
    price    the bound of each multiplier, which is the price of its slack
    scale    the size of the objective
    unit     the size of a score
    of       what the text calls the score and the margin, of which excess is the difference
    """
    f, margin = of
    right, wrong, unpaid = np.maximum(0.0, -excess), np.maximum(0.0, excess), np.abs(price - alpha)
    free = np.minimum(np.abs(alpha), unpaid)
    off = np.max(np.abs(xi - wrong))
    yield equal(f"xi is the hinge loss: max |xi - ({margin} - {f})_+| = 0", off, 0.0, unit)
    idle = np.abs(alpha) @ right
    yield equal(f"alpha = 0 where {f} > {margin}: sum alpha ({f} - {margin})_+ = 0", idle, 0.0, scale)
    saved = unpaid @ np.abs(xi)
    yield equal(f"alpha = {bound} where {f} < {margin}: sum ({bound} - alpha) xi = 0", saved, 0.0, scale)
    away = free @ np.abs(excess)
    yield equal(
        f"0 < alpha < {bound} where {f} = {margin}: sum min(alpha, {bound} - alpha) |{f} - {margin}| = 0",
        away,
        0.0,
        scale,
    )


def relaxation_claim(s: View, primal: Point, dual: Point) -> Claim:
    """Whether <w, w> <= 1 stands for the text's <w, w> = 1: certainly where its multiplier lambda is positive."""
    if dual["lambda"] > 1e-6 * radius(s):
        return equal("||w||^2 = 1 (the relaxation is tight)", primal.w.norm_squared, 1.0)
    return at_most(
        "||w||^2 <= 1 (lambda = 0: a vector of length 1 may or may not attain this)", primal.w.norm_squared, 1.0
    )
