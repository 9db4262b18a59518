"""Interpolation by the shortest weight vector."""

from collections.abc import Iterator

import cvxpy as cp
import numpy as np

from formulations.regression.fits import shortest_fit
from kopt import Claim, Formulation, Point, Program, Reference, Sample, Task, View, equal
from kopt.kernels import Gaussian, Linear, Polynomial


class MinimumNormInterpolation(Formulation):
    r"""The shortest weight vector that takes every target exactly, without offset.

    Primal   min   1/2 <w, w>
             s.t.  y_i - <w, phi(x_i)> = 0                                      : alpha_i
    Dual     max   sum_i alpha_i y_i - 1/2 sum_ij alpha_i alpha_j k(x_i, x_j)

    The dual is bounded only if y is in the range of K; then K alpha = y. It is ridge regression as the ridge goes
    to 0.

    >>> import kopt
    >>> solution = kopt.solve(MinimumNormInterpolation(), kopt.Sample([[3.0, 4.0]], [10.0]))
    >>> round(float(solution.primal.w.norm), 6)
    2.0
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Section 2.2.1, Remark 2.4")
    task = Task.REGRESSION

    @classmethod
    def instances(cls, rng: np.random.Generator) -> Iterator[tuple[Formulation, Sample]]:
        """Targets in the range of K."""
        kernels = (0.3 * Linear() + Gaussian(sigma=0.9), Linear(), Polynomial(degree=2, R=0.7), Gaussian(sigma=0.7))
        while True:
            for k in rng.permutation(len(kernels)):
                n, kernel = int(rng.integers(5, 12)), kernels[k]
                X = np.round(rng.normal(loc=(0.5, -0.3, 0.2), scale=1.2, size=(n, 3)), 1)
                centres = rng.normal(size=(2, 3))
                yield cls(), Sample(X, kernel(X, centres) @ rng.uniform(0.4, 1.7, 2), kernel=kernel)

    def primal(self, s: View) -> Program:
        """The norm is minimised over all vectors that interpolate."""
        w = s.weight("w")
        return Program(
            cp.Minimize(0.5 * w.norm_squared),
            {"alpha": s.y - w.values == 0},
        )

    def dual(self, s: View) -> Program:
        """Without constraints: its optimum is a linear system."""
        alpha = cp.Variable(s.n, name="alpha")
        w = s.combination(alpha)
        return Program(cp.Maximize(alpha @ s.y - 0.5 * w.norm_squared))

    def recover(self, s: View, dual: Point) -> dict[str, object]:
        """w = sum_i alpha_i phi(x_i), and the shortest vector that mends what it leaves of y."""
        w = s.combination(dual.alpha)
        return {"w": w + shortest_fit(s, s.y - w.values)}

    def claims(self, s: View, primal: Point, dual: Point) -> Iterator[Claim]:
        """alpha = K^+ y, and what it makes of the norm."""
        size = float(np.linalg.norm(s.y))
        left = np.linalg.norm(s.combination(dual.alpha).values - s.y)
        yield equal("||K alpha - y|| = 0", left, 0.0, scale=size)
        yield equal("||w||^2 = y' alpha", primal.w.norm_squared, s.y @ dual.alpha)
        yield equal("||w||^2 = y' K^+ y", primal.w.norm_squared, s.y @ shortest_fit(s, s.y).coefficients)

    def explain_infeasible(self, s: View, ray: Point) -> tuple[str, str]:
        """The ray is a combination of the points that vanishes, while that of their targets does not."""
        a = ray.alpha / np.max(np.abs(ray.alpha))
        used = np.flatnonzero(np.abs(a) > 1e-9)
        shown = " ".join(f"{a[i]:+.3g} x_{i}" for i in used[:6]) + (" + ..." if len(used) > 6 else "")
        return (
            f"No function of this kernel takes these targets: the points combined as {shown} give 0 in feature space "
            f"(length {s.combination(a).norm:.1e}), but the targets combined in the same way give {a @ s.y:.3g}.",
            "Allow residuals, as Ridge does, or use a kernel with a richer feature space.",
        )
