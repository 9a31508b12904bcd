"""From the probability of each unit to a decision: which of them to take."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rlselect._options import NONE, check_options, check_value, number, whole

Floats = NDArray[np.float64]
RuleName = Literal["auto", "f1"]


class DecisionRule(Protocol):
    """Chooses units by their probabilities."""

    def choose(self, inclusion: Floats) -> NDArray[np.bool_]: ...


@dataclass(frozen=True)
class Cutoff:
    """Take every unit above a probability.

    Parameters
    ----------
    threshold : float, default=0.5
        The probability. At one half the chosen subset is the median model, best on average for prediction.

    Examples
    --------
    >>> Cutoff(0.5).choose(np.array([0.95, 0.5, 0.6]))
    array([ True, False,  True])
    """

    threshold: float = 0.5
    _options: ClassVar = {"threshold": number("a number from 0 to below 1", least=0.0, below=1.0)}

    def __post_init__(self) -> None:
        check_options(self, self._options)

    def choose(self, inclusion: Floats) -> NDArray[np.bool_]:
        """Mask of the chosen units."""
        return inclusion > self.threshold


@dataclass(frozen=True)
class FalseDiscovery:
    """Take the most probable units as long as the expected share of wrong ones stays small.

    The share is the mean of ``1 - inclusion`` over the chosen units; units of equal probability are taken
    together or not at all. An empty answer is possible.

    Parameters
    ----------
    share : float, default=0.1
        Largest expected share.

    Examples
    --------
    >>> FalseDiscovery(0.1).choose(np.array([0.5, 0.99, 0.9, 0.85]))
    array([False,  True,  True,  True])
    """

    share: float = 0.1
    _options: ClassVar = {"share": number("a number between 0 and 1", above=0.0, below=1.0)}

    def __post_init__(self) -> None:
        check_options(self, self._options)

    def choose(self, inclusion: Floats) -> NDArray[np.bool_]:
        """Mask of the chosen units."""
        values = np.sort(inclusion)[::-1]
        wrong = np.cumsum(1.0 - values) / np.arange(1, len(values) + 1)
        # the mean grows along the order: what is chosen is a first part of it
        last = np.append(values[1:] < values[:-1], True)[: len(values)]
        ends = values[(wrong <= self.share) & last]
        return inclusion >= ends[-1] if len(ends) else np.zeros(len(inclusion), dtype=bool)


@dataclass(frozen=True)
class ExpectedF1:
    r"""Take the set of largest expected F1, the harmonic mean of precision and recall.

    At least one is chosen, so that it is no answer to whether there is anything: it is taken for granted that
    there is. Given that, with :math:`q_j = p_j / (1 - p_0)`, the k most probable units are expected to score
    about :math:`2 \sum_{j \leq k} q_j / (k + \sum_j q_j)`.

    Parameters
    ----------
    nothing : float, optional
        The probability :math:`p_0` that there is nothing, which a posterior over subsets knows; that of
        independent units, :math:`\prod_j (1 - p_j)`, where it is not given.

    Examples
    --------
    >>> ExpectedF1().choose(np.array([0.3, 0.6, 0.45, 0.01]))
    array([ True,  True,  True, False])
    """

    nothing: float | None = None
    _options: ClassVar = {"nothing": NONE | number("a number from 0 to 1", least=0.0, most=1.0)}

    def __post_init__(self) -> None:
        check_options(self, self._options)

    def choose(self, inclusion: Floats) -> NDArray[np.bool_]:
        """Mask of the chosen units."""
        chosen = np.zeros(len(inclusion), dtype=bool)
        if not len(inclusion):
            return chosen
        some = -np.expm1(np.log1p(-np.minimum(inclusion, 1.0 - 1e-12)).sum())
        if self.nothing is not None:
            # that of any unit is at least that of one of them, and at most that of all added up
            some = np.clip(1.0 - self.nothing, inclusion.max(), inclusion.sum())
        given = np.minimum(inclusion / max(some, 1e-300), 1.0)
        order = np.argsort(-given, kind="stable")
        value = np.cumsum(given[order]) / (np.arange(1, len(order) + 1) + given.sum())
        chosen[order[: int(np.argmax(value)) + 1]] = True
        return chosen


@dataclass(frozen=True)
class MostProbable:
    """Take the k most probable units, or all if there are fewer; the first of equal ones.

    Parameters
    ----------
    k : int
        How many.

    Examples
    --------
    >>> MostProbable(2).choose(np.array([0.1, 0.7, 0.2]))
    array([False,  True,  True])
    """

    k: int
    _options: ClassVar = {"k": whole(0)}

    def __post_init__(self) -> None:
        check_options(self, self._options)

    def choose(self, inclusion: Floats) -> NDArray[np.bool_]:
        """Mask of the chosen units."""
        chosen = np.zeros(len(inclusion), dtype=bool)
        chosen[np.argsort(-inclusion, kind="stable")[: self.k]] = True
        return chosen


def as_rule(rule: RuleName | DecisionRule) -> DecisionRule:
    """The rule of this name ("auto" takes what is more likely in than out), or the rule itself."""
    if isinstance(rule, str):
        return ExpectedF1() if rule == "f1" else Cutoff()
    return rule


def read_rule(
    *,
    threshold: float | None = None,
    fdr: float | None = None,
    k: int | None = None,
    rule: RuleName | DecisionRule | None = None,
) -> DecisionRule | None:
    """The one rule that was asked for, None if none was; an error if there are several."""
    given = {
        name: value
        for name, value in (("threshold", threshold), ("fdr", fdr), ("k", k), ("rule", rule))
        if value is not None
    }
    if len(given) > 1:
        words = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise ValueError(f"{words} were given; they are different rules: give one of them.")
    if threshold is not None:
        return Cutoff(threshold)
    if fdr is not None:
        check_value("fdr", fdr, FalseDiscovery._options["share"])
        return FalseDiscovery(fdr)
    if k is not None:
        return MostProbable(k)
    return None if rule is None else as_rule(rule)
