"""Bins and lines: what a bought value tells the scores."""

import numpy as np
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import (
    PaperIteration,
    PolicyIteration,
    _encoding,
)
from rlselect.datumwise._encoding import make_encoder


def dense_precision(precision):
    return np.diag(precision[0]) + np.diag(precision[1], 1) + np.diag(precision[1], -1)


def test_bins_hold_equal_weight_and_few_values_have_their_own():
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.exponential(size=1000), rng.integers(0, 3, 1000), np.ones(1000)])
    encoder = make_encoder("bins", 5).fit(x, np.ones(1000))
    codes = encoder.encode(x)
    assert np.bincount(codes[:, 0] - codes[:, 0].min()) == pytest.approx(np.full(5, 200), abs=1)
    assert [len(edges) for edges in encoder.edges_] == [4, 2, 0]
    weights = rng.integers(1, 4, 1000)
    heavy = make_encoder("bins", 5).fit(x, weights.astype(float))
    copied = make_encoder("bins", 5).fit(np.repeat(x, weights, axis=0), np.ones(weights.sum()))
    for a, b in zip(heavy.edges_, copied.edges_, strict=True):
        assert (a == b).all()


def test_neighbouring_bins_are_alike_beforehand():
    precision = make_encoder("bins", 4).fit(np.arange(100.0)[:, None], np.ones(100)).precision_
    inside = dense_precision(precision)[1:, 1:]
    covariance = np.linalg.inv(inside)
    assert np.diag(covariance) == pytest.approx(np.ones(4))
    assert np.diag(covariance, 1) == pytest.approx(np.full(3, 0.7))


def test_codes_of_new_rows_stay_numbers():
    x = np.array([[0.0], [1e-3]])
    codes = make_encoder("linear", 5).fit(x, np.ones(2)).encode(np.array([[1e308], [-1e308], [np.nan]]))
    assert np.isfinite(codes[:2]).all()
    assert codes[0] > 0 > codes[1]
    assert np.isnan(codes[2])


def test_linear_values_are_centred_and_scaled():
    x = np.array([[1e9, 5.0, np.nan], [1e9 + 4, 5.0, np.nan], [1e9 + 1, np.nan, np.nan]])
    encoder = make_encoder("linear", 5).fit(x, np.ones(3))
    expected = [[-1, 0, np.nan], [1, 0, np.nan], [-0.5, np.nan, np.nan]]
    assert encoder.encode(x) == pytest.approx(np.array(expected), nan_ok=True)
    # a value that fit has not seen in a constant column is not blown up
    assert encoder.encode(np.array([[1e9, 6.0, 2.0]]))[0] == pytest.approx([-1, 1, 2])


def test_wide_designs_are_sparse_and_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 5))
    X[3, 2] = np.nan
    encoder = make_encoder("bins", 4).fit(X, np.ones(40))
    codes, shown = encoder.encode(X), rng.random(X.shape) < 0.5
    shown[3, 2] = True
    dense = encoder.design(codes, shown)
    monkeypatch.setattr(_encoding, "_WIDE", 1)
    assert (encoder.design(codes, shown).toarray() == dense).all()


def test_weights_of_coarse_bins_are_spread_over_fine_ones():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200), rng.normal(size=200)])
    X[4, 2] = np.nan
    encoder = make_encoder("bins", (3, 4)).fit(X, np.ones(200))
    assert [len(own) for own in encoder.edges_] == [5, 1, 5]
    codes, shown = encoder.encode(X), rng.random(X.shape) < 0.6
    for number, columns in zip((3, 4), encoder.regressors_, strict=True):
        alone = make_encoder("bins", number).fit(X, np.ones(200))
        assert columns.encoder.width_ == alone.width_
        regressors = columns.design(codes, shown)
        assert (regressors == alone.design(alone.encode(X), shown)).all()
        theta = rng.normal(size=(2, alone.width_, 3))
        spread = columns.spread(theta)
        for stage in (0, 1):
            assert encoder.design(codes, shown) @ spread[stage] == pytest.approx(regressors @ theta[stage])


def test_features_with_few_values_need_one_regression():
    X = np.random.default_rng(1).integers(0, 3, size=(50, 4)).astype(float)
    encoder = make_encoder("bins", (3, 5, 8)).fit(X, np.ones(50))
    assert [columns.encoder for columns in encoder.regressors_] == [encoder]


def test_n_bins_matters():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 5))
    y = np.abs(X[:, 0]) < 0.4
    search = PolicyIteration(n_iter=3, n_restarts=1, states_per_row=8)
    scores = {}
    for n_bins in (2, (3, 5, 8)):
        model = DatumwiseClassifier(n_bins=n_bins, search=search, random_state=0).fit(X, y)
        scores[n_bins] = model.score(X, y)
    assert scores[3, 5, 8] > 0.8 > scores[2]


@pytest.mark.parametrize("n_bins", [(), (3, 1), "five", 2.5])
def test_wrong_numbers_of_bins(n_bins):
    with pytest.raises(ValueError, match=r"n_bins=.* must be an integer of at least 2 or a list"):
        DatumwiseClassifier(scoring="bins", n_bins=n_bins).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("search", [PolicyIteration(n_iter=3), PaperIteration(states_per_row=4)])
def test_linear_scores_do_not_depend_on_where_zero_is(search):
    rng = np.random.default_rng(0)
    X = rng.integers(-40, 41, size=(200, 3)) / 8.0  # sums with 2**20 are exact
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    accuracy = []
    for offset in (0.0, 2.0**20):
        model = DatumwiseClassifier(scoring="linear", search=search, feature_cost=0.01, random_state=0).fit(
            X + offset, y
        )
        accuracy.append(model.score(X + offset, y))
    assert accuracy[0] == accuracy[1] > 0.85


@pytest.mark.parametrize("step", [5e-324, 2.0**-52])
def test_neighbouring_numbers_are_told_apart(step):
    # between two numbers side by side there is none, and their midpoint is one of them
    values = 1.0 * (step > 1e-300) + step * np.random.default_rng(0).integers(0, 9, size=60)
    apart = np.unique(values, return_inverse=True)[1].astype(float)
    for n_bins in (3, 5, 20):
        codes, others = (make_encoder("bins", n_bins).fit(v[:, None], np.ones(60)) for v in (values, apart))
        np.testing.assert_array_equal(codes.encode(values[:, None]), others.encode(apart[:, None]))
