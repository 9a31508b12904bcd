"""Problems that can be solved by hand: dynamic programming, the multiplexer, and eq. (2)'s loss."""

import numpy as np
import pytest
from naive import all_binary_rows, optimum

from rlselect import DatumwiseClassifier
from rlselect.datumwise import PolicyIteration


def mean_return(model, X, y, weights=None):
    rules = model._fitted.rules
    answers = np.searchsorted(model.classes_, model.predict(X))
    truth = np.searchsorted(model.classes_, y)
    return float(np.average(-rules.losses[answers, truth] - model.cost(X), weights=weights))


def multiplexer():
    X = np.repeat(all_binary_rows(3), 10, axis=0)
    return X, np.where(X[:, 0] == 1, X[:, 1], X[:, 2]).astype(int)


@pytest.mark.parametrize("seed", range(5))
def test_multiplexer_by_default(seed):
    X, y = multiplexer()
    model = DatumwiseClassifier(random_state=seed).fit(X, y)
    assert (model.predict(X) == y).all()
    assert (model.acquire(X).sum(axis=1) == 2).all()
    assert model.value_ == pytest.approx(-0.02)


@pytest.mark.parametrize("seed", range(5))
def test_multiplexer_by_policy_iteration(seed):
    X, y = multiplexer()
    search = PolicyIteration(exact_states=0, n_folds=1, n_restarts=8)
    model = DatumwiseClassifier(search=search, random_state=seed).fit(X, y)
    assert mean_return(model, X, y) == pytest.approx(-0.02)


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_reach_the_optimum(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    X = rng.integers(0, 2, size=(60, n)).astype(float)
    rule = rng.integers(0, 3, size=2**n)
    y = rule[(X @ 2 ** np.arange(n)).astype(int)]
    y = np.where(rng.random(60) < 0.1, rng.integers(0, 3, 60), y)
    weights = rng.integers(1, 4, 60)
    costs = rng.uniform(0.005, 0.1, n)
    model = DatumwiseClassifier(costs=costs, random_state=seed).fit(X, y, sample_weight=weights)
    labels = np.unique(y, return_inverse=True)[1]
    best = optimum(model._fitted.rules, X, labels, weights)
    assert mean_return(model, X, y, weights) == pytest.approx(best)
    assert model.value_ == pytest.approx(best)


@pytest.mark.parametrize(
    "rules",
    [
        {"budget": 2},
        {"cost_budget": 0.05, "costs": [0.01, 0.02, 0.03, 0.04]},
        {"error_costs": [[-0.5, 2.0], [1.0, 0.0]]},
        {"feature_groups": [[0, 2], [1], [3]], "costs": {"group 0": 0.05}},
        {"related": lambda a, b: abs(int(a[1]) - int(b[1])) == 1},
        {"related": np.eye(4, k=1) + np.eye(4, k=-1), "relation": "all", "unrelated_cost": 0.08},
        {"prerequisites": {"x3": ["x0", "x1"]}, "budget": 3},
    ],
    ids=["budget", "cost_budget", "errors", "groups", "restricted", "relational", "prerequisites"],
)
def test_variants_reach_their_optimum(rules):
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, size=(80, 4)).astype(float)
    y = ((X[:, 0] + X[:, 1] * X[:, 3] + X[:, 2]) % 2).astype(int)
    model = DatumwiseClassifier(**rules).fit(X, y)
    assert mean_return(model, X, y) == pytest.approx(optimum(model._fitted.rules, X, y))


def test_parity_needs_all_features():
    X = np.repeat(all_binary_rows(4), 3, axis=0)
    y = X.sum(axis=1).astype(int) % 2
    model = DatumwiseClassifier().fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.acquire(X).all()
    # at a price above what knowing is worth, nothing is bought
    dear = DatumwiseClassifier(feature_cost=0.2).fit(X, y)
    assert dear.sparsity(X) == 1.0


@pytest.mark.parametrize("model", [DatumwiseClassifier(feature_cost=0.03), DatumwiseClassifier.paper(0.03)])
def test_return_is_minus_the_loss_of_equation_2(model):
    X, y = multiplexer()
    model.set_params(random_state=0).fit(X, y)
    loss = np.mean(model.predict(X) != y) + 0.03 * model.acquire(X).sum() / len(X)
    assert mean_return(model, X, y) == pytest.approx(-loss)
    assert model.value_ == pytest.approx(-loss)
