"""From rows to a policy: units worth learning about, codes of their values, and the search."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rlselect.datumwise._encoding import ValueEncoder, make_encoder
from rlselect.datumwise._exact import can_solve, solve
from rlselect.datumwise._learned import Learned, Stop, never
from rlselect.datumwise._levels import with_levels
from rlselect.datumwise._paper_iteration import iterate_as_paper
from rlselect.datumwise._policy_iteration import iterate_policies
from rlselect.datumwise._problem import PurchaseProblem, closed_units, merge_rows, zero_units
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._screen import screen_units
from rlselect.datumwise._settings import PaperIteration, PolicyIteration

__all__ = ["learn_purchases", "pose_problem", "units_to_learn"]

Bins = int | Sequence[int]


def units_to_learn(
    X: Any,
    labels: NDArray,
    weights: NDArray,
    rules: PurchaseRules,
    levels: Mapping[int, list[str]],
    n_bins: Bins,
    most: int | None,
) -> NDArray:
    """Units that tell most about the class each alone, at most so many and what these need."""
    if most is None or rules.n_units <= most:
        return np.arange(rules.n_units)
    encoder = _fit_encoder("bins", n_bins, X, weights, np.arange(X.shape[1]), levels)
    return screen_units(encoder.encode(X), labels, weights, rules, most)


def pose_problem(
    X: Any,
    labels: NDArray,
    weights: NDArray,
    rules: PurchaseRules,
    known: NDArray,
    levels: Mapping[int, list[str]],
    scoring: Literal["bins", "linear"],
    n_bins: Bins,
) -> PurchaseProblem:
    """Rows (n, d) with their labels and weights as a problem about the known units, equal rows merged."""
    columns = rules.columns(known)
    X, rules = X[:, columns], rules.subset(known)
    encoder = _fit_encoder(scoring, n_bins, X, weights, columns, levels)
    closed, skipped = closed_units(X, rules), zero_units(X, rules)
    return merge_rows(PurchaseProblem(rules, encoder, encoder.encode(X), closed, labels, weights, skipped))


def _fit_encoder(
    scoring: Literal["bins", "linear"],
    n_bins: Bins,
    X: Any,
    weights: NDArray,
    columns: NDArray,
    levels: Mapping[int, list[str]],
) -> ValueEncoder:
    """An encoder of X, whose columns are these features; `levels` of those that are categories."""
    n_levels = {k: len(levels[j]) for k, j in enumerate(columns.tolist()) if j in levels}
    return with_levels(make_encoder(scoring, n_bins).fit(X, weights), n_levels)


def learn_purchases(
    problem: PurchaseProblem,
    search: PolicyIteration | PaperIteration,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    stop: Stop = never,
) -> Learned:
    """Solve a problem exactly where it is small, and by iteration otherwise."""
    if isinstance(search, PaperIteration):
        return iterate_as_paper(problem, search, rng, stop)
    if can_solve(problem, search.exact_states):
        return solve(problem)
    return iterate_policies(problem, search, rng, n_jobs, stop)
