"""One case at a time: a value is measured only when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._fitted import FittedPurchases

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
    acquired: list[Any]
    cost: float


class Session:
    """Ask, answer, ask again, until there is a result. Made by `DatumwiseClassifier.start`.

    Parameters
    ----------
    fitted : FittedPurchases
        Says what to ask and what to answer.
    """

    def __init__(self, fitted: FittedPurchases) -> None:
        self._fitted = fitted
        self._policy, self._rules = fitted.policy, fitted.policy.rules
        self._names = [fitted.features.feature_names[j] for j in fitted.columns]
        self._x = np.full((1, len(fitted.columns)), np.nan)
        self._bought = np.zeros((1, self._rules.n_units), dtype=bool)
        self._closed = np.zeros(self._rules.n_units, dtype=bool)
        self._spent = np.zeros(1)
        self._order: list[int] = []

    def _action(self) -> int:
        codes = self._fitted.encoder.encode(self._x)
        scores = self._policy.action_scores(codes, self._bought)[0].copy()
        n_units = self._rules.n_units
        may = self._rules.open(self._bought, self._spent)[0] & ~self._closed
        scores[:n_units][~may] = -np.inf
        return int(scores.argmax())

    def next(self) -> Any:
        """Name of the feature or group to measure next; None when enough is known."""
        action = self._action()
        return self._rules.names[action] if action < self._rules.n_units else None

    def tell(self, value: Any) -> Self:
        """Give the value that `next` asked for.

        Parameters
        ----------
        value : number, str, sequence or mapping
            The value of a feature as it stands in a table: a number, or the level of a category. For a group
            one for each of its features, in their order or by name; None or NaN for those not known. A level
            that `fit` has not seen is not known either.

        Returns
        -------
        Session
            This one.
        """
        unit = self._asked("tell")
        values = self._read(unit, value)
        if np.isnan(values).all():
            return self.unavailable()
        self._spent = self._spent + self._rules.price(self._bought)[0, unit]
        self._x[0, self._rules.groups[unit]] = values
        self._bought[0, unit] = True
        self._order.append(unit)
        return self

    def _read(self, unit: int, value: Any) -> NDArray:
        """The numbers of what was told about a unit."""
        group, name = self._rules.groups[unit], self._rules.names[unit]
        names = [self._names[j] for j in group]
        if isinstance(value, Mapping):
            unknown = [key for key in value if key not in names]
            if unknown:
                raise ValueError(f"{name!r} has no feature {unknown[0]!r}; it has {', '.join(names)}")
            value = [value.get(key) for key in names]
        elif np.ndim(value) == 0:
            value = [value]
        if len(value) != len(group):
            raise ValueError(
                f"{name!r} has {len(group)} features, but {len(value)} values were given; give one for each, "
                "None for what is not known"
            )
        columns = self._fitted.columns[group].tolist()
        return np.array(
            [self._fitted.features.encode_value(j, v) for j, v in zip(columns, value, strict=True)]
        )

    def unavailable(self) -> Self:
        """Say that what `next` asked for cannot be measured; it costs nothing and is not asked again."""
        self._closed[self._asked("unavailable")] = True
        return self

    def _asked(self, what: str) -> int:
        action = self._action()
        if action >= self._rules.n_units:
            raise ValueError(f"{what}() answers a question, but none is open; see result()")
        return action

    def result(self) -> Result:
        """The class, as of now: final once `next` gives None."""
        codes = self._fitted.encoder.encode(self._x)
        scores = self._policy.action_scores(codes, self._bought)[0, self._rules.n_units :]
        return Result(
            self._fitted.classes[int(scores.argmax())],
            self._policy.probabilities(codes, self._bought)[0],
            [self._rules.names[u] for u in self._order],
            float(self._spent[0]),
        )
