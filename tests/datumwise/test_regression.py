"""The shared regression against plain linear algebra, and the bins it is made of."""

import numpy as np
import pytest

from rlselect.datumwise import _encoding
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._regression import merge_states, shared_fit


def fixed(targets):
    """The same targets whichever fold is left out."""
    return lambda fold, states: targets[states]


def dense_precision(precision):
    return np.diag(precision[0]) + np.diag(precision[1], 1) + np.diag(precision[1], -1)


def test_regressions_that_do_not_fit_into_the_memory_are_refused():
    width = 400_000
    precision = np.ones(width), np.zeros(width - 1)

    def design(states):
        return np.broadcast_to(np.zeros(1), (len(states), width))

    rows = (np.ones(9), np.arange(9) % 3, np.zeros(9, dtype=int))
    with pytest.raises(MemoryError, match=r"regressions on 400000 indicators .*PolicyIteration\(screen"):
        shared_fit(design, fixed(np.zeros((9, 2))), *rows, 1, 1.0, precision, n_folds=3)


def test_each_fit_is_a_ridge_regression_without_its_fold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    encoder = make_encoder("bins", 4).fit(X, np.ones(120))
    regressors = encoder.design(encoder.encode(X), rng.random(X.shape) < 0.6)
    targets, weights = rng.normal(size=(120, 2)), rng.uniform(0.5, 2, 120)
    folds, stages = rng.integers(0, 3, 120), np.zeros(120, int)
    fits = shared_fit(
        lambda s: regressors[s], fixed(targets), weights, folds, stages, 1, 2.0, encoder.precision_, 3
    )
    penalty = 2.0 * dense_precision(encoder.precision_)
    for fold, fit in enumerate(fits):
        own = folds != fold if fold < 3 else np.ones(120, bool)
        part, w = regressors[own], weights[own]
        expected = np.linalg.solve(
            part.T @ (w[:, None] * part) + penalty, part.T @ (w[:, None] * targets[own])
        )
        assert fit[0] == pytest.approx(expected, abs=1e-6)


def test_targets_may_depend_on_the_fold_left_out():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 3))
    encoder = make_encoder("bins", 4).fit(X, np.ones(90))
    regressors = encoder.design(encoder.encode(X), rng.random(X.shape) < 0.6)
    targets, ones = rng.normal(size=(4, 90, 2)), np.ones(90)
    folds, stages = rng.integers(0, 3, 90), rng.integers(0, 2, 90)
    common = ones, folds, stages, 2, 2.0, encoder.precision_, 3
    fits = shared_fit(lambda s: regressors[s], lambda fold, s: targets[fold, s], *common)
    for fold, fit in enumerate(fits):
        alone = shared_fit(lambda s: regressors[s], fixed(targets[fold]), *common, differ=False)
        assert fit == pytest.approx(alone[fold], abs=1e-9)


def test_a_stage_adds_what_the_others_leave_over():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    encoder = make_encoder("bins", 3).fit(X, np.ones(200))
    shown = rng.random(X.shape) < 0.5
    shown[:100, 3] = False  # the first stage never sees the last feature
    regressors = encoder.design(encoder.encode(X), shown)
    targets, ones = rng.normal(size=(200, 2)), np.ones(200)
    stages = np.repeat([0, 1], 100)
    fit = shared_fit(
        lambda s: regressors[s], fixed(targets), ones, 0 * stages, stages, 2, 1.0, encoder.precision_, 1
    )[-1]
    penalty = dense_precision(encoder.precision_)
    shared = np.linalg.solve(regressors.T @ regressors + penalty, regressors.T @ targets)
    for stage in (0, 1):
        part = regressors[stages == stage]
        left = targets[stages == stage] - part @ shared
        own = np.linalg.solve(part.T @ part + penalty, part.T @ left)
        assert fit[stage] == pytest.approx(shared + own, abs=1e-6)


def test_equal_states_are_merged_within_fold_and_stage():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, size=(50, 3)).astype(float)
    encoder = make_encoder("bins", 2).fit(X, np.ones(50))
    dense = encoder.design(encoder.encode(X), rng.random(X.shape) < 0.5)
    targets, weights = rng.normal(size=(50, 2)), rng.uniform(0.5, 2, 50)
    folds, stages = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    few, pool, total, fold, stage = merge_states(_encoding.sparse.csr_array(dense), weights, folds, stages)
    means = pool @ targets
    whole = np.column_stack([folds, stages, dense])
    assert len(np.unique(whole, axis=0)) == len(total) < 50
    for row, mean, weight, f, t in zip(few.toarray(), means, total, fold, stage, strict=True):
        own = (whole == np.concatenate([[f, t], row])).all(axis=1)
        assert weight == pytest.approx(weights[own].sum())
        assert mean == pytest.approx(np.average(targets[own], axis=0, weights=weights[own]))
