"""A sparse linear Q-function, and when it is preferred to a kernel machine."""

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from rlselect._clock import stop_if_late
from rlselect.machines import EliminationPath, paired_comparison
from rlselect.regimes._selection import JudgedLines, StageSelection
from rlselect.regimes._stage_machine import StageMachine, within_reach

__all__ = ["LassoMachine", "prefer_sparse", "sparse_again"]

# penalties that are tried: from the smallest that leaves nothing, down to this share of it
_PENALTIES, _FEW_PENALTIES, _LEAST = 40, 14, 10.0**-2.5
# share of the absolute value in a penalty: a lasso, or nearly a ridge for slopes that are many and small
_SHARES = (1.0, 0.05)
# paired standard errors by which selected columns must be better than all of them
_DOUBT = 0.5
# coordinate descent ends where penalties can be told apart
_STEPS, _PRECISION = 2000, 1e-4


class LassoMachine(StageMachine):
    """A Q-function that is linear in the history, with slopes of its own for each action, by lasso.

    Columns are those of the history, and these times the indicator of each action in turn: what an action
    changes of few slopes costs few coefficients, whichever action it is. The penalty is chosen on folds, and
    where slopes are many and small it is nearly that of a ridge.

    Parameters
    ----------
    encoder, X, y, weights, subjects
        As for `StageMachine`.

    Attributes
    ----------
    levels : (K,) array
        Q-values of the actions for an average history.
    slopes : (c, K) array
        Of the encoded columns of the history, 0 for those that are not needed.
    share : float
        Of the absolute value in the penalty, ``lam * (share * |b| + (1 - share) / 2 * b^2)``.
    """

    explicit = True
    share: float
    levels: np.ndarray
    slopes: np.ndarray

    def _like(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, subjects: np.ndarray
    ) -> "LassoMachine":
        return LassoMachine(self.encoder, X, y, weights, "lasso", subjects=subjects)

    def _split(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Encoded history (m, c), and actions as indicators (m, K)."""
        e, K = self.encoder, len(self.encoder.labels)
        # the product of two corners of a simplex is 1 where they are the same, -1 / (K - 1) where not
        taken = (X[:, e.action] @ e.codes.T * (K - 1.0) + 1.0) / K
        return X[:, : e.action[0]], taken

    def _design(self, groups: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Actions, columns of some groups and their products (n, d), and the numbers of these columns."""
        history, taken = self._split(self.X)
        used = np.concatenate([np.empty(0, dtype=int), *(self.encoder.groups[g] for g in groups)])
        products = (history[:, used, None] * taken[:, None]).reshape(len(history), -1)
        return np.column_stack([taken, history[:, used], products]), used

    def _take(self, coefficients: np.ndarray, intercept: float, used: np.ndarray) -> None:
        """Keep what predictions need, and of the groups those that are needed."""
        K, c = len(self.encoder.labels), len(used)
        self.levels = intercept + coefficients[:K]
        self.slopes = np.zeros((self.encoder.action[0], K))
        self.slopes[used] = coefficients[K : K + c, None] + coefficients[K + c :].reshape(c, K)
        self.groups = [g for g in self.groups if self.slopes[self.encoder.groups[g]].any()]

    def fit(self, groups: Sequence[int], share: float | None = None) -> "LassoMachine":
        """Fit on some groups, with the penalty that is best for them on folds; the needed ones stay.

        With a given ``share`` no other is tried, and fewer penalties.
        """
        self.groups = list(groups)
        design, used = self._design(groups)
        y, weights = self.y, self.weights
        largest = np.abs((weights * (y - weights @ y / weights.sum())) @ design).max() / weights.sum()
        count = _PENALTIES if share is None else _FEW_PENALTIES
        steps = max(float(largest), np.finfo(float).tiny) * np.geomspace(1.0, _LEAST, count)
        # small slopes of more columns than subjects cannot be told from noise
        shares = (_SHARES if design.shape[1] < len(y) else _SHARES[:1]) if share is None else (share,)
        losses = np.array([self._held_out(design, steps / share, share) for share in shares])
        kind, best = np.unravel_index(np.argmin(losses @ weights), losses.shape[:2])
        self.share, self.losses = shares[kind], losses[kind, best]
        self.lam = float(steps[best] / self.share)
        self.loo_risk = float(self.losses @ weights / weights.sum())
        found, intercepts = _elastic_net(design, y, weights, steps[: best + 1] / self.share, self.share)
        self._take(found[:, -1], intercepts[-1], used)
        return self

    def _held_out(self, design: np.ndarray, penalties: np.ndarray, share: float) -> np.ndarray:
        """Losses (k, n) of rows by what was learnt without their fold, for each penalty."""
        losses = np.empty((len(penalties), len(self.y)))
        for fold in np.unique(self.folds):
            stop_if_late()
            train, test = self.folds != fold, self.folds == fold
            known = design[train], self.y[train], self.weights[train]
            found, intercepts = _elastic_net(*known, penalties, share)
            fitted = within_reach(design[test] @ found + intercepts, self.y[train])
            losses[:, test] = np.square(self.y[test] - fitted.T)
        return losses

    def _refit(self, rows: np.ndarray, y: np.ndarray) -> "LassoMachine":
        other = self._like(self.X[rows], y, self.weights[rows], self.subjects[rows])
        other.groups, other.lam, other.share = list(self.groups), self.lam, self.share
        design, used = other._design(self.groups)
        found, intercepts = _elastic_net(design, y, other.weights, np.array([self.lam]), self.share)
        other._take(found[:, 0], intercepts[0], used)
        return other

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Q-function of encoded rows."""
        history, taken = self._split(X)
        return self._limited((taken * (self.levels + history @ self.slopes)).sum(axis=1))


def _elastic_net(
    design: np.ndarray, y: np.ndarray, weights: np.ndarray, penalties: np.ndarray, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (d, k) and intercepts (k,) for each of some falling penalties; intercepts are free."""
    weights = weights / weights.mean()
    means, mean, root = weights @ design / len(y), weights @ y / len(y), np.sqrt(weights)
    centred = np.asfortranarray((design - means) * root[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"l1_ratio": share, "alphas": penalties, "max_iter": _STEPS, "tol": _PRECISION}
        # arrays are as they should be, and looking takes as long as solving
        options["check_input"] = False
        found = enet_path(centred, (y - mean) * root, **options)[1]
    return found, mean - means @ found


def prefer_sparse(machine: StageMachine, chosen: StageSelection) -> tuple[StageMachine, StageSelection]:
    """A sparse linear machine where it is as good, to one standard error, as a kernel machine.

    A linear contrast needs fewer subjects than a curve does, and an elimination by whole columns may lose
    slopes that one action alone has. All are judged on the same folds, those of the elimination: without a
    fold, selected columns are those that its own elimination keeps. Rows that have chosen them would flatter
    them.
    """
    e, y = machine.encoder, machine.y
    simplex = len(e.codes) == e.codes.shape[1] + 1
    if not (machine.uses_kernel and simplex and e.groups and np.ptp(y) > 1e-12 * np.abs(y).max()):
        return machine, chosen
    few, every = (
        LassoMachine(e, machine.X, y, machine.weights, "lasso", subjects=machine.subjects).fit(groups)
        for groups in (machine.groups, range(len(e.groups)))
    )
    folds = chosen.splits[0].folds if chosen.splits else every.folds
    orders = chosen.splits[0].orders if chosen.splits else []
    selected = {k: sorted(order[: len(machine.groups)]) for k, order in enumerate(orders)}
    judged = JudgedLines(
        few=_losses(few, folds, selected),
        every=_losses(every, folds, {}),
        machine=_losses(machine, folds, selected),
        shares={"few": few.share, "every": every.share},
    )
    chosen = replace(chosen, judged=judged)
    best = _best_of(judged, machine.weights)
    if best == "machine":
        return machine, chosen
    sparse = few if best == "few" else every
    return sparse, chosen.turned_into(
        sparse.groups, f"{chosen.reason}; linear slopes are as good on held-out folds"
    )


def sparse_again(machine: StageMachine, judged: JudgedLines, weights: np.ndarray) -> StageMachine:
    """What `prefer_sparse` would make of a machine that was learnt from some of the rows.

    ``judged`` and ``weights`` are those of the same rows.
    """
    best, e = _best_of(judged, weights), machine.encoder
    if best == "machine" or not np.ptp(machine.y) > 1e-12 * np.abs(machine.y).max():
        return machine
    groups = machine.groups if best == "few" else range(len(e.groups))
    sparse = LassoMachine(e, machine.X, machine.y, machine.weights, "lasso", subjects=machine.subjects)
    return sparse.fit(groups, judged.shares[best])


def _best_of(judged: JudgedLines, weights: np.ndarray) -> str:
    """Which of them is to be preferred: all columns to selected ones, lines to curves."""
    best = "every" if _as_good(judged.every, judged.few, weights, _DOUBT) else "few"
    return best if _as_good(getattr(judged, best), judged.machine, weights, 1.0) else "machine"


def _losses(machine: StageMachine, folds: np.ndarray, selected: Mapping[int, list[int]]) -> np.ndarray:
    """Losses (n,) of rows by what is learnt without their fold, from the groups selected without it."""
    losses = np.empty(len(machine.y))
    for fold in np.unique(folds):
        stop_if_late()
        part, test = copy(machine), folds == fold
        train = np.flatnonzero(~test)
        part.groups = selected.get(int(fold), machine.groups)
        fitted = part.refit(train, machine.y[train]).predict(machine.X[test])
        losses[test] = np.square(machine.y[test] - fitted)
    return losses


def _as_good(losses: np.ndarray, others: np.ndarray, weights: np.ndarray, slack: float) -> bool:
    """Whether losses (n,) are not larger than others by more than some paired standard errors."""
    compared = paired_comparison(EliminationPath(losses=[losses, others], weights=weights))
    return bool(compared["difference"][0] <= slack * compared["difference_standard_error"][0])
