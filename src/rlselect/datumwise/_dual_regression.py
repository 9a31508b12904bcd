"""The regression of `shared_fit` by its dual, for more regressors than states to learn them from."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_solve, cholesky

from rlselect.datumwise._encoding import Precision
from rlselect.datumwise._folds import left_out

__all__ = ["JITTER", "Targets", "dual_fit", "prior_covariance"]

# what to explain in some states where a fold is left out
Targets: TypeAlias = Callable[[int, NDArray], NDArray]

# The constant is free but for this share of its weight.
JITTER = 1e-9


def dual_fit(
    design: Any,
    targets: Targets,
    weights: NDArray,
    folds: NDArray,
    stages: NDArray,
    n_stages: int,
    ridge: float,
    precision: Precision,
    n_folds: int,
) -> list[NDArray]:
    """`shared_fit` from the covariances of the states: a matrix of states x states is factored.

    With prior covariance C of the weights, states Z without the constant and weights w, the fit is
    ``C Z' a`` with ``(Z C Z' + ridge / w) a = targets - constant``; what it leaves over is ``ridge a / w``.
    The matrix of one stage is part of that of all states: with the states of the largest stage in front, its
    factor is the first part of the whole factor.

    Parameters
    ----------
    design : (states, width) sparse array
        Regressors, the constant first.
    targets, weights, folds, stages, n_stages, ridge, precision, n_folds
        As for `shared_fit`.

    Returns
    -------
    list of (stages, width, actions) arrays
        As `shared_fit`.
    """
    largest = int(np.argmax(np.bincount(stages)))
    order = np.lexsort((stages, stages != largest))
    shown, folds, stages = design[order][:, 1:], folds[order], stages[order]
    weights = weights[order]
    spread = shown @ prior_covariance(precision[0][1:], precision[1][1:])
    covariance = (spread @ shown.T).toarray()
    fits = []
    for fold in left_out(n_folds):
        kept = np.flatnonzero(folds != fold)
        part = covariance if len(kept) == len(folds) else covariance[np.ix_(kept, kept)]
        back = sparse.csr_array(spread[kept].T)
        fits.append(
            _fit(part, back, targets(fold, order[kept]), weights[kept], stages[kept], n_stages, ridge)
        )
    return fits


def _fit(
    covariance: NDArray,
    back: Any,
    targets: NDArray,
    weights: NDArray,
    stages: NDArray,
    n_stages: int,
    ridge: float,
) -> NDArray:
    """Weights of all stages; the states of each stand side by side, those of the largest in front."""
    noisy = covariance.copy()
    noisy[np.diag_indices_from(noisy)] += ridge / weights
    factor = cholesky(noisy, lower=True, check_finite=False)
    shared, dual = _solve(factor, back, targets, weights, ridge)
    out = np.repeat(shared[None], n_stages, axis=0)
    if n_stages == 1:
        return out
    left = ridge * dual / weights[:, None]
    for stage in np.unique(stages):
        own = np.flatnonzero(stages == stage)
        block = slice(int(own[0]), int(own[-1]) + 1)
        if block.start == 0:
            mine = factor[block, block]
        else:
            mine = cholesky(noisy[block, block], lower=True, check_finite=False)
        out[stage] += _solve(mine, back[:, own], left[block], weights[block], ridge)[0]
    return out


def _solve(
    factor: NDArray, back: Any, targets: NDArray, weights: NDArray, ridge: float
) -> tuple[NDArray, NDArray]:
    """Weights with the constant in front, and the dual variables."""
    ones = np.ones((len(targets), 1))
    both = cho_solve((factor, True), np.hstack([targets, ones]), check_finite=False)
    dual, unit = both[:, :-1], both[:, -1]
    free = JITTER * max(float(weights.sum()), 1.0) / ridge
    constant = dual.sum(axis=0) / (unit.sum() + free)
    dual = dual - unit[:, None] * constant
    out = np.empty((1 + back.shape[0], len(constant)))
    out[0], out[1:] = constant, back @ dual
    return out, dual


def prior_covariance(diagonal: NDArray, beside: NDArray) -> sparse.csr_array:
    """Inverse (m, m) of a tridiagonal matrix that falls into small blocks, where its off-diagonal is zero."""
    starts = np.concatenate([[0], 1 + np.flatnonzero(beside == 0)])
    sizes = np.diff(np.append(starts, len(diagonal)))
    beside = np.append(beside, 0.0)
    rows, columns, values = [], [], []
    for size in np.unique(sizes):
        place = starts[sizes == size][:, None] + np.arange(size)
        blocks = np.zeros((len(place), size, size))
        step = np.arange(size)
        blocks[:, step, step] = diagonal[place]
        blocks[:, step[1:], step[:-1]] = blocks[:, step[:-1], step[1:]] = beside[place[:, :-1]]
        values.append(np.linalg.inv(blocks).ravel())
        rows.append(np.repeat(place, size, axis=1).ravel())
        columns.append(np.tile(place, (1, size)).ravel())
    where = np.concatenate(rows), np.concatenate(columns)
    shape = (len(diagonal), len(diagonal))
    return sparse.coo_array((np.concatenate(values), where), shape=shape).tocsr()
