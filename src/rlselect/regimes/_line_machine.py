"""A Q-function whose contrasts are lines, averaged over which slopes there are, and when it is preferred."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from rlselect._clock import stop_if_late
from rlselect.machines import EliminationPath, paired_comparison
from rlselect.regimes._bends import Bends
from rlselect.regimes._selection import JudgedLines, StageSelection
from rlselect.regimes._spike_and_slab import Average, ColumnMoments, average_slopes
from rlselect.regimes._stage_machine import StageMachine, within_reach

__all__ = ["LineMachine", "lines_again", "lines_from_all", "prefer_lines"]

# A history column stays where one of its slopes is rather there than not. So does what actions change with
# it, and also where decisions would lose without it: of many weak slopes each is hard to see, and all decide.
_PROBABLE = 0.5
# What decisions may lose by all changes that leave, in standard errors of a mean of as many responses: values
# that are printed with two digits of their error do not show it.
_NEGLIGIBLE = 0.01
# columns, products and bends that can be averaged over; of more, those of the selected history columns
_MOST = 800
_BENDS = 3


class LineMachine(StageMachine):
    """A Q-function whose contrasts are linear in the history: slopes of its own for each action.

    Columns are those of the history, and these times the indicator of each action in turn: what an action
    changes of few slopes costs few coefficients, whichever action it is. What is the same under all actions
    may bend, see `Bends`: curved main effects would bend the contrasts of lines where actions lean on the
    history. Slopes are averaged over which of them there are, see `_spike_and_slab`; main effects, the
    changes that each action makes and bends are a block each, all but the bends perhaps one.

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
    curves : (b,) array
        Of the bends, likewise.
    penalties : (d,) array
        What a ridge would take for the squares of the actions' levels and of the slopes of needed columns,
        variance of the noise over their expected squares; refits do.
    deciding : list of int
        Groups with which some action changes; the other ones are the same for all actions.
    """

    explicit = True
    penalties: np.ndarray
    changes: np.ndarray
    deciding: list[int]
    levels: np.ndarray
    slopes: np.ndarray
    curves: np.ndarray

    @cached_property
    def bends(self) -> Bends:
        """Bends of the columns that are numbers."""
        e = self.encoder
        single = [g for g, columns in enumerate(e.groups) if len(columns) == 1 and not e.past[g]]
        return Bends(self.X, self._used(single).tolist())

    def _like(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, subjects: np.ndarray) -> "LineMachine":
        return LineMachine(self.encoder, X, y, weights, "lines", subjects=subjects)

    def _split(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Encoded history (m, c), and actions as indicators (m, K)."""
        e, K = self.encoder, len(self.encoder.labels)
        # the product of two corners of a simplex is 1 where they are the same, -1 / (K - 1) where not
        taken = (X[:, e.action] @ e.codes.T * (K - 1.0) + 1.0) / K
        return X[:, : e.action[0]], taken

    def _used(self, groups: Sequence[int]) -> np.ndarray:
        """Numbers of the encoded columns of some groups."""
        return np.concatenate([np.empty(0, dtype=int), *(self.encoder.groups[g] for g in groups)])

    def _bent(self, used: np.ndarray) -> np.ndarray:
        """Numbers of the bends of some encoded columns."""
        return np.flatnonzero(np.isin(self.bends.owners, used))

    def _design(self, used: np.ndarray, changing: np.ndarray) -> np.ndarray:
        """Actions, used columns, products of changing ones with each action, bends: (n, K + c + a K + b)."""
        history, taken = self._split(self.X)
        products = (history[:, changing, None] * taken[:, None]).reshape(len(history), -1)
        return np.column_stack([taken, history[:, used], products, self.bends(history, used)])

    def _learnt(self, groups: Sequence[int], left_out: Sequence[np.ndarray]) -> list["LineMachine"]:
        """The machine on some groups without each of some sets of rows, bool arrays."""
        used, K = self._used(groups), len(self.encoder.labels)
        data, means, mean = _moments(self._design(used, used), self.y, self.weights, left_out)
        each, bent = 1 + np.arange(K), self._bent(used)
        main, bends = np.zeros(len(used), dtype=int), np.full(len(bent), K + 1)
        blocks = np.concatenate([each, main, np.tile(each, len(used)), bends])
        group = np.repeat(np.array(groups, dtype=int), [len(self.encoder.groups[g]) for g in groups])
        # group of each column of the design, none for the actions themselves
        of_bends = group[np.searchsorted(used, self.bends.owners[bent])]
        groups_of = np.concatenate([np.full(K, -1), group, np.repeat(group, K), of_bends])
        found, machines = average_slopes(data, blocks, alike=K + 1), []
        for k, rows in enumerate(left_out):
            machine = self._like(self.X, self.y, self.weights, self.subjects)
            machine.bends = self.bends
            slack = _NEGLIGIBLE * float(np.sqrt(found.noise[k] / data.rows[k]))
            average = Average(*(part[k] for part in found))
            slopes, kept = machine._kept(average, groups_of, np.where(rows, 0.0, self.weights), slack)
            machine._take(slopes[kept], float(mean[k] - means[k][kept] @ slopes[kept]))
            machines.append(machine)
        return machines

    def _kept(
        self, found: Average, groups_of: np.ndarray, weights: np.ndarray, slack: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Choose the groups that stay, and those that decide: slopes (d,), and which of them are kept.

        Parameters
        ----------
        found : Average
            Of one data set.
        groups_of : (d,) int array
            Groups of the columns of the design, -1 for the actions.
        weights : (n,) array
            Of the rows, 0 for those that are left out.
        slack : float
            What decisions may lose.
        """
        self.groups = self.deciding = np.unique(groups_of[groups_of >= 0]).tolist()
        K, c = len(self.encoder.labels), len(self._used(self.groups))
        main, changed = slice(K, K + c), slice(K + c, K + c + c * K)
        self.changes = np.zeros(len(self.encoder.groups))
        np.maximum.at(self.changes, groups_of[changed], found.there[changed])
        self._take(found.slopes, 0.0)
        self.deciding = self._decisive(weights, slack)
        likely = groups_of[(found.there >= _PROBABLE) & (groups_of >= 0)]
        self.groups = np.union1d(likely, self.deciding).astype(int).tolist()
        # what does not decide is for all actions what it is for them on average
        slopes, squares, idle = found.slopes.copy(), found.squares.copy(), ~np.isin(groups_of, self.deciding)
        slopes[main] += np.where(idle[main], slopes[changed].reshape(c, K).mean(axis=1), 0.0)
        squares[main] += np.square(slopes[main]) - np.square(found.slopes[main])
        kept = np.isin(groups_of, [-1, *self.groups])
        kept[changed] &= ~idle[changed]
        self.penalties = (found.noise / squares)[kept]
        return slopes, kept

    def _decisive(self, weights: np.ndarray, slack: float) -> list[int]:
        """Groups that decide: what is best by them loses no more than the slack to what is best by all.

        Expected outcomes are best by what is expected of all slopes, which says what is lost without some. Of
        the changes that are rather not there, those that make the least difference leave first.
        """
        e, rows, history = self.encoder, np.arange(len(self.X)), self._split(self.X)[0]

        def change(g: int) -> np.ndarray:
            by_action = history[:, e.groups[g]] @ self.slopes[e.groups[g]]
            return by_action - by_action.mean(axis=1, keepdims=True)

        worth = self.levels + history @ self.slopes
        best, left = worth.max(axis=1), worth
        doubtful = [g for g in self.groups if self.changes[g] < _PROBABLE]
        doubtful.sort(key=lambda g: float(weights @ np.ptp(change(g), axis=1)))
        for place, g in enumerate(doubtful):
            left = left - change(g)
            if weights @ (best - worth[rows, left.argmax(axis=1)]) > slack * weights.sum():
                doubtful = doubtful[:place]
                break
        return sorted(set(self.groups) - set(doubtful))

    def _take(self, coefficients: np.ndarray, intercept: float) -> None:
        """Keep what predictions need."""
        used, changing = self._used(self.groups), self._used(self.deciding)
        K, c = len(self.encoder.labels), len(used)
        levels, main, changes, curves = np.split(coefficients, np.cumsum([K, c, len(changing) * K]))
        self.levels = intercept + levels
        self.slopes = np.zeros((self.encoder.action[0], K))
        self.slopes[used] = main[:, None]
        self.slopes[changing] += changes.reshape(-1, K)
        self.curves = np.zeros(len(self.bends.owners))
        self.curves[self._bent(used)] = curves

    def fit(self, groups: Sequence[int]) -> "LineMachine":
        """Fit on some groups, of which those that are probably needed stay."""
        found = self._learnt(list(groups), [np.zeros(len(self.y), dtype=bool)])[0]
        self.groups, self.deciding = found.groups, found.deciding
        self.penalties, self.changes = found.penalties, found.changes
        self.levels, self.slopes, self.curves = found.levels, found.slopes, found.curves
        return self

    def held_out_losses(self, folds: np.ndarray, groups: Sequence[int]) -> np.ndarray:
        """Losses (n,) of rows by what is learnt without their fold, from some groups."""
        tests = [folds == fold for fold in np.unique(folds)]
        losses = np.empty(len(self.y))
        for test, machine in zip(tests, self._learnt(list(groups), tests), strict=True):
            fitted = within_reach(machine._lines(self.X[test]), self.y[~test])
            losses[test] = np.square(self.y[test] - fitted)
        return losses

    def _refit(self, rows: np.ndarray, y: np.ndarray) -> "LineMachine":
        other = self._like(self.X[rows], y, self.weights[rows], self.subjects[rows])
        other.groups, other.deciding = self.groups, self.deciding
        other.penalties, other.bends = self.penalties, self.bends
        design = other._design(other._used(self.groups), other._used(self.deciding))
        data, means, mean = _moments(design, y, other.weights, [np.zeros(len(y), dtype=bool)])
        found = np.linalg.solve(data.gram[0] + np.diag(self.penalties), data.cross[0])
        other._take(found, float(mean[0] - means[0] @ found))
        return other

    def _lines(self, X: np.ndarray) -> np.ndarray:
        history, taken = self._split(X)
        lines = (taken * (self.levels + history @ self.slopes)).sum(axis=1)
        bent = np.unique(self.bends.owners[self.curves != 0.0])
        return lines + self.bends(history, bent) @ self.curves[self._bent(bent)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Q-function of encoded rows."""
        return self._limited(self._lines(X))


def _moments(
    design: np.ndarray, y: np.ndarray, weights: np.ndarray, left_out: Sequence[np.ndarray]
) -> tuple[ColumnMoments, np.ndarray, np.ndarray]:
    """Moments without each of some sets of rows, means of the columns (m, d) and of the response (m,)."""
    weights = weights / weights.mean()
    table = np.column_stack([design, y - y.mean(), np.ones(len(y))])
    every = table.T @ (weights[:, None] * table)
    sums = np.array([every - table[rows].T @ (weights[rows, None] * table[rows]) for rows in left_out])
    count = sums[:, -1, -1]
    means = sums[:, -1, :-1] / count[:, None]
    centred = sums[:, :-1, :-1] - count[:, None, None] * means[:, :, None] * means[:, None]
    data = ColumnMoments(centred[:, :-1, :-1], centred[:, :-1, -1], centred[:, -1, -1], count)
    return data, means[:, :-1], means[:, -1] + y.mean()


def prefer_lines(machine: StageMachine, chosen: StageSelection) -> tuple[StageMachine, StageSelection]:
    """Lines where they are as good, to two standard errors, as a kernel machine.

    A linear contrast needs fewer subjects than a curve does, and an elimination by whole columns may lose
    slopes that one action alone has. Both are judged on the same folds, those of the elimination: without a
    fold, selected columns are those that its own elimination keeps. Rows that have chosen them would flatter
    them. Lines that are no better than the mean of each action are these means, without any column.
    """
    if not _can_be_lines(machine):
        return machine, chosen
    folds = chosen.splits[0].folds if chosen.splits else machine.folds
    orders = chosen.splits[0].orders if chosen.splits else []
    selected = {k: sorted(order[: len(machine.groups)]) for k, order in enumerate(orders)}
    lines = _lines_like(machine)
    groups = _candidates(machine)
    judged = JudgedLines(
        lines=lines.held_out_losses(folds, groups),
        machine=_losses(machine, folds, selected),
        means=lines.held_out_losses(folds, []),
    )
    chosen = replace(chosen, judged=judged)
    if not _lines_are_as_good(judged, machine.weights):
        return machine, chosen
    lines.fit(_needed(groups, judged, machine.weights))
    reason = f"{chosen.reason}; linear slopes are as good on held-out folds"
    return lines, chosen.turned_into(lines.groups, reason)


def lines_again(machine: StageMachine, judged: JudgedLines) -> StageMachine:
    """What `prefer_lines` would make of a machine that was learnt from some of the rows.

    ``judged`` is of the same rows.
    """
    if not _are_taken(machine, judged):
        return machine
    return _lines_like(machine).fit(_needed(_candidates(machine), judged, machine.weights))


def lines_from_all(machine: StageMachine, judged: JudgedLines) -> bool:
    """Whether `lines_again` makes lines of a machine whatever its columns are, which need not be known."""
    return _are_taken(machine, judged) and not _too_many(machine)


def _are_taken(machine: StageMachine, judged: JudgedLines) -> bool:
    return _can_be_lines(machine) and _lines_are_as_good(judged, machine.weights)


def _can_be_lines(machine: StageMachine) -> bool:
    """Whether actions are no doses, and there is something to learn."""
    e, y = machine.encoder, machine.y
    simplex = len(e.codes) == e.codes.shape[1] + 1
    return bool(machine.uses_kernel and simplex and e.groups and np.ptp(y) > 1e-12 * np.abs(y).max())


def _lines_like(machine: StageMachine) -> LineMachine:
    known = machine.encoder, machine.X, machine.y, machine.weights
    return LineMachine(*known, "lines", subjects=machine.subjects)


def _candidates(machine: StageMachine) -> Sequence[int]:
    """Groups that lines are learnt from: all, or where these are too many those of the machine."""
    return machine.groups if _too_many(machine) else range(len(machine.encoder.groups))


def _too_many(machine: StageMachine) -> bool:
    """Whether all columns with their products and bends are more than can be averaged over."""
    e = machine.encoder
    return bool(e.action[0] * (1 + len(e.labels) + _BENDS) > _MOST)


def _needed(groups: Sequence[int], judged: JudgedLines, weights: np.ndarray) -> Sequence[int]:
    """The groups where lines are better on held-out folds than the mean of each action, otherwise none."""
    return groups if float(weights @ (judged.means - judged.lines)) > 0.0 else []


def _lines_are_as_good(judged: JudgedLines, weights: np.ndarray) -> bool:
    """Whether the losses of lines are not larger by more than two paired standard errors.

    With one, curves are taken in every sixth trial in which they are no better.
    """
    compared = paired_comparison(EliminationPath(losses=[judged.lines, judged.machine], weights=weights))
    return bool(compared["difference"][0] <= 2.0 * compared["difference_standard_error"][0])


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
