"""Rows that belong together: clusters, panels, and rows in the order of time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlselect.data import DataSource
from rlselect.kernels import ClusterLevels, CourseLevels, Levels, Spread

# parts of a series that stand for clusters where something has to be divided
_PARTS = 20


def cluster_codes(table: DataSource) -> NDArray[np.intp] | None:
    """Cluster of each row from zero on, None where no clusters were given."""
    labels = getattr(table, "extra", {}).get("groups")
    if labels is None:
        return None
    return np.unique(labels, return_inverse=True)[1].ravel().astype(np.intp)


def levels_of(table: DataSource, time_ordered: bool) -> Levels | None:
    """What the rows of a table share; None where each stands for itself."""
    codes = cluster_codes(table)
    if time_ordered:
        return CourseLevels(np.zeros(table.n_rows, dtype=np.intp) if codes is None else codes)
    return None if codes is None else ClusterLevels(codes)


def codes_together(table: DataSource, time_ordered: bool) -> NDArray[np.intp] | None:
    """Rows that are left out together: clusters, or stretches of a series; None where each stands alone."""
    codes = cluster_codes(table)
    if codes is None and time_ordered:
        return np.arange(table.n_rows) * min(_PARTS, table.n_rows) // max(table.n_rows, 1)
    return codes


@dataclass(frozen=True)
class Dependence:
    """What rows share beside the selected columns.

    Attributes
    ----------
    spread : Spread
        Variance of the levels, and their memory.
    share : float
        Part that levels have in the variance of a row: the correlation of two rows of a cluster.
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


def describe(spread: Spread, row_noise: float, table: DataSource, time_ordered: bool) -> Dependence:
    """What a spread says of the rows of a table; `row_noise` is the variance of a row's own noise."""
    share = spread.size / (spread.size + row_noise)
    codes = cluster_codes(table)
    weight = getattr(table, "sample_weight", None)
    sizes = np.bincount(np.zeros(table.n_rows, dtype=np.intp) if codes is None else codes, weight)
    sizes = sizes[sizes > 0].astype(np.float64)
    if time_ordered:
        # the variance of a sum over a long series
        alike = 1.0 + 2.0 * share * spread.memory / (1.0 - spread.memory)
        effective = float((sizes / np.clip(alike, 1.0, np.maximum(sizes, 1.0))).sum())
    else:
        effective = float((sizes / (1.0 + np.maximum(sizes - 1.0, 0.0) * share)).sum())
    return Dependence(spread, float(share), 0 if codes is None else len(sizes), effective)


def say_dependence(given: dict[str, float], n_rows: int, time_ordered: bool) -> str:
    """The sentence of a summary."""
    count, alike, rows = int(given["clusters"]), given["correlation"], given["effective_rows"]
    whose = f"{count:,} clusters of {n_rows:,} rows" if count else f"{n_rows:,} rows in order"
    if time_ordered:
        return (
            f"{whose}: beside the selected variables, neighbouring rows have the correlation "
            f"{alike:.2g}. Evidence is deflated accordingly: of a variable that changes "
            f"slowly they say as much as {rows:,.0f} independent rows."
        )
    return (
        f"{whose}: beside the selected variables, two rows of a cluster have the correlation {alike:.2g}. "
        f"Evidence is deflated accordingly: of a variable that is the same for all rows of a cluster they "
        f"say as much as {rows:,.0f} independent rows."
    )
