"""What is found in a table, one thing each, with its mend in Python and on the command line."""

import shlex
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rlselect.data import CsvCells
from rlselect.preflight._columns import ColumnFacts

__all__ = ["Finding", "SeenRows", "drop_flags", "named"]

Weight = Literal["problem", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that was seen.

    Attributes
    ----------
    what : str
        A word for it, such as "missing values".
    weight : {"problem", "warning", "note"}
        A problem is in the way of a fit; a warning may spoil its answer; a note is good to know.
    columns : list of str
        Where it was seen; empty for the rows.
    text : str
        A sentence.
    python, command : str
        The mend, in the words of the library and of the command line; empty where there is none to be given.
    """

    what: str
    weight: Weight
    columns: list[str]
    text: str
    python: str = ""
    command: str = ""


@dataclass(frozen=True)
class SeenRows:
    """Rows that were looked at.

    Attributes
    ----------
    columns : list of ColumnFacts
        The features.
    target : ColumnFacts or None
        What is to be explained.
    n_seen : int
        Rows looked at.
    n_rows : int or None
        Rows in all, where that is known.
    neighbours : bool
        Whether rows that follow each other here do so in the data.
    cells : CsvCells or None
        How cells of CSV files are written, where they are such.
    apart : bool
        Whether the target is no column of the table, but was given beside it.
    """

    columns: list[ColumnFacts]
    target: ColumnFacts | None
    n_seen: int
    n_rows: int | None
    neighbours: bool
    cells: CsvCells | None = None
    apart: bool = False

    def rows(self, most: int) -> NDArray[np.intp]:
        """Some of the rows, spread evenly, for what takes longer."""
        return np.unique(np.linspace(0, self.n_seen - 1, min(self.n_seen, most)).astype(np.intp))


def drop_flags(columns: list[str], most: int = 8) -> str:
    """Flags of the command line that leave columns out, as a shell reads them.

    Examples
    --------
    >>> drop_flags(["id", "clinic name"]), drop_flags(["a", "b"], most=1)
    ("--drop id --drop 'clinic name'", '--drop a ...')
    """
    # what looks like a flag has to hang on its own
    shown = " ".join(
        f"--drop={shlex.quote(name)}" if name.startswith("-") else f"--drop {shlex.quote(name)}"
        for name in columns[:most]
    )
    return shown + (" ..." if len(columns) > most else "")


def named(columns: list[str], most: int = 5) -> str:
    """Names for a sentence.

    Examples
    --------
    >>> named(["a", "b"]), named(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    shown = ", ".join(repr(name) for name in columns[:most])
    return shown if len(columns) <= most else f"{shown} and {len(columns) - most} more"
