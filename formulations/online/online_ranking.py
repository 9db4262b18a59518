"""On-line ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.online.mistake_driven import MOST_EPOCHS, SEPARATED, UNFINISHED, best_multiple, refused, witness
from formulations.ranking.augmented_hard_ranking import AugmentedHardRanking
from formulations.ranking.rank_separation import RankSeparation
from formulations.ranking.thresholds import Thresholds
from kopt import Claim, Sample, at_most, equal
from kopt.solvers import Problem, RawAnswer, Solver


class OnlineRanking(Solver):
    r"""On a wrong rank, move the point and the thresholds in between: Algorithm 8.14.

        r       = min { y : sum_j alpha_j k(x_i, x_j) < b_y },   b_k = infinity
        alpha_i <- alpha_i + y_i - r
        b_y     <- b_y - 1   for y = r..y_i - 1   if r < y_i
        b_y     <- b_y + 1   for y = y_i..r - 1   if r > y_i

    cyclically, until an epoch passes without wrong ranks. Then w = sum_i alpha_i phi(x_i) and b rank the sample; with
    all thresholds moved by the same number, which makes the margins on either side equal, and scaled to functional
    margin 1, they solve RankSeparation with multipliers 0. With R the length of the longest point, the rank errors
    |y_i - r| add up to at most ((k - 1) R^2 + 1) / gamma^2, where gamma is the margin of (w, b) of length 1. The text
    takes the margin of w of length 1, with which it is not true. Where nothing separates the ranks, the status says so
    after a fixed number of epochs, and the certificate does not hold.

    >>> import kopt
    >>> sample = kopt.Sample([[0.0], [1.0], [3.0]], [1, 2, 3])
    >>> solution = kopt.solve(RankSeparation(), sample, method="ONLINE_RANKING")
    >>> solution.predict([[0.0], [1.0], [3.0]]).tolist(), solution.certificate.holds(1e-6)
    ([1, 2, 3], True)
    """

    name = "ONLINE_RANKING"

    def accepts(self, problem: Problem) -> str | None:
        """The separation of ranks, whose two sides it solves together."""
        if not isinstance(problem.formulation, RankSeparation):
            return "it solves RankSeparation only"
        return refused(problem.sample)

    def solve(self, problem: Problem) -> RawAnswer:
        """Run the algorithm, and scale what it finds."""
        sample = problem.sample
        t = Thresholds(sample.y)
        run = rank_on_line(sample.gram().dense, sample.y)
        b = centred(t, run) if run.separated else run.b
        of_lower, of_upper = (-excess for excess in t.excess(run.values, b, 0.0))
        c_lower, c_upper = sample.costs[t.lower], sample.costs[t.upper]
        factor = best_multiple(np.append(of_lower, of_upper), np.append(c_lower, c_upper))
        values = {
            "w": factor * run.alpha,
            "b": factor * b,
            "m_l": np.minimum(1.0, factor * of_lower),
            "m_u": np.minimum(1.0, factor * of_upper),
            "alpha_l": np.zeros(len(t.lower)),
            "alpha_u": np.zeros(len(t.upper)),
            "mu_l": c_lower,
            "mu_u": c_upper,
        }
        if t.count > 1:
            values["eta"] = np.zeros(t.count - 1)
        claims = run.claims() + (update_bound(run, sample) if run.separated else ())
        return RawAnswer(SEPARATED if run.separated else UNFINISHED, values, claims)


@dataclass(frozen=True)
class Run:
    """What happened in a run.

    alpha, b         the coefficients and the thresholds at the end
    errors           the sum of |y_i - r| over all wrong ranks
    updates          the number of wrong ranks
    closest          the smallest b_(y+1) - b_y that ever was; infinite for a single threshold
    values           <w, phi(x_i)> at the end
    radius_squared   R^2, the largest k(x_i, x_i)
    separated        whether the last epoch had no wrong ranks
    """

    alpha: np.ndarray
    b: np.ndarray
    errors: int
    updates: int
    closest: float
    values: np.ndarray
    radius_squared: float
    separated: bool

    @property
    def growth(self) -> float:
        """The most that <w, w> + <b, b> can grow for each unit of rank error."""
        return len(self.b) * self.radius_squared + 1

    def claims(self) -> tuple[Claim, ...]:
        """The order of the thresholds, what an update does to the sums, and how much to the norm."""
        length = float(self.alpha @ self.values + self.b @ self.b)
        order = at_most("the thresholds stay in order: -(smallest b_(y+1) - b_y) <= 0", -self.closest, 0.0, scale=1.0)
        return (
            *([order] if len(self.b) > 1 else []),
            equal("sum alpha = -sum b", np.sum(self.alpha), -np.sum(self.b), scale=float(self.errors)),
            at_most("updates <= sum of rank errors e", self.updates, self.errors),
            at_most("||w||^2 + ||b||^2 <= e ((k - 1) R^2 + 1)", length, self.errors * self.growth),
        )


def rank_on_line(K: np.ndarray, y: np.ndarray) -> Run:
    """Cycle through the points until an epoch passes without wrong ranks."""
    ranks = y.astype(int)
    alpha, values, b = np.zeros(len(y)), np.zeros(len(y)), np.zeros(ranks.max() - 1)
    errors = updates = 0
    closest, separated = np.inf, False
    for _ in range(MOST_EPOCHS):
        before = updates
        for i, y_i in enumerate(ranks):
            r = 1 + int(np.argmax(np.append(values[i] < b, True)))
            if r != y_i:
                alpha[i] += y_i - r
                values += (y_i - r) * K[i]
                b[min(r, y_i) - 1 : max(r, y_i) - 1] -= np.sign(y_i - r)
                errors += abs(int(y_i) - r)
                updates += 1
                closest = min(closest, float(np.min(np.diff(b), initial=np.inf)))
        if updates == before:
            separated = True
            break
    return Run(alpha, b, errors, updates, closest, values, float(np.max(K.diagonal())), separated)


def centred(t: Thresholds, run: Run) -> np.ndarray:
    """The thresholds moved so that the smallest margins below and above are equal: a point may lie on a threshold."""
    below, above = (-float(np.max(excess)) for excess in t.excess(run.values, run.b, 0.0))
    return np.asarray(run.b - (below - above) / 2)


def update_bound(run: Run, sample: Sample) -> tuple[Claim, ...]:
    """Corollary 8.16 corrected, with gamma the margin of the best (w*, b*) of length 1."""
    best = witness(AugmentedHardRanking(), sample)
    if best is None or not best.primal.gamma > 0:
        return ()
    gamma = float(best.primal.gamma)
    along = float(run.alpha @ best.primal.w.values + run.b @ best.primal.b)
    return (
        at_most("e gamma <= <(w*, b*), (w, b)>", run.errors * gamma, along),
        at_most("e <= ((k - 1) R^2 + 1) / gamma^2", run.errors, run.growth / gamma**2),
    )
