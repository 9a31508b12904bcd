"""How much the rows of one part of a table resemble each other."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

# false alarms cost time only, but a sure detection is worth having
_ALARM = 1e-4


def column_moments(X: np.ndarray) -> np.ndarray:
    """Rows, mean and sum of squares about it, of every column."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0, dtype=np.float64)
        about = np.nan_to_num(np.einsum("ij,ij->j", X, X, dtype=np.float64) - len(X) * mean**2)
    return np.vstack([np.full(X.shape[1], float(len(X))), mean, np.maximum(about, 0.0)])


def clustering(parts: Sequence[np.ndarray]) -> float:
    """Largest share of the variance of any column that lies between parts; 0 when no column shows any.

    One-way analysis of variance, column by column, at a level corrected for their number.

    Parameters
    ----------
    parts : sequence of arrays of shape (3, n_columns)
        For each part the rows, mean and sum of squares about it.

    Returns
    -------
    float
        Intraclass correlation of the worst column among those whose F test fails.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).standard_normal((4000, 3))
    >>> clustering([column_moments(part) for part in np.split(rows, 4)])
    0.0
    >>> rows[:, 2].sort()
    >>> clustering([column_moments(part) for part in np.split(rows, 4)]) > 0.5
    True
    """
    several = [part for part in parts if part[0, 0] > 1]
    if len(several) < 2:
        return 0.0
    stacked = np.stack(several, axis=1)
    # columns with values that cannot be squared are refused later, by name
    counts, means, about = stacked[:, :, (np.abs(stacked) < 1e100).all(axis=(0, 1))]
    if not counts.size:
        return 0.0
    k = len(counts)
    n = counts[:, 0]
    total = n.sum()
    grand = n @ means / total
    between = n @ (means - grand) ** 2 / (k - 1)
    within = about.sum(axis=0) / max(total - k, 1.0)
    # a column constant in every part lies between them wholly, or is constant
    floor = 1e-12 * (np.abs(grand) ** 2 + within + between) + 1e-300
    tail = stats.f.sf(between / np.maximum(within, floor), k - 1, max(total - k, 1.0))
    alarm = (tail < _ALARM / len(tail)) & (between > floor)
    if not alarm.any():
        return 0.0
    usual = (total - (n**2).sum() / total) / (k - 1)
    share = (between - within) / np.maximum(between + (usual - 1.0) * within, floor)
    return float(np.clip(share[alarm].max(), 0.0, 1.0))
