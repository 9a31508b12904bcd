"""Answers that are given only where they are sure enough to keep a promise about their errors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rlselect.datumwise._policy import Episodes, PurchasePolicy

__all__ = ["Promise", "find_threshold", "play_until_sure"]

# confidences that are tried, from the strictest down, and how many of them a walk may start at
_TRIED, _STARTS = 40, 5


@dataclass(frozen=True)
class Promise:
    """What is promised about the cases that are answered.

    Parameters
    ----------
    max_error : float
        Share of the answers that may be wrong.
    level : float
        With this probability over the rows that it was set by, it is kept.
    threshold : float
        An answer needs this probability.
    buy_more : bool
        Whether cases that are not sure enough go on buying.
    """

    max_error: float
    level: float
    threshold: float
    buy_more: bool


@dataclass
class _Ends:
    """Moments at which cases may be answered, step by step: confidence (minus infinity at others), answer."""

    confidence: list[NDArray]
    answer: list[NDArray]


def play_until_sure(
    policy: PurchasePolicy,
    codes: NDArray,
    closed: NDArray,
    held: NDArray | None,
    threshold: float,
    buy_more: bool,
    ends: _Ends | None = None,
) -> Episodes:
    """Episodes as those of the policy, in which an answer needs a probability of at least `threshold`.

    With `buy_more`, a case that is not sure enough buys what is best although it is not worth its price, as
    long as anything is left. `ends` takes note of the moments at which a lower threshold would have ended it.
    """
    rules = policy.rules
    n, n_units = closed.shape
    bought = np.zeros((n, n_units), dtype=bool) if held is None else held.copy()
    answer, cost, decided = np.empty(n, dtype=np.intp), np.zeros(n), np.zeros(n, dtype=bool)
    order: list[NDArray] = []
    live = np.arange(n)
    while len(live):
        scores = policy.action_scores(codes[live], bought[live])
        may = rules.open(bought[live], cost[live]) & ~closed[live]
        best_answer = scores[:, n_units:].argmax(axis=1)
        step = np.arange(len(live))
        shares = policy.probabilities(codes[live], bought[live])[step, best_answer]
        usable = np.where(may, scores[:, :n_units], -np.inf)
        best = usable.argmax(axis=1)
        enough = usable[step, best] < scores[step, n_units + best_answer]
        sure = shares >= threshold
        if ends is not None:
            ends.confidence.append(np.full(n, -np.inf))
            ends.answer.append(np.zeros(n, dtype=np.intp))
            ends.confidence[-1][live[enough]] = shares[enough]
            ends.answer[-1][live] = best_answer
        stops = enough & (sure | (not buy_more) | ~may.any(axis=1))
        answer[live[stops]], decided[live[stops]] = best_answer[stops], sure[stops]
        live, best = live[~stops], best[~stops]
        if len(live):
            cost[live] += rules.price(bought[live])[np.arange(len(live)), best]
            bought[live, best] = True
            column = np.full(n, -1, dtype=np.int32)
            column[live] = best
            order.append(column)
    stacked = np.stack(order, axis=1) if order else np.empty((n, 0), dtype=np.int32)
    return Episodes(stacked, bought, answer, cost, decided)


def find_threshold(
    policy: PurchasePolicy,
    codes: NDArray,
    closed: NDArray,
    held: NDArray | None,
    labels: NDArray,
    max_error: float,
    level: float,
    buy_more: bool,
) -> float:
    """The lowest threshold at which rows (n,) that took no part in learning show that errors are few enough.

    Learn then test: each threshold is a hypothesis, that more than `max_error` of its answers are wrong. The
    errors among its answers are binomial, so that the tail of that distribution is a p-value for any number
    of rows. From each of a few starts that are fixed beforehand the thresholds are lowered as long as the
    hypothesis is refused at ``(1 - level) / starts``: the probability that a false promise is made at all
    is at most ``1 - level``. Infinite where none can be shown.
    """
    ends = _Ends([], [])
    play_until_sure(policy, codes, closed, held, np.inf, buy_more, ends)
    confidence, answers = np.stack(ends.confidence, axis=1), np.stack(ends.answer, axis=1)
    tried = 1 - np.geomspace(1e-3, 1 - 1 / policy.rules.n_classes, _TRIED)
    wrong, given = np.array([_count(confidence, answers, labels, threshold) for threshold in tried]).T
    shown = (stats.binom.cdf(wrong, given, max_error) <= (1 - level) / _STARTS) & (given > 0)
    found = np.inf
    for start in range(0, _TRIED, _TRIED // _STARTS):
        for place in range(start, _TRIED):
            if not shown[place]:
                break
            found = min(found, float(tried[place]))
    return found


def _count(confidence: NDArray, answers: NDArray, labels: NDArray, threshold: float) -> tuple[int, int]:
    """How many answers are wrong, and given at all, at a threshold."""
    sure = confidence >= threshold
    answered = np.flatnonzero(sure.any(axis=1))
    first = sure[answered].argmax(axis=1)
    return int((answers[answered, first] != labels[answered]).sum()), len(answered)
