from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from rlselect import CorrelationFeatureSelection


def naive_merit(X, y, subset):
    """The formula by plain loops over absolute correlations."""
    k = len(subset)
    with_target = np.mean([abs(np.corrcoef(X[:, j], y)[0, 1]) for j in subset])
    pairs = [abs(np.corrcoef(X[:, i], X[:, j])[0, 1]) for i, j in combinations(subset, 2)]
    return k * with_target / np.sqrt(k + k * (k - 1) * (np.mean(pairs) if pairs else 0.0))


@pytest.mark.parametrize("seed", range(8))
def test_the_subset_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 6)) @ rng.normal(size=(6, 6))
    y = X @ rng.normal(size=6) + rng.standard_normal(60)
    found = CorrelationFeatureSelection(patience=100).fit(X, y)
    every = [s for k in range(1, 7) for s in combinations(range(6), k)]
    best = max(every, key=lambda s: naive_merit(X, y, s))
    assert tuple(np.flatnonzero(found.support_)) == best
    assert found.merit_ == pytest.approx(naive_merit(X, y, best))


def test_a_number_takes_so_many_in_the_order_of_merit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 7))
    y = X[:, 1] + 0.7 * X[:, 4] + 0.3 * rng.standard_normal(200)
    assert np.flatnonzero(CorrelationFeatureSelection().fit(X, y).support_).tolist() == [1, 4]
    one = CorrelationFeatureSelection(n_features_to_select=1).fit(X, y)
    assert np.flatnonzero(one.support_).tolist() == [1]
    four = CorrelationFeatureSelection(n_features_to_select=4).fit(X, y)
    assert four.support_.sum() == 4
    assert four.ranking_[1] == 1
    assert four.ranking_[4] == 2


def test_petals_tell_irises_apart():
    iris = load_iris()
    found = CorrelationFeatureSelection().fit(iris.data, iris.target)
    assert np.flatnonzero(found.support_).tolist() == [2, 3]
    assert found.classes_.tolist() == [0, 1, 2]


def test_a_text_column_is_one_feature():
    rng = np.random.default_rng(2)
    city = rng.choice(["Rome", "Paris", "Oslo"], size=300)
    frame = pd.DataFrame({"noise": rng.standard_normal(300), "city": city})
    found = CorrelationFeatureSelection().fit(frame, np.char.upper(city))
    assert found.get_feature_names_out().tolist() == ["city"]
    assert found.association_[1] == pytest.approx(1.0)


def test_noise_has_no_association_with_classes():
    rng = np.random.default_rng(3)
    found = CorrelationFeatureSelection().fit(rng.standard_normal((200, 5)), rng.integers(0, 2, 200))
    assert not found.support_.any()
    assert found.association_.tolist() == [0.0] * 5


def test_of_very_many_columns_the_likeliest_are_cut_in_time():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6000))
    labels = np.where(X[:, 4000] + 0.2 * rng.standard_normal(100) > 0, "high", "low")
    found = CorrelationFeatureSelection(time_budget=0.2).fit(X, labels)
    assert found.stop_reason_.startswith("time budget, ")
    assert found.stop_reason_.endswith(" of 6000 features")
    assert found.support_[4000]


def test_only_of_numbers_the_summary_warns_of_chance():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 8))
    said = str(CorrelationFeatureSelection().fit(X, rng.standard_normal(100)).summary())
    assert "does not ask what chance would do" in said
    labels = (X[:, 2] > 0).astype(int)
    assert "chance" not in str(CorrelationFeatureSelection().fit(X, labels).summary())
