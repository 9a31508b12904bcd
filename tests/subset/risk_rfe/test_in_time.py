"""Rows that a time budget has room for, where machines need all of them at once."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from rlselect import REVS, RiskRFE


def problem(n=3000, p=4, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + 0.1 * rng.standard_normal(n)
    return X, y if not classes else np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))


@pytest.mark.parametrize(
    ("options", "classes"),
    [
        ({"loss": "logistic"}, 2),
        ({"loss": "hinge"}, 3),
        ({"loss": "epsilon_insensitive"}, 0),
        ({"kernel": "anova"}, 0),
        ({"stopping": "held-out"}, 0),
        ({"n_landmarks": 400}, 0),
    ],
)
def test_some_of_the_rows_where_there_is_no_time_for_all(options, classes):
    fitted = RiskRFE(time_budget=0.2, random_state=0, **options).fit(*problem(classes=classes))
    assert "of 3000 rows" in fitted.stop_reason_
    assert fitted.stop_reason_.startswith("time budget")
    assert fitted.support_[0]


def test_an_estimator_is_timed_on_few_rows(monkeypatch):
    monkeypatch.setattr("rlselect.subset.risk_rfe._in_time._FITS", 1e4)
    fitted = RiskRFE(DecisionTreeRegressor(max_depth=2), time_budget=1.0).fit(*problem())
    assert "of 3000 rows" in fitted.stop_reason_


def test_every_class_is_among_the_rows():
    X, _ = problem()
    y = np.where(np.arange(3000) < 2, "rare", np.where(X[:, 0] > 0, "high", "low"))
    fitted = RiskRFE(loss="hinge", time_budget=0.2, random_state=0).fit(X, y)
    assert set(fitted.classes_) == {"rare", "high", "low"}


def test_clusters_of_times_begin_in_time():
    X, y = problem(n=1500, p=60)
    given = {"time": np.exp(y), "event": np.arange(1500) % 5 > 0}
    fitted = REVS(time_budget=0.05, random_state=0).fit(X, given, groups=np.arange(1500) // 3)
    assert fitted.stop_reason_.startswith("time budget, ")
    assert fitted.stop_reason_.endswith(" of 1500 rows")
