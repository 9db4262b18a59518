"""What the theorems ask of a certificate, and the pieces that their bounds share."""

from __future__ import annotations

import math
from dataclasses import dataclass

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


def check_delta(delta: float) -> None:
    """Refuse what is no probability of failure."""
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta}, but must be strictly between 0 and 1.", "Choose for example delta=0.05.")


def check_positive(name: str, value: float) -> None:
    """Refuse a margin, radius or norm that is not a positive number."""
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} is {value:.6g}, but must be a finite number > 0.", f"Choose {name} so.")


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


def offset_assumption(offset: float, largest: float) -> tuple[str, ...]:
    """What an offset asks for, if there is one; `largest` is what the constant of the theorem has room for."""
    if offset == 0:
        return ()
    if abs(offset) <= largest:
        return (f"a bound on the offset ({abs(offset):.6g}) of {largest:.6g} was fixed in advance",)
    return (
        f"the offset is 0: it is {offset:.6g}, more than the {largest:.6g} that the constant has room for "
        "(Remark 7.17)",
    )


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


def own_margin(certificate: Certificate) -> float:
    """The geometric margin that the machine optimised: its variable gamma or rho, otherwise functional margin 1."""
    primal, norm = certificate.primal, weight(certificate).norm
    for name in ("gamma", "rho"):
        if name in primal:
            return _positive_margin(float(primal[name]) / norm)
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
