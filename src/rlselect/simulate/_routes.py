"""Cases that need different columns: the first one tells which other counts."""

from typing import Any

import numpy as np

from rlselect.simulate._simulation import Simulation, check_common

__all__ = ["make_routes"]


def make_routes(n: int = 2000, p: int = 20, *, n_routes: int = 4, random_state: Any = None) -> Simulation:
    """Simulate two classes by a column that differs from case to case.

    The first column is one of 0, ..., ``n_routes - 1``, at random; with the value r, the class is the sign of
    column r + 1, and no other column says anything about it. All but the first column are N(0, 1). For
    everyone ``n_routes + 1`` columns matter, for a single case two: what a datum-wise learner has to find.

    Parameters
    ----------
    n : int, default=2000
        Rows.
    p : int, default=20
        Columns, at least ``n_routes + 1``.
    n_routes : int, default=4
        Columns that the first one chooses among.
    random_state : None, int, SeedSequence or Generator, default=None
        Anything :func:`numpy.random.default_rng` takes. The same seed gives the same data.

    Returns
    -------
    Simulation
        ``coef`` is NaN where a column matters.

    Examples
    --------
    >>> from rlselect.simulate import make_routes
    >>> data = make_routes(50, 8, random_state=0)
    >>> chosen = data.X[range(50), 1 + data.X[:, 0].astype(int)]
    >>> bool(((chosen > 0) == (data.y == 1)).all()), int(data.support.sum())
    (True, 5)
    """
    check_common(n, p, n_routes, "gaussian", 1.0)
    if p < n_routes + 1:
        raise ValueError(
            f"p={p} was given with n_routes={n_routes}; give p of at least {n_routes + 1}: one column that "
            "chooses, and those it chooses among."
        )
    if n_routes < 1:
        raise ValueError(f"n_routes={n_routes!r} was given; it must be at least 1.")
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, p))
    X[:, 0] = rng.integers(0, n_routes, size=n)
    y = (X[np.arange(n), 1 + X[:, 0].astype(int)] > 0).astype(np.int64)
    support = np.arange(p) <= n_routes
    return Simulation(X, y, np.where(support, np.nan, 0.0), 0.0, support)
