"""How many threads everybody has. It imports nothing that starts any."""

import os

THREADS = 2
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def limit_threads() -> None:
    """To be called before NumPy, Numba or a solver is imported; processes started from here inherit it."""
    for name in VARIABLES:
        os.environ[name] = str(THREADS)


def limit_onedal() -> None:
    """oneDAL listens to nothing but this; where it is not installed nothing has to be limited."""
    try:
        from daal4py import daalinit
    except ModuleNotFoundError:
        return
    daalinit(THREADS)
