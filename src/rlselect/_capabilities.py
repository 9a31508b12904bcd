"""What an estimator takes, declared by each of them, and who takes what another one refuses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DATA", "EVERYTHING", "OUTCOMES", "TABLES", "Takes", "refuse_outcome"]

# what y may be; what stands there as a word is read by `option` where an estimator has to be told
OUTCOMES = (
    "numbers",
    "two classes",
    "several classes",
    "ordered classes",
    "counts",
    "censored times",
    "several responses",
)
# what may come with it
DATA = (
    "sample weights",
    "offsets",
    "clusters of rows",
    "rows in time",
    "feature groups",
    "missing values",
    "text columns",
    "sparse tables",
    "files larger than memory",
    "time budget",
    "checkpoint",
)
# what all that read a table take
TABLES = ("missing values", "text columns", "sparse tables", "time budget")
# who takes what most do not: a test holds it against the declarations
ADVICE: Mapping[str, str] = {
    "censored times": "REVS does (family='cox')",
    "several responses": "REVS, ActorCriticPredictor and RiskRFE do",
}


@dataclass(frozen=True)
class Takes:
    """What an estimator takes.

    Parameters
    ----------
    outcomes : tuple of str
        Out of `OUTCOMES`.
    data : tuple of str
        Out of `DATA`.
    """

    outcomes: tuple[str, ...]
    data: tuple[str, ...]

    def __post_init__(self) -> None:
        strange = {*self.outcomes} - {*OUTCOMES} | {*self.data} - {*DATA}
        if strange:
            raise ValueError(f"{sorted(strange)} are no capabilities; {OUTCOMES + DATA} are.")

    def __contains__(self, what: object) -> bool:
        return what in self.outcomes or what in self.data


EVERYTHING = Takes(OUTCOMES, DATA)


def refuse_outcome(takes: Takes, y: Any, owner: str) -> None:
    """Refuse a y of a shape that an estimator does not take, and say who does."""
    what = _shape_of(y)
    if what is not None and what not in takes:
        raise ValueError(f"{owner} takes no {what} as y, and this y holds {what}; {ADVICE[what]}.")


def _shape_of(y: Any) -> str | None:
    """What a target must be by its shape alone; None for a single column."""
    pair = isinstance(y, tuple) and len(y) == 2 and all(isinstance(name, str) for name in y)
    if pair or isinstance(y, Mapping) or getattr(getattr(y, "dtype", None), "names", None) is not None:
        return "censored times"
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple):
        shape = (len(y), len(y[0]))
    several = isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[1], int) and shape[1] > 1
    return "several responses" if several else None
