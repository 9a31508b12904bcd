"""What a user writes about groups, costs, relations and errors, checked and made regular."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._structure import Structure

__all__ = ["make_structure", "parse_groups"]


def parse_groups(feature_groups: Any, names: list) -> tuple[list, list[NDArray]]:
    """Names and features of the units that can be bought.

    Parameters
    ----------
    feature_groups : None, mapping, sequence of labels or sequence of sequences
        As given to the classifier.
    names : list of str
        Names of the features.

    Returns
    -------
    unit_names : list
        Feature names, keys, labels, or "group 0", "group 1", ...
    groups : list of int arrays
        Features of each unit.
    """
    n = len(names)
    if feature_groups is None:
        return list(names), [np.array([j]) for j in range(n)]
    if isinstance(feature_groups, Mapping):
        unit_names, items = list(feature_groups), list(feature_groups.values())
    else:
        items = list(feature_groups)
        if items and all(np.ndim(item) == 0 for item in items):
            return _from_labels(items, n)
        unit_names = [f"group {k}" for k in range(len(items))]
    places = {name: j for j, name in enumerate(names)}
    groups = [
        np.array(sorted(_place(member, places, n, "feature_groups") for member in np.atleast_1d(item)), int)
        for item in items
    ]
    empty = [str(name) for name, group in zip(unit_names, groups, strict=True) if len(group) == 0]
    if empty:
        raise ValueError(f"feature_groups has empty groups ({', '.join(empty)}); leave them out")
    count = np.bincount(np.concatenate([*groups, np.empty(0, int)]), minlength=n)
    if (count > 1).any():
        twice = ", ".join(str(names[j]) for j in np.flatnonzero(count > 1)[:5])
        raise ValueError(f"feature_groups overlap: {twice} occur twice; put each feature in one group")
    if (count == 0).any():
        left = ", ".join(str(names[j]) for j in np.flatnonzero(count == 0)[:5])
        raise ValueError(
            f"feature_groups are incomplete: {int((count == 0).sum())} features ({left}, ...) are in none; "
            "give each of them a group, of its own if need be"
        )
    return unit_names, groups


def _from_labels(labels: list, n: int) -> tuple[list, list[NDArray]]:
    if len(labels) != n:
        raise ValueError(
            f"feature_groups has {len(labels)} labels but X has {n} features; give one label a feature, a "
            "list of lists of features, or a mapping from names to lists"
        )
    units = list(dict.fromkeys(labels))
    return units, [np.array([j for j, label in enumerate(labels) if label == unit]) for unit in units]


def _place(member: Any, places: dict, n: int, what: str) -> int:
    if member in places:
        return places[member]
    if isinstance(member, Integral) and 0 <= int(member) < n:
        return int(member)
    shown = member.item() if isinstance(member, np.generic) else member
    raise ValueError(f"{what} names {shown!r}, which is neither a name nor a number from 0 to {n - 1}")


def make_structure(params: Any, names: list, n_classes: int) -> Structure:
    """The rules of the decision process from the parameters of a classifier.

    Parameters
    ----------
    params : object
        With the attributes of `DatumwiseClassifier`.
    names : list of str
        Names of the features.
    n_classes : int
        Number of classes.

    Returns
    -------
    Structure
        Checked.
    """
    unit_names, groups = parse_groups(params.feature_groups, names)
    prices = _prices(params.costs, params.feature_cost, unit_names, "costs")
    related = _relation(params.related, unit_names)
    if params.relation not in ("any", "all"):
        raise ValueError(f"relation={params.relation!r} is not known; use 'any' or 'all'")
    unrelated = None
    if params.unrelated_cost is not None:
        if related is None:
            raise ValueError("unrelated_cost is given without related; say which features are related")
        unrelated = _prices(params.unrelated_cost, params.feature_cost, unit_names, "unrelated_cost")
    return Structure(
        names=unit_names,
        groups=groups,
        prices=prices,
        losses=_losses(params.error_costs, n_classes),
        budget=_budget(params.budget),
        cost_budget=_cost_budget(params.cost_budget),
        related=related,
        relation=params.relation,
        unrelated=unrelated,
        needs=_needs(params.prerequisites, unit_names),
    )


def _prices(costs: Any, default: Any, units: list, what: str) -> NDArray:
    if not isinstance(default, Real) or not np.isfinite(float(default)) or float(default) < 0:
        raise ValueError(f"feature_cost={default!r} must be a finite number >= 0")
    out = np.full(len(units), float(default))
    if costs is None:
        return out
    if isinstance(costs, Mapping):
        places = {name: u for u, name in enumerate(units)}
        for name, cost in costs.items():
            out[_place(name, places, len(units), what)] = cost
    elif np.ndim(costs) == 0:
        out[:] = costs
    else:
        given = np.asarray(costs, dtype=float)
        if given.shape != (len(units),):
            raise ValueError(
                f"{what} has shape {given.shape}, but there are {len(units)} features or groups to buy; give "
                "one cost for each, or a mapping from names to costs"
            )
        out = given.copy()
    if not np.isfinite(out).all() or out.min() < 0:
        bad = units[int(np.flatnonzero(~(np.isfinite(out) & (out >= 0)))[0])]
        raise ValueError(f"{what} must be finite and >= 0; the one of {bad!r} is not")
    return out


def _losses(error_costs: Any, n_classes: int) -> NDArray:
    if error_costs is None:
        return 1.0 - np.eye(n_classes)
    losses = np.asarray(error_costs, dtype=float)
    if losses.shape != (n_classes, n_classes):
        raise ValueError(
            f"error_costs has shape {losses.shape}, but y has {n_classes} classes; give a square matrix with "
            "the cost of answering the class of the row when that of the column is true (a class that is "
            "missing from the rows of fit has no row and no column)"
        )
    if not np.isfinite(losses).all():
        raise ValueError("error_costs must be finite; use a large number for an answer never to be given")
    return losses


def _budget(budget: Any) -> int | None:
    if budget is None:
        return None
    if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 0:
        raise ValueError(f"budget={budget!r} must be None or an integer >= 0: the most purchases a case")
    return int(budget)


def _cost_budget(limit: Any) -> float | None:
    if limit is None:
        return None
    if not isinstance(limit, Real) or not np.isfinite(float(limit)) or float(limit) < 0:
        raise ValueError(f"cost_budget={limit!r} must be None or a finite number >= 0, in units of the costs")
    return float(limit)


def _relation(related: Any, units: list) -> NDArray | None:
    if related is None:
        return None
    if callable(related):
        return np.array([[bool(related(a, b)) for b in units] for a in units], dtype=bool).reshape(
            len(units), len(units)
        )
    matrix = related.toarray() if hasattr(related, "toarray") else np.asarray(related)
    if matrix.shape != (len(units), len(units)):
        raise ValueError(
            f"related has shape {matrix.shape}, but there are {len(units)} features or groups to buy; give a "
            "square matrix over them, or a function of two names"
        )
    return matrix.astype(bool)


def _needs(prerequisites: Any, units: list) -> NDArray | None:
    if not prerequisites:
        return None
    if not isinstance(prerequisites, Mapping):
        raise ValueError(
            "prerequisites must map a feature or group to the ones it needs; given was "
            f"{type(prerequisites).__name__}"
        )
    n = len(units)
    places = {name: u for u, name in enumerate(units)}
    needs = np.zeros((n, n), dtype=bool)
    for name, before in prerequisites.items():
        u = _place(name, places, n, "prerequisites")
        single = isinstance(before, (str, Integral)) or before in places if np.ndim(before) == 0 else False
        for other in [before] if single else before:
            needs[u, _place(other, places, n, "prerequisites")] = True
    open_units = np.zeros(n, dtype=bool)
    for _ in range(n):
        open_units |= ~(needs & ~open_units).any(axis=1)
    if not open_units.all():
        stuck = ", ".join(str(units[u]) for u in np.flatnonzero(~open_units)[:5])
        raise ValueError(f"prerequisites form a circle, so that {stuck} can never be bought; break it")
    return needs
