"""Ridge regression in the scaling of 6.867, (16): 1/l sum_i (y_i - <w, phi(x_i)>)^2 + lambda/2 <w, w>."""

from formulations.regression import Ridge
from kopt import Sample


def ridge_of_the_lectures(lambda_: float, s: Sample) -> Ridge:
    """The machine that has the minimiser of (16): ridge = l lambda / 2.

    l times (16) is sum_i xi_i^2 + l lambda/2 <w, w>. (The lectures print alpha = (K + l lambda I)^-1 y, which belongs
    to half the mean of the squares.)

    >>> ridge_of_the_lectures(0.5, Sample([[1.0], [2.0]], [1.0, 2.0]))
    Ridge(ridge=0.5)
    """
    return Ridge(ridge=s.n * lambda_ / 2)


def lambda_of_the_lectures(machine: Ridge, s: Sample) -> float:
    """The lambda with which (16) has the minimiser of this machine.

    >>> lambda_of_the_lectures(Ridge(ridge=0.5), Sample([[1.0], [2.0]], [1.0, 2.0]))
    0.5
    """
    return 2 * float(machine.ridge) / s.n
