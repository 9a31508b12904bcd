"""One stage of a trial: what its history is made of, which actions it has, and what was seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

import numpy as np

__all__ = ["DoseSupport", "HistoryColumn", "StageData", "StageFrame", "best_feasible", "readable_history"]

Feasible: TypeAlias = Callable[[dict[str, np.ndarray]], np.ndarray]


class DoseSupport(Protocol):
    """What a stage knows of its doses; see `rlselect.regimes._dose`."""

    @property
    def grid(self) -> np.ndarray:
        """Candidates: (K,)."""
        ...

    @property
    def codes(self) -> np.ndarray:
        """What Q-functions see of them: (K, k)."""
        ...

    @property
    def needed(self) -> list[str]:
        """History columns that say what may be recommended."""
        ...

    def allowed(self, history: np.ndarray) -> np.ndarray:
        """Candidates that may be recommended: (m, K) bool array."""
        ...

    def mixture(self, doses: np.ndarray) -> np.ndarray:
        """Shares of the candidates in each dose: (m, K)."""
        ...

    def kernel(self, doses: np.ndarray) -> np.ndarray:
        """Kernel of doses and candidates: (m, K)."""
        ...

    def densities(self, history: np.ndarray, doses: np.ndarray) -> np.ndarray:
        """Density of the dose that each subject was given: (m,)."""
        ...

    def masses(self, history: np.ndarray) -> np.ndarray:
        """Probability of the neighbourhood of each candidate: (m, K)."""
        ...

    def place(self, doses: np.ndarray) -> np.ndarray:
        """Number of the candidate next to each dose."""
        ...

    def part(self, rows: np.ndarray) -> "DoseSupport":
        """What some of those say who were there."""
        ...


@dataclass(frozen=True)
class HistoryColumn:
    """What one column of a history is.

    Attributes
    ----------
    name : str
    kind : {"covariate", "category", "reward", "action", "gap"}
        A gap is 1 where another column is missing, 0 elsewhere.
    labels : tuple
        Of a category or a past action; in a history they are positions among these.
    fill : float
        What stands where a covariate is missing; NaN where none may be.
    of : str
        The column a gap belongs to.
    """

    name: str
    kind: Literal["covariate", "category", "reward", "action", "gap"]
    labels: tuple = ()
    fill: float = field(default=float("nan"), compare=False)
    of: str = ""


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
    doses : DoseSupport or None
        Where actions are doses: the labels are candidates.
    """

    columns: list[HistoryColumn]
    labels: tuple
    feasible: Feasible | None
    name: str
    doses: DoseSupport | None

    @property
    def names(self) -> list[str]:
        """Names of the history columns."""
        return [column.name for column in self.columns]

    @property
    def codes(self) -> np.ndarray | None:
        """Codes of the actions, where these are doses."""
        return None if self.doses is None else self.doses.codes

    def allowed(self, history: np.ndarray) -> np.ndarray:
        """Which actions are feasible for which row of a history: (m, K) bool array."""
        if self.doses is not None:
            return self.doses.allowed(history)
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
        Position among the labels, of a dose that of the nearest; -1 for absent subjects.
    dose : (n,) array
        Dose that was taken, where actions are doses; NaN elsewhere.
    reward : (n,) array
        Also of absent subjects, where one was given: their outcome; 0 otherwise.
    present, known, censored : (n,) bool arrays
        Who has an action, who has an action or a reward, and whose reward is a lower bound.
    propensity : {"estimate", "randomized"}, mapping or (n,) array
    """

    history: np.ndarray
    action: np.ndarray
    dose: np.ndarray
    reward: np.ndarray
    present: np.ndarray
    known: np.ndarray
    censored: np.ndarray
    propensity: str | Mapping | np.ndarray

    def frame(self) -> StageFrame:
        """The stage without its subjects."""
        return StageFrame(self.columns, self.labels, self.feasible, self.name, self.doses)

    def part(self, rows: np.ndarray) -> "StageData":
        """The stage of some subjects."""
        several = ("history", "action", "dose", "reward", "present", "known", "censored")
        known = isinstance(self.propensity, np.ndarray)
        place = np.cumsum(self.present) - 1
        return replace(
            self,
            doses=None if self.doses is None else self.doses.part(place[rows[self.present[rows]]]),
            propensity=self.propensity[rows] if known else self.propensity,
            **{name: getattr(self, name)[rows] for name in several},
        )

    def shares(self, rows: np.ndarray) -> np.ndarray:
        """What some subjects took, as shares of the actions: one action whole, but for doses: (m, K)."""
        if self.doses is not None:
            return self.doses.mixture(self.dose[rows])
        return np.eye(len(self.labels))[self.action[rows]]


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
