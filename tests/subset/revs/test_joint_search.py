"""One subset for several responses: against all subsets one by one, and under noise that is shared."""

from itertools import product

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

from rlselect import REVS
from rlselect.data import open_table
from rlselect.subset.revs._joint_search import (
    _counts,
    _independent,
    _joint,
    _left_over,
    _shrunk_covariance,
)
from rlselect.subset.revs._problem import pose_problem
from rlselect.subset.revs._walk import SizePrior


def problems_of(X, Y, family="auto", weight=None):
    table = open_table(X, Y[:, 0], sample_weight=weight)
    options = {"family": family, "feature_groups": None, "always_select": (), "never_select": ()}
    return [pose_problem(table.with_target(y), **options) for y in Y.T]


def noisy(n, R, correlation, seed=0):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.standard_normal((n, R))


def test_turned_numbers_have_independent_noise():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    E = noisy(400, 3, 0.9) * [1.0, 10.0, 0.1]
    Y = X @ rng.standard_normal((3, 3)) + E
    turned, weight, left = _independent(problems_of(X, Y), [0, 1, 2], {}, np.arange(3))
    assert turned.shape == (400, 3)
    assert weight is None
    # shrinkage leaves a little of it
    np.testing.assert_allclose(np.corrcoef(left.T), np.eye(3), atol=0.05)
    # each stays nearest to the response it was
    nearness = np.corrcoef(left.T, E.T)[:3, 3:]
    assert np.argmax(nearness, axis=1).tolist() == [0, 1, 2]


def test_responses_that_repeat_each_other_count_once():
    X = np.random.default_rng(1).standard_normal((80, 3))
    y = noisy(80, 1, 0.0)
    nothing = np.zeros(3, dtype=bool)
    copies = _joint(problems_of(X, np.hstack([y, 2.0 * y, -y])), [0, 1, 2], nothing, {}, noisy=False)
    assert copies.turned.shape == (80, 1)
    classes = (np.hstack([y, y, y]) > 0).astype(int)
    assert _joint(problems_of(X, classes), [0, 1, 2], nothing, {}, noisy=False).weight == pytest.approx(
        1 / 3, abs=0.01
    )


def test_what_the_sum_counts_follows_satterthwaite():
    table = open_table(np.ones((20000, 1)))
    E = noisy(20000, 4, 0.5)
    # 4 / (4 + 12 * .25)
    assert _counts([e[None] for e in E.T], table) == pytest.approx(4 / 7, abs=0.02)
    assert _counts([e[None] for e in noisy(500, 4, 0.0).T], table.part(np.arange(500))) > 0.97


def test_inclusion_is_that_of_all_subsets_one_by_one():
    rng = np.random.default_rng(4)
    X, n = rng.standard_normal((60, 5)), 60
    Y = X[:, :2] @ [[0.8, -0.7], [0.3, 0.2]] + rng.standard_normal((60, 2))
    fitted = REVS(random_state=0).fit(X, Y)
    problems = problems_of(X, Y)
    likely = fitted.inclusion_ > 0.5
    turned = _independent(problems, [0, 1], {}, np.flatnonzero(likely))[0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    T = (turned - turned.mean(axis=0)) / turned.std(axis=0)
    slabs = np.geomspace(min(2 * np.log(5) / n, 1), 4.0, 24)

    def evidence(mask, r, slab):
        A = Z[:, np.array(mask, dtype=bool)]
        cover = np.eye(n) + slab * A @ A.T
        return (
            -0.5 * (n - 1) * np.log(T[:, r] @ np.linalg.solve(cover, T[:, r]))
            - 0.5 * np.linalg.slogdet(cover)[1]
        )

    prior = SizePrior(5, most=15.0)
    masks = list(product([0, 1], repeat=5))
    # each response has the prior that the best subset speaks for
    best = likely.astype(int)
    own = [max(slabs, key=lambda g, r=r: evidence(best, r, g)) for r in range(2)]
    log = np.array(
        [
            sum(evidence(m, r, own[r]) for r in range(2)) + sum(prior.add(k) for k in range(sum(m)))
            for m in masks
        ]
    )
    weights = np.exp(log - log.max())
    naive = weights @ np.array(masks) / weights.sum()
    np.testing.assert_allclose(fitted.inclusion_, naive, atol=0.03)


def test_noise_that_responses_share_is_no_reason_to_select():
    rng = np.random.default_rng(0)
    chosen = 0
    for seed in range(4):
        X = rng.standard_normal((80, 7))
        chosen += REVS(random_state=seed).fit(X, noisy(80, 4, 0.98, seed)).support_.sum()
    assert chosen == 0


def test_heavy_tails_are_shortened_in_a_shared_selection():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 10))
    Y = X[:, [0]] * [1.0, 1.0] + rng.standard_t(1.5, (150, 2))
    fitted = REVS(random_state=0).fit(X, Y)
    assert np.flatnonzero(fitted.support_).tolist() == [0]
    assert all(single.noise_["degrees"] < 5 for single in fitted.estimators_)


def test_weights_of_rows_are_copies_of_them_in_the_noise():
    rng = np.random.default_rng(0)
    A, Y, w = rng.standard_normal((14, 4)), rng.standard_normal((14, 3)), rng.integers(0, 4, 14)
    rows, ones = np.repeat(np.arange(14), w), np.ones(w.sum())
    # 5 columns beside 14 rows or fewer, but 20 copies
    left = _left_over(A, Y, w.astype(float))
    np.testing.assert_allclose(left[rows], _left_over(A[rows], Y[rows], ones))
    assert not np.allclose(left, Y)
    shrunk = ledoit_wolf(left[rows], assume_centered=True)[0]
    np.testing.assert_allclose(_shrunk_covariance(left, w.astype(float)), shrunk)
