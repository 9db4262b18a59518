"""Kernels made of kernels."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from kopt.kernels.kernel import Kernel
from kopt.kernels.points import Matrix, Points
from kopt.kernels.precomputed import precomputed_in, refuse_shared


class Composite(Kernel, ABC):
    """A kernel whose dataclass fields hold other kernels; what it demands of the points is what they demand.

    >>> from kopt.kernels import Gaussian, Linear
    >>> [repr(part) for part in (Gaussian(sigma=1.0) + Linear()).parts.values()]
    ['Gaussian(sigma=1.0)', 'Linear()']
    """

    @property
    def parts(self) -> dict[str, Kernel]:
        """The kernels it is made of, by field name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if isinstance(value, Kernel)}

    @property
    def leaves(self) -> list[Kernel]:
        """Those of all parts."""
        return [leaf for part in self.parts.values() for leaf in part.leaves]

    @property
    def positive_semidefinite(self) -> bool:
        """Whether all parts are: all compositions here preserve it (KMPA Proposition 3.22, Algorithms 5.1 and 5.3)."""
        return all(part.positive_semidefinite for part in self.parts.values())

    @abstractmethod
    def against(self, Z: Points) -> Callable[[Points], Matrix]:
        """The map from checked points X to k(X, Z)."""

    def evaluate(self, X: Points, Z: Points) -> Matrix:
        """The values between checked points."""
        return self.against(Z)(X)

    def check(self, X: Points) -> Points:
        """The points in the form that all parts work on."""
        for part in self.parts.values():
            X = part.check(X)
        return self._not_shared(X)

    def check_new(self, X: Points, Z: Points) -> Points:
        """The new points, fit for all parts."""
        for part in self.parts.values():
            X = part.check_new(X, Z)
        return self._not_shared(X)

    def _not_shared(self, X: Points) -> Points:
        refuse_shared(precomputed_in(self), X)
        return X

    def fit(self, X: Points) -> Kernel:
        """The same composition of the fitted parts."""
        fitted: dict[str, Any] = {name: part.fit(X) for name, part in self.parts.items()}
        return replace(self, **fitted)  # type: ignore[type-var]
