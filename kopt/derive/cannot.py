"""What cannot be derived, and what form would do."""

from __future__ import annotations

from kopt.errors import InputError


class CannotDerive(InputError):
    """A primal whose dual does not follow by minimising over one variable at a time.

    what   the variable and the term in the way
    form   what it would need to be
    """

    def __init__(self, what: str, form: str) -> None:
        super().__init__(f"No dual is derived: {what}.", f"It would need {form}.")
