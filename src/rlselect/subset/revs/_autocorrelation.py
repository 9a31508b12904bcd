"""Whether neighbouring rows are so much alike that a selection is too sure of itself."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect._compat import user_level
from rlselect.kernels import score_and_curvature
from rlselect.subset.revs._problem import COUNTS, Problem
from rlselect.subset.revs.evidence import Fit, OutcomeFit

Floats = NDArray[np.float64]

# consecutive rows that are looked at, and the fewest that say anything
_MOST_ROWS = 5000
_FEWEST_ROWS = 30
_LAGS = 20
# changes of the response from row to row, up to which rows lie in piles
_PILES = 4
# columns beside the selected ones by which rows are told from copies
_COMPARED = 50
# residuals of numbers so small beside them are what rounding leaves, whose order says nothing
_ROUNDING = 1e-9
# one in a thousand, one-sided
_SURE = 3.09
# evidence that is too large by less than a third changes few inclusions
_INFLATED = 1.33


class AutocorrelationWarning(UserWarning):
    """Residuals of neighbouring rows are alike, and so are values of a selected variable."""


class Alike(NamedTuple):
    """How much rows that follow each other are alike.

    `first` is the correlation of neighbouring residuals, `z` says how sure it is, and `inflation` how many
    times too large the evidence for each column is.
    """

    first: float
    z: float
    inflation: Floats


def neighbours_alike(residual: Floats, columns: Floats) -> Alike:
    """Correlation of residuals in the order of the rows, and what it does to the evidence for columns.

    Parameters
    ----------
    residual : array of shape (n,) or (n, q)
        Of equal variance; classes have several each.
    columns : array of shape (n, k)
        Columns of the model.
    """
    r = residual.reshape(len(residual), -1)
    r = r - r.mean(axis=0)
    products = np.vecdot(r[1:], r[:-1])
    # each product has a variance of its own: neither heavy tails nor classes make it larger than it is
    z = float(products.sum()) / max(float(np.linalg.norm(products)), 1e-300)
    x = columns - columns.mean(axis=0)
    inflation = np.ones(x.shape[1])
    square, squares = max(float(np.vdot(r, r)), 1e-300), np.maximum(np.einsum("ij,ij->j", x, x), 1e-300)
    first = float(products.sum()) / square
    for lag in range(1, min(_LAGS, len(r) - 1) + 1):
        own = float(np.vdot(r[lag:], r[:-lag])) / square
        if own < 2.0 / np.sqrt(len(r)):
            break
        inflation += 2.0 * own * np.einsum("ij,ij->j", x[lag:], x[:-lag]) / squares
    return Alike(first, z, inflation)


def _residuals(problem: Problem, rows: tuple, fit: Fit | OutcomeFit) -> Floats:
    """What the model leaves of the rows, (n,) or (n, q)."""
    X, y, weight, offset = rows
    if isinstance(fit, OutcomeFit):
        assert problem.outcome is not None
        outcome = problem.outcome.make(y, None if weight is None else (weight > 0).astype(float), offset)
        order = np.arange(len(y)) if outcome.order is None else outcome.order
        residual = np.empty((len(y), outcome.n_predictors))
        residual[order] = outcome.at(fit.own, (X[order] @ fit.coef).T).score.T
        return residual
    eta = X @ fit.coef + fit.intercept + (0.0 if offset is None else offset)
    family = "poisson" if problem.family in COUNTS else problem.family
    score, curvature = score_and_curvature(family, y, eta, fit.overdispersion)
    return np.asarray(score / np.sqrt(np.maximum(curvature, 1e-12)))


def warn_if_alike(problem: Problem, columns: NDArray[np.intp], fit: Fit | OutcomeFit) -> None:
    """Warn where the residuals of the final model, in the order of the rows, make its columns too sure.

    Rows that others hold are not fetched for it.
    """
    table = problem.table
    if not len(columns) or fit.separated or problem.levels is not None or table.workers is not None:
        return
    some = np.linspace(0, table.n_columns - 1, min(_COMPARED, table.n_columns)).astype(np.intp)
    read = np.union1d(columns, some)
    batch = table.first_rows(_MOST_ROWS, read)
    X = np.asarray(batch.X.toarray() if table.is_sparse else batch.X, dtype=np.float64)
    y, weight, offset = (None if v is None else np.asarray(v, dtype=np.float64) for v in batch[1:])
    assert y is not None
    # copies of a row that follow each other are one row that counts twice
    counted = np.append(True, np.any(X[1:] != X[:-1], axis=1) | (y[1:] != y[:-1]))
    X = X[:, np.searchsorted(read, columns)]
    steps = np.diff(y)
    # who has sorted the rows by the response, or put them in piles of a class, has made neighbours alike
    sorted_rows = (steps >= 0).all() or (steps <= 0).all() or np.count_nonzero(steps) <= _PILES
    if np.count_nonzero(counted) < _FEWEST_ROWS or sorted_rows:
        return
    residual = _residuals(problem, (X, y, weight, offset), fit)
    if problem.family == "gaussian" and np.abs(residual).max() <= _ROUNDING * np.abs(y).max():
        return
    counted &= True if weight is None else weight > 0
    alike = neighbours_alike(residual[counted], X[counted])
    worst = int(np.argmax(alike.inflation))
    if alike.z < _SURE or alike.inflation[worst] < _INFLATED:
        return
    warnings.warn(
        f"Residuals of neighbouring rows have the correlation {alike.first:.2g}, and values of "
        f"{table.columns[int(columns[worst])]!r} are alike too: the evidence for it counts every row "
        f"as {alike.inflation[worst]:.2g}. Where rows come in the order of time, set time_ordered=True; "
        "where they belong to clusters, give `groups`; where they were sorted, shuffle them.",
        AutocorrelationWarning,
        stacklevel=user_level(),
    )
