"""Training rows in the form that learning needs."""

from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rlselect.datumwise._encoding import CaseEncoder, ValueEncoder
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["CaseRows", "PurchaseProblem", "closed_units", "merge_rows", "split_rows", "zero_units"]

Rows = TypeVar("Rows", bound="CaseRows")


@dataclass
class CaseRows:
    """Training rows as a policy meets them.

    Parameters
    ----------
    rules : PurchaseRules
        The rules.
    encoder : CaseEncoder
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
    """

    rules: PurchaseRules
    encoder: CaseEncoder
    codes: NDArray
    closed: NDArray
    labels: NDArray
    weights: NDArray
    skipped: NDArray | None = None

    def returns(self, episodes: Episodes, rows: NDArray | slice = slice(None)) -> NDArray:
        """Returns of episodes of some rows: minus what was bought and what the answer costs."""
        return -episodes.cost - self.rules.losses[episodes.answer, self.labels[rows]]

    def take(self, rows: NDArray, weights: NDArray) -> Self:
        """Some of the rows, with new weights."""
        return replace(
            self,
            codes=self.codes[rows],
            closed=self.closed[rows],
            labels=self.labels[rows],
            weights=weights,
            skipped=None if self.skipped is None else self.skipped[rows],
        )


@dataclass
class PurchaseProblem(CaseRows):
    """What additive scores are learned from: rows whose codes a `ValueEncoder` makes.

    Parameters
    ----------
    taught : (policies, rows, classes) array or None
        Shares of the classes that each policy is taught, see `soft_labels`; None for the labels.
    """

    encoder: ValueEncoder
    taught: NDArray | None = None

    def shares(self, fold: int, rows: NDArray) -> NDArray:
        """Shares of the classes in some rows for the policy that leaves out a fold, as in `left_out`."""
        if self.taught is None:
            return np.eye(self.rules.n_classes)[self.labels[rows]]
        return self.taught[min(fold, len(self.taught) - 1), rows]


def closed_units(X: Any, rules: PurchaseRules) -> NDArray:
    """Units of which a row has nothing to show, since all values are NaN: rows x units."""
    if not sparse.issparse(X):
        return ~_any_of_unit(~np.isnan(X), rules)
    shown = np.ones(X.shape, dtype=bool)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    gaps = np.isnan(X.data)
    shown[rows[gaps], X.indices[gaps]] = False
    return ~_any_of_unit(shown, rules)


def zero_units(X: Any, rules: PurchaseRules) -> NDArray | None:
    """Units that are zero throughout, for a sparse X; None for a dense one."""
    if not sparse.issparse(X):
        return None
    shown = np.zeros(X.shape, dtype=bool)
    shown[X.nonzero()] = True
    return ~_any_of_unit(shown, rules)


def _any_of_unit(shown: NDArray, rules: PurchaseRules) -> NDArray:
    if rules.is_ungrouped:
        return shown[:, rules.order]
    return np.logical_or.reduceat(shown[:, rules.order], rules.starts, axis=1)


def merge_rows(problem: Rows) -> Rows:
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


def split_rows(problem: Rows, parts: int) -> Rows:
    """Rows of weight two and more become up to `parts` equal rows that share their weight.

    Folds can then hold some copies of a row and leave out others, as they would had the copies not been
    merged; the copies stand side by side.
    """
    number = np.clip(np.floor(problem.weights + 1e-9), 1, parts).astype(np.intp)
    if number.max(initial=1) == 1:
        return problem
    place = np.repeat(np.arange(len(number)), number)
    return problem.take(place, (problem.weights / number)[place])
