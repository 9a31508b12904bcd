import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import cramervonmises_2samp

from rlselect import two_sample_cvm


def readings(seed=0, n=60, k=4, shift=0.0, rho=0.7):
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n), k)
    value = np.sqrt(rho) * rng.normal(size=n)[ids] + np.sqrt(1 - rho) * rng.normal(size=n * k)
    group = ids < n // 3
    return value + shift * group, group, ids, np.tile(np.arange(k), n)


def naive_statistic(a, b):
    both = np.concatenate([a, b])
    f = np.array([(a <= v).mean() for v in both])
    g = np.array([(b <= v).mean() for v in both])
    return len(a) * len(b) / (len(a) + len(b)) * ((f - g) ** 2).mean()


def test_statistic_equals_scipy_and_the_definition():
    value, group, ids, _ = readings()
    ours = two_sample_cvm(value, group, ids, n_draws=10, random_state=0)
    assert ours.statistic == pytest.approx(naive_statistic(value[group], value[~group]), rel=1e-12)
    expected = cramervonmises_2samp(value[group], value[~group], method="asymptotic").statistic
    assert ours.statistic == pytest.approx(expected, rel=1e-9)
    ties = np.round(value)
    tied = two_sample_cvm(ties, group, ids, n_draws=10, random_state=0)
    assert tied.statistic == pytest.approx(naive_statistic(ties[group], ties[~group]), rel=1e-12)
    assert (ours.n_subjects, ours.n_readings) == ((40, 20), (160, 80))
    assert ours.groups == (False, True)


@pytest.mark.parametrize("null", ["studentised", "centred", "pooled", "permutation"])
def test_sees_a_shift_and_spares_a_null(null):
    options = {"null": null, "n_draws": 400, "random_state": 0}
    assert two_sample_cvm(*readings(shift=1.2)[:3], **options).pvalue < 0.01
    assert two_sample_cvm(*readings(seed=1)[:3], **options).pvalue > 0.05


def test_permutation_null_equals_enumeration():
    from itertools import combinations

    value, _, ids, _ = readings(seed=4, n=7, k=2, shift=0.5)
    group = ids < 3
    observed = naive_statistic(value[group], value[~group])
    draws = [
        naive_statistic(value[np.isin(ids, pick)], value[~np.isin(ids, pick)])
        for pick in combinations(range(7), 3)
    ]
    exact = np.mean(np.array(draws) >= observed - 1e-12)
    ours = two_sample_cvm(value, group, ids, null="permutation", n_draws=20000, random_state=0)
    assert ours.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20000))


def test_studentised_null_equals_loops():
    value, group, ids, _ = readings(seed=2, n=15, k=3, shift=0.5)
    ours = two_sample_cvm(value, group, ids, n_draws=60, random_state=5)
    rng = np.random.default_rng(5)
    at = np.sort(value)

    def influence(who):
        f = np.array([(value[np.isin(ids, who)] <= v).mean() for v in at])
        return f, [np.array([(value[ids == i] <= v).mean() for v in at]) - f for i in who]

    # the groups in the order of their labels, False first
    (f, one), (g, two) = influence(range(5, 15)), influence(range(5))
    sizes = np.sqrt([0.5, 1.0, 1.5])
    multipliers = []
    for n in (10, 5):
        size = rng.choice(sizes, size=(60, n))
        multipliers.append(size * rng.choice([-1.0, 1.0], size=(60, n)))

    def ratio(gap, parts):
        spread = sum(sum((p - np.mean(part, axis=0)) ** 2 for p in part) / len(part) ** 2 for part in parts)
        return (gap**2).mean() / spread.mean()

    observed, above = ratio(f - g, (one, two)), 0
    for a, b in zip(*multipliers, strict=True):
        parts = [[m * p for m, p in zip(*pair, strict=True)] for pair in ((a, one), (b, two))]
        above += ratio(np.mean(parts[0], axis=0) - np.mean(parts[1], axis=0), parts) >= observed
    assert 0 < above < 60
    assert ours.pvalue == pytest.approx((1 + above) / 61)


def test_whole_subjects_are_resampled():
    """Copies of a reading carry no information: the p-value must not shrink with them."""
    value, group, ids, _ = readings(seed=3, k=1, shift=0.6)
    for null in ("studentised", "centred", "pooled", "permutation"):
        once = two_sample_cvm(value, group, ids, null=null, n_draws=4000, random_state=0).pvalue
        many = two_sample_cvm(
            np.repeat(value, 20),
            np.repeat(group, 20),
            np.repeat(ids, 20),
            null=null,
            n_draws=4000,
            random_state=0,
        ).pvalue
        assert many == pytest.approx(once, abs=0.03)


def test_by_visit_and_tables():
    value, group, ids, visit = readings(shift=0.8)
    frame = pd.DataFrame({"value": value, "arm": np.where(group, "a", "b"), "id": ids, "visit": visit})
    result = two_sample_cvm("value", "arm", "id", "visit", data=frame, n_draws=200, random_state=0)
    assert list(result.by_visit.index) == [0, 1, 2, 3]
    one = frame[frame["visit"] == 2]
    expected = naive_statistic(
        one.loc[one["arm"] == "a", "value"].to_numpy(), one.loc[one["arm"] == "b", "value"].to_numpy()
    )
    assert result.by_visit.loc[2, "statistic"] == pytest.approx(expected)
    assert result.by_visit.loc[2, ["n_first", "n_second"]].tolist() == [20, 40]
    other = two_sample_cvm(
        "value", "arm", "id", "visit", data=pl.from_pandas(frame), n_draws=200, random_state=0
    )
    assert (other.pvalue, other.groups) == (result.pvalue, ("a", "b"))
    shuffled = frame.sample(frac=1, random_state=1)
    again = two_sample_cvm("value", "arm", "id", data=shuffled, n_draws=200, random_state=0)
    assert again.pvalue == result.pvalue


def test_missing_readings_and_empty_visits():
    value, group, ids, visit = readings()
    holes = np.where((visit == 1) & group, np.nan, value)
    result = two_sample_cvm(holes, group, ids, visit, n_draws=50, random_state=0)
    assert np.isnan(result.by_visit.loc[1, "pvalue"])
    assert result.by_visit.loc[1, "n_second"] == 0
    keep = ~np.isnan(holes)
    assert result.statistic == two_sample_cvm(holes[keep], group[keep], ids[keep], n_draws=1).statistic


def test_wrong_input():
    value, group, ids, _ = readings()
    for args, message in [
        ((value, np.zeros(len(value)), ids), "exactly two labels"),
        ((value, np.arange(len(value)) % 3, ids), "exactly two labels"),
        ((value, np.arange(len(value)) % 2, ids), "appear in both groups"),
        ((np.where(ids == 0, np.inf, value), group, ids), "infinite"),
        ((value, group, ids[:-1]), "they must agree"),
    ]:
        with pytest.raises(ValueError, match=message):
            two_sample_cvm(*args)
    with pytest.raises(ValueError, match="null='naive' was given; it must be 'studentised'"):
        two_sample_cvm(value, group, ids, null="naive")
    with pytest.raises(ValueError, match="n_draws"):
        two_sample_cvm(value, group, ids, n_draws=0)
