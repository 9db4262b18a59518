"""The covariance matrix of two views taken together."""

import numpy as np

from formulations.errata.spectra import centred, cloud
from kopt import Claim, Reference, WrongStatement, equal


class BlocksOfTheJointCovariance(WrongStatement):
    """Row block a and column block b hold the mean of phi_a phi_b', which is C_ab; the print has them exchanged.

    For views of different dimensions the printed blocks do not even fit. (6.22) and Remark 6.38 have them right.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "(6.19) and the display after it")
    printed = "C = [C_aa, C_ba; C_ab, C_bb]"
    correct = "C = [C_aa, C_ab; C_ba, C_bb]"

    def claims(self) -> tuple[Claim, Claim]:
        """Two views of three features each."""
        a, b = centred(cloud(d=3)), centred(cloud(d=3, seed=3))
        joint = np.hstack([a, b])
        C, C_aa, C_ab, C_bb = (left.T @ right / len(a) for left, right in ((joint, joint), (a, a), (a, b), (b, b)))
        exchanged, correct = np.block([[C_aa, C_ab.T], [C_ab, C_bb]]), np.block([[C_aa, C_ab], [C_ab.T, C_bb]])
        scale = float(np.linalg.norm(C))
        return (
            equal("||C - [C_aa, C_ba; C_ab, C_bb]|| = 0", np.linalg.norm(C - exchanged), 0.0, scale),
            equal("||C - [C_aa, C_ab; C_ba, C_bb]|| = 0", np.linalg.norm(C - correct), 0.0, scale),
        )
