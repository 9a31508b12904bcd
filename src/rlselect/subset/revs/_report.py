"""What a fitted selector says about itself, as plain values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect.data import read_features
from rlselect.report import SELECTION, answer_selection, name_some, short, spell, stopped_early
from rlselect.subset.revs._dependence import say_dependence
from rlselect.subset.revs._found import Found
from rlselect.subset.revs._outcome_kind import OUTCOMES
from rlselect.subset.revs._sarsa import Sarsa

AFTER_SELECTION = (
    "Standard errors are those of a refit that does not know the variables were selected: they are too "
    'optimistic. For honest ones, let inference="split" keep half of the rows out of the selection.'
)


# standard errors by which rows may be off a model on average
_BEYOND_CHANCE = 3.0
# share of what variables explain that rounding may leave
_NO_ERROR = 1e-10
# what a coefficient adds to, by family
_ADDS_TO = {
    "gaussian": "{target}",
    "binomial": "the log odds of {label}",
    "poisson": "the logarithm of the mean",
    "negative_binomial": "the logarithm of the mean",
    "multinomial": "the logarithm of a class's odds, against the mean of all classes,",
    "ordinal": "the log odds of a higher class",
    "cox": "the logarithm of the risk",
}


def report_of(selector: Any) -> dict[str, Any]:
    """Facts of a fitted REVS, as plain values."""
    names = selector.encoder_.feature_names
    column_feature = np.asarray(selector.encoder_.column_feature_)
    chosen = sorted(np.flatnonzero(selector.support_), key=lambda f: selector.ranking_[f])
    variables = [
        _variable(
            selector,
            names[f],
            np.flatnonzero(column_feature == f),
            selector.inclusion_[f],
            _gain(selector, int(f)),
        )
        for f in chosen
    ]
    products = _products(selector)
    variables += products
    sizes = selector.detectable_[np.isfinite(selector.detectable_)]
    effect = float(sizes.max()) if len(sizes) else None
    averaged = np.any(getattr(selector, "average_", False))
    notes = (
        [_after_selection(selector)]
        if variables
        else [
            "No variable is worth its price"
            + ("." if averaged else ": the same is predicted for every row."),
            *_not_looked_for(selector),
        ]
    )
    several = getattr(selector, "response_names_", [])
    notes += (
        _doubt(selector)
        + _noise(selector)
        + _no_error(selector, [names[f] for f in chosen])
        + _weight(selector)
        + _one_row(selector)
        + _rules(selector)
        + (_together(selector) if several else _prediction(selector))
    )
    shared = getattr(selector, "dependence_", None)
    if shared is not None:
        notes.append(say_dependence(shared, selector._n_rows, selector.time_ordered))
        notes += _odds(selector)
    if effect is not None:
        unit = "standard deviations of y" if selector.family_ == "gaussian" else "units of the link"
        notes.append(
            f"Beside these variables, an effect of {effect:.2g} {unit} per standard deviation of any other "
            f"one would have been seen with probability 0.9 on {selector.n_rows_seen_:,} of "
            f"{selector._n_rows:,} rows."
        )
    groups = [g for g in selector.credible_groups_ if len(g["features"]) > 1]
    return {
        "title": SELECTION,
        "answer": _answer(selector, [names[f] for f in chosen], effect, groups),
        "family": selector.family_,
        "n_rows": selector._n_rows,
        "n_rows_read": selector.n_rows_read_,
        "n_rows_seen": selector.n_rows_seen_,
        "detectable": effect,
        "dependence": shared,
        "n_features": selector.n_features_in_,
        "stop_reason": selector.stop_reason_,
        "seconds": selector._seconds,
        "variables": variables,
        "n_products": len(products),
        "coefficient": _coefficient(selector, chosen),
        "path": {
            "stage": list(range(1, len(selector.path_["size"]) + 1)),
            "size": selector.path_["size"].tolist(),
            "score": selector.path_["score"].tolist(),
        },
        "credible_groups": selector.credible_groups_,
        "sections": ([_responses(selector)] if several else []) + ([_stand_ins(groups)] if groups else []),
        "notes": notes,
    }


def _answer(selector: Any, chosen: list[str], effect: float | None, groups: list[dict[str, Any]]) -> str:
    """How many variables matter, how sure each is, and what the data do not tell."""
    names = [str(name) for name in selector.encoder_.feature_names]
    given = {names[j] for j in read_features(selector.always_select, names, "always_select")}
    sure = dict(zip(names, selector.inclusion_, strict=True))
    kinds: dict[str, list[str]] = {"near certain": [], "likely": [], "doubtful": [], "kept as asked": []}
    for name in chosen:
        kind = "near certain" if sure[name] >= 0.95 else "likely" if sure[name] >= 0.5 else "doubtful"
        kinds["kept as asked" if name in given else kind].append(name)
    if isinstance(selector.search, Sarsa):
        # shares of the last stages are no probabilities
        kinds = {"": chosen}
    further = []
    if not chosen and effect is not None:
        further.append(f"An effect of {effect:.2g} standard units would have been seen with probability 0.9.")
    pairs = [spell(pair["name"]) for pair in getattr(selector, "interactions_", []) if pair["selected"]]
    if pairs:
        further.append(f"They interact: {name_some(pairs)}.")
    if groups:
        where = f"One of {name_some(groups[0]['features'])}"
        if len(groups) > 1:
            where = f"In each of {len(groups)} sets of variables that stand in for one another, one"
        where = where if chosen else f"But {where[0].lower()}{where[1:]}"
        further.append(f"{where} is near certain; the data do not tell which.")
    return answer_selection(selector.n_features_in_, kinds, *further, *stopped_early(selector.stop_reason_))


def _values_of(selector: Any, which: str, columns: Any) -> dict[str, float | None]:
    """Coefficients or their errors by name, of several responses by name and response."""
    if not hasattr(selector, "response_names_"):
        return {**_by_name(selector, getattr(selector, which), columns)}
    feature = selector.encoder_.column_feature_[columns[0]]
    return {
        # a response that was explained without the variable has no coefficient of it
        f"{column} ({name})": value if single.support_[feature] else None
        for name, single in zip(selector.response_names_, selector.estimators_, strict=True)
        for column, value in _by_name(single, getattr(single, which), columns).items()
    }


def _gain(selector: Any, feature: int) -> float:
    """Held-out gain; of several responses the mean, unless some were not judged or have other units."""
    if selector.gain_.ndim == 1:
        return float(selector.gain_[feature])
    return float("nan") if selector.family_ == "mixed" else float(selector.gain_[:, feature].mean())


def _together(selector: Any) -> list[str]:
    """What is common to several responses."""
    if selector.responses == "each":
        return [
            "Each response has a selection of its own. Inclusion is the probability that a "
            "variable belongs in the model of one response or more."
        ]
    return ["One selection serves all responses: a variable has a coefficient for each of them."]


def _responses(selector: Any) -> dict[str, Any]:
    """A line per response: what was selected for it, and how it is predicted."""
    names = np.asarray(selector.encoder_.feature_names, dtype=object)
    rows = [
        [
            name,
            single.family_,
            int(single.support_.sum()),
            ", ".join(map(str, names[single.support_])) or "none",
            "an average over subsets" if single.average_ else "the selected variables",
        ]
        for name, single in zip(selector.response_names_, selector.estimators_, strict=True)
    ]
    return {
        "title": "Responses",
        "columns": ["Response", "Family", "Variables", "Selected", "Predicted by"],
        "rows": rows,
    }


def _by_name(selector: Any, values: Any, columns: Any) -> dict[str, float]:
    """Numbers of some design columns by their names, and of each class where there are several."""
    if values.ndim == 1:
        return {selector.column_names_[c]: float(values[c]) for c in columns}
    return {
        f"{selector.column_names_[c]} ({label})": float(row[c])
        for c in columns
        for label, row in zip(selector.classes_, values, strict=True)
    }


def _coefficient(selector: Any, chosen: list[Any]) -> str:
    """What coefficients mean: what they add to, and what levels are compared with."""
    if hasattr(selector, "response_names_"):
        to = "a response" if selector.family_ == "gaussian" else "a response, on the scale of its family,"
    else:
        target = selector._target_words
        label = str(selector.classes_[-1]) if hasattr(selector, "classes_") else ""
        to = _ADDS_TO[selector.family_].format(target=target, label=label)
    told = f"Coefficient: what a unit of the variable adds to {to} in a refit on the selected ones"
    names, levels = selector.encoder_.feature_names, selector.encoder_.levels_
    first = [f"{spell(levels[f][0])} of {spell(names[f])}" for f in chosen if levels.get(f)]
    return f"{told}; levels are compared with {name_some(first)}." if first else f"{told}."


def _after_selection(selector: Any) -> str:
    if not selector._n_apart:
        return AFTER_SELECTION
    return (
        f"Standard errors are honest: the variables were selected on {selector._n_rows} rows, and their "
        f"coefficients come from {selector._n_apart} others."
    )


def _variable(selector: Any, name: str, columns: Any, inclusion: float, gain: float) -> dict[str, Any]:
    """What is told of a variable, or of a product of two."""
    coef, error = (_values_of(selector, which, columns) for which in ("coef_", "_errors"))
    # of two levels, one has a coefficient: which one, its name tells
    single = list(coef) == [name]
    return {
        "name": name,
        "inclusion": float(inclusion),
        "coef": next(iter(coef.values())) if single else coef,
        "error": next(iter(error.values())) if single else error,
        "gain": float(gain),
    }


def _products(selector: Any) -> list[dict[str, Any]]:
    """Products of two columns that were selected, like variables."""
    pairs = getattr(selector, "interactions_", [])
    first = len(selector.column_names_) - len(pairs)
    return [
        _variable(selector, pair["name"], [first + place], pair["inclusion"], pair["gain"])
        for place, pair in enumerate(pairs)
        if pair["selected"]
    ]


def _doubt(selector: Any) -> list[str]:
    """Whether the target may have been meant otherwise."""
    if selector.family == "auto" and selector.family_ == "ordinal":
        steps = name_some([spell(label) for label in selector.classes_])
        return [
            f"The labels of the target have an order ({steps}), so they were taken as classes in order. Of "
            'labels without one say family="multinomial".'
        ]
    singles = getattr(selector, "estimators_", [])
    if selector.family == "auto" and sorted(one.family_ for one in singles) == ["binomial", "gaussian"]:
        flag = next(one for one in singles if one.family_ == "binomial")
        if set(flag.classes_.tolist()) == {0, 1}:
            names = " and ".join(selector.response_names_)
            return [
                f"{names} were taken as two responses. Of a time, and whether its event has happened, say "
                'family="cox".'
            ]
    found = getattr(selector, "_class_like", [])
    if not found:
        return []
    if len(found) == 1:
        return [] if singles else [f"The target is {found[0]:g} in all rows: there is nothing to explain."]
    numbers = name_some([f"{value:g}" for value in found])
    return [
        f"The target holds {len(found)} whole numbers only ({numbers}) and was taken as an amount."
        ' Of classes say family="multinomial", of classes in order family="ordinal", of counts '
        'family="poisson".'
    ]


def _not_looked_for(selector: Any) -> list[str]:
    """What an empty selection says nothing of."""
    if len(getattr(selector, "_class_like", [])) == 1:
        return []
    products = selector.order == 1 and not isinstance(selector.search, Sarsa)
    finds = ["order=2 finds products of variables"] if products else []
    if selector.family_ in ("gaussian", "binomial", "multinomial"):
        finds.append(f"another method (ActorCriticPredictor) curves{' as well' if products else ''}")
    else:
        finds.append("squares of columns, beside them, curves")
    seen = "straight lines" if selector.order == 1 else "straight lines and products"
    return [f"Only {seen} were looked for: {' and '.join(finds)}."]


def _noise(selector: Any) -> list[str]:
    """What numbers are like that no straight line with even, normal noise explains."""
    names = getattr(selector, "response_names_", None)
    if names is None:
        return _noise_of(selector, selector._target_words)
    singles = zip(names, selector.estimators_, strict=True)
    return [note for name, single in singles for note in _noise_of(single, spell(name))]


def _noise_of(selector: Any, target: str) -> list[str]:
    notes, kind = [], getattr(selector, "noise_", {"degrees": np.inf, "unevenness": 0.0})
    common, (above, error) = getattr(selector, "_common", None), getattr(selector, "_above", (0.0, 0.0))
    if common is not None:
        value, share = common
        notes.append(
            f"In {share:.0%} of the rows {target} is {value:g}, of which a line says little: ask apart "
            f"whether it is {value:g}, and how large it is elsewhere."
        )
    found = {
        f"heavy-tailed (Student's t, degrees {kind['degrees']:g})": "far out"
        if kind["degrees"] < np.inf
        else "",
        "uneven": "noisy" if kind["unevenness"] else "",
    }
    shown = {what: rows for what, rows in found.items() if rows}
    if shown:
        notes.append(
            f"The noise of {target} is {' and '.join(shown)}: rows that are {' or '.join(shown.values())} "
            "count for less."
        )
    if abs(above) > _BEYOND_CHANCE * error:
        line = "what the selected variables say" if selector.support_.any() else "the constant"
        notes.append(
            f"On average, {target} is {short(abs(above))} {'above' if above > 0 else 'below'} {line} "
            f"({abs(above) / error:.0f} standard errors), which suits most rows and not the mean: errors "
            "lean to one side, or a curve is missed. The logarithm of a target above zero "
            "may fit better, or another method (ActorCriticPredictor), which finds curves."
        )
    return notes


def _no_error(selector: Any, chosen: list[str]) -> list[str]:
    """Whether there is nothing left to explain, as where the target is among the columns."""
    average = getattr(selector, "_average", None)
    if selector.family_ != "gaussian" or average is None or not chosen:
        return []
    if not average.refit_loss <= _NO_ERROR * np.max(selector.gain_, where=selector.support_, initial=0.0):
        return []
    return [
        f"{name_some([spell(name) for name in chosen])} {'tells' if len(chosen) == 1 else 'tell'} the target "
        "without error, as a copy of it does, or what was made of it: leave out what is not known before it."
    ]


def _weight(selector: Any) -> list[str]:
    """Whether one row speaks for many."""
    heavy = getattr(selector, "_heaviest", {})
    if not heavy:
        return []
    weight, total = heavy["weight"], heavy["total"]
    return [
        f"Weights are counts: row {heavy['row']} counts as {weight:,.6g} of {total:,.6g} rows. "
        "What it has by chance is selected as if all of these had it; if its weight means something else, "
        "leave it out."
    ]


def _one_row(selector: Any) -> list[str]:
    """Selected columns of which one row tells all."""
    fits = getattr(selector, "estimators_", [selector])
    lone = {name: value for fit in fits for name, value in getattr(fit, "_lone_columns", {}).items()}
    if not lone:
        return []
    told = name_some([f"{spell(name)} ({value:.6g})" for name, value in lone.items()])
    one = len(lone) == 1
    return [
        f"{told} {'varies' if one else 'vary'} in one row above all, where {'it is' if one else 'they are'} "
        f"what brackets say: that row alone speaks for {'it' if one else 'them'}, and may do so by chance."
    ]


def _rules(selector: Any) -> list[str]:
    """What selections had to follow."""
    said = []
    if selector.max_features is not None:
        said.append(f"at most {selector.max_features} features")
    for features, most in (selector.at_most or {}).items():
        some = list(features) if isinstance(features, tuple | frozenset) else [features]
        said.append(f"at most {most} of {name_some([str(f) for f in some])}")
    if selector.signs is not None:
        signs = selector.signs
        some = [signs] if isinstance(signs, str) else [f"{name} {sign}" for name, sign in signs.items()]
        said.append(f"coefficients of given signs ({name_some(some)})")
    notes = [f"As asked, subsets have {'; '.join(said)}."] if said else []
    if selector.order == 2:
        notes.append('A product "a:b" is that of the two columns about their means, beside both of them.')
    return notes


def _odds(selector: Any) -> list[str]:
    """That more than even odds were asked for, and of which variables that was too much."""
    choices = selector._choices
    if selector.rule != "auto" or choices.likeliest is not None:
        return []
    doubtful = selector.select(threshold=0.5) & ~selector.select()
    names = np.asarray(selector.encoder_.feature_names, dtype=object)[doubtful]
    further = f": {name_some(list(names))} would be selected by select(threshold=0.5)." if len(names) else "."
    return [
        "Of rows that belong together, a variable is selected from a probability of "
        f"{choices.cut:.2g} on, where one half would let in more false ones{further}"
    ]


def _prediction(selector: Any) -> list[str]:
    """Whether predictions are averages, and why."""
    average = selector._average
    if not np.isfinite(average.loss) or len(getattr(selector, "_class_like", [])) == 1:
        return []
    what = "squared error" if selector.family_ == "gaussian" else "minus log likelihood"
    folds, parts = selector.family_ in OUTCOMES, "stretches" if selector.time_ordered else "clusters"
    left_out = "in five held-out folds" if folds else "on rows left out one by one"
    if getattr(selector, "dependence_", None) is not None:
        one_by_one = "on stretches left out" if selector.time_ordered else "on clusters left out one by one"
        left_out = f"{left_out} of whole {parts}" if folds else one_by_one
    over = f"{average.n_subsets:,} subset" + ("s" if average.n_subsets > 1 else "")
    if average.share_of_all:
        over += f" and, with a share of {average.share_of_all:.0%}, a ridge regression on all columns"
    losses = f"{what} {' against '.join(_told_apart(average.refit_loss, average.loss))} {left_out}"
    if selector.average_:
        alone, plainly = "the selected variables alone are", "they come from the selected variables alone"
        if not selector.support_.any():
            alone, plainly = "a constant is", "the same is predicted for every row"
        return [
            f"Predictions average over {over}, since {alone} not clearly better ({losses}). With "
            f"average=False {plainly}."
        ]
    if not selector.support_.any():
        return []
    return [
        "Predictions come from the selected variables alone, which are clearly better than an average over "
        f"{over} ({losses})."
    ]


def _told_apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers with as many digits as show which is larger, as far as that is more than rounding."""
    for digits in range(4, 9):
        told = short(first, digits), short(second, digits)
        if told[0] != told[1]:
            break
    return told


def _stand_ins(groups: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": "Variables that stand in for one another",
        "columns": ["One of", "Inclusion", "Least correlation"],
        "rows": [
            [", ".join(g["features"]), round(g["inclusion"], 3), round(g["correlation"], 2)] for g in groups
        ],
        "bars": [(f"one of {name_some(g['features'], 4)}", round(g["inclusion"], 3)) for g in groups],
        "note": "One of them is in the model; which one, the data do not tell.",
    }


def path_of(found: Found) -> dict[str, NDArray]:
    """What `path_` holds: the visited subsets of all chains, in units of the table."""
    parts = [trajectory.to_dict() for trajectory in found.trajectories]
    for part, labels in zip(parts, found.labels or [None] * len(parts), strict=True):
        if labels is not None:
            action = part["action"]
            part["action"] = np.sign(action) * (np.append(labels, 0)[np.abs(action) - 1] + 1)
    path = {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}
    path["chain"] = np.repeat(np.arange(len(parts)), [len(p["size"]) for p in parts])
    return path
