"""Which history columns the Q-function of a stage keeps, and by which family of models."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from rlselect._clock import OutOfTime, present_clock, while_time
from rlselect._options import anything, one_of
from rlselect._parallel import run_tasks
from rlselect.machines import ChangePoint, EliminationPath, choose_size, eliminate, paired_comparison
from rlselect.regimes._column_machine import ByColumns, ColumnMachine, columns_pay, seconds_of_columns
from rlselect.regimes._encoding import HistoryEncoder
from rlselect.regimes._held_out_folds import (
    Split,
    adaptive_cycle,
    best_by_itself,
    cross_fitted_choice,
    held_out_risk,
    one_split,
)
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stage_rfe import BY_VALUE, Selection, StageRFE
from rlselect.regimes._stages import StageData

__all__ = [
    "FAMILIES",
    "FEWEST_TREES",
    "MODEL",
    "JudgedLines",
    "StageSelection",
    "choose_machine",
    "fit_q_function",
    "forest",
    "select_features",
]

FAMILIES = ("anova", "rbf", "linear")
# Where other families are learnt from columns, a Gaussian kernel is tried on a sample of the subjects first,
# and not at all among very many.
_SAMPLE, _MOST_FOR_GAUSSIAN = 400, 2000
# A machine, its value on two folds and the rules of decisions make the columns of a stage sixteen times, in
# twice the time that is for the machine.
_PASSES = 8.0
# trees of a forest, those that a time budget may leave of them, and forests that a stage needs for itself,
# its value and its rules in twice the time that is for it
_TREES, FEWEST_TREES, _FITS = 200, 10, 12.0
MODEL = one_of("auto", *FAMILIES, "trees") | anything(
    "a scikit-learn regressor", lambda model: hasattr(model, "fit") and not isinstance(model, type)
)


class JudgedLines(NamedTuple):
    """Held-out losses (n,) of lines, of the kernel machine and of the mean of each action."""

    lines: np.ndarray
    machine: np.ndarray
    means: np.ndarray

    def of_rows(self, rows: np.ndarray) -> "JudgedLines":
        """The same of some rows."""
        return JudgedLines(self.lines[rows], self.machine[rows], self.means[rows])


@dataclass(frozen=True)
class StageSelection:
    """What an elimination chose at a stage.

    Attributes
    ----------
    groups : list of int
        Selected groups.
    path : EliminationPath or None
    reason : str
    splits : sequence of Split
        Eliminations without each fold, where there were some on the same rows.
    machine : StageMachine or None
        Whose groups these eliminations removed, or that had none to choose from; None where the choice cannot
        be made again without some rows, but by doing all of it anew.
    judged : JudgedLines or None
        What lines were compared with curves by.
    """

    groups: list[int]
    path: EliminationPath | None
    reason: str
    splits: Sequence[Split] = ()
    machine: StageMachine | None = None
    judged: JudgedLines | None = None

    def turned_into(self, groups: Sequence[int], reason: str) -> "StageSelection":
        """Another choice after the same elimination."""
        return replace(self, groups=list(groups), reason=reason)


def forest(seed: int, n_trees: int = _TREES) -> ExtraTreesRegressor:
    """What ``model="trees"`` is."""
    return ExtraTreesRegressor(n_estimators=n_trees, min_samples_leaf=3, random_state=seed)


def _forest_in_time(X: np.ndarray, y: np.ndarray, seed: int) -> ExtraTreesRegressor:
    """As many trees as a stage has time for."""
    left = present_clock().left
    if left is None:
        return forest(seed)
    began = time.perf_counter()
    forest(seed, FEWEST_TREES).fit(X, y)
    each = (time.perf_counter() - began) / FEWEST_TREES
    return forest(seed, int(np.clip(left / (_FITS * each), FEWEST_TREES, _TREES)))


def fit_q_function(
    stage: StageData,
    subjects: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    model: Any,
    selection: Selection,
    rng: np.random.Generator,
    device: str = "cpu",
    deal: np.ndarray | None = None,
) -> tuple[StageMachine, StageSelection]:
    """The Q-function of a stage on the history columns that it needs.

    Parameters
    ----------
    stage : StageData
    subjects : (m,) int array
        Whom to learn from.
    y, weights : (m,) arrays
        Their responses and weights.
    model
        As `QLearning` takes it, see `MODEL`.
    selection : "loo", StageRFE or None
    rng : Generator
    device : str
    deal : (splits, n) int array, optional
        Folds of all subjects of the trial, which "loo" needs.
    """
    encoder = HistoryEncoder(stage.columns, stage.history[subjects], stage.labels, stage.codes)
    X = encoder.encode(stage.history[subjects], stage.shares(subjects))
    paper = selection if isinstance(selection, StageRFE) else None
    seed, hasty = int(rng.integers(2**31)), False
    kinds: Sequence[Any] = [model]
    if isinstance(model, str) and model == "auto":
        kinds = FAMILIES if paper is None else ["rbf"]
        hasty = paper is None and _has_time_for_lines_alone(encoder, len(y))
        kinds = ["linear"] if hasty else kinds
    elif isinstance(model, str) and model == "trees":
        kinds = [_forest_in_time(X, y, seed)]
    machines = [
        (ColumnMachine if columns_pay(encoder, len(y), kind, paper) else StageMachine)(
            encoder, X, y, weights, kind, paper=paper, device=device, subjects=subjects
        )
        for kind in kinds
    ]
    machine, chosen = choose_machine(machines, selection, np.random.default_rng(seed), deal)
    return machine, replace(chosen, reason=f"time budget, lines alone; {chosen.reason}") if hasty else chosen


def _has_time_for_lines_alone(encoder: HistoryEncoder, n_subjects: int) -> bool:
    """Whether a time budget is too short for curves of many subjects, of which not even one can be broken
    off.
    """
    left = present_clock().left
    if left is None or not columns_pay(encoder, n_subjects, "anova", None):
        return False
    return _PASSES * seconds_of_columns(encoder, n_subjects, "anova") > left


def select_features(
    machine: StageMachine,
    selection: Selection,
    rng: np.random.Generator,
    path: EliminationPath | None = None,
    first: Split | None = None,
    deal: np.ndarray | None = None,
) -> StageSelection:
    """Choose groups of a stage: leave-one-out, Algorithm 25 or Algorithm 27.

    ``path`` and ``first`` are the elimination of "loo" and its first split, where they are known already,
    ``deal`` the folds of its splits.
    """
    n_groups = len(machine.encoder.groups)
    later = isinstance(selection, StageRFE) and selection.algorithm in BY_VALUE
    again = machine if selection == "loo" and machine.uses_kernel else None
    if selection is None or later or n_groups == 0:
        return StageSelection(list(range(n_groups)), None, "all history columns are kept", machine=again)
    if np.ptp(machine.y) <= 1e-12 * np.abs(machine.y).max():
        reason = "the response is the same for everyone: no history column is needed"
        return StageSelection([], None, reason, machine=again)
    if isinstance(selection, StageRFE):
        return _select_by_paper(machine, selection, rng)
    path = elimination(machine, selection) if path is None else path
    if machine.uses_kernel and n_groups > 1 and not (path.broken_off or path.hurried):
        try:
            assert deal is not None
            groups, reason, splits = cross_fitted_choice(machine, path, deal, first)
            return StageSelection(groups, path, reason, splits, again)
        except OutOfTime:
            pass
    size, reason = choose_size("loo-2se", path, "squared")
    groups = sorted(path.order[::-1][:size])
    return StageSelection(groups, path, reason, machine=again if n_groups == 1 else None)


def _select_by_paper(machine: StageMachine, paper: StageRFE, rng: np.random.Generator) -> StageSelection:
    n_groups = len(machine.encoder.groups)
    if paper.algorithm == "rfe-test":
        path = _held_out_path(machine, paper.train_share, rng)
        size, reason = choose_size("held-out", path, "squared")
        # Algorithm 26 ends with one column left.
        size = max(size, 1)
    else:
        path = elimination(machine, paper)
        # three points and a parabola have no change point
        rule = "loo-2se" if n_groups < 4 else ChangePoint(paper.degree)
        size, reason = choose_size(rule, path, "squared")
    extra = int(paper.safeguard * n_groups)
    kept = path.order[::-1][: min(n_groups, size + extra)]
    return StageSelection(sorted(kept), path, f"{reason}, and {extra} more as a safeguard")


def elimination(machine: StageMachine, selection: Selection) -> EliminationPath:
    """Elimination on all rows: one group at a time for Algorithm 25, several at first for ours."""
    problem = machine.make_problem()
    ours = not isinstance(selection, StageRFE)
    if not ours:
        problem = _on_device(problem, machine)
    retune = machine.tuner.again if machine.uses_kernel and ours else None
    cycle = adaptive_cycle if ours or not machine.uses_kernel else _one_by_one
    return eliminate(problem, cycle, retune, hurry=True)


def _held_out_path(machine: StageMachine, train_share: float, rng: np.random.Generator) -> EliminationPath:
    n = len(machine.y)
    order, size = rng.permutation(n), math.ceil(train_share * n)
    problem = machine.held_out_problem(np.sort(order[:size]), np.sort(order[size:]))
    return eliminate(_on_device(problem, machine), _one_by_one)


def _one_by_one(left: int) -> int:
    return 1


def _on_device(problem: Any, machine: StageMachine) -> Any:
    """The problem with its removals on the machine's device, which Gaussian kernels alone know to use."""
    if machine.device == "cpu" or machine.kind != "rbf":
        return problem
    from rlselect.regimes._torch_elimination import on_device

    return on_device(problem, machine.device)


def choose_machine(
    machines: Sequence[StageMachine],
    selection: Selection,
    rng: np.random.Generator,
    deal: np.ndarray | None = None,
) -> tuple[StageMachine, StageSelection]:
    """The machine with the smallest leave-one-out risk after selection, fitted, and its selection.

    With "loo" the families are compared on their eliminations, and only the winner's size is judged on folds.
    A Gaussian kernel on everything searches among all interactions, and what looks best on the way of its
    elimination is the less reliable for it: it must win on the same folds as well.
    """
    path = first = None
    if len(machines) > 1 and selection == "loo" and machines[0].encoder.groups:
        slow = any(machine.kind == "rbf" for machine in machines)
        if slow and isinstance(machines[0], ByColumns) and len(machines[0].y) > _SAMPLE:
            return _choose_among_many(machines, rng, deal)
        # out of time, the first of them is what there is
        paths = run_tasks(elimination, while_time((machine, selection) for machine in machines))
        ranked = _rank_families([machine.kind for machine in machines], paths)
        if machines[ranked[0]].kind == "rbf" and not any(p.broken_off or p.hurried for p in paths):
            assert deal is not None
            ranked, first = _confirm_family(machines, paths, ranked[:2], deal[0])
        machines, path = [machines[ranked[0]]], paths[ranked[0]]
    found = []
    for machine in machines:
        chosen = select_features(machine, selection, rng, path, first, deal)
        found.append((machine.fit(chosen.groups), chosen))
    return min(found, key=lambda one: one[0].loo_risk)


def _choose_among_many(
    machines: Sequence[StageMachine], rng: np.random.Generator, deal: np.ndarray | None
) -> tuple[StageMachine, StageSelection]:
    """The best of families of which the Gaussian one alone is slow: that one selects on a sample.

    It must win there, on all rows and by more than a paired standard error.
    """
    rest = [machine for machine in machines if machine.kind != "rbf"]
    best, chosen = choose_machine(rest, "loo", rng, deal)
    n = len(best.y)
    slow = [machine for machine in machines if machine.kind == "rbf"]
    if not slow or n > _MOST_FOR_GAUSSIAN or present_clock().left is not None:
        return best, chosen
    rows = np.sort(rng.permutation(n)[:_SAMPLE])
    found, selected = choose_machine([machine.on_rows(rows) for machine in machines], "loo", rng, deal)
    if found.kind != "rbf":
        return best, chosen
    smooth = slow[0].fit(selected.groups)
    compared = paired_comparison(EliminationPath(losses=[smooth.losses, best.losses], weights=best.weights))
    if compared["difference"][1] <= compared["difference_standard_error"][1]:
        return best, chosen
    reason = f"{selected.reason}, on a sample of {len(rows)} subjects"
    return smooth, replace(selected, reason=reason, splits=(), machine=None)


def _confirm_family(
    machines: Sequence[StageMachine], paths: Sequence[EliminationPath], ranked: list[int], deal: np.ndarray
) -> tuple[list[int], Split | None]:
    """The better of two families on the same folds, with its split; the second one, out of time."""
    try:
        splits = [one_split(machines[f], paths[f], deal) for f in ranked]
    except OutOfTime:
        return ranked[-1:], None
    risks = [
        held_out_risk(paths[f], split, machines[f].weights) for f, split in zip(ranked, splits, strict=True)
    ]
    # equally good, the second
    winner = len(risks) - 1 - int(np.argmin(risks[::-1]))
    return [ranked[winner]], splits[winner]


def _rank_families(kinds: Sequence[str], paths: Sequence[EliminationPath]) -> list[int]:
    """Families by their leave-one-out risk, each at the size that `best_by_itself` finds.

    A Gaussian kernel comes first only if it is better by more than a paired standard error.
    """
    losses, weights = [path.losses[best_by_itself(path)] for path in paths], paths[0].weights
    if len(paths) == 1:
        return [0]
    compared = paired_comparison(EliminationPath(losses=losses, weights=weights))
    order = np.argsort(compared["risk"], kind="stable").tolist()
    near = compared["difference"][order[1]] <= compared["difference_standard_error"][order[1]]
    return [order[1], order[0], *order[2:]] if kinds[order[0]] == "rbf" and near else order
