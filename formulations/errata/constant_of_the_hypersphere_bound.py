"""The constant in the stability bound of the hyperspheres."""

import numpy as np

from formulations.errata.samples import noisy_sine
from kopt import Claim, Reference, WrongStatement, equal


class ConstantOfTheHypersphereBound(WrongStatement):
    """The terms that the proof collects add up to twice the printed one: the factor 2 of its third line got lost.

    Theorem 4.17 has the factor. Theorems 7.9 and 7.12 and Corollary 7.14 repeat the constant. What is refuted is the
    proof: a contraction lemma without absolute values, which the text does not have, gives the printed constant.
    """

    reference = Reference("Shawe-Taylor and Cristianini", "Theorem 7.5, proof")
    printed = "the lemmas quoted in the proof give 6 R^2 / (gamma sqrt(l))"
    correct = "they give 12 R^2 / (gamma sqrt(l))"

    def claims(self) -> tuple[Claim, Claim]:
        """The proof's terms for a kernel with k(x, x) = R^2, for which its inequalities are equalities."""
        K, gamma = noisy_sine().gram().dense, 0.4
        n, R = len(K), np.sqrt(K.diagonal().max())
        linear = 2 / n * np.sqrt(np.sum(4 * K.diagonal() / R**2))
        shift = 2 * np.sqrt(np.mean(K.diagonal() ** 2 / R**4) / n)
        complexity = 2 * R**2 / gamma * (linear + shift)
        return (
            equal("2 R^2/gamma (R(F) + 2/sqrt(l)) = 6 R^2/(gamma sqrt(l))", complexity, 6 * R**2 / gamma / n**0.5),
            equal("2 R^2/gamma (R(F) + 2/sqrt(l)) = 12 R^2/(gamma sqrt(l))", complexity, 12 * R**2 / gamma / n**0.5),
        )
