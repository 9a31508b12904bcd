import numpy as np
import pytest
from scipy.stats import t as student

from rlselect.regimes._estimates import from_scores


def test_few_heavy_scores_widen_the_interval():
    def reach(scores):
        found = from_scores(scores, "dr", 0.95)
        return (found.interval[1] - found.value) / found.standard_error

    rng = np.random.default_rng(0)
    light, heavy = rng.standard_normal(400), np.zeros(400)
    heavy[:4] = 1.0
    assert reach(light) == pytest.approx(student.ppf(0.975, 399), abs=0.005)
    assert reach(heavy) == pytest.approx(student.ppf(0.975, 800 / (400 / 4 - 3)), rel=0.02)
    assert np.isfinite(from_scores(np.ones(5), "dr", 0.95).interval).all()


def test_splits_are_averaged_and_their_variance_is_part_of_the_standard_error():
    rng = np.random.default_rng(1)
    splits = rng.standard_normal((3, 50)) * [[1.0], [2.0], [3.0]]
    found = from_scores(splits, "dr", 0.95)
    assert found.value == pytest.approx(splits.mean())
    within, between = np.mean(splits.var(axis=1, ddof=1)) / 50, splits.mean(axis=1).var(ddof=1)
    assert found.standard_error == pytest.approx(np.sqrt(within + between))
    one = from_scores(splits[0], "dr", 0.95)
    assert one.standard_error == pytest.approx(splits[0].std(ddof=1) / np.sqrt(50))
    np.testing.assert_allclose(found.scores, splits.mean(axis=0))
