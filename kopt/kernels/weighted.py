"""A combination of kernels with weights of any sign."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kopt.errors import InputError
from kopt.kernels.checks import finite
from kopt.kernels.composite import Composite
from kopt.kernels.kernel import Kernel, bracketed
from kopt.kernels.points import Matrix, Points


@dataclass(frozen=True, repr=False)
class Weighted(Composite):
    """k(x, z) = sum_k mu_k k_k(x, z): what an optimisation over kernels learns.

    With non-negative weights it is a kernel on all points (KMPA Proposition 3.22); where a weight is negative, that it
    is one on the training points is a property of these points, and is checked there. Kernels with the weight 0 are
    kept, in their places, and cost nothing.

    >>> from kopt.kernels import Gaussian, Linear
    >>> k = Weighted((0.5, 2.0), (Gaussian(sigma=1.0), Linear()))
    >>> k
    0.5 * Gaussian(sigma=1.0) + 2 * Linear()
    >>> k([[2.0]], [[2.0]])
    array([[8.5]])
    """

    weights: tuple[float, ...]
    kernels: tuple[Kernel, ...]

    precedence = 1

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        weights = finite(np.asarray(self.weights, dtype=float))
        if weights.shape != (len(self.kernels),) or len(self.kernels) == 0:
            raise InputError(
                f"There are weights of shape {weights.shape} for {len(self.kernels)} kernels.",
                "Give one weight for each kernel, and one kernel at least.",
            )
        object.__setattr__(self, "weights", tuple(weights.tolist()))
        object.__setattr__(self, "kernels", tuple(self.kernels))

    @classmethod
    def of(cls, weights: Any, kernels: Sequence[Kernel]) -> "Weighted":
        """The same from arrays and lists."""
        return cls(tuple(np.asarray(weights, dtype=float)), tuple(kernels))

    def __repr__(self) -> str:
        """As one writes it: the kernels that count, with four digits of their weights."""
        parts = [f"{weight:.4g} * {bracketed(kernel, 3)}" for weight, kernel in self.present]
        return " + ".join(parts).replace("+ -", "- ") or "0"

    @property
    def parts(self) -> dict[str, Kernel]:
        """The kernels, by their place."""
        return {str(place): kernel for place, kernel in enumerate(self.kernels)}

    @property
    def present(self) -> list[tuple[float, Kernel]]:
        """Weights and kernels, those with the weight 0 left out."""
        return [each for each in zip(self.weights, self.kernels, strict=True) if each[0]]

    @property
    def positive_semidefinite(self) -> bool:
        """Whether this follows from the signs of the weights."""
        return all(weight > 0 and kernel.positive_semidefinite for weight, kernel in self.present)

    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """sum_k mu_k K_k, one kernel after the other."""
        parts = [(weight, kernel.against(Z)) for weight, kernel in self.present]

        def values(X: Points) -> Matrix:
            K = np.zeros((len(X), len(Z)))
            for weight, part in parts:
                values_of_part = part(X)
                values_of_part *= weight
                K += values_of_part
            return K

        return values

    def evaluate_diagonal(self, X: Points) -> Matrix:
        """sum_k mu_k k_k(x, x)."""
        total = np.zeros(len(X))
        for weight, kernel in self.present:
            total += weight * kernel.evaluate_diagonal(X)
        return total

    def fit(self, X: Points) -> Kernel:
        """The same combination of the fitted kernels."""
        return replace(self, kernels=tuple(kernel.fit(X) for kernel in self.kernels))

    def features(self, X: Points) -> Matrix | None:
        """The features of all kernels side by side, where no weight is negative."""
        if any(weight < 0 for weight in self.weights):
            return None
        parts = [(weight, kernel.features(X)) for weight, kernel in self.present]
        if not parts or any(F is None for _, F in parts):
            return None
        return np.hstack([np.sqrt(weight) * F for weight, F in parts])

    def fused(self, X: Points) -> Any:
        """In compiled code where all kernels are, or have features."""
        from kopt.fused.weighted import FusedWeighted

        if not self.present:
            return None
        weights, kernels = zip(*self.present, strict=True)
        compiled = ((kernel.fused(X), kernel.features(X)) for kernel in kernels)
        return FusedWeighted.of(weights, compiled)
