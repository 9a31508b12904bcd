r"""Policy trees learnt last stage first, on doubly robust scores of every action.

The score of action a at a stage is :math:`Q(H, a) + 1\{A = a\} / \pi \, \{R + \gamma V - Q(H, A)\}`, where Q
was learnt without the subject's fold and V is the score of what the trees of later stages recommend. Values
are means of these scores. Trees are learnt from the fitted Q and a quarter of the correction: with few
subjects its noise moves splits further than the errors of Q that it mends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlselect.regimes._estimates import from_scores
from rlselect.regimes._evaluation import Decide, Evaluation, by_subject, folds_of
from rlselect.regimes._policy_tree import PolicyTree, StageTree, learn_stage_tree, offer_splits, rows_in_time
from rlselect.regimes._relearning import Relearning
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
    again: Relearning | None = None,
    before_each: Callable[[], None] = lambda: None,
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
    again : Relearning, optional
        What was selected and learnt anew without each of these folds; machines are refitted without it.
    before_each : callable
        Called before each machine and each tree is learnt, and may break off.
    """
    growth = _Growth(evaluation, machines, splits, depth, costs, again, before_each)
    stages = reversed(range(evaluation.trial.n_stages))
    trees = [growth.add_stage(t, columns[t], decide) for t in stages]
    apart = growth.apart[None] if growth.halves else None
    trial = evaluation.trial
    # what costs leave of rewards may be less than these can be
    limits = trial.limits(evaluation.discount) if costs is None else (-np.inf, np.inf)
    value = from_scores(evaluation.sign * growth.judged(), "dr", level, trial.sample, apart, limits)
    return PolicyTree(trees[::-1], value)


class _Growth:
    """What follows the stages that have their trees: for everyone, and for those who stay out of a fold.

    Parameters
    ----------
    evaluation, machines, splits, depth, costs, again, before_each
        As for `grow_policy_tree`.

    Attributes
    ----------
    runs : list of (int, (n,) bool array)
        Every fold of every split: the number of its split, and who is in it.
    after : (n,) array
        Scores of what the trees recommend from the last stage that was added on.
    expected : (n,) array
        Held-out Q-values of the same, less costs.
    without : (runs, n) array
        Scores by the trees of the others than the fold.
    fitted : (runs, n) array
        Values of these trees by the machines of the others, less costs.
    halves : list of (n,) bool arrays
        Who is in the second half of the subjects, in some divisions.
    apart : (divisions, stages, n) array
        How far the scores of trees from either half are apart.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        machines: Sequence[StageMachine],
        splits: np.ndarray,
        depth: int,
        costs: Any,
        again: Relearning | None,
        before_each: Callable[[], None],
    ) -> None:
        n = evaluation.trial.n_subjects
        self.evaluation, self.machines, self.splits, self.again = evaluation, machines, splits, again
        self.depth, self.costs, self.outcomes = depth, costs, evaluation.outcomes()
        self.runs = folds_of(splits)
        self.halves = evaluation.halves(len(splits)) if again is None else again.divisions
        self.before_each = before_each
        self.after, self.expected, self.without = np.zeros(n), np.zeros(n), np.zeros((len(self.runs), n))
        self.fitted = np.zeros((len(self.runs), n))
        self.apart = np.zeros((len(self.halves), evaluation.trial.n_stages, n))

    def add_stage(self, t: int, columns: Sequence[str], decide: Decide) -> StageTree:
        """The tree of the stage before those that have theirs."""
        trial = self.evaluation.trial
        stage = trial.stages[t]
        here = np.flatnonzero(stage.present)
        history, price = stage.history[here], _prices(stage, self.costs, trial.n_subjects)[here]
        every = self._refit(t, stage, history)
        held_out = self._held_out(every, here)
        learn = self._learner(t, stage, history)
        expected = held_out.mean(axis=0)
        gains = action_scores(self.evaluation, t, stage, expected, self.after) - price
        tree = learn(np.ones(len(here), dtype=bool), gains, expected - price, columns)
        for run, (k, test) in enumerate(self.runs):
            # its machine and its trees know nobody of the fold; an estimator knows its own rows too well
            known = every[run] if self.machines[t].uses_kernel else held_out[k]
            offered = columns
            if self.again is not None:
                known, offered = self.again.folds[run].q_values[t], self.again.folds[run].columns[t]
            mine = action_scores(self.evaluation, t, stage, known, self.without[run]) - price
            then = learn(~test[here], mine, known - price, offered).decide(history)
            self.fitted[run, here] = _taken(every[run] - price, then)
            self.without[run] = self.outcomes[t]
            self.without[run, here] = _taken(mine, then)
        chosen = tree.decide(history)
        self._compare_halves(t, stage, expected, price, columns)
        self.after, self.expected = self.outcomes[t].copy(), self.outcomes[t].copy()
        self.after[here], self.expected[here] = _taken(gains, chosen), _taken(expected - price, chosen)
        return replace(tree, agreement=float(np.mean(chosen == decide(t, history))))

    def _compare_halves(
        self, t: int, stage: StageData, expected: np.ndarray, price: np.ndarray, columns: Sequence[str]
    ) -> None:
        """Note how far the scores of trees from either half are apart; Q-values (m, K) are held out."""
        history = stage.history[stage.present]
        learn = self._learner(t, stage, history)
        scores = action_scores(self.evaluation, t, stage, expected, self.expected) - price
        for k, half in enumerate(self.halves):
            taken = []
            for side, out in enumerate((half, ~half)):
                known, mine, offered = expected, scores, columns
                if self.again is not None:
                    part = self.again.halves[k][side]
                    known, offered = part.q_values[t], part.columns[t]
                    mine = action_scores(self.evaluation, t, stage, known, self.expected) - price
                tree = learn(~out[stage.present], mine, known - price, offered)
                taken.append(_taken(scores, tree.decide(history)))
            self.apart[k, t, stage.present] = self.evaluation.discount**t * (taken[0] - taken[1])

    def _refit(self, t: int, stage: StageData, history: np.ndarray) -> list[np.ndarray]:
        """Q-values (m, K) by the machine of each run, and the responses it was learnt from as its values."""
        every = []
        for run, (_, test) in enumerate(self.runs):
            self.before_each()
            y = self.evaluation.sign * stage.reward + self.evaluation.discount * self.fitted[run]
            mine = np.flatnonzero(~test[self.machines[t].subjects])
            machine = self.machines[t].refit(mine, y[self.machines[t].subjects[mine]])
            every.append(machine.q_values(history))
            self.fitted[run] = y
        return every

    def _held_out(self, every: Sequence[np.ndarray], here: np.ndarray) -> np.ndarray:
        """Q-values of each split by machines that do not know the subject: (splits, m, K)."""
        found = np.zeros((len(self.splits), *every[0].shape))
        for (k, test), q in zip(self.runs, every, strict=True):
            found[k, test[here]] = q[test[here]]
        return found

    def _learner(self, t: int, stage: StageData, history: np.ndarray) -> Callable[..., StageTree]:
        """What learns the tree of a stage from rows (m,), scores and fitted values (m, K) and columns."""
        names = [column.name for column in stage.columns]
        # how much a subject counts
        own = self.evaluation.trial.sample.weights[stage.present, None]

        def learn(
            rows: np.ndarray, scores: np.ndarray, fitted: np.ndarray, columns: Sequence[str]
        ) -> StageTree:
            self.before_each()
            n_actions = scores.shape[1]
            offered = offer_splits(stage.columns, [names.index(name) for name in columns], history, n_actions)
            steady = own * _steadied(scores, fitted)
            some = rows_in_time(np.flatnonzero(rows), offered, n_actions)
            return learn_stage_tree(t + 1, stage.frame(), history[some], steady[some], offered, self.depth)

        return learn

    def judged(self) -> np.ndarray:
        """Scores of everyone by trees that do not know the subject: (splits, n)."""
        return by_subject(
            [mine[None, test] for mine, (_, test) in zip(self.without, self.runs, strict=True)], self.splits
        )[:, 0]


def _taken(scores: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Of scores (m, K) those of the chosen actions: (m,)."""
    return scores[np.arange(len(scores)), chosen]


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
