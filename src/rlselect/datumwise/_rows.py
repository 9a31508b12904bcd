"""Training rows in the form that learning needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.datumwise._structure import Structure

__all__ = ["Problem", "closed_units", "left_out", "merge_rows", "split_rows", "zero_units"]


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
    skipped : (rows, units) bool array or None
        Units whose purchase is not played in rollouts, unless the policy wants it: zeros of a sparse X.
    taught : (policies, rows, classes) array or None
        Shares of the classes that each policy is taught, see `soft_labels`; None for the labels.
    """

    structure: Structure
    encoder: Any
    codes: NDArray
    closed: NDArray
    labels: NDArray
    weights: NDArray
    skipped: NDArray | None = None
    taught: NDArray | None = None

    def shares(self, fold: int, rows: NDArray) -> NDArray:
        """Shares of the classes in some rows for the policy that leaves out a fold, as in `left_out`."""
        if self.taught is None:
            return np.eye(self.structure.n_classes)[self.labels[rows]]
        return self.taught[min(fold, len(self.taught) - 1), rows]

    def take(self, rows: NDArray, weights: NDArray) -> "Problem":
        """Some of the rows, with new weights, and their labels to be taught."""
        return Problem(
            self.structure,
            self.encoder,
            self.codes[rows],
            self.closed[rows],
            self.labels[rows],
            weights,
            None if self.skipped is None else self.skipped[rows],
        )


def closed_units(X: Any, structure: Structure) -> NDArray:
    """Units of which a row has nothing to show, since all values are missing: rows x units.

    Parameters
    ----------
    X : array or CSR matrix
        Values, NaN where they are missing.
    structure : Structure
        For the groups.

    Returns
    -------
    (rows, units) bool array
        True where a unit cannot be bought.
    """
    if not sparse.issparse(X):
        return ~_any_of_unit(~np.isnan(X), structure)
    shown = np.ones(X.shape, dtype=bool)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    gaps = np.isnan(X.data)
    shown[rows[gaps], X.indices[gaps]] = False
    return ~_any_of_unit(shown, structure)


def zero_units(X: Any, structure: Structure) -> NDArray | None:
    """Units that are zero throughout, for a sparse X; None for a dense one."""
    if not sparse.issparse(X):
        return None
    shown = np.zeros(X.shape, dtype=bool)
    shown[X.nonzero()] = True
    return ~_any_of_unit(shown, structure)


def _any_of_unit(shown: NDArray, structure: Structure) -> NDArray:
    if all(len(group) == 1 for group in structure.groups):
        return shown[:, structure.order]
    return np.logical_or.reduceat(shown[:, structure.order], structure.starts, axis=1)


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
    if problem.skipped is not None:
        parts.append(np.packbits(problem.skipped[keep], axis=1))
    key = np.ascontiguousarray(np.hstack(parts))
    whole = key.view(np.dtype((np.void, key.shape[1]))).ravel()
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    chosen = np.flatnonzero(keep)[first]
    return problem.take(chosen, np.bincount(place, problem.weights[keep]))


def split_rows(problem: Problem, parts: int) -> Problem:
    """Rows of weight two and more become up to `parts` equal rows that share their weight.

    Folds can then hold some copies of a row and leave out others, as they would had the copies not been
    merged; the copies stand side by side.
    """
    number = np.clip(np.floor(problem.weights + 1e-9), 1, parts).astype(np.intp)
    if number.max(initial=1) == 1:
        return problem
    place = np.repeat(np.arange(len(number)), number)
    return problem.take(place, (problem.weights / number)[place])


def left_out(n_folds: int) -> list[int]:
    """The fold that each policy does without: every one in turn, if there are several, and last none.

    That none is left out is said by the number of folds.
    """
    return [*range(n_folds if n_folds > 1 else 0), n_folds]
