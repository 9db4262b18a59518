"""Kernel machines declared as a primal and a dual, refereed, solved, and certified."""

from kopt.claim import Claim, at_most, counting_claims, equal
from kopt.combination import Combination
from kopt.completion import minimise_hinges
from kopt.conversion import Conversion, Equivalent, convert, converts
from kopt.discovery import discover
from kopt.erratum import Erratum, Evidence, WrongPair, WrongStatement
from kopt.errors import DeclarationError, Infeasible, InputError, KoptError, SolverError
from kopt.formulation import Formulation, Reference
from kopt.gram import diagnose, repair
from kopt.parameters import Domain, fraction, nonnegative, parameter, positive
from kopt.point import Point
from kopt.program import Program
from kopt.referee import CounterExample, Fault, Judgement, Kind, Verdict, referee
from kopt.sample import Sample
from kopt.solution import Solution
from kopt.solvers import CertificateWarning, solve
from kopt.steps import Step, check_step, lagrangian
from kopt.task import Task
from kopt.verify import Certificate, verify
from kopt.views import View

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "CertificateWarning",
    "Claim",
    "Combination",
    "Conversion",
    "CounterExample",
    "DeclarationError",
    "Domain",
    "Equivalent",
    "Erratum",
    "Evidence",
    "Fault",
    "Formulation",
    "Infeasible",
    "InputError",
    "Judgement",
    "Kind",
    "KoptError",
    "Point",
    "Program",
    "Reference",
    "Sample",
    "Solution",
    "SolverError",
    "Step",
    "Task",
    "Verdict",
    "View",
    "WrongPair",
    "WrongStatement",
    "at_most",
    "check_step",
    "convert",
    "converts",
    "counting_claims",
    "diagnose",
    "discover",
    "equal",
    "fraction",
    "lagrangian",
    "minimise_hinges",
    "nonnegative",
    "parameter",
    "positive",
    "referee",
    "repair",
    "solve",
    "verify",
]
