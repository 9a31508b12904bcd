"""Recursive feature elimination as chapter 4 of the dissertation has it, with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rlselect._options import anything, check_options, number, one_of, refuse_unused

__all__ = ["ALGORITHMS", "BY_VALUE", "Selection", "StageRFE", "as_selection"]

ALGORITHMS = ("rfe", "rfe-test", "rfe-vpred", "rfe-vstage")
# those that remove what leaves the largest fitted value
BY_VALUE = ("rfe-vpred", "rfe-vstage")


def _are_positive(values: Any) -> bool:
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return numbers.ndim == 1 and len(numbers) > 0 and bool(np.all((numbers > 0) & np.isfinite(numbers)))


@dataclass(frozen=True)
class StageRFE:
    """Elimination of history columns by Algorithms 25, 27 and 28 of the dissertation; see `QLearning.paper`.

    Parameters
    ----------
    algorithm : {"rfe", "rfe-test", "rfe-vpred", "rfe-vstage"}, default="rfe"
        At each stage the column whose absence leaves the smallest regularised risk leaves (25), or the
        smallest one on held-out subjects (27); or, of all stages, the column whose absence leaves the largest
        fitted value of the first stage (28); or, at each stage, the column whose absence leaves the largest
        fitted value of that stage, which Appendix C.1 proposes.
    safeguard : float in [0, 1), default=0.05
        So large a share of the columns is kept beyond what the stopping rule says.
    bandwidths : sequence of float, default=(1, 2, 4, ..., 128)
        Of the Gaussian kernel on standardised columns; the one with the smallest risk over five folds is
        taken. Section 4.5.2 starts at 1/4, where the kernel matrix of many columns is an identity.
    degree : {1, 2, 3}, default=2
        "rfe": degree of the polynomial beyond the change point of the objective. The text leaves it open.
    train_share : float in (0, 1), default=0.5
        "rfe-test": share of the subjects that machines learn from; the others judge. The text leaves it open.

    Examples
    --------
    >>> from rlselect import QLearning
    >>> from rlselect.regimes import StageRFE
    >>> QLearning(selection=StageRFE("rfe-test", safeguard=0.1)).selection.train_share
    0.5
    """

    algorithm: Literal["rfe", "rfe-test", "rfe-vpred", "rfe-vstage"] = "rfe"
    safeguard: float = 0.05
    bandwidths: Sequence[float] = tuple(2.0**k for k in range(8))
    degree: Literal[1, 2, 3] = 2
    train_share: float = 0.5

    _options: ClassVar = {
        "algorithm": one_of(*ALGORITHMS),
        "safeguard": number("a share of at least 0 and below 1", least=0.0, below=1.0),
        "bandwidths": anything("a list of positive numbers", _are_positive),
        "degree": anything("1, 2 or 3", lambda v: not isinstance(v, bool) and v in (1, 2, 3)),
        "train_share": number("a share strictly between 0 and 1", above=0.0, below=1.0),
    }

    def check(self) -> None:
        """Refuse what is not allowed, and what has no effect in the algorithm."""
        check_options(self, self._options)
        mode, fix = f"algorithm={self.algorithm!r}", "leave it out, or choose the other algorithm"
        refuse_unused(self, () if self.algorithm == "rfe" else ("degree",), mode, fix)
        refuse_unused(self, () if self.algorithm == "rfe-test" else ("train_share",), mode, fix)


Selection = Literal["loo"] | StageRFE | None


def as_selection(selection: str | StageRFE | None) -> Selection:
    """The selection that an allowed option stands for.

    Examples
    --------
    >>> as_selection("rfe") == StageRFE("rfe")
    True
    """
    return StageRFE(selection) if selection in ALGORITHMS else selection  # type: ignore[arg-type, return-value]
