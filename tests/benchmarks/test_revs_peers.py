"""Peers and designs written for the comparisons of REVS do what their papers say."""

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = str(Path(__file__).resolve().parents[2] / "benchmarks")


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    for name in ("peers", "_hastie"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import _hastie
    from peers import knockoffs, susie

    return _hastie, susie, knockoffs


def test_relative_error_is_the_expected_test_error(benchmarks):
    hastie = benchmarks[0]
    data = hastie.design("n500-p100", 0.7, 1.22, 3)
    guess = data.coef + 0.1 * np.random.default_rng(0).normal(size=100)
    off = guess - data.coef
    slow = 1.0 + (off @ data.covariance() @ off + 0.3**2) / data.noise
    assert data.relative_error(guess, 0.3) == pytest.approx(slow)
    assert data.relative_error(np.zeros(100), 0.0) == pytest.approx(2.22)
    X, y = data.rows(20_000, np.random.default_rng(1))
    assert np.mean((y - X @ guess - 0.3) ** 2) / data.noise == pytest.approx(slow, rel=0.03)
    np.testing.assert_allclose(np.corrcoef(X[:, :3].T), data.covariance()[:3, :3], atol=0.02)


def test_single_effects_find_strong_ones(benchmarks):
    susie = benchmarks[1]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 50)) * 3.0 + 1.0
    y = 2.0 * X[:, 4] - X[:, 7] + rng.normal(size=200)
    coef, inclusion, intercept = susie.posterior(X, y)
    assert np.flatnonzero(inclusion > 0.5).tolist() == [4, 7]
    np.testing.assert_allclose(coef[[4, 7]], [2.0, -1.0], atol=0.05)
    assert np.mean((y - X @ coef - intercept) ** 2) < 1.2
    assert not susie.select(X, rng.normal(size=200), "gaussian", seed=0).any()
    # one of two equal columns: each has half of the probability
    X[:, 9] = X[:, 4]
    inclusion = susie.posterior(X, y)[1]
    np.testing.assert_allclose(inclusion[[4, 9]], 0.5, atol=0.02)


def test_knockoffs(benchmarks):
    knockoffs = benchmarks[2]
    statistic = np.array([5.0, 4.0, 3.0, -2.5, 2.0, 1.0, -0.5, 0.0])
    # at 1.0: (1 + 1) wrong of 5; at 3.0: (1 + 0) of 3
    assert np.flatnonzero(knockoffs.choose(statistic, 0.4)).tolist() == [0, 1, 2, 4, 5]
    assert np.flatnonzero(knockoffs.choose(statistic, 0.35)).tolist() == [0, 1, 2]
    assert not knockoffs.choose(statistic, 0.3).any()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = X[:, :15].sum(axis=1) + rng.normal(size=300)
    found = knockoffs.choose(knockoffs.statistics(X, y, np.eye(40), seed=0), 0.1)
    assert found[:15].all()
    assert found.sum() <= 18
