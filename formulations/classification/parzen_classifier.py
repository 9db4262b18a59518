"""The Parzen classifier: the nearer of two means."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from formulations.classification.means import cancelled_square, mean_weights
from kopt import Claim, Formulation, Point, Program, Reference, Task, View, equal


class ParzenClassifier(Formulation):
    r"""Classification by the nearer mean: w is the difference of the two means in feature space.

    Primal   min   1/2 <w, w> - sum_i d_i f_i
             s.t.  f_i = <w, phi(x_i)> - b                                      : alpha_i
                   sum_(i: y_i = 1) d_i f_i = sum_(i: y_i = -1) d_i f_i         : beta
    Dual     max   -1/2 sum_ij alpha_i alpha_j k(x_i, x_j)
             s.t.  alpha_i = d_i                                                : f_i
                   sum_i alpha_i = 0                                            : b

    d_i = 1/l+ for the l+ positive and -1/l- for the l- negative points, so that sum_i d_i phi(x_i) = mu_+ - mu_-. The
    constraint that puts the offset b midway between the projected means costs nothing: its multiplier is beta = 0.
    At the optimum w = mu_+ - mu_-, and the decision f = <w, phi(x)> - b is half the difference of the squared
    distances from mu_- and from mu_+.

    >>> import kopt
    >>> solution = kopt.solve(ParzenClassifier(), kopt.Sample([[0.0], [1.0], [2.0], [5.0]], [-1, -1, -1, 1]))
    >>> round(float(solution.primal.w.norm), 6), solution.predict([[2.9], [3.1]]).tolist()
    (4.0, [-1, 1])
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 5.6")
    task = Task.CLASSIFICATION

    def primal(self, s: View) -> Program:
        """The decisions are variables, so that their definition carries the multipliers."""
        w, b, f = s.weight("w"), cp.Variable(name="b"), cp.Variable(s.n, name="f")
        d = s.named("d", s.y * mean_weights(s.y))
        return Program(
            cp.Minimize(0.5 * w.norm_squared - d @ f),
            {
                "alpha": f == w.values - b,
                "beta": (d * (s.y > 0)) @ f == (d * (s.y < 0)) @ f,
            },
        )

    def dual(self, s: View) -> Program:
        """A single feasible point."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(alpha)
        return Program(
            cp.Maximize(-0.5 * w.norm_squared),
            {
                "f": alpha == s.y * mean_weights(s.y),
                "b": cp.sum(alpha) == 0,
            },
            multipliers={"beta": 0.0},
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i alpha_i phi(x_i), and b midway between the means of its values."""
        w = s.combination(dual.alpha)
        b = 0.5 * mean_weights(s.y) @ w.values
        return {"w": w, "b": b, "f": w.values - b}

    def decision(self, s: Any, primal: Point) -> np.ndarray:
        """<w, phi(x)> - b, positive where the positive mean is the nearer one."""
        return np.asarray(primal.w.values - primal.b)

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """The weight vector, the value and the offset from the two means, and the nearer mean at every point."""
        t = mean_weights(s.y)
        plus, minus = s.combination(t * (s.y > 0)), s.combination(t * (s.y < 0))
        difference, least = plus - minus, cancelled_square(s, t)
        square = max(difference.norm_squared, least)
        apart = (primal.w - difference).norm
        yield equal("||w - (mu_+ - mu_-)|| = 0", apart, 0.0, scale=float(np.sqrt(square)))
        value = 0.5 * primal.w.norm_squared - (s.y * t) @ primal.f
        yield equal("value = -1/2 ||mu_+ - mu_-||^2", value, -0.5 * difference.norm_squared, scale=square)
        squares = plus.norm_squared, minus.norm_squared
        b = (squares[0] - squares[1]) / 2
        yield equal("b = 1/2 (||mu_+||^2 - ||mu_-||^2)", primal.b, b, scale=max(*squares, least))
        nearer = [s.diagonal() - 2 * mean.values + mean.norm_squared for mean in (plus, minus)]
        wrong = np.max(np.abs(primal.f - (nearer[1] - nearer[0]) / 2))
        scale = max(float(np.max(nearer)), least)
        yield equal("f = 1/2 (||phi - mu_-||^2 - ||phi - mu_+||^2): largest difference = 0", wrong, 0.0, scale)
