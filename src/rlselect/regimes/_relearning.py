"""The value of a selection: regimes that were selected and learnt without those they are judged on.

Refitting the columns that were selected from everyone would not do: they were chosen for what they seem to do
for the very subjects that are left out, and in a trial of pure noise such a regime looks better than what was
done. The eliminations that a fit makes without each fold are of use here a second time. Without a fold, the
columns of a stage are the last ones of its own elimination, as many as its own leave-one-out risk asks for;
the second look at them and all parameters are made anew. What still owes something to the fold: the family of
the kernels, the choice between lines and curves (by losses of the other subjects, but of machines that knew
the fold), the values of later stages that eliminations were made on, and with many subjects the parameters on
the way of an elimination.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from rlselect.regimes._evaluation import Evaluation, folds_of, scores_by_fold
from rlselect.regimes._lasso_machine import sparse_again
from rlselect.regimes._selection import StageSelection, select_features
from rlselect.regimes._stage_machine import StageMachine

__all__ = ["can_relearn", "relearnt_scores"]

# the second look at a stage, given its machine, its selection and the columns that the next stage needs
Settle: TypeAlias = Callable[
    [StageMachine, StageSelection, list[str] | None], tuple[StageMachine, StageSelection]
]


def can_relearn(selections: Sequence[StageSelection]) -> bool:
    """Whether every stage was eliminated without each fold, or had nothing to eliminate."""
    return all(chosen.machine is not None for chosen in selections)


def relearnt_scores(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    selections: Sequence[StageSelection],
    settle: Settle,
    splits: np.ndarray,
) -> np.ndarray:
    """Doubly robust scores of every subject, (splits, n), in as many splits as all stages have made.

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
    tasks = ((evaluation, machines, selections, settle, k, test) for k, test in folds_of(splits))
    return scores_by_fold(_relearnt_fold, tasks, splits)


def _relearnt_fold(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    selections: Sequence[StageSelection],
    settle: Settle,
    k: int,
    test: np.ndarray,
) -> np.ndarray:
    """Scores of the subjects of a fold."""
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

    return evaluation.scores(evaluation.backward(fit), test, None)[0]


def _stage_without(
    chosen: StageSelection, k: int, test: np.ndarray, y: np.ndarray
) -> tuple[StageMachine, StageSelection]:
    """The machine of a stage on the columns that are selected without some subjects, and the selection."""
    everyone = chosen.machine
    assert everyone is not None
    out = test[everyone.subjects]
    machine = everyone.on_rows(np.flatnonzero(~out))
    machine.y = y[machine.subjects]
    groups = chosen.groups
    if chosen.splits and out.any():
        groups = chosen.splits[k].groups_without(out)
    elif len(everyone.encoder.groups) == 1:
        # no folds are needed to decide on a single column
        groups = select_features(machine, "loo", np.random.default_rng(0)).groups
    judged = None if chosen.judged is None else chosen.judged.of_rows(~out)
    return machine.fit(groups), StageSelection(groups, None, chosen.reason, judged=judged)
