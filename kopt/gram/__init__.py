"""The Gram matrix K_ij = k(x_i, x_j): formed as little as the question allows, diagnosed, and repaired on request."""

from kopt.gram.alignment import alignment, centred_alignment
from kopt.gram.diagnosis import Diagnosis, check_positive_semidefinite, diagnose
from kopt.gram.frobenius import FrobeniusProducts
from kopt.gram.gram import Gram
from kopt.gram.repair import Repair, repair

__all__ = [
    "Diagnosis",
    "FrobeniusProducts",
    "Gram",
    "Repair",
    "alignment",
    "centred_alignment",
    "check_positive_semidefinite",
    "diagnose",
    "repair",
]
