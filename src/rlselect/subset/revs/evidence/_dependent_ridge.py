"""A subset of columns under ridge regression whose rows share hidden levels."""

import numpy as np
from numpy.typing import NDArray

from rlselect.data import Batch, Units
from rlselect.kernels import Levels, Spread, learn_spread, turn_constant
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._recall import Recall
from rlselect.subset.revs.evidence._refit import standardise
from rlselect.subset.revs.evidence._ridge_subset import RidgeSubset
from rlselect.subset.revs.evidence._rows import Rows
from rlselect.subset.revs.evidence._ties import SHAPES

Floats = NDArray[np.float64]

# spreads that differ by less change no price: in the share of the variance, and in the memory
_SAME_SHARE = 0.01
_SAME_MEMORY = 0.03
# what a walk begins with, before it has asked the rows
FIRST_SHARE = 0.1
# columns whose products are all made at once
_WHOLE = 2000


class DependentRows:
    """All rows of a linear model, and what becomes of them once the levels they share are known.

    Parameters
    ----------
    X : array of shape (n, p)
        The columns.
    y, weight : array of shape (n,)
        Response less its known part, and how often each row counts.
    levels : Levels
        What rows share.
    """

    def __init__(self, X: Floats, y: Floats, weight: Floats, levels: Levels) -> None:
        self.X = standardise(X, weight)[0]
        self.y = y - np.average(y, weights=weight)
        self.weight, self.levels = weight, levels

    def learn(self, columns: list[int]) -> Spread:
        """What rows share beside these columns."""
        A = np.column_stack([np.ones(len(self.y)), self.X[:, columns]])
        return learn_spread(self.levels, A, self.y, self.weight)

    def independent(self, spread: Spread) -> tuple[Batch, float]:
        """Rows whose noise is even and independent, and the log density of y in them less that of its change.

        Its last part is what evidence under different spreads is compared by.
        """
        n = len(self.y)
        given = np.column_stack([self.X, self.y, np.ones(n)])
        white = self.levels.whiten(given, self.weight, spread)
        turned, stretch = turn_constant(white[:, :-1], white[:, -1], self.weight)
        X, y = np.ascontiguousarray(turned[:, :-1]), turned[:, -1]
        # columns that were constant stay so, beyond rounding
        X[:, ~self.X.any(axis=0)] = 0.0
        total = float(self.weight.sum())
        about = float(self.weight @ (y - np.average(y, weights=self.weight)) ** 2)
        base = -0.5 * (total - 1.0) * np.log(max(about / total, 1e-300)) + np.log(stretch)
        base -= 0.5 * self.levels.factor(self.weight, spread).logdet
        return Batch(X, y, self.weight, None), float(base)


class DependentRidge(RidgeSubset):
    """Log evidence of linear models whose rows share levels, with all moves priced at once.

    Given what rows share, rows are changed so that their noise is independent, which makes the model one of
    generalised least squares. `learn_dispersion` learns what they share beside the subset.

    What rows share makes effects less clear than as many independent rows would. All shapes have a hole at
    zero: without one, effects too small to be seen add up to several that are not there.

    Parameters
    ----------
    rows : DependentRows
        All rows.
    units : Units
        What enters and leaves together.
    """

    shapes = SHAPES[1:2]
    relearns = True

    def __init__(self, rows: DependentRows, units: Units) -> None:
        self._all = rows
        self.spread = Spread(FIRST_SHARE / (1.0 - FIRST_SHARE), rows.levels.spreads[0].memory)
        gram, self._base = self._summed()
        super().__init__(gram, units, revisits=True)

    def _summed(self) -> tuple[LazyGram, float]:
        batch, base = self._all.independent(self.spread)
        p = batch.X.shape[1]
        gram = LazyGram(Rows(lambda where, *_: batch, as_is=True), p)
        gram.grow([slice(0, len(self._all.y))])
        if p <= _WHOLE:
            gram.fetch(range(p))
        return gram, base

    @property
    def evidence(self) -> float:
        """Log evidence of the subset, up to a constant that all spreads share."""
        return super().evidence + self._base

    def learn_dispersion(self) -> bool:
        """Learn what rows share beside the subset; whether that has changed."""
        new = self._all.learn(self._subset)
        if alike(new, self.spread, 1.0):
            return False
        self.spread = new
        self._gram, self._base = self._summed()
        self._watched = [self._gram.watch(columns) for _, columns in self.units.by_size]
        self._recall = Recall()
        self.reset(self.mask)
        return True


def alike(one: Spread, other: Spread, unit: float) -> bool:
    """Whether two spreads make the same prices; `unit` is the noise of a row."""
    share, before = (s.size / (unit + s.size) for s in (one, other))
    lasting = max(share, before) < _SAME_SHARE or abs(one.memory - other.memory) <= _SAME_MEMORY
    return abs(share - before) <= _SAME_SHARE and lasting
