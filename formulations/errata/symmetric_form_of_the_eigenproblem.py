"""From the generalised to the symmetric eigenvalue problem."""

import numpy as np

from formulations.errata.spectra import centred, cloud, root
from kopt import Claim, Reference, WrongStatement, equal


class SymmetricFormOfTheEigenproblem(WrongStatement):
    """Premultiplying by B^(1/2) leaves B^(1/2) A B^(-1/2) v = lambda B v, which is not (6.18); B^(-1/2) gives it."""

    reference = Reference("Shawe-Taylor and Cristianini", "Section 6.4, before (6.18)")
    printed = "(6.18) is (6.17) premultiplied by B^(1/2), with w = B^(-1/2) v"
    correct = "(6.18) is (6.17) premultiplied by B^(-1/2), with w = B^(-1/2) v"

    def claims(self) -> tuple[Claim, Claim]:
        """Both products for two covariance matrices and an arbitrary lambda."""
        (A, B), level = (np.cov(centred(cloud(seed=seed)), rowvar=False) for seed in (0, 3)), 0.7
        half, inverse = root(B, 0.5), root(B, -0.5)
        pencil = (A - level * B) @ inverse
        standard = inverse @ A @ inverse - level * np.eye(4)
        scale = float(np.linalg.norm(standard))
        return (
            equal("||B^(1/2) (A - t B) B^(-1/2) - (6.18)|| = 0", np.linalg.norm(half @ pencil - standard), 0.0, scale),
            equal(
                "||B^(-1/2) (A - t B) B^(-1/2) - (6.18)|| = 0", np.linalg.norm(inverse @ pencil - standard), 0.0, scale
            ),
        )
