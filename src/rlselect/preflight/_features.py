"""What is seen in the columns: gaps, constants, repeats, ids, dates, codes for missing, twins."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlselect.data import USUAL_CELLS, names_rows
from rlselect.preflight._columns import ColumnFacts, common_marks, is_constant
from rlselect.preflight._findings import Finding, SeenRows, drop_flags, named
from rlselect.preflight._visits import find_visits
from rlselect.report import name_some

__all__ = ["STRAYS", "look_at_features"]

# numbers that people write for "missing"
_CODES = (-9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0)
_FEW_NUMBERS = 10
# levels of text that people write for "missing", in small letters
_MARKS = ("?", "-", "--", ".", "n/a", "n.a.", "na", "nan", "null", "missing", "unknown", "k.a.")
# cells of text among numbers, and how many different ones are named in a mend
STRAYS = "text among numbers"
_MOST_STRAYS = 12
# columns and rows whose correlations are looked at
_MOST_COLUMNS, _MOST_ROWS, _ALIKE = 500, 2000, 0.98


def look_at_features(look: SeenRows) -> Iterator[Finding]:
    """All that the columns show.

    Parameters
    ----------
    look : SeenRows
        The rows.
    """
    for check in (
        _none,
        _strays,
        _gaps,
        _empty,
        _dates,
        _marks,
        _others,
        _names,
        _copies,
        _codes,
        _marked,
        _class_like,
        _twins,
    ):
        yield from check(look)


def is_id(column: ColumnFacts, n_seen: int) -> bool:
    """Whether a column names rows: text of too many levels, or whole numbers that count."""
    if column.is_text:
        return column.kind == "text" and names_rows(column.n_distinct, n_seen)
    # some rows of a long table may be there twice
    few = n_seen if n_seen < 100 else 0.9 * n_seen
    if not column.is_whole or column.n_missing or column.n_distinct < few or n_seen < 20:
        return False
    steps = np.diff(np.unique(column.values))
    return bool(np.all(np.diff(column.values) > 0)) or bool(np.all(steps == 1))


def _none(look: SeenRows) -> Iterator[Finding]:
    if not look.columns and look.target is not None:
        yield Finding(
            "no columns",
            "problem",
            [],
            f"There is no column beside the target {look.target.name!r}, and nothing to select from.",
            "give columns that may explain it",
            "give columns that may explain it",
        )


def _strays(look: SeenRows) -> Iterator[Finding]:
    """Cells of text among numbers: a CSV file is refused for them, and other text is read as categories."""
    for column in [*look.columns, *([look.target] if look.target else [])]:
        if not column.strays:
            continue
        first = [f"{text!r} in data row {row + 1}" for text, row in list(column.strays.items())[:3]]
        more = column.n_strays - len(first)
        cells = f"{more} more {'cell' if more == 1 else 'cells'}"
        told = name_some(first) if not more else f"{', '.join(first)} and {cells}"
        texts = list(column.strays)[:_MOST_STRAYS]
        is_csv = column.kind == "spoilt number"
        flags = shlex.join(word for text in texts for word in ("--na", text))
        if look.cells is not None and look.cells.decimal != "." and USUAL_CELLS.is_number(texts[0]):
            flags = "leave out --decimal, or write these numbers with a comma"
        yield Finding(
            STRAYS,
            "problem" if is_csv else "warning",
            [column.name],
            f"{column.name!r} holds numbers but for {told}"
            + ("." if is_csv else ": all of it is read as categories."),
            f"correct them, or read them as missing: na_values of pandas for {texts!r}",
            flags if is_csv else "",
        )


def _gaps(look: SeenRows) -> Iterator[Finding]:
    found = [c for c in look.columns if 0 < c.n_missing < look.n_seen]
    if found:
        worst = max(found, key=lambda c: c.n_missing)
        names, share = [c.name for c in found], 100.0 * worst.n_missing / look.n_seen
        most = f"; most in {worst.name!r} ({share:.2g} % of the rows)"
        most = most if len(found) > 1 else f", in {share:.2g} % of the rows"
        yield Finding(
            "missing values",
            "problem",
            names,
            f"{len(found)} of {len(look.columns)} columns {_have(found)} gaps: {named(names)}{most}.",
            'missing="indicator" imputes and marks them, missing="drop" leaves their rows out',
            "--missing indicator, or --missing drop",
        )


def _empty(look: SeenRows) -> Iterator[Finding]:
    found = [c.name for c in look.columns if is_constant(c)]
    if found:
        yield Finding(
            "constants",
            "note",
            found,
            f"{named(found)} {_have(found)} one value only and cannot be selected.",
            f"leave out {named(found)}",
            drop_flags(found),
        )


def _dates(look: SeenRows) -> Iterator[Finding]:
    found = [c.name for c in look.columns if c.is_date]
    either = [c.name for c in look.columns if c.in_either_order]
    if found:
        yield Finding(
            "dates",
            "problem" if any(c.kind == "date" for c in look.columns) else "warning",
            found,
            f"{named(found)} {_have(found, 'holds', 'hold')} dates, which are no numbers and no categories."
            + (
                f" No cell of {named(either)} tells whether the day or the month stands first."
                if either
                else ""
            ),
            f"rlselect.expand_dates(X, {found[:5]!r}{', day_first=...' * bool(either)}) makes days, months "
            "and weekdays of them",
            f"--expand-dates{' with --day-first or --month-first' * bool(either)}, or {drop_flags(found)}",
        )


def _marks(look: SeenRows) -> Iterator[Finding]:
    columns = [*look.columns, *([look.target] if look.target else [])]
    marks = common_marks(columns)
    found = [c.name for c in columns if c.marks is not None]
    if marks is not None:
        # of a target that is read as text, nothing could be learnt
        target = look.target is not None and look.target.marks is not None
        kind = "units" if marks.units else "commas"
        yield Finding(
            f"numbers with {kind}",
            "problem" if target else "warning",
            found,
            f"{named(found)} {_have(found, 'holds', 'hold')} numbers with {kind} or other marks, which "
            "are read as text.",
            f"read the file with {marks.options}",
            shlex.join(marks.flags),
        )


def _others(look: SeenRows) -> Iterator[Finding]:
    found = [c.name for c in look.columns if c.kind == "other"]
    if found:
        yield Finding(
            "no table cells",
            "problem",
            found,
            f"{named(found)} {_have(found, 'holds', 'hold')} lists, bytes or other things that are neither "
            "numbers nor text.",
            f"leave out {named(found)}",
            drop_flags(found),
        )


def _names(look: SeenRows) -> Iterator[Finding]:
    # what tells subjects apart is an id of its own kind, and has a finding of its own
    visits = find_visits(look)
    subject = None if visits is None else visits.subject
    found = [c for c in look.columns if is_id(c, look.n_seen) and c.name != subject]
    if found:
        names = [c.name for c in found]
        free = [f"{c.name!r}: {c.n_distinct:,} levels" for c in found if c.is_text]
        more = f" ({name_some(free)})" if free else ""
        yield Finding(
            "ids and free text",
            "warning",
            names,
            f"{named(names)} {_have(names, 'names', 'name')} rows, not what they have in common{more}.",
            f"leave out {named(names)}",
            drop_flags(names),
        )


def _copies(look: SeenRows) -> Iterator[Finding]:
    first: dict[bytes, str] = {}
    same: dict[str, list[str]] = defaultdict(list)
    for column in look.columns:
        if is_constant(column):
            continue
        key = column.kind.encode() + np.ascontiguousarray(column.values).tobytes()
        if key in first:
            same[first[key]].append(column.name)
        else:
            first[key] = column.name
    if same:
        told = "; ".join(
            f"{named(others)} {_have(others, 'repeats', 'repeat')} {name!r}" for name, others in same.items()
        )
        names = [other for others in same.values() for other in others]
        yield Finding(
            "repeated columns",
            "note",
            names,
            f"{told}: nobody can tell which of them matters.",
            f"leave out {named(names)}",
            drop_flags(names),
        )


def _codes(look: SeenRows) -> Iterator[Finding]:
    found: dict[float, list[tuple[str, int]]] = defaultdict(list)
    for column in look.columns:
        if column.kind in ("number", "text number", "spoilt number") and column.n_distinct >= 5:
            for code, count in _codes_in(column):
                found[code].append((column.name, count))
    for code, places in found.items():
        names = [name for name, _ in places]
        rows = (
            f"{places[0][1]:,} rows" if len(places) == 1 else f"up to {max(k for _, k in places):,} rows each"
        )
        yield Finding(
            "codes for missing",
            "warning",
            names,
            f"{named(names)} {_have(names, 'is', 'are')} {code:g} in {rows}, far from all other values: that "
            "looks like a code for missing.",
            f"replace {code:g} by NaN and set missing",
            f"--na {code:g} --missing indicator",
        )


def _codes_in(column: ColumnFacts) -> Iterator[tuple[float, int]]:
    """Numbers that stand for missing values in a column, and in how many rows."""
    known = column.values[column.present]
    for code in _CODES:
        if code not in (known.min(), known.max()):
            continue
        count, rest = int((known == code).sum()), known[known != code]
        low, high = np.quantile(rest, [0.25, 0.75])
        gap = float(np.abs(rest - code).min())
        if count >= max(3, 0.005 * len(known)) and gap > 3.0 * max(high - low, 1e-12):
            yield code, count


def _marked(look: SeenRows) -> Iterator[Finding]:
    """Levels of text that look like a mark for missing, which a fit takes for one more category."""
    found: dict[str, list[str]] = defaultdict(list)
    for column in look.columns:
        if column.is_text and not is_id(column, look.n_seen):
            for level in column.levels:
                if level.strip().lower() in _MARKS:
                    found[level].append(column.name)
    if found:
        names = list(dict.fromkeys(name for places in found.values() for name in places))
        marks = [repr(mark) for mark in found]
        flags = shlex.join(word for mark in found for word in ("--na", mark))
        yield Finding(
            "categories that may mean missing",
            "note",
            names,
            f"{named(names)} {_have(names, 'has', 'have')} the {_have(marks, 'level', 'levels')} "
            f"{name_some(marks)}: a category of its own, or a mark for missing? It is taken as a category.",
            f"replace {name_some(marks)} by None where it means missing, and set missing",
            f"{flags} --missing indicator",
        )


def _class_like(look: SeenRows) -> Iterator[Finding]:
    found = [c.name for c in look.columns if c.is_whole and 3 <= c.n_distinct <= _FEW_NUMBERS]
    if found:
        yield Finding(
            "numbers that may be categories",
            "note",
            found,
            f"{named(found)} {_have(found, 'holds', 'hold')} a few whole numbers: amounts, or names of "
            "categories? They are taken as amounts.",
            "make them text where they are names",
            " ".join(f"--category {shlex.quote(name)}" for name in found[:5]) + " where they are names",
        )


def _twins(look: SeenRows) -> Iterator[Finding]:
    """Columns so alike that only together can one be sure of them."""
    numbers = [c for c in look.columns if c.kind == "number" and not is_constant(c)]
    if not 2 <= len(numbers) <= _MOST_COLUMNS:
        return
    rows = look.rows(_MOST_ROWS)
    values = np.stack([np.nan_to_num(c.values[rows], nan=float(np.nanmean(c.values))) for c in numbers])
    values = values - values.mean(axis=1, keepdims=True)
    size = np.sqrt((values**2).sum(axis=1))
    usable = np.isfinite(size) & (size > 0)
    numbers = [c for c, is_usable in zip(numbers, usable, strict=True) if is_usable]
    values = values[usable] / size[usable, None]
    close = np.argwhere(np.triu(np.abs(values @ values.T) > _ALIKE, 1))
    pairs = [
        (numbers[i].name, numbers[j].name)
        for i, j in close
        if not np.array_equal(numbers[i].values, numbers[j].values, equal_nan=True)
    ]
    if pairs:
        shown = ", ".join(f"{a!r} and {b!r}" for a, b in pairs[:3]) + (" ..." if len(pairs) > 3 else "")
        yield Finding(
            "stand-ins",
            "note",
            sorted({name for pair in pairs for name in pair}),
            f"{len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'} of columns correlate beyond {_ALIKE}: "
            f"{shown}. One of a pair will often be selected for both; the result says which stand in for "
            "one another.",
        )


def _have(names: Sequence[Any], one: str = "has", many: str = "have") -> str:
    return one if len(names) == 1 else many
