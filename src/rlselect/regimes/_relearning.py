"""The value of a selection: regimes that were selected and learnt without those they are judged on.

Refitting the columns that were selected from everyone would not do: they were chosen for what they seem to do
for the very subjects that are left out, and in a trial of pure noise such a regime looks better than what was
done. Without a fold, the columns of a stage are the last ones of an elimination of its own (where the fit has
made it already, that one), as many as its own leave-one-out risk asks for; the second look at them and all
parameters are made anew. What still owes something to the fold: the family of
the kernels, the choice between lines and curves (by losses of the other subjects, but of machines that knew
the fold), the values of later stages that eliminations were made on, and with many subjects the parameters on
the way of an elimination. Policy trees are judged in the same way, from what was learnt here.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rlselect.regimes._evaluation import Evaluation, by_subject, folds_of, in_folds
from rlselect.regimes._held_out_folds import judge
from rlselect.regimes._line_machine import lines_again, lines_from_all
from rlselect.regimes._selection import JudgedLines, StageSelection, select_features
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
    divisions : list of (n,) bool arrays
        Who is in the second half of the subjects; empty where halves are too few.
    halves : list of (Relearnt, Relearnt)
        By division: without the second half, and without the first.
    scores : (splits, 1 + divisions * stages, n) array
        Doubly robust scores of every subject, and how far the halves' regimes are apart for it.
    """

    splits: np.ndarray
    folds: list[Relearnt]
    divisions: list[np.ndarray]
    halves: list[tuple[Relearnt, Relearnt]]
    scores: np.ndarray


def relearn(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    selections: Sequence[StageSelection],
    settle: Settle,
    splits: np.ndarray,
) -> Relearning:
    """Learn all stages without each fold, and without each half in as many divisions as there are splits.

    Parameters
    ----------
    evaluation : Evaluation
    machines, selections : sequences
        By stage, of the fit on everyone.
    settle : callable
    splits : (k, n) int array
        Folds of the subjects.
    """
    known, tests = (evaluation, machines, selections, settle), [test for _, test in folds_of(splits)]
    divisions = evaluation.halves(len(splits))
    parts = [rows for half in divisions for rows in (half, ~half)]
    taught = in_folds(_learn_without, ((*known, rows, None) for rows in parts), len(parts), patient=False)
    halves = [(taught[k][0], taught[k + 1][0]) for k in range(0, len(taught), 2)]
    pairs = np.array([[part.chosen for part in pair] for pair in halves]) if halves else None
    found = in_folds(_learn_without, ((*known, test, pairs) for test in tests), len(tests), patient=False)
    scores = by_subject([mine for _, mine in found], splits)
    return Relearning(splits, [part for part, _ in found], divisions, halves, scores)


def _learn_without(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    selections: Sequence[StageSelection],
    settle: Settle,
    test: np.ndarray,
    pairs: np.ndarray | None,
) -> tuple[Relearnt, np.ndarray]:
    """What is learnt without some subjects, and the scores of these."""
    learnt = _relearnt(evaluation, machines, selections, settle, test)
    scores = evaluation.scores(learnt, test, None)[0]
    judged = np.vstack([scores, *([] if pairs is None else evaluation.apart(learnt, test, pairs))])
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
    test: np.ndarray,
) -> list[StageMachine]:
    """Machines of all stages without some subjects."""
    needed: list[list[str]] = []

    def fit(t: int, y: np.ndarray) -> StageMachine:
        unfitted, link = _rows_without(selections[t], test, y), machines[t].link
        judged = None if link is not None else _judged_without(selections[t], test)
        if judged is not None and lines_from_all(unfitted, judged):
            # lines know all columns: nothing that an elimination finds would be used
            machine = lines_again(unfitted, judged)
        else:
            machine, chosen = _stage_without(selections[t], test, unfitted)
            machine, chosen = settle(machine, chosen, needed[-1] if needed else None)
            if link is not None:
                machine.by_own_loss(link)
            elif judged is not None:
                machine = lines_again(machine, judged)
        needed.append([machine.encoder.names[g] for g in machine.groups])
        return machine

    return evaluation.backward(fit)


def _rows_without(chosen: StageSelection, test: np.ndarray, y: np.ndarray) -> StageMachine:
    """The machine of a stage, not fitted, without some subjects and with the responses that others teach."""
    assert chosen.machine is not None
    machine = chosen.machine.on_rows(np.flatnonzero(~test[chosen.machine.subjects]))
    machine.y = y[machine.subjects]
    return machine


def _judged_without(chosen: StageSelection, test: np.ndarray) -> JudgedLines | None:
    """What lines and curves were compared by, without some subjects."""
    assert chosen.machine is not None
    return None if chosen.judged is None else chosen.judged.of_rows(~test[chosen.machine.subjects])


def _stage_without(
    chosen: StageSelection, test: np.ndarray, machine: StageMachine
) -> tuple[StageMachine, StageSelection]:
    """A machine on the columns that are selected without some subjects, and the selection.

    ``machine`` is that of `_rows_without`.
    """
    everyone = chosen.machine
    assert everyone is not None
    out, groups = test[everyone.subjects], chosen.groups
    if chosen.splits and out.any():
        groups = _selected_without(chosen, everyone, out)
    elif len(everyone.encoder.groups) == 1:
        # no folds are needed to decide on a single column
        groups = select_features(machine, "loo", np.random.default_rng(0)).groups
    return machine.fit(groups), StageSelection(groups, None, chosen.reason)


def _selected_without(chosen: StageSelection, everyone: StageMachine, out: np.ndarray) -> list[int]:
    """Groups that are selected without some rows, by an elimination that was made, or is made, without."""
    known = (split.groups_without(out) for split in chosen.splits)
    groups = next((mine for mine in known if mine is not None), None)
    if groups is None:
        assert chosen.path is not None
        _, order, size = judge(everyone, chosen.path, np.flatnonzero(~out), np.flatnonzero(out))
        groups = sorted(order[:size])
    return groups
