"""The choice among ways to learn, and how rows left out are played."""

from dataclasses import replace

import numpy as np
import pytest

from rlselect._clock import Clock
from rlselect.datumwise import NetworkTraining, _network_learn
from rlselect.datumwise._network_frontier import UNKNOWN
from rlselect.datumwise._network_inputs import ScoreEncoder
from rlselect.datumwise._network_learn import learn_networks
from rlselect.datumwise._problem import CaseRows
from rlselect.datumwise._rules import PurchaseRules

QUICK = NetworkTraining(steps=(40, 60), n_members=4, hidden=12, batch=32)


def make_problem(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    labels = (X[:, 0] > 0).astype(np.intp)
    rules = PurchaseRules(list("abc"), [np.array([j]) for j in range(3)], np.full(3, 0.02), 1.0 - np.eye(2))
    encoder = ScoreEncoder().fit(X, np.ones(n), {})
    return CaseRows(rules, encoder, encoder.encode(X), np.zeros((n, 3), dtype=bool), labels, np.ones(n))


class Height:
    """Stands for a frontier."""

    def __init__(self, height):
        self.height = lambda: height


def test_main_effects_decide_and_not_the_best_single_one():
    keys = [(s, r, a) for s in (400, 1600) for r in (0, 1) for a in (False, True)]
    # one lucky candidate among bad ones, against steadily good ones
    heights = [0.9, 0.1, 0.1, 0.1, 0.6, 0.6, 0.6, 0.6]
    found = [
        _network_learn._Candidate(*key, None, Height(height))
        for key, height in zip(keys, heights, strict=True)
    ]
    naive = [
        sum(
            np.mean([h for other, h in zip(keys, heights, strict=True) if other[f] == key[f]])
            for f in range(3)
        )
        for key in keys
    ]
    assert _network_learn._choose(found) == int(np.argmax(naive)) == 4


def test_every_way_is_judged_on_rows_left_out(monkeypatch):
    problem = make_problem()
    seen = []
    whole = _network_learn._left_out
    monkeypatch.setattr(
        _network_learn, "_left_out", lambda *args: seen.append((args[2], whole(*args))) or seen[-1][1]
    )
    learned = learn_networks(problem, QUICK, np.random.default_rng(0))
    assert len(seen) == 8
    assert set(learned.path()["iteration"]) == {40, 60}
    assert "the best of 8 ways" in learned.words
    policy, frontier = seen[0]
    # the same by hand: each row by the network that has not seen its fold, at one of the prices
    folds = _network_learn.fold_numbers(problem.labels, 4, np.random.default_rng(0).spawn(5)[0])
    hard, bought = np.empty(60), np.empty(60)
    for row, fold in enumerate(folds):
        alone = replace(policy.part(fold), price=float(frontier.prices[6]))
        assert alone.frontier is UNKNOWN
        episodes = alone.run(problem.codes[[row]], problem.closed[[row]])
        hard[row], bought[row] = episodes.answer[0] != problem.labels[row], episodes.bought.mean()
    assert frontier.losses[6] == pytest.approx(hard.mean())
    assert frontier.bought[6] == pytest.approx(bought.mean())


@pytest.mark.parametrize(
    ("option", "ways"), [({"reward": "log"}, 4), ({"lookahead": False}, 4), ({"steps": 40}, 4)]
)
def test_what_is_said_is_not_chosen(option, ways):
    learned = learn_networks(make_problem(), replace(QUICK, **option), np.random.default_rng(0))
    assert len(learned.steps) == ways
    said = {"reward": "log reward", "lookahead": "without lookahead", "steps": "40 steps"}
    assert said[next(iter(option))] in learned.words


class Ticking(Clock):
    """Time is up after so many looks."""

    def __init__(self, looks):
        super().__init__(None)
        self.looks = looks

    def look(self):
        self.looks -= 1
        self.reason = self.reason or ("time budget" if self.looks < 0 else None)
        return self.reason


def test_judging_ends_with_the_time():
    problem = make_problem()
    policy = learn_networks(problem, replace(QUICK, steps=40), np.random.default_rng(0)).policy
    folds = np.arange(60) % 4
    given = (problem, folds, replace(policy, frontier=UNKNOWN), (1e-3, 0.3))
    whole = _network_learn._left_out(*given, Ticking(10), False)
    for looks in range(4):
        assert _network_learn._left_out(*given, Ticking(looks), False) is None
    # there has to be one: by the first two folds
    first = _network_learn._left_out(*given, Ticking(1), True)
    few = folds < 2
    some = replace(
        problem,
        codes=problem.codes[few],
        closed=problem.closed[few],
        labels=problem.labels[few],
        weights=problem.weights[few],
    )
    wanted = _network_learn._left_out(some, folds[few], *given[2:], Ticking(10), False)
    np.testing.assert_allclose(first.losses, wanted.losses)
    assert not np.allclose(first.losses, whole.losses)


def test_a_training_that_cannot_be_judged_is_no_candidate():
    # two kinds of networks look at each step, four candidates at each fold; the second training is not judged
    whole = learn_networks(make_problem(), QUICK, np.random.default_rng(0))
    clock = Ticking(2 * 40 + 4 * 4 + 2 * 60 + 6)
    with clock:
        learned = learn_networks(
            make_problem(), QUICK, np.random.default_rng(0), stop=lambda: bool(clock.reason)
        )
    assert set(learned.path()["iteration"]) == {40}
    assert len(learned.steps) == 4
    assert clock.reason == "time budget"
    assert len(whole.steps) == 8
