"""One stage of a trial: what its history is made of, which actions it has, and what was seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

__all__ = ["HistoryColumn", "StageData", "StageFrame", "best_feasible", "readable_history"]

Feasible: TypeAlias = Callable[[dict[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True)
class HistoryColumn:
    """What one column of a history is.

    Attributes
    ----------
    name : str
    kind : {"covariate", "category", "reward", "action"}
    labels : tuple
        Of a category or a past action; in a history they are positions among these.
    """

    name: str
    kind: Literal["covariate", "category", "reward", "action"]
    labels: tuple = ()


@dataclass(frozen=True)
class StageFrame:
    """A stage without its subjects.

    Attributes
    ----------
    columns : list of HistoryColumn
        The accumulated history.
    labels : tuple
        Actions of this stage.
    feasible : callable or None
        From a history as a dict of columns to the actions that are allowed, one row per subject; None allows
        all of them.
    name : str
        What the stage is called, beside its number.
    """

    columns: list[HistoryColumn]
    labels: tuple
    feasible: Feasible | None
    name: str

    @property
    def names(self) -> list[str]:
        """Names of the history columns."""
        return [column.name for column in self.columns]

    def allowed(self, history: np.ndarray) -> np.ndarray:
        """Which actions are feasible for which row of a history: (m, K) bool array."""
        if self.feasible is None:
            return np.ones((len(history), len(self.labels)), dtype=bool)
        allowed = np.asarray(self.feasible(readable_history(self.columns, history)), dtype=bool)
        if allowed.shape != (len(history), len(self.labels)):
            raise ValueError(
                f"feasible returned shape {allowed.shape} for {len(history)} subjects and the actions "
                f"{list(self.labels)}; it must return one row per subject and one column per action"
            )
        if not allowed.any(axis=1).all():
            raise ValueError("feasible left a subject without any action; allow at least one for everyone")
        return allowed


@dataclass(frozen=True)
class StageData(StageFrame):
    """One stage of a trial.

    Attributes
    ----------
    history : (n, c) array
        By the columns of the frame; past actions and categories as positions among their labels, rows of
        absent subjects NaN.
    action : (n,) int array
        Position among the labels; -1 for absent subjects.
    reward : (n,) array
        Also of absent subjects, where one was given: their outcome; 0 otherwise.
    present, known : (n,) bool arrays
        Who has an action, and who has an action or a reward.
    propensity : {"estimate", "randomized"}, mapping or (n,) array
    """

    history: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    present: np.ndarray
    known: np.ndarray
    propensity: str | Mapping | np.ndarray

    def frame(self) -> StageFrame:
        """The stage without its subjects."""
        return StageFrame(self.columns, self.labels, self.feasible, self.name)


def readable_history(columns: Sequence[HistoryColumn], history: np.ndarray) -> dict[str, np.ndarray]:
    """A history as a dict of columns, past actions and categories by their labels."""
    found = {}
    for column, values in zip(columns, history.T, strict=True):
        if column.labels:
            labels = np.array(column.labels)
            found[column.name] = labels[np.nan_to_num(values, nan=0).astype(int)]
        else:
            found[column.name] = values
    return found


def best_feasible(q: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Position of the largest allowed entry of each row."""
    return np.where(allowed, q, -np.inf).argmax(axis=1)
