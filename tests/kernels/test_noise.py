"""Kinds of noise, found where they are and not found where they are not."""

import numpy as np
import pytest
from scipy import stats

from rlselect.kernels._noise import noise_kind, shorten, student_degrees


def test_the_column_behind_uneven_noise_is_found():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((400, 30))
    logs = noise_kind(rng.standard_normal(400) * np.exp(0.6 * Z[:, 7]), np.ones(400), Z, 5.0).logs
    assert np.corrcoef(logs, Z[:, 7])[0, 1] > 0.9
    assert np.std(logs) == pytest.approx(1.2, abs=0.25)


def test_even_noise_stays_even_and_normal():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        residual, Z = rng.standard_normal(150), rng.standard_normal((150, 50))
        assert not noise_kind(residual, np.ones(150), Z, np.log(50) + 3.0).logs.any()
        assert student_degrees(residual, np.ones(150), 3.0) == (np.inf, pytest.approx(np.std(residual), 0.02))


def test_a_row_far_out_in_a_column_is_no_rule_of_the_noise():
    # scores of columns with heavy tails pass any price by one row alone: they were believed in half of these
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(2, (100, 300))
        kind = noise_kind(
            rng.standard_normal(100), np.ones(100), np.hstack([X, np.abs(X)]), np.log(600) + 2.0
        )
        assert kind.plain
    # and one of them that does rule it is still found
    X = rng.standard_t(2, (200, 300))
    noise = rng.standard_normal(200) * np.exp(0.4 * np.clip(X[:, 7], -4, 4))
    logs = noise_kind(noise, np.ones(200), X, np.log(300) + 2.0, 3.0).logs
    assert stats.spearmanr(logs, X[:, 7]).statistic > 0.8


def test_a_weight_is_a_repeated_row():
    rng = np.random.default_rng(1)
    Z, weight = rng.standard_normal((300, 5)), rng.integers(0, 3, 300)
    residual = rng.standard_t(3, 300) * np.exp(0.5 * Z[:, 2])
    copies = np.repeat(np.arange(300), weight)
    logs = noise_kind(residual, weight.astype(float), Z, 3.0).logs
    again = noise_kind(residual[copies], np.ones(len(copies)), Z[copies], 3.0).logs
    np.testing.assert_allclose(logs[copies], again, atol=1e-10)
    one = student_degrees(residual, weight.astype(float), 3.0)
    assert one == pytest.approx(student_degrees(residual[copies], np.ones(len(copies)), 3.0))


def test_heavy_tails_are_those_of_scipy():
    rng = np.random.default_rng(2)
    residual = 2.0 * rng.standard_t(3, 3000)
    degrees, scale = student_degrees(residual, np.ones(3000), 3.0)
    assert (degrees, scale) == (3.0, pytest.approx(2.0, rel=0.05))
    best = [stats.t.logpdf(residual, degrees, scale=s).sum() for s in (0.97 * scale, scale, 1.03 * scale)]
    assert np.argmax(best) == 1


def test_shortened_residuals_say_as_much_as_the_likelihood():
    # their variance is the inverse Fisher information of the location, (nu + 3) / (nu + 1)
    rng = np.random.default_rng(3)
    short = shorten(rng.standard_t(3, 200_000), 3.0, 1.0)
    assert np.var(short) == pytest.approx(6.0 / 4.0, rel=0.02)
    assert np.abs(short).max() < 3.5
    residual = rng.standard_normal(5)
    assert shorten(residual, np.inf, 1.0) is residual


def test_heavy_tails_do_not_hide_uneven_rows():
    found, false = np.zeros(2), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Z, tails = rng.standard_normal((200, 100)), rng.standard_t(1.5, 200)
        uneven, price = tails * np.exp(0.5 * Z[:, 7]), np.log(100) + 2.0
        for i, proof in enumerate((3.0, np.inf)):
            logs = noise_kind(uneven, np.ones(200), Z, price, proof).logs
            found[i] += bool(logs.any()) and np.corrcoef(logs, Z[:, 7])[0, 1] > 0.8
        kind = noise_kind(tails, np.ones(200), Z, price, 3.0)
        false += kind.logs.any()
        assert kind.degrees <= 3.0
    assert found[0] >= 18 > 9 > found[1]
    assert false <= 2


def test_very_uneven_rows_are_not_taken_for_heavy_tails():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((200, 400))
        kind = noise_kind(rng.standard_normal(200) * np.exp(Z[:, 0]), np.ones(200), Z, 8.0, 3.0)
        assert np.corrcoef(kind.logs, Z[:, 0])[0, 1] > 0.9
        assert kind.degrees >= 8.0


def test_log_variances_are_the_most_likely_ones():
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((500, 1))
    residual = rng.standard_t(3, 500) * np.exp(0.5 * Z[:, 0])
    kind = noise_kind(residual, np.ones(500), Z, 3.0, 3.0)
    slope = np.polyfit(Z[:, 0], kind.logs, 1)[0]

    def likelihood(by):
        size = np.exp(0.5 * by * Z[:, 0])
        scale = stats.t.fit(residual / size, f0=kind.degrees, floc=0)[2]
        return stats.t.logpdf(residual / size, kind.degrees, scale=scale).sum() - np.log(size).sum()

    values = [likelihood(by) for by in (slope - 0.05, slope, slope + 0.05)]
    assert np.argmax(values) == 1


def test_variances_may_differ_by_any_factor():
    # rows whose variance was held to 55 times the middle spoke for heavy tails, which normal noise has not
    for seed in range(5):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((300, 20))
        residual = rng.standard_normal(300) * np.exp(1.5 * Z[:, 3])
        kind = noise_kind(residual, np.ones(300), Z, np.log(20) + 2.0, 3.0)
        assert kind.degrees == np.inf
        assert np.exp(0.5 * kind.logs.max()) > 30.0
        # as likely as the truth, but that no row may count for a hundred
        truth = np.maximum(3.0 * (Z[:, 3] - Z[:, 3].mean()), -4.0)
        even = residual * np.exp(-0.5 * truth)
        known = stats.norm.logpdf(even, scale=np.std(even)).sum() - 0.5 * truth.sum()
        assert kind.value > known - 0.5
