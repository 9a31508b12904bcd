"""The six true functions of the Actor-Critic-Predictor paper."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from rlselect.simulate._simulation import Simulation, check_common

FUNCTIONS = ("linear", "correlated", "interaction", "network", "logistic", "multiclass")

_N_TRUE = 8
_CORRELATION = 0.9
_HIDDEN = 32
_N_CLASSES = 5
# The terms of the third function; a column alone, or two columns whose product enters.
_TERMS = ((0,), (1, 2), (3,), (4, 5), (6,), (7,))


def make_acp(
    n: int = 200,
    p: int = 50,
    *,
    function: str | int = "linear",
    noise: float = 0.5,
    random_state: Any = None,
) -> Simulation:
    r"""Simulate one of the six true functions of the ACP paper [1]_ (its Table 1).

    The first eight columns matter, whatever the function. With the noise
    :math:`\epsilon \sim N(0, \text{noise}^2)`:

    1. ``"linear"``: :math:`y = \sum_{j \leq 8} x_j + \epsilon`, independent N(0, 1) columns.
    2. ``"correlated"``: the same sum, columns with unit variance and correlation :math:`0.9^{|i-j|}`.
    3. ``"interaction"``: :math:`y = x_1 + x_2 x_3 + x_4 + x_5 x_6 + x_7 + x_8 + \epsilon`, independent
       columns. The mean of y does not depend on any of the four in the products alone.
    4. ``"network"``: :math:`y = W_2^\top \text{relu}(W_1 x_{1..8}) + \epsilon` with 32 hidden units,
       independent columns; the weights are drawn anew with each data set.
    5. ``"logistic"``: a coin with success probability :math:`1 / (1 + e^{-\sum_{j \leq 8} x_j})`.
    6. ``"multiclass"``: five classes, each of two Gaussian clouds at corners of a cube in the first eight
       columns (:func:`sklearn.datasets.make_classification` with its defaults).

    Parameters
    ----------
    n : int, default=200
        Rows.
    p : int, default=50
        Columns, at least 8.
    function : str or int, default="linear"
        A name from the list above or its number, 1 to 6.
    noise : float, default=0.5
        Standard deviation of the noise; the classes of 5 and 6 have no such parameter and ignore it.
    random_state : None, int, SeedSequence or Generator, default=None
        Anything :func:`numpy.random.default_rng` takes. The same seed gives the same data.

    Returns
    -------
    Simulation
        ``X``, ``y``, ``coef``, ``intercept``, ``support``. ``coef`` is NaN at a column that matters without a
        coefficient of its own: all eight of 4 and 6, the four in the products of 3.

    Notes
    -----
    The paper does not say how the weights of the network are drawn; here all are N(0, 1), so that the signal
    has a standard deviation of about 10 and the noise is slight. It calls scikit-learn's generator with
    shuffled columns; here the columns keep their order, so that the eight are known, and the rows are
    shuffled. The cost is O(n p).

    References
    ----------
    .. [1] Y. Le, Y. Bai, F. Zhou (2025). "Reinforced variable selection". Statistical Theory and Related
       Fields, https://doi.org/10.1080/24754269.2025.2516346.

    Examples
    --------
    >>> from rlselect.simulate import make_acp
    >>> data = make_acp(100, 30, function="interaction", random_state=0)
    >>> data.X.shape, int(data.support.sum())
    ((100, 30), 8)
    >>> data.coef[:9]
    array([ 1., nan, nan,  1., nan, nan,  1.,  1.,  0.])
    """
    name = _name(function)
    check_common(n, p, _N_TRUE, "gaussian", 1.0)
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise={noise!r} was given; it must be a finite number of at least 0.")
    if p < _N_TRUE:
        raise ValueError(f"p={p} was given, but {_N_TRUE} columns matter; give p of at least {_N_TRUE}.")
    rng = np.random.default_rng(random_state)
    support = np.arange(p) < _N_TRUE
    coef = np.where(support, 1.0, 0.0)
    if name == "multiclass":
        X, labels = _clouds(n, p, rng)
        coef[support] = np.nan
        return Simulation(X, labels, coef, 0.0, support)
    X = rng.standard_normal((n, p))
    if name == "correlated":
        _correlate(X)
    true = X[:, :_N_TRUE]
    if name == "interaction":
        signal = sum((true[:, list(term)].prod(axis=1) for term in _TERMS), np.zeros(n))
        coef[[j for term in _TERMS if len(term) > 1 for j in term]] = np.nan
    elif name == "network":
        signal = _network(true, rng)
        coef[support] = np.nan
    else:
        signal = true.sum(axis=1)
    y: NDArray[Any]
    if name == "logistic":
        y = (rng.logistic(size=n) < signal).astype(np.int64)
    else:
        y = signal + noise * rng.standard_normal(n)
    return Simulation(X, y, coef, 0.0, support)


def _name(function: str | int) -> str:
    """The name of a function given by name or number."""
    if isinstance(function, Integral) and not isinstance(function, bool) and 1 <= function <= len(FUNCTIONS):
        return FUNCTIONS[int(function) - 1]
    if isinstance(function, str) and function in FUNCTIONS:
        return function
    raise ValueError(
        f"function={function!r} was given; choose one of {', '.join(map(repr, FUNCTIONS))}, or 1 to "
        f"{len(FUNCTIONS)}."
    )


def _correlate(X: NDArray[np.float64]) -> None:
    """Turn independent columns, in place, into those with correlation .9 to the power of the distance."""
    for j in range(1, X.shape[1]):
        X[:, j] *= np.sqrt(1.0 - _CORRELATION**2)
        X[:, j] += _CORRELATION * X[:, j - 1]


def _network(true: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    first = rng.standard_normal((_HIDDEN, _N_TRUE))
    second = rng.standard_normal(_HIDDEN)
    return np.maximum(true @ first.T, 0.0) @ second


def _clouds(n: int, p: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """scikit-learn's classes with the columns that matter in front."""
    X, y = make_classification(
        n_samples=n,
        n_features=p,
        n_informative=_N_TRUE,
        n_redundant=0,
        n_repeated=0,
        n_classes=_N_CLASSES,
        shuffle=False,
        random_state=int(rng.integers(2**31)),
    )
    order = rng.permutation(n)
    return np.ascontiguousarray(X[order]), y[order].astype(np.int64)
