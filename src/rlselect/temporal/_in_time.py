"""How many subjects a time budget has room for, where every visit counts at every time in its reach."""

import numpy as np

from rlselect._limits import seconds_for
from rlselect.data import Distinct, to_clock
from rlselect.temporal._formula import ModelRows
from rlselect.temporal._visits import Schedule, make_grid

# operations of looking from a time at a visit, of laying out a number of a visit in reach, and of solving for
# it, by the number of columns and what comes on top
_LOOKING, _LAYING, _SOLVING, _OVERHEAD = 6000.0, 1200.0, 100.0, 20
# visits that tell how many are in reach
_ASKED = 1000
# subjects, however short the time
_FEWEST = 100


def subjects_in_time(
    part: ModelRows, schedule: Schedule, subjects: Distinct, moments: Distinct, seconds: float | None
) -> tuple[ModelRows, Distinct]:
    """The rows of as many subjects, drawn at random, as there is time for, and these subjects.

    Rows of others have the position -1. Nothing is left out of what is not estimated locally: there a row
    counts once.
    """
    if seconds is None or schedule.nearness is None or _takes(part, schedule, moments) <= seconds:
        return part, subjects
    n = len(subjects.values)
    some = max(int(n * max(seconds, 0.0) / _takes(part, schedule, moments)), min(_FEWEST, n))
    # the same ones at every fit
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:some])
    places = np.full(n, -1, dtype=np.intp)
    places[chosen] = np.arange(some)
    kept = Distinct(places[subjects.positions], subjects.values[chosen])
    return part.only(kept.positions[part.rows] >= 0), kept


def _takes(part: ModelRows, schedule: Schedule, moments: Distinct) -> float:
    """About how many seconds the curves take from these rows."""
    assert schedule.nearness is not None
    clock, p = to_clock(make_grid(schedule, moments, 1)), len(part.names)
    asked = part.rows[:: max(1, len(part.rows) // _ASKED)]
    own = to_clock(moments.values)[moments.positions[asked]]
    reached = float(np.mean(schedule.nearness(clock[:, None] - own) > 0)) if len(own) else 0.0
    each = _LOOKING + reached * p * (_LAYING + _SOLVING * (p + _OVERHEAD))
    return seconds_for(each * len(clock) * len(part.rows))
