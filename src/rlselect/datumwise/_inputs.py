"""What a user writes about groups, costs, relations and errors, checked and made regular."""

from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import nearest_names
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
        unit_names, items = [plain(name) for name in feature_groups], list(feature_groups.values())
        _check_labels(unit_names)
    else:
        if isinstance(feature_groups, str) or not isinstance(feature_groups, Iterable):
            raise ValueError(
                f"feature_groups={feature_groups!r} is not understood; give one label a feature, a list of "
                "lists of features, or a mapping from names to lists"
            )
        items = list(feature_groups)
        if items and all(np.ndim(item) == 0 for item in items):
            return _from_labels(items, n)
        unit_names = [f"group {k}" for k in range(len(items))]
    places = {name: j for j, name in enumerate(names)}
    groups = [
        np.array(sorted(_place(member, places, n, "feature_groups") for member in _members(item)), int)
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
    labels = [plain(label) for label in labels]
    units = list(dict.fromkeys(labels))
    _check_labels(units)
    return units, [np.array([j for j, label in enumerate(labels) if label == unit]) for unit in units]


def _check_labels(names: list) -> None:
    """Refuse gaps, which cannot name what is to be bought."""
    for name in names:
        if name is None or name != name:
            raise ValueError(f"feature_groups has a group named {name!r}; give every feature a label")


def plain(value: Any) -> Any:
    """A NumPy number or text as the one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _members(item: Any) -> list:
    """What a list holds, or the one thing that stands alone."""
    return [item] if isinstance(item, str) or not isinstance(item, Iterable) else list(item)


def _place(member: Any, places: dict, n: int, what: str) -> int:
    member = plain(member)
    if isinstance(member, Hashable) and not isinstance(member, bool):
        if member in places:
            return places[member]
        if isinstance(member, Integral) and 0 <= int(member) < n:
            return int(member)
    close = nearest_names(member, places) if isinstance(member, str) else []
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise ValueError(f"{what} names {member!r}, which is neither a name nor a number from 0 to {n - 1}{hint}")


def make_structure(params: Any, names: list, classes: NDArray) -> Structure:
    """The rules of the decision process from the parameters of a classifier.

    Parameters
    ----------
    params : object
        With the attributes of `DatumwiseClassifier`.
    names : list of str
        Names of the features.
    classes : array
        Class labels.

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
        losses=_losses(params.error_costs, classes),
        budget=_budget(params.budget),
        cost_budget=_cost_budget(params.cost_budget),
        related=related,
        relation=params.relation,
        unrelated=unrelated,
        needs=_needs(params.prerequisites, unit_names),
    )


def _prices(costs: Any, default: Any, units: list, what: str) -> NDArray:
    if not _is_price(default):
        raise ValueError(f"feature_cost={default!r} must be a finite number >= 0")
    out = np.full(len(units), float(default))
    if costs is None:
        return out
    if hasattr(costs, "to_dict") and not _is_counted(costs.index):
        costs = costs.to_dict()  # a pandas Series by name
    if isinstance(costs, Mapping):
        places = {name: u for u, name in enumerate(units)}
        for name, cost in costs.items():
            out[_place(name, places, len(units), what)] = _number(cost, f"{what}[{name!r}]")
    else:
        given = _numbers(costs, what, "give one number for each feature or group, or a mapping from names")
        if given.shape not in ((), (len(units),)):
            raise ValueError(
                f"{what} has shape {given.shape}, but there are {len(units)} features or groups to buy; give "
                "one cost for each, or a mapping from names to costs"
            )
        out[:] = given
    if not np.isfinite(out).all() or out.min() < 0:
        bad = units[int(np.flatnonzero(~(np.isfinite(out) & (out >= 0)))[0])]
        raise ValueError(f"{what} must be finite and >= 0; the one of {bad!r} is not")
    return out


def _is_price(value: Any) -> bool:
    return (
        isinstance(value, Real)
        and not isinstance(value, bool)
        and bool(np.isfinite(float(value)))
        and float(value) >= 0
    )


def _is_counted(index: Any) -> bool:
    """Whether a pandas index only counts from 0, and so names nothing."""
    return list(index) == list(range(len(index)))


def _number(value: Any, what: str) -> float:
    if not isinstance(value, Real):
        raise ValueError(f"{what} is {value!r}; a number is needed")
    return float(value)


def _numbers(values: Any, what: str, fix: str) -> NDArray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{what}={values!r} does not hold numbers only; {fix}") from None


def _by_name(table: Any, names: list, what: str) -> Any:
    """A pandas frame with named rows and columns as an array in the order of the names."""
    if not (hasattr(table, "columns") and hasattr(table, "index") and hasattr(table, "loc")):
        return table
    for labels in (table.index, table.columns):
        if not _is_counted(labels) and set(labels) != set(names):
            raise ValueError(
                f"{what} is a frame with the labels {list(labels)[:8]}, which are not {names[:8]}; name its "
                "rows and columns so, or give an array"
            )
    rows, columns = (
        list(range(len(labels))) if _is_counted(labels) else [list(labels).index(n) for n in names]
        for labels in (table.index, table.columns)
    )
    return table.to_numpy()[np.ix_(rows, columns)]


def _losses(error_costs: Any, classes: NDArray) -> NDArray:
    n_classes = len(classes)
    if error_costs is None:
        return 1.0 - np.eye(n_classes)
    fix = (
        "give a square matrix with the cost of answering the class of the row when that of the column is "
        "true (a class that is missing from the rows of fit has no row and no column)"
    )
    losses = _numbers(_by_name(error_costs, classes.tolist(), "error_costs"), "error_costs", fix)
    if losses.shape != (n_classes, n_classes):
        raise ValueError(f"error_costs has shape {losses.shape}, but y has {n_classes} classes; {fix}")
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
    if not _is_price(limit):
        raise ValueError(f"cost_budget={limit!r} must be None or a finite number >= 0, in units of the costs")
    return float(limit)


def _relation(related: Any, units: list) -> NDArray | None:
    if related is None:
        return None
    if callable(related):
        rows = [[_truth(related(a, b), a, b) for b in units] for a in units]
        return np.array(rows, dtype=bool).reshape(len(units), len(units))
    matrix = (
        related.toarray() if hasattr(related, "toarray") else np.asarray(_by_name(related, units, "related"))
    )
    if matrix.shape != (len(units), len(units)):
        raise ValueError(
            f"related has shape {matrix.shape}, but there are {len(units)} features or groups to buy; give a "
            "square matrix over them, or a function of two names"
        )
    if matrix.dtype.kind not in "biuf" or (matrix.dtype.kind == "f" and np.isnan(matrix).any()):
        raise ValueError("related must hold truth values, without gaps; use 1 for related and 0 for not")
    return matrix.astype(bool)


def _truth(value: Any, a: Any, b: Any) -> bool:
    if not isinstance(value, Real | np.bool_) or value != value:
        raise ValueError(f"related({a!r}, {b!r}) gave {value!r}; the function must say True or False")
    return bool(value)


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
        for other in [before] if before in list(units) else _members(before):
            needs[u, _place(other, places, n, "prerequisites")] = True
    open_units = np.zeros(n, dtype=bool)
    for _ in range(n):
        open_units |= ~(needs & ~open_units).any(axis=1)
    if not open_units.all():
        stuck = ", ".join(str(units[u]) for u in np.flatnonzero(~open_units)[:5])
        raise ValueError(f"prerequisites form a circle, so that {stuck} can never be bought; break it")
    return needs
