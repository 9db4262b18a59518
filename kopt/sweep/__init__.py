"""A parameter's path, or a grid: each point is solved from its neighbour."""

from kopt.sweep.run import sweep
from kopt.sweep.sweep import Sweep
from kopt.sweep.sweep_point import SweepPoint

__all__ = ["Sweep", "SweepPoint", "sweep"]
