"""The only door for data."""

from rlselect.data._checks import nearest_names, unknown_column
from rlselect.data._encoder import TableEncoder
from rlselect.data._file import read_file
from rlselect.data._read import as_numbers
from rlselect.data._source import Batch, DataSource
from rlselect.data._table import Table, open_table

__all__ = [
    "Batch",
    "DataSource",
    "Table",
    "TableEncoder",
    "as_numbers",
    "nearest_names",
    "open_table",
    "read_file",
    "unknown_column",
]
