"""The partial likelihood of Cox's model, as an `Outcome`, with ties, late entry and strata."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._outcomes import Array, OutcomePoint

Ints = NDArray[np.intp]

# events of one time count in so many parts at most: a sum that long is an integral
_MOST_PARTS = 1000


class _Risk(NamedTuple):
    """Rows in one order, and where among them those begin and end that are at risk in each term."""

    order: Ints | None
    begin: Ints
    stop: Ints


class CoxOutcome:
    r"""Partial likelihood of the order of events, by Efron's or Breslow's rule for ties.

    d events at one time are d terms in which 0, 1/d, 2/d, ... of their own risk has already left (Efron), or
    one term d times (Breslow). Weights count copies of a row: events of total weight D are ceil(D) terms of
    equal weight.

    Parameters
    ----------
    time, event, weight, offset : array of shape (n,)
        End of each row, whether it is an event, how often it counts, and the known part of its predictor.
    entry : array of shape (n,), optional
        Time from which on a row is at risk, that time itself not included.
    stratum : array of int of shape (n,), optional
        Rows are compared within strata only.
    ties : {"efron", "breslow"}, default="efron"
        What to do with events of the same time.
    """

    n_predictors, n_own = 1, 0

    def __init__(
        self,
        time: Array,
        event: NDArray[np.bool_],
        weight: Array,
        offset: Array,
        *,
        entry: Array | None = None,
        stratum: Ints | None = None,
        ties: str = "efron",
    ) -> None:
        group = np.zeros(len(time), dtype=np.intp) if stratum is None else stratum
        event = np.asarray(event, dtype=bool) & (weight > 0)
        # within a stratum the latest first, events of one time together
        self.order: Ints | None = np.lexsort((~event, -time, group))
        time, event, group = time[self.order], event[self.order], group[self.order]
        self.precision = np.zeros(0)
        self._weight, self._offset = weight[self.order], offset[self.order]
        self._event = event
        self._counts = np.where(event, self._weight, 0.0)
        self._first = np.searchsorted(group, group)
        self._starts = np.unique(self._first)
        self._stratum = np.searchsorted(self._starts, self._first)
        self._tie(time, group, ties)
        self._late: _Risk | None = None
        if entry is not None:
            self._enter(entry[self.order], group)

    def _tie(self, time: Array, group: Ints, ties: str) -> None:
        """Terms of the likelihood: who is at risk in each, its weight, and what has left."""
        rows = np.flatnonzero(self._event)
        fresh = np.ones(len(rows), dtype=bool)
        fresh[1:] = (np.diff(time[rows]) != 0) | (np.diff(group[rows]) != 0)
        first = rows[fresh]
        number = np.cumsum(fresh) - 1
        size = np.bincount(number, minlength=len(first))
        total = np.bincount(number, self._counts[rows], minlength=len(first))
        # those at risk end where the same time and stratum do
        same = np.searchsorted(np.flatnonzero(self._breaks(time, group)), first, side="right")
        ends = np.append(np.flatnonzero(self._breaks(time, group))[1:], len(time))[same - 1]
        parts = np.ones(len(first), dtype=np.intp)
        if ties == "efron":
            parts = np.clip(np.ceil(total - 1e-9), 1, _MOST_PARTS).astype(np.intp)
        term = np.repeat(np.arange(len(first)), parts)
        place = np.arange(len(term)) - np.repeat(np.cumsum(parts) - parts, parts)
        self._left = place / parts[term] if ties == "efron" else np.zeros(len(term))
        self._term_weight = (total / parts)[term]
        self._tied = first[term], (first + size)[term]
        self._at_risk = _Risk(None, self._first[first][term], ends[term])
        self._term_time, self._term_stratum = time[first][term], self._stratum[first][term]

    @staticmethod
    def _breaks(time: Array, group: Ints) -> NDArray[np.bool_]:
        fresh = np.ones(len(time), dtype=bool)
        fresh[1:] = (np.diff(time) != 0) | (np.diff(group) != 0)
        return fresh

    def _enter(self, entry: Array, group: Ints) -> None:
        order = np.lexsort((-entry, group))
        sizes = np.diff(np.append(self._starts, len(entry)))
        stop = np.empty(len(self._term_time), dtype=np.intp)
        for s, (start, size) in enumerate(zip(self._starts, sizes, strict=True)):
            mine = self._term_stratum == s
            # from the latest entry on: those that enter at the time of the event, or later
            stop[mine] = start + np.searchsorted(
                -entry[order[start : start + size]], -self._term_time[mine], side="right"
            )
        self._late = _Risk(order, self._starts[self._term_stratum], stop)

    def start(self) -> Array:
        """Nothing: a baseline that cancels out is all there is."""
        return np.zeros(0)

    def _sums(self, values: Array) -> tuple[Array, Array]:
        """Sums of vectors (m, n) over those at risk in each term, and over its events."""
        total = _running(values)
        begin, stop = self._at_risk.begin, self._at_risk.stop
        at_risk = total[:, stop] - total[:, begin]
        if self._late is not None:
            late = _running(values[:, self._late.order])
            at_risk -= late[:, self._late.stop] - late[:, self._late.begin]
        return at_risk, total[:, self._tied[1]] - total[:, self._tied[0]]

    def _spread(self, terms: Array) -> Array:
        """The transpose of `_sums`, its events less what has left: vectors (m, E) of terms over the rows."""
        n = len(self._weight)
        out = _cover(terms, self._at_risk.begin, self._at_risk.stop, n)
        if self._late is not None and self._late.order is not None:
            out[:, self._late.order] -= _cover(terms, self._late.begin, self._late.stop, n)
        if self._left.any():
            out -= _cover(terms * self._left, *self._tied, n)
        return out

    def _risks(self, eta: Array) -> tuple[Array, Array, Array]:
        """Predictor less the largest of its stratum, the risk of each row, and that of each term."""
        predictor = eta[0] + self._offset
        predictor = predictor - np.maximum.reduceat(predictor, self._starts)[self._stratum]
        risk = self._weight * np.exp(predictor)
        at_risk, tied = self._sums(risk[None])
        return predictor, risk, np.maximum(at_risk - self._left * tied, 1e-300)[0]

    def at(self, own: Array, eta: Array) -> OutcomePoint:
        """The log likelihood and its derivatives."""
        predictor, risk, whole = self._risks(eta)
        share, root = self._term_weight / whole, np.sqrt(self._term_weight)

        def means(vectors: Array) -> Array:
            at_risk, tied = self._sums(vectors * risk)
            return np.asarray((at_risk - self._left * tied) * (root / whole))

        def unmeans(terms: Array) -> Array:
            return self._spread(terms * (root / whole)) * risk

        expected = np.maximum(self._spread(share[None])[0], 0.0) * risk
        value = float(self._counts @ predictor - self._term_weight @ np.log(whole))
        score, weights = (self._counts - expected)[None], expected[None, None]
        none = np.zeros(0), np.zeros((0, 0)), np.zeros((0, 1, len(risk)))
        return OutcomePoint(value, score, weights, *none, means, unmeans)

    def absorb(self, own: Array, shift: Array) -> Array:
        """Nothing: the baseline takes it."""
        return own

    def baseline(self, eta: Array) -> list[tuple[Array, Array]]:
        """Times of events and the cumulative hazard of a row whose predictor is zero, by stratum.

        Breslow's estimate, or Efron's where that is the rule for ties.
        """
        predictor, _, whole = self._risks(eta)
        top = eta[0] + self._offset - predictor
        rise = self._term_weight / whole * np.exp(-top[self._at_risk.begin])
        out = []
        for s in range(len(self._starts)):
            mine = self._term_stratum == s
            times, which = np.unique(self._term_time[mine], return_inverse=True)
            hazard = np.zeros(len(times))
            np.add.at(hazard, which, rise[mine])
            out.append((times, np.cumsum(hazard)))
        return out


def _running(values: Array) -> Array:
    """Running sums along the rows, from zero on."""
    out = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=out[:, 1:])
    return out


def _cover(terms: Array, begin: Ints, stop: Ints, n: int) -> Array:
    """Sum for every row of the terms that begin at or before it and stop after it."""
    m = len(terms)
    steps = np.zeros((m, n + 1))
    for i in range(m):
        steps[i] = np.bincount(begin, terms[i], minlength=n + 1) - np.bincount(
            stop, terms[i], minlength=n + 1
        )
    return np.cumsum(steps[:, :-1], axis=1)


def concordance(time: Array, event: NDArray[np.bool_], risk: Array, weight: Array | None = None) -> float:
    """Share of comparable pairs in which the row of the earlier event has the larger risk (Harrell's C).

    A pair is comparable when the earlier of its times is an event, or when one of two equal times is; equal
    risks count one half. Cost O(n^2), a few hundred rows at a time.

    Parameters
    ----------
    time, event, risk : array of shape (n,)
        Ends of the rows, whether they are events, and predicted risks.
    weight : array of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        NaN without a comparable pair.
    """
    w = np.ones(len(time)) if weight is None else weight
    good = total = 0.0
    rows = np.flatnonzero(event)
    for start in range(0, len(rows), 256):
        mine = rows[start : start + 256, None]
        pair = w[mine] * w * ((time > time[mine]) | ((time == time[mine]) & ~event))
        total += float(pair.sum())
        good += float((pair * ((risk < risk[mine]) + 0.5 * (risk == risk[mine]))).sum())
    return good / total if total else float("nan")
