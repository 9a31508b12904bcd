"""Weights count rows: a weight of k is the row k times, for every estimator that takes weights."""

import warnings

import numpy as np
import pytest

from rlselect import REVS, DatumwiseClassifier, RiskRFE
from rlselect.datumwise import PolicyIteration
from rlselect.temporal import TemporalProcessRegression

SHORT = PolicyIteration(n_iter=4)
SHAPES = {"p/n = 0.1": (100, 10), "p/n = 1": (36, 36), "p/n = 3": (16, 48)}


def problem(n, p, kind, seed=0):
    rng = np.random.default_rng(seed)
    X, weight = rng.standard_normal((n, p)), rng.integers(1, 4, n)
    eta = 1.5 * X[:, 0]
    if kind == "gaussian":
        y = eta + rng.standard_normal(n)
    elif kind == "two":
        y = np.column_stack([eta, -eta]) + rng.standard_normal((n, 2))
    elif kind == "poisson":
        y = rng.poisson(np.exp(0.4 * eta)).astype(float)
    elif kind == "zeros and ones":
        y = (eta + rng.logistic(size=n) > 0).astype(float)
    elif kind in ("ordered", "labels"):
        y = np.digitize(eta + rng.logistic(size=n), [-1.0, 1.0])
        y = y if kind == "ordered" else np.array(["low", "mid", "top"])[y]
    elif kind == "times":
        y = np.zeros(n, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = rng.random(n) < 0.8, rng.exponential(np.exp(-eta))
    else:
        y = np.where(eta + rng.logistic(size=n) > 0, "yes", "no")
    return X, y, weight


def both(make, X, y, weight, given=lambda rows: {}):
    """The fit with weights, and the one with copies; `given` has what else rows need."""
    every, rows = np.arange(len(y)), np.repeat(np.arange(len(y)), weight)
    mine = make().fit(X, y, sample_weight=weight.astype(float), **given(every))
    return mine, make().fit(X[rows], y[rows], **given(rows))


def subjects(rows):
    """Each row is a subject that is seen once, at one of two times."""
    return {"id": np.arange(len(rows)), "time": rows % 2}


def assert_same(mine, other, names):
    for name in names:
        np.testing.assert_allclose(
            getattr(mine, name), getattr(other, name), rtol=1e-10, atol=1e-10, err_msg=name
        )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_revs(shape, family):
    X, y, weight = problem(*SHAPES[shape], family)
    mine, other = both(lambda: REVS(family=family, random_state=0), X, y, weight)
    assert_same(mine, other, ["support_", "inclusion_", "ranking_", "coef_", "intercept_", "gain_"])


def test_revs_with_more_variables_than_rows():
    X, y, weight = problem(45, 50, "gaussian", seed=1)
    mine, other = both(lambda: REVS(random_state=0), X, y, weight)
    assert_same(mine, other, ["inclusion_"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["gaussian", "binomial"])
def test_risk_rfe(shape, kind):
    X, y, weight = problem(*SHAPES[shape], kind)
    mine, other = both(lambda: RiskRFE(random_state=0), X, y, weight)
    assert_same(mine, other, ["support_", "ranking_"])
    if kind == "gaussian":
        np.testing.assert_allclose(mine.predict(X), other.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n", "p"), [(60, 6), (12, 12), (10, 30)])
def test_datumwise(n, p):
    X, y, weight = problem(n, p, "binomial")
    mine, other = both(
        lambda: DatumwiseClassifier(scoring="bins", search=SHORT, random_state=0), X, y, weight
    )
    assert_same(mine, other, ["support_", "inclusion_"])
    np.testing.assert_array_equal(mine.predict(X), other.predict(X))


@pytest.mark.parametrize("link", ["identity", "logit", "log"])
def test_curves(link):
    X, y, weight = problem(60, 3, {"identity": "gaussian", "logit": "zeros and ones", "log": "poisson"}[link])
    mine, copies = both(lambda: TemporalProcessRegression(link=link), X, y, weight, subjects)
    np.testing.assert_allclose(mine.coef_, copies.coef_, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("make", [REVS, RiskRFE, DatumwiseClassifier])
def test_weights_that_are_shares_are_warned_about(make):
    X, y, _ = problem(40, 3, "binomial")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="sample_weight has the mean")
        with pytest.raises(UserWarning, match="a weight of k stands for k copies"):
            make(random_state=0).fit(X, y, sample_weight=np.full(40, 1 / 40))


def test_curves_warn_about_shares_too():
    X, y, _ = problem(40, 1, "gaussian")
    with pytest.warns(UserWarning, match="a weight of k stands for k copies"):
        TemporalProcessRegression().fit(
            X, y, id=np.arange(40), time=np.arange(40) % 2, sample_weight=np.full(40, 1 / 40)
        )


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_gains_beyond_the_rows_they_are_judged_on(family):
    X, y, weight = problem(1300, 4, family, seed=2)
    weight[::7] = 0
    mine, other = both(lambda: REVS(family=family, random_state=0), X, y, weight)
    assert_same(mine, other, ["inclusion_", "coef_", "gain_"])


def test_weights_make_large_data_as_copies_do():
    X, y, weight = problem(2600, 6, "poisson", seed=3)
    mine, other = both(lambda: REVS(family="poisson", random_state=0), X, y, weight)
    assert mine.stop_reason_ == other.stop_reason_ == "all rows"
    np.testing.assert_array_equal(mine.support_, other.support_)
    np.testing.assert_allclose(mine.coef_, other.coef_, rtol=0, atol=1e-6)
