"""Temporal process regression by the words of the command line."""

from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.preflight import find_date_texts
from rlselect.temporal import TemporalProcessRegression

__all__ = ["read_grid", "read_width", "run_effects"]


def read_grid(text: str | None, day_first: bool | None = None) -> Any:
    """How many times, or the times themselves: ``12``, ``0,30,60`` or dates, written as those of the data.

    Examples
    --------
    >>> read_grid("12"), read_grid("0,30,60.5"), read_grid(None)
    (12, array([ 0. , 30. , 60.5]), None)
    >>> read_grid("1/2/2024,3/2/2024", day_first=True)
    array(['2024-02-01', '2024-02-03'], dtype='datetime64[D]')
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if len(words) == 1 and words[0].isdigit():
        return int(words[0])
    try:
        return np.array([float(word) for word in words])
    except ValueError:
        pass
    try:
        if day_first is not None and all("/" in word for word in words):
            return _read_dates(words, day_first)
        return np.array(words, dtype="datetime64")
    except ValueError:
        raise ValueError(
            f"--grid {text!r} is not understood; give how many times, or times with commas between them."
        ) from None


def _read_dates(words: list[str], day_first: bool) -> Any:
    """Dates such as 01/02/2024."""
    table = pa.table({"grid": words})
    found = find_date_texts(table, "grid", day_first=day_first)
    if found is None:
        raise ValueError("These are no dates.")
    return found.make(table)["grid"].to_numpy().astype("datetime64[D]")


def read_width(text: str | None) -> Any:
    """A bandwidth: a number, or the name of a rule."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def run_effects(data: Any, fit: dict[str, Any], **params: Any) -> Any:
    """Fit a table or a source, of which the columns are read that the formula names.

    Parameters
    ----------
    data : table or source
        One row per subject and time.
    fit : dict
        Arguments of `TemporalProcessRegression.fit`; those that are None or empty are left out.
    **params : object
        Parameters of `TemporalProcessRegression`.

    Returns
    -------
    TemporalProcessRegression
    """
    given = {name: value for name, value in fit.items() if value}
    return TemporalProcessRegression(**params).fit(data, **given)
