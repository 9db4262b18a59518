"""Weights of centred kernels with the largest alignment with a centred target."""

import numpy as np

from formulations.kernel_learning.alignment import Alignment
from formulations.kernel_learning.span import Span, check_aligned, check_target
from kopt import Point, Reference, Sample, View
from kopt.kernels import Kernel


class CentredAlignment(Alignment):
    r"""Non-negative weights of given kernels whose combination has the largest centred alignment with the target.

    Primal   max   sum_k mu_k a_k
             s.t.  || sum_k mu_k H K_k H ||^2 <= 1                              : lambda
                   mu_k >= 0                                                    : nu_k
    Dual     min   ( (a + nu)' M^-1 (a + nu) )^(1/2)
             s.t.  nu_k >= 0

    H = I - jj' / l centres: M_kl = <H K_k H, H K_l H> and a_k = <H K_k H, yy'> / ||H y||^2. It is `Alignment` for the
    centred kernels and the target minus its mean; what is constant on the points, which an offset would take up, then
    counts for nothing. The learnt kernel is the combination of the centred kernels, bound to the training points, whose
    alignment is the optimum; a machine with an offset gives the same answers with the kernels as they are. On another
    sample it is centred anew, as every centred kernel is.

    >>> import kopt
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> solution = kopt.solve(CentredAlignment(), sample)
    >>> round(solution.value, 4), round(kopt.centred_alignment(solution.kernel(sample.X), sample.y), 4)
    (0.9812, 0.9812)
    """

    reference = Reference("Cortes, Mohri and Rostamizadeh, JMLR 13 (2012)", "Section 4.2, Proposition 9")

    def requires(self, s: Sample) -> None:
        """The target must not be constant, and some centred kernel has to have to do with it."""
        check_target(s.y, centred=True)
        check_aligned(Span.centred(s))

    def span(self, s: View | Sample) -> Span:
        """The kernels and the target, centred."""
        return Span.centred(s)

    def learnt_kernel(self, s: Sample, primal: Point) -> Kernel:
        """sum_k mu_k times the centred k_k."""
        return s.centred.combined(primal.mu)

    def alignment_target(self, s: Sample) -> np.ndarray:
        """The target minus its mean."""
        return np.asarray(s.centred.y)
