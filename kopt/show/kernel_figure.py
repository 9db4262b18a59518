"""A learnt kernel as a picture: the weights, and the matrix before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.gram import alignment
from kopt.gram.alignment import LAST_DIGITS
from kopt.kernels import Centred, Kernel, Reweighted, Weighted
from kopt.kernels.points import take
from kopt.locations import FaultsOf

#: More rows than this are not seen; so many are drawn, spread over the sample.
MOST_POINTS = 400
#: So much of the entries is inside the range of the colours.
SHOWN = 0.995
POSITIVE, NEGATIVE = "#2a6f97", "#c1440e"


def kernel_figure(solution: Any) -> Any:
    """Weights of the kernels, and the matrices of their even mixture and of the learnt kernel, ordered by class.

    A weight is shown as its kernel's share of the trace of the learnt matrix, so that kernels of different size
    compare. Both matrices have their entries divided by the mean of their diagonal. The alignments are those with the
    formulation's `alignment_target`, on the points drawn.
    """
    sample, kernel = solution.sample, solution.kernel
    parts, rows = _learnt_from(kernel, sample), _rows(sample.y, sample.n)
    X, y, target = take(sample.X, rows), _at(rows, sample.y), _at(rows, _target(solution))
    traces = np.array([_trace(part, sample.X) for part in parts])
    even = Weighted.of(np.divide(1.0, traces, out=np.zeros_like(traces), where=traces > 0), parts)
    figure = _figure()
    weights, *matrices = figure.subplots(1, 3, width_ratios=(1.1, 1, 1))
    if isinstance(kernel, Weighted) and len(parts) == len(sample.grams):
        _bars(weights, list(sample.grams), np.array(kernel.weights) * traces)
    else:
        weights.text(0.5, 0.5, repr(kernel), ha="center", va="center", wrap=True)
        weights.set_axis_off()
    drawn = [_matrix(each, X) for each in (even, kernel)]
    limit = float(np.quantile(np.abs(drawn), SHOWN)) or 1.0
    before = "before: equal traces" if len(parts) > 1 else "before"
    for axes, K, title in zip(matrices, drawn, (before, "after: learnt"), strict=True):
        image = axes.imshow(K, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set_title(_titled(title, K, target, sample.n), fontsize=10)
        _mark_classes(axes, y)
    figure.colorbar(image, ax=matrices, shrink=0.8, label="entry / mean of the diagonal")
    return figure


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("A figure needs matplotlib, which is not installed.", "Run pip install matplotlib.") from None
    return Figure(figsize=(11.5, 3.9), layout="constrained")


def _learnt_from(kernel: Kernel, sample: Any) -> list[Kernel]:
    """The kernels that the learnt one is made of, bound to the sample; all of the sample's where it does not say."""
    if isinstance(kernel, Weighted):
        return list(kernel.kernels)
    return [kernel.kernel] if isinstance(kernel, Reweighted) else list(sample.kernels.values())


def _target(solution: Any) -> Any:
    with FaultsOf(solution.formulation, "alignment_target"):
        return solution.formulation.alignment_target(solution.sample)


def _trace(kernel: Kernel, X: Any) -> float:
    """The trace of the matrix; 0 where it is what rounding left of a constant kernel."""
    trace = float(np.sum(kernel.diagonal(X)))
    uncentred = float(np.sum(kernel.kernel.diagonal(X))) if isinstance(kernel, Centred) else 0.0
    return trace if trace > LAST_DIGITS * uncentred else 0.0


def _rows(y: Any, n: int) -> np.ndarray:
    """Points spread over the sample, those of one class together."""
    order = np.arange(n) if y is None else np.argsort(y, kind="stable")
    return order[np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).astype(int))]


def _at(rows: np.ndarray, values: Any) -> Any:
    return None if values is None else values[rows]


def _matrix(kernel: Kernel, X: Any) -> np.ndarray:
    K = kernel(X)
    return np.asarray(K / (np.mean(np.diag(K)) or 1.0))


def _bars(axes: Any, names: Sequence[str], traces: np.ndarray) -> None:
    shares = traces / (np.sum(traces) or 1.0)
    places = np.arange(len(names))
    axes.barh(places, shares, color=np.where(shares < 0, NEGATIVE, POSITIVE))
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_xlabel("share of the trace")
    axes.set_title("weights", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _titled(title: str, K: np.ndarray, target: Any, n: int) -> str:
    """The title with the alignment between the points that have a target, and on how many if not on all."""
    if target is None:
        return title
    known = ~np.isnan(target)
    K, target = K[np.ix_(known, known)], target[known]
    if not np.any(target) or not np.any(K):
        return title
    of = f" on {len(known)} of {n} points" if len(known) < n else ""
    return f"{title}\nalignment {alignment(K, target):.3f}{of}"


def _mark_classes(axes: Any, y: Any) -> None:
    """A line where one class ends and the next begins, and the name of each."""
    axes.set_xticks([])
    axes.set_yticks([])
    if y is None or len(np.unique(y)) > 5:
        return
    ends = np.flatnonzero(np.diff(y)) + 1
    for end in ends:
        axes.axhline(end - 0.5, color="black", linewidth=0.8)
        axes.axvline(end - 0.5, color="black", linewidth=0.8)
    edges = np.array([0, *ends, len(y)])
    names = [f"y = {value:g}" for value in y[edges[:-1]]]
    axes.set_yticks((edges[:-1] + edges[1:] - 1) / 2, names, rotation=90, va="center")
    axes.tick_params(length=0)
