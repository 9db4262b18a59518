"""Single lines of a derivation: the Lagrangian of a program, stationary points, substitutions."""

from kopt.steps.lagrangian import lagrangian
from kopt.steps.step import Line, Step, check_step

__all__ = ["Line", "Step", "check_step", "lagrangian"]
