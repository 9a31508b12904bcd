"""Parts of the history whose subjects never took an action, though by chance some would have."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from rlselect.regimes._stages import StageData
from rlselect.report import spell

__all__ = ["NeverTaken", "find_never_taken"]

# how often a stage may have such a part by chance, and the share of its subjects from which it matters
_BY_CHANCE, _MANY = 0.01, 0.05


class NeverTaken(NamedTuple):
    """One end of a column, or one of its labels, without an action.

    Attributes
    ----------
    action : label
    where : str
        Such as "age above 71".
    n_able : int
        Subjects there who could have taken it.
    """

    action: object
    where: str
    n_able: int

    def __str__(self) -> str:
        return f"none of the {self.n_able} subjects with {self.where} took {spell(str(self.action))}"


def find_never_taken(stage: StageData) -> list[NeverTaken]:
    """Per action the largest part of the history without it, where chance does not explain that.

    A model of the probabilities sees gradual changes; that an action ends at a threshold, or is not for one
    label, is lost on it among many columns. Where actions do not depend on a column, the m lowest values (or
    the highest, or those of one label) are without an action by chance with the hypergeometric probability of
    drawing none of those who took it, which all columns, ends, labels and actions together share.
    """
    rows = np.flatnonzero(stage.present)
    history, action = stage.history[rows], stage.action[rows]
    allowed = stage.allowed(history)
    n_tests = sum(len(column.labels) or 2 for column in stage.columns) * len(stage.labels)
    found = []
    for k, label in enumerate(stage.labels):
        able = allowed[:, k]
        took = action[able] == k
        parts = [
            (where, int(inside.sum()))
            for column, values in zip(stage.columns, history[able].T, strict=True)
            for where, inside in _parts(column.name, column.labels, values, took)
        ]
        sure = [
            (count, where)
            for where, count in parts
            if count > _MANY * len(rows)
            and _chance_of_none(len(took), int(took.sum()), count) * n_tests < _BY_CHANCE
        ]
        if sure:
            count, where = max(sure, key=lambda part: part[0])
            found.append(NeverTaken(label, where, count))
    return found


def _parts(name: str, labels: tuple, values: np.ndarray, took: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Labels without the action, or the ends of a column beyond all who took it, with who is there."""
    if not took.any():
        return []
    if labels:
        inside = [(str(label), values == place) for place, label in enumerate(labels)]
        return [(f"{name} = {label}", mine) for label, mine in inside if not (mine & took).any()]
    low, high = values[took].min(), values[took].max()
    return [(f"{name} below {low:.4g}", values < low), (f"{name} above {high:.4g}", values > high)]


def _chance_of_none(n: int, n_took: int, count: int) -> float:
    """Probability that none of some of n subjects is among those who took an action."""
    rest = n - count
    if n_took > rest:
        return 0.0
    log = gammaln(rest + 1) - gammaln(rest - n_took + 1) - gammaln(n + 1) + gammaln(n - n_took + 1)
    return float(np.exp(log))
