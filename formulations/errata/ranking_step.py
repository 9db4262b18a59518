"""The on-line ranking algorithm."""

import numpy as np


def online_ranking(
    K: np.ndarray, y: np.ndarray, sweeps: int, moves_thresholds: bool = True
) -> tuple[np.ndarray, np.ndarray, int]:
    """alpha, b and the number of updates of Algorithm 8.14 in batch mode, for ranks 1..k.

    It stops after a sweep without a mistake. moves_thresholds=False is the printed code, which assigns to the running
    index y' instead of b_y'.
    """
    alpha, b, updates = np.zeros(len(y)), np.append(np.zeros(y.max() - 1), np.inf), 0
    for _ in range(sweeps):
        before = updates
        for i in range(len(y)):
            found, rank = rank_of(K[i] @ alpha, b), int(y[i])
            if found != rank:
                updates += 1
                alpha[i] += rank - found
                if moves_thresholds:
                    b[min(found, rank) - 1 : max(found, rank) - 1] += np.sign(found - rank)
        if updates == before:
            break
    return alpha, b, updates


def rank_of(value: float, b: np.ndarray) -> int:
    """The smallest y with value < b_y, Definition 8.4."""
    return int(np.argmax(value < b)) + 1
