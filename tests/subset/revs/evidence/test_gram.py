"""Lazy Gram matrix: whatever was asked for when, the sums are those of one full product."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from rlselect.subset.revs.evidence import _gram
from rlselect.subset.revs.evidence._gram import LazyGram
from rlselect.subset.revs.evidence._rows import Rows


def make_gram(X, y, weight=None, offset=None, cuts=None, n_parts=1, **options):
    def take(rows):
        parts = (None if v is None else v[rows] for v in (weight, offset))
        return SimpleNamespace(
            X=X[rows], y=y[rows], **dict(zip(("sample_weight", "offset"), parts, strict=True))
        )

    rows = Rows(take, **options)
    gram = LazyGram(rows, X.shape[1], n_parts)
    cuts = (0, X.shape[0]) if cuts is None else cuts
    gram.grow(slice(a, b) for a, b in itertools.pairwise(cuts))
    return gram


def full_sums(X, y, w):
    """Gram matrix, X'y and y'y of columns with mean zero and variance one."""
    Z = (X - np.average(X, axis=0, weights=w)) / np.sqrt(np.cov(X.T, aweights=w, ddof=0).diagonal())
    v = y - np.average(y, weights=w)
    v = v / np.sqrt(np.average(v**2, weights=w))
    return (Z * w[:, None]).T @ Z, Z.T @ (w * v), float(w @ v**2)


def problem(n=60, p=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p)))
    y = 3.0 + X[:, 0] - 0.5 * X[:, 4] + rng.standard_normal(n)
    return X, y, rng.uniform(0.2, 3.0, size=n)


def columns_of(gram, which):
    gram.fetch(which)
    return np.array([gram.column(j) for j in which])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_lazy_is_full(container, as_is, weighted):
    X, y, w = problem()
    gram = make_gram(container(X), y, w if weighted else None, as_is=as_is)
    G, b, total = full_sums(X, y, w if weighted else np.ones(len(y)))
    assert not gram.known(5)
    np.testing.assert_allclose(columns_of(gram, [5, 2]), G[[5, 2]], atol=1e-8)
    np.testing.assert_allclose(columns_of(gram, range(7)), G, atol=1e-8)
    np.testing.assert_allclose(gram.cross, b, atol=1e-8)
    np.testing.assert_allclose(gram.diagonal, G.diagonal(), atol=1e-8)
    assert gram.total == pytest.approx(total, abs=1e-8)
    assert gram.n == pytest.approx(w.sum() if weighted else len(y))


@pytest.mark.parametrize("n_parts", [1, 2])
@pytest.mark.parametrize("memory", [2**30, 0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_growth_is_one_go(container, memory, n_parts):
    X, y, w = problem()
    whole = make_gram(container(X), y, w)
    grown = make_gram(container(X), y, w, cuts=(0, 20), n_parts=n_parts, memory=memory)
    grown.fetch([3, 1])
    grown.grow([slice(20, 30), slice(30, 45)])
    grown.fetch([6])
    grown.grow([slice(45, 60)])
    for j in (3, 1, 6, 0):
        np.testing.assert_allclose(columns_of(grown, [j]), columns_of(whole, [j]), atol=1e-8)
    np.testing.assert_allclose(grown.cross, whole.cross, atol=1e-8)
    assert grown.total == pytest.approx(whole.total, abs=1e-8)
    assert grown.n == pytest.approx(whole.n)


def test_anew_forgets_the_rows_but_not_the_columns():
    X, y, w = problem()
    gram = make_gram(X, y, w, cuts=(0, 25))
    gram.fetch([4, 2])
    gram.grow([slice(10, 40), slice(40, 60)], anew=True)
    assert gram.known(4)
    assert gram.known(2)
    fresh = make_gram(X[10:], y[10:], w[10:])
    np.testing.assert_allclose(columns_of(gram, [4, 2, 0]), columns_of(fresh, [4, 2, 0]), atol=1e-8)
    np.testing.assert_allclose(gram.cross, fresh.cross, atol=1e-8)
    assert gram.total == pytest.approx(fresh.total)


def test_expected_columns_come_with_a_pass_over_other_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    taken = []

    def take(rows):
        taken.append(rows)
        return SimpleNamespace(X=X[rows], y=X[rows, 0], sample_weight=None, offset=None)

    gram = LazyGram(Rows(take, memory=0), 5, 2)
    gram.grow([slice(0, 10), slice(10, 20)])
    gram.fetch([1])
    gram.grow([slice(0, 30), slice(30, 60)], anew=True, expect=[3, 1, 3])
    taken.clear()
    gram.fetch([1, 3])
    assert not taken
    np.testing.assert_allclose(gram.column(3), 60 * np.corrcoef(X.T)[3], atol=1e-8)


def test_forget_keeps_what_it_should_and_the_rest_can_be_fetched_again():
    X, y, w = problem()
    gram = make_gram(X, y, w, cuts=(0, 30))
    G = full_sums(X, y, w)[0]
    gram.fetch([0, 1, 2, 3, 4])
    gram.forget([3, 1, 6])
    assert [j for j in range(7) if gram.known(j)] == [1, 3]
    gram.grow([slice(30, 60)])
    np.testing.assert_allclose(columns_of(gram, [1, 3]), G[[1, 3]], atol=1e-8)
    np.testing.assert_allclose(columns_of(gram, [0, 6]), G[[0, 6]], atol=1e-8)
    np.testing.assert_allclose(columns_of(gram, [3]), G[[3]], atol=1e-8)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_blocks_are_watched_without_their_columns(container):
    X, y, w = problem()
    X[:, 6] = 1.7
    gram = make_gram(container(X), y, w, cuts=(0, 25))
    number = gram.watch(np.array([[0, 3], [5, 1], [2, 6]]))
    gram.grow([slice(25, 40), slice(40, 60)])
    assert not any(gram.known(j) for j in range(7))
    with np.errstate(invalid="ignore", divide="ignore"):
        G = full_sums(X, y, w)[0]
    expected = np.array([G[np.ix_(c, c)] for c in ([0, 3], [5, 1])])
    np.testing.assert_allclose(gram.within(number)[:2], expected, atol=1e-8)
    # a constant column has nothing to do with the other one of its block
    np.testing.assert_allclose(gram.within(number)[2], [[w.sum(), 0.0], [0.0, 0.0]], atol=1e-8)
    gram.grow([slice(0, 60)], anew=True)
    np.testing.assert_allclose(gram.within(number)[:2], expected, atol=1e-8)


def test_many_blocks_are_taken_in_parts(monkeypatch):
    X, y, w = problem(p=12)
    columns = np.arange(12).reshape(6, 2)
    whole = make_gram(X, y, w)
    expected = whole.within(whole.watch(columns))
    monkeypatch.setattr("rlselect.subset.revs.evidence._block._WITHIN_CELLS", 300)
    parts = make_gram(X, y, w)
    np.testing.assert_allclose(parts.within(parts.watch(columns)), expected, atol=1e-10)


def test_asking_for_columns_when_too_many_are_known(monkeypatch):
    X, y, w = problem()
    G = full_sums(X, y, w)[0]
    monkeypatch.setattr(_gram, "_SLOTS", 3)
    gram = make_gram(X, y, w)
    np.testing.assert_allclose(gram.get([0, 1, 2, 3], []), G[:4], atol=1e-8)
    np.testing.assert_allclose(gram.get([5, 1], [2]), G[[5, 1]], atol=1e-8)
    assert [j for j in range(7) if gram.known(j)] == [1, 2, 5]
    np.testing.assert_allclose(gram.get([1], []), G[[1]], atol=1e-8)
    assert [j for j in range(7) if gram.known(j)] == [1, 2, 5]


def test_many_columns_in_many_calls():
    # more columns than a panel, and slots that have to grow
    X, y, w = problem(n=30, p=300)
    gram = make_gram(X, y, w)
    for start in (40, 41, 60, 250, 0):
        gram.fetch(range(start, start + 50))
    G = full_sums(X, y, w)[0]
    np.testing.assert_allclose(columns_of(gram, [0, 49, 99, 260, 299]), G[[0, 49, 99, 260, 299]], atol=1e-8)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_weight_is_a_repeated_row(container):
    X, y, _ = problem()
    repeat = np.random.default_rng(3).integers(0, 4, size=len(y))
    once = make_gram(container(X), y, repeat.astype(float))
    again = make_gram(container(np.repeat(X, repeat, axis=0)), np.repeat(y, repeat))
    np.testing.assert_allclose(columns_of(once, range(7)), columns_of(again, range(7)), atol=1e-8)
    np.testing.assert_allclose(once.cross, again.cross, atol=1e-8)
    assert once.total == pytest.approx(again.total)
    assert once.n == again.n


def test_an_offset_is_taken_off_the_response():
    X, y, w = problem()
    offset = np.random.default_rng(4).standard_normal(len(y))
    with_offset = make_gram(X, y, w, offset, cuts=(0, 30, 60))
    without = make_gram(X, y - offset, w, cuts=(0, 30, 60))
    np.testing.assert_allclose(with_offset.cross, without.cross, atol=1e-8)
    assert with_offset.total == pytest.approx(without.total)


@pytest.mark.parametrize("offset", [False, True])
def test_parts_are_residuals_of_their_rows(offset):
    X, y, w = problem()
    known = np.random.default_rng(4).standard_normal(len(y)) if offset else None
    cuts = (0, 15, 25, 45, 60)
    gram = make_gram(X, y, w, known, cuts=cuts, n_parts=2)
    subset, coef = [4, 0], np.array([0.3, -0.2])
    gram.fetch(subset)
    parts = gram.part_residual(subset, coef)
    Z = (X - np.average(X, axis=0, weights=w)) / np.sqrt(np.cov(X.T, aweights=w, ddof=0).diagonal())
    target = y if known is None else y - known
    v = target - np.average(target, weights=w)
    v = v / np.sqrt(np.average(v**2, weights=w))
    left = w * (v - Z[:, subset] @ coef)
    odd = np.zeros(len(y), dtype=bool)
    odd[15:25] = odd[45:] = True
    np.testing.assert_allclose(parts[0], Z[~odd].T @ left[~odd], atol=1e-8)
    np.testing.assert_allclose(parts[1], Z[odd].T @ left[odd], atol=1e-8)
    np.testing.assert_allclose(parts.sum(axis=0), gram.cross - coef @ columns_of(gram, subset), atol=1e-8)
    np.testing.assert_allclose(gram.part_residual([], np.zeros(0)).sum(axis=0), gram.cross, atol=1e-8)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("value", [0.0, 0.1, 7.3, 1e9])
def test_a_constant_column_never_moves(value, as_is, single):
    X, y, w = problem(n=400)
    X[:, 2] = value
    gram = make_gram(X, y, w, cuts=(0, 200, 400), as_is=as_is, single=single)
    np.testing.assert_array_equal(gram.varies, np.arange(7) != 2)
    assert gram.cross[2] == 0.0
    assert gram.diagonal[2] == 1.0
    np.testing.assert_array_equal(columns_of(gram, [2]), 0.0)
    np.testing.assert_array_equal(columns_of(gram, [0])[:, 2], 0.0)


@pytest.mark.parametrize("single", [False, True])
def test_a_column_constant_in_the_first_block_counts_later(single):
    X, y, w = problem(n=400)
    X[:, 2] = 0.0
    X[::37, 2] = 1.0
    X[:120, 2] = 0.0
    X[:, 5] = 4.0
    X[300, 5] = 5.0
    gram = make_gram(X, y, w, cuts=(0, 120, 400), single=single, as_is=True)
    assert gram.varies.all()
    G, b, _ = full_sums(X, y, w)
    np.testing.assert_allclose(columns_of(gram, [2, 5]), G[[2, 5]], atol=1e-2 if single else 1e-8)
    np.testing.assert_allclose(gram.cross, b, atol=1e-2 if single else 1e-8)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scales_and_means_do_not_matter(container, single):
    X, y, w = problem(n=300)
    scales = np.array([1.0, 1e12, 1e-12, 1.0, 1e3, 1e-6, 1.0])
    means = np.array([0.0, 3e12, -1e-12, 1e8, 1e3, 0.0, -5.0])
    G, b, total = full_sums(X, y, w)
    gram = make_gram(container(X * scales + means), 1e12 * y + 1e14, w, cuts=(0, 150, 300), single=single)
    tolerance = 2e-3 if single else 1e-4
    np.testing.assert_allclose(columns_of(gram, range(7)), G, atol=tolerance)
    np.testing.assert_allclose(gram.cross, b, atol=tolerance)
    assert gram.total == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_the_response_may_be_of_any_size(size):
    X, y, w = problem(n=300)
    gram = make_gram(X, size * y, w, cuts=(0, 150, 300), single=True, as_is=True)
    _, b, total = full_sums(X, y, w)
    np.testing.assert_allclose(gram.cross, b, atol=2e-3)
    assert gram.total == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_response_has_nothing_to_explain(weighted):
    X, _, w = problem(n=303)
    values = [0.0, 1e8, *np.random.default_rng(0).standard_normal(20)]
    for value in values:
        gram = make_gram(X, np.full(303, value), w if weighted else None, cuts=(0, 150, 303))
        assert gram.total == 0.0
        np.testing.assert_array_equal(gram.cross, 0.0)


def test_rows_without_weight_may_hold_anything():
    X, y, w = problem(n=300)
    w[::3] = 0.0
    wild, far = X.copy(), y.copy()
    wild[::3], far[::3] = 1e14, -1e14
    gram = make_gram(wild, far, w, cuts=(0, 150, 300))
    G, b, total = full_sums(X, y, w)
    np.testing.assert_allclose(columns_of(gram, range(7)), G, atol=1e-8)
    np.testing.assert_allclose(gram.cross, b, atol=1e-8)
    assert gram.total == pytest.approx(total)
