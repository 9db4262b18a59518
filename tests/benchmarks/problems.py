"""The problems that the benchmarks share."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

import kopt
from kopt.kernels import Gaussian


def mc(n: int, seed: int = 0) -> kopt.Sample:
    """Twenty features, four clusters in each class, five percent of the labels flipped: a slow kernel spectrum."""
    X, y = make_classification(
        n,
        n_features=20,
        n_informative=10,
        n_redundant=2,
        n_clusters_per_class=4,
        class_sep=1.0,
        flip_y=0.05,
        random_state=seed,
    )
    return kopt.Sample(StandardScaler().fit_transform(X), np.where(y > 0, 1, -1), kernel=Gaussian.from_gamma(1 / 20))
