"""Rows until decided, for classes and times until an event: samples that grow, and looks at all rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rlselect.data import DataSource, Units
from rlselect.subset.revs._outcome_kind import OutcomeKind
from rlselect.subset.revs._standing import decided_z, tune_to_rows
from rlselect.subset.revs._subset_state import SubsetState
from rlselect.subset.revs._walk import Walker, WalkResult, inclusion_of
from rlselect.subset.revs.evidence import Block, OutcomeLook, OutcomeSubset, Rows

Floats = NDArray[np.float64]

# rows of the first sample, and of one block of it
_FIRST = 5000
_BLOCK = 8192
# numbers of the largest sample: half a gigabyte
_MOST_NUMBERS = 2**26
# a look that shows more is taken again at the coefficients that it found, once
_LOOKS = 2


@dataclass
class OutcomeRows:
    """A table of which a sample is held.

    Attributes
    ----------
    table : DataSource
        All rows.
    kind : OutcomeKind
        What makes a likelihood of them.
    units : Units
        What enters and leaves together.
    rows : Rows
        The sample.
    """

    table: DataSource
    kind: OutcomeKind
    units: Units
    rows: Rows

    @property
    def most(self) -> int:
        """Rows that a sample may have: those of a very wide table fill the memory sooner."""
        return max(_MOST_NUMBERS // max(self.units.n_columns, 1), min(_FIRST, self.table.batch_rows))

    def begin(self) -> None:
        """Take a first sample that has rows of every class: one without any has no place in the model."""
        sampler = self.table.sampler
        self.draw(min(_FIRST, self.most))
        while (lost := self._lost_class()) is not None:
            if sampler.n_used >= min(self.most, sampler.n_rows):
                raise ValueError(
                    f"y has so few rows of class number {lost + 1} of {self.kind.n_classes} that none is "
                    f"among {sampler.n_used:,} rows drawn at random, as many as may be held in memory: leave "
                    "its rows out, or join it with another class."
                )
            self.draw(min(sampler.n_used, self.most - sampler.n_used))

    def _lost_class(self) -> int | None:
        """A class without a row that counts in the sample; None where there is none."""
        if self.kind.family == "cox":
            return None
        _, y, weight, _ = self.rows.gather(np.empty(0, dtype=np.intp))
        counts = np.bincount(y.astype(np.intp), weight, minlength=self.kind.n_classes)
        return None if counts.all() else int(np.argmin(counts))

    def draw(self, wanted: int) -> None:
        """Take more rows into the sample."""
        for where in self.table.sampler.draw(wanted, _BLOCK):
            self.rows.append(where)

    def state(self) -> OutcomeSubset:
        """The empty subset of the sample."""
        blocks = [block for block in self.rows if isinstance(block, Block)]
        columns = np.concatenate([block.columns(np.arange(self.units.n_columns)) for block in blocks], axis=1)
        y, weight, offset = (
            None if getattr(blocks[0], name) is None else np.concatenate([getattr(b, name) for b in blocks])
            for name in ("y", "weight", "offset")
        )
        assert y is not None
        outcome = self.kind.make(y, weight, offset)
        return OutcomeSubset(columns.astype(np.float64, copy=False), self.units, outcome, self.rows.counted)

    def look_at_all(
        self, look: OutcomeLook, subset: list[int], is_stopped: Callable[[], bool]
    ) -> OutcomeLook | None:
        """Pass over all rows, and add up their scores; None where the search was stopped meanwhile.

        Classes are independent terms. Of times until an event the score of one row depends on all others:
        these are in memory, and their predictors are made first.
        """
        f = len(look.own)
        coef = look.coef[f:].reshape(len(subset), look.score.shape[1])
        every = self._survival_scores(subset, coef) if self.kind.family == "cox" else None
        shift, scale = self.rows.scale
        for batch in self.table.scan():
            stop = look.n_rows + batch.X.shape[0]
            weight = np.ones(batch.X.shape[0]) if batch.sample_weight is None else batch.sample_weight
            if every is None:
                assert batch.y is not None
                eta = self._predictor(batch.X[:, subset], subset, coef)
                point = self.kind.make(batch.y, weight, batch.offset).at(look.coef[:f], eta)
                score, look.own = point.score, look.own + point.own_score
            else:
                score = every[:, look.n_rows : stop]
            look.score += ((batch.X.T @ score.T) - np.outer(shift, score.sum(axis=1))) / scale[:, None]
            look.n_rows, look.counted = stop, look.counted + float(weight.sum())
            if is_stopped():
                return None
        return look

    def _predictor(self, X: Any, subset: list[int], coef: Floats) -> Floats:
        """The columns' part of the predictors, shape (q, n)."""
        shift, scale = self.rows.scale
        inside = np.asarray(X.toarray() if self.table.is_sparse else X, dtype=np.float64)
        return np.asarray((((inside - shift[subset]) / scale[subset]) @ coef).T)

    def _survival_scores(self, subset: list[int], coef: Floats) -> Floats:
        """Derivatives of the partial likelihood by the predictor of each row, in the order of the table."""
        batch = self.table.take(None, np.asarray(subset, dtype=np.intp))
        assert batch.y is not None
        eta = self._predictor(batch.X, subset, coef)
        outcome = self.kind.make(batch.y, batch.sample_weight, batch.offset)
        assert outcome.order is not None
        scores = np.empty_like(eta)
        scores[:, outcome.order] = outcome.at(np.empty(0), eta[:, outcome.order]).score
        return scores


def run_outcome_effort(walker: Walker, sample: OutcomeRows) -> WalkResult:
    """Climb on a sample of the rows, double it, and stop when no row says otherwise.

    Every unit inside has to be decided on the sample, and a look at all rows has to show nothing beside them,
    as in `run_effort`.

    Parameters
    ----------
    walker : Walker
        Stands on the first sample.
    sample : OutcomeRows
        Where more rows come from.

    Returns
    -------
    WalkResult
    """
    sampler, needed = sample.table.sampler, 0.0
    values, reason, n_seen = None, "all rows", 0
    while True:
        walker.climb()
        tune_to_rows(walker)
        walker.climb()
        if walker.stopped or sampler.n_used >= sampler.n_rows:
            break
        if sampler.n_used >= needed and _is_decided(walker):
            values = _seen_by_all(walker, sample)
            if values is None:
                break
            n_seen = sampler.n_rows
            if not np.any(values > 0):
                reason = "decided"
                break
            # what pays there by so much would be decided by this share of the rows
            needed = sampler.n_rows * min(0.5 * decided_z(walker) ** 2 / float(values.max()), 1.0)
        if sampler.n_used >= sample.most:
            reason = "memory"
            break
        _grow(walker, sample)
    return _result(walker, reason, values if reason == "decided" else None, max(n_seen, sampler.n_used))


def _grow(walker: Walker, sample: OutcomeRows) -> None:
    """Stand in the same subset on twice the rows."""
    used, before = sample.table.sampler.n_used, cast(OutcomeSubset, walker.state)
    sample.draw(min(used, sample.most - used))
    state = sample.state()
    state.slab, state.shape = before.slab, before.shape
    state.reset(before.mask)
    walker.state, walker.rows = cast(SubsetState, state), sample.table.sampler.n_used


def _is_decided(walker: Walker) -> bool:
    inside = walker.state.mask & walker.allowed
    return not np.any(walker.rewards()[inside] > -0.5 * decided_z(walker) ** 2)


def _seen_by_all(walker: Walker, sample: OutcomeRows) -> Floats | None:
    """Rewards of all moves on all rows; None where the search was stopped meanwhile."""
    state = cast(OutcomeSubset, walker.state)
    # what the prior of the sizes and the structure make of each move
    beside = walker.rewards() - state.moves()
    coef = None

    def is_stopped() -> bool:
        walker.stopped = walker.stopped or walker.tick()
        return walker.stopped is not None

    for _ in range(_LOOKS):
        seen = sample.look_at_all(*state.look(coef), is_stopped)
        if seen is None:
            return None
        moves, coef = state.seen(seen)
        values = np.where(np.isfinite(beside), moves + beside, -np.inf)
        if not np.any(values > 0):
            break
    return values


def _result(walker: Walker, reason: str, values: Floats | None, n_seen: int) -> WalkResult:
    inclusion = inclusion_of(walker, walker.rewards() if values is None else values)
    ways = [walker.trajectory]
    return WalkResult(inclusion, ways, len(walker.trajectory), walker.stopped or reason, n_rows_seen=n_seen)
