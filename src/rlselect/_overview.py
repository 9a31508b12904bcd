"""One table of what every estimator takes, made of what they declare."""

from collections.abc import Iterator, Mapping

from rlselect._capabilities import DATA, OUTCOMES, Takes
from rlselect.datumwise import DatumwiseClassifier, DatumwiseRegressor
from rlselect.regimes import AdvantageLearning, QLearning
from rlselect.subset import (
    FSTD,
    FUSE,
    REVS,
    ActorCriticPredictor,
    CorrelationFeatureSelection,
    RiskRFE,
    ThompsonSelector,
)
from rlselect.temporal import TemporalProcessRegression

__all__ = ["Capabilities", "capabilities"]

_ESTIMATORS = (
    REVS,
    ActorCriticPredictor,
    RiskRFE,
    DatumwiseClassifier,
    DatumwiseRegressor,
    QLearning,
    AdvantageLearning,
    TemporalProcessRegression,
    ThompsonSelector,
    FSTD,
    FUSE,
    CorrelationFeatureSelection,
)


class Capabilities(Mapping[str, frozenset[str]]):
    """What each estimator takes, by its name; ``str()`` gives a table.

    Parameters
    ----------
    declared : mapping
        Name of an estimator -> what it declares.
    """

    def __init__(self, declared: Mapping[str, Takes]) -> None:
        self._declared = dict(declared)

    def __getitem__(self, name: str) -> frozenset[str]:
        takes = self._declared[name]
        return frozenset((*takes.outcomes, *takes.data))

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    def who_takes(self, what: str) -> list[str]:
        """Names of the estimators that take something, such as "counts".

        Parameters
        ----------
        what : str
            A row of the table.

        Returns
        -------
        list of str
        """
        if what not in OUTCOMES + DATA:
            known = ", ".join(repr(word) for word in OUTCOMES + DATA)
            raise ValueError(f"what={what!r} was given; it must be one of {known}.")
        return [name for name in self if what in self[name]]

    def table(self, words: tuple[str, ...], head: str) -> str:
        """A Markdown table with a row per word and a column per estimator.

        Parameters
        ----------
        words : tuple of str
            The rows.
        head : str
            Above them.

        Returns
        -------
        str
        """
        lines = [
            f"| {head} | " + " | ".join(f"`{name}`" for name in self) + " |",
            "|---" * (len(self) + 1) + "|",
        ]
        for word in words:
            marks = " | ".join("yes" if word in self[name] else "" for name in self)
            lines.append(f"| {word} | {marks} |")
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.table(OUTCOMES, 'y may be')}\n\n{self.table(DATA, 'with it may come')}"

    def __repr__(self) -> str:
        return str(self)


def capabilities() -> Capabilities:
    """What each estimator takes: outcomes, and what may come with them.

    Returns
    -------
    Capabilities
        A mapping from names of estimators to sets of words; ``str()`` gives a table.

    Examples
    --------
    >>> from rlselect import capabilities
    >>> capabilities().who_takes("ordered classes")
    ['REVS']
    >>> "several responses" in capabilities()["RiskRFE"]
    True
    """
    return Capabilities({kind.__name__: kind._takes for kind in _ESTIMATORS})
