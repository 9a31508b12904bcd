"""abess (sizes 0-60, its EBIC) on 10,000 random rows."""

import numpy as np

from peers import abess_ebic

NAME = "abess on 10,000 rows, EBIC"
FAMILIES = ("gaussian", "binomial")
ROWS = 10_000

available = abess_ebic.available


def measure(X, y, family, *, seed):
    rows = np.sort(np.random.default_rng(seed).choice(len(y), size=min(ROWS, len(y)), replace=False))
    support = abess_ebic.select(X[rows], y[rows], family, seed=seed)
    return {"support": support, "rows_read": len(rows)}
