"""What a machine is for, and what that asks of the labels or targets."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from kopt.errors import InputError


class Task(Enum):
    """The purpose of a formulation."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    NOVELTY = "novelty detection"
    RANKING = "ranking"
    OTHER = "other"

    def check(self, y: np.ndarray | None) -> None:
        """Refuse labels or targets that the task cannot use."""
        if self is Task.CLASSIFICATION:
            _check_labels(self._present(y))
        elif self is Task.REGRESSION:
            self._present(y)
        elif self is Task.RANKING:
            _check_ranks(self._present(y))

    def _present(self, y: np.ndarray | None) -> np.ndarray:
        if y is None:
            wanted = {Task.CLASSIFICATION: "labels -1 and +1", Task.RANKING: "ranks 1, 2, ..."}.get(self, "targets")
            raise InputError(f"The sample has no y, but {self.value} needs {wanted}.", "Give them: Sample(X, y, ...).")
        return y

    def predict(self, decision: np.ndarray) -> np.ndarray:
        """Predictions from decision values: signs for classes and novelty (+1 is normal), ranks, values otherwise.

        Decisions of a ranking have a column for each threshold: the rank is the first that is above the point.
        """
        if self is Task.RANKING:
            beyond_all = np.ones((len(decision), 1), dtype=bool)
            return np.argmax(np.hstack([decision < 0, beyond_all]), axis=1) + 1
        if self in (Task.CLASSIFICATION, Task.NOVELTY):
            return np.where(decision >= 0, 1, -1)
        return decision


def _check_labels(y: np.ndarray) -> None:
    found = np.unique(y)
    if not np.isin(found, (-1.0, 1.0)).all():
        shown = _listed(found)
        if len(found) == 2:
            remedy = f"Convert them, for example: y = np.where(y == {found[1]:g}, 1, -1)."
        else:
            remedy = "Choose the positive class and convert: y = np.where(y == positive, 1, -1)."
        raise InputError(f"The labels are {shown}, but must be -1 and +1.", remedy)
    if len(found) < 2:
        raise InputError(
            f"All {len(y)} labels are {found[0]:+g}, but classification needs both classes.",
            "Add points of the other class, or use a formulation for novelty detection.",
        )


def _check_ranks(y: np.ndarray) -> None:
    found = np.unique(y)
    if len(found) < 2:
        raise InputError(
            f"All {len(y)} points have the rank {found[0]:g}, but ranking needs at least two ranks.",
            "Add points of another rank, or use a formulation for novelty detection.",
        )
    if not np.array_equal(found, np.arange(1, len(found) + 1)):
        raise InputError(
            f"The ranks are {_listed(found)}, but must be 1, 2, ..., with a point of each.",
            "Number those that occur: y = np.unique(y, return_inverse=True)[1] + 1.",
        )


def _listed(values: np.ndarray) -> str:
    shown: list[Any] = [f"{value:g}" for value in values[:5]]
    return ", ".join(shown) + (f", ... ({len(values)} different values)" if len(values) > 5 else "")
