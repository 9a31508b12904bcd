"""Units that stand in for one another: sets of which one is almost surely in the model."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect.subset.revs._found import Found
from rlselect.subset.revs._problem import Problem
from rlselect.subset.revs.evidence import standardise

# that one of the set is in, and the least correlation between any two of them: as users of SuSiE know it
_LEVEL = 0.95
_ALIKE = 0.5
# a unit that stands in for a set is less often there beside it
_MOSTLY = 0.5
# what a unit must at least add to the set, and have alone to be looked at
_ADDED = 0.002
_SEEN = 0.005
# further subsets are too light to make a set
_MOST = 1000


class UnitGroup(NamedTuple):
    """Units, the probability that one of them is in, and the least correlation of two of them."""

    units: list[int]
    inclusion: float
    correlation: float


def credible_groups(problem: Problem, found: Found) -> list[UnitGroup]:
    """Sets of units of which one is in the model with probability .95 or more, the surest first.

    A unit that is sure alone is a set of one. The others start from the most probable one and take in, as
    long as the set is not sure, what is most often there when none of the set is, among units that are
    correlated with all of the set and, where they are there, mostly without it and less often beside it than
    by chance: of units that are in the model together none stands in for the other. Exact copies belong to
    the set of the one that represents them.
    """
    sure = np.flatnonzero((found.inclusion >= _LEVEL) & (problem.allowed | problem.always))
    groups = [UnitGroup([int(u)], float(found.inclusion[u]), 1.0) for u in sure]
    if found.visited is not None:
        groups += _stand_ins(problem, found, sure)
    copies = np.flatnonzero(problem.twin_of != np.arange(len(problem.twin_of)))
    groups = [g._replace(units=_with_copies(g.units, copies, problem.twin_of)) for g in groups]
    return sorted(groups, key=lambda group: -group.inclusion)


def name_groups(problem: Problem, groups: list[UnitGroup]) -> list[dict[str, Any]]:
    """The same with names: features of a unit that has several are one member."""
    names, unit_of = problem.table.encoder.feature_names, problem.groups.unit_of_feature
    columns, units = problem.table.columns, problem.units
    named = {
        # a product is no feature: it has the name of its column
        u: " + ".join(names[f] for f in np.flatnonzero(unit_of == u)) or columns[units.columns[u][0]]
        for g in groups
        for u in g.units
    }
    return [
        {
            "features": [named[u] for u in group.units],
            "inclusion": group.inclusion,
            "correlation": group.correlation,
        }
        for group in groups
    ]


def _with_copies(units: list[int], copies: NDArray[np.intp], twin_of: NDArray[np.intp]) -> list[int]:
    return [*units, *(int(c) for c in copies if twin_of[c] in units)]


def _stand_ins(problem: Problem, found: Found, sure: NDArray[np.intp]) -> Iterable[UnitGroup]:
    assert found.visited is not None
    visited = found.visited.heaviest(_MOST)
    open_units = problem.allowed & (found.inclusion >= _SEEN)
    open_units[sure] = False
    units = np.flatnonzero(open_units)
    units = units[np.argsort(-found.inclusion[units], kind="stable")]
    if len(units) < 2:
        return
    place = np.full(len(problem.twin_of), -1)
    place[units] = np.arange(len(units))
    inside = np.zeros((len(visited.subsets), len(units)), dtype=bool)
    for i, subset in enumerate(visited.subsets):
        here = place[subset]
        inside[i, here[here >= 0]] = True
    likeness = _likeness(problem, found, units)
    weights, free = visited.weights, np.ones(len(units), dtype=bool)
    share = weights @ inside
    for first in range(len(units)):
        if not free[first]:
            continue
        members, covered = [first], inside[:, first].copy()
        alike = free & (likeness[first] >= _ALIKE)
        alike[first] = False
        while (total := float(weights @ covered)) < _LEVEL:
            beside = weights @ (inside & covered[:, None])
            added = np.where(alike & (beside < share * min(total, _MOSTLY)), share - beside, 0.0)
            best = int(np.argmax(added))
            if added[best] < _ADDED:
                break
            members.append(best)
            covered |= inside[:, best]
            alike &= likeness[best] >= _ALIKE
            alike[best] = False
        # one alone is judged by its probability, which knows more than the visits
        if total >= _LEVEL and len(members) > 1:
            free[members] = False
            least = likeness[np.ix_(members, members)].min()
            yield UnitGroup([int(units[m]) for m in members], min(total, 1.0), float(least))


def _likeness(problem: Problem, found: Found, units: NDArray[np.intp]) -> NDArray[np.float64]:
    """Largest absolute correlation between the columns of two units."""
    every = [problem.units.columns[u] for u in units]
    columns = np.concatenate(every)
    order = np.argsort(columns)
    A, y, weight, _ = found.gather(columns[order])
    w = np.ones(len(y)) if weight is None else weight
    Z = standardise(np.asarray(A, dtype=np.float64), w)[0][:, np.argsort(order)]
    size = np.abs((Z.T * w) @ Z) / w.sum()
    starts = np.cumsum([0, *(len(c) for c in every[:-1])])
    return np.maximum.reduceat(np.maximum.reduceat(size, starts, axis=0), starts, axis=1)
