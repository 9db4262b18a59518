"""Kernels, one per file: whatever `Kernel` subclass a module here defines is exported; nothing is registered.

>>> from kopt.kernels import Gaussian, Linear
>>> Gaussian(sigma=1.0) + 2.0 * Linear()
Gaussian(sigma=1.0) + 2.0 * Linear()
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from kopt.kernels.kernel import Kernel as Kernel


def _discover() -> dict[str, type[Kernel]]:
    found = {}
    for entry in iter_modules(__path__):
        module = import_module(f"{__name__}.{entry.name}")
        for name, item in vars(module).items():
            if isinstance(item, type) and issubclass(item, Kernel) and item.__module__ == module.__name__:
                found[name] = item
    return found


_kernels = _discover()
globals().update(_kernels)
__all__ = sorted(_kernels)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
