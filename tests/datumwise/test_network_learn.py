"""The choice among ways to learn, and how rows left out are played."""

from dataclasses import replace

import numpy as np
import pytest

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
