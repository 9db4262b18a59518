"""The largest alignment by its length, by a distance, and as a Schur complement."""

import numpy as np

from formulations.kernel_learning import Alignment, LeastSquaresAlignment, SchurAlignment, SemidefiniteAlignment
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.schur_alignment import completed
from formulations.kernel_learning.span import Span
from formulations.maps.sizes import divisor
from kopt import Equivalent, Solution, converts
from kopt.views import ProductView


@converts(Alignment, LeastSquaresAlignment, law="mu = A mu, for the alignment A")
def to_least_squares(solution: Solution) -> Equivalent:
    """The nearest combination is A times the one of length 1; the multipliers nu are the same."""
    span = Span.plain(solution.sample)
    mu = solution.primal.mu
    return Equivalent(LeastSquaresAlignment(), {"mu": float(span.a @ mu) * mu, "nu": solution.dual.nu})


@converts(LeastSquaresAlignment, Alignment, law="mu = mu / ||sum_k mu_k K_k||")
def to_alignment(solution: Solution) -> Equivalent:
    """The combination divided by its length, which is A; there is no direction where A = 0."""
    length = np.linalg.norm(Span.plain(solution.sample).F @ solution.primal.mu)
    A = divisor("The alignment", float(length), 1.0, solution)
    return Equivalent(Alignment(), {"mu": solution.primal.mu / A, "nu": solution.dual.nu})


@converts(SemidefiniteAlignment, SchurAlignment, law="A = K K")
def to_schur(solution: Solution) -> Equivalent:
    """The same weights and the same Z, with the best W for it."""
    view = ProductView(solution.sample)
    K = FreeWeights(view).mixture(solution.primal.mu)
    answer = {"mu": solution.primal.mu, "A": K @ K, **completed(view, solution.dual.Z)}
    return Equivalent(SchurAlignment(), answer)


@converts(SchurAlignment, SemidefiniteAlignment, law="the same mu and Z")
def to_direct(solution: Solution) -> Equivalent:
    """A and W are left out."""
    return Equivalent(SemidefiniteAlignment(), {"mu": solution.primal.mu, "Z": solution.dual.Z})
