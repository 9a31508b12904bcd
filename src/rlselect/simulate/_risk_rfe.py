"""Designs of the risk-RFE simulations (Tables 3.1 to 3.3 of the dissertation)."""

from typing import Any

import numpy as np

__all__ = ["make_annulus", "make_rational", "make_sparse_linear"]


def make_sparse_linear(
    n_samples: int = 100,
    n_features: int = 15,
    n_informative: int = 4,
    *,
    task: str = "classification",
    noise: float = 1.0 / 3.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform features on [-1, 1] with a few linear effects drawn from {-1, -0.5, 0.5, 1} (Table 3.1).

    Parameters
    ----------
    n_samples, n_features, n_informative : int
        The first ``n_informative`` features matter.
    task : {"classification", "regression"}
        ``sign(w'x)``, or ``w'x`` plus Gaussian noise.
    noise : float, default=1/3
        Standard deviation of the noise (regression only).
    random_state : int, Generator or None

    Returns
    -------
    X, y, informative : arrays
        ``informative`` marks the features that matter.

    Examples
    --------
    >>> from rlselect.simulate import make_sparse_linear
    >>> X, y, informative = make_sparse_linear(random_state=0)
    >>> X.shape, sorted(set(y.tolist())), int(informative.sum())
    ((100, 15), [-1.0, 1.0], 4)
    """
    if task not in ("classification", "regression"):
        raise ValueError(f"task={task!r} is not known; use 'classification' or 'regression'")
    if not 0 <= n_informative <= n_features:
        raise ValueError(f"n_informative={n_informative} must be between 0 and n_features={n_features}")
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    weights = rng.choice([-1.0, -0.5, 0.5, 1.0], size=n_informative)
    signal = X[:, :n_informative] @ weights
    informative = np.arange(n_features) < n_informative
    if task == "classification":
        return X, np.where(signal > 0, 1.0, -1.0), informative
    return X, signal + noise * rng.normal(size=n_samples), informative


def make_annulus(
    n_samples: int = 200, n_features: int = 10, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform on [-2, 2]; class 1 where the first two features both lie in [-1, 1], class -1 elsewhere
    (Table 3.2).

    Returns
    -------
    X, y, informative : arrays

    Examples
    --------
    >>> from rlselect.simulate import make_annulus
    >>> X, y, informative = make_annulus(50, random_state=0)
    >>> bool(((abs(X[:, :2]).max(axis=1) <= 1) == (y == 1)).all())
    True
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-2.0, 2.0, size=(n_samples, n_features))
    inside = np.abs(X[:, :2]).max(axis=1) <= 1.0
    return X, np.where(inside, 1.0, -1.0), np.arange(n_features) < 2


def make_rational(
    n_samples: int = 200, n_features: int = 10, *, a1: float = 2.0, a2: float = 0.25, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``y = a1 x1 x2 / (1 + a2 x1)^2`` with features uniform on [-2, 2] and no noise (Table 3.3).

    The function has a pole inside the domain when ``a2 >= 0.5``, which is refused.

    Returns
    -------
    X, y, informative : arrays

    Examples
    --------
    >>> from rlselect.simulate import make_rational
    >>> X, y, informative = make_rational(50, random_state=0)
    >>> bool(abs(y - 2 * X[:, 0] * X[:, 1] / (1 + X[:, 0] / 4) ** 2).max() < 1e-12)
    True
    """
    if not (a1 > 0 and 0 < a2 < 0.5):
        raise ValueError(
            f"a1 must be > 0 and a2 in (0, 0.5) to keep the pole out of [-2, 2], got a1={a1}, a2={a2}"
        )
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-2.0, 2.0, size=(n_samples, n_features))
    y = a1 * X[:, 0] * X[:, 1] / np.square(1.0 + a2 * X[:, 0])
    return X, y, np.arange(n_features) < 2
