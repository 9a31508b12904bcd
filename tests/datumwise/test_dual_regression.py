"""The regression by its dual gives the weights of the plain one."""

import numpy as np
import pytest

from rlselect.datumwise import _encoding, _regression
from rlselect.datumwise._dual_regression import prior_covariance
from rlselect.datumwise._encoding import make_encoder
from rlselect.datumwise._levels import with_levels
from rlselect.datumwise._regression import shared_fit


def fixed(targets):
    """The same targets whichever fold is left out."""
    return lambda fold, states: targets[states]


def dense_precision(precision):
    return np.diag(precision[0]) + np.diag(precision[1], 1) + np.diag(precision[1], -1)


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


def test_prior_covariance_is_the_inverse():
    diagonal = np.array([2.0, 3.0, 2.0, 1.0, 5.0, 4.0, 4.0])
    beside = np.array([-1.0, 0.5, 0.0, 0.0, 0.0, 1.5])
    assert prior_covariance(diagonal, beside).toarray() == pytest.approx(
        np.linalg.inv(dense_precision((diagonal, beside)))
    )
