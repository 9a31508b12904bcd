"""The shared regression against plain linear algebra, and the bins it is made of."""

import numpy as np
import pytest

from rlselect.datumwise import _encoding, _regression
from rlselect.datumwise._dual_regression import prior_covariance
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._levels import with_levels
from rlselect.datumwise._regression import merge_states, shared_fit


def fixed(targets):
    """The same targets whichever fold is left out."""
    return lambda fold, states: targets[states]


def dense_precision(precision):
    return np.diag(precision[0]) + np.diag(precision[1], 1) + np.diag(precision[1], -1)


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


@pytest.mark.parametrize("n_folds", [1, 3])
@pytest.mark.parametrize("n_stages", [1, 4])
def test_the_dual_gives_the_same_weights(monkeypatch, n_folds, n_stages):
    monkeypatch.setattr(_encoding, "_WIDE", 1)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 40))
    X[:, 7] = rng.integers(0, 3, 60)
    encoder = with_levels(make_encoder("bins", 6).fit(X, np.ones(60)), {7: 3})
    codes, row = encoder.encode(X), np.repeat(np.arange(60), 5)
    shown = rng.random((300, 40)) < 0.2 * rng.random((300, 1))
    shown[::5] = False
    regressors = encoder.design(codes[row], shown)
    targets, weights = rng.normal(size=(4, 300, 9)), rng.uniform(0.1, 40, 300)
    folds, stages = rng.integers(0, n_folds, 300), np.minimum(shown.sum(axis=1), n_stages - 1)
    both = []
    for most in (0, 1e9):  # never the dual, always the dual
        monkeypatch.setattr(_regression, "_DUAL", most)
        both.append(
            shared_fit(
                lambda s: regressors[s],
                lambda fold, s: targets[fold, s],
                weights,
                folds,
                stages,
                n_stages,
                0.7,
                encoder.precision_,
                n_folds,
            )
        )
    assert len(both[0]) == len(both[1]) == (4 if n_folds > 1 else 1)
    for primal, dual in zip(*both, strict=True):
        assert dual == pytest.approx(primal, abs=1e-9 * np.abs(primal).max())


def test_few_states_of_many_features_go_to_the_dual(monkeypatch):
    called = []
    monkeypatch.setattr(_regression, "dual_fit", lambda *parts: called.append(len(parts[2])))
    monkeypatch.setattr(_encoding, "_WIDE", 1)
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 10))
    encoder = make_encoder("bins", 3).fit(X, np.ones(30))  # a constant and thirty bins
    codes = encoder.encode(X)
    for n in (30, 3000):
        regressors = encoder.design(codes[rng.integers(0, 30, n)], rng.random((n, 10)) < 0.5)
        zeros = np.zeros(n, int)
        shared_fit(
            lambda s, r=regressors: r[s],
            fixed(np.ones((n, 2))),
            np.ones(n),
            zeros,
            zeros,
            1,
            1.0,
            encoder.precision_,
            1,
        )
    assert called == [30]


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


def test_prior_covariance_is_the_inverse():
    diagonal = np.array([2.0, 3.0, 2.0, 1.0, 5.0, 4.0, 4.0])
    beside = np.array([-1.0, 0.5, 0.0, 0.0, 0.0, 1.5])
    assert prior_covariance(diagonal, beside).toarray() == pytest.approx(
        np.linalg.inv(dense_precision((diagonal, beside)))
    )


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


def test_linear_values_are_centred_and_scaled():
    x = np.array([[1e9, 5.0, np.nan], [1e9 + 4, 5.0, np.nan], [1e9 + 1, np.nan, np.nan]])
    encoder = make_encoder("linear", 5).fit(x, np.ones(3))
    expected = [[-1, 0, np.nan], [1, 0, np.nan], [-0.5, np.nan, np.nan]]
    assert encoder.encode(x) == pytest.approx(np.array(expected), nan_ok=True)
    # a value that fit has not seen in a constant column is not blown up
    assert encoder.encode(np.array([[1e9, 6.0, 2.0]]))[0] == pytest.approx([-1, 1, 2])
