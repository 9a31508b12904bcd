"""What is learnt of a source before rows are drawn: its design, and whether its parts differ."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rlselect.data._clustering import clustering, column_moments
from rlselect.data._design import Design, leave_out_names
from rlselect.data._gaps import Gaps, scan_missing
from rlselect.data._parts import Parts, Pick
from rlselect.data._read import read_objects, read_table, read_vector
from rlselect.data._schemas import is_number

# parts that are looked at, in a few columns, before the first rows are drawn
PROBED = 16
_PROBE_COLUMNS = 3


def refuse_unreadable(parts: Parts, names: Sequence[str]) -> None:
    """Let an empty table with the schema go through the door: what is no number and no text is refused."""
    for name in names:
        kind = parts.schema.field(name).type
        if not is_number(kind):
            read_table(pa.table({name: pa.nulls(1, kind)}))


def spread_parts(parts: Parts, most: int) -> list[int]:
    """Parts spread evenly from the first to the last."""
    n = len(parts.lengths)
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist()


def learn_from_parts(parts: Parts, names: list[str], missing: str, looked: list[int], owner: str) -> Design:
    """Learn the design, one part in memory at a time."""
    text = [n for n in names if not is_number(parts.schema.field(n).type)]
    if not text and missing != "indicator":
        return Design(missing, np.array(names, dtype=object), len(names), {}, None, owner)
    wanted = names if missing == "indicator" else text
    distinct: dict[str, list[Any]] = {name: [] for name in text}
    seen, counts, sums = 0, np.zeros(len(names), dtype=np.int64), np.zeros(len(names))
    for part, table in zip(looked, parts.visit([Pick(g) for g in looked], wanted), strict=True):
        for name in text:
            distinct[name].append(_distinct(table.column(name)))
        if missing == "indicator":
            try:
                gaps = scan_missing(read_table(table), names)
            except ValueError as error:
                raise ValueError(f"{parts.where(part)}: {error}") from None
            counts += gaps.counts
            sums += gaps.means * (len(table) - gaps.counts)
        seen += len(table)
    levels = {names.index(n): read_objects(_together(v), n).levels for n, v in distinct.items()}
    declared = [names.index(n) for n in text if pa.types.is_dictionary(parts.schema.field(n).type)]
    left_out = leave_out_names(levels, declared, names, seen)
    gaps = Gaps(np.zeros(0, dtype=bool), counts, sums / np.maximum(seen - counts, 1))
    return Design(
        missing,
        np.array(names, dtype=object),
        len(names),
        levels,
        gaps if missing == "indicator" else None,
        owner,
        left_out,
    ).refuse_empty()


def _together(parts: list[Any]) -> np.ndarray:
    """Distinct texts of several parts, each once."""
    return pa.chunked_array(parts, pa.large_string()).unique().to_numpy(zero_copy_only=False)


def _distinct(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.unique().drop_null().cast(pa.large_string())


def probe_clustering(parts: Parts, names: list[str], roles: dict[str, str | None]) -> float:
    """Look at y and a few columns of several parts: do the rows of one part resemble each other?"""
    if len(parts.lengths) < 2:
        return 0.0
    numbers = [n for n in names if is_number(parts.schema.field(n).type)]
    some = np.unique(np.linspace(0, len(numbers) - 1, min(_PROBE_COLUMNS, len(numbers))).astype(int))
    wanted = [numbers[j] for j in some]
    target = roles["y"]
    looked = spread_parts(parts, PROBED)
    moments, classes = [], None
    read = [*wanted, *([target] if target else [])]
    for table in parts.visit([Pick(g) for g in looked], read):
        columns = [np.nan_to_num(np.asarray(read_vector(table.column(n), n), dtype=float)) for n in wanted]
        if target is not None:
            y = read_vector(table.column(target), "y")
            if y.dtype.kind == "O":
                classes = y[0] if classes is None else classes
                y = y == classes
            columns.append(np.nan_to_num(np.asarray(y, dtype=float), posinf=0.0, neginf=0.0))
        if columns:
            # columns that lie together are summed several times faster
            moments.append(column_moments(np.stack(columns).T))
    return clustering(moments) if moments else 0.0
