"""Columns of numbers that are names of categories, such as regions 1 to 16."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["CategoryColumns"]

_CATEGORY = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class CategoryColumns:
    """Makes categories of columns of numbers and of text; all others stay.

    Attributes
    ----------
    names : sequence of str
        The columns.

    Examples
    --------
    >>> table = pa.table({"region": [2, None, 16], "size": [1.5, 2.0, 0.5]})
    >>> CategoryColumns(["region"]).make(table)["region"].to_pylist()
    ['2', None, '16']
    """

    names: Sequence[str]

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Columns after the change."""
        return pa.schema([pa.field(f.name, self._kind(f.type)) if f.name in self.names else f for f in given])

    def needed(self, names: Sequence[str]) -> list[str]:
        """Columns that these are made of: themselves."""
        return list(names)

    def make(self, table: pa.Table) -> pa.Table:
        """The rows with categories in the place of numbers."""
        for k, name in enumerate(table.column_names):
            kind = table.column(k).type
            if name in self.names and self._kind(kind) != kind:
                table = table.set_column(k, name, _as_category(table.column(k)))
        return table

    @staticmethod
    def _kind(kind: pa.DataType) -> pa.DataType:
        types = pa.types
        numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        return _CATEGORY if numbers or types.is_string(kind) or types.is_large_string(kind) else kind


def _as_category(column: pa.ChunkedArray) -> pa.Array:
    """Text as it is, numbers as text: 2 and 2.0 are one name, whichever way a column was read."""
    whole = column.combine_chunks()
    if pa.types.is_string(whole.type) or pa.types.is_large_string(whole.type):
        return whole.cast(pa.string()).dictionary_encode()
    numbers = pc.cast(whole, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    given = ~np.isnan(numbers)
    values, codes = np.unique(numbers[given], return_inverse=True)
    places = np.zeros(len(numbers), dtype=np.int32)
    places[given] = codes
    levels = [str(int(v)) if v % 1 == 0 else str(v) for v in values.tolist()]
    return pa.DictionaryArray.from_arrays(pa.array(places, mask=~given), pa.array(levels, pa.string()))
