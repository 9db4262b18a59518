"""Solvers, one method per file, and the choice between them."""

from kopt.solvers.solve import CertificateWarning, solve
from kopt.solvers.solver import RawAnswer, Solver

__all__ = ["CertificateWarning", "RawAnswer", "Solver", "solve"]
