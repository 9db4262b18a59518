"""From a primal to its textbook dual, with the derivation written out."""

from kopt.derive.cannot import CannotDerive
from kopt.derive.derivation import Derivation, Unconfirmed, derive, derived_dual

__all__ = ["CannotDerive", "Derivation", "Unconfirmed", "derive", "derived_dual"]
