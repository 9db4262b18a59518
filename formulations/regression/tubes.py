"""What the machines with a tube share: its slacks, the offset that fits it best, and what its multipliers say."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from kopt import Claim, Point, View, equal, minimise_hinges


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
