"""Regression inside a tube that no point may leave."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.regression.fits import shortest_fit
from formulations.regression.tubes import objective_size, tube_claims
from kopt import Claim, Combination, Formulation, Point, Program, Reference, Sample, Task, View, equal, nonnegative
from kopt.kernels import Gaussian, Linear, Polynomial

# Each projection onto the tube and back onto the values of a vector takes a fixed part off the violation.
PROJECTIONS = 200


class HardTube(Formulation):
    r"""The shortest weight vector whose values are within epsilon of every target, without offset.

    Primal   min   1/2 <w, w>
             s.t.  <w, phi(x_i)> - y_i <= epsilon                               : alpha_i
                   y_i - <w, phi(x_i)> <= epsilon                               : alpha_hat_i
    Dual     max   sum_i y_i (alpha_hat_i - alpha_i) - epsilon sum_i (alpha_hat_i + alpha_i)
                   - 1/2 sum_ij (alpha_hat_i - alpha_i) (alpha_hat_j - alpha_j) k(x_i, x_j)
             s.t.  alpha_i, alpha_hat_i >= 0

    It is what the on-line algorithm of the text finds as printed: without a bound on its steps there are no slacks.

    >>> import kopt
    >>> solution = kopt.solve(HardTube(epsilon=0.5), kopt.Sample([[1.0], [2.0]], [1.0, 3.0]))
    >>> round(float(solution.primal.w.norm), 6)
    1.25
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Algorithm 7.61")
    task = Task.REGRESSION

    epsilon: float = nonnegative(default=0.1)

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Targets that a function of the kernel comes nearer to than epsilon, but not the function 0."""
        kernels = (0.3 * Linear() + Gaussian(sigma=0.9), Linear(), Polynomial(degree=2, R=0.7), Gaussian(sigma=0.7))
        while True:
            for k in rng.permutation(len(kernels)):
                n, kernel = int(rng.integers(5, 12)), kernels[k]
                X = np.round(rng.normal(loc=(0.5, -0.3, 0.2), scale=1.2, size=(n, 3)), 1)
                epsilon = float(np.round(rng.uniform(0.05, 0.3), 2))
                values = kernel(X, rng.normal(size=(2, 3))) @ rng.uniform(0.8, 1.7, 2)
                y = values + 0.9 * epsilon * rng.uniform(-1, 1, n)
                yield cls(epsilon=epsilon), Sample(X, y, kernel=kernel)

    def primal(self, s: View) -> Program:
        """The norm is minimised over all vectors whose tube holds every point."""
        w = s.weight("w")
        return Program(
            cp.Minimize(0.5 * w.norm_squared),
            {
                "alpha": w.values - s.y <= self.epsilon,
                "alpha_hat": s.y - w.values <= self.epsilon,
            },
        )

    def dual(self, s: View) -> Program:
        """A quadratic program over the non-negative orthant."""
        alpha, alpha_hat = cp.Variable(s.n, name="alpha"), cp.Variable(s.n, name="alpha_hat")
        w = s.combination(alpha_hat - alpha)
        return Program(
            cp.Maximize(s.y @ (alpha_hat - alpha) - self.epsilon * cp.sum(alpha_hat + alpha) - 0.5 * w.norm_squared),
            domain=[alpha >= 0, alpha_hat >= 0],
        )

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i (alpha_hat_i - alpha_i) phi(x_i), moved into the tube by as many shortest vectors as it takes.

        Where the points are dependent that may be many; what is then left outside the tube, the certificate shows.
        """
        w = s.combination(dual.alpha_hat - dual.alpha)
        for _ in range(PROJECTIONS):
            outside = self._outside(s, w)
            if not outside.any():
                break
            w = w + shortest_fit(s, outside)
        return {"w": w}

    def _outside(self, s: View, w: Combination) -> np.ndarray:
        """By how much the values have to rise to lie in the tube; 0 where that is rounding."""
        errors = s.y - w.values
        missing = errors - np.clip(errors, -self.epsilon, self.epsilon)
        return np.asarray(np.where(np.abs(missing) <= 1e-12 * (np.abs(s.y) + self.epsilon), 0.0, missing))

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """What the multipliers add up to, and where the errors lie."""
        beta = dual.alpha_hat - dual.alpha
        earned = s.y @ beta - self.epsilon * np.sum(dual.alpha_hat + dual.alpha)
        size = objective_size(s, beta)
        yield equal("y' beta - epsilon |beta| = ||w||^2", earned, primal.w.norm_squared, scale=size)
        yield from tube_claims(s, primal, dual, self.epsilon, np.inf, size)

    def explain_infeasible(self, s: View, ray: Point) -> tuple[str, str]:
        """The ray is a combination of the points that vanishes, while that of their tubes stays away from 0."""
        beta = ray.alpha_hat - ray.alpha
        beta = beta / np.sum(np.abs(beta))
        used = np.flatnonzero(np.abs(beta) > 1e-9)
        shown = " ".join(f"{beta[i]:+.3g} x_{i}" for i in used[:6]) + (" + ..." if len(used) > 6 else "")
        return (
            f"No function of this kernel stays within epsilon = {self.epsilon:g} of the targets: the points combined "
            f"as {shown} give 0 in feature space (length {s.combination(beta).norm:.1e}), but the targets combined in "
            f"the same way give {beta @ s.y:.3g}, more than the tube allows.",
            f"Choose epsilon >= {beta @ s.y:.6g} at least, allow slacks as EpsilonInsensitiveWithoutOffset does, or "
            "use a kernel with a richer feature space.",
        )
