"""Kernel machines declared as a primal and a dual, refereed, solved, and certified."""

from kopt import losses
from kopt.claim import Claim, at_most, counting_claims, equal
from kopt.combination import Combination
from kopt.completion import minimise_hinges
from kopt.conversion import Conversion, Equivalent, convert, converts
from kopt.derive import CannotDerive, Derivation, Unconfirmed, derive, derived_dual
from kopt.discovery import discover
from kopt.erratum import Erratum, Evidence, WrongPair, WrongStatement
from kopt.errors import DeclarationError, Infeasible, InputError, KoptError, SolverError
from kopt.formulation import Formulation, Reference
from kopt.gram import alignment, centred_alignment, diagnose, repair
from kopt.parameters import Domain, fraction, nonnegative, parameter, positive
from kopt.point import Point
from kopt.program import Program
from kopt.referee import CounterExample, Fault, Judgement, Kind, Verdict, referee
from kopt.regularised_risk import regularised_risk
from kopt.sample import Sample
from kopt.solution import Solution
from kopt.solvers import CertificateWarning, solve
from kopt.steps import Step, check_step, lagrangian
from kopt.sweep import Sweep, sweep
from kopt.task import Task
from kopt.verify import Certificate, verify
from kopt.views import View

__version__ = "0.1.0"

__all__ = [
    "CannotDerive",
    "Certificate",
    "CertificateWarning",
    "Claim",
    "Combination",
    "Conversion",
    "CounterExample",
    "DeclarationError",
    "Derivation",
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
    "Sweep",
    "Task",
    "Unconfirmed",
    "Verdict",
    "View",
    "WrongPair",
    "WrongStatement",
    "alignment",
    "at_most",
    "centred_alignment",
    "check_step",
    "convert",
    "converts",
    "counting_claims",
    "derive",
    "derived_dual",
    "diagnose",
    "discover",
    "equal",
    "fraction",
    "lagrangian",
    "losses",
    "minimise_hinges",
    "nonnegative",
    "parameter",
    "positive",
    "referee",
    "regularised_risk",
    "repair",
    "solve",
    "sweep",
    "verify",
]
