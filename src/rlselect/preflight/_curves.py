"""Whether straight lines will do: a small forest against a ridge regression on some of the rows."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rlselect._parallel import one_thread
from rlselect.preflight._columns import is_constant
from rlselect.preflight._features import is_id
from rlselect.preflight._findings import SeenRows
from rlselect.preflight._target import find_outcome

__all__ = ["bends"]

_MOST_ROWS, _MOST_COLUMNS, _FEWEST_ROWS = 1000, 100, 60
# explained variance or accuracy that a forest has to gain
_GAIN = 0.05


def bends(look: SeenRows) -> bool | None:
    """Whether a forest predicts the target better than straight lines do; None where that cannot be told.

    Parameters
    ----------
    look : SeenRows
        The rows; up to 1,000 of them and 100 columns of numbers are used.
    """
    y = look.target
    columns = [c for c in look.columns if c.is_number and not is_constant(c) and not is_id(c, look.n_seen)]
    if y is None or not 1 <= len(columns) <= _MOST_COLUMNS or y.n_distinct < 2:
        return None
    rows = look.rows(_MOST_ROWS)
    rows = rows[y.present[rows]]
    if len(rows) < _FEWEST_ROWS:
        return None
    X = np.stack([np.nan_to_num(c.values[rows], nan=float(np.nanmean(c.values))) for c in columns], axis=1)
    if not np.isfinite(X).all() or np.abs(X).max() > 1e30:
        return None
    t = y.values[rows]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(t))
    X, t = X[order], t[order]
    with one_thread():
        if find_outcome(y) in ("classes", "two classes"):
            kept = np.isin(t, [v for v, k in zip(*np.unique(t, return_counts=True), strict=True) if k >= 5])
            X, t = X[kept], t[kept]
            if len(np.unique(t)) < 2:
                return None
            line = make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=300))
            trees = RandomForestClassifier(100, min_samples_leaf=2, oob_score=True, random_state=0)
        else:
            line = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 11)))
            trees = RandomForestRegressor(
                100, min_samples_leaf=3, max_features=0.5, oob_score=True, random_state=0
            )
        straight = float(np.mean(cross_val_score(line, X, t, cv=5)))
        return bool(trees.fit(X, t).oob_score_ > max(straight, 0.0) + _GAIN)
