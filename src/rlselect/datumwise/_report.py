"""A fitted datum-wise classifier as plain values: what it buys, for whom, at which price, and how well."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import read_vectors
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._summary import limits, price_range

__all__ = ["make_report"]


def make_report(model: Any, X: Any, y: Any, sample_weight: Any, max_depth: int) -> dict[str, Any]:
    """Facts, tables and the tree of questions.

    Parameters
    ----------
    model : DatumwiseClassifier
        Fitted.
    X, y, sample_weight, max_depth : object
        As for `DatumwiseClassifier.report`.

    Returns
    -------
    dict
        As `rlselect.report.to_html` takes it.
    """
    if X is None:
        if y is not None:
            raise ValueError("y was given without X; give the cases that it belongs to")
        return _report(model, [_use_in_training(model)], {})
    given = read_vectors(X, {"y": y, "sample_weight": sample_weight})
    labels, weights = given["y"], given["sample_weight"]
    unknown = np.empty(0) if labels is None else np.setdiff1d(labels, model.classes_)
    if len(unknown):
        raise ValueError(
            f"y holds {unknown[0]!r}, which fit has not seen; the classes are "
            f"{', '.join(map(repr, model.classes_.tolist()))}"
        )
    episodes = model._episodes(X)[1]
    weights = np.ones(len(episodes.answer)) if weights is None else weights
    tree = {
        "title": "First questions",
        "text": str(model.question_tree(X, max_depth=max_depth)),
        "note": "In brackets: share of the cases that come there (each case counts once).",
    }
    sections = [*_case_sections(model, episodes, labels, weights), tree]
    return _report(model, sections, _judge(model, episodes, labels, weights))


def _noun(model: Any) -> str:
    return "features" if model.feature_groups is None else "groups"


def _report(model: Any, sections: list[dict[str, Any]], judged: dict[str, Any]) -> dict[str, Any]:
    """What `fit` knows, with the given sections and further facts."""
    rules, noun = model._whole, _noun(model)
    facts: dict[str, Any] = {
        "Classes": [str(c) for c in model.classes_],
        "To buy": f"{rules.n_units} {noun}, at {price_range(rules.prices)} each{limits(rules)}",
    }
    if not model.learned_units_.all():
        facts["Learned about"] = f"the {int(model.learned_units_.sum())} that tell most, each alone"
    facts["Mean cost a case in training, errors included"] = -model.value_
    facts.update(judged)
    report = {
        "title": f"{type(model).__name__} ({len(model.classes_)} classes)",
        "n_rows": model._n_rows,
        "seconds": model._seconds,
        "stop_reason": model.stop_reason_,
        "facts": facts,
        "sections": sections,
    }
    if model.history_:
        report["path"] = {
            "stage": list(range(1, len(model.history_) + 1)),
            "size": [entry["bought"] * model.learned_units_.sum() for entry in model.history_],
            "score": [entry["value"] for entry in model.history_],
            "titles": [f"{noun} bought a case", "mean return"],
        }
    return report


def _judge(model: Any, episodes: Episodes, labels: NDArray | None, weights: NDArray) -> dict[str, Any]:
    facts = {
        "Cases reported on": len(episodes.answer),
        "Bought a case": float(np.average(episodes.bought.sum(axis=1), weights=weights)),
        "Spent a case": float(np.average(episodes.cost, weights=weights)),
    }
    if labels is not None:
        place = np.searchsorted(model.classes_, labels)
        losses = model._whole.losses[episodes.answer, place]
        facts["Accuracy"] = float(np.average(episodes.answer == place, weights=weights))
        facts["Cost a case, errors included"] = float(np.average(episodes.cost + losses, weights=weights))
    return facts


def _use_in_training(model: Any) -> dict[str, Any]:
    rules = model._whole
    order = [u for u in np.argsort(-model.usage_, kind="stable") if model.usage_[u] > 0]
    return {
        "title": "What is bought",
        "columns": ["Feature or group", "Price", "Bought by"],
        "rows": [[str(rules.names[u]), rules.prices[u], f"{model.usage_[u]:.1%}"] for u in order],
        "bars": [(str(rules.names[u]), float(model.usage_[u])) for u in order],
        "note": f"Shares of the training rows. Never bought: {rules.n_units - len(order)}.",
    }


def _case_sections(
    model: Any, episodes: Episodes, labels: NDArray | None, weights: NDArray
) -> list[dict[str, Any]]:
    right = None if labels is None else model.classes_[episodes.answer] == labels
    sections = [_use(model, episodes, weights), _numbers(episodes, right, weights, _noun(model))]
    if right is not None:
        assert labels is not None
        sections.append(_classes(model, episodes, labels, right, weights))
    return sections


def _use(model: Any, episodes: Episodes, weights: NDArray) -> dict[str, Any]:
    """Who buys each unit, who buys it first, and as which purchase."""
    rules, total = model._whole, weights.sum()
    learned = np.flatnonzero(model.learned_units_)
    share = weights @ episodes.bought / total
    place = np.zeros(len(learned))
    first = np.zeros(len(learned))
    for step, units in enumerate(episodes.order.T):
        some = units >= 0
        counts = np.bincount(units[some], weights[some], minlength=len(learned))
        place += (step + 1) * counts
        first += counts if step == 0 else 0.0
    rows, bars = [], []
    for k in np.argsort(-share, kind="stable"):
        if share[k] > 0:
            name, price = str(rules.names[learned[k]]), rules.prices[learned[k]]
            mean = place[k] / (share[k] * total)
            rows.append([name, price, f"{share[k]:.1%}", f"{first[k] / total:.1%}", f"{mean:.1f}"])
            bars.append((name, float(share[k])))
    return {
        "title": "What is bought",
        "columns": ["Feature or group", "Price", "Bought by", "Bought first by", "Mean place"],
        "rows": rows,
        "bars": bars,
        "note": f"Shares of the cases. Never bought: {rules.n_units - len(rows)}.",
    }


def _numbers(episodes: Episodes, right: NDArray | None, weights: NDArray, noun: str) -> dict[str, Any]:
    """How many purchases cases need, and how well those are answered."""
    number, total = episodes.bought.sum(axis=1), weights.sum()
    rows, bars = [], []
    for count in np.unique(number[weights > 0]):
        inside = number == count
        share = float(weights[inside].sum() / total)
        row = [int(count), f"{share:.1%}", float(np.average(episodes.cost[inside], weights=weights[inside]))]
        if right is not None:
            row.append(f"{np.average(right[inside], weights=weights[inside]):.1%}")
        rows.append(row)
        bars.append((str(count), share))
    columns = [f"{noun.capitalize()} bought", "Cases", "Spent a case", "Answered rightly"]
    return {
        "title": f"How many {noun} a case needs",
        "columns": columns if right is not None else columns[:3],
        "rows": rows,
        "bars": bars,
    }


def _classes(
    model: Any, episodes: Episodes, labels: NDArray, right: NDArray, weights: NDArray
) -> dict[str, Any]:
    number = episodes.bought.sum(axis=1)
    rows = []
    for label in model.classes_:
        inside = labels == label
        if weights[inside].sum() > 0:
            means = [np.average(v[inside], weights=weights[inside]) for v in (right, number, episodes.cost)]
            share = weights[inside].sum() / weights.sum()
            rows.append([str(label), f"{share:.1%}", f"{means[0]:.1%}", f"{means[1]:.2f}", float(means[2])])
    return {
        "title": "Classes",
        "columns": ["True class", "Cases", "Answered rightly", "Bought a case", "Spent a case"],
        "rows": rows,
    }
