"""Whether the parts of a source have the same columns, and of what type a column without a value is.

Files, chunks and partitions are written one by one, and who writes a column in which nothing is known guesses
its type: none, numbers that are all NaN, or text. Such a column is missing there, whatever it is elsewhere.
"""

from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa

from rlselect.data._checks import nearest_names, refuse_repeated


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type is one design column; without a single value it might as well be."""
    types = pa.types
    tests = (types.is_floating, types.is_integer, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


def null_columns(schema: pa.Schema) -> list[str]:
    """Columns whose type says that they hold nothing."""
    return [field.name for field in schema if pa.types.is_null(field.type)]


def empty_columns(table: pa.Table) -> list[str]:
    """Columns without a single value, of whatever type."""
    columns = zip(table.column_names, table.columns, strict=True)
    return [name for name, column in columns if column.null_count == len(column)]


def untyped(schema: pa.Schema, empty: Collection[str]) -> pa.Schema:
    """The schema, where columns without a single value have no type."""
    if not empty:
        return schema
    nothing = set(empty)
    return pa.schema([pa.field(f.name, pa.null()) if f.name in nothing else f for f in schema])


def typed(schema: pa.Schema, first: pa.Schema) -> pa.Schema:
    """The schema, where columns that no part has a value of have the type that the first part gave them."""
    nothing = set(null_columns(schema))
    return pa.schema([first.field(f.name) if f.name in nothing else f for f in schema]) if nothing else schema


def merge_schemas(
    first: pa.Schema, other: pa.Schema, first_path: str, path: str, settled: dict[str, str]
) -> pa.Schema:
    """The columns of both, where a column without a single value in one has the type it has in the other.

    Other differences are refused. `settled` tells where such types came from.
    """
    if first.equals(other):
        return first
    known = set(first.names) - set(null_columns(first))
    for name in null_columns(first):
        if name in other.names and not pa.types.is_null(other.field(name).type):
            first = first.set(first.names.index(name), other.field(name))
            settled[name] = path
    for name in known.intersection(null_columns(other)):
        other = other.set(other.names.index(name), first.field(name))
    _same_columns(first, other, first_path, path, settled)
    return first


def with_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table, where its columns without a single value have the type that the schema gives them."""
    for name in schema.names:
        place = table.schema.get_field_index(name)
        if place < 0 or table.schema.field(place).type == schema.field(name).type:
            continue
        if table.column(place).null_count == len(table):
            table = table.set_column(place, name, pa.nulls(len(table), schema.field(name).type))
    return table


def _same_columns(
    first: pa.Schema, other: pa.Schema, first_path: str, path: str, settled: dict[str, str] | None = None
) -> None:
    """Refuse a file whose columns differ from those of the first one in name or in kind."""
    if first.equals(other):
        return
    absent = [n for n in first.names if n not in set(other.names)]
    extra = [n for n in other.names if n not in set(first.names)]
    if absent or extra:
        name, has, lacks = (absent[0], first_path, path) if absent else (extra[0], path, first_path)
        close = nearest_names(name, extra if absent else absent)
        hint = f" (but {close[0]!r})" if close else ""
        more = len(absent) + len(extra) - 1
        raise ValueError(
            f"{lacks!r} has no column {name!r}{hint}, which {has!r} has"
            + (f"; {more} more columns differ" if more else "")
            + ". All files must have the same columns: correct the file or leave it out."
        )
    refuse_repeated(other.names, path)
    for name in first.names:
        a, b = first.field(name).type, other.field(name).type
        if a != b and _kind(a) != _kind(b):
            first_seen = (settled or {}).get(name, first_path)
            raise ValueError(
                f"Column {name!r} holds {b} ({_kind(b)}) in {path!r}, but {a} ({_kind(a)}) in "
                f"{first_seen!r}. Each column must be of one kind in all files: correct the file or leave it "
                "out."
            )


def _kind(kind: Any) -> str:
    tests: list[tuple[Callable[[Any], bool], str]] = [
        (pa.types.is_null, "missing throughout"),
        (is_number, "numbers"),
        (pa.types.is_temporal, "dates or times"),
        (pa.types.is_dictionary, "text"),
        (pa.types.is_string, "text"),
        (pa.types.is_large_string, "text"),
        (pa.types.is_string_view, "text"),
    ]
    return next((name for test, name in tests if test(kind)), str(kind))
