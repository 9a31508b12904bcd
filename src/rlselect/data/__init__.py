"""The only door for data."""

from rlselect.data._category_columns import CategoryColumns
from rlselect.data._category_order import category_order
from rlselect.data._changed import ColumnMaker, leave_out_gaps, make_columns
from rlselect.data._checks import (
    MISSING_MODES,
    MissingMode,
    all_finite,
    name_of,
    nearest_names,
    require_rows,
    require_target,
    unknown_column,
)
from rlselect.data._coded import CodedFeatures, open_coded
from rlselect.data._columns import (
    Columns,
    Covariate,
    Distinct,
    read_dates,
    read_labels,
    refuse_repeated_pairs,
    to_clock,
)
from rlselect.data._design import names_rows
from rlselect.data._encoder import TableEncoder
from rlselect.data._file import USUAL_CELLS, CsvCells, is_stray, read_file
from rlselect.data._groups import FeatureGroups, read_features, read_groups
from rlselect.data._open import (
    SMALL_CSV,
    is_source,
    load_source,
    open_once,
    open_source,
    open_stream,
    open_table,
    read_columns,
)
from rlselect.data._opened import Opened
from rlselect.data._pairs import ColumnPairs, PairTable
from rlselect.data._paths import kind_of
from rlselect.data._read import as_numbers, check_pointers
from rlselect.data._responses import (
    NumberResponses,
    Responses,
    number_responses,
    open_responses,
    read_responses,
)
from rlselect.data._some_rows import SomeRows, some_rows
from rlselect.data._source import Batch, DataSource, RowStream, Sampler, Workers
from rlselect.data._table import Table, read_vectors
from rlselect.data._task import (
    TASKS,
    Task,
    class_like,
    common_value,
    doubtful_classes,
    find_task,
    lone_number,
    read_classes,
    read_numbers_or_classes,
    read_task,
    spread_rows,
)
from rlselect.data._twins import find_twins, selectable_units
from rlselect.data._units import FeatureUnits, Units, read_units
from rlselect.data._written import NumberMarks, find_marks, say_comma

__all__ = [
    "MISSING_MODES",
    "SMALL_CSV",
    "TASKS",
    "USUAL_CELLS",
    "Batch",
    "CategoryColumns",
    "CodedFeatures",
    "ColumnMaker",
    "ColumnPairs",
    "Columns",
    "Covariate",
    "CsvCells",
    "DataSource",
    "Distinct",
    "FeatureGroups",
    "FeatureUnits",
    "MissingMode",
    "NumberMarks",
    "NumberResponses",
    "Opened",
    "PairTable",
    "Responses",
    "RowStream",
    "Sampler",
    "SomeRows",
    "Table",
    "TableEncoder",
    "Task",
    "Units",
    "Workers",
    "all_finite",
    "as_numbers",
    "category_order",
    "check_pointers",
    "class_like",
    "common_value",
    "doubtful_classes",
    "find_marks",
    "find_task",
    "find_twins",
    "is_source",
    "is_stray",
    "kind_of",
    "leave_out_gaps",
    "load_source",
    "lone_number",
    "make_columns",
    "name_of",
    "names_rows",
    "nearest_names",
    "number_responses",
    "open_coded",
    "open_once",
    "open_responses",
    "open_source",
    "open_stream",
    "open_table",
    "read_classes",
    "read_columns",
    "read_dates",
    "read_features",
    "read_file",
    "read_groups",
    "read_labels",
    "read_numbers_or_classes",
    "read_responses",
    "read_task",
    "read_units",
    "read_vectors",
    "refuse_repeated_pairs",
    "require_rows",
    "require_target",
    "say_comma",
    "selectable_units",
    "some_rows",
    "spread_rows",
    "to_clock",
    "unknown_column",
]
