"""Predictors of masked columns: batched equals one at a time, tuned and chosen as said."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeRegressor

from rlselect.kernels._networks import Training
from rlselect.subset.acp.masked._estimator import MaskedEstimator
from rlselect.subset.acp.masked._kernel import RIDGES, MaskedKernel
from rlselect.subset.acp.masked._linear import MaskedLinear
from rlselect.subset.acp.masked._logistic import MaskedLogistic
from rlselect.subset.acp.masked._make import make_masked
from rlselect.subset.acp.masked._network import MaskedNetwork
from rlselect.subset.acp.masked._predictor import balanced_folds, make_target


def problem(kind="regression", n=80, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(n)
    if kind == "regression":
        return X, make_target(3.0 * eta + 5.0, False)
    return X, make_target(np.digitize(eta, [0.0] if kind == "binary" else [-0.7, 0.7]), True)


MASKS = np.array(
    [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]],
    dtype=bool,
)

NETWORK = Training(epochs=60, decay=0.003)

CASES = {
    "linear": ("regression", lambda X, t: MaskedLinear(X, t)),
    "ridge": ("several", lambda X, t: MaskedLinear(X, t, ridge=2.0)),
    "logistic": ("binary", lambda X, t: MaskedLogistic(X, t)),
    "multinomial": ("several", lambda X, t: MaskedLogistic(X, t)),
    "kernel": ("regression", lambda X, t: MaskedKernel(X, t, ridge=0.3)),
    "kernel classes": ("several", lambda X, t: MaskedKernel(X, t, ridge=0.3)),
    "network": ("regression", lambda X, t: MaskedNetwork(X, t, hidden=16, training=NETWORK)),
    "network classes": ("several", lambda X, t: MaskedNetwork(X, t, hidden=16, training=NETWORK)),
    "estimator": ("regression", lambda X, t: MaskedEstimator(X, t, estimator=LinearRegression())),
    "classifier": ("binary", lambda X, t: MaskedEstimator(X, t, estimator=LogisticRegression())),
    "labels": ("several", lambda X, t: MaskedEstimator(X, t, estimator=RidgeClassifier())),
}


@pytest.mark.parametrize("case", CASES)
def test_all_masks_at_once_or_one_by_one(case):
    kind, make = CASES[case]
    X, target = problem(kind)
    predictor = make(X, target)
    predictor.redraw(np.random.default_rng(0))
    together = predictor.criterion(MASKS)
    alone = np.array([predictor.criterion(mask[None])[0] for mask in MASKS])
    np.testing.assert_allclose(together, alone, atol=3e-3)
    # the true columns are best, and no column is worse than they are
    assert together[0] < together[3]
    assert together[0] < together[1]


@pytest.mark.parametrize("case", CASES)
def test_models_predict_new_rows(case):
    kind, make = CASES[case]
    X, target = problem(kind, n=200)
    model = make(X, target).fit(MASKS[0])
    fresh, truth = problem(kind, n=200, seed=1)
    if kind == "regression":
        assert np.mean(np.square(model.decision(fresh[:, :2]) - truth.Y)) < 0.35
    else:
        share = model.proba(fresh[:, :2])
        np.testing.assert_allclose(share.sum(axis=1), 1.0, atol=1e-6)
        assert np.mean(share.argmax(axis=1) == truth.codes) > 0.65
        assert len(model.log_odds(fresh[:, :2])) == 200


@pytest.mark.parametrize("case", CASES)
def test_other_columns_are_judged_on_the_same_folds(case):
    kind, make = CASES[case]
    X, target = problem(kind)
    predictor = make(X, target)
    predictor.redraw(np.random.default_rng(0))
    other = predictor.on_columns(X[:, ::-1])
    if "network" not in case:  # whose first weights belong to places
        np.testing.assert_allclose(
            other.criterion(MASKS[:, ::-1]), predictor.criterion(MASKS), rtol=1e-4, atol=1e-5
        )
    assert other.name == predictor.name


@pytest.mark.parametrize("kind", ["regression", "several"])
def test_linear_folds_from_grams_equal_folds_from_rows(kind):
    X, target = problem(kind)
    predictor = MaskedLinear(X, target)
    predictor.redraw(np.random.default_rng(0))
    np.testing.assert_allclose(
        predictor.criterion(MASKS), np.log(predictor.fold_losses(MASKS).mean(axis=1)), rtol=1e-6
    )


def test_linear_leave_one_out_is_that_of_n_fits():
    X, target = problem(n=30)
    got = MaskedLinear(X, target).row_losses(MASKS[0])
    for i in range(30):
        rest = np.arange(30) != i
        model = LinearRegression().fit(X[rest][:, :2], target.Y[rest])
        expected = np.square(target.Y[i] - model.predict(X[i : i + 1, :2])[0]).sum()
        np.testing.assert_allclose(got[i], expected, rtol=1e-5)


def test_folds_of_long_data_are_made_of_blocks():
    X, target = problem(n=6000)
    predictor = MaskedLinear(X, target)
    rng = np.random.default_rng(0)
    for _ in range(2):
        assert predictor.redraw(rng)
        np.testing.assert_allclose(
            predictor.criterion(MASKS), np.log(predictor.fold_losses(MASKS).mean(axis=1)), rtol=1e-6
        )
        assert np.bincount(predictor.folds).min() >= 1000


def test_kernel_tunes_its_ridge_and_draws_rows():
    X, target = problem(n=300)
    predictor = MaskedKernel(X, target, rows=100)
    assert predictor.tune(MASKS[0]) or predictor.ridge == 1.0
    errors = [MaskedKernel(X, target, ridge=r, rows=100).criterion(MASKS[:1])[0] for r in RIDGES]
    assert predictor.ridge == RIDGES[int(np.argmin(errors))]
    assert predictor.tuned_criterion(MASKS)[0] <= predictor.criterion(MASKS)[0]
    before = predictor.criterion(MASKS)
    assert predictor.redraw(np.random.default_rng(0))
    assert not np.allclose(before, predictor.criterion(MASKS))
    assert np.isfinite(predictor.row_losses(MASKS[0])).sum() == 100
    assert not MaskedKernel(X[:50], target.rows(np.arange(50))).redraw(np.random.default_rng(0))


def test_classes_are_spread_over_folds():
    _, target = problem("several", n=50)
    folds = balanced_folds(target, 5, np.random.default_rng(0))
    table = np.zeros((3, 5))
    np.add.at(table, (target.codes, folds), 1)
    assert np.ptp(table, axis=1).max() <= 1


def test_makers():
    X, target = problem()
    rng = np.random.default_rng(0)
    assert make_masked("auto", target, rng=rng) == (None, "auto")
    make, name = make_masked(DecisionTreeRegressor(), target, rng=rng)
    assert name == "DecisionTreeRegressor"
    assert make(X, target).estimator.random_state is not None
    for bad in ("forest", 3, LinearRegression):
        with pytest.raises(ValueError, match="predictor="):
            make_masked(bad, target, rng=rng)[0](X, target)
    with pytest.raises(ValueError, match="needs classes"):
        make_masked("logistic", target, rng=rng)
    make, _ = make_masked(RandomForestClassifier(), target, rng=rng)
    with pytest.raises(ValueError, match="give a regressor"):
        make(X, target)
