"""Solvers, one method per file, and the choice between them."""

from kopt.solvers.problem import Problem
from kopt.solvers.solve import CertificateWarning, solve
from kopt.solvers.solver import RawAnswer, Solver
from kopt.watch import Progress, Watch

__all__ = ["CertificateWarning", "Problem", "Progress", "RawAnswer", "Solver", "Watch", "solve"]
