"""A fitted datum-wise classifier in a few lines."""

from typing import Any

import numpy as np

from rlselect.datumwise._structure import Structure

__all__ = ["limits", "price_range", "summarize"]

_SHOWN = 12


def summarize(model: Any, structure: Structure) -> str:
    """Text about a fitted classifier.

    Parameters
    ----------
    model : DatumwiseClassifier
        Fitted.
    structure : Structure
        Its rules.

    Returns
    -------
    str
        Several lines.
    """
    classes = ", ".join(str(c) for c in model.classes_)
    n_units, learned = structure.n_units, int(model.learned_units_.sum())
    lines = [
        f"Datum-wise classifier, {len(model.classes_)} classes ({classes})",
        f"To buy: {n_units} {'features' if model.feature_groups is None else 'groups'}, at "
        f"{price_range(structure.prices)} each{limits(structure)}",
    ]
    if learned < n_units:
        lines.append(f"Learned about: the {learned} that tell most, each alone")
    if model.error_costs is not None:
        worst, best = structure.losses.max(), structure.losses.min()
        lines.append(f"An answer costs: {best:.4g} to {worst:.4g}, by the given matrix")
    lines += [
        f"Bought a case: {model.usage_.sum():.2f} on average",
        f"Mean cost a case, errors included: {-model.value_:.4g}",
        f"Learned from {model._n_rows} rows in {model._seconds:.1f} s: {model.stop_reason_}",
        "",
        "Bought by (share of the training rows)",
    ]
    order = np.argsort(-model.usage_, kind="stable")
    used = [u for u in order if model.usage_[u] > 0]
    width = max([len(str(structure.names[u])) for u in used[:_SHOWN]], default=0)
    lines += [f"  {structure.names[u]!s:<{width}}  {model.usage_[u]:6.1%}" for u in used[:_SHOWN]]
    if len(used) > _SHOWN:
        lines.append(f"  and {len(used) - _SHOWN} more")
    lines.append(f"  never bought: {n_units - len(used)}")
    return "\n".join(lines)


def price_range(prices: np.ndarray) -> str:
    """The price, or the lowest and the highest."""
    low, high = float(prices.min()), float(prices.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def limits(structure: Structure) -> str:
    """What may not be bought, as the end of a sentence."""
    parts = []
    if structure.budget is not None:
        parts.append(f"at most {structure.budget} a case")
    if structure.cost_budget is not None:
        parts.append(f"for at most {structure.cost_budget:.4g} a case")
    if structure.related is not None:
        how = "only related ones" if structure.unrelated is None else "unrelated ones at other prices"
        parts.append(how)
    if structure.needs is not None:
        parts.append("some after others only")
    return "".join(f", {part}" for part in parts)
