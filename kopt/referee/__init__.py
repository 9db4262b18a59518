"""The claimed dual against the Lagrangian."""

from kopt.referee.referee import referee
from kopt.referee.verdict import CounterExample, Fault, Judgement, Kind, Verdict

__all__ = ["CounterExample", "Fault", "Judgement", "Kind", "Verdict", "referee"]
