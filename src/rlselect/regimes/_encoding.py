"""From histories and actions to the columns a machine sees."""

from collections.abc import Sequence

import numpy as np

from rlselect.regimes._anova_kernel import simplex_codes
from rlselect.regimes._stages import HistoryColumn

__all__ = ["HistoryEncoder"]


class HistoryEncoder:
    """Standardises covariates and rewards, codes actions and categories, leaves constant columns out.

    Parameters
    ----------
    columns : sequence of HistoryColumn
    history : (n, c) array
        Training rows.
    labels : sequence
        Actions of the stage.
    codes : (K, k) array, optional
        Of the actions; corners of a simplex by default.

    Attributes
    ----------
    names : list of str
        History columns that vary, one per group.
    groups : list of int arrays
        Their columns in the encoded matrix.
    past : list of bool
        Which of them are past actions.
    action : int array
        Columns of the present action, after all groups.
    """

    def __init__(
        self,
        columns: Sequence[HistoryColumn],
        history: np.ndarray,
        labels: Sequence,
        codes: np.ndarray | None = None,
    ) -> None:
        self.columns, self.labels = list(columns), list(labels)
        self.codes = simplex_codes(len(labels)) if codes is None else codes
        self.center = history.mean(axis=0)
        self.scale = history.std(axis=0)
        # what is left of a constant is rounding, which grows with its size
        self.varies = np.flatnonzero(self.scale > 1e-10 * np.abs(self.center))
        self.names = [self.columns[j].name for j in self.varies]
        self.past = [self.columns[j].kind == "action" for j in self.varies]
        self.groups = []
        width = 0
        for j in self.varies:
            column = self.columns[j]
            size = len(column.labels) - 1 if self._is_coded(column) else 1
            self.groups.append(np.arange(width, width + size))
            width += size
        self.action = np.arange(width, width + self.codes.shape[1])

    @staticmethod
    def _is_coded(column: HistoryColumn) -> bool:
        """Whether labels need corners; the positions of two of them are as good as any number."""
        return column.kind == "action" or len(column.labels) > 2

    def encode(self, history: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Encoded rows, with the given actions in the last columns.

        Actions are positions among the labels (m,), or shares of these in each row's dose (m, K).
        """
        codes = self.codes[action] if action.ndim == 1 else action @ self.codes
        return np.column_stack([self.encode_history(history), codes])

    def encode_history(self, history: np.ndarray) -> np.ndarray:
        """Encoded rows without an action."""
        blocks = [np.empty((len(history), 0))]
        for j in self.varies:
            column = self.columns[j]
            if self._is_coded(column):
                blocks.append(simplex_codes(len(column.labels))[history[:, j].astype(int)])
            else:
                blocks.append((history[:, j, None] - self.center[j]) / self.scale[j])
        return np.column_stack(blocks)

    def each_action(self, history: np.ndarray) -> list[np.ndarray]:
        """Encoded rows under each action in turn."""
        rows = self.encode_history(history)
        return [np.column_stack([rows, np.tile(code, (len(rows), 1))]) for code in self.codes]
