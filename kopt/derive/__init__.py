"""From a primal to its textbook dual, with the derivation written out."""

from kopt.derive.cannot import CannotDerive
from kopt.derive.derivation import Derivation, derive, derived_dual

__all__ = ["CannotDerive", "Derivation", "derive", "derived_dual"]
