"""Losses, one per file: whatever `Loss` subclass a module here defines is exported; nothing is registered.

>>> import cvxpy as cp
>>> from kopt import losses
>>> losses.Huber(delta=0.5).conjugate_domain
(-0.5, 0.5)
>>> factor, loss, inner = losses.read(3 * cp.pos(1 - cp.Variable(4, name="m")))
>>> factor, loss
(3.0, Hinge())
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from kopt.losses.loss import Formula as Formula
from kopt.losses.loss import Loss as Loss
from kopt.losses.loss import On as On
from kopt.losses.loss import Reading


def _discover() -> dict[str, type[Loss]]:
    found = {}
    for entry in iter_modules(__path__):
        module = import_module(f"{__name__}.{entry.name}")
        for name, item in vars(module).items():
            if isinstance(item, type) and issubclass(item, Loss) and item.__module__ == module.__name__:
                found[name] = item
    return found


def read(expression: cp.Expression) -> Reading | None:
    """(factor, loss, inner) with expression = factor * loss at an affine inner, entry by entry; None for no loss here.

    The natural spellings in CVXPY are known: pos(z) is the hinge loss at 1 - z, cp.huber(z, M) is twice Huber's loss.
    """
    for loss in _losses.values():
        reading = loss.read(expression)
        if reading is not None:
            return reading
    return None


_losses = _discover()
globals().update(_losses)
__all__ = sorted([*_losses, "Formula", "On", "read"])

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
