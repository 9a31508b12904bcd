"""What rows of two classes say of selections that were made without them."""

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Batch
from rlselect.learn import UCB
from rlselect.subset.revs._visited import FreshFolds
from rlselect.subset.revs._walk import Walker, tune_prior
from rlselect.subset.revs.evidence import (
    Block,
    GlmSubset,
    RowLikelihood,
    Rows,
    SeparationWarning,
    StandardRows,
    fit_glm,
    glm_posteriors,
)

Floats = NDArray[np.float64]

# compared with rows that are left out one by one, whose models have nearly all rows: with five folds sparse
# designs of few rows lose effects that all of them show
_FOLDS = 10
# of log posterior, by which a climb has to rise: one-step prices may lead to and fro between two subsets
_RISE = 1e-6
# decimals by which rows are told apart, since sums over columns round by the order of these
_DECIMALS = 9
_CLASSES = RowLikelihood("binomial")


def fresh_folds(walker: Walker, state: GlmSubset) -> FreshFolds | None:
    """Climb anew without each tenth of the rows, and predict these.

    A subset that was chosen by all rows among very many suits each of them by chance, and reweighting some
    heavy ones without a row undoes little of that. Choosing anew does.

    Parameters
    ----------
    walker : Walker
        Its prior, units and order are those of the climbs.
    state : GlmSubset
        All rows of two classes, in one block.

    Returns
    -------
    FreshFolds or None
        None where there is no time, or without some rows one of the classes is missing.
    """
    block = next(iter(state.rows))
    assert block is not None
    columns = block.columns(np.arange(state.units.n_columns)).T.astype(np.float64)
    rows = _standing(block, columns)
    folds = deal_folds(columns, rows)
    said = FreshFolds(*np.zeros((3, len(folds))))
    for fold in range(_FOLDS):
        walker.stopped = walker.stopped or walker.tick()
        if walker.stopped:
            return None
        inside, outside = folds != fold, folds == fold
        own = StandardRows(*(part[inside] for part in rows[:5]))
        if not all(own.weight @ (own.y == label) for label in (0.0, 1.0)):
            return None
        places, slab = _climbed(walker, state, own)
        mode = glm_posteriors(own, [places], _CLASSES, np.array([slab]), 0)
        away = columns[np.ix_(outside, places)]
        known = rows.offset[outside]
        said.eta[outside] = away @ mode.coef[0, places] + mode.intercept[0] + known
        said.doubt[outside] = np.einsum("ij,ij->i", away @ mode.variances[0], away)
        said.refit[outside] = _refit(own, places, away) + known
    return said


def _standing(block: Block, columns: Floats) -> StandardRows:
    one = np.ones(len(block))
    weight = one if block.weight is None else block.weight.astype(np.float64)
    offset = np.zeros(len(block)) if block.offset is None else block.offset.astype(np.float64)
    return StandardRows(columns, block.y.astype(np.float64), weight, offset, one)


def deal_folds(columns: Floats, rows: StandardRows) -> NDArray[np.intp]:
    """A fold for each row, by what the row holds: copies share one, whatever the order of rows and columns.

    Rows of both classes, those that count, are dealt out evenly.
    """
    # a number that hangs on every value and not on the order of the columns
    mark = np.round(np.sin(columns + 1.0).sum(axis=1) + np.sin(rows.offset), _DECIMALS)
    folds = np.zeros(len(mark), dtype=np.intp)
    for label in (0.0, 1.0):
        mine = (rows.y == label) & (rows.weight > 0)
        folds[mine] = np.unique(mark[mine], return_inverse=True)[1].ravel() % _FOLDS
    return folds


def _climbed(walker: Walker, state: GlmSubset, rows: StandardRows) -> tuple[NDArray[np.intp], float]:
    """Columns of the subset that a climb ends in, and the prior variance that suits it."""

    def take(where: NDArray[np.intp]) -> Batch:
        parts = (rows.columns, rows.y, rows.weight, rows.offset)
        return Batch(*(part[where] for part in parts))

    taken = Rows(take)
    taken.append(slice(0, len(rows.y)))
    alone = GlmSubset(taken, state.units, state.family, 1.0, 0)
    alone.reset(state.mask & ~walker.allowed)
    climber = replace(walker, state=alone, policy=UCB(0.0))
    _climb(climber)
    if alone.size:
        alone_prior = alone.slab
        tune_prior(climber, shapes=1)
        if alone.slab != alone_prior:
            _climb(climber)
    inside = [state.units.columns[u] for u in np.flatnonzero(alone.mask)]
    places = np.sort(np.concatenate(inside)) if inside else np.empty(0, dtype=np.intp)
    return places.astype(np.intp), alone.slab


def _climb(walker: Walker) -> None:
    """Take the best move as long as it raises the posterior."""
    here, order = walker.posterior, walker.order
    assert order is not None
    while True:
        values = walker.rewards()
        unit = int(order[np.argmax(values[order])])
        if values[unit] <= 0.0:
            return
        walker.state.toggle(unit)
        there = walker.posterior
        if there <= here + _RISE:
            walker.state.toggle(unit)
            return
        here = there


def _refit(rows: StandardRows, places: NDArray[np.intp], away: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        fit = fit_glm(rows.columns[:, places], rows.y, "binomial", rows.weight, rows.offset)
    return np.asarray(away @ fit.coef + fit.intercept)
