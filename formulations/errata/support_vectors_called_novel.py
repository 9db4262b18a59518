"""The threshold function of the novelty detectors."""

import numpy as np

import kopt
from formulations.novelty import Hypersphere
from formulations.novelty.spheres import squared_distances
from kopt import Claim, Reference, WrongStatement, equal
from kopt.kernels import Gaussian
from kopt.views import ProductView

ROUNDING = 1e-6


class SupportVectorsCalledNovel(WrongStatement):
    """With H(0) = 1 every support vector of the smallest hypersphere is called novel, for it lies on the surface.

    The text says that f is 1 outside the sphere, and the sphere contains the whole training set. Chapter 4 defines
    the same function with H(0) = 0.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.2, Code Fragment 7.1")
    printed = "H(x) = 1 if x >= 0"
    correct = "H(x) = 1 if x > 0"

    def claims(self) -> tuple[Claim, Claim]:
        """How many training points are called novel; the argument of H at a support vector is 0 up to rounding."""
        sample = kopt.Sample(np.random.default_rng(0).normal(size=(20, 2)), kernel=Gaussian(sigma=1.5))
        sphere = kopt.solve(Hypersphere(), sample).primal
        argument = squared_distances(ProductView(sample), sphere.c) - sphere.R
        return (
            equal("training points with H = 1", np.sum(argument >= -ROUNDING), 0, scale=sample.n),
            equal("training points with H = 1", np.sum(argument > ROUNDING), 0, scale=sample.n),
        )
