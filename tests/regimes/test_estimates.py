import numpy as np
import pytest
from scipy.stats import t as student

from rlselect.regimes._estimates import from_scores
from rlselect.regimes._sample import Sample


def reaches(scores):
    """Of the interval below and above the value, in standard errors."""
    found = from_scores(scores, "dr", 0.95)
    return (np.array([-1.0, 1.0]) * (np.array(found.interval) - found.value)) / found.standard_error


def test_few_heavy_scores_widen_the_interval():
    light, heavy = student.ppf(np.linspace(0.001, 0.999, 400), 1e6), np.zeros(400)
    heavy[:2], heavy[2:4] = 1.0, -1.0
    np.testing.assert_allclose(reaches(light), student.ppf(0.975, 399), atol=0.005)
    np.testing.assert_allclose(reaches(heavy), student.ppf(0.975, 800 / (400 / 4 - 1)), rtol=0.02)
    assert np.isfinite(from_scores(np.ones(5), "dr", 0.95).interval).all()


def test_the_interval_of_skewed_scores_reaches_to_the_side_of_the_long_tail():
    scores = np.random.default_rng(5).lognormal(size=100)
    below, above = reaches(scores)
    skewness = np.mean((scores - scores.mean()) ** 3) / scores.std() ** 3 / 10.0

    def straightened(t):
        return t + skewness / 3.0 * t**2 + skewness**2 / 27.0 * t**3 + skewness / 6.0

    # the ends are where the straightened statistic has the quantiles of one without skewness
    assert straightened(below) == pytest.approx(-straightened(-above))
    assert above > 1.3 * below
    np.testing.assert_allclose(reaches(-scores), [above, below])


def test_means_of_skewed_scores_are_held_as_often_as_said():
    draws = np.random.default_rng(6).lognormal(size=(1000, 100))
    found = [from_scores(scores, "dr", 0.95) for scores in draws]
    low, high = np.array([one.interval for one in found]).T
    truth = np.exp(0.5)
    assert np.mean((low <= truth) & (truth <= high)) > 0.94
    # of the same length to both sides, more than five in a hundred would end below the truth
    even = np.array([one.value + (one.interval[1] - one.interval[0]) / 2.0 for one in found])
    assert np.mean(high < truth) < 0.05 < np.mean(even < truth)


def test_splits_are_averaged_and_the_standard_error_is_that_of_one():
    rng = np.random.default_rng(1)
    splits = rng.standard_normal((3, 50)) * [[1.0], [2.0], [3.0]]
    found = from_scores(splits, "dr", 0.95)
    assert found.value == pytest.approx(splits.mean())
    assert found.standard_error == pytest.approx(np.sqrt(np.mean(splits.var(axis=1, ddof=1)) / 50))
    one = from_scores(splits[0], "dr", 0.95)
    assert one.standard_error == pytest.approx(splits[0].std(ddof=1) / np.sqrt(50))
    np.testing.assert_allclose(found.scores, splits.mean(axis=0))


def test_a_difference_is_as_uncertain_as_regimes_that_change_between_splits_are():
    rng = np.random.default_rng(3)
    outcome = rng.normal(size=100)
    # in each split another half of the subjects is judged by its own action
    splits = outcome + np.array([np.where(rng.uniform(size=100) < 0.5, 1.0, -1.0) for _ in range(3)])
    done = from_scores(outcome, "observed", 0.95)
    found = from_scores(splits, "dr", 0.95).less(done)
    away = splits - outcome
    expected = away.var(axis=1, ddof=1).mean() / 100
    assert found.value == pytest.approx(away.mean())
    assert found.standard_error == pytest.approx(np.sqrt(expected))
    assert found.standard_error > 1.5 * away.mean(axis=0).std(ddof=1) / 10.0
    # of splits that are not as many, the means are compared
    other = from_scores(splits[:2], "dr", 0.95)
    mean = splits.mean(axis=0) - splits[:2].mean(axis=0)
    assert from_scores(splits, "dr", 0.95).less(other).value == pytest.approx(mean.mean())


def test_the_chance_of_learning_is_part_of_the_standard_error_and_of_differences():
    rng = np.random.default_rng(4)
    splits, apart = rng.normal(size=(2, 50)), rng.normal(size=(2, 4, 3, 50))
    found = from_scores(splits, "dr", 0.95, apart=apart)
    # half the mean square at each of three stages, averaged over splits and divisions
    added = 0.5 * np.square(apart).sum(axis=(2, 3)).mean() / 50**2
    within = splits.var(axis=1, ddof=1).mean() / 50
    assert found.standard_error == pytest.approx(np.sqrt(within + added))
    assert found.learning_variance == pytest.approx(added)
    gain = found.less(from_scores(np.zeros(50), "observed", 0.95))
    assert gain.standard_error == pytest.approx(found.standard_error)


def test_what_regimes_are_apart_by_is_added_up_within_clusters():
    rng = np.random.default_rng(5)
    sample = Sample(rng.uniform(0.5, 1.5, size=12), np.repeat(np.arange(4), 3))
    apart = rng.normal(size=(1, 1, 1, 12))
    found = from_scores(rng.normal(size=12), "dr", 0.95, sample, apart)
    totals = (sample.weights * apart[0, 0, 0]).reshape(4, 3).sum(axis=1)
    assert found.learning_variance == pytest.approx(0.5 * np.sum(totals**2) / 12**2)
