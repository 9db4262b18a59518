"""What the theorems ask of a certificate, and the pieces that their bounds share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from kopt import Certificate, Combination, InputError, Point, Sample, Task
from kopt.gram import Gram
from kopt.views import ProductView

# Ten times what `kopt.solve` promises: the accuracy of identities between quantities of a certified optimum.
OPTIMAL = 1e-5

INDEPENDENT = "the points were drawn independently from one distribution"
FIXED_GAMMA = (
    "gamma was fixed before the sample was seen; the best of k values fixed in advance takes delta / k for delta "
    "(Remarks 7.13 and 7.17)"
)


def check_delta(delta: object) -> None:
    """Refuse what is no probability of failure."""
    check_fraction("delta", delta, "Choose for example delta=0.05.")


def check_fraction(name: str, value: object, remedy: str) -> None:
    """Refuse what is no number strictly between 0 and 1."""
    if not (_is_number(value) and 0 < value < 1):
        raise InputError(f"{name} is {_shown(value)}, but must be strictly between 0 and 1.", remedy)


def check_positive(name: str, value: object) -> None:
    """Refuse a margin, radius or norm that is not a positive number."""
    if not (_is_number(value) and 0 < value < math.inf):
        raise InputError(f"{name} is {_shown(value)}, but must be a finite number > 0.", f"Choose {name} so.")


def check_nonnegative(name: str, value: object) -> None:
    """Refuse a width or a complexity that is not a number >= 0."""
    if not (_is_number(value) and 0 <= value < math.inf):
        raise InputError(f"{name} is {_shown(value)}, but must be a finite number >= 0.", f"Choose {name} so.")


def check_count(name: str, value: object, smallest: int) -> None:
    """Refuse what is no whole number, or one that is too small."""
    if not (_is_number(value) and isinstance(value, int | np.integer) and value >= smallest):
        raise InputError(f"{name} is {_shown(value)}, but must be a whole number >= {smallest}.", f"Choose {name} so.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return f"{value:.6g}" if _is_number(value) else f"{value!r:.60}"


def check_sample(sample: object) -> None:
    """Refuse what is no sample."""
    if not isinstance(sample, Sample):
        raise InputError(
            f"The first argument is of type {type(sample).__name__}.", "Wrap the data: kopt.Sample(X, kernel=...)."
        )


def confidence(n: int, delta: float) -> float:
    """3 (ln(2/delta) / (2 l))^(1/2), the price of one sample for one theorem in the form of Theorem 4.9."""
    return 3 * math.sqrt(math.log(2 / delta) / (2 * n))


def check_certificate(certificate: object, task: Task) -> None:
    """Refuse what is no certificate, one for another task, and one without finite numbers."""
    if not isinstance(certificate, Certificate):
        raise InputError(
            f"The first argument is of type {type(certificate).__name__}.",
            "Give a certificate: kopt.solve(...).certificate, or kopt.verify(...).",
        )
    name = type(certificate.formulation).__name__
    if certificate.formulation.task is not task:
        raise InputError(
            f"{name} is made for {certificate.formulation.task.value}, but the theorem is about {task.value}.",
            f"Give the certificate of a machine for {task.value}.",
        )
    if not all(np.all(np.isfinite(_numbers(value))) for value in certificate.primal.values()):
        raise InputError(
            f"The certificate of {name} has values that are not finite.", "Give the certificate of a usable answer."
        )


def _numbers(value: object) -> np.ndarray:
    return np.asarray(value.coefficients if isinstance(value, Combination) else value, dtype=float)


def check_machine(certificate: Certificate, *machines: type) -> None:
    """Refuse the certificate of a machine that the theorem is not about."""
    if not isinstance(certificate.formulation, machines):
        known = " or ".join(machine.__name__ for machine in machines)
        raise InputError(
            f"The theorem is about {known}, not about {type(certificate.formulation).__name__}.",
            f"Solve {known}, or use a bound that holds for any function, such as margin_bound.",
        )


def check_optimal(certificate: Certificate) -> None:
    """Refuse an answer that is not the optimum which the theorem speaks of."""
    if not certificate.holds(OPTIMAL):
        raise InputError(
            f"The theorem is about the optimum, but the certificate does not hold to {OPTIMAL:g} "
            f"(worst relative residual {certificate.as_given.worst:.1e}).",
            "Solve more accurately, or use a bound that holds for any function, such as margin_bound.",
        )


def check_optimum_of(certificate: Certificate, delta: float, task: Task, *machines: type) -> None:
    """Refuse all but the optimum of one of these machines, and what is no probability of failure."""
    check_delta(delta)
    check_certificate(certificate, task)
    check_machine(certificate, *machines)
    check_optimal(certificate)


def check_costs(sample: Sample) -> None:
    """Refuse costs per point in a formula that has none."""
    unequal = np.flatnonzero(sample.costs != 1.0)
    if len(unequal):
        raise InputError(
            f"Point {unequal[0]} has the cost {sample.costs[unequal[0]]:g}, but the theorem has no costs.",
            "Leave the costs out, or use a bound that holds for any function, such as margin_bound.",
        )


def weight(certificate: Certificate, name: str = "w") -> Combination:
    """The machine's only vector in feature space."""
    vectors = {key: value for key, value in certificate.primal.items() if isinstance(value, Combination)}
    if set(vectors) != {name} or vectors[name].coefficients.ndim != 1:
        raise InputError(
            f"The theorem needs one vector {name} in feature space, but {type(certificate.formulation).__name__} "
            f"has {', '.join(vectors) or 'none'}.",
            f"Give the certificate of a machine with a single vector {name}.",
        )
    return vectors[name]


def dual_norm(certificate: Certificate) -> float:
    """(alpha' G alpha)^(1/2) with G_ij = y_i y_j k(x_i, x_j), the length of sum_i y_i alpha_i phi(x_i)."""
    gram = weight(certificate).gram
    return math.sqrt(gram.norm_squared(certificate.sample.y * certificate.dual.alpha))


def trace(gram: Gram) -> float:
    """tr K."""
    return float(np.sum(gram.diagonal))


def support_radius(gram: Gram, R: float | None) -> float:
    """R with k(x, x) <= R^2 for all x; the largest length in the sample where none is given."""
    longest = float(np.max(gram.lengths))
    if R is None:
        R = longest
    check_positive("R", R)
    if longest > R * (1 + 1e-12):
        raise InputError(
            f"R is {R:.6g}, but a point of the sample has the length {longest:.6g} in feature space.",
            f"Choose R >= {longest:.6g}.",
        )
    return R


def within(R: float) -> str:
    """The sentence that a radius of the sample cannot vouch for."""
    return f"k(x, x) <= R^2 = {R**2:.6g} for all x of the distribution, not only in the sample"


@dataclass(frozen=True)
class Linear:
    """A learnt linear function, seen from the sample: g(x) = <w, phi(x)> + offset."""

    gram: Gram
    norm: float
    values: np.ndarray
    offset: float

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.values)


def offset_price(n: int, offset: float, covered: float, L: float) -> float:
    """2 L (|b| - beta)_+ / l^(1/2): what an offset b costs beyond the beta that the capacity of a theorem covers.

    Offsets up to |b| add |b| E |sum_i s_i| / l <= |b| / l^(1/2) to the mean over signs s of the supremum of
    1/l sum_i s_i g(x_i). The contraction lemma without absolute values multiplies it by the Lipschitz constant L of the
    loss, whatever y is, and the theorem by 2.
    """
    return 2 * L * max(0.0, abs(offset) - covered) / math.sqrt(n)


def offset_term(n: int, offset: float, covered: float, L: float) -> dict[str, float]:
    """The price of an offset as a term of its own, where there is one to pay."""
    price = offset_price(n, offset, covered, L)
    return {"offset": price} if price else {}


def offset_assumption(offset: float, covered: float) -> tuple[str, ...]:
    """What an offset asks for, if there is one: its bound is what the capacity covers, or itself where it is larger."""
    bound = max(abs(offset), covered)
    return (f"the bound {bound:.6g} on the offset was fixed in advance; it is {offset:.6g}",) if offset else ()


def update_terms(updates: float, n: int, delta: float) -> dict[str, float]:
    """2/l (k ln l + ln(l / (2 delta))): Theorem 7.54 for at most k <= l/2 updates, with l - k >= l/2."""
    if updates > n / 2:
        raise InputError(
            f"The bound on the updates is {updates:.6g}, but the theorem needs at most l/2 = {n / 2:g}.",
            "Use more points, or a kernel with a larger margin.",
        )
    return {"sequences of updates": 2 / n * updates * math.log(n), "confidence": 2 / n * math.log(n / (2 * delta))}


def linear(certificate: Certificate) -> Linear:
    """The learnt function of a machine with one weight vector w."""
    w = weight(certificate)
    values = decision(certificate)
    if values.shape != (certificate.sample.n,):
        raise InputError(
            f"The decision of {type(certificate.formulation).__name__} has shape {values.shape}.",
            "Give the certificate of a machine with one value per point.",
        )
    if not w.norm > 0:
        raise InputError("The weight vector is 0, so that the function has no margin.", "Choose other parameters.")
    offset = float(np.mean(values - w.on_sample))
    rounding = 1e-13 * w.gram.uncancelled(w.coefficients) * float(np.max(w.gram.lengths))
    return Linear(w.gram, w.norm, values, offset if abs(offset) > rounding else 0.0)


def unit(certificate: Certificate) -> Linear:
    """g = f / ||w||, the learnt function of a classifier with a weight vector of length 1."""
    check_certificate(certificate, Task.CLASSIFICATION)
    f = linear(certificate)
    return Linear(f.gram, 1.0, f.values / f.norm, f.offset / f.norm)


def margin(certificate: Certificate, gamma: float | None) -> float:
    """A margin for ||w|| = 1, fixed in advance; the one that the machine optimised where none is given."""
    if gamma is None:
        return own_margin(certificate)
    check_positive("gamma", gamma)
    return gamma


def own_margin(certificate: Certificate) -> float:
    """The geometric margin that the machine optimised, for ||w|| > 0.

    Its variable gamma or rho, half the distance of its two hyperplanes, or otherwise the functional margin 1.
    """
    primal, norm = certificate.primal, weight(certificate).norm
    for name in ("gamma", "rho"):
        if name in primal:
            return _positive_margin(float(primal[name]) / norm)
    if "rho_plus" in primal and "rho_minus" in primal:
        return _positive_margin(float(primal["rho_plus"] - primal["rho_minus"]) / (2 * norm))
    if "alpha" not in certificate.points:  # no constraint that asks every point for its margin
        raise InputError(
            f"{type(certificate.formulation).__name__} has no margin of its own.", "Give one: gamma=..., for ||w|| = 1."
        )
    return 1 / norm


def _positive_margin(gamma: float) -> float:
    if not gamma > 0:
        raise InputError(
            f"The machine's own margin is {gamma:.6g}, but the theorem needs a positive one.",
            "Give one: gamma=..., for ||w|| = 1.",
        )
    return gamma


def decision(certificate: Certificate) -> np.ndarray:
    """The learnt function on the sample."""
    view = ProductView(certificate.sample)
    return np.asarray(certificate.formulation.decision(view, Point(certificate.primal)), dtype=float)
