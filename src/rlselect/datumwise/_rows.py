"""Training rows in the form that learning needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.datumwise._structure import Structure

__all__ = ["Problem", "closed_units", "merge_rows"]


@dataclass
class Problem:
    """What is learned from.

    Parameters
    ----------
    structure : Structure
        The rules.
    encoder : BinEncoder or LinearEncoder
        Fitted.
    codes : (rows, features) array
        Encoded values.
    closed : (rows, units) bool array
        Units that cannot be bought for a row.
    labels : (rows,) int array
        True classes.
    weights : (rows,) array
        Weights of the rows.
    """

    structure: Structure
    encoder: Any
    codes: NDArray
    closed: NDArray
    labels: NDArray
    weights: NDArray


def closed_units(X: Any, structure: Structure, nonzero_only: bool = False) -> NDArray:
    """Units of which a row has nothing to show: rows x units.

    Parameters
    ----------
    X : array or CSR matrix
        Values, NaN where they are missing.
    structure : Structure
        For the groups.
    nonzero_only : bool
        Whether zeros count as nothing to show.

    Returns
    -------
    (rows, units) bool array
        True where a unit cannot be bought.
    """
    if sparse.issparse(X):
        X = X.tocsr()
        if nonzero_only:
            shown = np.zeros(X.shape, dtype=bool)
            row, column = X.nonzero()
            shown[row, column] = True
        else:
            shown = np.ones(X.shape, dtype=bool)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        gaps = np.isnan(X.data)
        shown[rows[gaps], X.indices[gaps]] = False
    else:
        shown = ~np.isnan(X)
        if nonzero_only:
            shown &= X != 0
    if all(len(group) == 1 for group in structure.groups):
        return ~shown[:, structure.order]
    return ~np.logical_or.reduceat(shown[:, structure.order], structure.starts, axis=1)


def merge_rows(problem: Problem) -> Problem:
    """Equal rows become one row with their weights added; rows come in an order of their own.

    So a weight of two is the same as two rows, and the order of the rows does not matter.
    """
    keep = problem.weights > 0
    parts = [
        np.ascontiguousarray(problem.codes[keep]).view(np.uint8).reshape(int(keep.sum()), -1),
        np.packbits(problem.closed[keep], axis=1),
        np.ascontiguousarray(problem.labels[keep].astype(np.int64)).view(np.uint8).reshape(-1, 8),
    ]
    key = np.ascontiguousarray(np.hstack(parts))
    whole = key.view(np.dtype((np.void, key.shape[1]))).ravel()
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    chosen = np.flatnonzero(keep)[first]
    return Problem(
        problem.structure,
        problem.encoder,
        problem.codes[chosen],
        problem.closed[chosen],
        problem.labels[chosen],
        np.bincount(place, problem.weights[keep]),
    )
