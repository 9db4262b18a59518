"""Random values that satisfy affine conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cvxpy as cp
import numpy as np
from scipy.linalg import null_space
from scipy.optimize import linprog

from kopt.errors import InputError
from kopt.gradients import affine_parts

# Values are drawn between these, so that logarithms and powers of multipliers are defined.
LOWEST, HIGHEST = 0.2, 2.0
# What is left of an inequality at a point that is still inside; above the feasibility tolerance of a linear program.
ROOM = 1e-6
# How often a point moves towards random ones, and how far at most on the way to the boundary.
MOVES, SHARE = 6, 0.9


class Allowed:
    """The set { u : A u = a, G u <= h }, with u > 0 as well where that leaves room.

    equalities, inequalities   affine expressions that are = 0 and <= 0
    """

    def __init__(self, equalities: Sequence[cp.Expression], inequalities: Sequence[cp.Expression]) -> None:
        self.variables = distinct(v for part in [*equalities, *inequalities] for v in part.variables())
        self._A, self._a = self._rows(equalities)
        self._inverse, self._free = np.linalg.pinv(self._A), null_space(self._A)
        self._G, self._h = self._rows(inequalities)
        width = self._A.shape[1]
        self._check_equalities()
        positive = np.vstack([self._G, -np.eye(width)]), np.concatenate([self._h, np.zeros(width)])
        centre, room = self._centre(*positive)
        if room > ROOM:
            self._G, self._h = positive
        else:
            centre, room = self._centre(self._G, self._h)
        if room < -ROOM:
            raise InputError(
                f"No values satisfy all the conditions: some inequality is missed by {-room:.2g}.",
                "Correct the inequalities, or leave them out: they only say where to draw points.",
            )
        self._start = centre

    def draw(self, rng: np.random.Generator) -> None:
        """Give the variables random values of the set, off its boundary where it has an inside."""
        u = self._start
        for _ in range(MOVES):
            target = rng.uniform(LOWEST, HIGHEST, u.size)
            step = self._free @ (self._free.T @ (target - u))
            slack, speed = np.maximum(self._h - self._G @ u, 0.0), self._G @ step
            limits = slack[speed > 0] / speed[speed > 0]
            u = u + min(1.0, SHARE * np.min(limits, initial=np.inf)) * step
        u = self._start + rng.uniform(0.5, SHARE) * (u - self._start)  # repeated moves can creep up to the boundary
        unstack(u - self._inverse @ (self._A @ u - self._a), self.variables)

    def _rows(self, residuals: Sequence[cp.Expression]) -> tuple[np.ndarray, np.ndarray]:
        ends = np.cumsum([0, *(v.size for v in self.variables)])
        columns = {v.id: slice(*ends[i : i + 2]) for i, v in enumerate(self.variables)}
        blocks, sides = [np.zeros((0, ends[-1]))], [np.zeros(0)]
        for residual in residuals:
            jacobian, offset = affine_parts(residual)
            blocks.append(np.zeros((offset.size, ends[-1])))
            for variable, part in jacobian.items():
                blocks[-1][:, columns[variable]] = part.toarray()
            sides.append(-offset)
        return np.vstack(blocks), np.concatenate(sides)

    def _check_equalities(self) -> None:
        nearest = self._inverse @ self._a
        off = np.max(np.abs(self._A @ nearest - self._a), initial=0.0)
        if off > ROOM * np.max(np.abs(self._a), initial=0.0):
            raise InputError(
                f"The conditions contradict each other: no values come nearer to all of them than {off:.2g}.",
                "Correct the equalities; each must be what stationarity in one variable demands.",
            )

    def _centre(self, G: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, float]:
        """The point of A u = a with the most room in G u <= h, and how much that is, up to LOWEST."""
        if not len(h):
            return self._inverse @ self._a, LOWEST
        width = self._A.shape[1]
        answer = linprog(
            np.append(np.zeros(width), -1.0),
            A_ub=np.column_stack([G, np.ones(len(h))]),
            b_ub=h,
            A_eq=np.column_stack([self._A, np.zeros(len(self._a))]) if len(self._a) else None,
            b_eq=self._a if len(self._a) else None,
            bounds=[(None, None)] * width + [(None, LOWEST)],
        )
        return (answer.x[:-1], float(answer.x[-1])) if answer.x is not None else (np.zeros(width), -np.inf)


def distinct(variables: Iterable[cp.Variable]) -> list[cp.Variable]:
    """Each variable once, in the order in which they were made; == would make constraints of them."""
    return [v for _, v in sorted({v.id: v for v in variables}.items())]


def stacked(variables: Sequence[cp.Variable]) -> np.ndarray:
    """The values of some variables as one vector."""
    return np.concatenate([np.zeros(0), *(np.asarray(v.value, dtype=float).ravel(order="F") for v in variables)])


def unstack(values: np.ndarray, variables: Sequence[cp.Variable]) -> None:
    """Give some variables the values in one vector."""
    ends = np.cumsum([v.size for v in variables])[:-1]
    for variable, part in zip(variables, np.split(values, ends) if len(variables) else [], strict=True):
        variable.save_value(part.reshape(variable.shape, order="F"))
