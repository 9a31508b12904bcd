"""What is seen in the rows: repeats, an order that matters, subjects that come again."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import rankdata

from rlselect.preflight._findings import Finding, SeenRows
from rlselect.preflight._visits import find_visits

__all__ = ["look_at_rows"]

# neighbours so alike in y are no chance, and matter
_ALIKE, _ERRORS = 0.2, 4.0
_CLASSES = 20


def look_at_rows(look: SeenRows) -> Iterator[Finding]:
    """All that the rows show.

    Parameters
    ----------
    look : SeenRows
        The rows.
    """
    yield from _repeated(look)
    visits = find_visits(look)
    if visits is not None:
        when = f", at times that {visits.time!r} tells" if visits.time else ""
        time = repr(visits.time) if visits.time else "..."
        yield Finding(
            "repeated measures",
            "warning",
            [name for name in (visits.subject, visits.time) if name],
            f"{visits.subject!r} tells {visits.n_subjects:,} subjects apart, which come several times each"
            f"{when}: their rows are not independent.",
            f"TemporalProcessRegression(formula).fit(X, id={visits.subject!r}, time={time})",
            f"rlselect effects DATA --formula ... --id {visits.subject} --time {visits.time or '...'}",
        )
    elif look.neighbours:
        yield from _in_order(look)


def _repeated(look: SeenRows) -> Iterator[Finding]:
    columns = [*look.columns, *([look.target] if look.target else [])]
    if not any(c.n_distinct > 0.1 * look.n_seen for c in columns):
        return  # where all columns have few values rows repeat by chance
    rows = np.stack([c.values for c in columns], axis=1)
    distinct = len({row.tobytes() for row in np.ascontiguousarray(rows + 0.0)})
    again = look.n_seen - distinct
    if again > max(1, 0.01 * look.n_seen):
        yield Finding(
            "repeated rows",
            "warning",
            [],
            f"{again:,} of {look.n_seen:,} rows repeat another one in every column: were they copied?",
            "leave the copies out, or count them once with sample_weight",
            "leave the copies out",
        )


def _in_order(look: SeenRows) -> Iterator[Finding]:
    y = look.target
    if y is None or y.n_distinct < 2 or look.n_seen < 50:
        return
    values = y.values[y.present]
    changes = int(np.count_nonzero(np.diff(values)))
    if y.is_text and y.n_distinct > 2:
        values = (values == np.bincount(values.astype(int)).argmax()).astype(float)
    ranks = rankdata(values)
    ranks -= ranks.mean()
    spread = float(ranks @ ranks)
    place = np.arange(len(ranks)) - 0.5 * (len(ranks) - 1)
    trend = float(ranks @ place) / np.sqrt(spread * float(place @ place))
    follow = float(ranks[1:] @ ranks[:-1]) / spread
    if abs(trend) > 0.9 or (y.n_distinct <= _CLASSES and changes <= 2 * (y.n_distinct - 1)):
        yield Finding(
            "sorted rows",
            "warning",
            [y.name],
            f"The rows are sorted by {y.name!r}: never split them in their order.",
            "rows are drawn at random here; shuffle them for other tools",
        )
    elif follow > max(_ALIKE, _ERRORS / np.sqrt(len(ranks))):
        yield Finding(
            "rows that follow each other",
            "warning",
            [y.name],
            f"{y.name!r} resembles itself from row to row (correlation {follow:.2f}): rows in order of time, "
            "or groups of rows that belong together, count as fewer than they are.",
            "name the groups or the time, and do not trust probabilities near one",
        )
