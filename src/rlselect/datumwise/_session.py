"""One case at a time: a value is measured only when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rlselect._options import check_value, whole
from rlselect.datumwise._fitted import FittedPurchases
from rlselect.datumwise._read_rules import place_of_unit
from rlselect.datumwise._reasons import Explanation

__all__ = ["Result", "Session"]


@dataclass(frozen=True)
class Result:
    """How a session ended.

    Parameters
    ----------
    label : object
        The class, or the number that is expected.
    probabilities : (classes,) array
        Of each class, or of each of the `answers_` of a `DatumwiseRegressor`.
    acquired : list
        Names of what was bought, in order.
    cost : float
        What it cost, visits included.
    visits : int
        How many visits that took.
    decided : bool
        Whether the answer is sure enough, see `DatumwiseClassifier.with_max_error`.
    """

    label: Any
    probabilities: NDArray
    acquired: list[Any]
    cost: float
    visits: int
    decided: bool = True


class Session:
    """Ask, answer, ask again, until there is a result. Made by `DatumwiseClassifier.start`.

    Parameters
    ----------
    fitted : FittedPurchases
        Says what to ask and what to answer.
    known : mapping, optional
        Feature or group -> its value, as for `tell`: known from the start, free of charge.
    visit_cost : float
        What every visit costs beside what is bought in it.
    """

    def __init__(
        self, fitted: FittedPurchases, known: Mapping[Any, Any] | None = None, visit_cost: float = 0.0
    ) -> None:
        known = {} if known is None else known
        names = fitted.rules.names
        given = np.array([place_of_unit(name, names, "known") for name in known], dtype=np.intp)
        lacking = np.setdiff1d(fitted.known[fitted.free], given)
        if len(lacking):
            raise ValueError(
                f"{names[lacking[0]]!r} is said to be known from the start; give its value, or None: "
                f"start(known={{{names[lacking[0]]!r}: ...}})."
            )
        fitted = fitted.at(fitted.rules, free=given) if len(given) else fitted
        self._fitted = fitted
        self._policy, self._rules = fitted.policy, fitted.policy.rules
        self._names = [fitted.features.feature_names[j] for j in fitted.columns]
        self._x = np.full((1, len(fitted.columns)), np.nan)
        self._bought = np.zeros((1, self._rules.n_units), dtype=bool)
        self._closed = np.zeros(self._rules.n_units, dtype=bool)
        self._spent = np.zeros(1)
        self._order: list[int] = []
        self._visit_cost, self._visits = visit_cost, 0
        # what `next_few` has named, and of that what belongs to a visit that is paid
        self._ordered, self._visited = set[int](), set[int]()
        for place, value in zip(given.tolist(), known.values(), strict=True):
            for unit in np.flatnonzero(fitted.known == place).tolist():
                self._keep(unit, self._read(unit, value))

    def _plan(self, most: int) -> list[int]:
        """Units worth ordering together, the best first; none if they are not worth the visit."""
        codes = self._fitted.encoder.encode(self._x)
        n_units = self._rules.n_units
        scores = self._policy.action_scores(codes, self._bought)[0]
        gains = scores[:n_units] - scores[n_units:].max()
        held, spent, chosen = self._bought.copy(), self._spent + self._visit_cost, list[int]()
        insists = not self._decided() and self._fitted.promise is not None and self._fitted.promise.buy_more
        while len(chosen) < most:
            may = self._rules.open(held, spent)[0] & ~self._closed
            best = int(np.where(may, gains, -np.inf).argmax())
            # equal scores: as in tables, a purchase comes before an answer
            if not may[best] or (gains[best] < 0 and (chosen or not insists)):
                break
            spent = spent + self._rules.price(held)[0, best]
            held[0, best] = True
            chosen.append(best)
        visit = self._policy.score_of(self._visit_cost)
        return chosen if insists or visit <= sum(gains[u] for u in chosen) else []

    def _decided(self) -> bool:
        """Whether what is known makes the answer sure enough."""
        promise, codes = self._fitted.promise, self._fitted.encoder.encode(self._x)
        if promise is None:
            return True
        answer = self._policy.action_scores(codes, self._bought)[0, self._rules.n_units :].argmax()
        return bool(self._policy.probabilities(codes, self._bought)[0, answer] >= promise.threshold)

    def next(self) -> Any:
        """Name of the feature or group to measure next; None when enough is known."""
        planned = self._plan(1)
        return self._rules.names[planned[0]] if planned else None

    def next_few(self, most: int) -> list[Any]:
        """Names of what to order at once, where every visit takes time: what is worth its price by now.

        Values of these that are told later belong to one visit, until this is called again; all others are a
        visit each. With a `visit_cost`, which is paid with the first value of a visit, there has to be enough
        to gain from all of them together.

        Parameters
        ----------
        most : int
            How many at most.

        Returns
        -------
        list
            The best first, as far as the rules allow all of them; empty when enough is known. Each is judged
            by itself, so that two which tell the same may both be there.
        """
        check_value("most", most, whole(1))
        chosen = self._plan(most)
        self._ordered, self._visited = set(chosen), set()
        return [self._rules.names[unit] for unit in chosen]

    @property
    def classes(self) -> NDArray:
        """Classes, or values of the number, in the order of the probabilities of a result."""
        return self._fitted.classes

    @property
    def is_number(self) -> bool:
        """Whether the answer is a number."""
        return self._fitted.variance is not None

    def fields(self) -> list[tuple[str, list[str] | None]]:
        """Names of the features that `next` asks for, and the levels of those that are categories."""
        unit = self._asked("fields")
        columns = self._fitted.columns[self._lacking(unit)].tolist()
        features = self._fitted.features
        return [(features.feature_names[j], features.answers(j)) for j in columns]

    def _lacking(self, unit: int) -> NDArray:
        """Columns of a unit whose values are not known yet, from other groups with the same features."""
        group = self._rules.groups[unit]
        return group[np.isnan(self._x[0, group])]

    def explain(self, question: Any = None) -> Explanation | None:
        """Why something is asked for: what the answer costs on average before and after it.

        Parameters
        ----------
        question : object, optional
            Feature or group that may be bought now; the one of `next` otherwise.

        Returns
        -------
        Explanation or None
            ``str()`` gives a sentence. None when enough is known and no question is given.
        """
        units = self._plan(1) if question is None else [self._named(question, "question")]
        if not units:
            return None
        unit = units[0]
        now, after = self._policy.outlook(self._fitted.encoder.encode(self._x), self._bought)
        past = {self._rules.names[u] for u in np.flatnonzero(self._bought[0] | self._closed)}
        then = self._fitted.reasons.next_names(unit, self._rules)
        return Explanation(
            self._rules.names[unit],
            float(self._rules.price(self._bought)[0, unit]),
            float(now[0]),
            float(after[0, unit]),
            {name: share for name, share in then.items() if name not in past},
            self._fitted.expected,
        )

    def tell(self, value: Any, of: Any = None) -> Self:
        """Give the value that `next` asked for.

        Parameters
        ----------
        value : number, str, sequence or mapping
            The value of a feature as it stands in a table: a number, or the level of a category. For a group
            one for each of its features that is not known from another group, in their order or by name; None
            or NaN for those that cannot be had. A level that `fit` has not seen is taken as one of these.
        of : object, optional
            Feature or group that the value is of, for those of `next_few`; the one of `next` otherwise.

        Returns
        -------
        Session
            This one.
        """
        unit = self._asked("tell") if of is None else self._named(of, "of")
        values = self._read(unit, value)
        if np.isnan(values).all():
            self._closed[unit] = True
            return self
        self._spent = self._spent + self._rules.price(self._bought)[0, unit]
        self._visit(unit)
        self._keep(unit, values)
        self._order.append(unit)
        return self

    def _visit(self, unit: int) -> None:
        """Pay for the visit, unless it is one that is paid."""
        if unit not in self._visited:
            self._spent = self._spent + self._visit_cost
            self._visits += 1
            self._visited = set(self._ordered) if unit in self._ordered else set()
            self._ordered = set()
        self._visited.discard(unit)

    def _keep(self, unit: int, values: NDArray) -> None:
        """Note the values of a unit, which is closed if there are none."""
        there = not np.isnan(values).all()
        self._closed[unit] |= not there
        self._bought[0, unit] = there
        columns = self._fitted.columns
        for column, value in zip(columns[self._rules.groups[unit]], values, strict=True):
            # groups that overlap have a column each for what they share
            self._x[0, columns == column] = value

    def _read(self, unit: int, value: Any) -> NDArray:
        """The numbers of what was told about a unit."""
        group, name = self._rules.groups[unit], self._rules.names[unit]
        lacking = self._lacking(unit)
        names = [self._names[j] for j in lacking]
        if isinstance(value, Mapping):
            unknown = [key for key in value if key not in names]
            if unknown:
                raise ValueError(
                    f"{name!r} has no feature {unknown[0]!r} that is not known yet; it has {', '.join(names)}"
                )
            value = [value.get(key) for key in names]
        elif np.ndim(value) == 0:
            value = [value]
        if len(value) != len(lacking):
            others = "" if len(lacking) == len(group) else " that are not known yet"
            raise ValueError(
                f"{name!r} has {len(lacking)} features{others}, but {len(value)} values were given; give one "
                "for each, None for what is not known"
            )
        out = self._x[0].copy()
        columns = self._fitted.columns[lacking].tolist()
        out[lacking] = [self._fitted.features.encode_value(j, v) for j, v in zip(columns, value, strict=True)]
        return out[group]

    def unavailable(self) -> Self:
        """Say that what `next` asked for cannot be measured; it costs nothing and is not asked again."""
        self._closed[self._asked("unavailable")] = True
        return self

    def _asked(self, what: str) -> int:
        planned = self._plan(1)
        if not planned:
            raise ValueError(f"{what}() answers a question, but none is open; see result()")
        return planned[0]

    def _named(self, name: Any, what: str) -> int:
        """A unit that may be bought now, by its name."""
        place = place_of_unit(name, self._rules.names, what)
        if not self._rules.open(self._bought, self._spent)[0, place] or self._closed[place]:
            raise ValueError(f"{what}={name!r} was given, which is known already or may not be bought now.")
        return place

    def result(self) -> Result:
        """The answer, as of now: final once `next` gives None."""
        codes = self._fitted.encoder.encode(self._x)
        if self.is_number:
            label: Any = float(self._fitted.means(codes, self._bought)[0])
        else:
            scores = self._policy.action_scores(codes, self._bought)[0, self._rules.n_units :]
            label = self._fitted.classes[int(scores.argmax())]
        return Result(
            label,
            self._policy.probabilities(codes, self._bought)[0],
            [self._rules.names[u] for u in self._order],
            float(self._spent[0]),
            self._visits,
            self._decided(),
        )
