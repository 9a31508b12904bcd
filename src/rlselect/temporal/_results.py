"""What the methods of the model give back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def frame(values: Array, index: Any, columns: list[str], index_name: str = "time") -> Any:
    """Pandas frame of times x covariates."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            'the curves are pandas data frames: pip install "rlselect[temporal]" brings pandas'
        ) from None
    return pd.DataFrame(values, index=pd.Index(index, name=index_name), columns=columns)


@dataclass(frozen=True)
class Band:
    """Lower and upper curves around estimated effects.

    Attributes
    ----------
    estimate, lower, upper : data frames, times x covariates; NaN at flagged times
    level : float
    critical : dict
        Multiple of the standard error used, per covariate.
    kind : str
        ``"pointwise"``, or the method of the simultaneous band.

    Notes
    -----
    ``lower, upper = band`` unpacks, ``band["age"]`` gives one covariate's curves side by side.
    """

    estimate: Any
    lower: Any
    upper: Any
    level: float
    critical: dict[str, float]
    kind: str

    def __iter__(self) -> Iterator[Any]:
        return iter((self.lower, self.upper))

    def __getitem__(self, covariate: str) -> Any:
        if covariate not in self.lower.columns:
            raise KeyError(f"{covariate!r} is not a covariate; covariates: {', '.join(self.lower.columns)}")
        import pandas as pd

        return pd.DataFrame(
            {
                "estimate": self.estimate[covariate],
                "lower": self.lower[covariate],
                "upper": self.upper[covariate],
            }
        )

    def excludes(self, value: float = 0.0) -> Any:
        """Where the band lies wholly on one side of a value: data frame of bool, times x covariates."""
        return (self.lower > value) | (self.upper < value)


@dataclass(frozen=True)
class ProcessTest:
    """Outcome of a test about effect curves.

    Attributes
    ----------
    statistic : float
    df : int
        Number of contrasts; the degrees of freedom of the chi-square reference when ``kind="ids"``.
    pvalue : float
    kind : {"ids", "sds", "squared"}
    contrast : the hypothesis in words
    estimate, se : arrays of shape (contrasts,), time averages of the difference and their standard errors
    times : the time points used
    excluded : time points left out because they are flagged
    """

    statistic: float
    df: int
    pvalue: float
    kind: str
    contrast: str
    estimate: Array = field(repr=False)
    se: Array = field(repr=False)
    times: NDArray[Any] = field(repr=False)
    excluded: NDArray[Any] = field(repr=False)


@dataclass(frozen=True)
class Summary:
    """Summary of a fitted model: `header` lines and a `table` with one row per covariate."""

    header: list[str]
    table: Any

    def __str__(self) -> str:
        return "\n".join([*self.header, "", self.table.to_string(float_format=lambda v: f"{v:.4g}")])

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Selection:
    """Outcome of backward selection.

    Attributes
    ----------
    model : the model that is left, fitted
    selected, dropped : names of terms, `dropped` in the order they went
    steps : data frame with one row per term and step: statistic, df, pvalue and what was decided
    """

    model: Any
    selected: list[str]
    dropped: list[str]
    steps: Any = field(repr=False)
