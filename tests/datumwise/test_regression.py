"""The shared regression against plain linear algebra, and the bins it is made of."""

import numpy as np
import pytest

from rlselect.datumwise import _encoding
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._regression import shared_fit


def dense_precision(precision):
    return np.diag(precision[0]) + np.diag(precision[1], 1) + np.diag(precision[1], -1)


def test_each_fit_is_a_ridge_regression_without_its_fold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    encoder = make_encoder("bins", 4).fit(X, np.ones(120))
    regressors = encoder.design(encoder.encode(X), rng.random(X.shape) < 0.6)
    targets, weights = rng.normal(size=(120, 2)), rng.uniform(0.5, 2, 120)
    folds, stages = rng.integers(0, 3, 120), np.zeros(120, int)
    fits = shared_fit(lambda s: regressors[s], targets, weights, folds, stages, 1, 2.0, encoder.precision_)
    penalty = 2.0 * dense_precision(encoder.precision_)
    for fold, fit in enumerate(fits):
        own = folds != fold if fold < 3 else np.ones(120, bool)
        part, w = regressors[own], weights[own]
        expected = np.linalg.solve(
            part.T @ (w[:, None] * part) + penalty, part.T @ (w[:, None] * targets[own])
        )
        assert fit[0] == pytest.approx(expected, abs=1e-6)


def test_a_stage_adds_what_the_others_leave_over():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    encoder = make_encoder("bins", 3).fit(X, np.ones(200))
    shown = rng.random(X.shape) < 0.5
    shown[:100, 3] = False  # the first stage never sees the last feature
    regressors = encoder.design(encoder.encode(X), shown)
    targets, ones = rng.normal(size=(200, 2)), np.ones(200)
    stages = np.repeat([0, 1], 100)
    fit = shared_fit(lambda s: regressors[s], targets, ones, 0 * stages, stages, 2, 1.0, encoder.precision_)[
        -1
    ]
    penalty = dense_precision(encoder.precision_)
    shared = np.linalg.solve(regressors.T @ regressors + penalty, regressors.T @ targets)
    for stage in (0, 1):
        part = regressors[stages == stage]
        left = targets[stages == stage] - part @ shared
        own = np.linalg.solve(part.T @ part + penalty, part.T @ left)
        assert fit[stage] == pytest.approx(shared + own, abs=1e-6)


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
