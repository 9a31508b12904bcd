"""What a user writes about groups, costs, relations and errors, checked and made regular."""

from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rlselect._limits import require_memory
from rlselect._options import number
from rlselect.data import nearest_names, read_groups
from rlselect.datumwise._rules import PurchaseRules

__all__ = ["PRICE", "place_of_unit", "read_prices", "read_rules"]

# sums of prices and losses are made in single precision
HIGHEST = 1e30
PRICE = number(f"a number from 0 to {HIGHEST:g}", least=0.0, most=HIGHEST)


def read_rules(
    names: list[str],
    classes: NDArray,
    *,
    feature_groups: Any = None,
    feature_cost: float = 0.01,
    costs: Any = None,
    budget: int | None = None,
    cost_budget: float | None = None,
    error_costs: Any = None,
    related: Any = None,
    relation: Literal["any", "all", "pairs"] = "any",
    unrelated_cost: Any = None,
    prerequisites: Any = None,
) -> PurchaseRules:
    """The rules of the decision process for named features and classes, from the options of a classifier."""
    groups = read_groups(feature_groups, names, overlap=True)
    units = groups.names
    twice = [name for name in units if units.count(name) > 1] if len(set(units)) < len(units) else []
    if twice:
        raise ValueError(
            f"feature_groups has a group named {twice[0]!r}, and the feature of that name stands alone; "
            "name the group otherwise."
        )
    table = _relation(related, units)
    unrelated = None
    if unrelated_cost is not None:
        if table is None:
            raise ValueError("unrelated_cost is given without related; say which features are related.")
        unrelated = read_prices(unrelated_cost, feature_cost, units, "unrelated_cost")
    if relation == "pairs" and unrelated is None:
        raise ValueError(
            "relation='pairs' prices every pair, but unrelated_cost=None was given; give a price."
        )
    return PurchaseRules(
        names=units,
        groups=groups.members,
        prices=read_prices(costs, feature_cost, units),
        losses=_losses(error_costs, classes),
        # no case can buy more than there is
        budget=None if budget is None else min(int(budget), len(units)),
        cost_budget=cost_budget,
        related=table,
        relation=relation,
        unrelated=unrelated,
        needs=_needs(prerequisites, units),
    )


def read_prices(costs: Any, default: float, units: list[Any], what: str = "costs") -> NDArray:
    """Price of each unit, from what a user says of them."""
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
    good = (out >= 0) & (out <= HIGHEST)
    if not good.all():
        bad = units[int(np.flatnonzero(~good)[0])]
        raise ValueError(f"{what} must be numbers from 0 to {HIGHEST:g}; the one of {bad!r} is not")
    return out


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


def _by_name(table: Any, names: list[Any], what: str) -> Any:
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
    if not (np.abs(losses) <= HIGHEST).all():
        raise ValueError(
            f"error_costs must be finite and at most {HIGHEST:g}; use a large number for an answer never to "
            "be given"
        )
    return losses


def _relation(related: Any, units: list[Any]) -> NDArray | None:
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


def _needs(prerequisites: Any, units: list[Any]) -> NDArray | None:
    if prerequisites is None:
        return None
    if not isinstance(prerequisites, Mapping):
        raise ValueError(
            "prerequisites must map a feature or group to the ones it needs; given was "
            f"{type(prerequisites).__name__}"
        )
    if not prerequisites:
        return None
    n = len(units)
    places = {name: u for u, name in enumerate(units)}
    require_memory(float(n) ** 2, f"prerequisites among {n} units", "fewer features or feature_groups")
    needs = np.zeros((n, n), dtype=bool)
    for name, before in prerequisites.items():
        u = _place(name, places, n, "prerequisites")
        for other in [before] if before in list(units) else _members(before):
            needs[u, _place(other, places, n, "prerequisites")] = True
    closed = np.asarray(needs.any(axis=1))
    last = n
    while 0 < closed.sum() < last:
        last = int(closed.sum())
        closed[closed] = needs[np.ix_(closed, closed)].any(axis=1)
    if closed.any():
        stuck = ", ".join(str(units[u]) for u in np.flatnonzero(closed)[:5])
        raise ValueError(f"prerequisites form a circle, so that {stuck} can never be bought; break it")
    return needs


def _plain(value: Any) -> Any:
    """A NumPy number or text as the one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _members(item: Any) -> list[Any]:
    """What a list holds, or the one thing that stands alone."""
    return [item] if isinstance(item, str) or not isinstance(item, Iterable) else list(item)


def _place(member: Any, places: dict[Any, int], n: int, what: str) -> int:
    member = _plain(member)
    if isinstance(member, Hashable) and not isinstance(member, bool):
        if member in places:
            return places[member]
        if isinstance(member, Integral) and 0 <= int(member) < n:
            return int(member)
    close = nearest_names(member, places) if isinstance(member, str) else []
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise ValueError(f"{what} names {member!r}, which is neither a name nor a number from 0 to {n - 1}{hint}")


def place_of_unit(name: Any, units: list[Any], what: str) -> int:
    """Number of a feature or group that a user names, or numbers."""
    return _place(name, {own: u for u, own in enumerate(units)}, len(units), what)
