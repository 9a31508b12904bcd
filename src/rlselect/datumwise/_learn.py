"""From rows to a policy: units worth learning about, codes of their values, and the search."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import present_clock
from rlselect._limits import seconds_for, slower_here
from rlselect.data import spread_rows
from rlselect.datumwise._encoding import ValueEncoder, make_encoder
from rlselect.datumwise._exact import can_solve, solve
from rlselect.datumwise._learned import Learned, Stop, never
from rlselect.datumwise._levels import with_levels
from rlselect.datumwise._network_inputs import ScoreEncoder
from rlselect.datumwise._network_learn import learn_networks
from rlselect.datumwise._paper_iteration import iterate_as_paper
from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._policy_iteration import iterate_policies
from rlselect.datumwise._problem import CaseRows, PurchaseProblem, closed_units, merge_rows, zero_units
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._screen import quick_trends, screen_features, screen_units, with_needs
from rlselect.datumwise._settings import NetworkTraining, PaperIteration, PolicyIteration

__all__ = ["CaseTable", "LearningTask", "learn_policy", "resolve", "sums_win"]

Search: TypeAlias = PolicyIteration | PaperIteration | NetworkTraining
Additive: TypeAlias = Literal["bins", "linear"]

# of a time budget, for the choice among very many units, and how many of them tell how long one takes
_FOR_SCREENING, _TIMED = 0.25, 100
# cells of a table that a second of a budget has room for, on the machine of the benchmarks, and rows that are
# taken in any case; of a budget, for the regressions of the paper
_CELLS_A_SECOND, _MANY_ROWS, _FOR_PAPER = 750_000.0, 2000, 0.4
# of a time budget, where networks learn as well
_FOR_BINS = 0.3
# seconds per row and feature that networks take at least, to learn a little and to be judged at all prices;
# of more features than that few are bought
_TO_JUDGE, _MOST_JUDGED = 6e-5, 250

# by how much sums have to be better, as a share of what the worst answer costs more than the best: that many
# times the units per row, as sums are the best of many policies on the rows left out, which look the better
# the more there is to choose from; and so many standard errors, as few rows left out cannot tell, and
# networks are the better ones more often than not: they are judged one by one, and answer together
_CLEARLY, _CHOSEN, _ERRORS = 0.01, 0.1, 0.5


@dataclass(frozen=True)
class LearningTask:
    """What is to be learned, how and where; "auto" has the search of the sums, and networks too."""

    scoring: Literal["bins", "linear", "network", "auto"]
    search: Search
    device: str = "cpu"

    @property
    def screen(self) -> int | None:
        """Most units to learn about."""
        return None if isinstance(self.search, PaperIteration) else self.search.screen

    @property
    def n_steps(self) -> int:
        """How often learning tells that it goes on."""
        if isinstance(self.search, NetworkTraining):
            return len(self.search.lengths(np.inf))
        return self.search.n_iter * getattr(self.search, "n_restarts", 1)


def resolve(scoring: str, search: Literal["auto"] | Search, device: str = "cpu") -> LearningTask:
    """The task that options describe, if they fit together."""
    if isinstance(search, str):
        search_for = NetworkTraining() if scoring == "network" else PolicyIteration()
        return LearningTask(scoring, search_for, device)  # type: ignore[arg-type]
    networks = isinstance(search, NetworkTraining)
    if scoring == "auto":
        scoring = "network" if networks else "bins"
    if networks != (scoring == "network"):
        fix = "PolicyIteration(...) or PaperIteration(...)" if networks else "NetworkTraining(...)"
        raise ValueError(
            f"search={type(search).__name__}(...) came with scoring={scoring!r}, which it cannot learn; "
            f"use search={fix}, or leave one of the two out."
        )
    return LearningTask(scoring, search, device)  # type: ignore[arg-type]


@dataclass(frozen=True)
class CaseTable:
    """Training rows as numbers.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Codes of `CodedFeatures`.
    labels, weights : (n,) arrays
        True classes and weights.
    rules : PurchaseRules
        Of all units.
    levels : mapping
        Feature -> its levels, for categories.
    n_bins : int or sequence of int
        Bins per feature at most.
    """

    X: Any
    labels: NDArray
    weights: NDArray
    rules: PurchaseRules
    levels: Mapping[int, list[str]]
    n_bins: int | Sequence[int]

    def in_time(self) -> "CaseTable":
        """The table, or as many of its rows as there is time to learn from, spread over the answers."""
        left, n = present_clock().left, len(self.labels)
        if left is None:
            return self
        count = max(int(_CELLS_A_SECOND * max(left, 0.0) / slower_here() / self.X.shape[1]), _MANY_ROWS)
        if count >= n:
            return self
        rows = spread_rows(self.labels, count, classes=True)
        return replace(self, X=self.X[rows], labels=self.labels[rows], weights=self.weights[rows])

    def screen_for(self, task: LearningTask) -> int | None:
        """Most units to learn about; the paper knows no such limit, unless there is no time for all."""
        left, most = present_clock().left, self.rules.n_units
        if not isinstance(task.search, PaperIteration) or left is None:
            return task.screen
        states = len(self.labels) * task.search.states_per_row
        codes = np.full(self.X.shape[1], 1.0 if task.scoring == "linear" else float(np.max(self.n_bins)))
        for j, levels in self.levels.items():
            codes[j] = len(levels)
        width = float(codes.sum()) / most
        while most > 1 and seconds_for(4.0 * most * states * (most * width + 1.0) ** 2) > _FOR_PAPER * left:
            most -= -(-most // 10)
        return most

    def units_in_time(self, most: int | None) -> NDArray:
        """Units to choose from: all, or where time is short those that a glance holds for the best."""
        every, left = np.arange(self.rules.n_units), present_clock().left
        if most is None or len(every) <= max(most, _TIMED) or left is None:
            return every
        began = time.perf_counter()
        self.units_to_learn(1, every[:_TIMED])
        number = int(_FOR_SCREENING * max(left, 0.0) * _TIMED / (time.perf_counter() - began))
        if number >= len(every):
            return every
        trends = quick_trends(self.X, self.labels, self.weights, self.rules.values)
        alone = np.array([trends[group].max() for group in self.rules.groups])
        keep = np.zeros(len(every), dtype=bool)
        keep[np.argsort(-alone, kind="stable")[: max(number, _TIMED)]] = True
        return np.flatnonzero(with_needs(keep, self.rules.needs))

    def units_to_learn(self, most: int | None, among: NDArray) -> NDArray:
        """Those of some units that tell most about the class each alone, and what these need."""
        if most is None or len(among) <= most:
            return among
        told = self._told(self.rules.columns(among))
        return among[screen_units(rules=self.rules.subset(among), most=most, **told)]

    def thinned(self, most: int | None, known: NDArray) -> "CaseTable":
        """The table with those features of groups that tell more about the class than chance, each alone.

        A feature of a group that is bought is no further choice, only more to learn: there may be
        `PLAN.features_per_unit` times as many as there may be units.
        """
        columns = np.unique(self.rules.columns(known))
        if most is None or len(columns) <= most or self.rules.is_ungrouped:
            return self
        groups = [np.searchsorted(columns, self.rules.groups[u]) for u in known]
        learned = np.zeros(self.X.shape[1], dtype=bool)
        most = PLAN.features_per_unit * most
        told = self._told(columns)
        learned[columns] = screen_features(groups=groups, most=most, values=self.rules.values, **told)
        return replace(self, rules=replace(self.rules, learned=learned))

    def _told(self, columns: NDArray) -> dict[str, Any]:
        """These features as bins, and what they are compared with."""
        X = self.X if np.array_equal(columns, np.arange(self.X.shape[1])) else self.X[:, columns]
        encoder = self._fit_encoder("bins", X, columns)
        return {
            "codes": encoder.encode(X),
            "labels": self.labels,
            "weights": self.weights,
            "unordered": frozenset(self._n_levels(columns)),
            "missing": encoder.width_,
        }

    def pose(self, known: NDArray, scoring: Additive) -> PurchaseProblem:
        """A problem about the known units, equal rows merged."""
        columns = self.rules.columns(known)
        X, rules = self.X[:, columns], self.rules.subset(known)
        encoder = self._fit_encoder(scoring, X, columns)
        closed, skipped = closed_units(X, rules), zero_units(X, rules)
        problem = PurchaseProblem(
            rules, encoder, encoder.encode(X), closed, self.labels, self.weights, skipped
        )
        return merge_rows(problem)

    def pose_for_networks(self, known: NDArray) -> CaseRows:
        """The same with the codes that networks see."""
        columns = self.rules.columns(known)
        X, rules = self.X[:, columns], self.rules.subset(known)
        encoder = ScoreEncoder().fit(X, self.weights, self._n_levels(columns))
        closed = closed_units(X, rules)
        return merge_rows(CaseRows(rules, encoder, encoder.encode(X), closed, self.labels, self.weights))

    def _fit_encoder(self, scoring: Additive, X: Any, columns: NDArray) -> ValueEncoder:
        """An encoder of X, whose columns are these features."""
        encoder = make_encoder(scoring, self.n_bins).fit(X, self.weights)
        return with_levels(encoder, self._n_levels(columns))

    def _n_levels(self, columns: NDArray) -> dict[int, int]:
        """How many levels there are in each of these features that is a category, by its place."""
        return {k: len(self.levels[j]) for k, j in enumerate(columns.tolist()) if j in self.levels}


def learn_policy(
    table: CaseTable,
    known: NDArray,
    task: LearningTask,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    stop: Stop = never,
) -> tuple[CaseRows, Learned]:
    """A policy for the known units, and the rows as it has met them."""
    if isinstance(task.search, NetworkTraining):
        rows = table.pose_for_networks(known)
        return rows, learn_networks(rows, task.search, rng, n_jobs, stop, task.device)
    problem = table.pose(known, "linear" if task.scoring == "linear" else "bins")
    if isinstance(task.search, PaperIteration):
        learned = iterate_as_paper(problem, task.search, rng, stop)
    elif can_solve(problem, task.search.exact_states):
        return problem, solve(problem)
    elif task.scoring == "auto" and problem.rules.budget != 0:
        return _learn_best(table, known, problem, task.search, rng, n_jobs, stop, task.device)
    else:
        learned = iterate_policies(problem, task.search, rng, n_jobs, stop)
    learned.scoring = "linear" if task.scoring == "linear" else "bins"
    return problem, learned


def sums_win(leads: NDArray, cost: float, n_units: int, n_rows: float) -> bool:
    """Whether sums, with which a case has this cost, are clearly better in all that they are compared by.

    In shares of what the worst answer costs more than the best.
    """
    cost = min(max(cost, 0.0), 1.0)
    # that of a share, which costs between those of the best and the worst answer cannot exceed
    error = float(np.sqrt(cost * (1.0 - cost) / n_rows))
    return float(np.min(leads)) > max(_CLEARLY, _CHOSEN * n_units / n_rows + _ERRORS * error)


def _leads(sums: Learned, networks: Learned, rules: PurchaseRules) -> list[float]:
    """By how much sums are better at their prices and, where all cost the same, along the whole frontier.

    Sums are learned for their prices, and at others they can be far behind.
    """
    leads = [sums.worth(rules.even_costs) - networks.worth(rules.even_costs)]
    if sums.height is None or networks.height is None:
        return leads
    return [*leads, sums.height() - networks.height()]


def _learn_best(
    table: CaseTable,
    known: NDArray,
    problem: PurchaseProblem,
    search: PolicyIteration,
    rng: np.random.Generator,
    n_jobs: int | None,
    stop: Stop,
    device: str,
) -> tuple[CaseRows, Learned]:
    """Sums of bins or of lines, or networks, whichever does better on rows left out."""
    for_bins, for_networks, for_lines = rng.spawn(3)
    left = present_clock().left
    least = 1.0 + _TO_JUDGE * len(problem.labels) * min(len(known), _MOST_JUDGED)
    hurried = left is not None and (1.0 - _FOR_BINS) * left < least
    bins = _learn_sums(problem, "bins", search, for_bins, n_jobs, stop, None if hurried else _FOR_BINS)
    if hurried:
        bins.reason = f"time budget, no time for networks; {bins.reason}"
    if hurried or stop():
        return problem, bins
    tried: list[tuple[CaseRows, Learned]] = [(problem, bins)]
    # they win least often, so that a time budget is for the others
    if left is None:
        # lines have few numbers to learn, and labels are enough for them
        search, lines = replace(search, soft_labels=False), table.pose(known, "linear")
        tried.append((lines, _learn_sums(lines, "linear", search, for_lines, n_jobs, stop, None)))
    even = problem.rules.even_costs
    sums = max(tried, key=lambda pair: pair[1].worth(even))
    if stop():
        return sums
    rows = table.pose_for_networks(known)
    networks = rows, learn_networks(rows, NetworkTraining(), for_networks, n_jobs, stop, device)
    scale = float(np.ptp(problem.rules.losses)) or 1.0
    leads = np.array(_leads(sums[1], networks[1], problem.rules)) / scale
    sizes = table.rules.n_units, float(problem.weights.sum())
    first = sums if sums_win(leads, -sums[1].worth(even) / scale, *sizes) else networks
    rest = [one for _, one in [networks, *tried] if one is not first[1]]
    others = [f"with {one.scoring} {-one.worth(even):.4g}" for one in rest]
    first[1].words += f" (on rows left out a case costs {-first[1].worth(even):.4g}; {', '.join(others)})"
    return first


def _learn_sums(
    problem: PurchaseProblem,
    scoring: Additive,
    search: PolicyIteration,
    rng: np.random.Generator,
    n_jobs: int | None,
    stop: Stop,
    share: float | None,
) -> Learned:
    """Additive scores, in a share of the time that is left or, with None, in all of it."""
    with nullcontext() if share is None else present_clock().part(share) as clock:
        until = stop if clock is None else lambda: clock.tick() is not None
        learned = iterate_policies(problem, search, rng, n_jobs, until)
    learned.scoring = learned.words = scoring
    return learned
