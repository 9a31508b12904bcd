"""What a history column may do besides a line: the part of a natural spline that no line holds."""

from collections.abc import Sequence

import numpy as np

__all__ = ["Bends"]

# where splines have their knots: quartiles of a column, and where this many rows lie beyond, or a twentieth
_KNOTS, _BEYOND = (0.25, 0.5, 0.75), 5.0
# bends with less than this share of a column's strongest one are rounding
_ROUNDING = 1e-6


class Bends:
    """Bends of some columns: uncorrelated with each other and the column, of mean 0 and variance 1.

    Beyond the outer knots they are lines. A column of few values, which has less than three knots, has none.

    Parameters
    ----------
    X : (n, c) array
    bending : sequence of int
        Columns that may bend.

    Attributes
    ----------
    owners : (b,) int array
        Column of each bend.
    """

    def __init__(self, X: np.ndarray, bending: Sequence[int]) -> None:
        self._knots: dict[int, np.ndarray] = {}
        self._turns: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        end = min(0.05, _BEYOND / len(X))
        for j in bending:
            knots = np.unique(np.quantile(X[:, j], [end, *_KNOTS, 1.0 - end]))
            if len(knots) > 2:
                self._knots[j], self._turns[j] = knots, _uncorrelated(X[:, j], _spline(X[:, j], knots))
        counts = [turn.shape[1] for _, turn in self._turns.values()]
        self.owners = np.repeat(np.array(list(self._turns), dtype=int), counts)

    def __call__(self, X: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Bends of rows, those of some columns alone: (m, b)."""
        found = [np.empty((len(X), 0))]
        for j in np.intersect1d(self.owners, columns):
            x, (line, turn) = X[:, j], self._turns[j]
            found.append((_spline(x, self._knots[j]) - _with_one(x) @ line) @ turn)
        return np.column_stack(found)


def _with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x])


def _spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Natural cubic spline with k knots, less its line: (n, k - 2)."""
    cubes = np.maximum(x[:, None] - knots, 0.0) ** 3
    before, last = knots[-2:]
    to_last, to_before = last - knots[:-2], before - knots[:-2]
    ends = (cubes[:, -1:] * to_before - cubes[:, -2:-1] * to_last) / (last - before)
    return (cubes[:, :-2] + ends) / (last - knots[0]) ** 2


def _uncorrelated(x: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Line of each column (2, k), and what turns the rest into uncorrelated bends of variance 1, (k, b)."""
    line = np.linalg.lstsq(_with_one(x), columns, rcond=None)[0]
    rest = columns - _with_one(x) @ line
    sizes, turn = np.linalg.eigh(rest.T @ rest / len(x))
    kept = sizes > _ROUNDING * sizes[-1]
    # either direction is as good: the one in which the largest part counts up
    turn = turn * np.sign(turn[np.abs(turn).argmax(axis=0), np.arange(len(sizes))])
    return line, turn[:, kept] / np.sqrt(sizes[kept])
