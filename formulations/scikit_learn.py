"""What the machines share of scikit-learn's conventions."""

from importlib import import_module
from typing import Any

import numpy as np

from kopt import InputError


def estimator(module: str, name: str, **parameters: Any) -> Any:
    """An estimator of scikit-learn for a precomputed kernel, not fitted."""
    try:
        cls = getattr(import_module(f"sklearn.{module}"), name)
    except ModuleNotFoundError:
        raise InputError("scikit-learn is not installed.", "Install it: pip install scikit-learn.") from None
    return cls(kernel="precomputed", **parameters)


def expect(fitted: Any, name: str, n: int) -> None:
    """Refuse what is not a fitted estimator of this class, on as many points as the sample has."""
    if type(fitted).__name__ != name:
        raise InputError(f"The answer is of type {type(fitted).__name__}.", f"Give a fitted {name} of scikit-learn.")
    if not hasattr(fitted, "dual_coef_"):
        raise InputError(f"This {name} is not fitted.", "Call its fit first.")
    seen = fitted.shape_fit_[0] if hasattr(fitted, "shape_fit_") else np.shape(fitted.dual_coef_)[0]
    if seen != n:
        raise InputError(f"This {name} was fitted on {seen} points, the sample has {n}.", "Give the same data.")


def coefficients(fitted: Any, n: int) -> np.ndarray:
    """The coefficients of f = sum_i coef_i k(x_i, .) + b: LIBSVM keeps those of the support vectors only."""
    found = fitted.dual_coef_.toarray() if hasattr(fitted.dual_coef_, "toarray") else fitted.dual_coef_
    if len(found) > 1:
        raise InputError(
            f"This {type(fitted).__name__} tells {len(found) + 1} classes apart.", "Fit one with two classes."
        )
    coefficients = np.zeros(n)
    coefficients[fitted.support_] = found[0]
    return coefficients
