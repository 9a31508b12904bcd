"""Which of many units are learned about."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special, stats

from rlselect import DatumwiseClassifier, load, save
from rlselect.datumwise import PolicyIteration, _screen
from rlselect.datumwise._plan import PLAN
from rlselect.datumwise._rules import PurchaseRules
from rlselect.datumwise._screen import quick_trends, screen_units


def test_many_features_are_screened():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    y = (X[:, 41] > 0).astype(int)
    search = PolicyIteration(n_iter=2, n_restarts=1, screen=5)
    needs = {41: [7]}
    model = DatumwiseClassifier(search=search, prerequisites=needs, random_state=0).fit(X, y)
    assert 5 <= model.learned_units_.sum() <= 6
    assert model.learned_units_[[41, 7]].all()
    assert not model.acquire(X)[:, ~model.learned_units_].any()
    assert model.acquire(X).shape == X.shape
    assert model.sparsity(X) == pytest.approx(1 - model.acquire(X).mean())
    assert model.unit_inclusion_[~model.learned_units_].sum() == 0
    every = DatumwiseClassifier(search=PolicyIteration(n_iter=1, n_restarts=1, states_per_row=2, screen=None))
    assert every.fit(X[:40], y[:40]).learned_units_.all()


def test_of_wide_groups_the_features_that_tell_most_are_learned_about(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 90))
    y = (X[:, 4] + X[:, 70] > 0).astype(int)
    groups = np.repeat([0, 1, 2], 30)
    search = PolicyIteration(n_iter=2, n_restarts=1, screen=40)
    model = DatumwiseClassifier(feature_groups=groups, search=search, random_state=0).fit(X, y)
    columns = model._fitted.columns
    assert len(columns) <= PLAN.least_units + 3
    assert {4, 70} <= set(columns.tolist())
    assert set(groups[columns]) == {0, 1, 2}
    # a group is bought as a whole, whatever is looked at
    bought = model.acquire(X)
    assert all(len(np.unique(bought[:, groups == g].sum(axis=1))) <= 2 for g in range(3))
    # what is not looked at changes nothing, and is not asked for
    other = X.copy()
    other[:, np.setdiff1d(np.arange(90), columns)] = np.nan
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    session = model.start()
    values = {name: X[0, int(name[1:])] for name, _ in session.fields()}
    assert set(values) < {f"x{j}" for j in range(90)}
    assert session.tell(values).result().cost == model.feature_cost
    save(model, tmp_path / "m.model")
    again = load(tmp_path / "m.model").at(feature_cost=0.001)
    np.testing.assert_array_equal(again.predict(X), model.at(feature_cost=0.001).predict(X))
    search = PolicyIteration(n_iter=1, n_restarts=1, states_per_row=2, screen=None)
    every = DatumwiseClassifier(feature_groups=groups, search=search)
    assert len(every.fit(X[:40], y[:40])._fitted.columns) == 90


def test_screening_counts_a_category_once():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 10)), columns=[f"n{j}" for j in range(10)])
    frame["key"] = rng.choice(list("abcdefghij"), 200)
    y = np.isin(frame["key"], list("acegi"))
    for scoring in ("bins", "linear"):
        search = PolicyIteration(n_iter=2, n_restarts=1, screen=2)
        model = DatumwiseClassifier(scoring=scoring, search=search, random_state=0).fit(frame, y)
        assert model.learned_units_.sum() == 2
        assert model.learned_units_[10]
        assert model.score(frame, y) == 1.0
        assert model.start().tell("c").result().label


def test_what_is_kept_is_what_tells_more_than_chance():
    """By the rule of Benjamini and Hochberg on both statistics, each against SciPy's."""
    rng = np.random.default_rng(3)
    n, p = 300, 90
    codes = rng.integers(0, 4, size=(n, p)).astype(float)
    codes[rng.random((n, p)) < 0.1] = np.nan
    labels = rng.integers(0, 3, size=n)
    labels = np.where(np.nan_to_num(codes[:, 7]) > 1, labels, 0)  # a trend
    labels = np.where(codes[:, 50] == 2, 1, labels)  # a bin
    rules = PurchaseRules(list(range(p)), [np.array([j]) for j in range(p)], np.ones(p), 1 - np.eye(3))
    chances = np.empty(p)
    for j in range(p):
        levels = np.unique(codes[:, j])
        table = [
            [
                np.sum((labels == c) & ((codes[:, j] == v) | (np.isnan(v) & np.isnan(codes[:, j]))))
                for c in range(3)
            ]
            for v in levels
        ]
        by_bins = stats.chi2_contingency(np.array(table), correction=False).pvalue
        known = ~np.isnan(codes[:, j])
        by_trend = stats.kruskal(*(codes[known & (labels == c), j] for c in range(3))).pvalue
        # equally spaced codes instead of ranks change little
        chances[j] = 2 * min(by_bins, by_trend)
    kept = screen_units(codes, labels, np.ones(n), rules, 60)
    assert {7, 50} <= set(kept.tolist())
    passed = np.sort(chances) <= PLAN.false_units * np.arange(1, p + 1) / p
    number = max(np.flatnonzero(passed).max(initial=-1) + 1, PLAN.least_units)
    assert abs(len(kept) - number) <= 2
    assert len(set(kept.tolist()) & set(np.argsort(chances)[:number].tolist())) >= number - 3
    marked = np.where(np.isnan(codes), 9, codes).astype(np.uint16)
    np.testing.assert_array_equal(screen_units(marked, labels, np.ones(n), rules, 60, missing=9), kept)
    # weights are copies
    weights = rng.integers(1, 3, size=n)
    copied = np.repeat(np.arange(n), weights)
    np.testing.assert_array_equal(
        screen_units(codes, labels, weights.astype(float), rules, 60),
        screen_units(codes[copied], labels[copied], np.ones(len(copied)), rules, 60),
    )


def test_noise_is_cut_to_few_and_signal_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 500))
    y = (X[:, :8].sum(axis=1) + rng.normal(size=400) > 0).astype(int)
    search = PolicyIteration(n_iter=1, n_restarts=1)
    model = DatumwiseClassifier(scoring="bins", search=search, random_state=0).fit(X, y)
    assert model.learned_units_.sum() == PLAN.least_units
    assert model.learned_units_[:8].all()
    every = DatumwiseClassifier(scoring="bins", search=search, random_state=0)
    assert every.fit(X[:, :100] + 3 * y[:, None], y).learned_units_.sum() == 60


def test_numbers_are_compared_as_numbers():
    """Of codes against numbers: one-way analysis of variance, and the correlation."""
    rng = np.random.default_rng(1)
    n, p = 200, 70
    codes = rng.integers(0, 4, size=(n, p)).astype(float)
    values = np.sort(rng.normal(size=12))
    labels = np.clip((codes[:, 3] * 2 + rng.integers(0, 6, size=n)).astype(int), 0, 11)
    levels, table = _screen._table(codes[:, 3], labels, np.ones(n))
    y = values[labels]
    means = [y[codes[:, 3] == v].mean() for v in levels]
    counts = [np.sum(codes[:, 3] == v) for v in levels]
    between = np.sum(counts * (np.array(means) - y.mean()) ** 2) / y.var()
    assert _screen._bins_apart(levels, table, values) == (pytest.approx(between), 3)
    r = np.corrcoef(codes[:, 3], y)[0, 1]
    assert _screen._trend(levels, table, values) == (pytest.approx(n * r**2), 1)
    rules = PurchaseRules(
        list(range(p)), [np.array([j]) for j in range(p)], np.ones(p), np.zeros((12, 12)), values=values
    )
    kept = screen_units(codes, labels, np.ones(n), rules, 60)
    assert 3 in kept
    assert len(kept) == PLAN.least_units
    # a trend in the numbers of categories means nothing
    assert 3 in screen_units(codes, labels, np.ones(n), rules, 60, frozenset(range(p)))


def test_a_glance_sees_what_follows_the_answer():
    """Against a loop, with gaps, sparse columns, classes and numbers."""
    rng = np.random.default_rng(5)
    X, labels, weights = (
        rng.normal(size=(80, 6)),
        rng.integers(0, 3, 80),
        rng.integers(1, 4, 80).astype(float),
    )
    X[:, 3] = labels + rng.normal(size=80)
    X[:, 5] = 7.0
    for values in (None, np.array([-1.0, 0.5, 2.0])):
        found = quick_trends(X, labels, weights, values)
        for j in range(5):
            x = X[:, j] - np.average(X[:, j], weights=weights)
            if values is None:
                each = [
                    np.sum((weights * x)[labels == k]) ** 2 / weights[labels == k].sum() for k in range(3)
                ]
                naive = sum(each) * weights.sum()
            else:
                y = values[labels] - np.average(values[labels], weights=weights)
                naive = np.sum(weights * x * y) ** 2
            assert found[j] == pytest.approx(naive / np.sum(weights * x**2))
        assert found.argmax() == 3
        assert found[5] == 0.0
        np.testing.assert_allclose(
            quick_trends(sparse.csr_array(X), labels, weights, values), found, atol=1e-9
        )
        gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        assert quick_trends(gaps, labels, weights, values).argmax() == 3


def test_where_time_is_short_a_glance_says_what_is_looked_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4000))
    y = X[:, 3000] > 0
    model = DatumwiseClassifier(scoring="bins", time_budget=0.2, prerequisites={3000: [5]}, random_state=0)
    began = time.process_time()
    model.fit(X, y)
    assert time.process_time() - began < 1.2 * 0.2 + 1.0
    assert model.stop_reason_.startswith("time budget")
    assert model.learned_units_[[3000, 5]].all()


def test_of_very_many_rows_what_tells_most_is_kept_though_all_chances_are_too_small_for_a_number():
    """A column that is nearly always zero tells for sure, but of few cases."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, size=20_000)
    rare = ((labels == 0) & (rng.random(len(labels)) < 0.4)).astype(float)
    blurred = np.where(rng.random(len(labels)) < 0.5, labels, rng.integers(0, 4, size=len(labels)))
    codes = np.column_stack([rare, blurred])
    rules = PurchaseRules([0, 1], [np.array([0]), np.array([1])], np.ones(2), 1 - np.eye(4))
    tables = [_screen._table(column, labels, np.ones(len(labels))) for column in codes.T]
    found = np.array([_screen._bins_apart(*table, None) for table in tables])
    assert (special.chdtrc(found[:, 1], found[:, 0]) == 0).all()
    assert found[0, 0] / found[0, 1] > found[1, 0] / found[1, 1]
    assert screen_units(codes, labels, np.ones(len(labels)), rules, most=1).tolist() == [1]


def test_logarithms_of_chances_go_on_where_numbers_end():
    near = np.column_stack([[3.0, 40.0, 900.0], [1, 9, 27]])
    np.testing.assert_allclose(_screen._log_chances(near), np.log(special.chdtrc(near[:, 1], near[:, 0])))
    # between neighbours of the last number, half a unit for each unit of the statistic
    far = np.column_stack([np.arange(1000.0, 3000.0, 10.0), np.full(200, 9)])
    steps = np.diff(_screen._log_chances(far))
    np.testing.assert_allclose(steps, -5.0, atol=0.1)
