"""The space that the points span, for machines in which nothing is paid for the length of the weight vector."""

import cvxpy as cp
import numpy as np

from kopt import View


def coordinates(s: View) -> np.ndarray:
    """The points in coordinates of the space that they span, one row each; one column of zeros where K = 0."""
    Phi = s.sample.gram().factor
    return Phi if Phi.shape[1] else np.zeros((s.n, 1))


def vanishing(s: View, c: cp.Expression) -> cp.Constraint:
    """sum_i c_i phi(x_i) = 0, in coordinates: c = 0 if the points are independent in feature space."""
    if s.sample.gram().factor.shape[1] == s.n:
        return c == 0
    return cp.Constant(coordinates(s).T, name="Phi'") @ c == 0
