"""Reading tables column by column: dicts of arrays, data frames and Arrow tables."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Covariate", "Table", "plain_labels"]


class Covariate(NamedTuple):
    """Numbers, or positions among labels where there are any; NaN where missing."""

    values: np.ndarray
    labels: tuple = ()


class Table:
    """Columns of a table by name, whatever it is made of.

    Parameters
    ----------
    frame : mapping of columns, data frame or Arrow table
    """

    def __init__(self, frame: Any) -> None:
        if isinstance(frame, Mapping):
            self._read = {str(name): np.asarray(values) for name, values in frame.items()}.__getitem__
            self.names = [str(name) for name in frame]
        else:
            import narwhals as nw

            try:
                wrapped = nw.from_native(frame, eager_only=True)
            except TypeError as error:
                raise TypeError(
                    f"a table must be a data frame, an Arrow table or a dict of columns, got "
                    f"{type(frame).__name__}"
                ) from error
            self.names = list(wrapped.columns)
            self._read = lambda name: wrapped.get_column(name).to_numpy()
        lengths = {name: len(self._read(name)) for name in self.names}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns differ in length: {lengths}")
        self.n_rows = next(iter(lengths.values()), 0)

    def column(self, name: str, role: str) -> np.ndarray:
        """One column as it is."""
        if name not in self.names:
            raise ValueError(
                f"{role} column {name!r} is not in the table; its columns are {self._listed()}. "
                "Check the spelling or add the column"
            )
        return np.asarray(self._read(name))

    def _listed(self) -> str:
        shown = ", ".join(map(repr, self.names[:12]))
        return f"{shown}, ... ({len(self.names)} in all)" if len(self.names) > 12 else shown

    def number(self, name: str, role: str) -> np.ndarray:
        """One column as floats; missing entries become NaN."""
        values = self.column(name, role)
        try:
            if values.dtype == object:
                values = np.array([np.nan if v is None else v for v in values])
            return values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{role} column {name!r} holds {values[:3].tolist()}, which are not numbers; recode it"
            ) from None

    def covariate(self, name: str, role: str) -> Covariate:
        """One column as numbers or, where it holds others, as categories."""
        try:
            return Covariate(self.number(name, role))
        except ValueError:
            if name not in self.names:
                raise
        found = self.labels(name, role)
        seen = {value for value in found if value is not None}
        if len(seen) > max(2, len(found) // 4):
            raise ValueError(
                f"{role} column {name!r} holds {len(seen)} labels in {len(found)} rows; nothing can "
                "be learnt about so many. Leave it out if it names subjects, or merge labels"
            )
        labels = tuple(sorted(seen, key=lambda value: (str(type(value)), value)))
        place = {label: position for position, label in enumerate(labels)}
        return Covariate(np.array([np.nan if v is None else place[v] for v in found], dtype=float), labels)

    def labels(self, name: str, role: str) -> np.ndarray:
        """One column of labels; missing entries become None, whole numbers become integers."""
        return plain_labels(self.column(name, role))


def plain_labels(values: Any) -> np.ndarray:
    """Labels as an object array of Python values."""
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(np.asarray(values).tolist()):
        if value is None or value != value or str(value) in ("<NA>", "NaT"):
            value = None
        elif isinstance(value, float) and value.is_integer():
            value = int(value)
        found[i] = value
    return found
