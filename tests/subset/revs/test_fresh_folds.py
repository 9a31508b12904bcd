"""Selections that are made anew without each tenth of the rows, and what these say of them."""

import numpy as np
from scipy.special import expit

from rlselect import REVS
from rlselect.data import Batch, Units
from rlselect.learn import Softmax
from rlselect.subset.revs import _two_priors
from rlselect.subset.revs._fresh_folds import deal_folds, fresh_folds
from rlselect.subset.revs._size_prior import SizePrior
from rlselect.subset.revs._walk import Walker
from rlselect.subset.revs.evidence import GlmSubset, Rows, StandardRows, fit_glm


def draw(n, p, size, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (rng.random(n) < expit(size * (X[:, 0] - X[:, 1]))).astype(float)


def make_walker(X, y, weight=None, tick=lambda: None):
    n, p = X.shape
    rows = Rows(lambda where: Batch(X[where], y[where], None if weight is None else weight[where], None))
    rows.append(slice(0, n))
    state = GlmSubset(rows, Units(np.arange(p)), "binomial")
    return Walker(
        state,
        SizePrior(p, most=n / 4.0),
        Softmax(1.0),
        np.ones(p, dtype=bool),
        np.random.default_rng(0),
        tick,
        n,
        order=np.arange(p),
    )


def said(X, y, **given):
    walker = make_walker(X, y, **given)
    return fresh_folds(walker, walker.state)


def dealt(X, y, weight=None):
    one = np.ones(len(y))
    return deal_folds(X, StandardRows(X, y, one if weight is None else weight, np.zeros(len(y)), one))


def test_copies_share_a_fold_and_orders_do_not_matter():
    X, y = draw(60, 7, 1.0, 0)
    folds = dealt(X, y)
    again = np.random.default_rng(1).permutation(60)
    np.testing.assert_array_equal(dealt(X[again][:, ::-1], y[again]), folds[again])
    twice = dealt(np.vstack([X, X[:9]]), np.append(y, y[:9]))
    np.testing.assert_array_equal(twice, np.append(folds, folds[:9]))
    # rows that do not count are as if they were not there
    none = np.vstack([X, X[:9] + 1.0])
    padded = dealt(none, np.append(y, y[:9]), np.append(np.ones(60), np.zeros(9)))
    np.testing.assert_array_equal(padded[:60], folds)
    for label in (0.0, 1.0):
        counts = np.bincount(folds[y == label], minlength=10)
        assert counts.max() - counts.min() <= 1


def test_rows_are_told_by_models_without_them():
    X, y = draw(200, 12, 3.0, 2)
    found, folds = said(X, y), dealt(X, y)
    for fold in range(10):
        inside, outside = folds != fold, folds == fold
        fit = fit_glm(X[inside][:, :2], y[inside], "binomial")
        np.testing.assert_allclose(
            found.refit[outside], X[outside][:, :2] @ fit.coef + fit.intercept, rtol=1e-6
        )
    # posterior modes are nearer to zero, and not sure
    assert np.mean(np.abs(found.eta)) < np.mean(np.abs(found.refit))
    assert np.corrcoef(found.eta, found.refit)[0, 1] > 0.99
    assert (found.doubt > 0).all()


def test_noise_that_is_selected_by_all_rows_tells_nothing_of_those_left_out():
    X, _ = draw(60, 60, 0.0, 3)
    y = np.random.default_rng(4).integers(2, size=60).astype(float)
    walker = make_walker(X, y)
    # so cheap that climbs find something in every fold
    walker.prior = SizePrior(60, penalty=0.5)
    eta = fresh_folds(walker, walker.state).refit
    assert np.mean(np.abs(eta)) > 1.0
    assert -np.mean(np.log(expit(np.where(y == 1, eta, -eta)))) > np.log(2.0)


def test_a_weight_is_so_many_rows():
    X, y = draw(60, 5, 2.0, 5)
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    one = said(X, y, weight=weight)
    many = said(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_allclose(np.repeat(a, weight.astype(int)), b, rtol=1e-4, atol=1e-6)


def test_there_is_no_answer_without_time_or_without_one_of_the_classes():
    X, y = draw(40, 5, 2.0, 6)
    assert said(X, y, tick=lambda: "time budget") is None
    assert said(X, (np.arange(40) == 3).astype(float)) is None


def test_few_large_effects_keep_the_share_of_the_selection(monkeypatch):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((1060, 60))
    y = (rng.random(1060) < expit(2.5 * (X[:, 0] - X[:, 1]))).astype(int)

    def loss():
        model = REVS(random_state=0).fit(X[:60], y[:60])
        mean = model.predict_proba(X[60:], average=True)[:, 1]
        return -np.log(np.where(y[60:] == 1, mean, 1.0 - mean)).mean()

    with_it = loss()
    monkeypatch.setattr(_two_priors, "fresh_folds", lambda walker, state: None)
    assert with_it < loss() - 0.01
