"""Ridge marginal likelihood: every price against the evidence of a naive refit."""

import numpy as np
import pytest

from rlselect.kernels import (
    ridge_add,
    ridge_block_add,
    ridge_block_remove,
    ridge_evidence_grid,
    ridge_moves,
    ridge_remove,
    ridge_state,
)

SLAB = 0.3


def naive_evidence(X, y, w, columns, slab, n=None):
    """Log evidence from its definition: the Gaussian density of y with the coefficients integrated out."""
    root = np.sqrt(w)
    A, target = root[:, None] * X[:, columns], root * y
    n = w.sum() if n is None else n
    covariance = np.eye(len(y)) + slab * A @ A.T
    quad = target @ np.linalg.solve(covariance, target)
    return -0.5 * n * np.log(quad) - 0.5 * np.linalg.slogdet(covariance)[1]


def problem(weighted=False, n=40, p=9, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p)))
    y = X[:, 0] - 0.7 * X[:, 3] + rng.standard_normal(n)
    w = rng.integers(0, 4, size=n).astype(float) if weighted else np.ones(n)
    return X, y, w


class Sums:
    def __init__(self, X, y, w):
        self.gram = (X * w[:, None]).T @ X
        self.cross = (X * w[:, None]).T @ y
        self.total = float(w @ y**2)
        self.n = float(w.sum())

    def state(self, subset, slab=SLAB):
        rows = self.gram[subset]
        return ridge_state(rows, subset, self.cross, np.diagonal(self.gram), self.total, slab)


SUBSETS = [[], [3], [5, 0], [0, 3, 7, 1], list(range(9))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subset", SUBSETS)
def test_state_is_the_naive_solution(subset, weighted):
    X, y, w = problem(weighted)
    sums = Sums(X, y, w)
    inverse, coef, quad, residual, schur, logdet = sums.state(subset)
    A = X[:, subset]
    M = (A * w[:, None]).T @ A + np.eye(len(subset)) / SLAB
    np.testing.assert_allclose(inverse, np.linalg.inv(M), atol=1e-8)
    np.testing.assert_allclose(coef, np.linalg.solve(M, (A * w[:, None]).T @ y), atol=1e-8)
    np.testing.assert_allclose(residual, X.T @ (w * (y - A @ coef)), atol=1e-8)
    evidence = -0.5 * sums.n * np.log(quad) - 0.5 * logdet
    assert evidence == pytest.approx(naive_evidence(X, y, w, subset, SLAB), abs=1e-8)
    for j in set(range(X.shape[1])) - set(subset):
        grown = sums.state([*subset, j])
        assert grown[5] - logdet == pytest.approx(np.log(SLAB * schur[j]), abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subset", SUBSETS)
def test_all_moves_are_naive_refits(subset, weighted):
    X, y, w = problem(weighted)
    sums = Sums(X, y, w)
    inverse, coef, quad, residual, schur, _ = sums.state(subset)
    moves = ridge_moves(residual, schur, quad, sums.n, SLAB, subset, inverse, coef)
    here = naive_evidence(X, y, w, subset, SLAB)
    for j in range(X.shape[1]):
        there = [k for k in subset if k != j] if j in subset else [*subset, j]
        assert moves[j] == pytest.approx(naive_evidence(X, y, w, there, SLAB) - here, abs=1e-8)


def test_a_weight_is_a_repeated_row():
    X, y, w = problem(weighted=True)
    repeat = w.astype(int)
    twice = Sums(np.repeat(X, repeat, axis=0), np.repeat(y, repeat), np.ones(repeat.sum()))
    for once, again in zip(Sums(X, y, w).state([2, 4]), twice.state([2, 4]), strict=True):
        np.testing.assert_allclose(once, again, atol=1e-8)


def test_prices_do_not_see_the_order_of_the_columns():
    X, y, w = problem()
    order = np.random.default_rng(1).permutation(X.shape[1])
    sums, turned = Sums(X, y, w), Sums(X[:, order], y, w)
    subset = [1, 6]
    place = [int(np.flatnonzero(order == j)[0]) for j in subset]

    def prices(s, members):
        inverse, coef, quad, residual, schur, _ = s.state(members)
        return ridge_moves(residual, schur, quad, s.n, SLAB, members, inverse, coef)

    np.testing.assert_allclose(prices(turned, place), prices(sums, subset)[order], atol=1e-8)


def test_adding_is_solving_the_larger_subset():
    X, y, w = problem()
    sums = Sums(X, y, w)
    subset, j = [4, 1], 7
    inverse, _, _, residual, schur, _ = sums.state(subset)
    grown, direction = ridge_add(sums.gram[subset], sums.gram[j], subset, j, inverse, schur)
    expected = sums.state([*subset, j])
    outside = [k for k in range(X.shape[1]) if k not in (4, 1, 7)]
    np.testing.assert_allclose(grown, expected[0], atol=1e-8)
    after = residual - direction * residual[j] / schur[j]
    np.testing.assert_allclose(after[outside], expected[3][outside], atol=1e-8)
    np.testing.assert_allclose((schur - direction**2 / schur[j])[outside], expected[4][outside], atol=1e-8)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_removing_is_solving_the_smaller_subset(place):
    X, y, w = problem()
    sums = Sums(X, y, w)
    subset = [4, 1, 7]
    inverse, coef, quad, residual, schur, _ = sums.state(subset)
    shrunk, direction, d = ridge_remove(sums.gram[subset], place, inverse)
    left = subset[:place] + subset[place + 1 :]
    expected = sums.state(left)
    outside = [k for k in range(X.shape[1]) if k not in subset]
    np.testing.assert_allclose(shrunk, expected[0], atol=1e-8)
    np.testing.assert_allclose(
        (residual + direction * coef[place] * d)[outside], expected[3][outside], atol=1e-8
    )
    np.testing.assert_allclose((schur + direction**2 * d)[outside], expected[4][outside], atol=1e-8)
    assert d == pytest.approx(expected[4][subset[place]], abs=1e-8)
    assert quad + coef[place] ** 2 * d == pytest.approx(expected[2], abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [[2], [2, 6], [2, 6, 8]])
def test_block_moves_are_naive_refits(block, weighted):
    X, y, w = problem(weighted)
    sums = Sums(X, y, w)
    subset = [0, 5]
    inverse, _, quad, residual, _, _ = sums.state(subset)
    across = sums.gram[np.ix_(subset, block)]
    schur = sums.gram[np.ix_(block, block)] + np.eye(len(block)) / SLAB - across.T @ inverse @ across
    added = ridge_block_add(schur, residual[block], quad, sums.n, SLAB)
    gain = naive_evidence(X, y, w, subset + block, SLAB) - naive_evidence(X, y, w, subset, SLAB)
    assert added == pytest.approx(gain, abs=1e-8)

    inverse, coef, quad, *_ = sums.state(subset + block)
    places = [2 + i for i in range(len(block))]
    removed = ridge_block_remove(inverse[np.ix_(places, places)], coef[places], quad, sums.n, SLAB)
    assert removed == pytest.approx(-gain, abs=1e-8)


def test_many_blocks_at_once_are_each_alone():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 3, 3))
    blocks, residual = A @ A.transpose(0, 2, 1) + np.eye(3), rng.standard_normal((4, 3))
    together = ridge_block_add(blocks, residual, 50.0, 30.0, SLAB)
    alone = [ridge_block_add(b, r, 50.0, 30.0, SLAB) for b, r in zip(blocks, residual, strict=True)]
    np.testing.assert_allclose(together, alone, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("subset", [[3], [0, 3, 7, 1]])
def test_evidence_grid_is_one_solution_a_prior(subset, weighted):
    X, y, w = problem(weighted)
    sums = Sums(X, y, w)
    slabs = np.geomspace(1e-3, 10.0, 7)
    block = sums.gram[np.ix_(subset, subset)]
    evidence, coef, variance, noise = ridge_evidence_grid(
        block, sums.cross[subset], sums.total, sums.n, slabs
    )
    for i, slab in enumerate(slabs):
        inverse, expected, quad, *_ = sums.state(subset, slab)
        assert evidence[i] == pytest.approx(naive_evidence(X, y, w, subset, slab), abs=1e-8)
        np.testing.assert_allclose(coef[i], expected, atol=1e-8)
        assert noise[i] == pytest.approx(quad / sums.n, abs=1e-8)
        np.testing.assert_allclose(variance[i], np.diagonal(inverse) * quad / sums.n, atol=1e-8)


def test_a_column_twice_in_the_grid_is_no_failure():
    # a group may hold a column and its copy: the Gram block is singular, the evidence is not
    X, y, w = problem()
    X[:, 1] = X[:, 0]
    sums = Sums(X, y, w)
    block = sums.gram[np.ix_([0, 1], [0, 1])]
    evidence, coef, *_ = ridge_evidence_grid(block, sums.cross[[0, 1]], sums.total, sums.n, np.array([SLAB]))
    assert evidence[0] == pytest.approx(naive_evidence(X, y, w, [0, 1], SLAB), abs=1e-8)
    assert coef[0, 0] == pytest.approx(coef[0, 1], abs=1e-8)


def test_a_perfect_fit_has_finite_prices():
    X, _, w = problem()
    y = 2.0 * X[:, 0]
    sums = Sums(X, y, w)
    inverse, coef, quad, residual, schur, _ = sums.state([0], slab=1e12)
    moves = ridge_moves(residual, schur, max(quad, 1e-12 * sums.total), sums.n, 1e12, [0], inverse, coef)
    assert np.all(np.isfinite(moves))
    assert np.all(moves < 0)


def test_what_rounding_leaves_of_an_explained_column_is_above_nothing():
    gram = 1e15 * np.ones((3, 3))
    schur = ridge_state(gram[:1], [0], gram[0], np.diagonal(gram), 2e15, 4.0)[4]
    assert (schur > 0).all()
    assert np.isfinite(1.0 / schur).all()
