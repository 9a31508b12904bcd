"""Several responses: one selection for all of them, or one for each."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rlselect._clock import PARTS, fit_clock, warn_if_interrupted
from rlselect._compat import Progress
from rlselect._estimator import rank
from rlselect._options import refuse_unused
from rlselect._parallel import one_thread
from rlselect._random import as_generator
from rlselect.data import Responses, category_order, open_responses, require_rows
from rlselect.subset.revs._coefficients import say_if_cut
from rlselect.subset.revs._found import choices_of
from rlselect.subset.revs._joint_search import search_shared
from rlselect.subset.revs._problem import Problem, pose_problem
from rlselect.subset.revs._reading import read_policy, refuse_idle, refuse_together
from rlselect.subset.revs._sarsa import Sarsa
from rlselect.subset.revs._search import expected_steps
from rlselect.subset.revs._split import split_rows
from rlselect.subset.revs._structure_options import read_structure

# what ends the searches of the other responses too
_BROKEN_OFF = ("interrupted", "callback")
# y as a word of its own, and not as the name of a column
_ABOUT_Y = re.compile(r"(?<![\w'\"])y(?![\w'\"])")


class _Portion(Progress):
    """Progress of one fit out of several, told to those who watch them all."""

    def __init__(self, report: Callable[[], bool] | None) -> None:
        self._report = report

    def begin(self, parts: int) -> Callable[[], bool] | None:
        return self._report


def fit_several(
    selector: Any, progress: Progress, given: Responses, weight: Any, offset: Any, groups: Any
) -> None:
    """Fit an unfitted `REVS` to several responses; it holds a fitted one for each in the end."""
    refuse_unused(selector, ("checkpoint", "order"), "several responses", "leave it out")
    if selector.family == "multinomial":
        _refuse_indicators(given)
    if selector.responses == "each":
        estimators = _fit_each(selector, progress, given, weight, offset, groups)
        for fitted in estimators:
            ignored = (*fitted.encoder_.ignored_names_, *given.taken)
            fitted.encoder_.ignored_names_ = tuple(dict.fromkeys(ignored))
        _keep_each(selector, given.names, estimators)
    else:
        refuse_together(selector, groups, responses="shared")
        estimators = _fit_shared(selector, progress, given, weight, offset)
    selector.estimators_, selector.response_names_ = estimators, list(given.names)
    _keep_models(selector, estimators)


def _refuse_indicators(given: Responses) -> None:
    """Columns that name the class of each row by a one are one response, which other tools take in parts."""
    if any(isinstance(values, str) for values in given.values):
        return
    columns = [np.asarray(values) for values in given.values]
    indicators = all(c.dtype.kind in "biuf" and np.isin(c, (0, 1)).all() for c in columns)
    if indicators and np.all(sum(columns) == 1):
        raise ValueError(
            f"y has {len(given)} columns of zeros and ones with a single one in every row: a class in parts, "
            "where each column would be a response of its own. Give one column that names the class of each "
            "row."
        )


def _fit_each(
    selector: Any, progress: Progress, given: Responses, weight: Any, offset: Any, groups: Any
) -> list[Any]:
    report, broken, fitted = progress.begin(PARTS * len(given)), None, []
    for i, name in enumerate(given.names):
        start, twin = time.perf_counter(), selector._unfitted_twin()
        twin.responses = "shared"
        if selector.time_budget is not None:
            # the clock counts from the beginning of the first
            twin.time_budget = selector.time_budget * (i + 1) / len(given)
        if broken:
            twin.time_budget = 1e-9
        with _named(name):
            twin._fit(_Portion(report), given.beside(i), given.values[i], weight, offset, groups)
        twin.time_budget = selector.time_budget
        if broken or twin.stop_reason_ in _BROKEN_OFF:
            broken = twin.stop_reason_ = broken or twin.stop_reason_
        fitted.append(_own(selector, twin, start))
    return fitted


def _own(selector: Any, twin: Any, start: float) -> Any:
    """A fitted selector of one response, as if the user had fitted it."""
    twin._seconds = time.perf_counter() - start
    single = selector._unfitted_twin()
    single.responses = "shared"
    single._take_over(twin)
    return single


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Inside, errors about a response name it."""
    try:
        yield
    except ValueError as error:
        if not _ABOUT_Y.search(str(error).split("(")[0]):
            raise
        raise ValueError(f"Response {name!r}: {error}") from None


def _fit_shared(selector: Any, progress: Progress, given: Responses, weight: Any, offset: Any) -> list[Any]:
    name, start = type(selector).__name__, time.perf_counter()
    if isinstance(selector.search, Sarsa):
        raise ValueError(
            "search=Sarsa(...) was given with several responses, for which it knows no common subset; use "
            "responses='each', or search='auto'."
        )
    refuse_unused(selector, ("min_effect",), "several responses", "leave it out: all rows are used")
    refuse_unused(selector, ("signs",), "one selection for several responses", "use responses='each'")
    rng = as_generator(selector.random_state)
    policy = read_policy(selector)
    problems = _pose(selector, given, weight, offset, rng)
    apart: list[Problem] | None = None
    if selector.inference == "split":
        problems, apart = split_rows(problems, rng)
    first = problems[0]
    with (
        one_thread(),
        fit_clock(
            selector.time_budget, expected_steps(first, selector.search), progress.begin(PARTS)
        ) as clock,
    ):
        found, each = search_shared(
            problems,
            policy=policy,
            penalty=None if selector.penalty == "auto" else float(selector.penalty),
            n_jobs=selector.n_jobs,
            rng=rng,
            clock=clock,
        )
    warn_if_interrupted(found.stop_reason, name, f"{found.n_stages} stages")
    choices = choices_of(first, found)
    support = choices.by(selector.rule)
    estimators = []
    with clock.afterwards() as rest:
        for i, (problem, own) in enumerate(zip(problems, each, strict=True)):
            own.support, twin = support, selector._unfitted_twin()
            twin._choices = choices
            twin._keep(problem, own)
            twin._refit(problem, own, None if apart is None else apart[i], rng)
            estimators.append(_own(selector, twin, start))
    selector._choices = choices
    selector._keep(first, each[0])
    say_if_cut(selector, rest)
    return estimators


def _pose(
    selector: Any, given: Responses, weight: Any, offset: Any, rng: np.random.Generator
) -> list[Problem]:
    """The same rows and units with each of the responses."""
    name = type(selector).__name__
    table, targets = open_responses(
        given, sample_weight=weight, offset=offset, missing=selector.missing, owner=name
    )
    weights = table.sample_weight
    require_rows(table.n_rows if weights is None else int(np.count_nonzero(weights)), 3, name)
    table.start(rng)
    problems = []
    said = [category_order(given.X, values) for values in given.values]
    for response, y, order in zip(given.names, targets, said, strict=True):
        with _named(response):
            problem = pose_problem(
                table.with_target(y),
                family=selector.family,
                feature_groups=selector.feature_groups,
                always_select=selector.always_select,
                never_select=selector.never_select,
                ties=selector.ties,
                order=order if selector.family in ("auto", "ordinal") else None,
                signed=selector.signs is not None,
            )
        refuse_idle(selector, problem.family, offset)
        problem.structure = read_structure(selector, problem)
        problems.append(problem)
    return problems


def _keep_each(selector: Any, names: list[str], fitted: list[Any]) -> None:
    """What holds for all responses together, of a selection for each."""
    first = fitted[0]
    selector.encoder_ = first.encoder_
    selector._keep_names(first.n_features_in_, getattr(first, "feature_names_in_", None))
    selector.column_names_ = first.column_names_
    selector.support_by_response_ = np.array([f.support_ for f in fitted])
    selector.inclusion_by_response_ = np.array([f.inclusion_ for f in fitted])
    selector.support_ = selector.support_by_response_.any(axis=0)
    # that it belongs in the model of one response or more
    selector.inclusion_ = 1.0 - np.prod(1.0 - selector.inclusion_by_response_, axis=0)
    selector.n_stages_ = sum(f.n_stages_ for f in fitted)
    selector.n_rows_read_ = max(f.n_rows_read_ for f in fitted)
    selector.n_rows_decoded_ = sum(f.n_rows_decoded_ for f in fitted)
    selector.n_rows_seen_ = max(f.n_rows_seen_ for f in fitted)
    selector.detectable_ = np.fmax.reduce([f.detectable_ for f in fitted])
    reasons = [f.stop_reason_ for f in fitted]
    early = [r for r in reasons if r in (*_BROKEN_OFF, "time budget")]
    selector.stop_reason_ = (early or reasons)[0]
    lengths = [len(f.path_["size"]) for f in fitted]
    selector.path_ = {key: np.concatenate([f.path_[key] for f in fitted]) for key in first.path_}
    selector.path_["response"] = np.repeat(np.arange(len(fitted)), lengths)
    selector.credible_groups_ = [
        {**group, "response": name}
        for name, f in zip(names, fitted, strict=True)
        for group in f.credible_groups_
    ]
    selector._n_rows = first._n_rows


def _keep_models(selector: Any, fitted: list[Any]) -> None:
    """Coefficients of all responses, a row each."""
    families = {f.family_ for f in fitted}
    selector.family_ = families.pop() if len(families) == 1 else "mixed"
    for name in ("noise_", "classes_"):
        selector.__dict__.pop(name, None)
    if all(hasattr(f, "classes_") for f in fitted):
        selector.classes_ = [f.classes_ for f in fitted]
    if not hasattr(selector, "support_by_response_"):
        selector.support_by_response_ = np.tile(selector.support_, (len(fitted), 1))
        selector.inclusion_by_response_ = np.tile(selector.inclusion_, (len(fitted), 1))
    for name in ("coef_", "intercept_", "coef_average_", "intercept_average_", "average_", "dispersion_"):
        setattr(selector, name, _stacked([getattr(f, name) for f in fitted]))
    selector.gain_ = np.array([f.gain_ for f in fitted])
    selector._n_apart = fitted[0]._n_apart
    # losses of different units: each in shares of the largest
    gains = np.nan_to_num(selector.gain_, nan=0.0)
    worth = (gains / np.maximum(np.abs(gains).max(axis=1, keepdims=True), 1e-300)).mean(axis=0)
    selector.ranking_ = rank(selector.inclusion_.round(12), worth, support=selector.support_)


def _stacked(values: list[Any]) -> Any:
    """An array with a row per response, or a list where these differ in shape."""
    same = len({np.shape(v) for v in values}) == 1
    return np.array(values) if same else values
