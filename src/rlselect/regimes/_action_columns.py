"""The action-ANOVA kernel as explicit columns: its covariates have a dozen dimensions each at most."""

from collections.abc import Iterator, Sequence

import numpy as np

from rlselect.machines import ColumnProblem
from rlselect.regimes._anova_kernel import CategoryFeatures, ColumnFeatures

__all__ = ["ActionColumns"]

# Dimensions of a covariate with less than this share of the largest one's spread are left out: they are
# shrunk to nothing by any regularisation.
_TOLERANCE = 1e-5


class ActionColumns:
    """From encoded rows to columns whose inner product is the action-ANOVA kernel.

    Parameters
    ----------
    X, groups, past, action, width, contrast_only, main
        As for `ActionAnovaState`.

    Attributes
    ----------
    owners : (c, 2) int array
        Groups that a column needs, -1 for none: a product of a covariate and a past action needs both.
    """

    def __init__(
        self,
        X: np.ndarray,
        groups: Sequence[np.ndarray],
        past: Sequence[bool],
        action: np.ndarray,
        width: float | None,
        contrast_only: bool = False,
        main: bool = True,
    ) -> None:
        self.groups, self.past, self.action = groups, list(past), action
        self.contrast_only, self.main = contrast_only, main
        self.maps: dict[int, ColumnFeatures | CategoryFeatures] = {}
        for g, columns in enumerate(groups):
            if not self.past[g]:
                single = len(columns) == 1
                self.maps[g] = (
                    ColumnFeatures(X[:, columns[0]], width, _TOLERANCE)
                    if single
                    else CategoryFeatures(X[:, columns])
                )
        table = [np.tile(owners, (block.shape[1], 1)) for block, owners in self._blocks(X[:1], None)]
        self.owners = np.vstack(table).astype(int)

    def __call__(self, X: np.ndarray, groups: Sequence[int] | None = None) -> np.ndarray:
        """Columns of encoded rows: (m, c), or those alone that some groups need, see `places`."""
        return np.column_stack([block for block, _ in self._blocks(X, groups)])

    def places(self, groups: Sequence[int]) -> np.ndarray:
        """Numbers of the columns that need no others than some groups."""
        return np.flatnonzero(np.isin(self.owners, [-1, *groups]).all(axis=1))

    def _blocks(
        self, X: np.ndarray, groups: Sequence[int] | None
    ) -> Iterator[tuple[np.ndarray, tuple[int, int]]]:
        """Blocks of columns with the two groups they need, -1 for none; of some groups or of all."""
        kept = None if groups is None else {-1, *groups}
        codes = X[:, self.action]
        past = {g: X[:, columns] for g, columns in enumerate(self.groups) if self.past[g]}

        def needed(first: int, second: int = -1) -> bool:
            return kept is None or (first in kept and second in kept)

        yield codes, (-1, -1)
        for g, make in self.maps.items():
            # of a contrast the other terms stay, whichever groups leave
            mine = -1 if self.contrast_only else g
            if not needed(g) and not (self.main and needed(mine)):
                continue
            columns = self.groups[g]
            features = make(X[:, columns[0]] if len(columns) == 1 else X[:, columns])
            if needed(g):
                yield _products(features, codes), (g, -1)
            if self.main:
                yield features, (mine, -1)
                for b, code in past.items():
                    other = -1 if self.contrast_only else b
                    if needed(mine, other):
                        yield _products(features, code), (mine, other)
        for b, code in past.items():
            mine = -1 if self.contrast_only else b
            if needed(b):
                yield _products(code, codes), (b, -1)
            if self.main and needed(mine):
                yield code, (mine, -1)

    def problem(
        self, columns: np.ndarray, y: np.ndarray, weights: np.ndarray, groups: Sequence[int] | None = None
    ) -> ColumnProblem:
        """Elimination problem on rows whose columns are known, with some groups or with all."""
        every = range(len(self.groups))
        return ColumnProblem(columns, self.owners, every if groups is None else groups, y, weights)


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Products of every column of one block with every column of another."""
    return (first[:, :, None] * second[:, None]).reshape(len(first), -1)
