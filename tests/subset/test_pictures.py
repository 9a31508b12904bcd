"""What pictures of selectors stand on: the worth of variables, and the steps of a search."""

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LassoCV

from rlselect import FUSE, REVS, CorrelationFeatureSelection, DivideAndConquer, ThompsonSelector
from rlselect.report import NotDrawnError
from rlselect.subset import GainDisplay, PerformanceDisplay

matplotlib.use("Agg")


def test_of_several_responses_a_variable_is_worth_what_it_is_to_the_best_of_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = np.column_stack([X[:, 0], X[:, 2]]) + 0.3 * rng.standard_normal((80, 2))
    model = REVS(random_state=0).fit(X, y)
    display = GainDisplay.from_estimator(model)
    assert dict(zip(display.names, display.gain, strict=True)) == {
        "x0": model.gain_[:, 0].max(),
        "x2": model.gain_[:, 2].max(),
    }
    with pytest.raises(NotDrawnError, match="one response"):
        PerformanceDisplay.from_estimator(model, X, y)
    matplotlib.pyplot.close("all")


def test_rivals_tell_how_they_searched():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    y = X[:, 1] + 0.3 * rng.standard_normal(100)
    greedy = CorrelationFeatureSelection().fit(X, y)
    assert greedy.path_["score"][-1] == pytest.approx(greedy.merit_)
    assert greedy.path_["size"][-1] == greedy.support_.sum()
    assert (np.diff(greedy.path_["score"]) >= 0).all()
    steps = greedy.summary().dict["path"]
    assert steps["score"] == greedy.path_["score"].tolist()
    games = FUSE(n_games=20, random_state=0).fit(X, y)
    assert [len(values) for values in games.path_.values()] == [20, 20]
    rounds = ThompsonSelector(n_rounds=30, random_state=0).fit(X, y)
    assert rounds.path_["size"][-1] == rounds.support_.sum()
    assert (rounds.path_["used"] <= rounds.path_["pulled"]).all()
    # every pull is counted in its arm: the prior is one of each
    assert rounds.path_["pulled"].sum() == (rounds.arms_ - 1.0).sum()
    further = ThompsonSelector(n_rounds=30, random_state=0).partial_fit(X, y).partial_fit(X, y)
    assert len(further.path_["size"]) == further.n_rounds_ == 60
    folds = DivideAndConquer(LassoCV(cv=3), n_folds=4, random_state=0).fit(X, y)
    assert folds.path_["size"].sum() == pytest.approx(4 * folds.inclusion_.sum())
    assert "path" not in folds.summary().dict
