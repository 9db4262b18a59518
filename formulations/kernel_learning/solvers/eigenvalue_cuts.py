"""Cutting planes for combinations of kernels that have to be positive semi-definite."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

from formulations.kernel_learning.cone import forms, raised, rounding_of
from formulations.kernel_learning.free_weights import FreeWeights
from formulations.kernel_learning.masters import Master
from formulations.kernel_learning.solvers.contracts import Cuttable, lacking
from kopt import View
from kopt.solvers import Problem, RawAnswer, Solver
from kopt.solvers.interior_point import CONVERGED
from kopt.solvers.solver import INTERRUPTED
from kopt.views import ProductView
from kopt.watch import Watch

# Eigenvectors that are cut off at a time, and the fraction of the smallest eigenvalue that is worth a cut.
AT_ONCE = 6
WORTH = 0.05
# From so many points on a few eigenvectors cost less than all of them.
LARGE = 60
# Eigenvalues in the subspace are cut off down to this part of the last that was negative in all of it, and directions
# nearer to it than this are in it.
LITTLE, NEW = 0.1, 1e-6
MOST_ROUNDS = 300
# So many rounds in a row without a smaller value are the end: the master problem is no more exact than that.
IDLE = 5
# The part of the tolerance at which it ends: the residuals of the weights exceed the gap, since what makes K
# semi-definite moves them far where K is nearly singular.
SHARPER = 1e-3
# Cuts that have had no multiplier in so many runs are left out.
FORGOTTEN = 3
# The master problems are solved to about this: no gap below it can be asked for.
EXACT = 1e-12


class EigenvalueCuts(Solver):
    r"""Semi-definite programs over a few weights mu, without a matrix variable.

    K = sum_k mu_k K_k is semi-definite if v'Kv >= 0 for every v. With some v the best mu is found among a few
    variables; an eigenvector of a negative eigenvalue of its K is one more v. The value falls from above, and what is
    added to K to make it semi-definite gives a value from below; Z = sum_j s_j v_j v_j', with the multipliers s of
    the cuts, is the multiplier of the matrix. Each round costs a decomposition of an n x n matrix.

    >>> import kopt
    >>> from formulations.kernel_learning import SemidefiniteAlignment
    >>> from kopt.kernels import Gaussian, Linear
    >>> kernels = {"linear": Linear(), "gaussian": Gaussian(sigma=1.0)}
    >>> sample = kopt.Sample([[-1.0], [0.5], [1.0]], [-1, 1, 1], kernel=kernels)
    >>> kopt.solve(SemidefiniteAlignment(), sample, method="EIGENVALUE_CUTS").certificate.holds(1e-6)
    True
    """

    name = "EIGENVALUE_CUTS"

    def place(self, problem: Problem) -> tuple[float, str]:
        """First: conic solvers carry n^2 variables along."""
        return -1.0, "a few eigenvectors say what a matrix inequality says"

    def accepts(self, problem: Problem) -> str | None:
        """Duals that state their problem over the weights alone."""
        if problem.side != "dual":
            return "it solves duals only"
        if not isinstance(problem.formulation, Cuttable):
            return lacking(problem.formulation, Cuttable)
        master = problem.formulation.master(ProductView(problem.sample))
        if isinstance(master, str):
            return master
        needed, budget = 8 * len(problem.sample.grams) * problem.sample.n**2, problem.sample.budget
        return f"the kernels take {needed:.3g} bytes, more than the budget of {budget:.3g}" if needed > budget else None

    def solve(self, problem: Problem) -> RawAnswer:
        """Cut until the two values agree."""
        s, formulation = ProductView(problem.sample), problem.formulation
        assert isinstance(formulation, Cuttable)
        master, cuts = formulation.master(s), Cuts(s)
        assert not isinstance(master, str)
        try:
            status = cuts.run(master, SHARPER * problem.tolerance, problem.watch)
        except KeyboardInterrupt:
            status = INTERRUPTED
        if not np.isfinite(cuts.value):
            return RawAnswer(status)
        return RawAnswer(status, formulation.with_multiplier(s, cuts.Z, cuts.value))


@dataclass(frozen=True)
class Compression:
    """The matrices W'K_k W, for orthonormal columns W: small ones, whose eigenvectors are as good for cuts.

    small   one below the other
    """

    W: np.ndarray
    small: np.ndarray

    @classmethod
    def of(cls, s: View, V: np.ndarray) -> Compression:
        """In the span of the columns of V."""
        return cls(np.zeros((s.n, 0)), np.zeros((len(s.kernels), 0, 0))).widened(s, V)

    def widened(self, s: View, V: np.ndarray) -> Compression:
        """With the columns of V, which are of length 1, as far as they are not in the span of W."""
        rest = V
        for _ in range(2):
            rest = rest - self.W @ (self.W.T @ rest)
        new, sizes, _ = np.linalg.svd(rest, full_matrices=False)
        new = new[:, sizes > NEW]
        W = np.hstack([self.W, new])
        p, beside = self.W.shape[1], np.stack([W.T @ (s.gram(name) @ new) for name in s.kernels])
        small = np.zeros((len(beside), W.shape[1], W.shape[1]))
        small[:, :p, :p], small[:, :, p:] = self.small, beside
        small[:, p:, :p] = beside[:, :p].transpose(0, 2, 1)
        return Compression(W, small)

    def smallest(self, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The smallest eigenvalues of sum_k mu_k W'K_k W and their eigenvectors, as columns."""
        values, U = np.linalg.eigh(np.tensordot(mu, self.small, 1))
        return values[:AT_ONCE], U[:, :AT_ONCE]

    def forms(self, U: np.ndarray) -> np.ndarray:
        """u'W'K_k W u, a row for each kernel and a column for each column u."""
        return np.asarray(np.sum(U * (self.small @ U), axis=1))


@dataclass
class Cuts:
    """Inequalities v'K v >= 0 on K = sum_k mu_k K_k, and what solved the last master problem.

    V, G       the vectors v, and v'K_k v, as columns
    weights    the multipliers of the first of them, in the last master problem
    idle       for each of them, the number of runs at whose end it had none
    within     the subspace of the last eigenvectors, in which most of the cuts are found
    seen       the smallest eigenvalue of the last matrix that was decomposed as a whole
    """

    s: View
    V: np.ndarray = field(init=False)
    G: np.ndarray = field(init=False)
    weights: np.ndarray = field(init=False)
    idle: np.ndarray = field(init=False)
    value: float = np.inf
    mu: np.ndarray = field(init=False)
    within: Compression = field(init=False)
    seen: float = -np.inf

    def __post_init__(self) -> None:
        self.V, self.G = np.zeros((self.s.n, 0)), np.zeros((len(self.s.kernels), 0))
        self.weights, self.idle = np.zeros(0), np.zeros(0, dtype=int)
        self.within = Compression.of(self.s, self.V)

    @property
    def Z(self) -> np.ndarray:
        """sum_j s_j v_j v_j'."""
        root = self.V[:, : len(self.weights)] * np.sqrt(np.maximum(self.weights, 0.0))
        return np.asarray(root @ root.T)

    def forget(self) -> None:
        """Leave out the cuts that have been idle for long."""
        used = np.append(self.weights > 0, np.ones(len(self.idle) - len(self.weights), dtype=bool))
        self.idle = np.where(used, 0, self.idle + 1)
        kept = self.idle < FORGOTTEN
        self.V, self.G, self.idle = self.V[:, kept], self.G[:, kept], self.idle[kept]
        self.weights = self.weights[kept[: len(self.weights)]]
        self.within = Compression.of(self.s, self.V[:, np.flatnonzero(self.weights > 0)])

    def run(self, master: Master, gap: float, watch: Watch | None = None) -> str:
        """Rounds of master problem and cuts, until the two values are no further apart than this, relative."""
        earlier: list[float] = []
        self.seen = -np.inf
        lower = master.value(FreeWeights(self.s).even)
        for _ in range(MOST_ROUNDS):
            self._solve_within(master)
            allowed = max(gap, EXACT) * self.value
            # With the cuts alone satisfied the value is too large; what it really is takes several decompositions.
            near = self.cut(self.mu)
            if self.value - master.value(near) <= allowed:
                lower = max(lower, master.value(raised(self.s, near)))
            if watch:
                watch.report(self.value, lower, int(np.count_nonzero(self.weights)))
            if self.value - lower <= allowed:
                return CONVERGED
            if len(earlier) >= IDLE and earlier[-IDLE] - self.value <= EXACT * self.value:
                return f"stopped where {IDLE} rounds changed nothing"
            earlier.append(self.value)
        return f"stopped after {MOST_ROUNDS} rounds"

    def _solve_within(self, master: Master) -> None:
        """The master problem, cut in the subspace until little is negative there beside what was in all of it."""
        for _ in range(MOST_ROUNDS):
            self.mu, self.weights, self.value = master.solve(self.G)
            values, U = self.within.smallest(self.mu)
            negative = np.flatnonzero(values < min(LITTLE * self.seen, WORTH * np.min(values, initial=0.0)))
            if not len(negative):
                return
            self._add(self.within.W @ U[:, negative], self.within.forms(U[:, negative]))

    def _add(self, V: np.ndarray, G: np.ndarray) -> None:
        self.V, self.G = np.hstack([self.V, V]), np.hstack([self.G, G])
        self.idle = np.append(self.idle, np.zeros(V.shape[1], dtype=int))

    def cut(self, mu: np.ndarray) -> np.ndarray:
        """Cut off the worst eigenvectors of sum_k mu_k K_k; return weights at which these are no longer negative."""
        K = self.s.mixture(mu)
        values, vectors = smallest(K)
        self.seen = min(-rounding_of(K) / LITTLE, float(values[0]))
        negative = np.flatnonzero(values < min(-rounding_of(K), WORTH * values[0]))
        if not len(negative):
            return mu
        v, safe = vectors[:, negative], FreeWeights(self.s).even
        G = forms(self.s, v)
        self._add(v, G)
        self.within = self.within.widened(self.s, vectors)
        gains = safe @ G
        needed = np.divide(-values[negative], gains, out=np.zeros(len(negative)), where=gains > 0)
        return np.asarray(mu + np.max(needed) * safe)


def smallest(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues and their eigenvectors, as columns: of large matrices only these are computed."""
    if len(K) >= LARGE:
        values, vectors = eigh(K, subset_by_index=(0, AT_ONCE - 1), check_finite=False)
        return values, vectors
    values, vectors = np.linalg.eigh(K)
    return values[:AT_ONCE], vectors[:, :AT_ONCE]
