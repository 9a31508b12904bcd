"""Decision features: contrast-only elimination judged by the doubly robust value of its decisions."""

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
from rlselect.regimes._anova_kernel import ActionAnovaState, ContrastState
from rlselect.regimes._held_out_folds import adaptive_cycle
from rlselect.regimes._stage_machine import ANOVA_WIDTH, StageMachine
from rlselect.regimes._stages import best_feasible

__all__ = ["TailoringPath", "find_tailoring"]


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
        The chosen set: the smallest within one standard error of the best.
    """

    def __init__(self, path: EliminationPath) -> None:
        compared = paired_comparison(path)
        self.sizes = np.array(path.sizes)
        self.value, self.standard_error = -compared["risk"], compared["standard_error"]
        self.difference = compared["difference"]
        self.difference_standard_error = compared["difference_standard_error"]
        inside = self.difference <= self.difference_standard_error
        self.groups = sorted(path.order[::-1][: int(self.sizes[np.flatnonzero(inside)[-1]])])


def _contrast_state(machine: StageMachine, selected: list[int], X: np.ndarray) -> KernelState:
    e = machine.encoder
    groups = [e.groups[g] for g in selected]
    if machine.kind == "rbf":
        return ContrastState(X, groups, e.action, machine.bandwidth)
    width = None if machine.kind == "linear" else ANOVA_WIDTH
    return ActionAnovaState(X, groups, [e.past[g] for g in selected], e.action, width, contrast_only=True)


def find_tailoring(
    machine: StageMachine,
    history: np.ndarray,
    action: np.ndarray,
    taken: np.ndarray,
    allowed: np.ndarray,
    splits: np.ndarray,
) -> TailoringPath | None:
    """Which of the machine's groups decide.

    Parameters
    ----------
    machine : StageMachine
        Fitted on the selected groups.
    history, action, taken, allowed : arrays
        Of the machine's rows: history, action taken and its probability, feasible actions.
    splits : (k, n) int array
        Folds of the machine's rows; the scores of a row are averaged over several splits, so that the answer
        does not hang on one of them.

    Returns
    -------
    TailoringPath or None
        None when no group was selected; ``groups`` are numbers of the machine's encoder.
    """
    selected = machine.groups
    if not selected:
        return None
    stop_if_late()
    y, weights = machine.y, machine.weights
    problem = SquaredKernelProblem(
        _contrast_state(machine, selected, machine.X),
        y[:, None],
        weights,
        SquaredLoss(),
        1.0,
        True,
        None,
    )
    problem.hasty = True
    tuner = Tuner("auto", "auto", weights.sum(), False, lambda problem: 1, squared=True)
    bandwidth = problem.bandwidth
    tuner.tune(problem)
    problem.bandwidth = bandwidth
    lam = problem.lam
    path = eliminate(problem, adaptive_cycle)
    tasks = ((machine, selected, path, lam, history, action, taken, allowed, folds) for folds in splits)
    scores = np.mean(run_tasks(_scores, tasks), axis=0)
    judged = EliminationPath(sizes=path.sizes, order=path.order, weights=weights, losses=list(-scores))
    found = TailoringPath(judged)
    found.groups = sorted(selected[g] for g in found.groups)
    return found


def _scores(
    machine: StageMachine,
    selected: list[int],
    path: EliminationPath,
    lam: float,
    history: np.ndarray,
    action: np.ndarray,
    taken: np.ndarray,
    allowed: np.ndarray,
    folds: np.ndarray,
) -> np.ndarray:
    """Doubly robust scores of the decisions of each visited set, largest first."""
    every = machine.encoder.each_action(history)
    scores = np.empty((len(path.sizes), len(machine.y)))
    for fold in np.unique(folds):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        state = _contrast_state(machine, selected, machine.X[train])
        outcome = None
        for step, size in enumerate(path.sizes):
            if step:
                state.drop(path.order[len(selected) - path.sizes[step - 1] : len(selected) - size])
            stop_if_late()
            left = list(state.active)
            solution = solve_machine(
                state.gram(), machine.y[train, None], machine.weights[train], lam, SquaredLoss()
            )
            crosses = (state.cross(X[test], left) for X in every)
            q = np.column_stack([k @ solution.coefficients[:, 0] + solution.intercept[0] for k in crosses])
            outcome = q if outcome is None else outcome
            chosen = best_feasible(q, allowed[test])
            rows = np.arange(len(test))
            residual = machine.y[test] - outcome[rows, action[test]]
            scores[step, test] = outcome[rows, chosen] + (action[test] == chosen) / taken[test] * residual
    return scores
