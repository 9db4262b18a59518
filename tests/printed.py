"""Claims that are wrong as the texts print them, each beside its corrected form as a control.

All come from Shawe-Taylor and Cristianini. A corrected machine declares primal, dual and recovery; the printed one
inherits what is right and declares what is printed. Machines that ship with the library are their own controls.
"""

from collections.abc import Callable, Iterator

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from formulations.classification import UnitNuSoftMargin, UnitSoftMargin
from formulations.novelty import SoftHypersphere
from kopt import (
    Formulation,
    Point,
    Program,
    Reference,
    Sample,
    Task,
    View,
    fraction,
    minimise_hinges,
    nonnegative,
    positive,
)
from kopt.kernels import Gaussian, Linear, Polynomial

BOOK = "Shawe-Taylor and Cristianini"
# None of them has a constant diagonal.
KERNELS = (0.3 * Linear() + Gaussian(sigma=0.9), Polynomial(degree=2, R=0.7), Linear())


class QuadraticInsensitive(Formulation):
    r"""Regression with the squares of the deviations beyond epsilon, corrected.

    Primal   min   <w, w> + C sum_i (xi_i^2 + xi_hat_i^2)
             s.t.  <w, phi(x_i)> + b - y_i <= epsilon + xi_i                    : alpha_i
                   y_i - <w, phi(x_i)> - b <= epsilon + xi_hat_i                : alpha_hat_i
    Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                   - 1/4 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
                   - 1/(4 C) sum_i (alpha_i^2 + alpha_hat_i^2)
             s.t.  sum_i (alpha_hat_i - alpha_i) = 0                            : b
                   alpha_i, alpha_hat_i >= 0
    """

    reference = Reference(BOOK, "Computation 7.43, (7.22)")
    task = Task.REGRESSION

    C: float = positive(default=1.0)
    epsilon: float = nonnegative(default=0.1)

    def primal(self, s: View) -> Program:
        w, b = s.weight("w"), cp.Variable(name="b")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        return Program(
            cp.Minimize(w.norm_squared + self.C * (cp.sum(cp.square(xi)) + cp.sum(cp.square(xi_hat)))),
            {
                "alpha": w.values + b - s.y <= self.epsilon + xi,
                "alpha_hat": s.y - w.values - b <= self.epsilon + xi_hat,
            },
        )

    def dual(self, s: View) -> Program:
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        squares = cp.sum(cp.square(alpha)) + cp.sum(cp.square(alpha_hat))
        return self._with_quadratic_part(s, alpha, alpha_hat, 0.25, squares / (4 * self.C))

    def _with_quadratic_part(
        self, s: View, alpha: cp.Variable, alpha_hat: cp.Variable, factor: float, squares: cp.Expression
    ) -> Program:
        w = s.combination(alpha_hat - alpha)
        linear = s.y @ (alpha_hat - alpha) - self.epsilon * cp.sum(alpha_hat + alpha)
        return Program(
            cp.Maximize(linear - factor * w.norm_squared - squares),
            {"b": cp.sum(alpha_hat - alpha) == 0},
            domain=[alpha >= 0, alpha_hat >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return self._completed(s, (dual.alpha_hat - dual.alpha) / 2)

    def _completed(self, s: View, beta: np.ndarray) -> dict[str, object]:
        w = s.combination(beta)
        errors = s.y - w.values
        ends = {"rising": (1.0, errors + self.epsilon), "falling": (1.0, errors - self.epsilon)}
        b = minimise_hinges(0.0, **ends, power=2).chosen
        excess = errors - b
        return {
            "w": w,
            "b": b,
            "xi": np.maximum(0.0, -excess - self.epsilon),
            "xi_hat": np.maximum(0.0, excess - self.epsilon),
        }


class PrintedQuadraticInsensitive(QuadraticInsensitive):
    r"""The dual printed for (7.22), where alpha_i alpha_hat_i = 0: it has half the value, at half the multipliers.

    Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                   - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
                   - 1/(2 C) sum_i (alpha_i^2 + alpha_hat_i^2)

    The text writes the last line as - 1/(2 C) sum_i (alpha_hat_i - alpha_i)^2, "taking into account that
    alpha_i alpha_hat_i = 0", which makes the two equal. The recovery of Code Fragment 7.9 is right.
    """

    reference = Reference(BOOK, "Computation 7.43, the dual after (7.22)")

    def dual(self, s: View) -> Program:
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        squares = cp.sum(cp.square(alpha)) + cp.sum(cp.square(alpha_hat))
        return self._with_quadratic_part(s, alpha, alpha_hat, 0.5, squares / (2 * self.C))

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return self._completed(s, dual.alpha_hat - dual.alpha)


class LiterallyPrintedQuadraticInsensitive(PrintedQuadraticInsensitive):
    r"""The same to the letter: with - 1/(2 C) sum_i (alpha_hat_i - alpha_i)^2 for all alpha, alpha_hat >= 0.

    The relation alpha_i alpha_hat_i = 0 holds at the optimum only. Off it this exceeds half the dual function by
    1/C sum_i alpha_i alpha_hat_i; the optimum, and the factor 2, are the same.
    """

    def dual(self, s: View) -> Program:
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        squares = cp.sum(cp.square(alpha_hat - alpha))
        return self._with_quadratic_part(s, alpha, alpha_hat, 0.5, squares / (2 * self.C))


class NuRanking(Formulation):
    r"""Ranks y_i in 1..k from thresholds b_1..b_(k-1), with a weight vector of length 1, corrected.

    Primal   min   -gamma + 1/(nu l) sum_i (xi_u_i + xi_l_i)
             s.t.  <w, phi(x_i)> <= b_(y_i) - gamma + xi_l_i        (y_i != k)  : alpha_l_i
                   <w, phi(x_i)> >= b_(y_i - 1) + gamma - xi_u_i    (y_i != 1)  : alpha_u_i
                   xi_l_i >= 0                                                  : mu_l_i
                   xi_u_i >= 0                                                  : mu_u_i
                   <w, w> <= 1                                                  : lambda
    Dual     max   -( sum_ij (alpha_u_i - alpha_l_i) (alpha_u_j - alpha_l_j) k(x_i, x_j) )^(1/2)
             s.t.  sum_(i: y_i = y) alpha_u_i = sum_(i: y_i = y - 1) alpha_l_i,  y = 2..k   : b
                   sum_i (alpha_u_i + alpha_l_i) = 1                            : gamma
                   alpha_u_i <= 1/(nu l)                                        : xi_u_i
                   alpha_l_i <= 1/(nu l)                                        : xi_l_i
                   alpha_u_i, alpha_l_i >= 0

    Points of the highest rank have no alpha_l, points of the lowest no alpha_u.
    """

    reference = Reference(BOOK, "Computation 8.8, (8.4), Algorithm 8.9")
    task = Task.OTHER

    nu: float = fraction(default=0.5)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        sizes = ((3, 2, 2), (2, 4, 3), (2, 3, 4, 2))
        while True:
            for ranks, kernel in zip(sizes, KERNELS, strict=True):
                y = np.repeat(np.arange(1, len(ranks) + 1), ranks)
                X = rng.normal(loc=(0.5, -0.3, 0.2), size=(len(y), 3)) + 1.2 * y[:, None]
                yield cls(nu=rng.uniform(0.4, 0.54)), Sample(X, y, kernel=kernel)

    def primal(self, s: View) -> Program:
        lower, upper = _sides(s)
        w, gamma = s.weight("w"), cp.Variable(name="gamma")
        b = cp.Variable(int(s.y.max()) - 1, name="b")
        xi_l, xi_u = cp.Variable(len(lower), name="xi_l"), cp.Variable(len(upper), name="xi_u")
        above, below = s.y[lower].astype(int) - 1, s.y[upper].astype(int) - 2
        return Program(
            cp.Minimize(-gamma + (cp.sum(xi_u) + cp.sum(xi_l)) / (self.nu * s.n)),
            {
                "alpha_l": w.values[lower] <= b[above] - gamma + xi_l,
                "alpha_u": w.values[upper] >= b[below] + gamma - xi_u,
                "mu_l": xi_l >= 0,
                "mu_u": xi_u >= 0,
                "lambda": w.norm_squared <= 1,
            },
        )

    def dual(self, s: View) -> Program:
        y, k = s.y, int(s.y.max())
        lower, upper = _sides(s)
        alpha_l, alpha_u = cp.Variable(len(lower), name="alpha_l"), cp.Variable(len(upper), name="alpha_u")
        below, above = np.arange(1, k), np.arange(2, k + 1)
        balance = _totals(y[upper], above) @ alpha_u == _totals(y[lower], below) @ alpha_l
        return self._with_balance(s, alpha_l, alpha_u, balance)

    def _with_balance(self, s: View, alpha_l: cp.Variable, alpha_u: cp.Variable, balance: cp.Constraint) -> Program:
        lower, upper = _sides(s)
        u = s.combination(_scattered(s.n, upper) @ alpha_u - _scattered(s.n, lower) @ alpha_l)
        C = 1 / (self.nu * s.n)
        return Program(
            cp.Maximize(-u.norm),
            {
                "b": balance,
                "gamma": cp.sum(alpha_u) + cp.sum(alpha_l) == 1,
                "xi_u": alpha_u <= C,
                "xi_l": alpha_l <= C,
            },
            domain=[alpha_u >= 0, alpha_l >= 0],
            multipliers={"mu_u": C - alpha_u, "mu_l": C - alpha_l, "lambda": 0.5 * u.norm},
        )


class PrintedNuRanking(NuRanking):
    r"""The balance of the thresholds as printed after (8.4) and in Code Fragment 8.1, with u and l exchanged.

    Dual     s.t.  sum_(i: y_i = y) alpha_l_i = sum_(i: y_i = y - 1) alpha_u_i,  y = 2..k   : b
    """

    reference = Reference(BOOK, "the relations after (8.4), Code Fragment 8.1")

    def dual(self, s: View) -> Program:
        y, k = s.y, int(s.y.max())
        lower, upper = _sides(s)
        alpha_l, alpha_u = cp.Variable(len(lower), name="alpha_l"), cp.Variable(len(upper), name="alpha_u")
        below, above = np.arange(1, k), np.arange(2, k + 1)
        balance = _totals(y[lower], above) @ alpha_l == _totals(y[upper], below) @ alpha_u
        return self._with_balance(s, alpha_l, alpha_u, balance)


class PrintedSoftHypersphere(SoftHypersphere):
    r"""The soft hypersphere with its printed dual, for every C > 0.

    Dual     max   sum_i alpha_i k(x_i, x_i) - sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  sum_i alpha_i = 1                                            : R
                   alpha_i <= C                                                 : xi_i
                   alpha_i >= 0

    No alpha satisfies this if C < 1/l, where the primal (in r, so that R = r^2 >= 0) has an optimum. For C >= 1/l
    the constraint loses nothing.
    """

    reference = Reference(BOOK, "Computation 7.7, Code Fragment 7.2")

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        while True:
            for n, kernel, low, high in ((5, 0, 0.3, 0.8), (7, 1, 1.5, 3.0), (9, 2, 0.3, 0.8), (7, 0, 1.5, 3.0)):
                X = rng.normal(loc=(0.5, -0.3, 0.2), size=(n, 3))
                yield cls(C=rng.uniform(low, high) / n), Sample(X, kernel=KERNELS[kernel])

    def dual(self, s: View) -> Program:
        alpha = cp.Variable(s.n, name="alpha")
        c = s.combination(alpha)
        return Program(
            cp.Maximize(s.diagonal() @ alpha - c.norm_squared),
            {
                "R": cp.sum(alpha) == 1,
                "xi": alpha <= self.C * s.costs,
            },
            domain=[alpha >= 0],
            multipliers={"mu": self.C * s.costs - alpha, "rho": 1 - cp.sum(alpha)},
        )


class NuRegression(Formulation):
    r"""Regression in which the tube adapts to the fraction nu of points outside it, corrected.

    Primal   min   1/2 <w, w> + C (nu epsilon + 1/l sum_i (xi_i + xi_hat_i))
             s.t.  <w, phi(x_i)> + b - y_i <= epsilon + xi_i                    : alpha_i
                   y_i - <w, phi(x_i)> - b <= epsilon + xi_hat_i                : alpha_hat_i
                   xi_i >= 0                                                    : mu_i
                   xi_hat_i >= 0                                                : mu_hat_i
                   epsilon >= 0                                                 : delta
    Dual     max   sum_i y_i (alpha_hat_i - alpha_i)
                   - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
             s.t.  sum_i (alpha_hat_i - alpha_i) = 0                            : b
                   sum_i (alpha_hat_i + alpha_i) <= C nu                        : epsilon
                   alpha_i <= C/l                                               : xi_i
                   alpha_hat_i <= C/l                                           : xi_hat_i
                   alpha_i, alpha_hat_i >= 0

    The text leaves epsilon >= 0 unsaid, and writes alpha_i for alpha_hat_i - alpha_i, |alpha_i| for the sum.
    """

    reference = Reference(BOOK, "Computation 7.50, (7.24), Algorithm 7.51")
    task = Task.REGRESSION

    C: float = positive(default=1.0)
    nu: float = fraction(default=0.5)

    def primal(self, s: View) -> Program:
        w, b, epsilon = s.weight("w"), cp.Variable(name="b"), cp.Variable(name="epsilon")
        xi, xi_hat = cp.Variable(s.n, name="xi"), cp.Variable(s.n, name="xi_hat")
        return Program(
            cp.Minimize(0.5 * w.norm_squared + self.C * (self.nu * epsilon + cp.sum(xi + xi_hat) / s.n)),
            {
                "alpha": w.values + b - s.y <= epsilon + xi,
                "alpha_hat": s.y - w.values - b <= epsilon + xi_hat,
                "mu": xi >= 0,
                "mu_hat": xi_hat >= 0,
                "delta": epsilon >= 0,
            },
        )

    def dual(self, s: View) -> Program:
        return self._with_leftover(s, 0.0)

    def _with_leftover(self, s: View, leftover: float) -> Program:
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        w = s.combination(alpha_hat - alpha)
        objective = s.y @ (alpha_hat - alpha) - 0.5 * w.norm_squared
        if leftover:
            objective = objective - leftover * cp.sum(alpha_hat + alpha)
        C, total = self.C / s.n, cp.sum(alpha_hat + alpha)
        return Program(
            cp.Maximize(objective),
            {
                "b": cp.sum(alpha_hat - alpha) == 0,
                "epsilon": total <= self.C * self.nu,
                "xi": alpha <= C,
                "xi_hat": alpha_hat <= C,
            },
            domain=[alpha >= 0, alpha_hat >= 0],
            multipliers={"mu": C - alpha, "mu_hat": C - alpha_hat, "delta": self.C * self.nu - total},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        w = s.combination(dual.alpha_hat - dual.alpha)
        errors = s.y - w.values
        # In b + epsilon and b - epsilon the problem falls apart.
        top = minimise_hinges(self.nu / 2, falling=(1 / s.n, errors)).chosen
        bottom = -minimise_hinges(self.nu / 2, falling=(1 / s.n, -errors)).chosen
        epsilon, b = (top - bottom) / 2, (top + bottom) / 2
        return {
            "w": w,
            "b": b,
            "epsilon": epsilon,
            "xi": np.maximum(0.0, b - errors - epsilon),
            "xi_hat": np.maximum(0.0, errors - b - epsilon),
        }


class PrintedNuRegression(NuRegression):
    r"""The objective of Code Fragment 7.11, with a term that is left over from regression with a given epsilon.

    Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                   - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)

    epsilon is a variable of the primal and no input of the algorithm; here it stands for any positive number.
    """

    reference = Reference(BOOK, "Code Fragment 7.11")

    epsilon: float = positive(default=0.1)

    def dual(self, s: View) -> Program:
        return self._with_leftover(s, self.epsilon)


class FreePointSoftMargin(UnitSoftMargin):
    r"""Offset and margin of `UnitSoftMargin` from two free support vectors, y_i = -1 and y_j = 1: (7.15), (7.16).

    With 2 lambda w = sum_k y_k alpha_k phi(x_k):  b = -1/2 (<w, phi(x_i)> + <w, phi(x_j)>),
    gamma = <w, phi(x_j)> + b. Where a class has no free support vector the rule says nothing.
    """

    reference = Reference(BOOK, "(7.15), (7.16)")

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return _from_free_points(s, dual.alpha, self.C * s.costs, _by_hand) or super().recover(s, dual)


class PrintedSoftMargin(UnitSoftMargin):
    r"""Offset and margin as printed in lines 6 and 7 of Code Fragment 7.6.

    b = -lambda (s_i + s_j) and gamma = 2 lambda s_j + b, with s_i = sum_k y_k alpha_k k(x_k, x_i): the s_i are not
    divided by 2 lambda but multiplied by it. The weight vector is the right one, of length 1.
    """

    reference = Reference(BOOK, "Code Fragment 7.6")

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return _from_free_points(s, dual.alpha, self.C * s.costs, _as_printed) or super().recover(s, dual)


class FreePointNuSoftMargin(UnitNuSoftMargin):
    """The same rule as `FreePointSoftMargin` for `UnitNuSoftMargin`."""

    reference = Reference(BOOK, "(7.15), (7.16), with C = 1/(nu l)")

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return _from_free_points(s, dual.alpha, self.bound(s), _by_hand) or super().recover(s, dual)


class PrintedNuSoftMargin(UnitNuSoftMargin):
    """Offset and margin as printed in lines 6 and 7 of Code Fragment 7.7, the same as in 7.6."""

    reference = Reference(BOOK, "Code Fragment 7.7")

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return _from_free_points(s, dual.alpha, self.bound(s), _as_printed) or super().recover(s, dual)


class FisherDiscriminant(Formulation):
    r"""Regularised Fisher discriminant: distance of the projected means against the projected variances, corrected.

    Primal   min   1/2 sum_i D_i xi_i^2 + ridge/2 <w, w> - 2 l+ l- / l (mu+ - mu-)
             s.t.  <w, phi(x_i)> - m_(y_i) = xi_i                               : eta_i
    Dual     max   -1/2 sum_i eta_i^2 / D_i - 1/(2 ridge) sum_ij (D_i y_i - eta_i) (D_j y_j - eta_j) k(x_i, x_j)
             s.t.  sum_(i: y_i = 1) eta_i = sum_(i: y_i = -1) eta_i = 0         : m

    mu+ and mu- are the means of <w, phi(x_i)> over the l+ positive and the l- negative points, so that the last term
    of the primal is sum_i D_i y_i <w, phi(x_i)>; D_i = 2 l-/l for the positive and 2 l+/l for the negative points,
    (5.13). At the optimum m holds the two means, the first sum is l+ l- / l times the sum of the variances, and w
    maximises (5.11) with lambda = ridge l / (2 l+ l-). With alpha = (D y - eta) / ridge the optimality of the dual
    reads (B K + ridge I) alpha = D y, B from (5.12).
    """

    reference = Reference(BOOK, "Computation 5.14, (5.11)")
    task = Task.CLASSIFICATION

    ridge: float = positive(default=1.0)

    def primal(self, s: View) -> Program:
        w, m, xi = s.weight("w"), cp.Variable(2, name="m"), cp.Variable(s.n, name="xi")
        D, minus = _other_class(s.y), (s.y < 0).astype(int)
        return Program(
            cp.Minimize(0.5 * D @ cp.square(xi) + 0.5 * self.ridge * w.norm_squared - (D * s.y) @ w.values),
            {"eta": w.values - m[minus] == xi},
        )

    def dual(self, s: View) -> Program:
        return self._with_right_hand_side(s, _other_class(s.y) * s.y)

    def _with_right_hand_side(self, s: View, target: np.ndarray) -> Program:
        eta = cp.Variable(s.n, name="eta")
        u = s.combination(target - eta)
        return Program(
            cp.Maximize(-0.5 * (1 / _other_class(s.y)) @ cp.square(eta) - 0.5 / self.ridge * u.norm_squared),
            {"m": _totals(s.y, np.array([1, -1])) @ eta == 0},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return self._completed(s, _other_class(s.y) * s.y - dual.eta)

    def _completed(self, s: View, coefficients: np.ndarray) -> dict[str, object]:
        w = s.combination(coefficients) / self.ridge
        m = np.array([w.values[s.y > 0].mean(), w.values[s.y < 0].mean()])
        return {"w": w, "m": m, "xi": w.values - m[(s.y < 0).astype(int)]}


class PrintedFisherDiscriminant(FisherDiscriminant):
    r"""The solution (B K + ridge I) alpha = y of Computation 5.15, whose right-hand side should be D y.

    Dual     max   -1/2 sum_i eta_i^2 / D_i - 1/(2 ridge) sum_ij (y_i - eta_i) (y_j - eta_j) k(x_i, x_j)

    The text gives no dual program: this is the one whose optimality condition is the printed system, for
    ridge alpha = y - eta, and w = sum_i alpha_i phi(x_i) as printed. The mistake is in (5.16), which puts the mean of
    y_i <w, phi(x_i)> for the difference of the means; that is right for classes of equal size, D = I.
    """

    reference = Reference(BOOK, "Computation 5.15, (5.16)-(5.18)")

    def dual(self, s: View) -> Program:
        return self._with_right_hand_side(s, s.y)

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return self._completed(s, s.y - dual.eta)


class PrintedFisherSolution(FisherDiscriminant):
    r"""The same mistake where the text prints it, in the solution: (5.18), with eta = B X w from the right dual.

    ridge w = sum_i (y_i - eta_i) phi(x_i), which should be sum_i (D_i y_i - eta_i) phi(x_i).
    """

    reference = Reference(BOOK, "(5.18)")

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        return self._completed(s, s.y - dual.eta)


def _sides(s: View) -> tuple[np.ndarray, np.ndarray]:
    """The points with a threshold above them, and those with one below."""
    return np.flatnonzero(s.y < s.y.max()), np.flatnonzero(s.y > 1)


def _totals(labels: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The matrix that sums over the points of each of the wanted labels."""
    return (wanted[:, None] == labels).astype(float)


def _scattered(n: int, rows: np.ndarray) -> sp.csr_matrix:
    """The matrix that puts numbers at these rows of a vector of length n."""
    return sp.csr_matrix((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(n, len(rows)))


def _other_class(y: np.ndarray) -> np.ndarray:
    """Twice the fraction of the other class, (5.13)."""
    return 2 * np.where(y > 0, np.mean(y < 0), np.mean(y > 0))


def _by_hand(lambda_: float, s_i: float, s_j: float) -> tuple[float, float]:
    """b and gamma by (7.15) and (7.16), where <w, phi(x_i)> = s_i / (2 lambda)."""
    b = -0.5 * (s_i + s_j) / (2 * lambda_)
    return b, s_j / (2 * lambda_) + b


def _as_printed(lambda_: float, s_i: float, s_j: float) -> tuple[float, float]:
    """b and gamma by lines 6 and 7 of Code Fragments 7.6 and 7.7."""
    b = -lambda_ * (s_i + s_j)
    return b, 2 * lambda_ * s_j + b


def _from_free_points(
    s: View, alpha: np.ndarray, bound: np.ndarray, rule: Callable[[float, float, float], tuple[float, float]]
) -> dict[str, object] | None:
    """The unit vector w, and b and gamma by a rule; None where w = 0 or a class has no free support vector."""
    u = s.combination(s.y * alpha)
    freedom = np.minimum(alpha, bound - alpha)
    i, j = (max(np.flatnonzero(s.y == sign), key=lambda k: freedom[k]) for sign in (-1, 1))
    if min(freedom[i], freedom[j]) < 1e-4 * alpha.max() or u.norm < 1e-4 * np.sqrt(s.diagonal().max()):
        return None
    w = u.direction()
    b, gamma = rule(u.norm / 2, u.values[i], u.values[j])
    return {"w": w, "b": b, "gamma": gamma, "xi": np.maximum(0.0, gamma - s.y * (w.values + b))}
