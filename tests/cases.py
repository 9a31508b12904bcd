"""An estimator of each kind with a small problem that it must solve."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV

from rlselect import (
    FSTD,
    FUSE,
    REVS,
    ActorCriticPredictor,
    AdvantageLearning,
    CorrelationFeatureSelection,
    DatumwiseClassifier,
    DivideAndConquer,
    QLearning,
    RiskRFE,
    TemporalProcessRegression,
    ThompsonSelector,
    TrialData,
)
from rlselect.datumwise import DatumwiseRegressor, PolicyIteration


def numbers(n=120, p=6, seed=0):
    """Two of the columns matter, the others do not."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 2.0 * X[:, 0] - 2.0 * X[:, 2] + 0.3 * rng.standard_normal(n)


def classes(n=120, p=6, seed=0):
    X, y = numbers(n, p, seed)
    return X, np.where(y > 0, "yes", "no")


def ordered(n=150, p=6, seed=0):
    """Three classes in their order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.digitize(2.0 * X[:, 0] - 2.0 * X[:, 2] + rng.logistic(size=n), [-1.5, 1.5])


def labels(n=150, p=6, seed=0):
    """Three classes by name."""
    X, y = ordered(n, p, seed)
    return X, np.array(["low", "mid", "top"], dtype=object)[y]


def times(n=150, p=6, seed=0):
    """Times until an event, most of them seen."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.8, rng.exponential(np.exp(X[:, 2] - X[:, 0]))
    return X, y


def switch(n=300, p=6, seed=0):
    """The first column says which of two others to read."""
    X = np.random.default_rng(seed).integers(0, 2, size=(n, p)).astype(float)
    return X, np.where(X[:, 0] == 1, X[:, 2], X[:, 1]).astype(int)


def switched_numbers(n=300, p=6, seed=0):
    X, y = switch(n, p, seed)
    return X, 3.0 + 2.0 * y


def trial(n=60, p=6, seed=0):
    """One stage; the first column matters for the reward, the third one for the decision."""
    rng = np.random.default_rng(seed)
    X, action = rng.standard_normal((n, p)), rng.integers(0, 2, n)
    reward = X[:, 0] + (2 * action - 1) * 2.0 * X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, (action, reward)


def visits(n=60, p=6, seed=0):
    """Five visits of each subject."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5 * n, p))
    return X, 1.0 + 2.0 * X[:, 0] - 2.0 * X[:, 2] + rng.standard_normal(5 * n)


def fit_rows(estimator, X, y, **given):
    return estimator.fit(X, y, **given)


def fit_trial(estimator, X, y, **given):
    columns = {str(name): np.asarray(X[name]) for name in X} if hasattr(X, "columns") else None
    if columns is None:
        columns = {f"x{j}": column for j, column in enumerate(np.asarray(X).T)}
    table = {**columns, "action taken": y[0], "reward seen": y[1]}
    stages = [{"history": list(columns), "action": "action taken", "reward": "reward seen"}]
    return estimator.fit(TrialData.from_wide(table, stages))


def fit_visits(estimator, X, y, **given):
    n = len(y) // 5
    return estimator.fit(X, y, id=np.repeat(np.arange(n), 5), time=np.tile(np.arange(5), n), **given)


def predict_rows(estimator, X):
    return np.asarray(estimator.predict(X))


def predict_trial(estimator, X):
    return np.asarray(estimator.predict(np.asarray(X, dtype=float)[:20], stage=1))


def predict_visits(estimator, X):
    return estimator.predict(np.asarray(X), time=np.tile(np.arange(5), len(X) // 5))


@dataclass
class Case:
    """An estimator, a small problem for it, whether it solved it, and how the two meet."""

    make: Callable[..., Any]
    data: Callable[..., tuple[Any, Any]]
    solved: Callable[[Any], bool]
    fit: Callable[..., Any] = fit_rows
    predict: Callable[..., Any] = predict_rows

    def fitted(self, X=None, y=None, given=None, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = self.data() if X is None else (X, y)
            return self.fit(self.make(**options), *data, **(given or {}))


def selects(*wanted):
    return lambda estimator: np.flatnonzero(estimator.support_).tolist() == list(wanted)


def finds(*wanted):
    return lambda estimator: set(wanted) <= set(np.flatnonzero(estimator.support_))


def decides_by(name):
    return lambda learner: name in learner.tailoring_[0] and "x1" not in learner.selected_[0]


def follows(model):
    right = np.abs(model.coef_["x0"] - 2.0).max() < 0.7 and model.test("x2").pvalue < 1e-6
    return right and model.test("x1").pvalue > 0.01


def seeded(kind, **defaults):
    return lambda **options: kind(**{"random_state": 0, **defaults, **options})


SHORT = {"n_train": 80, "n_valid": 40, "n_preliminary": 40}
ONE_CLIMB = PolicyIteration(n_iter=10, n_restarts=1)

CASES = {
    "REVS": Case(seeded(REVS), numbers, selects(0, 2)),
    "REVS, classes": Case(seeded(REVS), classes, selects(0, 2)),
    "REVS, many classes": Case(seeded(REVS), labels, selects(0, 2)),
    "REVS, ordered": Case(seeded(REVS, family="ordinal"), ordered, selects(0, 2)),
    "REVS, times": Case(seeded(REVS), times, selects(0, 2)),
    "REVS.paper": Case(seeded(REVS.paper, **SHORT), numbers, selects(0, 2)),
    "ActorCriticPredictor": Case(seeded(ActorCriticPredictor, predictor="linear"), numbers, selects(0, 2)),
    "ActorCriticPredictor.paper": Case(
        seeded(ActorCriticPredictor.paper, predictor="linear", max_iter=80), numbers, finds(0, 2)
    ),
    "RiskRFE": Case(seeded(RiskRFE), numbers, selects(0, 2)),
    "RiskRFE, classes": Case(seeded(RiskRFE), classes, finds(0, 2)),
    "DatumwiseClassifier": Case(
        seeded(DatumwiseClassifier, scoring="bins", search=ONE_CLIMB), switch, selects(0, 1, 2)
    ),
    "DatumwiseRegressor": Case(
        seeded(DatumwiseRegressor, scoring="bins", search=ONE_CLIMB, feature_cost=0.04),
        switched_numbers,
        selects(0, 1, 2),
    ),
    "QLearning": Case(seeded(QLearning, model="linear"), trial, decides_by("x2"), fit_trial, predict_trial),
    "AdvantageLearning": Case(
        seeded(AdvantageLearning, model="linear"), trial, decides_by("x2"), fit_trial, predict_trial
    ),
    "TemporalProcessRegression": Case(TemporalProcessRegression, visits, follows, fit_visits, predict_visits),
    "DivideAndConquer": Case(
        seeded(DivideAndConquer, estimator=LassoCV(cv=3), n_folds=3), numbers, finds(0, 2), predict=None
    ),
    "ThompsonSelector": Case(seeded(ThompsonSelector, n_rounds=60), numbers, selects(0, 2), predict=None),
    "FUSE": Case(seeded(FUSE, n_games=150, n_features_to_select=2), classes, selects(0, 2), predict=None),
    "FSTD": Case(seeded(FSTD, n_games=60, n_features_to_select=2), classes, selects(0, 2), predict=None),
    "CorrelationFeatureSelection": Case(CorrelationFeatureSelection, numbers, selects(0, 2), predict=None),
}
# those whose `fit` takes a table of features and a target, and marks features
SELECTORS = [name for name, case in CASES.items() if case.fit is fit_rows]


def answers(case, estimator):
    """What a fit says, as arrays."""
    X, _ = case.data()
    marks = ("support_", "inclusion_", "ranking_")
    found = {
        mark: np.concatenate(np.atleast_2d(getattr(estimator, mark)))
        for mark in marks
        if hasattr(estimator, mark)
    }
    if case.predict is not None:
        found["predictions"] = case.predict(estimator, X)
    return found


def assert_same(mine, other, **tolerance):
    assert mine.keys() == other.keys()
    for key, values in mine.items():
        if values.dtype.kind == "f" and tolerance:
            np.testing.assert_allclose(values, other[key], err_msg=key, **tolerance)
        else:
            np.testing.assert_array_equal(values, other[key], err_msg=key)


@cache
def usual_fit(name):
    """The fit of a case as it stands, for tests that only look at it."""
    return CASES[name].fitted()
