"""One case at a time: a value is measured only when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._structure import Structure

__all__ = ["Result", "Session"]


@dataclass(frozen=True)
class Result:
    """How a session ended.

    Parameters
    ----------
    label : object
        The class.
    probabilities : (classes,) array
        Of each class.
    acquired : list
        Names of what was bought, in order.
    cost : float
        What it cost.
    """

    label: Any
    probabilities: NDArray
    acquired: list
    cost: float


class Session:
    """Ask, answer, ask again, until there is a result. Made by `DatumwiseClassifier.start`.

    Parameters
    ----------
    policy : AdditivePolicy or TablePolicy
        Fitted.
    encoder : BinEncoder or LinearEncoder
        Fitted.
    structure : Structure
        The rules.
    classes : array
        Labels.
    feature_names : list
        Names of the features.
    """

    def __init__(
        self, policy: Any, encoder: Any, structure: Structure, classes: NDArray, feature_names: list
    ) -> None:
        self._policy, self._encoder, self._structure = policy, encoder, structure
        self._classes, self._names = classes, feature_names
        self._x = np.full((1, len(feature_names)), np.nan)
        self._bought = np.zeros((1, structure.n_units), dtype=bool)
        self._closed = np.zeros(structure.n_units, dtype=bool)
        self._spent = np.zeros(1)
        self._order: list[int] = []

    def _action(self) -> int:
        codes = self._encoder.encode(self._x)
        scores = self._policy.action_scores(codes, self._bought)[0].copy()
        n_units = self._structure.n_units
        may = self._structure.open(self._bought, self._spent)[0] & ~self._closed
        scores[:n_units][~may] = -np.inf
        return int(scores.argmax())

    def next(self) -> Any:
        """Name of the feature or group to measure next; None when enough is known."""
        action = self._action()
        return self._structure.names[action] if action < self._structure.n_units else None

    def tell(self, value: Any) -> "Session":
        """Give the value that `next` asked for.

        Parameters
        ----------
        value : number, sequence or mapping
            One number for a feature; for a group one number for each of its features, in their order or by
            name. NaN for a number of a group that is not known.

        Returns
        -------
        Session
            This one.
        """
        unit = self._asked("tell")
        group = self._structure.groups[unit]
        if isinstance(value, Mapping):
            unknown = [name for name in value if name not in [self._names[j] for j in group]]
            if unknown:
                raise ValueError(f"{self._structure.names[unit]!r} has no feature {unknown[0]!r}")
            value = [value.get(self._names[j], np.nan) for j in group]
        values = np.atleast_1d(np.asarray(value, dtype=float))
        if values.shape != (len(group),):
            raise ValueError(
                f"{self._structure.names[unit]!r} has {len(group)} features, but {values.size} values were "
                "given; give one for each, NaN for what is not known"
            )
        if np.isinf(values).any():
            raise ValueError("the value is infinite; give a finite number, or call unavailable()")
        if np.isnan(values).all():
            return self.unavailable()
        self._spent = self._spent + self._structure.price(self._bought)[0, unit]
        self._x[0, group] = values
        self._bought[0, unit] = True
        self._order.append(unit)
        return self

    def unavailable(self) -> "Session":
        """Say that what `next` asked for cannot be measured; it costs nothing and is not asked again."""
        self._closed[self._asked("unavailable")] = True
        return self

    def _asked(self, what: str) -> int:
        action = self._action()
        if action >= self._structure.n_units:
            raise ValueError(f"{what}() answers a question, but none is open; see result()")
        return action

    def result(self) -> Result:
        """The class, as of now: final once `next` gives None."""
        codes = self._encoder.encode(self._x)
        scores = self._policy.action_scores(codes, self._bought)[0, self._structure.n_units :]
        return Result(
            self._classes[int(scores.argmax())],
            self._policy.probabilities(codes, self._bought)[0],
            [self._structure.names[u] for u in self._order],
            float(self._spent[0]),
        )
