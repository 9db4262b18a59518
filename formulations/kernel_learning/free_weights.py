"""Weights of any sign, of kernels of which some may be combinations of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from kopt import Sample, View
from kopt.kernels import Kernel
from kopt.views import ProductView


@dataclass(frozen=True, eq=False)
class FreeWeights:
    """mu of any sign, in K = sum_k mu_k K_k over kernels that are not combinations of others: the rest has no weight.

    Nothing is lost, since the weights of the others make up for it; and no large weights cancel in K.

    What others give goes through this: a CVXPY variable, the mu and Z of an answer. Weights that are computed here are
    0 already where a kernel is not used, and go with `s.mixture` and `s.traces` as they are.

    used   for each kernel whether it has a weight
    """

    s: View | Sample

    @property
    def used(self) -> np.ndarray:
        """The kernels that span all of them."""
        return self.s.frobenius.independent

    @property
    def traces(self) -> np.ndarray:
        """The numbers tr K_k, of the kernels that are used."""
        return np.asarray(self.used * self._view.traces)

    @property
    def even(self) -> np.ndarray:
        """Weights mu_k = 1/tr K_k, whose combination has an eigenvalue 0 only where every kernel has."""
        return np.divide(1.0, self.traces, out=np.zeros(len(self.used)), where=self.traces > 0)

    def variable(self) -> cp.Variable:
        """The weights, as a variable."""
        return cp.Variable(len(self.used), name="mu")

    def mixture(self, mu: Any) -> Any:
        """The matrix sum_k mu_k K_k."""
        return self._view.mixture(self.only(mu))

    def against(self, Z: Any) -> Any:
        """The inner products <K_k, Z>."""
        return self.only(self._view.against(Z))

    def only(self, values: Any) -> Any:
        """Numbers for each kernel, 0 where it is not used."""
        if isinstance(values, cp.Expression):
            return values if np.all(self.used) else cp.multiply(self.used.astype(float), values)
        return self.used * values

    def combined(self, mu: Any) -> Kernel:
        """The kernel sum_k mu_k k_k."""
        return self._view.sample.combined(self.only(mu))

    @property
    def _view(self) -> View:
        return ProductView(self.s) if isinstance(self.s, Sample) else self.s
