"""The value of a selection: regimes that were selected and learnt without those they are judged on.

Refitting the columns that were selected from everyone would not do: they were chosen for what they seem to do
for the very subjects that are left out, and in a trial of pure noise such a regime looks better than what was
done. The eliminations that a fit makes without each fold are of use here a second time. Without a fold, the
columns of a stage are the last ones of its own elimination, as many as its own leave-one-out risk asks for;
the second look at them and all parameters are made anew. What still owes something to the fold: the family of
the kernels, the choice between lines and curves (by losses of the other subjects, but of machines that knew
the fold), the values of later stages that eliminations were made on, and with many subjects the parameters on
the way of an elimination. Policy trees are judged in the same way, from what was learnt here.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rlselect._clock import OutOfTime
from rlselect.regimes._evaluation import Evaluation, by_subject, folds_of, in_folds
from rlselect.regimes._held_out_folds import best_by_itself
from rlselect.regimes._lasso_machine import sparse_again
from rlselect.regimes._selection import StageSelection, elimination, select_features
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._tailoring import find_tailoring

__all__ = ["Relearning", "Relearnt", "can_relearn", "relearn"]

# the second look at a stage, given its machine, its selection and the columns that the next stage needs
Settle: TypeAlias = Callable[
    [StageMachine, StageSelection, list[str] | None], tuple[StageMachine, StageSelection]
]


def can_relearn(selections: Sequence[StageSelection]) -> bool:
    """Whether every stage was eliminated without each fold, or had nothing to eliminate."""
    return all(chosen.machine is not None for chosen in selections)


class Relearnt(NamedTuple):
    """What was learnt without some subjects, and says of everyone.

    Attributes
    ----------
    q_values : list of (m, K) arrays
        By stage, of those who are there.
    columns : list of lists of str
        By stage: columns that decide.
    chosen : (stages, n) int array
        Positions of the best feasible actions, 0 for those not there.
    """

    q_values: list[np.ndarray]
    columns: list[list[str]]
    chosen: np.ndarray


class Relearning(NamedTuple):
    """Regimes that were selected and learnt without those they are judged on.

    Attributes
    ----------
    splits : (k, n) int array
        Folds of the subjects.
    folds : list of Relearnt
        Without each fold of `folds_of`.
    halves : list of Relearnt
        Without either half of the subjects; empty where these are too few.
    scores : (splits, 1 + stages, n) array
        Doubly robust scores of every subject and how far the halves' regimes are apart for it; (splits, 1, n)
        without halves.
    """

    splits: np.ndarray
    folds: list[Relearnt]
    halves: list[Relearnt]
    scores: np.ndarray


def relearn(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    selections: Sequence[StageSelection],
    settle: Settle,
    splits: np.ndarray,
) -> Relearning:
    """Learn all stages without each fold, in as many splits as all stages have made, and without each half.

    Parameters
    ----------
    evaluation : Evaluation
    machines, selections : sequences
        By stage, of the fit on everyone.
    settle : callable
    splits : (k, n) int array
        Folds, within those of the eliminations.
    """
    splits = splits[: min((len(chosen.splits) for chosen in selections if chosen.splits), default=None)]
    known, half, tests = (evaluation, machines, selections, settle), evaluation.halves, folds_of(splits)
    halves, pair = [], None
    if half is not None:
        tasks = ((*known, None, test, None) for test in (half, ~half))
        halves = [part for part, _ in in_folds(_learn_without, tasks, 2, patient=False)]
        pair = np.array([part.chosen for part in halves])
    found = in_folds(_learn_without, ((*known, *test, pair) for test in tests), len(tests), patient=False)
    scores = by_subject([mine for _, mine in found], splits)
    return Relearning(splits, [part for part, _ in found], halves, scores)


def _learn_without(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    selections: Sequence[StageSelection],
    settle: Settle,
    k: int | None,
    test: np.ndarray,
    pair: np.ndarray | None,
) -> tuple[Relearnt, np.ndarray]:
    """What is learnt without a fold, or without any others, and the scores of these."""
    learnt = _relearnt(evaluation, machines, selections, settle, k, test)
    scores = evaluation.scores(learnt, test, None)[0]
    judged = np.vstack([scores, *([] if pair is None else evaluation.apart(learnt, test, pair))])
    stages = evaluation.trial.stages
    q = [m.q_values(stage.history[stage.present]) for m, stage in zip(learnt, stages, strict=True)]
    columns = []
    for t, machine in enumerate(learnt):
        found = find_tailoring(evaluation, t, machine, evaluation.splits[:1])
        columns.append([machine.encoder.names[g] for g in (found.groups if found else [])])
    return Relearnt(q, columns, evaluation.decisions(evaluation.best_of(learnt))), judged


def _relearnt(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    selections: Sequence[StageSelection],
    settle: Settle,
    k: int | None,
    test: np.ndarray,
) -> list[StageMachine]:
    """Machines of all stages without some subjects: a fold of split k, or any others."""
    needed: list[list[str]] = []

    def fit(t: int, y: np.ndarray) -> StageMachine:
        machine, chosen = _stage_without(selections[t], k, test, y)
        machine, chosen = settle(machine, chosen, needed[-1] if needed else None)
        link, judged = machines[t].link, chosen.judged
        if link is not None:
            machine.by_own_loss(link)
        elif judged is not None:
            machine = sparse_again(machine, judged, machine.weights)
        needed.append([machine.encoder.names[g] for g in machine.groups])
        return machine

    return evaluation.backward(fit)


def _stage_without(
    chosen: StageSelection, k: int | None, test: np.ndarray, y: np.ndarray
) -> tuple[StageMachine, StageSelection]:
    """The machine of a stage on the columns that are selected without some subjects, and the selection."""
    everyone = chosen.machine
    assert everyone is not None
    out = test[everyone.subjects]
    machine = everyone.on_rows(np.flatnonzero(~out))
    machine.y = y[machine.subjects]
    groups = chosen.groups
    if chosen.splits and out.any():
        groups = _eliminated(machine) if k is None else chosen.splits[k].groups_without(out)
    elif len(everyone.encoder.groups) == 1:
        # no folds are needed to decide on a single column
        groups = select_features(machine, "loo", np.random.default_rng(0)).groups
    judged = None if chosen.judged is None else chosen.judged.of_rows(~out)
    return machine.fit(groups), StageSelection(groups, None, chosen.reason, judged=judged)


def _eliminated(machine: StageMachine) -> list[int]:
    """Groups that an elimination on the rows of a machine keeps, as those without a fold are kept."""
    path = elimination(machine, "loo")
    if path.broken_off:
        raise OutOfTime
    return sorted(path.order[::-1][: path.sizes[best_by_itself(path)]])
