"""What the machines with a tube share: its slacks, the offset that fits it best, and what its multipliers say."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from kopt import Claim, Point, View, equal, minimise_hinges

# Objectives below this fraction of what fitting the targets would take are compared with that.
NEARLY_NOTHING = 1e-3


def slacks(errors: np.ndarray, epsilon: float) -> dict[str, np.ndarray]:
    """How far each error is below and above the tube."""
    return {"xi": np.maximum(0.0, -errors - epsilon), "xi_hat": np.maximum(0.0, errors - epsilon)}


def multipliers(beta: np.ndarray) -> dict[str, np.ndarray]:
    """The multipliers of the two sides of the tube, of which at most one is positive, from their difference."""
    return {"alpha": np.maximum(0.0, -beta), "alpha_hat": np.maximum(0.0, beta)}


def best_offset(errors: np.ndarray, weights: np.ndarray, epsilon: float = 0.0, power: Literal[1, 2] = 1) -> float:
    """The b that minimises sum_i c_i (|e_i - b| - epsilon)_+^power."""
    return minimise_hinges(
        0.0, rising=(weights, errors + epsilon), falling=(weights, errors - epsilon), power=power
    ).chosen


def objective_size(s: View, beta: np.ndarray) -> float:
    """The size of the objective, |y|' |beta|; where all multipliers vanish, a fraction of what fitting y would take.

    A vector with the values y has at least the squared length y'y / tr K.
    """
    trace = float(np.sum(s.diagonal()))
    fitted = float(s.y @ s.y) / trace if trace > 0 else float(np.sum(np.abs(s.y)))
    return max(float(np.abs(s.y) @ np.abs(beta)), NEARLY_NOTHING * fitted)


def linear_loss_claims(s: View, primal: Point, dual: Point, C: float, epsilon: float) -> Iterator[Claim]:
    """Remark 7.48 for the linear loss: what the multipliers pay for, and where the errors lie."""
    beta = dual.alpha_hat - dual.alpha
    spent = primal.w.norm_squared + C * s.costs @ (primal.xi + primal.xi_hat)
    earned = s.y @ beta - epsilon * np.sum(dual.alpha_hat + dual.alpha)
    size = objective_size(s, beta)
    yield equal("y' beta - epsilon |beta| = ||w||^2 + C sum (xi + xi_hat)", earned, spent, scale=size)
    yield from tube_claims(s, primal, dual, epsilon, C * s.costs, size)


def tube_claims(
    s: View, primal: Point, dual: Point, epsilon: float, price: np.ndarray | float, scale: float
) -> Iterator[Claim]:
    """Remark 7.48: where an error lies tells its multiplier beta = alpha_hat - alpha.

    price   the largest value of |beta_i|; infinite where errors beyond the tube are forbidden
    scale   the size of the objective
    """
    r = s.y - primal.w.values - primal.get("b", 0.0)
    beta = dual.alpha_hat - dual.alpha
    within, beyond = np.maximum(0.0, epsilon - np.abs(r)), np.maximum(0.0, np.abs(r) - epsilon)
    yield equal("beta = 0 inside the tube: sum |beta| (epsilon - |r|)_+ = 0", np.abs(beta) @ within, 0.0, scale=scale)
    if np.isfinite(price).all():
        unpaid = (price - np.abs(beta)) @ beyond
        yield equal("|beta| = C outside the tube: sum (C - |beta|) (|r| - epsilon)_+ = 0", unpaid, 0.0, scale=scale)
    yield equal("beta has the sign of r: beta' r = |beta|' |r|", beta @ r, np.abs(beta) @ np.abs(r), scale=scale)
    both = epsilon * np.sum(np.minimum(dual.alpha, dual.alpha_hat))
    yield equal("alpha_i alpha_hat_i = 0: epsilon sum min(alpha, alpha_hat) = 0", both, 0.0, scale=scale)
