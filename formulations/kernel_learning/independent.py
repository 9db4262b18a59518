"""Weights of kernels by their own alignments, one kernel at a time."""

import numpy as np

from formulations.kernel_learning.span import Span, check_target
from kopt import Sample


def independent_weights(sample: Sample) -> np.ndarray:
    """mu_k = <H K_k H, yy'> / (||H K_k H|| ||H y||^2), the centred alignment of each kernel by itself.

    Cortes, Mohri and Rostamizadeh, JMLR 13 (2012), Section 4.1. Nothing is optimised: two copies of a kernel count
    twice, and a kernel in larger units counts for more in sum_k mu_k k_k, so that kernels are best brought to one
    scale before. `CentredAlignment` chooses the weights together. A kernel that is constant on the points has none.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> independent_weights(sample).round(4)
    array([0.9423, 0.9812])
    """
    check_target(sample.y, centred=True)
    return Span.centred(sample).alone
