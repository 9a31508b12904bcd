"""Rows that belong together: clusters, panels, and rows in the order of time."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import DataSource
from rlselect.kernels import ClusterLevels, CourseLevels, Levels, Spread

# parts of a series that stand for clusters where something has to be divided
_PARTS = 20
# columns that are looked at together
_AT_ONCE = 256


@dataclass(frozen=True)
class Belonging:
    """Which rows belong together.

    Attributes
    ----------
    n_rows : int
        Of the table.
    codes : array of int of shape (n_rows,) or None
        Cluster of each row from zero on, None where no clusters were given.
    time_ordered : bool
        Whether rows that follow each other (in their cluster) are alike.
    """

    n_rows: int
    codes: NDArray[np.intp] | None
    time_ordered: bool

    @classmethod
    def of(cls, table: DataSource, time_ordered: bool) -> "Belonging":
        """What was said of the rows of a table."""
        labels = getattr(table, "extra", {}).get("groups")
        codes = None if labels is None else np.unique(labels, return_inverse=True)[1].ravel().astype(np.intp)
        return cls(table.n_rows, codes, time_ordered)

    def part(self, rows: Any) -> "Belonging":
        """Of some rows: numbers, or a slice."""
        n = len(np.arange(self.n_rows)[rows])
        return Belonging(n, None if self.codes is None else self.codes[rows], self.time_ordered)

    @cached_property
    def levels(self) -> Levels | None:
        """What rows share beside the columns; None where each stands for itself."""
        if self.time_ordered:
            return CourseLevels(np.zeros(self.n_rows, dtype=np.intp) if self.codes is None else self.codes)
        return None if self.codes is None else ClusterLevels(self.codes)

    @property
    def together(self) -> NDArray[np.intp] | None:
        """Rows left out together: clusters, or stretches of a series; None where each stands alone."""
        if self.codes is None and self.time_ordered:
            return np.arange(self.n_rows) * min(_PARTS, self.n_rows) // max(self.n_rows, 1)
        return self.codes


@dataclass(frozen=True)
class Dependence:
    """What rows share beside the selected columns.

    Attributes
    ----------
    spread : Spread
        Variance of the levels, and their memory.
    share : float
        Part that levels have in the variance of a row: the correlation of two rows of a cluster; nan where
        clusters do not tell.
    n_clusters : int
        Of rows that were given as such; zero for one series.
    effective : float
        Rows that a column says as much as if it is the same for all rows of a cluster, or slow in time.
    """

    spread: Spread
    share: float
    n_clusters: int
    effective: float

    def as_dict(self) -> dict[str, float]:
        """Plain numbers."""
        return {
            "clusters": self.n_clusters,
            "correlation": self.share * self.spread.memory,
            "memory": self.spread.memory,
            "effective_rows": self.effective,
        }


def describe(
    spread: Spread, row_noise: float, rows: Belonging, weight: NDArray[np.float64] | None
) -> Dependence:
    """What a spread says of rows with these weights; `row_noise` is the variance of a row's own noise."""
    share = spread.size / (spread.size + row_noise)
    codes = rows.codes
    sizes = np.bincount(np.zeros(rows.n_rows, dtype=np.intp) if codes is None else codes, weight)
    sizes = sizes[sizes > 0].astype(np.float64)
    one = len(sizes) == 1 and not rows.time_ordered
    if codes is not None and (one or sizes.max(initial=0.0) <= 1.0):
        # no two rows have a cluster, or all have the same
        return Dependence(spread, float("nan"), len(sizes), float(len(sizes)))
    if rows.time_ordered:
        # the variance of a sum over a long series
        alike = 1.0 + 2.0 * share * spread.memory / (1.0 - spread.memory)
        effective = float((sizes / np.clip(alike, 1.0, np.maximum(sizes, 1.0))).sum())
    else:
        effective = float((sizes / (1.0 + np.maximum(sizes - 1.0, 0.0) * share)).sum())
    return Dependence(spread, float(share), 0 if codes is None else len(sizes), effective)


def count_same_throughout(table: DataSource, codes: NDArray[np.intp]) -> int:
    """How many features are the same for all rows of a cluster, and are not the same everywhere."""
    _, first = np.unique(codes, return_index=True)
    feature_of = table.encoder.column_feature_
    n_features = len(table.encoder.feature_names)
    differs, varies = np.zeros((2, n_features), dtype=bool)
    for start in range(0, len(feature_of), _AT_ONCE):
        columns = np.arange(start, min(start + _AT_ONCE, len(feature_of)))
        X = table.take(slice(0, table.n_rows), columns).X
        X = X.toarray() if table.is_sparse else X
        levels = X[first]
        differs[feature_of[columns[np.any(levels[codes] != X, axis=0)]]] = True
        varies[feature_of[columns[np.any(levels != levels[:1], axis=0)]]] = True
    return int(np.count_nonzero(varies & ~differs))


def say_dependence(given: dict[str, float], n_rows: int, time_ordered: bool) -> str:
    """The sentence of a summary."""
    count, alike, rows = int(given["clusters"]), given["correlation"], given["effective_rows"]
    if np.isnan(alike):
        whose = f"Each of {count:,} rows is a cluster of its own" if count > 1 else "All rows are one cluster"
        return f"{whose}: nothing can be told of what rows share."
    whose = f"{count:,} clusters of {n_rows:,} rows" if count else f"{n_rows:,} rows in order"
    if time_ordered:
        return (
            f"{whose}: beside the selected variables, neighbouring rows have the correlation "
            f"{alike:.2g}. Evidence is deflated accordingly: of a variable that changes "
            f"slowly they say as much as {rows:,.0f} independent rows."
        )
    same = int(given.get("same_throughout", 0))
    return (
        f"{whose}: beside the selected variables, two rows of a cluster have the correlation {alike:.2g}. "
        f"Evidence is deflated accordingly: of a variable that is the same for all rows of a cluster "
        f"{f'({same:,} are) ' if same else ''}they say as much as {rows:,.0f} independent rows."
    )
