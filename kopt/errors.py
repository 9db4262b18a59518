"""Errors in two sentences: what is wrong, with the number; and what to do about it."""


class KoptError(Exception):
    """Base of every error that kopt raises on purpose."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} {remedy}")
        self.what = what
        self.remedy = remedy


class InputError(KoptError, ValueError):
    """The data, a parameter or an answer cannot be used as it is."""


class ParameterError(InputError):
    """A parameter lies outside its domain."""


class NotLearnt(InputError, AttributeError):
    """A solution was asked for a kernel that its formulation does not learn; to `hasattr`, it has none."""


class NoDual(InputError):
    """A formulation without a dual was asked for what needs one."""

    def __init__(self, name: str, remedy: str = "Define `def dual(self, s)`: there is nothing to judge yet.") -> None:
        super().__init__(f"{name} declares no dual.", remedy)


class DeclarationError(KoptError, TypeError):
    """A formulation or a program does not say what the engine needs to know."""


class SolverError(KoptError, RuntimeError):
    """A solver is missing, or none of those tried returned an answer."""


class Infeasible(KoptError, ValueError):
    """The problem has no solution; `ray` is the checked proof of it."""

    def __init__(self, what: str, remedy: str, ray: object = None) -> None:
        super().__init__(what, remedy)
        self.ray = ray
