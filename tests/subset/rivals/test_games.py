import numpy as np
import pandas as pd
import pytest

from rlselect import FSTD, FUSE


def xor(n=250, p=8, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, p))
    return X, X[:, 1] * X[:, 4] > 0


def test_fuse_finds_features_that_matter_only_together():
    X, y = xor()
    found = FUSE(n_features_to_select=2, n_games=1200, random_state=3).fit(X, y)
    assert np.flatnonzero(found.support_).tolist() == [1, 4]
    path = FUSE(n_games=1200, random_state=3).fit(X, y)
    assert path.support_[[1, 4]].all()
    assert path.support_.sum() <= 4


@pytest.mark.parametrize("kind", [FUSE, FSTD])
def test_numbers_and_several_classes(kind):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((250, 6))
    signal = 2.0 * X[:, 0] + X[:, 3]
    for y in (signal + 0.3 * rng.standard_normal(250), np.digitize(signal, [-1.0, 1.0])):
        found = kind(n_features_to_select=2, n_games=400, random_state=0).fit(X, y)
        assert np.flatnonzero(found.support_).tolist() == [0, 3]


def test_fstd_takes_features_of_positive_value():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 6))
    y = X[:, 2] + X[:, 5] > 0
    found = FSTD(n_games=400, random_state=0).fit(X, y)
    np.testing.assert_array_equal(found.support_, found.values_ > 0)
    assert set(np.argsort(-found.values_)[:2].tolist()) == {2, 5}
    assert np.delete(found.values_, [2, 5]).max() < 0.01


@pytest.mark.parametrize("kind", [FUSE, FSTD])
def test_constants_and_copies_cannot_be_chosen(kind):
    X, y = xor(150, 5)
    frame = pd.DataFrame(np.column_stack([X, np.ones(150), X[:, 1]]), columns=list("abcdefg"))
    found = kind(n_games=100, n_features_to_select=7, random_state=0).fit(frame, y)
    assert not found.support_[5:].any()
    assert sorted(found.ranking_) == [1, 2, 3, 4, 5, 6, 7]
    only_constants = kind(n_games=10, random_state=0).fit(np.ones((20, 2)), np.arange(20) % 2)
    assert only_constants.stop_reason_ == "nothing to choose from"
    assert not only_constants.support_.any()


def test_a_text_column_is_one_move():
    rng = np.random.default_rng(4)
    city = rng.choice(["Rome", "Paris", "Oslo", "Bern"], size=200)
    frame = pd.DataFrame({"noise": rng.standard_normal(200), "city": city})
    found = FUSE(n_games=100, n_features_to_select=1, random_state=0).fit(
        frame, np.isin(city, ["Oslo", "Bern"])
    )
    assert found.get_feature_names_out().tolist() == ["city"]


@pytest.mark.parametrize("kind", [FUSE, FSTD])
def test_games_say_that_chance_is_not_asked(kind):
    X, y = xor()
    found = kind(n_games=200, random_state=0).fit(X, y)
    assert found.support_.any()
    assert "does not ask what chance would do" in str(found.summary())
