"""Units that pay in company only: each hides the others from a climb that takes one at a time.

Two neighbours of opposite effects hardly show alone; nor do three columns of which one is nearly the sum of
the others show in pairs. Products of all columns tell, and a sketch of them is had from few rows: what has to
be known of all rows is X'r, and that is known.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rlselect.kernels import beside_all, pair_gains
from rlselect.subset.revs._standing import noise_level, tune_to_rows
from rlselect.subset.revs._walk import Walker
from rlselect.subset.revs.evidence import PANEL, Between, RidgeSubset

# what counts as a better subset, and not as rounding, in units of log evidence
_BETTER = 0.01
# priors that a first pair may pay under, from that which expects the least: nothing is known of effects yet
_FIRST_SLABS = (1.0, 10.0, 100.0)
# rows for every column from which on the inverse of all their products says something
_ROWS_EACH = 8
# how far the |z| of a column beside all others may lie beyond the largest noise before it is tried
_ALARM = 0.5
# the squared |z| of two columns together is twice an exponential variable: log 15 beyond the largest noise
_PAIR_ALARM = 2.7
# columns that are more alike than this are one and the same to any effect
_ALIKE = 0.99999


def find_hidden(walker: Walker) -> Walker | None:
    """Stand in a better subset that has units more which pay only together, if there is one.

    Parameters
    ----------
    walker : Walker
        At the end of its climb: no unit pays alone. It stays there.

    Returns
    -------
    Walker or None
        A chain of its own, at the end of its climb.
    """
    state = walker.state
    if walker.stopped or not isinstance(state, RidgeSubset):
        return None
    mask = _in_sketch(walker, state)
    if mask is None:
        return None
    found = _branch(walker, state, mask)
    if not state.size:
        tune_to_rows(found)
    found.climb()
    return found if found.posterior > walker.posterior + _BETTER else None


def companions(walker: Walker) -> NDArray[np.float64]:
    """Largest correlation, beside the subset, of each column with another one outside.

    It is 0 where noise could make it, and where nothing is known: for classes, counts and too many columns.
    """
    state = walker.state
    found = np.zeros(state.units.n_columns)
    between = state.between() if isinstance(state, RidgeSubset) else None
    if between is not None and len(between.columns) > 1:
        size = np.abs(between.correlation)
        np.fill_diagonal(size, 0.0)
        largest = size.max(axis=1).astype(np.float64)
        noise = (noise_level(walker) + 1.0) / np.sqrt(max(between.counted, 1.0))
        found[between.columns] = np.where(largest > noise, np.minimum(largest, _ALIKE), 0.0)
    return found


def pair_level(walker: Walker) -> float:
    """Size of |z| of two columns together that one of fifteen looks at pure noise has among all pairs."""
    units = max(int(np.count_nonzero(walker.allowed)), 2)
    return float(np.sqrt(2.0 * (np.log(0.5 * units * (units - 1)) + _PAIR_ALARM)))


def clearest_pair(walker: Walker) -> float:
    """Largest |z| of two columns together, beside the subset; 0 where nothing is known."""
    state = walker.state
    between = state.between() if isinstance(state, RidgeSubset) else None
    if between is None or len(between.columns) < 2:
        return 0.0
    may = np.isfinite(walker.rewards())[state.units.unit_of[between.columns]]
    gains = pair_gains(np.where(may, between.z, 0.0), between.correlation)
    return float(np.sqrt(gains.max(initial=0.0)))


def _in_sketch(walker: Walker, state: RidgeSubset) -> NDArray[np.bool_] | None:
    """A better subset by the products that few rows tell; None if there is none."""
    between = state.between()
    if between is None:
        return None
    pair, above = _best_pair(walker, state, between), _above(walker, state, between)
    sketch = None if pair is None and not len(above) else state.sketch()
    if sketch is None:
        return None
    begun = _branch(walker, sketch, sketch.mask)
    ends = [_by_pairs(begun, sketch)]
    if len(above):
        mask = sketch.mask.copy()
        mask[above] = True
        ends.append(_branch(walker, sketch, mask))
        tune_to_rows(ends[-1])
        ends[-1].climb()
    best = max(ends, key=lambda way: way.posterior)
    return best.state.mask if best.posterior > begun.posterior + _BETTER else None


def _branch(walker: Walker, state: RidgeSubset, mask: NDArray[np.bool_]) -> Walker:
    """A chain that begins in another subset, with draws that depend on that alone."""
    twin = state.copy()
    twin.reset(mask)
    return replace(walker, state=twin, rng=np.random.default_rng(np.flatnonzero(mask)))


def _by_pairs(begun: Walker, sketch: RidgeSubset) -> Walker:
    """Where pairs that pay lead, the best first."""
    way = _branch(begun, sketch, sketch.mask)
    for _ in range(PANEL):
        state = way.state
        assert isinstance(state, RidgeSubset)
        between = state.between()
        pair = None if between is None else _best_pair(way, state, between)
        if pair is None:
            break
        for unit in pair:
            way.move(int(unit), np.nan)
        tune_to_rows(way)
        way.climb()
    return way


def _best_pair(walker: Walker, state: RidgeSubset, between: Between) -> NDArray[np.intp] | None:
    k = int(np.count_nonzero(state.mask & walker.allowed))
    price = -walker.prior.add(k) - walker.prior.add(k + 1)
    slabs = np.array([state.slab]) if state.size else state.slabs()[0] * np.array(_FIRST_SLABS)
    pairs = state.paying_pairs(between, price, slabs)
    pairs = pairs[np.isfinite(walker.rewards()[pairs]).all(axis=1)]
    return pairs[0] if len(pairs) else None


def _above(walker: Walker, state: RidgeSubset, between: Between) -> NDArray[np.intp]:
    """Units that stand out beside all others, if there are several and rows enough to tell."""
    if between.counted < _ROWS_EACH * len(between.columns):
        return np.empty(0, dtype=np.intp)
    z = np.zeros(state.units.n_columns)
    z[between.columns] = beside_all(between.z, between.correlation)
    z = np.where(np.isfinite(walker.rewards()), state.units.spread(z), 0.0)
    out = np.argsort(-z, kind="stable")[: 2 * PANEL]
    out = out[z[out] > noise_level(walker) + _ALARM]
    return out if len(out) > 1 else out[:0]
