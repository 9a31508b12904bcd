"""Separation: the linear programme against brute force, and the one sentence about it."""

import numpy as np
import pytest
from scipy.optimize import linprog

from rlselect.kernels import looks_separated, separating_direction, separation_sentence, separation_signs


def test_separating_direction_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        n = rng.integers(4, 12)
        x = np.column_stack([np.ones(n), rng.integers(-3, 4, size=n)]).astype(float)
        y = rng.integers(0, 2, size=n)
        if np.ptp(x[:, 1]) == 0:
            continue
        one, zero = x[y == 1, 1], x[y == 0, 1]
        expected = len(one) == 0 or len(zero) == 0 or one.min() >= zero.max() or zero.min() >= one.max()
        direction = separating_direction(x, y.astype(float), upper=True)
        assert (direction is not None) == expected
        if direction is not None:
            sign = np.where(y == 1, 1, -1)
            assert (sign * (x @ direction) >= -1e-6).all()
        seen.add(expected)
    assert seen == {True, False}


def separable(x, y, upper):
    """One linear programme over all rows: is there a direction that moves one of them and none against?"""
    sign = np.where(y <= 0, -1.0, np.where(upper & (y >= 1), 1.0, 0.0))
    signed, inner = (x * sign[:, None])[sign != 0], x[sign == 0]
    found = linprog(
        -signed.sum(axis=0),
        A_ub=-signed,
        b_ub=np.zeros(len(signed)),
        A_eq=inner if len(inner) else None,
        b_eq=np.zeros(len(inner)) if len(inner) else None,
        bounds=(-1.0, 1.0),
    )
    return -found.fun > 1e-6


@pytest.mark.parametrize("upper", [True, False])
def test_many_rows_are_judged_as_by_one_programme_over_all(upper):
    rng = np.random.default_rng(2)
    seen = set()
    for trial in range(12):
        n = 5000
        x = np.column_stack([np.ones(n), rng.normal(size=(n, 3)), rng.random(n) < (0.3, 0.001)[trial % 2]])
        y = (rng.random(n) < 1 / (1 + np.exp(-2 * x[:, 1]))).astype(float)
        if not upper:
            y *= rng.poisson(2.0, size=n)
        if trial % 3:
            y[x[:, 4] == 1] = 0.0
        if trial % 3 == 2:
            y[np.flatnonzero(x[:, 4] == 1)[0]] = 1.0
        expected = separable(x, y, upper)
        direction = separating_direction(x, y, upper=upper)
        assert (direction is not None) == expected
        if expected:
            moved = np.abs(x @ direction) > 1e-6
            np.testing.assert_array_equal(moved, x[:, 4] == 1)
        seen.add(expected)
    assert seen == {True, False}


def test_columns_that_repeat_each_other_do_not_hide_a_separation():
    rng = np.random.default_rng(0)
    a = (rng.random(60) < 0.4).astype(float)
    x = np.column_stack([np.ones(60), a, 1 - a, rng.normal(size=60)])
    y = np.where(a == 1, 1.0, rng.integers(0, 2, 60))
    direction = separating_direction(x, y, upper=True)
    np.testing.assert_array_equal(x @ direction > 1e-6, a == 1)
    y[np.flatnonzero(a)[0]] = 0.0
    assert separating_direction(x, y, upper=True) is None


def test_signs_of_separation():
    y, eta = np.array([0.0, 1.0, 1.0]), np.array([-3.0, 2.0, -9.0])
    assert separation_signs("binomial", y, eta, np.array([0.1, -0.2, 5.0]), np.array([1.0, 1.0, 0.0])) == (
        0.2,
        2.0,
    )
    assert separation_signs("poisson", y, eta, np.zeros(3), np.ones(3)) == (0.0, -np.inf)
    assert looks_separated(0.0, 0.1)
    assert looks_separated(0.9, -1.0)
    assert looks_separated(np.nan, -1.0)
    assert not looks_separated(1e-3, -1.0)


def test_the_sentence_names_columns_and_counts_rows():
    x = np.column_stack([np.ones(5), [0.0, 0.0, 1.0, 1.0, 1.0], np.arange(5.0)])
    y = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    sentence = separation_sentence(x, y, np.array([0.0, 2.0, 0.0]), ["one", "b", "c"], "'y'", "row")
    assert sentence == "separation: a combination of b predicts 'y' perfectly for 3 of 5 rows"
    flat = separation_sentence(x, np.ones(5), np.array([1.0, 0.0, 0.0]), None, "'y'", "row")
    assert flat == "separation: 'y' is 1 for every row"
