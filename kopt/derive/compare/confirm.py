"""Nothing is compared with a derived dual that is wrong, or wrongly written, on the very instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kopt.derive.derivation import Unconfirmed
from kopt.derive.document import Document
from kopt.derive.printed import printed_dual_agrees
from kopt.formulation import Formulation
from kopt.referee.claimed import Claimed
from kopt.referee.evidence import gathered
from kopt.referee.instances import Instance
from kopt.referee.judge import judged
from kopt.referee.trial import Trial
from kopt.referee.verdict import Judgement

REPORT = "Report the primal: this is a fault of kopt.derive."


def confirmed(instance: Instance, document: Document, constants: Mapping[str, Any]) -> Claimed:
    """The derived dual as the referee reads it, which calls it exact; refused where it does not."""
    given = instance.formulation
    # The recovery is the author's, and no part of the dual.
    body = {"dual": lambda self, s: document.dual.program(s), "recover": Formulation.recover, "__module__": __name__}
    derived = type(type(given).__name__, (type(given),), body)(**vars(given))
    trial = Trial(replace(instance, formulation=derived), np.random.default_rng(0))
    judgement, _ = judged(gathered([trial]))
    if judgement is not Judgement.EXACT:
        raise Unconfirmed(f"The referee calls the derived dual {judgement.word}, not exact.", REPORT)
    if not printed_dual_agrees(document, trial.claimed.in_coordinates, constants):
        raise Unconfirmed("The formulas of the derived dual do not evaluate to it.", REPORT)
    return trial.claimed
