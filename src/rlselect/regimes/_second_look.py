"""What an elimination cannot see: surplus columns, pairs that act together, and what the next stage needs."""

from collections.abc import Sequence

import numpy as np

from rlselect.machines import EliminationPath, paired_comparison
from rlselect.regimes._held_out_folds import price_of_set
from rlselect.regimes._selection import StageSelection
from rlselect.regimes._stage_machine import StageMachine

__all__ = ["prune", "recall", "recall_pairs", "recall_strong"]


def recall(
    machine: StageMachine, chosen: StageSelection, candidates: Sequence[int]
) -> tuple[StageMachine, StageSelection]:
    """Take groups back, one after the other, where that lowers the out-of-sample risk.

    For groups that are known to be part of the response for another reason than the data of the stage:
    among many noise columns an elimination loses those that act through interactions, and few candidates
    need no protection against chance.
    """
    back = []
    for group in candidates:
        wider = machine.on_groups([*machine.groups, group])
        if wider.loo_risk < machine.loo_risk:
            machine = wider
            back.append(machine.encoder.names[group])
    if not back:
        return machine, chosen
    reason = f"{chosen.reason}, and {', '.join(back)} because the next stage needs it"
    return machine, chosen.turned_into(machine.groups, reason)


def prune(machine: StageMachine, chosen: StageSelection) -> tuple[StageMachine, StageSelection]:
    """Let groups go, one after the other, without which the risk is not larger by a standard error.

    The set that is left has been chosen by folds; here its members are judged one by one, on all rows. Many
    weak groups, each of which could go, may be strong together: of the sets on the way the cheapest stays.
    """
    visited = [machine]
    while len(visited[-1].groups) > 1:
        last = visited[-1]
        fewer = [last.on_groups([g for g in last.groups if g != group]) for group in last.groups]
        best = min(fewer, key=lambda other: other.loo_risk)
        compared = paired_comparison(
            EliminationPath(losses=[last.losses, best.losses], weights=machine.weights)
        )
        if compared["difference"][1] > compared["difference_standard_error"][1]:
            break
        visited.append(best)
    n, d = len(machine.y), len(machine.encoder.groups)
    # equally cheap, the smallest
    best = min(reversed(visited), key=lambda other: price_of_set(other.loo_risk, n, len(other.groups), d))
    gone = [machine.encoder.names[g] for g in machine.groups if g not in best.groups]
    if not gone:
        return machine, chosen
    reason = f"{chosen.reason}, less {', '.join(gone)} within a standard error"
    return best, chosen.turned_into(best.groups, reason)


def recall_strong(machine: StageMachine, chosen: StageSelection) -> tuple[StageMachine, StageSelection]:
    """Take groups back, the best one first, as long as one lowers the risk by more than chance would.

    For stages of three and more actions: a column has so many products with them that an elimination among
    many columns, repeated on fewer rows, may lose one that is plain to see beside the columns that are left.
    """
    back = []
    outside = [g for g in range(len(machine.encoder.groups)) if g not in set(machine.groups)]
    while outside:
        best = outside[int(np.argmin([machine.risk_with([*machine.groups, g]) for g in outside]))]
        wider = machine.on_groups([*machine.groups, best])
        # The best of many looks good by chance: the price of the search is twice its logarithm.
        if _gain(machine.loo_risk, wider) <= 2.0 * np.log(len(outside) + 1.0):
            break
        machine = wider
        outside.remove(best)
        back.append(machine.encoder.names[best])
    if not back:
        return machine, chosen
    reason = f"{chosen.reason}, and {', '.join(back)} beside them"
    return machine, chosen.turned_into(machine.groups, reason)


def _gain(risk: float, wider: StageMachine) -> float:
    """What a wider machine gains on a risk, in units of twice the log likelihood."""
    return float(len(wider.y) * np.log(max(risk, 1e-300) / max(wider.loo_risk, 1e-300)))


def recall_pairs(machine: StageMachine, chosen: StageSelection) -> tuple[StageMachine, StageSelection]:
    """Take a past action back together with the covariate it acts with, where only both lower the risk.

    Neither says anything without the other, so an elimination that lost one loses the second next. A wrong
    pair brings the products of the past action with all covariates, and is seen to raise the risk.
    """
    e = machine.encoder
    outside = [g for g in range(len(e.groups)) if g not in set(machine.groups)]
    pairs = [(a, c) for a in outside if e.past[a] for c in outside if not e.past[c]]
    while pairs:
        # The parameters of the present set are good enough to find the pair, not to judge it.
        best = pairs[int(np.argmin([machine.risk_with([*machine.groups, *pair]) for pair in pairs]))]
        wider = machine.on_groups([*machine.groups, *best])
        singles = [machine.on_groups([*machine.groups, group]) for group in best]
        apart = min(machine.loo_risk, *(single.loo_risk for single in singles))
        # The best of many pairs looks good by chance: the price of the search is twice its logarithm.
        if _gain(apart, wider) <= 2.0 * np.log(len(pairs)):
            break
        machine = wider
        names = " with ".join(e.names[g] for g in best)
        chosen = chosen.turned_into(machine.groups, f"{chosen.reason}, and {names}")
        pairs = [pair for pair in pairs if not set(pair) & set(best)]
    return machine, chosen
