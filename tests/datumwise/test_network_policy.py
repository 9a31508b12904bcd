"""Classifiers whose scores come from networks: what they can learn, and all that a table may hold."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import rlselect
from rlselect import DatumwiseClassifier
from rlselect.datumwise import NetworkTraining

QUICK = NetworkTraining(steps=150, n_members=4, hidden=32, batch=64)
# what holds however little was learnt
SHORT = NetworkTraining(steps=40, n_members=2, hidden=16, batch=32)


def quick(**options):
    return DatumwiseClassifier(**({"search": QUICK, "random_state": 0, "scoring": "network"} | options))


def make_data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = make_data()
    return quick().fit(X, y), X, y


def test_values_that_only_count_together_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    training = NetworkTraining(steps=400, n_members=2, hidden=48, reward="log", lookahead=True)
    model = quick(search=training, feature_cost=0.02).fit(X[:350], y[:350])
    assert model.score(X[350:], y[350:]) > 0.85
    assert (model.unit_inclusion_[:2] > 0.8).all()
    assert (model.unit_inclusion_[2:] < 0.3).all()
    assert model.scoring_ == "network"


def test_scores_are_means_over_networks(fitted):
    model, X, _ = fitted
    policy = model._fitted.policy
    codes = model._fitted.encoder.encode(X[:20])
    bought = np.random.default_rng(0).random((20, 5)) < 0.5
    parts = [policy.part(member) for member in range(4)]
    # probabilities by their logarithms, of which the temperature, the same for all, is a factor
    mean = np.exp(np.mean([np.log(one.probabilities(codes, bought)) for one in parts], axis=0))
    mean /= mean.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(policy.probabilities(codes, bought), mean, atol=1e-5)
    gains = np.mean([one.action_scores(codes, bought)[:, :5] for one in parts], axis=0)
    np.testing.assert_allclose(policy.action_scores(codes, bought)[:, :5], gains, atol=1e-6)


def test_a_budget_has_the_temperature_of_a_price_at_which_as_little_is_known(fitted):
    policy = fitted[0]._fitted.policy
    frontier = replace(policy.frontier, temperatures=np.linspace(4.0, 1.0, len(policy.frontier.prices)))
    cheap = replace(policy, frontier=frontier, price=float(frontier.prices[0]))
    assert cheap.temperature == pytest.approx(4.0)
    found = [
        replace(cheap, rules=replace(cheap.rules, budget=budget)).temperature for budget in (5, 3, 2, 1, 0)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 3 * found[-1]
    by_cost = replace(cheap.rules, cost_budget=float(2 * cheap.rules.prices.mean()))
    assert replace(cheap, rules=by_cost).temperature == pytest.approx(found[2])


def test_what_is_known_from_the_start_has_the_temperature_of_a_price_at_which_as_much_is_known(fitted):
    model = fitted[0]
    policy = model._fitted.policy
    frontier = replace(policy.frontier, temperatures=np.linspace(4.0, 1.0, len(policy.frontier.prices)))
    dear = replace(policy, frontier=frontier, price=float(frontier.prices[-1]))
    found = [replace(dear, given=given).temperature for given in range(6)]
    assert found[0] == pytest.approx(1.0)
    assert found == sorted(found)
    assert found[-1] == pytest.approx(4.0)
    limited = [replace(dear, given=2, rules=replace(dear.rules, budget=b)).temperature for b in (2, 5)]
    assert limited[0] <= limited[1] == pytest.approx(found[2])
    assert model.at(known=[0, 1])._fitted.policy.given == 2
    assert model.at(known=[0, 1]).with_budget(3)._fitted.policy.given == 2


def test_a_policy_from_a_machine_with_torch_plays_where_there_is_none(fitted, monkeypatch):
    model, X, _ = fitted
    policy = model._fitted.policy
    codes, bought = model._fitted.encoder.encode(X[:20]), np.ones((20, 5), dtype=bool)
    monkeypatch.setitem(sys.modules, "torch", None)
    elsewhere = replace(policy, device="cuda")
    np.testing.assert_array_equal(elsewhere.action_scores(codes, bought), policy.action_scores(codes, bought))


def test_only_what_is_bought_matters(fitted):
    model, X, _ = fitted
    other = np.where(model.acquire(X), X, np.random.default_rng(1).normal(size=X.shape))
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    np.testing.assert_array_equal(model.acquire(other), model.acquire(X))


def test_a_session_asks_what_the_table_buys(fitted):
    model, X, _ = fitted
    for row, order, shares in zip(X[:10], model.acquisition_order(X), model.predict_proba(X), strict=False):
        session = model.start()
        while (question := session.next()) is not None:
            session.tell(row[int(question[1:])])
        assert session.result().acquired == order
        np.testing.assert_allclose(session.result().probabilities, shares, atol=1e-5)


def test_weights_are_copies_and_the_order_of_rows_does_not_matter():
    X, y = make_data(n=60)
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    mine = quick(search=SHORT).fit(X, y, sample_weight=weights)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(60), weights))
    copies = quick(search=SHORT).fit(X[rows], y[rows])
    np.testing.assert_allclose(mine.predict_proba(X), copies.predict_proba(X), atol=1e-6)


def test_threads_do_not_matter(fitted):
    model, X, y = fitted
    other = quick(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_a_file_gives_it_back(fitted, tmp_path):
    model, X, _ = fitted
    rlselect.save(model, tmp_path / "model.rls")
    loaded = rlselect.load(tmp_path / "model.rls")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.at(feature_cost=0.1).sparsity(X) == model.at(feature_cost=0.1).sparsity(X)


def test_text_gaps_and_groups():
    rng = np.random.default_rng(0)
    kind = rng.choice(["red", "green", "blue"], size=300)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "kind": kind})
    y = np.where(kind == "green", "yes", np.where(frame["a"] > 0, "yes", "no"))
    frame.loc[rng.random(300) < 0.2, "a"] = np.nan
    frame.loc[5, "kind"] = None
    model = quick(
        feature_groups={"pair": ["a", "b"]}, search=NetworkTraining(steps=250, n_members=2, hidden=32)
    )
    model.fit(frame, y)
    assert model.units_ == ["pair", "kind"]
    whole = frame.notna().all(axis=1)
    assert model.score(frame[whole], y[whole]) > 0.9
    bought = model.acquire(frame)
    np.testing.assert_array_equal(bought[:, 0], bought[:, 1])
    assert not bought[5, 2]


def test_sparse_is_dense():
    X, y = make_data(n=80)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, other = (quick(search=SHORT).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.predict_proba(X), other.predict_proba(sparse.csr_array(X)), atol=1e-6)


@pytest.mark.parametrize(
    "rules",
    [
        {"budget": 1},
        {"cost_budget": 0.025},
        {"prerequisites": {"x0": ["x2"]}},
        {"related": np.eye(5, k=1) + np.eye(5, k=-1) > 0},
        {"error_costs": [[0.0, 5.0], [1.0, 0.0]]},
    ],
    ids=lambda rules: next(iter(rules)),
)
def test_rules_hold(rules):
    X, y = make_data()
    model = quick(search=QUICK if "error_costs" in rules else SHORT, **rules).fit(X, y)
    bought = model.acquire(X)
    if "budget" in rules:
        assert bought.sum(axis=1).max() == 1
    if "cost_budget" in rules:
        assert model.cost(X).max() <= 0.025
    if "prerequisites" in rules:
        assert (bought[:, 2] | ~bought[:, 0]).all()
    if "related" in rules:
        for order in model.acquisition_order(X):
            places = [int(name[1:]) for name in order]
            assert all(any(abs(u - v) == 1 for v in places[:k]) for k, u in enumerate(places) if k)
    if "error_costs" in rules:
        answers = np.searchsorted(model.classes_, model.predict(X))
        assert np.mean((answers == 0) & (y == 1)) <= np.mean((answers == 1) & (y == 0))


def test_a_short_time_still_gives_a_policy():
    X, y = make_data(n=80)
    model = quick(search=NetworkTraining(steps=(20_000, 40_000), hidden=16), time_budget=0.3).fit(X, y)
    assert model.stop_reason_ == "time budget"
    assert model.predict(X).shape == (80,)


def test_search_and_scoring_must_fit():
    X, y = make_data(n=20)
    with pytest.raises(ValueError, match=r"search=NetworkTraining\(...\) came with scoring='bins'"):
        quick(scoring="bins").fit(X, y)
    with pytest.raises(ValueError, match="n_bins"):
        quick(n_bins=4).fit(X, y)
    with pytest.raises(ValueError, match="steps=3 was given"):
        NetworkTraining(steps=3)
