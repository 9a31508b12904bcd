"""Missing values of history columns: filled, and marked by a column of their own."""

from typing import Literal

import numpy as np

from rlselect.data import Covariate
from rlselect.regimes._stages import HistoryColumn

__all__ = ["MISSING", "MissingHistory", "fill_gaps"]

MissingHistory = Literal["error", "indicator"]
MISSING = ("error", "indicator")
# of the label that stands where a category is missing, and of the columns that mark gaps of numbers
_MISSING = "missing"


def fill_gaps(
    name: str, covariate: Covariate, present: np.ndarray, missing: MissingHistory
) -> list[tuple[HistoryColumn, np.ndarray]]:
    """A covariate as history columns with their values (n,): itself and, where it has gaps, their mark.

    Parameters
    ----------
    name : str
    covariate : Covariate
        Numbers, or positions among labels; NaN where missing.
    present : (n,) bool array
        Whose values count.
    missing : {"error", "indicator"}
        The latter puts the mean of the others where a number is missing and marks it by a 0/1 column, and
        makes a missing category a label of its own. Neither looks at rewards, so that folds stay honest.
    """
    values, labels = covariate
    gaps = np.isnan(values) & present
    kind: Literal["category", "covariate"] = "category" if labels else "covariate"
    if missing == "error" or not gaps.any() or gaps[present].all():
        return [(HistoryColumn(name, kind, labels), values)]
    if labels:
        own = _MISSING if _MISSING not in labels else f"{name}={_MISSING}"
        filled = np.where(gaps, float(len(labels)), values)
        return [(HistoryColumn(name, kind, (*labels, own), fill=float(len(labels))), filled)]
    mean = float(values[present & ~gaps].mean())
    mark = HistoryColumn(f"{name}={_MISSING}", "gap", of=name)
    return [
        (HistoryColumn(name, kind, fill=mean), np.where(gaps, mean, values)),
        (mark, np.where(present, gaps, np.nan)),
    ]
