"""Decision features: contrast-only elimination judged by the doubly robust value of its decisions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlselect._clock import stop_if_late
from rlselect._parallel import run_tasks
from rlselect.machines import (
    EliminationPath,
    KernelState,
    SquaredKernelProblem,
    SquaredLoss,
    Tuner,
    eliminate,
    paired_comparison,
    solve_machine,
)
from rlselect.regimes._action_columns import ActionColumns
from rlselect.regimes._anova_kernel import ActionAnovaState, ContrastState
from rlselect.regimes._column_machine import columns_of, many
from rlselect.regimes._evaluation import Evaluation
from rlselect.regimes._held_out_folds import adaptive_cycle
from rlselect.regimes._sample import Sample
from rlselect.regimes._slopes import contrast_slopes
from rlselect.regimes._stage_machine import ANOVA_WIDTH, StageMachine
from rlselect.regimes._stages import best_feasible

__all__ = ["TailoringPath", "find_tailoring"]

# level at which slopes are sure, of all columns of a stage together
_SURE = 0.95
# Where slopes were averaged over which of them there are: how probable it must be that some action changes
# with a column for it to decide whatever decisions are worth, and for one that is not sure to decide at all.
# Of 180 trials of 60 or 200 subjects without any effect three had a column, of ten, that reached the first,
# and in 50 with arms of 150 and 50 subjects every column that decides did.
_PLAIN, _RATHER = 0.8, 0.5


class TailoringPath:
    """Nested sets of decision features with the value of each.

    Attributes
    ----------
    sizes : (m,) int array
    value, standard_error : (m,) arrays
        Cross-fitted doubly robust value of deciding by the set alone.
    difference, difference_standard_error : (m,) arrays
        Paired, from the best set.
    groups : list of int
        The chosen set: the smallest within one standard error of the best that holds the columns of the best
        one whose slopes are sure. The value of decisions is a coarse judge, above all of an action that few
        subjects took: it may not tell a column that plainly changes what an action is worth.
        Where slopes were averaged over which of them there are, `find_tailoring` adds columns that plainly
        have one, and takes away those that rather have none.
    sure : list of int
        The columns whose slopes are sure.
    """

    def __init__(self, path: EliminationPath, sure: Callable[[list[int]], list[int]]) -> None:
        compared = paired_comparison(path)
        self.sizes = np.array(path.sizes)
        self.value, self.standard_error = -compared["risk"], compared["standard_error"]
        self.difference = compared["difference"]
        self.difference_standard_error = compared["difference_standard_error"]
        last_first = path.order[::-1]
        # of sets that are equally good, the smallest
        best = last_first[: self.sizes[np.flatnonzero(self.difference == 0.0)[-1]]]
        self.sure = sure(best)
        least = max((last_first.index(g) + 1 for g in self.sure), default=0)
        inside = (self.difference <= self.difference_standard_error) & (self.sizes >= least)
        self.groups = sorted(last_first[: int(self.sizes[np.flatnonzero(inside)[-1]])])


def _contrast_state(machine: StageMachine, selected: list[int], X: np.ndarray) -> KernelState:
    e = machine.encoder
    groups = [e.groups[g] for g in selected]
    if machine.kind == "rbf":
        return ContrastState(X, groups, e.action, machine.bandwidth)
    width = None if machine.kind in ("linear", "lines") else ANOVA_WIDTH
    return ActionAnovaState(X, groups, [e.past[g] for g in selected], e.action, width, contrast_only=True)


def _contrast_columns(machine: StageMachine, selected: list[int]) -> ActionColumns:
    """Columns of the same kernel as `_contrast_state`."""
    e = machine.encoder
    width = None if machine.kind in ("linear", "lines") else ANOVA_WIDTH
    groups, past = [e.groups[g] for g in selected], [e.past[g] for g in selected]
    return ActionColumns(machine.X, groups, past, e.action, width, contrast_only=True)


def _by_columns(machine: StageMachine, selected: list[int]) -> bool:
    """Whether contrasts are learnt from columns: those of few groups are fewer than rows."""
    few = 2 * columns_of(machine.encoder, machine.kind, selected) <= len(machine.y)
    return machine.explicit or (machine.kind != "rbf" and few)


class _KernelFold:
    """A contrast learnt from the rows of some folds; groups leave it one after the other.

    Parameters
    ----------
    machine : StageMachine
    selected : list of int
    train : int array
        Rows to learn from.
    lam : float
    """

    def __init__(self, machine: StageMachine, selected: list[int], train: np.ndarray, lam: float) -> None:
        self.state = _contrast_state(machine, selected, machine.X[train])
        self.y, self.weights, self.lam = machine.y[train], machine.weights[train], lam

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.state.drop(groups)

    def q_values(self, every: Sequence[np.ndarray]) -> np.ndarray:
        """Q-values of rows that are encoded under each action."""
        left = list(self.state.active)
        solution = solve_machine(self.state.gram(), self.y[:, None], self.weights, self.lam, SquaredLoss())
        crosses = (self.state.cross(X, left) for X in every)
        return np.column_stack([k @ solution.coefficients[:, 0] + solution.intercept[0] for k in crosses])


class _ColumnFold:
    """The same on explicit columns."""

    def __init__(self, machine: StageMachine, selected: list[int], train: np.ndarray, lam: float) -> None:
        self.design = _contrast_columns(machine, selected)
        columns = self.design(machine.X[train])
        self.problem = self.design.problem(columns, machine.y[train], machine.weights[train])
        self.problem.lam, self.problem.judged = lam, False

    def drop(self, groups: Sequence[int]) -> None:
        """Remove groups for good."""
        self.problem.drop(groups)

    def q_values(self, every: Sequence[np.ndarray]) -> np.ndarray:
        """Q-values of rows that are encoded under each action."""
        self.problem.refresh()
        coefficients, intercept = self.problem.solution()
        return np.column_stack([self.design(X) @ coefficients + intercept for X in every])


def find_tailoring(
    evaluation: Evaluation, t: int, machine: StageMachine, splits: np.ndarray
) -> TailoringPath | None:
    """Which of the machine's groups decide at a stage.

    Parameters
    ----------
    evaluation : Evaluation
    t : int
        The stage, counted from 0.
    machine : StageMachine
        Fitted on the selected groups.
    splits : (k, n) int array
        Folds of all subjects; the scores of a row are averaged over several splits, so that the answer does
        not hang on one of them. With kernel matrices of many subjects it does not, and one is enough.

    Returns
    -------
    TailoringPath or None
        None when no group was selected, or all of few subjects are in one fold and nobody is left to learn
        from; ``groups`` are numbers of the machine's encoder.
    """
    selected, rows = machine.groups, machine.subjects
    splits = splits[[len(np.unique(folds[rows])) > 1 for folds in splits]]
    if not selected or not len(splits):
        return None
    stop_if_late()
    y, weights = machine.y, machine.weights
    problem: Any
    if _by_columns(machine, selected):
        design = _contrast_columns(machine, selected)
        problem = design.problem(design(machine.X), y, weights)
    else:
        state = _contrast_state(machine, selected, machine.X)
        problem = SquaredKernelProblem(state, y[:, None], weights, SquaredLoss(), 1.0, True, None)
        problem.hasty, problem.copies = True, np.ones(len(y))
    tuner = Tuner("auto", "auto", weights.sum(), False, lambda problem: 1, squared=True)
    bandwidth = problem.bandwidth
    tuner.tune(problem)
    problem.bandwidth = bandwidth
    lam = problem.lam
    path = eliminate(problem, adaptive_cycle)
    stage = evaluation.trial.stages[t]
    history = stage.history[rows]
    judge = (history, stage.shares(rows), evaluation.importance[t][rows], stage.allowed(history))
    enough = splits[:1] if many(len(y)) and not _by_columns(machine, selected) else splits
    tasks = ((machine, selected, path, lam, *judge, folds[rows]) for folds in enough)
    scores, contrasts = (np.mean(part, axis=0) for part in zip(*run_tasks(_scores, tasks), strict=True))
    judged = EliminationPath(sizes=path.sizes, order=path.order, weights=weights, losses=list(-scores))
    sample = Sample(weights, evaluation.trial.sample.part(rows).clusters)

    def sure(groups: list[int]) -> list[int]:
        if stage.doses is not None:
            return []
        names = {machine.encoder.names[selected[g]]: g for g in groups}
        slopes = contrast_slopes(stage, history, contrasts, sample, list(names), _SURE)[1]
        return [names[one.column] for one in slopes if one.interval[0] > 0.0 or one.interval[1] < 0.0]

    found = TailoringPath(judged, sure)
    found.sure = [selected[g] for g in found.sure]
    found.groups = _with_changes(machine, [selected[g] for g in found.groups], found.sure)
    return found


def _with_changes(machine: StageMachine, groups: Sequence[int], sure: Sequence[int]) -> list[int]:
    """Columns that decide, once it is known how probable changes are; all of them where it is not."""
    changes, deciding = machine.changes, machine.deciding
    if changes is None or deciding is None:
        return sorted(groups)
    kept = {g for g in groups if g in deciding and (g in sure or changes[g] >= _RATHER)}
    return sorted(kept | {g for g in machine.groups if changes[g] >= _PLAIN})


def _scores(
    machine: StageMachine,
    selected: list[int],
    path: EliminationPath,
    lam: float,
    history: np.ndarray,
    taken: np.ndarray,
    importance: np.ndarray,
    allowed: np.ndarray,
    folds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Doubly robust scores of the decisions of each visited set, largest first, and of each action."""
    every = machine.encoder.each_action(history)
    scores, contrasts = np.empty((len(path.sizes), len(machine.y))), np.empty(importance.shape)
    for fold in np.unique(folds):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        learn = _ColumnFold if _by_columns(machine, selected) else _KernelFold
        fold_machine = learn(machine, selected, train, lam)
        mine = [X[test] for X in every]
        rows = np.arange(len(test))
        for step, size in enumerate(path.sizes):
            if step:
                fold_machine.drop(path.order[len(selected) - path.sizes[step - 1] : len(selected) - size])
            stop_if_late()
            q = fold_machine.q_values(mine)
            if not step:
                residual = machine.y[test] - (q * taken[test]).sum(axis=1)
                contrasts[test] = q + importance[test] * residual[:, None]
            scores[step, test] = contrasts[test][rows, best_feasible(q, allowed[test])]
    return scores, contrasts
