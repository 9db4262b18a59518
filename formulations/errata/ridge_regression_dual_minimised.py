"""Whether the dual of ridge regression is minimised."""

import numpy as np

from formulations.errata.samples import noisy_sine
from kopt import Claim, Reference, WrongStatement, at_most


class RidgeRegressionDualMinimised(WrongStatement):
    """The dual objective is concave and has no minimum; alpha = (K + lambda I)^-1 y, which follows, maximises it."""

    reference = Reference("Shawe-Taylor and Cristianini", "Section 7.3.2, before Algorithm 7.41")
    printed = "min -lambda sum alpha_i^2 + 2 sum alpha_i y_i - sum alpha_i alpha_j k(x_i, x_j)"
    correct = "max -lambda sum alpha_i^2 + 2 sum alpha_i y_i - sum alpha_i alpha_j k(x_i, x_j)"

    def claims(self) -> tuple[Claim, Claim]:
        """The value at the solution against those at points around it."""
        sample, ridge = noisy_sine(), 0.7
        K, y = sample.gram().dense, sample.y
        best = np.linalg.solve(K + ridge * np.eye(sample.n), y)
        others = best + np.random.default_rng(0).normal(size=(100, sample.n))
        values = [-ridge * a @ a + 2 * a @ y - a @ K @ a for a in (best, *others)]
        return (
            at_most("W(solution) <= smallest W around it", values[0], min(values[1:])),
            at_most("largest W around it <= W(solution)", max(values[1:]), values[0]),
        )
