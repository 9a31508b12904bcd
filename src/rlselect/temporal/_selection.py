"""Backward selection of terms."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from rlselect.temporal._results import Selection
from rlselect.temporal._tests import FlaggedTimeWarning


def backward(
    model: Any, alpha: float, test: str, keep: list[str], n_draws: int, rng: np.random.Generator
) -> Selection:
    """See `TemporalProcessRegression.backward_selection`."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, given {alpha}")
    design = model._design
    for name in keep:
        if name not in design.terms:
            raise ValueError(f"keep names {name!r}, which is not a term; terms: {', '.join(design.terms)}")
    terms, current = list(design.terms), model
    dropped: list[str] = []
    rows: list[dict[str, Any]] = []
    seed = int(rng.integers(2**63))
    while True:
        found = _test_all(
            current, _droppable(terms, design.factors, keep), test, n_draws, seed, warn=not rows
        )
        if not found:
            break
        worst = max(found, key=lambda name: (found[name].pvalue, -found[name].statistic))
        leaves = found[worst].pvalue > alpha
        step = len(dropped) + 1
        for name, result in found.items():
            rows.append(
                {
                    "step": step,
                    "term": name,
                    "statistic": result.statistic,
                    "df": result.df,
                    "pvalue": result.pvalue,
                    "action": "drop" if leaves and name == worst else "keep",
                }
            )
        if not leaves:
            break
        terms.remove(worst)
        dropped.append(worst)
        if not terms:
            raise ValueError(
                "every term was dropped and the formula has no intercept: nothing is left to fit; "
                "add an intercept or name a term in keep"
            )
        current = _refit(model, terms)
    import pandas as pd

    columns = ["step", "term", "statistic", "df", "pvalue", "action"]
    return Selection(
        current, [t for t in terms if t != "Intercept"], dropped, pd.DataFrame(rows, columns=columns)
    )


def _droppable(terms: list[str], factors: dict[str, frozenset[str]], keep: list[str]) -> list[str]:
    """Terms that are not kept, not the intercept, and not part of a larger term."""
    return [
        name
        for name in terms
        if name != "Intercept"
        and name not in keep
        and not any(factors[name] < factors[other] for other in terms)
    ]


def _test_all(
    model: Any, names: list[str], test: str, n_draws: int, seed: int, *, warn: bool
) -> dict[str, Any]:
    out = {}
    for first, name in enumerate(names):
        with warnings.catch_warnings():
            # the flagged times are the same for every term of a step: said once
            if first or not warn:
                warnings.simplefilter("ignore", FlaggedTimeWarning)
            out[name] = model.test(name, kind=test, n_draws=n_draws, random_state=seed)
    return out


def _refit(model: Any, terms: list[str]) -> Any:
    design = model._design
    positions = sorted(k for t in terms for k in design.terms[t])
    reduced = design.columns(positions, terms=terms)
    new = clone(model)
    if model.formula is not None:
        shown = [t for t in terms if t != "Intercept"]
        right = " + ".join((["1"] if "Intercept" in terms else ["0"]) + shown)
        new.formula = f"{model.formula.split('~')[0].strip()} ~ {right}"
    if model.constant is not None:
        named = [model.constant] if isinstance(model.constant, str) else model.constant
        left = [c for c in named if c in reduced.names or c in reduced.terms]
        new.constant = left or None
    return new._fit_design(reduced, model._time_name)
