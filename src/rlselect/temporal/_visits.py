"""Visits as they come: which of a subject's rows count at which time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlselect.data import Distinct, read_dates, refuse_repeated_pairs, to_clock

Array = NDArray[np.float64]
Places = NDArray[np.intp]
# far more times than visits tell apart
_MOST_TIMES = 100_000
# times that a sentence names
_NAMED = 5
# share of the gaps between a subject's rows that are shorter than a long one
_LONG = 0.9

Visits: TypeAlias = Literal["exact", "carry", "bin", "local"]
Several: TypeAlias = Literal["mean", "first", "last", "nearest"]
VISITS, SEVERAL = get_args(Visits), get_args(Several)
# Grid of times or edges of bins, or how many of them
Grid: TypeAlias = ArrayLike | int | None


@dataclass(frozen=True)
class Schedule:
    """How visits meet times.

    Attributes
    ----------
    visits : see `TemporalProcessRegression`
    grid : times (edges of bins), how many of them, or None
    several : what several visits in one bin become
    nearness, width : kernel of the distance between a visit and a time, for local estimation, and the unit of
        distances
    """

    visits: Visits = "exact"
    grid: Grid = None
    several: Several = "mean"
    nearness: Callable[[Array], Array] | None = None
    width: float = 1.0


@dataclass(frozen=True)
class PlacedRows:
    """Where rows go: a time and a unit (a subject, or in local estimation one of its visits).

    Attributes
    ----------
    time, unit : arrays of shape (places,), positions
    row : array of shape (places,), position among the complete rows; a row may be placed several times
    weight : array of shape (places,)
    times, clock : the times, as given and as numbers
    owner : array of shape (units,), the subject of each unit; None where units are subjects
    share : array of shape (places,), what a row counts in the mean of those at its place; None where each
        has a place of its own
    seen : period, subject and row of the last row that a subject has in a period. Periods are times, or,
        where everyone has times of their own, numbers of a subject's rows; None where these are the places
    when : array of shape (rows seen,), their times where periods are numbers of rows; None where not
    period : array of shape (places,), how many rows of its subject were behind a place, where periods are
        numbers of rows; None where not
    told : array of shape (rows seen,), whether a next row would lie before the last time, so that its absence
        tells that a subject has left; None where times are shared, and the last one tells
    distance : array of shape (places,), how far after its time a visit is, in widths of the window; None
        where visits are not local
    """

    time: Places
    unit: Places
    row: Places
    weight: Array
    times: NDArray[Any]
    clock: Array
    owner: Places | None = None
    share: Array | None = None
    seen: tuple[Places, Places, Places] | None = None
    when: Array | None = None
    period: Places | None = None
    told: NDArray[np.bool_] | None = None
    distance: Array | None = None
    ends: tuple[float, float] | None = None

    def weights(self, shape: tuple[int, int]) -> Array:
        """Weights at their places, (times, units)."""
        out = np.zeros(shape)
        np.add.at(out, (self.time, self.unit), self.weight)
        return out

    def put(self, values: Array, out: Array, stretch: slice) -> None:
        """Place the values of a stretch of the complete rows into zeros of shape (times, units)."""
        mine = self._places_of(stretch)
        at, values = (self.time[mine], self.unit[mine]), values[self.row[mine] - stretch.start]
        if self.share is None:
            out[at] = values
        else:
            np.add.at(out, at, self.share[mine] * values)

    def _places_of(self, stretch: slice) -> slice | Places:
        if self._order is None:
            return slice(*np.searchsorted(self.row, (stretch.start, stretch.stop)))
        ends = np.searchsorted(self.row[self._order], (stretch.start, stretch.stop))
        return self._order[slice(*ends)]

    @cached_property
    def _order(self) -> Places | None:
        """Places by row; None where they are in this order."""
        return None if (np.diff(self.row) >= 0).all() else np.argsort(self.row, kind="stable")


def time_label(time: Any) -> int | float | str:
    """A time as a number, or as a date without more digits than it needs."""
    if isinstance(time, np.datetime64):
        return str(np.datetime_as_string(time, unit="auto"))
    if isinstance(time, np.timedelta64):
        return f"{to_clock(time):g} days"
    return time.item()


def name_times(times: NDArray[Any]) -> str:
    """The first of some times, and how many more there are.

    Examples
    --------
    >>> name_times(np.arange(3)), name_times(np.arange(100))
    ('0, 1, 2', '0, 1, 2, 3, 4 and 95 more')
    """
    shown = ", ".join(str(time_label(t)) for t in times[:_NAMED])
    return shown if len(times) <= _NAMED else f"{shown} and {len(times) - _NAMED} more"


def place_rows(
    schedule: Schedule,
    rows: Places,
    weight: Array,
    subjects: Distinct,
    moments: Distinct,
) -> PlacedRows:
    """Place the complete rows; `rows` are their positions among all rows of the data."""
    if schedule.visits == "exact":
        if schedule.grid is not None:
            raise ValueError("grid was given; visits='exact' takes the times of the data: leave grid out.")
        refuse_repeated_pairs(subjects, moments, rows, "time")
        time, unit = moments.positions[rows], subjects.positions[rows]
        every = np.arange(len(rows))
        return PlacedRows(time, unit, every, weight, moments.values, to_clock(moments.values))
    place = {"carry": _carried, "bin": _binned, "local": _local}[schedule.visits]
    return place(schedule, rows, weight, subjects, moments)


def make_grid(schedule: Schedule, moments: Distinct, least: int) -> NDArray[Any]:
    """The grid in the kind of the data's times."""
    given, times = schedule.grid, moments.values
    if given is None:
        raise ValueError(
            f"visits={schedule.visits!r} needs a grid: times (edges of bins for 'bin'), or how many of them."
        )
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not least <= given <= _MOST_TIMES:
            raise ValueError(f"grid={given!r} was given; it must be from {least} to {_MOST_TIMES:,}.")
        share = np.linspace(0.0, 1.0, int(given) + (schedule.visits == "bin"))
        return np.asarray(times[0] + (times[-1] - times[0]) * share)
    grid = np.asarray(given)
    # moments of a time zone, or dates of the standard library
    dates = read_dates(grid) if grid.dtype == object else None
    grid = grid if dates is None else dates
    if grid.dtype.kind not in "iufmM":
        # dates as text
        try:
            grid = grid.astype(times.dtype)
        except (TypeError, ValueError):
            raise ValueError(
                f"grid={given!r} was given; it must be {least} or more increasing times such as "
                f"{times[0]!s}, or how many of them."
            ) from None
    clock = to_clock(grid)
    if grid.ndim != 1 or len(grid) < least or not np.isfinite(clock).all() or (np.diff(clock) <= 0).any():
        raise ValueError(f"grid must be {least} or more increasing times, or how many of them.")
    if (grid.dtype.kind in "mM") != (times.dtype.kind in "mM"):
        raise ValueError("grid and the times of the data must both be numbers, or both be dates.")
    return grid


def _carried(
    schedule: Schedule, rows: Places, weight: Array, subjects: Distinct, moments: Distinct
) -> PlacedRows:
    """Jump processes: a row holds until the subject's next one, and none before the first or after the last.

    A row that is not complete or not available ends what was carried, until the next complete one.
    """
    refuse_repeated_pairs(subjects, moments, np.arange(len(subjects.positions)), "time")
    grid = moments.values if schedule.grid is None else make_grid(schedule, moments, 1)
    clock, own = to_clock(grid), to_clock(moments.values)[moments.positions]
    complete = np.full(len(own), -1, dtype=np.intp)
    complete[rows] = np.arange(len(rows))
    order = np.lexsort((own, subjects.positions))
    ends = np.searchsorted(subjects.positions[order], np.arange(len(subjects.values) + 1))
    found: list[tuple[Places, Places, Places]] = []
    for who in range(len(subjects.values)):
        mine = order[ends[who] : ends[who + 1]]
        last = np.searchsorted(own[mine], clock, side="right") - 1
        at = np.flatnonzero((last >= 0) & (clock <= own[mine[-1]])) if len(mine) else np.zeros(0, np.intp)
        row = complete[mine[last[at]]]
        at, row = at[row >= 0], row[row >= 0]
        found.append((at, np.full(len(at), who), row))
    time, unit, row = (np.concatenate(parts) for parts in zip(*found, strict=True))
    when, whose = own[rows], subjects.positions[rows]
    number = _numbered(when, whose)
    # who is there between two rows has come back after the first of them
    last = np.zeros(len(subjects.values), dtype=np.intp)
    np.maximum.at(last, whose, number)
    period = np.minimum(number[row] + (clock[time] > when[row]), last[unit])
    return PlacedRows(
        time,
        unit,
        row,
        weight[row],
        grid,
        clock,
        seen=(number, whose, np.arange(len(rows))),
        when=when,
        period=period,
        told=_told(when, whose, when.max(initial=clock[-1])),
    )


def _binned(
    schedule: Schedule, rows: Places, weight: Array, subjects: Distinct, moments: Distinct
) -> PlacedRows:
    """One row per subject and bin, by the rule for several; bins hold their left edge, the last one both."""
    edges = make_grid(schedule, moments, 1 if isinstance(schedule.grid, int) else 2)
    middle = edges[:-1] + (edges[1:] - edges[:-1]) / 2
    clock, sides = to_clock(middle), to_clock(edges)
    own = to_clock(moments.values)[moments.positions[rows]]
    row = np.flatnonzero((own >= sides[0]) & (own <= sides[-1]))
    own, weight, unit = own[row], weight[row], subjects.positions[rows][row]
    time = np.minimum(np.searchsorted(sides, own, side="right") - 1, len(middle) - 1)
    pair = time * len(subjects.values) + unit
    last = _last_of_each(time, unit, own)
    every = PlacedRows(
        time,
        unit,
        row,
        weight,
        middle,
        clock,
        seen=(time[last], unit[last], row[last]),
        told=_told(own, unit, sides[-1])[last],
        ends=(float(sides[0]), float(sides[-1])),
    )
    if schedule.several == "mean":
        _, cell, counts = np.unique(pair, return_inverse=True, return_counts=True)
        share = weight / np.bincount(cell, weights=weight)[cell]
        return replace(every, weight=weight / counts[cell], share=share)
    rank = {"first": own, "last": -own, "nearest": np.abs(own - clock[time])}[schedule.several]
    order = np.lexsort((rank, pair))
    one = order[np.unique(pair[order], return_index=True)[1]]
    return replace(every, time=time[one], unit=unit[one], row=row[one], weight=weight[one])


def _local(
    schedule: Schedule, rows: Places, weight: Array, subjects: Distinct, moments: Distinct
) -> PlacedRows:
    """Every row at every grid time in reach, weighted by its nearness; units are visits of subjects."""
    assert schedule.nearness is not None
    refuse_repeated_pairs(subjects, moments, rows, "time")
    grid = make_grid(schedule, moments, 1)
    clock, own = to_clock(grid), to_clock(moments.values)[moments.positions[rows]]
    near = schedule.nearness(clock[:, None] - own[None, :])
    who = subjects.positions[rows]
    # visits in reach of one time, numbered within their subject: as many units as the most of any subject
    time, row = np.nonzero(near > 1e-6 * near.max(initial=0.0))
    order = np.lexsort((own[row], who[row], time))
    time, row = time[order], row[order]
    pair = time * len(subjects.values) + who[row]
    first = np.unique(pair, return_index=True, return_inverse=True)
    slot = np.arange(len(pair)) - first[1][first[2]]
    most = int(slot.max(initial=0)) + 1
    unit = who[row] * most + slot
    owner = np.repeat(np.arange(len(subjects.values)), most)
    number = _numbered(own, who)
    return PlacedRows(
        time,
        unit,
        row,
        weight[row] * near[time, row],
        grid,
        clock,
        owner,
        seen=(number, who, np.arange(len(rows))),
        when=own,
        period=number[row],
        told=_told(own, who, own.max(initial=clock[-1])),
        distance=(own[row] - clock[time]) / schedule.width,
    )


def _last_of_each(period: Places, who: Places, own: Array) -> Places:
    """Positions of the last row of each subject in each period."""
    order = np.lexsort((own, who, period))
    ends = np.flatnonzero(np.diff(period[order]) | np.diff(who[order]))
    return order[np.append(ends, len(order) - 1)] if len(order) else order


def _numbered(own: Array, who: Places) -> Places:
    """Which row of its subject each row is, from 0 on."""
    order = np.lexsort((own, who))
    starts = np.flatnonzero(np.diff(who[order], prepend=-1))
    out = np.empty(len(who), dtype=np.intp)
    out[order] = np.arange(len(who)) - np.repeat(starts, np.diff(np.append(starts, len(who))))
    return out


def _told(own: Array, who: Places, end: float) -> NDArray[np.bool_]:
    """Whether a subject's next row, even after a long gap, would lie before the end."""
    order = np.lexsort((own, who))
    gaps = np.diff(own[order])[np.diff(who[order]) == 0]
    told = own + (float(np.quantile(gaps, _LONG)) if len(gaps) else 0.0) <= end
    return told if told.any() else np.ones(len(own), dtype=bool)


def only_used(placed: PlacedRows) -> PlacedRows:
    """Without units that no row has, so that blocks are not wider than needed; subjects always stay."""
    if placed.owner is None:
        return placed
    used, unit = np.unique(placed.unit, return_inverse=True)
    return replace(placed, unit=unit, owner=placed.owner[used])
