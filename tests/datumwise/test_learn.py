"""Which scoring is learned, and what "auto" keeps."""

from dataclasses import replace

import numpy as np
import pytest
from problems import FAST, improved, make_problem

from rlselect import DatumwiseClassifier
from rlselect.datumwise import NetworkTraining, PaperIteration, PolicyIteration, _learn
from rlselect.datumwise._encoding import BinEncoder
from rlselect.datumwise._folds import frontier_height
from rlselect.datumwise._learn import resolve, sums_win
from rlselect.datumwise._network_frontier import height
from rlselect.datumwise._plan import NETWORK
from rlselect.datumwise._policy_iteration import iterate_policies


@pytest.mark.parametrize(
    ("scoring", "search", "learned", "kind"),
    [
        ("bins", "auto", "bins", PolicyIteration),
        ("network", "auto", "network", NetworkTraining),
        ("auto", "auto", "auto", PolicyIteration),
        ("auto", PolicyIteration(), "bins", PolicyIteration),
        ("auto", NetworkTraining(), "network", NetworkTraining),
        ("linear", PaperIteration(), "linear", PaperIteration),
    ],
)
def test_scoring_and_search_name_each_other(scoring, search, learned, kind):
    task = resolve(scoring, search)
    assert task.scoring == learned
    assert isinstance(task.search, kind)


def quick_auto(monkeypatch, **merits):
    """Both learners in brief; `merits` of the rows that they learn from in place of theirs, at any price."""
    brief = {
        "PolicyIteration": lambda: PolicyIteration(n_iter=2, n_restarts=1, states_per_row=6),
        "NetworkTraining": lambda: NetworkTraining(steps=60, n_members=2, hidden=16, batch=32),
    }
    for name, make in brief.items():
        monkeypatch.setattr(
            _learn, name, type(name, (getattr(_learn, name),), {"__new__": lambda cls, make=make: make()})
        )
    for name, merit in merits.items():
        whole = getattr(_learn, name)

        def changed(*args, whole=whole, merit=merit):
            learned = whole(*args)
            learned.merit = merit(args[0])
            if learned.height is not None:
                learned.height = lambda: learned.merit
            return learned

        monkeypatch.setattr(_learn, name, changed)


@pytest.mark.parametrize("winner", ["bins", "linear", "network"])
def test_auto_keeps_what_does_better_on_rows_left_out(winner, monkeypatch):
    costs = {"bins": 0.3, "linear": 0.25, "network": 0.2, winner: 0.1}
    quick_auto(
        monkeypatch,
        iterate_policies=lambda problem: (
            -costs["bins" if isinstance(problem.encoder, BinEncoder) else "linear"]
        ),
        learn_networks=lambda rows: -costs["network"],
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    model = DatumwiseClassifier(scoring="auto", random_state=0).fit(X, X[:, 0] > 0)
    assert model.scoring_ == winner
    facts = model.summary().dict["facts"]["Scores"]
    assert facts.startswith(winner)
    assert "a case costs 0.1;" in facts
    assert all(f"with {name} {cost:.4g}" in facts for name, cost in costs.items() if name != winner)
    assert model.score(X, X[:, 0] > 0) > 0.6


def test_with_costs_what_is_paid_decides(monkeypatch):
    """Merits speak for networks, values for bins."""
    quick_auto(monkeypatch, iterate_policies=lambda rows: -0.5, learn_networks=lambda rows: -0.1)
    for name, value in (("iterate_policies", -0.1), ("learn_networks", -0.5)):
        whole = getattr(_learn, name)

        def changed(*args, whole=whole, value=value):
            learned = whole(*args)
            learned.value = value
            return learned

        monkeypatch.setattr(_learn, name, changed)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    for costs, kept in (({}, "network"), ({"costs": [0.01, 0.01, 0.02, 0.01]}, "bins")):
        assert DatumwiseClassifier(random_state=0, **costs).fit(X, X[:, 0] > 0).scoring_ == kept


def test_small_problems_are_solved_whatever_the_rest():
    X = np.random.default_rng(0).integers(0, 2, size=(200, 3))
    model = DatumwiseClassifier(scoring="auto", random_state=0).fit(X, X[:, 0] ^ X[:, 1])
    assert model.scoring_ == "table"
    assert model.score(X, X[:, 0] ^ X[:, 1]) == 1.0


def test_merits_are_means_over_rows_left_out():
    """Merit is the value with the half of the answers' cost replaced by that of drawn answers."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    found = {}
    whole = _learn.iterate_policies

    def kept(problem, *args):
        found["learned"] = whole(problem, *args)
        return found["learned"]

    _learn.iterate_policies, search = (
        kept,
        PolicyIteration(n_iter=2, n_restarts=1, states_per_row=6, exact_states=0),
    )
    try:
        DatumwiseClassifier(search=search, random_state=0).fit(X, y)
    finally:
        _learn.iterate_policies = whole
    learned = found["learned"]
    # drawn answers are wrong more often than the best ones, by less than all
    assert learned.value - 0.5 < learned.merit < learned.value


def test_a_time_budget_is_shared():
    X = np.random.default_rng(0).normal(size=(150, 6))
    model = DatumwiseClassifier(scoring="auto", time_budget=1.0, random_state=0).fit(X, X[:, 0] > 0)
    assert model.stop_reason_.startswith("time budget")
    assert model.scoring_ == "bins"
    assert model.score(X, X[:, 0] > 0) > 0.6


def test_sums_have_to_be_the_better_the_more_there_is_to_choose_from():
    assert sums_win([0.02], cost=0.10, n_units=10, n_rows=1000)
    assert not sums_win([0.005], cost=0.10, n_units=10, n_rows=1000)
    assert not sums_win([0.02], cost=0.10, n_units=60, n_rows=100)
    assert sums_win([0.09], cost=0.10, n_units=60, n_rows=100)


def test_sums_have_to_be_the_better_the_less_rows_can_tell():
    assert sums_win([0.02], cost=0.30, n_units=6, n_rows=1000)
    assert not sums_win([0.02], cost=0.30, n_units=6, n_rows=100)
    assert sums_win([0.02], cost=0.02, n_units=6, n_rows=100)


def test_sums_have_to_be_better_along_the_whole_frontier():
    assert sums_win([0.05, 0.03], cost=0.2, n_units=6, n_rows=1000)
    assert not sums_win([0.05, 0.001], cost=0.2, n_units=6, n_rows=1000)


def test_heights_are_those_of_policies_that_see_other_prices():
    """A naive twin: every row by itself, at prices that are really those."""
    problem = make_problem(40, 5, price=0.05)
    folds = np.arange(40) % 3
    policies = improved(problem, FAST, folds)
    points = []
    for price in np.geomspace(NETWORK.prices[0][0], NETWORK.dearest[0], NETWORK.grid):
        rules = replace(problem.rules, prices=np.full(5, price))
        worth, unused = np.empty((2, 40))
        for row, fold in enumerate(folds):
            policy = policies[fold].at(rules)
            case = problem.codes[[row]]
            episode = policy.run(case, problem.closed[[row]])
            right = policy.probabilities(case, episode.bought)[0, problem.labels[row]]
            worth[row] = -((episode.answer[0] != problem.labels[row]) + 1.0 - right) / 2
            unused[row] = 1.0 - episode.bought.mean()
        points.append((unused.mean(), worth.mean()))
    assert frontier_height(problem, policies, folds) == pytest.approx(height(*np.transpose(points)))


@pytest.mark.parametrize("price", [0.0, 0.05])
def test_without_prices_there_is_no_height(price):
    learned = iterate_policies(make_problem(40, 5, price), FAST, np.random.default_rng(0))
    assert (learned.height is None) == (price == 0)
