"""The random walk kernel between the nodes of a graph."""

import numpy as np

from kopt import Claim, Reference, WrongStatement, equal


class FirstTermOfTheNodeKernel(WrongStatement):
    """The geometric series of the inverse begins with the identity, the path of length 0; so does the exponential."""

    reference = Reference("Scheffer", "Similarity between Nodes, random walk kernels")
    printed = "sum_(k >= 1) lambda^k A^k = (I - lambda A)^-1"
    correct = "sum_(k >= 0) lambda^k A^k = (I - lambda A)^-1"

    def claims(self) -> tuple[Claim, Claim]:
        """A path of four nodes, with 200 terms of the series."""
        A, decay = np.eye(4, k=1) + np.eye(4, k=-1), 0.3
        inverse = np.linalg.inv(np.eye(4) - decay * A)
        from_one = np.sum([np.linalg.matrix_power(decay * A, k) for k in range(1, 200)], axis=0)
        scale = float(np.linalg.norm(inverse))
        return (
            equal("||sum from 1 - inverse|| = 0", np.linalg.norm(from_one - inverse), 0.0, scale),
            equal("||sum from 0 - inverse|| = 0", np.linalg.norm(np.eye(4) + from_one - inverse), 0.0, scale),
        )
