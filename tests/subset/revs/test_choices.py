"""Rules on the inclusion probabilities of a fit."""

import numpy as np
import pytest

from rlselect import REVS, load, save
from rlselect.subset import Cutoff, ExpectedF1, FalseDiscovery, MostProbable


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30))
    X[:, 9] = X[:, 0]  # a copy
    return X, X[:, 0] + 0.5 * X[:, 1] + 0.4 * X[:, 2] + rng.normal(size=50)


@pytest.fixture(scope="module")
def options():
    groups = np.arange(30)
    groups[[3, 4]] = 99
    return {"random_state": 0, "feature_groups": groups, "always_select": [20], "never_select": [1]}


def test_a_rule_gives_the_same_before_and_after_the_fit(data, options, tmp_path):
    plain = REVS(**options).fit(*data)
    np.testing.assert_array_equal(plain.select(), plain.support_)
    np.testing.assert_array_equal(plain.select(threshold=0.5), plain.support_)
    sizes = set()
    for before, after in (
        (MostProbable(6), {"k": 6}),
        ("f1", {"rule": "f1"}),
        (FalseDiscovery(0.4), {"fdr": 0.4}),
        (Cutoff(0.05), {"threshold": 0.05}),
    ):
        fitted = REVS(rule=before, **options).fit(*data)
        chosen = plain.select(**after)
        np.testing.assert_array_equal(fitted.support_, chosen)
        np.testing.assert_array_equal(fitted.select(), chosen)
        np.testing.assert_array_equal(np.flatnonzero(fitted.coef_), np.flatnonzero(chosen))
        assert chosen[[20, 1, 9]].tolist() == [True, False, False]
        assert chosen[3] == chosen[4]
        sizes.add(int(chosen.sum()))
    assert len(sizes) >= 3
    save(plain, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").select(k=6), plain.select(k=6))


def test_the_f1_rule_knows_how_probable_nothing_is():
    # noise: single units are unlikely, and "nothing" is far more likely than if they were independent
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 40))
    fitted = REVS(random_state=0).fit(X, 0.25 * X[:, :4].sum(axis=1) + rng.normal(size=60))
    nothing = fitted._choices.nothing
    assert np.prod(1.0 - fitted.inclusion_) + 0.05 < nothing < 1.0
    expected = ExpectedF1(nothing).choose(fitted.inclusion_)
    np.testing.assert_array_equal(fitted.select(rule="f1"), expected)
    np.testing.assert_array_equal(fitted.select(rule=ExpectedF1()), expected)
    assert expected.sum() > ExpectedF1().choose(fitted.inclusion_).sum()


def test_a_group_counts_as_one(data, options):
    fitted = REVS(**options).fit(*data)
    every = fitted.select(threshold=0.0)
    # all but the copy and the one never selected; one more is a group of two
    assert every.sum() == 28
    assert fitted.select(k=26).sum() == 28


def test_messages(data):
    with pytest.raises(ValueError, match="rule='fdr' was given; it must be 'auto' or 'f1' or a rule such as"):
        REVS(rule="fdr").fit(*data)
    fitted = REVS(random_state=0).fit(*data)
    with pytest.raises(ValueError, match="rule='best' was given"):
        fitted.select(rule="best")
    with pytest.raises(ValueError, match="rule='f1' has no effect with search=Sarsa"):
        REVS.paper(rule="f1").fit(*data)
    paper = REVS.paper(n_train=20, n_valid=20, max_stages=20, random_state=0).fit(*data)
    assert paper.select(k=2).sum() == 2
    with pytest.raises(ValueError, match="which is no probability"):
        paper.select(fdr=0.1)
