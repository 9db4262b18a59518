"""One thread of linear algebra for each worker of the gate: two that share a core spend their time waiting."""

import os

# Read when NumPy and SciPy are imported; workers and the processes that tests start inherit it.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
