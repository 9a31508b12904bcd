"""Columns of a source that is too large to be loaded, each read when it is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa

from rlselect.data._parts import Parts, all_parts


class PartColumns(Mapping[str, Any]):
    """Name -> column, read from all parts anew at every look; what was read is not kept.

    Parameters
    ----------
    parts : Parts
        Of which single columns can be read alone.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.n_rows = int(parts.lengths.sum())

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return nw.from_native(pa.concat_tables(self.tables([name])).column(0), series_only=True)

    def __contains__(self, name: object) -> bool:
        # without it a look would read the column
        return name in self._parts.schema.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts.schema.names)

    def __len__(self) -> int:
        return len(self._parts.schema.names)

    def tables(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of one part after the other."""
        return self._parts.visit(all_parts(self._parts), names)
