"""Subsets drawn by their posterior: against all subsets, against integrals, and what they have in common."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from rlselect import ActorCriticPredictor
from rlselect._clock import Clock
from rlselect.data._units import Units
from rlselect.simulate import make_acp
from rlselect.subset.acp._posterior import draw_subsets, most_shared, settle, subset_posterior
from rlselect.subset.acp.masked._logistic import MaskedLogistic
from rlselect.subset.acp.masked._predictor import make_target


def logistic_data(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    codes = (0.9 * X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    return X, codes, MaskedLogistic(X, make_target(codes, True))


def integral(x, codes, precision=4.0):
    """Log of the likelihood of a constant and one effect, over a flat and a two-humped prior, on a grid."""
    constant, effect = np.linspace(-2, 2, 101), np.linspace(-3, 3, 151)
    eta = constant[:, None, None] + effect[:, None] * x
    likelihood = (codes * eta - np.logaddexp(0.0, eta)).sum(axis=2)
    prior = 0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * effect**2
    with np.errstate(divide="ignore"):
        prior = prior + np.log(precision * effect**2)
    return logsumexp(likelihood + prior) + math.log(0.04 * 0.04)


def test_evidence_is_the_integral_over_the_coefficients():
    X, codes, logistic = logistic_data()
    masks = np.array([[True, False, False], [False, True, False], [False, False, False]])
    got = logistic.log_evidence(masks, Units(np.arange(3))) + 0.5 * math.log(2 * math.pi)
    constant = np.linspace(-3, 3, 3001)[:, None]
    nothing = logsumexp((codes * constant - np.logaddexp(0.0, constant)).sum(axis=1)) + math.log(0.002)
    exact = [integral(X[:, 0], codes), integral(X[:, 1], codes), nothing]
    np.testing.assert_allclose(got, exact, atol=0.1)


def test_every_number_of_units_is_as_probable_as_any_other():
    _, _, logistic = logistic_data()
    units = Units(np.array([0, 1, 1]))
    log_posterior, most = subset_posterior(logistic, units, 10)
    masks = np.array([[True, False], [True, True], [False, False]])
    prior = log_posterior(masks) - logistic.log_evidence(masks, units)
    np.testing.assert_allclose(np.exp(-prior), [10, 45, 1])
    # five rows a coefficient, and the wider unit has two
    assert most == 2


def test_draws_are_as_frequent_as_they_are_probable():
    rng = np.random.default_rng(1)
    every = np.array(list(product([False, True], repeat=5)))
    value = dict(zip(map(bytes, every), rng.normal(0.0, 1.5, len(every)), strict=True))

    def log_posterior(masks):
        return np.array([value[bytes(mask)] for mask in masks])

    allowed = every.sum(axis=1) <= 4
    weight = np.where(allowed, np.exp(log_posterior(every)), 0.0)
    exact = weight / weight.sum()
    starts = np.array([np.zeros(5, dtype=bool), np.arange(5) < 4])
    draws = draw_subsets(log_posterior, starts, rng.random(5), 4, rng, rounds=1500)
    got = np.array([np.mean((draws == mask).all(axis=1)) for mask in every])
    assert got[~allowed].sum() == 0
    np.testing.assert_allclose(got, exact, atol=0.015)


def test_the_answer_shares_most_with_all_draws():
    rng = np.random.default_rng(2)
    draws = rng.random((200, 8)) < np.array([0.9, 0.8, 0.5, 0.5, 0.3, 0.1, 0.05, 0.01])
    draws = draws[draws.any(axis=1)]

    def mean_f1(mask):
        return np.mean([2 * (mask & draw).sum() / (mask.sum() + draw.sum()) for draw in draws])

    got = most_shared(draws, draws[:1])
    assert mean_f1(got) == pytest.approx(max(mean_f1(draw) for draw in draws), abs=1e-6)


def test_one_of_those_that_stand_for_each_other_is_taken():
    # 0 is sure, and one of 1, 2, 3 goes with it
    draws = np.zeros((9, 6), dtype=bool)
    draws[:, 0] = True
    draws[np.arange(9), 1 + np.arange(9) % 3] = True
    got = most_shared(draws, draws[:1])
    assert got[0]
    assert got[1:4].sum() == 1


def test_few_rows_keep_what_one_likeliest_subset_would_not():
    found, kept = 0, 0
    for seed in (50, 51):
        data = make_acp(100, 60, function="logistic", random_state=seed)
        logistic, units = MaskedLogistic(data.X, make_target(data.y, True)), Units(np.arange(60))
        order = np.argsort(-np.square(data.X.T @ (data.y - data.y.mean())), kind="stable")
        starts = np.array([np.isin(np.arange(60), order[:size]) for size in range(2, 10)])
        got = settle(logistic, units, starts, 60)
        found, kept = found + got[data.support].sum(), kept + starts[0][data.support].sum()
        assert got[~data.support].sum() <= 3
    assert found > kept


def test_many_rows_wide_units_and_a_stopped_clock_leave_the_subset_as_it_is():
    X, codes, logistic = logistic_data(p=14)
    start = np.arange(14)[None] < 1
    assert settle(logistic, Units(np.arange(14)), start, 14, Clock(1e-9, 1)).tolist() == start[0].tolist()
    wide = Units(np.r_[0, np.ones(13, dtype=int)])
    assert settle(logistic, wide, start[:, :2], 2).tolist() == [True, False]
    rows = np.tile(np.arange(60), 200)
    long = MaskedLogistic(X[rows], make_target(codes[rows], True))
    assert settle(long, Units(np.arange(14)), start, 14).tolist() == start[0].tolist()


def test_rare_classes_tell_as_little_as_few_rows():
    balanced = make_target(np.repeat([0, 1], 60), classifies=True)
    rare = make_target(np.repeat([0, 1], [117, 3]), classifies=True)
    three = make_target(np.repeat([0, 1, 2], 20), classifies=True)
    assert balanced.telling_rows == pytest.approx(120.0)
    assert rare.telling_rows == pytest.approx(4 * 117 * 3 / 120)
    assert three.telling_rows == pytest.approx(60.0)


def test_three_rows_of_a_class_do_not_bring_every_variable_in():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 6)), np.zeros(100, dtype=int)
    y[np.argsort(-X[:, 0] - 0.3 * rng.standard_normal(100))[:3]] = 1
    found = ActorCriticPredictor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(found.support_), [0])
