"""Screening before the search: variables without any rank worth a look are left out.

A variable keeps the better of its ranks under several scores, so that one with no marginal effect survives
when it matters in a product with another one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import OutOfTime, present_clock, stop_if_late, while_time
from rlselect._limits import seconds_for
from rlselect.data import Units
from rlselect.subset.acp.masked import MaskedPredictor

Array = NDArray[np.float64]
# how many pairs may join a subset before the search
_MEETINGS = 6
# larger than in all of so many permutations is a correlation by chance in one of twenty data sets
_PERMUTATIONS = 19
_ROUNDS = 6
# all pairs of so many columns are looked at
_FOR_PAIRS = 2000
# additions that are tried between two looks at a clock
_PARCEL = 32


def marginal_score(X: Array, Y: Array) -> Array:
    """Squared correlation of each column with the response (sure independence screening)."""
    return np.square(X.T @ Y).sum(axis=1)


def projection_score(X: Array, Y: Array) -> Array:
    """Size of the coefficient of each column in a ridge regression on all of them (HOLP).

    Where columns are correlated it finds the ones behind a correlation, from the n x n side.
    """
    n, p = X.shape
    if n <= p:
        outer = X @ X.T
        outer[np.diag_indices(n)] += 0.1 * p
        coef = X.T @ np.linalg.solve(outer, Y)
    else:
        gram = X.T @ X
        gram[np.diag_indices(p)] += 0.1 * n
        coef = np.linalg.solve(gram, X.T @ Y)
    return np.square(coef).sum(axis=1)


def promising(X: Array, residual: Array, first: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Columns that are worth a look together with others: all, unless there are too many for their pairs.

    Of more, those with the best of three ranks: how much the residual, alone and with the square of the
    column, and the size of the residual move with it. A factor of a product without any effect of its own
    still makes the response wider where it is far from zero.

    Parameters
    ----------
    X : array of shape (n, p)
    residual : array of shape (n, q)
    first : bool array of shape (p,)
        Columns that are kept anyway.

    Returns
    -------
    int array
        Columns, sorted.
    """
    p = X.shape[1]
    if p <= _FOR_PAIRS:
        return np.arange(p)
    squares = np.square(X)
    squares -= squares.mean(axis=0)
    squares /= np.maximum(squares.std(axis=0), 1e-12)
    size = np.square(residual - residual.mean(axis=0)).sum(axis=1, keepdims=True)
    scores = [marginal_score(X, residual)]
    scores += [marginal_score(squares, r - r.mean(axis=0)) for r in (residual, size)]
    return best_ranked(scores, Units(np.arange(p)), _FOR_PAIRS, first)


def product_score(X: Array, residual: Array) -> Array:
    """Largest squared correlation of a residual with a product of each column with any column."""
    left = present_clock().left
    if left is not None and seconds_for(2.0 * X.size * X.shape[1] * (1 + residual.shape[1])) > left:
        raise OutOfTime
    return np.asarray(_product_correlations(X, residual, _product_sizes(X)).max(axis=1))


def _product_sizes(X: NDArray) -> NDArray:
    """Sums of squares of all products of two columns."""
    squares = np.square(X)
    return np.asarray(np.maximum(squares.T @ squares, 1e-12))


def _product_correlations(X: NDArray, residual: Array, sizes: NDArray) -> NDArray:
    """Squared correlations, but for a constant, of residuals with all products of two columns."""
    total = np.zeros_like(sizes)
    for r in residual.T:
        total += np.square(X.T @ (X * (r - r.mean()).astype(X.dtype)[:, None]))
    return np.asarray(total / sizes)


def best_pairs(X: Array, residual: Array, count: int) -> NDArray[np.intp]:
    """Pairs of different columns whose products correlate most with a residual, best first.

    Returns
    -------
    int array of shape (count, 2)
    """
    score = np.triu(_product_correlations(X, residual, _product_sizes(X)), 1)
    count = min(count, X.shape[1] * (X.shape[1] - 1) // 2)
    flat = np.argsort(-score, axis=None, kind="stable")[:count]
    return np.column_stack(np.unravel_index(flat, score.shape))


class Effects(NamedTuple):
    """Columns with effects that chance does not explain.

    Attributes
    ----------
    columns : bool array of shape (p,)
        The subset to start from and all columns that joined.
    bent : bool
        Whether a product or a square did.
    residual : array of shape (n, q)
        What all these effects leave of the response.
    """

    columns: NDArray[np.bool_]
    bent: bool
    residual: Array


def surprising_effects(X: Array, Y: Array, mask: NDArray[np.bool_], rng: np.random.Generator) -> Effects:
    """Columns that chance does not explain: alone, squared, or in a product with another one.

    Rounds of least squares on a subset and on what was found so far. What correlates more with
    the residual than anything does when the rows of the residual are permuted joins, so that the number of
    products is paid for; the next round sees a smaller residual.

    Parameters
    ----------
    X : array of shape (n, p)
    Y : array of shape (n, q)
    mask : bool array of shape (p,)
        The subset to start from.
    rng : Generator

    Returns
    -------
    Effects
    """
    line = np.column_stack([np.ones(len(X)), X[:, mask]])
    residual = _least_squares_residual(line, Y)
    if 2 * line.shape[1] > len(X):
        return Effects(mask.copy(), False, residual)
    columns = promising(X, residual, mask)
    stop_if_late()
    # single precision: the largest of many correlations is far from the next by more than that
    P = np.asfortranarray(X[:, columns], dtype=np.float32)
    alone, found, sizes = mask.copy(), np.zeros((len(columns), len(columns)), dtype=bool), _product_sizes(P)
    for _ in range(_ROUNDS):
        stop_if_late()
        first, second = columns[np.array(np.nonzero(found))]
        design = np.column_stack([np.ones(len(X)), X[:, alone], X[:, first] * X[:, second]])
        if 2 * design.shape[1] > len(X):
            break
        residual = _least_squares_residual(design, Y)
        shuffled = [rng.permutation(residual) for _ in range(_PERMUTATIONS)]
        single = marginal_score(X, residual) > max(marginal_score(X, r).max() for r in shuffled)
        pairs = np.triu(_above_chance(P, residual, shuffled, sizes))
        if not np.any(single & ~alone) and not np.any(pairs & ~found):
            break
        alone, found = alone | single, found | pairs
    alone[columns[found.any(axis=0) | found.any(axis=1)]] = True
    return Effects(alone, bool(found.any()), residual)


def _least_squares_residual(design: Array, Y: Array) -> Array:
    return np.asarray(Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0])


def _above_chance(
    X: NDArray, residual: Array, shuffled: Sequence[Array], sizes: NDArray
) -> NDArray[np.bool_]:
    """Products that correlate more with a residual than any product does with a shuffled one."""
    real = _product_correlations(X, residual, sizes)
    best, limit = float(real.max()), 0.0
    for other in shuffled:
        stop_if_late()
        limit = max(limit, float(_product_correlations(X, other, sizes).max()))
        if limit >= best:
            # nothing is left that the other shuffles could take away
            break
    return np.asarray(real > limit)


def meet_partners(
    predictor: MaskedPredictor, mask: NDArray[np.bool_], pairs: NDArray[np.intp], price: float
) -> NDArray[np.bool_]:
    """Let pairs of columns join a subset together, the best first, while the best one is worth its price.

    Parameters
    ----------
    predictor : MaskedPredictor
    mask : bool array of shape (p,)
        The subset.
    pairs : int array of shape (m, 2)
    price : float
        Of one column.

    Returns
    -------
    bool array of shape (p,)
        The larger subset.
    """
    mask = mask.copy()
    for _ in range(_MEETINGS if len(pairs) else 0):
        stop_if_late()
        masks = np.repeat(mask[None], len(pairs) + 1, axis=0)
        masks[np.arange(len(pairs))[:, None], pairs] = True
        values = predictor.criterion(masks)
        paid = values[:-1] + price * (masks[:-1].sum(axis=1) - mask.sum())
        best = int(np.argmin(paid))
        if not paid[best] < values[-1]:
            break
        mask = masks[best]
    return mask


def addition_score(predictor: MaskedPredictor, mask: NDArray[np.bool_], columns: NDArray[np.intp]) -> Array:
    """Fall of a predictor's criterion when each of some columns joins a subset."""
    masks = np.repeat(mask[None], len(columns) + 1, axis=0)
    masks[1 + np.arange(len(columns)), columns] = True
    values = np.full(len(masks), np.inf)
    # out of time, columns that were not tried are worth nothing
    for start in while_time(range(0, len(masks), _PARCEL)):
        part = slice(start, start + _PARCEL)
        values[part] = predictor.criterion(masks[part])
    return np.asarray(values[0] - values[1:])


def best_of_columns(score: Array, units: Units) -> Array:
    """A unit's score is that of its best column."""
    return np.array([score[c].max() for c in units.columns])


def best_ranked(scores: Sequence[Array], units: Units, keep: int, first: NDArray[np.bool_]) -> NDArray:
    """Units with the best of several ranks.

    Parameters
    ----------
    scores : sequence of arrays of shape (p,)
        One value per column, more is better; a unit has that of its best column.
    units : Units
    keep : int
    first : bool array of shape (n_units,)
        Units that are kept anyway.

    Returns
    -------
    int array
        Units, sorted.
    """
    rank = np.full(units.n_units, units.n_units)
    for score in scores:
        best = best_of_columns(score, units)
        place = np.empty(units.n_units, dtype=np.intp)
        place[np.argsort(-best, kind="stable")] = np.arange(units.n_units)
        rank = np.minimum(rank, place)
    rank[first] = -1
    return np.sort(np.argsort(rank, kind="stable")[: max(keep, int(first.sum()))])
