r"""A trial passed through backwards: responses of its stages, Q-functions and the scores of a regime.

With :math:`\rho_t = \prod_{s \leq t} 1\{A_s = d_s(H_s)\} / \pi_s` the doubly robust score of a subject is

.. math:: V_1(H_1) + \sum_t \gamma^{t-1} \rho_t \{R_t + \gamma V_{t+1}(H_{t+1}) - Q_t(H_t, A_t)\},

with Q-functions of the regime fitted without the subject's fold; its mean is right when either the
Q-functions or the probabilities are.

A subject is judged by a regime that others have taught, and has taught those that judge the others. What two
subjects do to each other thus enters the mean of the scores twice, and the variance of the scores once. Where
one action is clearly better nothing is missing, since regimes are then alike whoever teaches them; where
actions are equally good up to the whole variance is. What is missing is as large as the part of the variance
of the scores that the chance of learning causes, half the mean square of what they change by between two
regimes from separate halves of the subjects. A stage is learnt from its own residuals, whatever was done
before, so these alone are doubled: `Evaluation.apart` takes the scores of each stage by itself.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from rlselect._clock import OutOfTime, while_time
from rlselect._parallel import run_tasks
from rlselect.regimes._own_loss import response_links
from rlselect.regimes._stage_machine import StageMachine
from rlselect.regimes._stages import best_feasible
from rlselect.regimes._trial import TrialData

__all__ = ["Decide", "Evaluation", "Method", "by_subject", "cross_fitted", "folds_of", "in_folds"]

_SPLITS = 3
# subjects of a stage that a regime can be learnt from
_LEAST_HALF = 10
# from a stage, counted from 0, and rows of its history to positions of actions
Decide: TypeAlias = Callable[[int, np.ndarray], np.ndarray]
Answer = TypeVar("Answer")
Method: TypeAlias = Literal["dr", "ipw", "plug-in"]


class Evaluation:
    """What every estimate of a trial needs: probabilities, folds and the accounting of who was there.

    Parameters
    ----------
    trial : TrialData
    discount : float
    sign : float
        -1 where small rewards are good.
    n_folds : int
    rng : Generator
        Of the splits into folds.
    """

    def __init__(
        self, trial: TrialData, discount: float, sign: float, n_folds: int, rng: np.random.Generator
    ) -> None:
        self.trial, self.discount, self.sign = trial, discount, sign
        ranks = _ranks(trial)
        self._orders = np.array([trial.sample.deal(rng, ranks) for _ in range(_SPLITS)])
        self.splits = self.splits_into(n_folds)
        self.folds = self.splits[0]
        numbers = range(1, trial.n_stages + 1)
        self.links = response_links(trial.reward_type, trial.stages, discount, sign)
        self.importance = [trial.importance(number) for number in numbers]
        self.remaining = [trial.remaining_probabilities(number) for number in numbers]
        # what a subject that was not lost after a stage stands for there, 0 for those that were
        self.kept = [~trial.lost(number) / self.remaining[number - 1] for number in numbers]

    def halves(self, count: int) -> list[np.ndarray]:
        """Who is in the second half of the subjects (n,), in so many divisions; none where halves are too few
        to learn from.
        """
        parts = [rows for second in self.splits_into(2)[:count] == 1 for rows in (second, ~second)]
        there = [self.learners(t, rows)[0] for t in range(self.trial.n_stages) for rows in parts]
        return parts[::2] if min(map(len, there)) >= _LEAST_HALF else []

    def splits_into(self, n_folds: int) -> np.ndarray:
        """Fold of each subject in each of several splits: (splits, n)."""
        return self._orders % max(2, min(n_folds, self.trial.sample.n_units // 2))

    def outcomes(self) -> np.ndarray:
        """Rewards from each stage on of those who have no action there, 0 for the others: (stages, n)."""
        later = np.zeros(self.trial.n_subjects)
        found = []
        for stage in reversed(self.trial.stages):
            later = np.where(stage.present, 0.0, self.sign * stage.reward + self.discount * later)
            found.append(later)
        return np.array(found[::-1])

    def learners(self, t: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Numbers and weights of the subjects, of some or of all, that a stage can be learnt from."""
        known = self.trial.stages[t].present & (self.kept[t] * self.trial.sample.weights > 0.0)
        subjects = np.flatnonzero(known if rows is None else known & rows)
        return subjects, (self.kept[t] * self.trial.sample.weights)[subjects]

    def backward(
        self, fit: Callable[[int, np.ndarray], StageMachine], decide: Decide | None = None
    ) -> list[StageMachine]:
        """Machines of all stages, learnt last first, each on what follows it.

        Parameters
        ----------
        fit : callable
            From a stage, counted from 0, and the responses of all subjects to the fitted machine.
        decide : callable, optional
            The regime that is followed at later stages; the best feasible action by default.
        """
        n = self.trial.n_subjects
        machines: dict[int, StageMachine] = {}
        future = np.zeros(n)
        for t in reversed(range(self.trial.n_stages)):
            stage = self.trial.stages[t]
            y = self.sign * stage.reward + self.discount * future
            machines[t] = fit(t, y)
            here = np.flatnonzero(stage.present)
            q = machines[t].q_values(stage.history[here])
            chosen = self._choose(t, q, stage.history[here], decide)
            # the outcome of those who are done is what it is
            future = y.copy()
            future[here] = machines[t].values(q, chosen, stage.shares(here), y[here])
        return [machines[t] for t in range(len(machines))]

    def refitted(
        self, machines: Sequence[StageMachine], rows: np.ndarray, decide: Decide | None
    ) -> list[StageMachine]:
        """Machines with their parameters on some subjects, for a fixed regime or for the best one."""

        def refit(t: int, y: np.ndarray) -> StageMachine:
            mine = np.flatnonzero(rows[machines[t].subjects])
            return machines[t].refit(mine, y[machines[t].subjects[mine]])

        return self.backward(refit, decide)

    def _choose(self, t: int, q: np.ndarray, history: np.ndarray, decide: Decide | None) -> np.ndarray:
        """Positions of the actions a regime takes; the best feasible ones without a regime."""
        if decide is not None:
            return decide(t, history)
        return best_feasible(q, self.trial.stages[t].allowed(history))

    def scores(
        self, machines: Sequence[StageMachine], rows: np.ndarray, decide: Decide | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Doubly robust scores and plug-in values of some subjects."""
        n, n_stages = self.trial.n_subjects, len(machines)
        values, chosen = np.vstack([self.outcomes(), np.zeros(n)]), np.zeros((n_stages, n), dtype=int)
        fitted = np.zeros((n_stages, n))
        for t, stage in enumerate(self.trial.stages):
            here = np.flatnonzero(stage.present & rows)
            if not len(here):
                continue
            q = machines[t].q_values(stage.history[here])
            chosen[t, here] = self._choose(t, q, stage.history[here], decide)
            values[t, here] = q[np.arange(len(here)), chosen[t, here]]
            fitted[t, here] = (q * stage.shares(here)).sum(axis=1)
        score, path = values[0].copy(), np.ones(n)
        for t, stage in enumerate(self.trial.stages):
            path = path * self.importance[t][np.arange(n), chosen[t]]
            residual = self.sign * stage.reward + self.discount * values[t + 1] - fitted[t]
            score += self.discount**t * np.where(stage.present, path * self.kept[t] * residual, 0.0)
            path = path * self.kept[t]
        return self.sign * score[rows], self.sign * values[0][rows]

    def decisions(self, decide: Decide) -> np.ndarray:
        """Positions of the actions that a regime recommends to all: (stages, n), 0 for those not there."""
        found = np.zeros((self.trial.n_stages, self.trial.n_subjects), dtype=int)
        for t, stage in enumerate(self.trial.stages):
            if stage.present.any():
                found[t, stage.present] = decide(t, stage.history[stage.present])
        return found

    def best_of(self, machines: Sequence[StageMachine]) -> Decide:
        """The regime of the best feasible actions by the Q-functions of some machines."""
        return lambda t, history: self._choose(t, machines[t].q_values(history), history, None)

    def apart(self, machines: Sequence[StageMachine], rows: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """How far the scores of two regimes are apart, stage by stage, for some subjects: (pairs, stages, m).

        ``pairs`` holds `decisions` of both: (pairs, 2, stages, n).
        """
        n = self.trial.n_subjects
        found = np.zeros((len(pairs), self.trial.n_stages, n))
        after = np.vstack([self.outcomes(), np.zeros(n)])
        for t, stage in reversed(list(enumerate(self.trial.stages))):
            here = np.flatnonzero(stage.present & rows)
            if not len(here):
                continue
            q, each = machines[t].q_values(stage.history[here]), np.arange(len(here))
            after[t, here] = q[each, self._choose(t, q, stage.history[here], None)]
            response = self.sign * stage.reward[here] + self.discount * after[t + 1, here]
            residual = self.kept[t][here] * (response - (q * stage.shares(here)).sum(axis=1))
            scores = q + self.importance[t][here] * residual[:, None]
            first, second = (scores[each, pairs[:, side, t][:, here]] for side in (0, 1))
            found[:, t, here] = self.discount**t * (first - second)
        return found[..., rows]

    def weighted_returns(self, chosen: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Path weight and return of each subject for given actions (positions, one array per stage)."""
        weight = np.ones(self.trial.n_subjects)
        for t, stage in enumerate(self.trial.stages):
            agrees = self.importance[t][np.arange(self.trial.n_subjects), chosen[t]]
            weight = weight * np.where(stage.present, agrees * self.kept[t], 1.0)
        return weight, self.trial.returns(self.discount)


def _ranks(trial: TrialData) -> np.ndarray:
    """Places of the subjects (n,) among all by what is known of them, first by what was known first.

    Rows may come in any order.
    """
    keys = [trial.sample.weights]
    for stage in reversed(trial.stages):
        known = np.where(stage.present, stage.history.sum(axis=1), 0.0)
        keys += [stage.reward, stage.action, known]
    ranks = np.empty(trial.n_subjects, dtype=int)
    ranks[np.lexsort(keys)] = np.arange(trial.n_subjects)
    return ranks


def cross_fitted(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    decisions: Sequence[Decide | None],
    method: Method,
    splits: np.ndarray,
    *,
    pairs: np.ndarray | None = None,
    patient: bool = False,
) -> np.ndarray:
    """Scores of every subject from machines, refitted with their parameters, that have not seen its fold.

    ``decisions`` holds one regime for all folds, or one per fold; ``splits`` the folds of the subjects, a row
    per split, as the answer (splits, 1, n) does. With decisions of ``pairs`` of regimes it holds how far
    these are apart at each stage too: (splits, 1 + pairs * stages, n). Out of time it is broken off, unless
    it is ``patient``.
    """
    tests = folds_of(splits)
    each = decisions if len(decisions) > 1 else [*decisions] * len(tests)
    tasks = ((evaluation, machines, test, d, method, pairs) for (_, test), d in zip(tests, each, strict=True))
    return by_subject(in_folds(_fold_scores, tasks, len(tests), patient), splits)


def folds_of(splits: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Number of the split and subjects, a bool array, of each fold."""
    return [(k, folds == fold) for k, folds in enumerate(splits) for fold in np.unique(folds)]


def in_folds(
    work: Callable[..., Answer], tasks: Iterable[tuple], n_folds: int, patient: bool
) -> list[Answer]:
    """What ``work(*task)`` gives for all folds; out of time it is broken off, unless it is patient."""
    found = run_tasks(work, while_time(tasks, least=n_folds if patient else 1))
    if len(found) < n_folds:
        raise OutOfTime
    return found


def by_subject(found: Sequence[np.ndarray], splits: np.ndarray) -> np.ndarray:
    """Scores of everyone in every split, (splits, c, n), from those of the folds of `folds_of`, (c, m)."""
    scores = np.empty((len(splits), len(found[0]), splits.shape[1]))
    for (k, test), mine in zip(folds_of(splits), found, strict=True):
        scores[k][:, test] = mine
    return scores


def _fold_scores(
    evaluation: Evaluation,
    machines: Sequence[StageMachine],
    test: np.ndarray,
    decide: Decide | None,
    method: Method,
    pairs: np.ndarray | None,
) -> np.ndarray:
    fitted = evaluation.refitted(machines, ~test, decide)
    scores = evaluation.scores(fitted, test, decide)[method != "dr"]
    return np.vstack([scores, *([] if pairs is None else evaluation.apart(fitted, test, pairs))])
