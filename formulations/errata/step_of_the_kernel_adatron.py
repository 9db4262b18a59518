"""The step of the kernel adatron."""

import numpy as np

import kopt
from formulations.classification import HardMarginWithoutOffset
from formulations.errata.samples import two_classes
from kopt import Claim, Reference, WrongStatement, equal

SWEEPS = 300


class StepOfTheKernelAdatron(WrongStatement):
    """A step of 1 along the gradient is right for k(x, x) = 1; from k(x, x) = 2 on it overshoots, and may never settle.

    Along one alpha_i the objective has curvature k(x_i, x_i): its maximum is a step of 1/k(x_i, x_i) away.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Code Fragment 7.13, line 4")
    printed = "alpha_i <- alpha_i + (1 - y_i sum_j alpha_j y_j k(x_j, x_i))"
    correct = "alpha_i <- alpha_i + (1 - y_i sum_j alpha_j y_j k(x_j, x_i)) / k(x_i, x_i)"

    def claims(self) -> tuple[Claim, Claim]:
        """What the algorithm has reached after many sweeps, for the linear kernel."""
        sample = two_classes(distance=8.0)
        optimum = kopt.solve(HardMarginWithoutOffset(), sample).value
        G = np.outer(sample.y, sample.y) * sample.gram().dense
        return (
            equal(f"W(alpha) after {SWEEPS} sweeps is the optimum", _reached(G, np.ones(sample.n)), optimum),
            equal(f"W(alpha) after {SWEEPS} sweeps is the optimum", _reached(G, 1 / G.diagonal()), optimum),
        )


def _reached(G: np.ndarray, steps: np.ndarray) -> float:
    """W(alpha) = sum_i alpha_i - 1/2 alpha' G alpha after all sweeps."""
    alpha = np.zeros(len(G))
    for _ in range(SWEEPS):
        for i in range(len(G)):
            alpha[i] = max(0.0, alpha[i] + steps[i] * (1 - G[i] @ alpha))
    return float(alpha.sum() - 0.5 * alpha @ G @ alpha)
