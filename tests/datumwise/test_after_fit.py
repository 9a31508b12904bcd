"""Prices, budgets and known values after the fit, for each kind of policy."""

import numpy as np
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import NetworkTraining, PolicyIteration
from rlselect.datumwise._filled_prices import fill_prices

QUICK = {
    "bins": PolicyIteration(n_iter=3, states_per_row=8, n_restarts=1, exact_states=0),
    "network": NetworkTraining(steps=120, n_members=2, hidden=24, batch=64),
}


def make_data(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n) > 0).astype(int)


@pytest.fixture(scope="module", params=[*QUICK, "table"])
def fitted(request):
    if request.param == "table":
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, size=(300, 3)).astype(float)
        y = np.where(rng.random(300) < 0.9, np.where(X[:, 0] == 1, X[:, 1], X[:, 2]), 0).astype(int)
        return DatumwiseClassifier(scoring="bins", random_state=0).fit(X, y), X, y
    X, y = make_data()
    return (
        DatumwiseClassifier(scoring=request.param, search=QUICK[request.param], random_state=0).fit(X, y),
        X,
        y,
    )


def test_dearer_features_are_bought_less(fitted):
    model, X, _ = fitted
    bought = [1 - model.at(feature_cost=price).sparsity(X) for price in (0.0, 0.01, 0.1, 1.0)]
    assert bought == sorted(bought, reverse=True)
    assert bought[0] > bought[-1] == 0.0
    assert model.at().acquisition_order(X) == model.acquisition_order(X)


def test_costs_are_charged_as_said(fitted):
    model, X, _ = fitted
    costs = np.linspace(0.001, 0.01, X.shape[1])
    priced = model.at(costs=costs)
    np.testing.assert_allclose(priced.cost(X), priced.acquire(X) @ costs)
    spared = model.at(costs={"x0": 5.0})
    assert not spared.acquire(X)[:, 0].any()
    assert spared.get_params()["costs"] == {"x0": 5.0}


def test_a_budget_holds(fitted):
    model, X, _ = fitted
    free = model.at(feature_cost=0.0)
    for budget in (0, 1, 2):
        assert free.with_budget(budget).acquire(X).sum(axis=1).max() <= budget
    assert free.with_budget(1).with_budget(None).acquisition_order(X) == free.acquisition_order(X)


def test_known_values_are_free_and_used(fitted):
    model, X, y = fitted
    dear = model.at(feature_cost=1.0)
    assert dear.sparsity(X) == 1.0
    informed = model.at(feature_cost=1.0, known=["x0", "x1", "x2"])
    assert informed.sparsity(X) == 1.0
    assert informed.cost(X).max() == 0.0
    assert informed.score(X, y) > dear.score(X, y)
    # a budget counts purchases only
    kept = model.at(feature_cost=0.0, known=["x0"]).with_budget(1)
    assert kept.acquire(X).sum(axis=1).max() == 1
    assert not kept.acquire(X)[:, 0].any()


def test_a_session_with_known_values_is_the_same_as_the_table(fitted):
    model, X, _ = fitted
    informed = model.at(known=["x0"])
    orders, answers = informed.acquisition_order(X[:8]), informed.predict(X[:8])
    with pytest.raises(ValueError, match="give its value"):
        informed.start()
    for row, order, answer in zip(X[:8], orders, answers, strict=True):
        session = model.start(known={"x0": row[0]})
        while (question := session.next()) is not None:
            session.tell(row[int(question[1:])])
        result = session.result()
        assert (result.acquired, result.label) == (order, answer)
        assert result.cost == pytest.approx(0.01 * len(order))


def test_several_questions_at_once(fitted):
    model, X, _ = fitted
    session = model.at(feature_cost=0.0).with_budget(2).start()
    few = session.next_few(3)
    assert few[0] == session.next()
    assert 1 <= len(few) <= 2
    for name in few:
        session.tell(X[0, int(name[1:])], of=name)
    assert session.result().acquired == few
    with pytest.raises(ValueError, match="known already"):
        session.tell(1.0, of=few[0])


def test_mean_cost_is_met_from_below(fitted):
    model, X, _ = fitted
    most = model.at(feature_cost=0.0).acquire(X).sum(axis=1).mean() * 0.01
    for target in (0.0, 0.4 * most, 0.8 * most, 10.0):
        assert model.with_mean_cost(target, X).cost(X).mean() <= target + 1e-12
    assert model.with_mean_cost(10.0, X).cost(X).mean() > model.with_mean_cost(0.0, X).cost(X).mean()
    with pytest.raises(ValueError, match="all features are free"):
        model.at(feature_cost=0.0).with_mean_cost(1.0, X)


def test_a_mean_that_no_price_comes_to_is_the_most_for_every_case():
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 50)
    y = X[:, 0] + 2 * X[:, 1]
    # the second feature gains twice what the first does, so that both are bought or none
    model = DatumwiseClassifier(random_state=0).fit(X, y)
    assert [model.at(feature_cost=price).sparsity(X) for price in (0.37, 0.38)] == [0.0, 1.0]
    one = model.with_mean_cost(0.01, X)
    assert one.acquire(X).sum(axis=1).tolist() == [1] * len(X)
    assert one.score(X, y) == 0.5
    assert one.get_params() == model.get_params()
    # the limit is that of this mean alone
    assert one.with_mean_cost(0.02, X).score(X, y) == one.at(feature_cost=0.01).score(X, y) == 1.0
    assert set(one.frontier(X, y)["sparsity"]) == {0.0}


def test_cost_budgets_hold_whatever_the_prices_it_chooses_by():
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 50)
    model = DatumwiseClassifier(cost_budget=0.01).fit(X, X[:, 0] + 2 * X[:, 1])
    for mean_cost in (0.01, 1.0):
        assert model.with_mean_cost(mean_cost, X).cost(X).tolist() == [0.01] * len(X)
    assert model.with_mean_cost(0.005, X).cost(X).max() == 0.0


def test_frontier_is_what_the_same_prices_give(fitted):
    model, X, y = fitted
    curve = model.frontier(X, y)
    assert (np.diff(curve["setting"]) > 0).all()
    for k in (4, 9):
        other = model.at(feature_cost=curve["setting"][k])
        assert curve["accuracy"][k] == pytest.approx(other.score(X, y))
        assert curve["sparsity"][k] == pytest.approx(other.sparsity(X))
        assert curve["confidence"][k] == pytest.approx(other.predict_proba(X).max(axis=1).mean(), abs=0.02)
        assert curve["cost"][k] == pytest.approx(0.01 * other.acquire(X).sum(axis=1).mean())


def test_frontier_tries_budgets_at_every_price(fitted):
    model, X, y = fitted
    curve, plain = model.frontier(X, y, budgets=[1, 50]), model.frontier(X, y)
    prices = len(plain["setting"])
    # each budget begins with the lowest price again
    assert np.flatnonzero(np.diff(curve["setting"]) < 0).tolist() == [
        prices - 1,
        len(curve["setting"]) - prices - 1,
    ]
    for name, values in plain.items():
        np.testing.assert_allclose(curve[name][:prices], values)
        # fifty is more than there is
        np.testing.assert_allclose(curve[name][-prices:], values)
    one = model.with_budget(1)
    for k in (3, 9):
        other = one.at(feature_cost=plain["setting"][k])
        assert curve["budget"][prices + k] == 1
        assert curve["accuracy"][prices + k] == pytest.approx(other.score(X, y))
        assert curve["sparsity"][prices + k] == pytest.approx(other.sparsity(X))
    with pytest.raises(ValueError, match="budget=-1 was given"):
        model.frontier(X, y, budgets=[-1])


def test_prices_are_filled_in_where_purchases_fall_steeply():
    given = np.geomspace(0.01, 1.0, 5)

    def falling(price):
        # from nine tenths to none between .12 and .14
        share = 0.9 * float(np.clip((0.14 - price) / 0.02, 0.0, 1.0))
        return share, share

    prices, shares = zip(*fill_prices(given, falling), strict=True)
    assert list(prices) == sorted({*prices, *given})
    assert len(shares) > 7
    assert np.abs(np.diff(shares)).max() < 0.25
    # a jump has nothing in between
    assert [p for p, _ in fill_prices(given, lambda price: (float(price < 0.13), None))] == given.tolist()


def test_wrong_words_are_refused(fitted):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="feature_cost=-1 was given"):
        model.at(feature_cost=-1)
    with pytest.raises(ValueError, match="known names 'z'"):
        model.at(known=["z"])
    with pytest.raises(ValueError, match="budget=-1 was given"):
        model.with_budget(-1)
    with pytest.raises(ValueError, match="mean_cost=nan was given"):
        model.with_mean_cost(np.nan, X)
