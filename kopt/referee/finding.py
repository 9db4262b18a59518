"""What one instance shows to be wrong, before the instances are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kopt.referee.verdict import Kind

if TYPE_CHECKING:
    from kopt.referee.trial import Trial

Sentences = tuple[str, str, str]


@dataclass(frozen=True)
class Finding:
    """A fault as it shows on one instance.

    say       what / why / fix, given the factor in words
    factor    the number that becomes the factor
    point     dual variables where it shows, with the claimed and the true value there
    blocks    whether the dual allows too much, or states a wrong value: then it is no restriction
    """

    kind: Kind
    where: str
    trial: Trial
    say: Callable[[str], Sentences]
    factor: float | None = None
    point: np.ndarray | None = None
    claimed: float = np.nan
    true: float = np.nan
    blocks: bool = True
