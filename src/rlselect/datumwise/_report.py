"""A fitted datum-wise classifier as plain values: what it buys, for whom, at which price, and how well."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import read_vectors
from rlselect.datumwise._fitted import FittedPurchases
from rlselect.datumwise._policy import Episodes
from rlselect.datumwise._reasons import PurchaseReasons, purchase_reasons
from rlselect.datumwise._rules import PurchaseRules
from rlselect.report import name_some, short, spell, stopped_early

__all__ = ["PurchaseAccount"]

_TRY = ["report(X=X, y=y) tells how well cases are answered that took no part in the fit."]


@dataclass(frozen=True)
class PurchaseAccount:
    """What there is to tell about a fit.

    Parameters
    ----------
    owner : str
        Name of the estimator.
    fitted : FittedPurchases
        What was learned.
    inclusion : (units,) array
        Share of the training rows that buy each unit.
    value : float
        Mean return.
    path : dict of arrays
        ``value`` and ``bought`` of each iteration.
    n_rows, seconds, stop_reason : int, float, str
        What fit took, and why it ended.
    scores : str
        What gives the scores.
    target : str or None
        What the data call what is told.
    """

    owner: str
    fitted: FittedPurchases
    inclusion: NDArray
    value: float
    path: dict[str, NDArray]
    n_rows: int
    seconds: float
    stop_reason: str
    scores: str
    target: str | None

    def of_training(self) -> dict[str, Any]:
        """About the training rows: facts, and who buys what; as `rlselect.report.to_html` takes it."""
        rules = self.fitted.rules
        facts = {"Bought per case": float(self.inclusion.sum())}
        order = [u for u in np.argsort(-self.inclusion, kind="stable") if self.inclusion[u] > 0]
        names, noun = [str(rules.names[u]) for u in order], _noun(rules)
        use = {
            "title": "What is bought",
            "columns": ["Feature or group", "Price", "Bought by"],
            "rows": [
                [name, rules.prices[u], f"{self.inclusion[u]:.1%}"]
                for name, u in zip(names, order, strict=True)
            ],
            "bars": [(name, float(self.inclusion[u])) for name, u in zip(names, order, strict=True)],
            "note": f"Shares of the training rows.{_never(rules.n_units - len(order), noun)}",
        }
        why = _reasons(self.fitted, self.fitted.reasons, self.inclusion[self.fitted.known])
        return self._report([use, why], facts)

    def of_cases(self, X: Any, y: Any, sample_weight: Any, max_depth: int) -> dict[str, Any]:
        """About given cases, see `DatumwiseClassifier.report`: also how well they are answered."""
        given = read_vectors(X, {"y": y, "sample_weight": sample_weight})
        labels, weights = given["y"], given["sample_weight"]
        classes, number = self.fitted.classes, self.fitted.variance is not None
        unknown = np.empty(0) if labels is None or number else np.setdiff1d(labels, classes)
        if len(unknown):
            raise ValueError(
                f"y holds {unknown[0]!r}, which fit has not seen; the classes are "
                f"{', '.join(map(repr, classes.tolist()))}."
            )
        codes, episodes = self.fitted.episodes(X)
        weights = np.ones(len(episodes.answer)) if weights is None else weights
        reasons = purchase_reasons(self.fitted.policy, codes, episodes, weights)
        right = None if labels is None or number else classes[episodes.answer] == labels
        noun = _noun(self.fitted.rules)
        sections = [
            _use(self.fitted, episodes, weights),
            _reasons(self.fitted, reasons, weights @ episodes.paid),
            _numbers(episodes, right, weights, noun),
        ]
        if labels is not None and right is not None:
            sections.append(_classes(classes, episodes, labels, right, weights))
        tree = {
            "title": "First questions",
            "text": str(self.fitted.question_tree(X, max_depth)),
            "note": "In brackets: share of the cases that come there (each case counts once).",
        }
        judged = _judge(self.fitted, codes, episodes, labels, weights)
        return self._report([*sections, tree], judged)

    def _report(self, sections: list[dict[str, Any]], judged: dict[str, Any]) -> dict[str, Any]:
        """What `fit` knows, with the given sections and further facts."""
        rules, known = self.fitted.rules, len(self.fitted.known)
        noun = _noun(rules)
        facts: dict[str, Any] = {}
        if self.fitted.variance is None:
            facts["Classes"] = [str(c) for c in self.fitted.classes]
        else:
            facts["Answers"] = f"means over {rules.n_classes} values, {_range(self.fitted.classes)}"
        facts["To buy"] = f"{rules.n_units} {noun}, at {_range(rules.prices)} each{_limits(rules)}"
        if self.scores:
            facts["Scores"] = self.scores
        if known < rules.n_units:
            facts["Learned about"] = f"the {known} that tell most, each alone"
        if self.fitted.variance is not None:
            facts["An answer costs"] = (
                f"its squared error over {short(self.fitted.variance, 4)}, the variance"
            )
        elif (rules.losses != 1.0 - np.eye(rules.n_classes)).any():
            facts["An answer costs"] = f"{_range(rules.losses)}, by the given matrix"
        facts["Mean cost per case in training, errors included"] = -self.value
        report = {
            "title": "What to ask of each case",
            "answer": self._answer(sections[0]["bars"], judged),
            "n_rows": self.n_rows,
            "seconds": self.seconds,
            "stop_reason": self.stop_reason,
            "facts": facts | judged,
            # where nothing is bought there is no one who buys, and the answer says so
            "sections": [section for section in sections if section.get("rows") != []],
            "notes": [] if judged.keys() & {"Accuracy", "R squared"} else _TRY,
        }
        steps = len(self.path["value"])
        if steps:
            report["path"] = {
                "stage": list(range(1, steps + 1)),
                "size": (self.path["bought"] * known).tolist(),
                "score": self.path["value"].tolist(),
                "titles": [f"{noun} bought per case", "mean return"],
            }
        return report

    def _answer(self, bought: list[tuple[str, float]], judged: dict[str, Any]) -> str:
        """What a case needs, most wanted first, and how well it is answered then."""
        rules = self.fitted.rules
        noun = _noun(rules)
        parts = [f"None of the {rules.n_units:,} {noun} is worth its price: all cases get the same answer."]
        if bought:
            told = [f"{spell(name)} ({share:.0%})" for name, share in bought]
            told[0] = f"{spell(bought[0][0])} (for {bought[0][1]:.0%})"
            names = name_some(told, 3)
            mean = judged["Bought per case"]
            aim = "" if self.target is None else f" to tell {spell(self.target)}"
            parts = [f"A case needs {mean:.2g} of {rules.n_units:,} {noun} on average{aim}: {names}."]
        cases = f"{judged.get('Cases reported on', 0):,} cases"
        if "Answered" in judged:
            parts.append(f"{judged['Answered']:.0%} of the cases are sure enough to be answered as promised.")
        if "Accuracy" in judged:
            parts.append(f"{judged['Accuracy']:.0%} of {cases} are answered rightly.")
        elif "R squared" in judged:
            share = max(judged["R squared"], 0.0)
            parts.append(f"The answers explain {share:.0%} of what differs between {cases}.")
        else:
            parts.append("How well other cases are answered was not tried.")
        return " ".join([*parts, *stopped_early(self.stop_reason)])


def _noun(rules: PurchaseRules) -> str:
    return "features" if rules.is_ungrouped else "groups"


def _never(count: int, noun: str) -> str:
    """A sentence about what nobody needs."""
    return (
        f" {count:,} other {noun if count > 1 else noun[:-1]} {'are' if count > 1 else 'is'} never bought."
        * (count > 0)
    )


def _range(values: NDArray) -> str:
    """The value, or the lowest and the highest."""
    low, high = float(values.min()), float(values.max())
    return short(low, 4) if low == high else f"{short(low, 4)} to {short(high, 4)}"


def _limits(rules: PurchaseRules) -> str:
    """What may not be bought, as the end of a sentence."""
    parts = []
    if rules.budget is not None:
        parts.append(f"at most {rules.budget} per case")
    if rules.cost_budget is not None:
        parts.append(f"for at most {rules.cost_budget:.4g} per case")
    if rules.related is not None:
        parts.append("only related ones" if rules.unrelated is None else "unrelated ones at other prices")
    if rules.needs is not None:
        parts.append("some after others only")
    return "".join(f", {part}" for part in parts)


def _judge(
    fitted: FittedPurchases, codes: NDArray, episodes: Episodes, labels: NDArray | None, weights: NDArray
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "Cases reported on": len(episodes.answer),
        "Bought per case": float(np.average(episodes.paid.sum(axis=1), weights=weights)),
        "Spent per case": float(np.average(episodes.cost, weights=weights)),
    }
    sure = episodes.decided
    if sure is not None and fitted.promise is not None:
        most, level = fitted.promise.max_error, fitted.promise.level
        facts["Promised"] = f"at most {most:.3g} of the answers wrong, at level {level:.3g}"
        facts["Answered"] = float(np.average(sure, weights=weights))
    if labels is not None and fitted.variance is not None:
        errors = (fitted.means(codes, episodes.bought) - labels) ** 2
        spread = np.average((labels - np.average(labels, weights=weights)) ** 2, weights=weights)
        mean = float(np.average(errors, weights=weights))
        facts["R squared"] = 1 - mean / float(spread) if spread > 0 else np.nan
        facts["Mean squared error"] = mean
        costs = episodes.cost + errors / fitted.variance
        facts["Cost per case, errors included"] = float(np.average(costs, weights=weights))
    elif labels is not None:
        place = np.searchsorted(fitted.classes, labels)
        losses = fitted.rules.losses[episodes.answer, place]
        facts["Accuracy"] = float(np.average(episodes.answer == place, weights=weights))
        if sure is not None and (weights * sure).sum() > 0:
            facts["Accuracy of what is answered"] = float(
                np.average(episodes.answer == place, weights=weights * sure)
            )
        facts["Cost per case, errors included"] = float(np.average(episodes.cost + losses, weights=weights))
    return facts


def _use(fitted: FittedPurchases, episodes: Episodes, weights: NDArray) -> dict[str, Any]:
    """Who buys each unit, who buys it first, and as which purchase."""
    rules, learned, total = fitted.rules, fitted.known, weights.sum()
    share = weights @ episodes.paid / total
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
        "note": f"Shares of the cases.{_never(rules.n_units - len(rows), _noun(rules))}",
    }


def _reasons(fitted: FittedPurchases, reasons: PurchaseReasons, share: NDArray) -> dict[str, Any]:
    """What each purchase is expected to bring, the most frequent first; `share` (units,) is how frequent."""
    rules, word = fitted.policy.rules, fitted.expected
    rows = []
    for u in np.argsort(-share, kind="stable"):
        if share[u] > 0:
            then = [f"{name} ({part:.0%})" for name, part in reasons.next_names(u, rules).items()]
            means = [f"{reasons.now[u]:.3f}", f"{reasons.after[u]:.3f}"]
            rows.append([str(rules.names[u]), *means, rules.prices[u], ", ".join(then)])
    return {
        "title": "Why it is bought",
        "columns": ["Feature or group", f"Expected {word} before", "After", "Price", "Opens the way to"],
        "rows": rows,
        "note": "Means over those who buy it. What is bought later counts in the column After.",
    }


def _numbers(episodes: Episodes, right: NDArray | None, weights: NDArray, noun: str) -> dict[str, Any]:
    """How many purchases cases need, and how well those are answered."""
    number, total = episodes.paid.sum(axis=1), weights.sum()
    rows, bars = [], []
    for count in np.unique(number[weights > 0]):
        inside = number == count
        share = float(weights[inside].sum() / total)
        row = [int(count), f"{share:.1%}", float(np.average(episodes.cost[inside], weights=weights[inside]))]
        if right is not None:
            row.append(f"{np.average(right[inside], weights=weights[inside]):.1%}")
        rows.append(row)
        bars.append((str(count), share))
    columns = [f"{noun.capitalize()} bought", "Cases", "Spent per case", "Answered rightly"]
    return {
        "title": f"How many {noun} a case needs",
        "columns": columns if right is not None else columns[:3],
        "rows": rows,
        "bars": bars,
    }


def _classes(
    classes: NDArray, episodes: Episodes, labels: NDArray, right: NDArray, weights: NDArray
) -> dict[str, Any]:
    number = episodes.paid.sum(axis=1)
    rows = []
    for label in classes:
        inside = labels == label
        if weights[inside].sum() > 0:
            means = [np.average(v[inside], weights=weights[inside]) for v in (right, number, episodes.cost)]
            share = weights[inside].sum() / weights.sum()
            rows.append(
                [str(label), f"{share:.1%}", f"{means[0]:.1%}", f"{means[1]:.2f}", round(float(means[2]), 4)]
            )
    return {
        "title": "Classes",
        "columns": ["True class", "Cases", "Answered rightly", "Bought per case", "Spent per case"],
        "rows": rows,
    }
