"""The degenerate grid: K from tiny to huge, C from tiny to huge, rank one, duplicated points.

`python -m tests.degenerate` judges every formulation on the whole grid and prints what it says.
"""

import dataclasses
import sys
import warnings
from collections import Counter
from functools import cache
from itertools import product

import numpy as np

import kopt
from kopt import Sample, Task
from kopt.referee import Judgement, referee
from tests.instances import FORMULATIONS, accepts, data

SCALES = (1e-6, 1e-3, 1.0, 1e3, 1e6)
COSTS = (1e-4, 1e-2, 1.3, 1e2, 1e4)
SHAPES = ("full", "rank one", "duplicates", "opposite duplicates")
CELLS = list(product(SCALES, COSTS, SHAPES))
SMALL_GRID = [cell for cell in CELLS if cell[0] in (1e-6, 1e6) and cell[1] in (1e-4, 1e4)]
N = 6


def gram(shape: str, X: np.ndarray) -> np.ndarray:
    if shape == "rank one":
        return np.outer(X[:, 0], X[:, 0])
    if shape == "full":
        return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1)) + 0.3 * X @ X.T
    twins = X[[0, 1, 2, 0, 1, 5]]
    return (twins @ twins.T + 1) ** 2


def sample(task: Task, scale: float, shape: str) -> Sample:
    X, y = data(task, N, 1.0, np.random.default_rng(3))
    if task is Task.CLASSIFICATION:
        y = np.array([1.0, -1.0, -1.0, -1.0, 1.0, 1.0]) if "opposite" in shape else np.array([1.0, -1, -1, 1, -1, 1])
    if task is Task.RANKING:
        y = np.array([1.0, 2, 3, 2, 1, 3]) if "opposite" in shape else np.array([1.0, 2, 3, 1, 2, 3])
    return Sample.from_gram(scale * gram(shape, X), y)


def judged(cls: type[kopt.Formulation], cell: tuple[float, float, str]) -> Judgement | None:
    """The judgement on one cell; None where the formulation refuses the sample."""
    scale, cost, shape = cell
    values = {"nu": 0.43, "epsilon": 0.1, "delta": 0.1, "p": 1.7}
    parameters = {field.name: values.get(field.name, cost) for field in dataclasses.fields(cls)}
    return _judged(cls, tuple(parameters.items()), scale, shape)


def suited(formulation: kopt.Formulation, given: Sample) -> tuple[kopt.Formulation, Sample]:
    """The sample; without the labels of some points where a machine asks for points that have none."""
    without = given if given.y is None else given.relabelled(np.where(np.arange(N) % 3 == 1, 0.0, given.y))
    return formulation, without if not accepts(formulation, given) and accepts(formulation, without) else given


# Cells that differ in a cost that the formulation does not have are one cell.
@cache
def _judged(
    cls: type[kopt.Formulation], parameters: tuple[tuple[str, float], ...], scale: float, shape: str
) -> Judgement | None:
    class OnThisCell(cls):
        @classmethod
        def instances(cls, rng):
            yield suited(cls(**dict(parameters)), sample(cls.task, scale, shape))

    try:
        return referee(OnThisCell).judgement
    except kopt.InputError:
        return None


def main(names: list[str]) -> int:
    warnings.simplefilter("error")
    total: Counter[str] = Counter()
    for cls in FORMULATIONS:
        if names and cls.__name__ not in names:
            continue
        found = Counter()
        for cell in CELLS:
            judgement = judged(cls, cell)
            word = "refused" if judgement is None else judgement.word
            found[word] += 1
            if word not in ("refused", "exact"):
                print(f"  {cls.__name__} K x {cell[0]:g}, C = {cell[1]:g}, {cell[2]}: {word}")
        print(f"{cls.__name__}: {dict(found)}", flush=True)
        total += found
    print(f"total: {dict(total)}")
    return int(total["wrong"] + total["scaled"] + total["restricted"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
