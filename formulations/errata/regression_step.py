"""The on-line algorithm for support vector regression."""

import numpy as np


def online_regression(
    K: np.ndarray, y: np.ndarray, epsilon: float, steps: np.ndarray, sweeps: int, C: float = np.inf
) -> np.ndarray:
    """alpha of Code Fragment 7.14 after so many sweeps, with a step for each point, and clipped to [-C, C].

    For alpha_i = 0 the sign is the number in [-1, 1] that makes the step smallest.
    """
    alpha = np.zeros(len(y))
    for _ in range(sweeps):
        for i in range(len(y)):
            before, error = alpha[i], y[i] - K[i] @ alpha
            sign = np.sign(before) if before else np.clip(error / epsilon, -1.0, 1.0)
            alpha[i] += steps[i] * (error - epsilon * sign)
            if before * alpha[i] < 0:
                alpha[i] = 0.0
            alpha[i] = np.clip(alpha[i], -C, C)
    return alpha
