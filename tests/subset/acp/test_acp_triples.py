from itertools import combinations

import numpy as np
import pytest

from rlselect import ActorCriticPredictor
from rlselect.subset.acp._triples import _TripleSearch, surprising_triples


def normal(n=300, p=12, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, p))
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("responses", [1, 3])
def test_the_best_triple_is_that_of_a_plain_loop(responses):
    Z, r = normal(60, 7, seed=1), np.random.default_rng(2).standard_normal((60, responses))
    best, triple = _TripleSearch(Z)._best(r.astype(np.float32))
    scores = {}
    for i, j, k in combinations(range(7), 3):
        product = Z[:, i] * Z[:, j] * Z[:, k]
        scores[i, j, k] = np.sqrt(np.sum((product @ r) ** 2) / (product @ product))
    assert triple == max(scores, key=scores.get)
    assert best == pytest.approx(max(scores.values()), rel=1e-4)


@pytest.mark.parametrize("truth", ["values", "signs"])
def test_products_of_three_surprise(truth):
    X = normal(seed=3)
    y = X[:, 2] * X[:, 5] * X[:, 9]
    y = np.sign(y) if truth == "signs" else y + 0.5 * np.random.default_rng(0).standard_normal(300)
    assert (2, 5, 9) in surprising_triples(X, (y - y.mean())[:, None])


def test_two_triples_are_found_one_after_the_other():
    X = normal(400, seed=4)
    y = X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3] * X[:, 4] * X[:, 5]
    y += 0.3 * np.random.default_rng(0).standard_normal(400)
    assert {(0, 1, 2), (3, 4, 5)} <= set(surprising_triples(X, y[:, None]))


def test_noise_seldom_surprises_and_many_columns_are_not_looked_at():
    alarms = 0
    for seed in range(40):
        noise = np.random.default_rng(100 + seed).standard_normal((100, 1))
        alarms += bool(surprising_triples(normal(100, 10, seed), noise))
    assert alarms <= 3
    X = normal(50, 201)
    assert surprising_triples(X, (X[:, 0] * X[:, 1] * X[:, 2])[:, None]) == []


@pytest.mark.parametrize("classes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_truth_of_third_order_is_selected(classes):
    X = normal(300, 12, seed=6)
    y = X[:, 1] * X[:, 6] * X[:, 11]
    y = y > 0 if classes else y + 0.3 * np.random.default_rng(0).standard_normal(300)
    found = ActorCriticPredictor(random_state=0).fit(X, y)
    assert np.flatnonzero(found.support_).tolist() == [1, 6, 11]
