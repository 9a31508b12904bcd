"""One ridge regression for all actions at once, by stages, with every fold left out in turn."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from rlselect._limits import require_memory
from rlselect.datumwise._dual_regression import JITTER, Targets, dual_fit
from rlselect.datumwise._encoding import Precision
from rlselect.datumwise._folds import left_out

__all__ = ["merge_states", "ridge_solve", "shared_fit"]

# Up to so many states per regressor the dual is faster, as it factors one matrix for all states and the
# largest stage.
_DUAL = 1.2

# products of the regressors with each other and with the targets
Moments: TypeAlias = tuple[NDArray, NDArray]


def shared_fit(
    design: Callable[[NDArray], Any],
    targets: Targets,
    weights: NDArray,
    folds: NDArray,
    stages: NDArray,
    n_stages: int,
    ridge: float,
    precision: Precision,
    n_folds: int,
    differ: bool = True,
) -> list[NDArray]:
    """Weights for all columns of the targets, without each fold and then from all states.

    A regression on all states comes first; each stage then adds its own from what is left over, under the
    same ridge, so that a stage with few states stays close to the others. One matrix is factored for each
    fold and stage, whatever the number of actions: of regressors x regressors, or of states x states where
    wide regressors have fewer states. The two agree to about 1e-9 of the largest weight.

    Parameters
    ----------
    design : callable
        ``design(states)`` gives the regressors of some states, the constant first.
    targets : callable
        ``targets(fold, states)`` gives what to explain in some states, one column per action, where a fold is
        left out; that none is left out is said by the number of folds.
    weights : (states,) array
        Weights.
    folds : (states,) int array
        Fold of each state, 0 to k - 1.
    stages : (states,) int array
        Stage of each state.
    n_stages : int
        How many there are.
    ridge : float
        Multiplies the precision.
    precision : pair of arrays
        Diagonal and off-diagonal of the prior precision of the weights.
    n_folds : int
        How many there are; there may be none of the states in one.
    differ : bool, default=True
        Whether the targets depend on the fold left out; False saves time.

    Returns
    -------
    list of (stages, width, actions) arrays
        ``k`` with a fold left out (none when k is 1), and the one from all states at the end.
    """
    if sparse.issparse(design(np.arange(0))):
        whole_design, pool, weights, folds, stages = merge_states(
            design(np.arange(len(weights))), weights, folds, stages
        )
        targets = _pooled(targets, pool)
        if len(weights) <= _DUAL * whole_design.shape[1]:
            return dual_fit(
                whole_design, targets, weights, folds, stages, n_stages, ridge, precision, n_folds
            )
        design = whole_design.__getitem__
    width = design(np.arange(0)).shape[1]
    require_memory(
        8.0 * float(width) ** 2 * (n_folds + 2) * n_stages,
        f"the regressions on {width} indicators of values",
        "search=PolicyIteration(screen=...) with fewer features to learn about, or a smaller n_bins",
    )
    missing = left_out(n_folds)
    explained = missing if differ else missing[-1:]
    moments = [
        [
            _moments(design, targets, weights, np.flatnonzero((folds == f) & (stages == t)), explained)
            for t in range(n_stages)
        ]
        for f in range(n_folds)
    ]
    whole = [_add([own[t] for own in moments]) for t in range(n_stages)]
    fits = []
    for fold in missing[:-1]:
        own = fold if differ else -1
        rest = [
            (every[0] - part[0], every[1][own] - part[1][own])
            for every, part in zip(whole, moments[fold], strict=True)
        ]
        fits.append(_solve_stages(rest, ridge, precision))
    return [*fits, _solve_stages([(gram, sides[-1]) for gram, sides in whole], ridge, precision)]


def _pooled(targets: Targets, pool: Any) -> Targets:
    """Targets of states that stand for several, by the means that `merge_states` gives."""

    def means(fold: int, states: NDArray) -> NDArray:
        part = pool[states]
        members = np.unique(part.indices)
        return part[:, members] @ targets(fold, members)

    return means


def merge_states(
    design: Any, weights: NDArray, folds: NDArray, stages: NDArray
) -> tuple[Any, Any, NDArray, NDArray, NDArray]:
    """States with the same regressors, fold and stage as one, which changes no fit.

    The same for fewer states, with weights added; second, the matrix that averages by weight what belongs
    to the states.
    """
    lengths = np.diff(design.indptr)
    key = np.full((len(lengths), 2 + int(lengths.max())), -1, dtype=np.int32)
    key[:, 0], key[:, 1] = folds, stages
    place = np.arange(len(design.indices)) - np.repeat(design.indptr[:-1], lengths)
    key[np.repeat(np.arange(len(lengths)), lengths), 2 + place] = design.indices
    whole = key.view(np.dtype((np.void, key.shape[1] * key.itemsize))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    total = np.bincount(group, weights)
    pool = sparse.csr_array((weights / total[group], (group, np.arange(len(group)))))
    return design[first], pool, total, folds[first], stages[first]


def _moments(
    design: Callable[[NDArray], Any],
    targets: Targets,
    weights: NDArray,
    states: NDArray,
    missing: list[int],
) -> Moments:
    """Products of the regressors with each other, and with the targets for each fold that is left out."""
    regressors = design(states)
    if sparse.issparse(regressors):
        weighted = sparse.diags_array(weights[states]) @ regressors
        gram = (weighted.T @ regressors).toarray()
    else:
        weighted = regressors * weights[states, None]
        gram = weighted.T @ regressors
    side = weighted.T @ np.hstack([targets(fold, states) for fold in missing])
    return gram, np.moveaxis(side.reshape(len(side), len(missing), -1), 1, 0)


def _add(parts: list[Moments]) -> Moments:
    if len(parts) == 1:
        return parts[0]
    gram, side = parts[0][0].copy(), parts[0][1].copy()
    # In place, since a matrix of very many features takes longer to get memory for than to add.
    for part in parts[1:]:
        gram += part[0]
        side += part[1]
    return gram, side


def _solve_stages(moments: list[Moments], ridge: float, precision: Precision) -> NDArray:
    gram, side = _add(moments)
    shared = ridge_solve(gram, side, ridge, precision, overwrite=len(moments) > 1)
    if len(moments) == 1:
        return shared[None]
    out = np.repeat(shared[None], len(moments), axis=0)
    for theta, (gram, side) in zip(out, moments, strict=True):
        columns = _used(gram, precision)
        own = precision[0][columns], np.where(np.diff(columns) == 1, precision[1][columns[:-1]], 0.0)
        part = gram[np.ix_(columns, columns)]
        left = side[columns] - part @ shared[columns]
        theta[columns] += ridge_solve(part, left, ridge, own, overwrite=True)
    return out


def _used(gram: NDArray, precision: Precision) -> NDArray:
    """The constant, and the regressors of features that some state shows; the others have nothing to add."""
    chain = np.concatenate([[0], np.cumsum(precision[1] == 0)])
    shown = np.bincount(chain, gram.diagonal() > 0) > 0
    shown[0] = True
    return np.flatnonzero(shown[chain])


def ridge_solve(
    gram: NDArray,
    side: NDArray,
    ridge: float,
    precision: Precision,
    overwrite: bool = False,
) -> NDArray:
    """Solve ``(gram + ridge * precision) w = side`` for weights (width, actions).

    `overwrite` says that `gram` (width, width) and `side` (width, actions) are not needed any more.
    """
    # The solver works on columns: the transpose of a symmetric matrix saves it a copy.
    gram = (gram if overwrite else gram.copy()).T
    place = np.arange(len(gram))
    gram[place, place] += ridge * precision[0]
    gram[place[1:], place[:-1]] += ridge * precision[1]  # the lower half is all that is read
    # The constant has no penalty of its own; a state must have been there to set it.
    gram[0, 0] += JITTER * max(float(gram[0, 0]), 1.0)
    return cho_solve(cho_factor(gram, lower=True, overwrite_a=True, check_finite=False), side)
