"""The partial likelihood of Cox's model, as an `Outcome`, with ties, late entry and strata."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels._outcomes import Array, OutcomePoint

Ints = NDArray[np.intp]

# events of one time count in so many parts at most: a sum that long is an integral
_MOST_PARTS = 1000


class _Risk(NamedTuple):
    """Rows in one order, and how far those go, from the start of the stratum, that count in each term."""

    order: Ints | None
    stop: Ints


class _Strata(NamedTuple):
    """Strata of about the same size: their rows (s, m), -1 where one has fewer, their terms, and whose."""

    rows: Ints
    terms: Ints
    owner: Ints


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
        # events lie together by their times, and so do the terms
        self._event_rows, self._tie_of_event = rows, number
        self._tie_of_term, self._tie_starts = term, np.flatnonzero(fresh)
        self._term_starts = np.cumsum(parts) - parts
        self._at_risk = _Risk(None, ends[term])
        self._term_time, self._term_stratum = time[first][term], self._stratum[first][term]
        self._strata = self._by_size(len(time))

    def _by_size(self, n: int) -> list[_Strata]:
        """Strata by the powers of two of their sizes: hundreds of matched sets are summed up at once."""
        sizes = np.diff(np.append(self._starts, n))
        power = np.frexp(sizes - 0.5)[1]
        batches = []
        for one in np.unique(power):
            which = np.flatnonzero(power == one)
            place = np.arange(sizes[which].max())
            rows = np.where(place < sizes[which, None], self._starts[which, None] + place, -1)
            terms = np.flatnonzero(power[self._term_stratum] == one)
            batches.append(_Strata(rows, terms, np.searchsorted(which, self._term_stratum[terms])))
        return batches

    @staticmethod
    def _breaks(time: Array, group: Ints) -> NDArray[np.bool_]:
        fresh = np.ones(len(time), dtype=bool)
        fresh[1:] = (np.diff(time) != 0) | (np.diff(group) != 0)
        return fresh

    def _enter(self, entry: Array, group: Ints) -> None:
        order = np.lexsort((-entry, group))
        sizes = np.diff(np.append(self._starts, len(entry)))
        stop = np.empty(len(self._term_time), dtype=np.intp)
        ends = np.searchsorted(self._term_stratum, np.arange(len(sizes) + 1))
        for s, (start, size) in enumerate(zip(self._starts, sizes, strict=True)):
            mine = slice(ends[s], ends[s + 1])
            # from the latest entry on: those that enter at the time of the event, or later
            stop[mine] = start + np.searchsorted(
                -entry[order[start : start + size]], -self._term_time[mine], side="right"
            )
        self._late = _Risk(order, stop)

    @property
    def compares(self) -> bool:
        """Whether any event has another row at risk beside it: without one, nothing can be learnt."""
        return bool((self._sums((self._weight > 0.0)[None].astype(np.float64))[0] > 1.0).any())

    def start(self) -> Array:
        """Nothing: a baseline that cancels out is all there is."""
        return np.zeros(0)

    def _sums(self, values: Array) -> tuple[Array, Array]:
        """Sums of vectors (m, n) over those at risk in each term, and over its events."""
        at_risk = self._running(values, self._at_risk)
        if self._late is not None and self._late.order is not None:
            at_risk -= self._running(values[:, self._late.order], self._late)
        events = values[:, self._event_rows]
        tied = np.add.reduceat(events, self._tie_starts, axis=1) if events.size else events
        return at_risk, tied[:, self._tie_of_term]

    def _spread(self, terms: Array) -> Array:
        """The transpose of `_sums`, its events less what has left: vectors (m, E) of terms over the rows."""
        out = self._cover(terms, self._at_risk)
        if self._late is not None and self._late.order is not None:
            out[:, self._late.order] -= self._cover(terms, self._late)
        if self._left.any():
            left = np.add.reduceat(terms * self._left, self._term_starts, axis=1)
            out[:, self._event_rows] -= left[:, self._tie_of_event]
        return out

    def _running(self, values: Array, risk: _Risk) -> Array:
        """Sums over the first rows of a stratum, for each term.

        Every stratum has its own: beside sums of another one, small risks would be lost in rounding.
        """
        if len(self._starts) == 1:
            return np.cumsum(values, axis=1)[:, risk.stop - 1] * (risk.stop > 0)
        out = np.zeros((len(values), len(risk.stop)))
        for rows, terms, owner in self._strata:
            total = np.cumsum(np.where(rows < 0, 0.0, values[:, rows]), axis=2)
            place = risk.stop[terms] - rows[owner, 0]
            out[:, terms] = total[:, owner, place - 1] * (place > 0)
        return out

    def _cover(self, terms: Array, risk: _Risk) -> Array:
        """Sum of the terms of its stratum that end after each row, positive ones without cancellation."""
        out = np.zeros((len(terms), len(self._weight)))
        for rows, mine, owner in self._strata:
            number, size = rows.shape
            place = owner * (size + 1) + risk.stop[mine] - rows[owner, 0]
            steps = np.array(
                [np.bincount(place, term[mine], minlength=number * (size + 1)) for term in terms]
            )
            steps = steps.reshape(-1, number, size + 1)[:, :, :0:-1]
            out[:, rows[rows >= 0]] = np.cumsum(steps, axis=2)[:, :, ::-1][:, rows >= 0]
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
        rise = self._term_weight / whole * np.exp(-top[self._starts[self._term_stratum]])
        out = []
        ends = np.searchsorted(self._term_stratum, np.arange(len(self._starts) + 1))
        for mine in map(slice, ends[:-1], ends[1:]):
            times, which = np.unique(self._term_time[mine], return_inverse=True)
            hazard = np.zeros(len(times))
            np.add.at(hazard, which, rise[mine])
            out.append((times, np.cumsum(hazard)))
        return out


def concordance(
    time: Array,
    event: NDArray[np.bool_],
    risk: Array,
    weight: Array | None = None,
    *,
    entry: Array | None = None,
    stratum: Ints | None = None,
) -> float:
    """Share of comparable pairs in which the row of the earlier event has the larger risk (Harrell's C).

    A pair is comparable when the earlier of its times is an event, or when one of two equal times is, the
    other row has entered before it, and both are of one stratum; equal risks count one half. Cost O(n^2), a
    few hundred rows at a time.

    Parameters
    ----------
    time, event, risk : array of shape (n,)
        Ends of the rows, whether they are events, and predicted risks.
    weight : array of shape (n,), optional
        How often each row counts.
    entry, stratum : array of shape (n,), optional
        As in `CoxOutcome`; an entry of zero is from the start on.

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
        both = (time > time[mine]) | ((time == time[mine]) & ~event)
        if entry is not None:
            both &= (entry <= 0) | (entry < time[mine])
        if stratum is not None:
            both &= stratum == stratum[mine]
        pair = w[mine] * w * both
        total += float(pair.sum())
        good += float((pair * ((risk < risk[mine]) + 0.5 * (risk == risk[mine]))).sum())
    return good / total if total else float("nan")
