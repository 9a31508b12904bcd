"""The only door for data."""

from rlselect.data._checks import all_finite, nearest_names, unknown_column
from rlselect.data._coded import CodedFeatures, open_coded
from rlselect.data._encoder import TableEncoder
from rlselect.data._file import read_file
from rlselect.data._open import is_source, open_source
from rlselect.data._parts import PartTable
from rlselect.data._read import as_numbers
from rlselect.data._source import Batch, DataSource
from rlselect.data._table import Table, open_table, read_vectors

__all__ = [
    "Batch",
    "CodedFeatures",
    "DataSource",
    "PartTable",
    "Table",
    "TableEncoder",
    "all_finite",
    "as_numbers",
    "is_source",
    "nearest_names",
    "open_coded",
    "open_source",
    "open_table",
    "read_file",
    "read_vectors",
    "unknown_column",
]
