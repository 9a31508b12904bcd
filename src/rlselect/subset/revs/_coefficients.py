"""What a selector keeps of the model of the selected columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock, warn_if_interrupted
from rlselect.data import lone_number
from rlselect.subset.revs._autocorrelation import warn_if_alike
from rlselect.subset.revs._average import average_subsets
from rlselect.subset.revs._dependence import Dependence, count_same_throughout
from rlselect.subset.revs._final import final_model
from rlselect.subset.revs._found import Found
from rlselect.subset.revs._noise import above_the_model
from rlselect.subset.revs._outcome_model import OutcomeModel, outcome_model
from rlselect.subset.revs._problem import COUNTS, Problem
from rlselect.subset.revs._split import refit_apart

# rows of which none can be most of what a column is for long
_MOST_ROWS = 100_000


def set_coefficients(
    selector: Any, problem: Problem, found: Found, apart: Problem | None, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Set the coefficients; held-out gains of the units."""
    selector._n_apart = 0
    if problem.outcome is not None:
        model = outcome_model(problem, found, apart, rng)
        _keep_outcome(selector, problem, model, apart)
        return model.gains
    columns, fit, gains = final_model(problem, found, rng)
    _keep_dependence(selector, problem, found.dependence)
    warn_if_alike(problem, columns, fit)
    selector._above = above_the_model(found.noise, columns, fit)
    selector._lone_columns = _lone_columns(problem, columns)
    if apart is not None:
        (columns, fit), selector._n_apart = refit_apart(apart, columns), apart.table.n_rows
    selector.coef_ = np.zeros(len(selector.column_names_))
    selector.coef_[columns] = fit.coef
    selector.intercept_ = fit.intercept
    selector._errors = np.zeros(len(selector.column_names_))
    selector._errors[columns] = fit.errors
    selector.dispersion_ = fit.dispersion
    if selector.family_ in COUNTS:
        selector.overdispersion_ = fit.overdispersion
    selector._average = average = average_subsets(problem, found, columns, fit)
    selector.coef_average_ = np.zeros(len(selector.column_names_))
    selector.coef_average_[average.columns] = average.coef
    selector.intercept_average_ = average.intercept
    selector.average_ = bool(average.serves) and not problem.is_limited
    return gains


def _lone_columns(problem: Problem, columns: NDArray[np.intp]) -> dict[str, float]:
    """Selected columns that vary in one row above all, and what they are there; of rows that are not many."""
    table, owner = problem.table, problem.table.encoder.column_feature_
    # of the levels of a category, some may well be rare
    alone = columns[columns < len(owner)]
    alone = alone[np.bincount(owner)[owner[alone]] == 1]
    if not table.in_memory or table.n_rows > _MOST_ROWS or not len(alone):
        return {}
    X, _, weight, *_ = table.take(slice(0, table.n_rows), alone)
    values = np.asarray(X.toarray() if table.is_sparse else X, dtype=np.float64)
    values = values if weight is None else values[weight > 0]
    found = zip(alone, map(lone_number, values.T), strict=True)
    return {table.columns[j]: lone[0] for j, lone in found if lone is not None}


def say_if_cut(selector: Any, rest: Clock, some: str = "") -> None:
    """Say it where time or Ctrl-C has cut the average over subsets and its comparisons short.

    `some` tells how many of the rows there was time for, if not for all.
    """
    if selector.stop_reason_ == "interrupted":
        return
    if rest.reason is not None:
        selector.stop_reason_ = rest.reason
        warn_if_interrupted(rest.reason, type(selector).__name__, f"{selector.n_stages_} stages")
    if some and rest.reason != "interrupted":
        selector.stop_reason_ = f"time budget, {some}"


def _keep_dependence(selector: Any, problem: Problem, dependence: Dependence | None) -> None:
    if dependence is None:
        return
    selector.dependence_ = dependence.as_dict()
    codes = problem.belonging.codes
    if codes is not None:
        selector.dependence_["same_throughout"] = count_same_throughout(problem.table, codes)


def _keep_outcome(selector: Any, problem: Problem, model: OutcomeModel, apart: Problem | None) -> None:
    selector._n_apart = 0 if apart is None else apart.table.n_rows
    selector.coef_, selector.intercept_, selector._errors = model.refit
    selector.coef_average_, selector.intercept_average_, _ = model.average
    selector.dispersion_ = 1.0
    _keep_dependence(selector, problem, model.dependence)
    selector._average = model.averaged
    selector.average_ = bool(model.averaged.serves) and not problem.is_limited
    if problem.family == "cox":
        selector._baselines = model.baselines
        times = [curve[0] for curve in model.baselines["refit"]]
        selector.event_times_ = np.unique(np.concatenate(times))
