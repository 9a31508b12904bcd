r"""Policy trees learnt last stage first, on doubly robust scores of every action.

The score of action a at a stage is :math:`Q(H, a) + 1\{A = a\} / \pi \, \{R + \gamma V - Q(H, A)\}`, where Q
was learnt without the subject's fold and V is the score of what the trees of later stages recommend. Values
are means of these scores. Trees are learnt from the fitted Q and a quarter of the correction: with few
subjects its noise moves splits further than the errors of Q that it mends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlselect.regimes._estimates import from_scores
from rlselect.regimes._evaluation import Decide, Evaluation
from rlselect.regimes._policy_tree import PolicyTree, StageTree, learn_stage_tree, offer_splits
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stages import StageData

__all__ = ["action_scores", "grow_policy_tree"]

# share of the correction of fitted Q-values in the scores that trees are learnt from
_CORRECTED = 0.25


def grow_policy_tree(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    decide: Decide,
    columns: Sequence[Sequence[str]],
    *,
    depth: int,
    costs: Any,
    level: float,
    splits: np.ndarray,
) -> PolicyTree:
    """The trees of all stages and what they are worth.

    Parameters
    ----------
    evaluation : Evaluation
    machines : sequence of StageMachine
        Q-functions, to be refitted with their parameters.
    decide : callable
        The full regime, to compare with.
    columns : sequence of sequences of str
        By stage: history columns that trees may ask for.
    depth : int
    costs : mapping or None
        Action to its cost, a number or one per subject.
    level : float
    splits : (k, n) int array
        Folds of the subjects in one or several splits.
    """
    trial, sign, n = evaluation.trial, evaluation.sign, evaluation.trial.n_subjects
    runs = [(k, folds == fold) for k, folds in enumerate(splits) for fold in np.unique(folds)]
    outcomes = evaluation.outcomes()
    # what follows a stage: by the trees, by trees without each fold, and by the fitted machines of each fold
    after, without = np.zeros(n), np.zeros((len(runs), n))
    fitted = np.zeros((len(runs), n))
    trees: list[StageTree] = []
    for t in reversed(range(trial.n_stages)):
        stage = trial.stages[t]
        here = np.flatnonzero(stage.present)
        history = stage.history[here]
        price = _prices(stage, costs, n)
        q = np.zeros((len(splits), n, len(stage.labels)))
        every = []
        for run, (k, test) in enumerate(runs):
            y = sign * stage.reward + evaluation.discount * fitted[run]
            mine = np.flatnonzero(~test[machines[t].subjects])
            machine = machines[t].refit(mine, y[machines[t].subjects[mine]])
            every.append(machine.q_values(history))
            q[k, here[test[here]]] = every[-1][test[here]]
            fitted[run] = y
        names = [column.name for column in stage.columns]
        asked = [names.index(name) for name in columns[t]]
        offered = offer_splits(stage.columns, asked, history)
        frame = stage.frame()

        expected = q[:, here].mean(axis=0)
        gains = action_scores(evaluation, t, stage, expected, after) - price[here]
        # how much a subject counts
        own = trial.sample.weights[here, None]
        steady = own * _steadied(gains, expected - price[here])
        tree = learn_stage_tree(t + 1, frame, history, steady, offered, depth)
        chosen = tree.decide(history)
        trees.append(replace(tree, agreement=float(np.mean(chosen == decide(t, history)))))
        rows = np.arange(len(here))
        for run, (k, test) in enumerate(runs):
            # its machine and its trees know nobody of the fold; an estimator knows its own rows too well
            known = every[run] if machines[t].uses_kernel else q[k, here]
            mine = action_scores(evaluation, t, stage, known, without[run]) - price[here]
            learn = ~test[here]
            steady = own * _steadied(mine, known - price[here])
            part = learn_stage_tree(t + 1, frame, history[learn], steady[learn], offered, depth)
            then = part.decide(history)
            fitted[run, here] = every[run][rows, then] - price[here, then]
            without[run] = outcomes[t]
            without[run, here] = mine[rows, then]
        after = outcomes[t].copy()
        after[here] = gains[rows, chosen]
    judged = np.empty(splits.shape)
    for run, (k, test) in enumerate(runs):
        judged[k, test] = without[run, test]
    return PolicyTree(trees[::-1], from_scores(sign * judged, "dr", level, trial.sample))


def _steadied(scores: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """Fitted Q-values (m, K) with a part of what doubly robust scores correct."""
    return fitted + _CORRECTED * (scores - fitted)


def action_scores(
    evaluation: Evaluation, t: int, stage: StageData, q: np.ndarray, follows: np.ndarray
) -> np.ndarray:
    """Scores of each action for those present, from their Q-values: (m, K)."""
    here = np.flatnonzero(stage.present)
    weight = evaluation.kept[t][here, None] * evaluation.importance[t][here]
    response = evaluation.sign * stage.reward[here] + evaluation.discount * follows[here]
    return q + weight * (response - (q * stage.shares(here)).sum(axis=1))[:, None]


def _prices(stage: StageData, costs: Any, n: int) -> np.ndarray:
    """Cost of each action for each subject: (n, K)."""
    found = np.zeros((n, len(stage.labels)))
    if costs is None:
        return found
    if not isinstance(costs, Mapping):
        raise ValueError(f"costs={costs!r} was given; it must be a dict from actions to their costs.")
    for place, label in enumerate(stage.labels):
        price = np.asarray(costs.get(label, 0.0), dtype=float)
        if price.shape not in ((), (n,)) or not np.isfinite(price).all():
            raise ValueError(
                f"the cost of the action {label!r} has shape {price.shape}; it must be a finite number, or "
                f"one for each of the {n} subjects."
            )
        found[:, place] = price
    return found
