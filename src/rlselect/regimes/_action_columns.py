"""The action-ANOVA kernel as explicit columns: its covariates have a dozen dimensions each at most."""

from collections.abc import Sequence

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
        self.owners = self._assemble(X[:1])[1]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Columns of encoded rows: (m, c)."""
        return self._assemble(X)[0]

    def _assemble(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        codes = X[:, self.action]
        past = {g: X[:, columns] for g, columns in enumerate(self.groups) if self.past[g]}
        blocks, owners = [codes], [(-1, -1, codes.shape[1])]

        def add(block: np.ndarray, first: int, second: int = -1) -> None:
            blocks.append(block)
            owners.append((first, second, block.shape[1]))

        for g, make in self.maps.items():
            columns = self.groups[g]
            features = make(X[:, columns[0]] if len(columns) == 1 else X[:, columns])
            add(_products(features, codes), g)
            if self.main:
                # of a contrast the other terms stay, whichever groups leave
                mine = -1 if self.contrast_only else g
                add(features, mine)
                for b, code in past.items():
                    add(_products(features, code), mine, -1 if self.contrast_only else b)
        for b, code in past.items():
            add(_products(code, codes), b)
            if self.main:
                add(code, -1 if self.contrast_only else b)
        table = [np.tile([first, second], (width, 1)) for first, second, width in owners]
        return np.column_stack(blocks), np.vstack(table).astype(int)

    def problem(
        self, columns: np.ndarray, y: np.ndarray, weights: np.ndarray, groups: Sequence[int] | None = None
    ) -> ColumnProblem:
        """Elimination problem on rows whose columns are known, with some groups or with all."""
        every = range(len(self.groups))
        return ColumnProblem(columns, self.owners, every if groups is None else groups, y, weights)


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Products of every column of one block with every column of another."""
    return (first[:, :, None] * second[:, None]).reshape(len(first), -1)
