"""The weight vector of ridge regression."""

import numpy as np

import kopt
from formulations.errata.samples import noisy_sine
from formulations.regression import Ridge
from kopt import Claim, Reference, WrongStatement, equal


class SignOfTheRidgeWeights(WrongStatement):
    """The sum was brought to the other side without its sign; the conclusion drawn from it, w = sum, is right."""

    reference = Reference("6.867 lectures 7-8", "Section 6.3, before (17)")
    printed = "lambda w = -lambda sum_i alpha_i phi(x_i)"
    correct = "lambda w = lambda sum_i alpha_i phi(x_i)"

    def claims(self) -> tuple[Claim, Claim]:
        """For alpha a positive multiple of the residuals, as (17) has it: the values of both sides on the sample."""
        sample, ridge = noisy_sine(), 0.5
        w = kopt.solve(Ridge(ridge=ridge), sample).primal.w
        alpha = (sample.y - w.values) / ridge
        sums, scale = sample.gram().dense @ alpha, float(np.linalg.norm(w.values))
        return (
            equal("||w + sum alpha phi|| = 0 on the sample", np.linalg.norm(w.values + sums), 0.0, scale),
            equal("||w - sum alpha phi|| = 0 on the sample", np.linalg.norm(w.values - sums), 0.0, scale),
        )
