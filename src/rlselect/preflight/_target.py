"""What is seen in the target, and columns that give it away."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rlselect.data import class_like, common_value, lone_number
from rlselect.preflight._columns import ColumnFacts, is_constant
from rlselect.preflight._features import is_id
from rlselect.preflight._findings import Finding, SeenRows, drop_flags, named

__all__ = ["Outcome", "find_outcome", "look_at_target"]

Outcome = Literal["number", "two classes", "classes", "count"]
_MANY_CLASSES = 20
_RARE = 10
# rows for what looks at each column beside the target, and how little it may leave open
_MOST_ROWS, _GIVEN_AWAY = 5000, 0.995


def find_outcome(y: ColumnFacts) -> Outcome:
    """What the target is: numbers, classes, or counts.

    Parameters
    ----------
    y : ColumnFacts
        The target.
    """
    if y.is_text or y.kind == "truth" or y.n_distinct == 2:
        return "two classes" if y.n_distinct <= 2 else "classes"
    known = y.values[y.present]
    small = y.is_whole and known.min() == 0 and known.mean() < 50
    # counts lean to the right: a scale with its middle in the middle is none
    return "count" if small and known.mean() > np.median(known) else "number"


def look_at_target(look: SeenRows) -> Iterator[Finding]:
    """All that the target shows.

    Parameters
    ----------
    look : SeenRows
        The rows.
    """
    y = look.target
    if y is None:
        return
    if y.n_missing:
        yield Finding(
            "missing target",
            "problem",
            [y.name],
            f"The target {y.name!r} is missing in {y.n_missing:,} of {look.n_seen:,} rows.",
            "leave these rows out"
            + (" of X and y" if look.apart else f", X.dropna(subset=[{y.name!r}]) in pandas"),
            "--drop-missing-target",
        )
    if y.is_date or y.kind in ("other", "empty"):
        yield Finding(
            "no target",
            "problem",
            [y.name],
            f"The target {y.name!r} holds {'dates' if y.is_date else 'neither numbers nor text'}.",
            "make numbers of it",
            "name another --target",
        )
        return
    if y.n_distinct < 2:
        yield Finding(
            "constant target",
            "problem",
            [y.name],
            f"The target {y.name!r} has one value only: nothing explains it.",
        )
        return
    yield from _classes(y, look.n_seen)
    leaks = [c.name for c in look.columns if _gives_away(c, y, look)]
    if leaks:
        yield Finding(
            "leaks",
            "warning",
            leaks,
            f"{named(leaks)} {'tells' if len(leaks) == 1 else 'tell'} {y.name!r} nearly without error: is "
            "that known before the target is?",
            f"leave out {named(leaks)} if it is not",
            drop_flags(leaks),
        )
    telling = [c.name for c in look.columns if c.name not in leaks and _gaps_give_away(c, y, look)]
    if telling:
        yield Finding(
            "telling gaps",
            "warning",
            telling,
            f"Whether {named(telling)} {'is' if len(telling) == 1 else 'are'} missing tells {y.name!r} "
            "nearly without error: is that known before the target is?",
            f"leave out {named(telling)} if it is not",
            drop_flags(telling),
        )


def _classes(y: ColumnFacts, n_seen: int) -> Iterator[Finding]:
    outcome = find_outcome(y)
    known = y.values[y.present]
    if class_like(y.n_distinct, y.is_whole):
        yield Finding(
            "target: amounts or classes",
            "note",
            [y.name],
            f"The target {y.name!r} holds {y.n_distinct} whole numbers: amounts, or names of classes?",
            "make it text where they are classes",
            "--family says what it is",
        )
    elif outcome == "number" and (common := common_value(known)) is not None:
        value, share = common
        yield Finding(
            "target: one number in most rows",
            "warning",
            [y.name],
            f"In {share:.0%} of the rows the target {y.name!r} is {value:g}: one model of these rows and the "
            "others says little of either.",
            f"ask apart whether it is {value:g}, and how large it is elsewhere",
            f"two targets instead of {y.name!r}: whether it is {value:g}, and how large it is in other rows",
        )
    if outcome not in ("classes", "two classes"):
        yield from _one_row(y, known)
        return
    counts = np.unique(known, return_counts=True)[1]
    if y.n_distinct > _MANY_CLASSES and y.n_distinct * 5 > n_seen:
        yield Finding(
            "target: too many classes",
            "problem",
            [y.name],
            f"The target {y.name!r} has {y.n_distinct:,} classes in {n_seen:,} rows: it names rows.",
            "choose another target",
            "choose another --target",
        )
    elif counts.min() < _RARE:
        rare = int((counts < _RARE).sum())
        yield Finding(
            "rare classes",
            "warning",
            [y.name],
            f"{rare} of {len(counts)} classes of {y.name!r} {'has' if rare == 1 else 'have'} fewer than "
            f"{_RARE} rows (the rarest {int(counts.min())}): nothing sure can be said of "
            f"{'it' if rare == 1 else 'them'}.",
            "merge rare classes, or leave them out",
        )


def _one_row(y: ColumnFacts, known: NDArray) -> Iterator[Finding]:
    lone = lone_number(known)
    if lone is not None:
        number, share = lone
        yield Finding(
            "target: one row",
            "warning",
            [y.name],
            f"One row alone, where the target {y.name!r} is {number:.6g}, has {share:.0%} of all squared "
            "deviations from the mean: what it has by chance may be selected, or hide what others show.",
            "correct it if it is wrong, or explain the logarithm",
            "correct it if it is wrong, or make a column of the logarithm",
        )


def _gives_away(column: ColumnFacts, y: ColumnFacts, look: SeenRows) -> bool:
    """Whether a column alone tells the target."""
    if is_constant(column) or is_id(column, look.n_seen) or column.kind == "other" or look.n_seen < 20:
        return False
    rows = look.rows(_MOST_ROWS)
    both = column.present[rows] & y.present[rows]
    x, t = column.values[rows][both], y.values[rows][both]
    if len(x) < 20 or len(np.unique(t)) < 2 or len(np.unique(x)) < 2:
        return False
    outcome = find_outcome(y)
    if outcome in ("classes", "two classes"):
        return _tells_classes(x, t, column.is_text)
    if column.is_text:
        return _explained(x, t) > _GIVEN_AWAY and len(np.unique(x)) <= len(x) // 5
    return abs(float(np.corrcoef(rankdata(x), rankdata(t))[0, 1])) > _GIVEN_AWAY


def _gaps_give_away(column: ColumnFacts, y: ColumnFacts, look: SeenRows) -> bool:
    """Whether it tells the target in which rows a column is missing, as a date of what has happened does."""
    rows = look.rows(_MOST_ROWS)
    known = y.present[rows]
    given, t = column.present[rows][known], y.values[rows][known]
    if min(given.sum(), (~given).sum()) < 10 or len(np.unique(t)) < 2:
        return False
    if find_outcome(y) in ("classes", "two classes"):
        return _tells_classes(given.astype(float), t, names=True)
    return _explained(given, t) > _GIVEN_AWAY


def _tells_classes(x: NDArray, t: NDArray, names: bool) -> bool:
    most = float(np.unique(t, return_counts=True)[1].max()) / len(t)
    if most > 0.98:
        return False
    if names or len(np.unique(x)) <= len(x) // 10:
        values, codes = np.unique(x, return_inverse=True)
        if len(values) > len(x) // 5:
            return False
        classes, known = np.unique(t, return_inverse=True)
        table = np.zeros((len(values), len(classes)))
        np.add.at(table, (codes, known), 1.0)
        right = float(table.max(axis=1).sum()) / len(t)
    else:
        # along its order the class changes as seldom as it can
        changes = int(np.count_nonzero(np.diff(t[np.argsort(x, kind="stable")])))
        right = 1.0 - max(changes - (len(np.unique(t)) - 1), 0) / len(t)
    return bool(1.0 - right <= (1.0 - _GIVEN_AWAY) * 2.0 * (1.0 - most))


def _explained(x: NDArray, t: NDArray) -> float:
    codes = np.unique(x, return_inverse=True)[1]
    counts = np.bincount(codes)
    means = np.bincount(codes, t) / counts
    return float(counts @ (means - t.mean()) ** 2 / max(float(np.sum((t - t.mean()) ** 2)), 1e-300))
