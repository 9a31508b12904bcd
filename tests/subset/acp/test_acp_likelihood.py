"""The last look at a linear model of classes, against every subset."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rlselect import ActorCriticPredictor
from rlselect._clock import Clock
from rlselect.data._units import Units
from rlselect.simulate import make_acp
from rlselect.subset.acp._likelihood import additions, likeliest, likelihood_price, sees_more
from rlselect.subset.acp._posterior import settle
from rlselect.subset.acp.masked._logistic import MaskedLogistic
from rlselect.subset.acp.masked._predictor import make_target


def classes(n=150, p=6, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = X[:, 0] + X[:, 1] - 0.8 * X[:, 2] + rng.logistic(size=n)
    return X, np.digitize(eta, [0.0] if n_classes == 2 else [-1.0, 1.0])


def naive_cost(X, codes, mask, price):
    if not mask.any():
        shares = np.bincount(codes) / len(codes)
        return -2.0 * np.log(shares[codes]).sum()
    model = LogisticRegression(C=1e4, max_iter=5000, tol=1e-8).fit(X[:, mask], codes)
    logs = np.log(model.predict_proba(X[:, mask])[np.arange(len(codes)), codes])
    return -2.0 * logs.sum() + price * mask.sum()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("start", ["nothing", "everything"])
def test_no_subset_is_better_where_columns_are_independent(n_classes, start):
    X, codes = classes(n_classes=n_classes)
    price = likelihood_price(150, 6, n_classes)
    subsets = [np.array(bits, dtype=bool) for bits in product([False, True], repeat=6)]
    best = min(subsets, key=lambda mask: naive_cost(X, codes, mask, price))
    mode = np.full(6, start == "everything")
    units = Units(np.arange(6))
    got = likeliest(MaskedLogistic(X, make_target(codes, True)), units, mode, np.arange(6), 6)
    np.testing.assert_array_equal(got, best)


def test_only_what_is_near_may_change():
    X, codes = classes()
    logistic, units = MaskedLogistic(X, make_target(codes, True)), Units(np.arange(6))
    got = likeliest(logistic, units, np.zeros(6, dtype=bool), np.array([0, 5]), 6)
    assert got.tolist() == [True, False, False, False, False, False]


def test_groups_enter_as_one_and_pay_for_each_column():
    X, codes = classes()
    units = Units(np.array([0, 0, 1, 2, 2, 2]))
    logistic = MaskedLogistic(X, make_target(codes, True))
    got = likeliest(logistic, units, np.zeros(3, dtype=bool), np.arange(3), 3)
    assert got.tolist() == [True, True, False]


def test_the_price_grows_with_what_there_is_to_choose_from():
    assert likelihood_price(100, 1000, 2) > likelihood_price(100, 50, 2) > np.log(100)
    assert likelihood_price(10**6, 2, 2) == np.log(10**6)


def test_the_answer_is_sure_where_the_likelihood_is():
    X, codes = classes(n=200, p=12, seed=3)
    fitted = ActorCriticPredictor(random_state=0).fit(X, codes)
    assert fitted.predictor_.name == "linear"
    assert fitted.support_[:3].all()
    assert fitted.support_.sum() <= 4
    sure = (fitted.inclusion_ >= 0.95) | (fitted.inclusion_ <= 0.25)
    assert sure.all()
    # the answer is the likelihood's: what subsets as probable as the likeliest have in common
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    logistic, units = MaskedLogistic(standard, make_target(codes, True)), Units(np.arange(12))
    near = np.arange(12)
    likely = likeliest(logistic, units, fitted.support_, near, 12)
    again = settle(logistic, units, additions(logistic, units, likely, near, None), 12)
    np.testing.assert_array_equal(again, fitted.support_)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_forecast_orders_changes_as_fits_do(n_classes):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 10))
    codes = np.digitize(0.4 * X @ np.r_[1.0, 1.0, 0.5, 0.3, np.zeros(6)] + rng.logistic(size=400), [0.0])
    if n_classes == 4:
        codes = codes + 2 * (X[:, 4] + rng.logistic(size=400) > 0)
    logistic = MaskedLogistic(X, make_target(codes, True))
    mask = np.arange(10) < 3
    groups = [np.array([0]), np.array([1, 2]), np.array([3]), np.array([4, 5]), np.array([9])]
    masks = np.repeat(mask[None], 6, axis=0)
    for i, group in enumerate(groups):
        masks[i, group] ^= True
    deviance = 2.0 * logistic.losses(masks, np.ones((6, 400), dtype=bool)).sum(axis=1)
    exact, forecast = deviance[:-1] - deviance[-1], logistic.deviance_changes(mask, groups)
    np.testing.assert_array_equal(np.argsort(forecast), np.argsort(exact))
    np.testing.assert_allclose(forecast, exact, rtol=0.15, atol=0.5)


def test_a_short_list_leads_to_the_same_subset(monkeypatch):
    X, codes = classes(n=400, p=20, seed=5, n_classes=3)
    logistic, units = MaskedLogistic(X, make_target(codes, True)), Units(np.arange(20))
    start = np.arange(20) % 2 == 1
    every = likeliest(logistic, units, start, np.arange(20), 20)
    fitted = []
    losses = MaskedLogistic.losses
    monkeypatch.setattr("rlselect.subset.acp._likelihood._CELLS", 0)
    monkeypatch.setattr(MaskedLogistic, "losses", lambda *a: (fitted.append(len(a[1])), losses(*a))[1])
    np.testing.assert_array_equal(likeliest(logistic, units, start, np.arange(20), 20), every)
    assert every[:3].all()
    # six changes or ten additions, and the subset itself
    assert set(fitted) == {7, 11}


def test_additions_that_pay_only_together_are_found():
    data = make_acp(100, 100, function="logistic", random_state=42)
    logistic, units = MaskedLogistic(data.X, make_target(data.y, True)), Units(np.arange(100))
    price, start = likelihood_price(100, 100, 2), np.isin(np.arange(100), [2, 4])

    def cost(mask):
        return naive_cost(data.X, data.y, mask, price)

    changes = [start ^ (np.arange(100) == j) for j in range(100)]
    assert min(cost(mask) for mask in changes) > cost(start)
    got = likeliest(logistic, units, start, np.arange(100), 100)
    assert cost(got) < cost(start)
    assert got[data.support].sum() >= 6
    assert got.sum() <= 8


def test_a_likelihood_of_separated_classes_is_not_asked():
    assert sees_more(200, 10, 2)
    assert not sees_more(200, 30, 5)
    assert not sees_more(5000, 100, 10)


def test_a_stopped_clock_changes_nothing():
    X, codes = classes()
    logistic, units = MaskedLogistic(X, make_target(codes, True)), Units(np.arange(6))
    clock = Clock(1e-9, 1)
    assert not likeliest(logistic, units, np.zeros(6, dtype=bool), np.arange(6), 6, clock).any()
