"""Blocks of rows: dense, sparse and chunked are one, whatever the scales."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from rlselect.subset.revs.evidence._block import OverflowedColumns
from rlselect.subset.revs.evidence._placement import Spilled
from rlselect.subset.revs.evidence._rows import Rows

SCALES = np.array([1.0, 1e12, 1e-12, 3.0, 1.0, 1e6])
MEANS = np.array([0.0, -5e12, 2e-12, 1e8, -1e3, 0.0])


class Source:
    """Something to take rows from, that counts how often."""

    def __init__(self, X, y, weight=None, offset=None):
        self.X, self.y, self.weight, self.offset = X, y, weight, offset
        self.taken = []

    def take(self, rows):
        self.taken.append(rows)
        return SimpleNamespace(
            X=self.X[rows],
            y=self.y[rows],
            sample_weight=None if self.weight is None else self.weight[rows],
            offset=None if self.offset is None else self.offset[rows],
        )


def make_rows(source, cuts=(0, 40), **options):
    rows = Rows(source.take, **options)
    for start, stop in itertools.pairwise(cuts):
        rows.append(slice(start, stop))
    return rows


def unit_design(seed=0, n=40, density=0.4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 6)) * (rng.random((n, 6)) < density)


def brought_to_scale(rows):
    return np.concatenate([block.columns(np.arange(6)).T for block in rows]).astype(float)


def test_columns_have_mean_zero_and_variance_one():
    Z = unit_design(density=1.0)
    rows = make_rows(Source(Z * SCALES + MEANS, Z[:, 0]))
    X = brought_to_scale(rows)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(X.std(axis=0), 1.0, rtol=1e-6)
    # digits below the eighth are lost where the data themselves do not hold them (mean 1e8, spread 3)
    np.testing.assert_allclose(X, (Z - Z.mean(axis=0)) / Z.std(axis=0), atol=1e-7)


@pytest.mark.parametrize("cuts", [(0, 40), (0, 10, 40), (0, 10, 20, 30, 40)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_products_squares_and_columns_of_any_container(container, cuts):
    Z = unit_design()
    V = np.random.default_rng(1).standard_normal((3, 40))
    w = np.random.default_rng(2).uniform(0.1, 2.0, size=40)
    rows = make_rows(Source(container(Z), Z[:, 0]), cuts)
    shift, scale = rows.scale
    X = (Z - shift) / scale
    np.testing.assert_allclose(brought_to_scale(rows), X, atol=1e-10)
    at = [slice(a, b) for a, b in itertools.pairwise(cuts)]
    for block, part in zip(rows, at, strict=True):
        np.testing.assert_allclose(block.products(V[:, part]), V[:, part] @ X[part], atol=1e-10)
        np.testing.assert_allclose(block.squares(w[part]), w[part] @ X[part] ** 2, atol=1e-10)
        np.testing.assert_allclose(block.squares(None), (X[part] ** 2).sum(axis=0), atol=1e-10)
        np.testing.assert_allclose(block.columns([4, 1]), X[part][:, [4, 1]].T, atol=1e-10)
        assert block.columns([]).shape == (0, len(block))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_huge_and_tiny_columns_keep_their_digits(container):
    Z = unit_design(density=1.0)
    X = Z * SCALES + MEANS
    V = np.random.default_rng(1).standard_normal((2, 40))
    plain = next(iter(make_rows(Source(Z, Z[:, 0]))))
    block = next(iter(make_rows(Source(container(X), Z[:, 0]))))
    np.testing.assert_allclose(block.products(V), plain.products(V), atol=1e-6)
    np.testing.assert_allclose(block.squares(None), plain.squares(None), rtol=1e-6)
    np.testing.assert_allclose(block.columns([1, 2, 3]), plain.columns([1, 2, 3]), atol=1e-6)


def test_sparse_zeros_far_from_the_stored_values():
    # a column of 1e8 and zeros: its spread is that of the zeros, and no digits are lost
    Z = unit_design(density=1.0)
    Z[:, 1] = np.where(np.arange(40) % 5, 1e8 + Z[:, 1], 0.0)
    dense = next(iter(make_rows(Source(Z, Z[:, 0]))))
    block = next(iter(make_rows(Source(sparse.csr_array(Z), Z[:, 0]))))
    V = np.random.default_rng(1).standard_normal((2, 40))
    np.testing.assert_allclose(block.products(V), dense.products(V), atol=1e-6)
    np.testing.assert_allclose(block.squares(None), dense.squares(None), rtol=1e-6)


def test_later_blocks_share_the_scale_of_the_first():
    Z = unit_design(density=1.0)
    Z[20:] *= 10.0
    rows = make_rows(Source(Z, Z[:, 0]), (0, 20, 40))
    X = brought_to_scale(rows)
    np.testing.assert_allclose(X, (Z - Z[:20].mean(axis=0)) / Z[:20].std(axis=0), atol=1e-10)


@pytest.mark.parametrize("value", [0.0, 3.7, 1e9, -1e-9])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_constant_column_becomes_zeros(value, container):
    Z = unit_design(density=1.0)
    Z[:, 2] = value
    block = next(iter(make_rows(Source(container(Z), Z[:, 0]))))
    np.testing.assert_allclose(block.columns([2]), 0.0, atol=1e-12)
    assert np.all(np.isfinite(block.products(np.ones((1, 40)))))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scale_counts_weights_as_rows(container):
    # the prior speaks of standardised columns: a weight must be a repeated row there too
    Z = unit_design(density=1.0)
    repeat = np.random.default_rng(3).integers(0, 4, size=40)
    once = make_rows(Source(container(Z), Z[:, 0], weight=repeat.astype(float)))
    again = make_rows(
        Source(container(np.repeat(Z, repeat, axis=0)), np.repeat(Z[:, 0], repeat)), (0, repeat.sum())
    )
    np.testing.assert_allclose(once.scale, again.scale, atol=1e-10)


def test_a_full_sparse_column_far_from_zero_has_its_own_spread_under_any_weights():
    # sums of weights in another order differ by rounding: no zeros in memory may come of that
    rng = np.random.default_rng(6)
    Z = unit_design(density=1.0)
    Z[:, 2] = 1e12 + rng.standard_normal(40)
    weight = rng.uniform(0.1, 2.0, 40)
    for order in (np.arange(40), rng.permutation(40), rng.permutation(40)):
        source = Source(sparse.csr_array(Z[order]), Z[order, 0], weight=weight[order])
        centre = weight @ (Z[:, 2] - 1e12) / weight.sum()
        spread = np.sqrt(weight @ (Z[:, 2] - 1e12 - centre) ** 2 / weight.sum())
        np.testing.assert_allclose(make_rows(source).scale[1][2], spread, rtol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_column_whose_values_vanish_beside_one_of_them_is_refused(container):
    Z = unit_design(density=1.0)
    Z[7, 3] = 1e126
    with pytest.raises(OverflowedColumns) as error:
        _ = make_rows(Source(container(Z), Z[:, 0])).scale
    assert error.value.columns.tolist() == [3]


def test_harmless_columns_stay_as_they_are_on_request():
    Z = unit_design(density=1.0)
    X = Z.copy()
    assert next(iter(make_rows(Source(X, Z[:, 0]), as_is=True))).X.base is X
    shifted = next(iter(make_rows(Source(Z + 1e6, Z[:, 0]), as_is=True))).X
    np.testing.assert_allclose(shifted.mean(axis=0), 0.0, atol=1e-9)


def test_single_precision_keeps_what_a_large_mean_hides():
    Z = unit_design(density=1.0)
    X = Z * SCALES + MEANS
    block = next(iter(make_rows(Source(X, Z[:, 0]), single=True)))
    assert block.X.dtype == np.float32
    np.testing.assert_allclose(block.X, (Z - Z.mean(axis=0)) / Z.std(axis=0), atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_blocks_beyond_the_memory_are_taken_again_and_equal(container):
    Z = unit_design()
    kept, starved = Source(container(Z), Z[:, 0]), Source(container(Z), Z[:, 0])
    whole = make_rows(kept, (0, 10, 20, 30, 40))
    two_blocks = 2 * max(block.nbytes for block in whole)
    some = make_rows(starved, (0, 10, 20, 30, 40), memory=two_blocks)
    assert len(some) == 4
    for _ in range(2):
        np.testing.assert_array_equal(brought_to_scale(some), brought_to_scale(whole))
    assert len(kept.taken) == 4
    assert 4 < len(starved.taken) <= 4 + 2 * 4
    none = make_rows(Source(container(Z), Z[:, 0]), (0, 10, 20, 30, 40), memory=0)
    np.testing.assert_array_equal(brought_to_scale(none), brought_to_scale(whole))


def test_views_of_resident_data_cost_no_memory():
    source = Source(unit_design(density=1.0).astype(np.float32), np.arange(40.0))
    options = {"single": True, "as_is": True, "memory": 0}
    for resident, again in ((True, 0), (False, 4)):
        rows = make_rows(source, (0, 10, 20, 30, 40), resident=resident, **options)
        source.taken.clear()
        list(rows)
        assert len(source.taken) == again
    # what had to be copied is no view
    rows = make_rows(Source(source.X.astype(float), source.y), (0, 20, 40), resident=True, **options)
    assert [b for b in rows._kept if b is not None] == []


@pytest.mark.parametrize("single", [False, True])
def test_blocks_beyond_the_memory_go_to_a_file(single):
    source = Source(unit_design(density=1.0) * SCALES + MEANS, np.arange(40.0), np.full(40, 2.0))
    cuts = (0, 10, 20, 30, 40)
    kept = make_rows(source, cuts, single=single)
    rows = make_rows(source, cuts, single=single, memory=next(iter(kept)).nbytes, spill=True)
    assert sum(isinstance(block, Spilled) for block in rows._kept) == 3
    source.taken.clear()
    for _ in range(2):
        for a, b in zip(kept, rows, strict=True):
            np.testing.assert_array_equal(a.X, b.X)
            np.testing.assert_array_equal(a.y, b.y)
            np.testing.assert_array_equal(a.weight, b.weight)
    assert not source.taken
    # a copy knows the rows, not the file
    twin = copy_without_file(rows)
    np.testing.assert_array_equal(brought_to_scale(twin), brought_to_scale(kept))
    rows.clear()
    rows.append(slice(0, 10))
    np.testing.assert_array_equal(brought_to_scale(rows), brought_to_scale(kept)[:10])


def copy_without_file(rows):
    twin = object.__new__(Rows)
    twin.__dict__.update(rows.__getstate__())
    assert twin._kept == [None] * 4
    return twin


def test_values_that_cannot_be_squared_are_refused():
    X = unit_design(density=1.0)
    X[35, 2] = 1e300
    for options in ({"single": True}, {"single": True, "as_is": True}):
        with pytest.raises(OverflowedColumns) as caught:
            make_rows(Source(X, X[:, 0]), (0, 20, 40), **options)
        assert list(caught.value.columns) == [2]


def test_cleared_memory_is_free_again():
    Z = unit_design()
    source = Source(Z, Z[:, 0])
    rows = make_rows(source, (0, 40), memory=40 * 6 * 8)
    rows.clear()
    assert (len(rows), rows.n_rows) == (0, 0)
    rows.append(slice(0, 40))
    taken = len(source.taken)
    list(rows)
    assert len(source.taken) == taken


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_gather_gives_back_the_data(container, single):
    Z = unit_design(density=1.0)
    X = Z * SCALES + MEANS
    w, offset = np.random.default_rng(1).uniform(1, 2, size=(2, 40))
    rows = make_rows(Source(container(X), Z[:, 0], w, offset), (0, 15, 40), single=single)
    columns = np.array([3, 0, 1])
    back, y, weight, known = rows.gather(columns)
    # exact up to the precision of a value next to the spread of its column
    error = (back - X[:, columns]) / SCALES[columns]
    np.testing.assert_allclose(error, 0.0, atol=1e-5 if single else 1e-7)
    for got, given in ((y, Z[:, 0]), (weight, w), (known, offset)):
        np.testing.assert_array_equal(got, given)
    empty = rows.gather(np.zeros(0, dtype=np.intp))[0]
    assert empty.shape == (40, 0)


def test_numbers_tell_which_rows_stand_where():
    X = np.arange(40.0)[:, None]

    def take(rows):
        return SimpleNamespace(X=X[rows], y=X[rows, 0], sample_weight=None, offset=None)

    rows = Rows(take)
    for where in (np.array([7, 3, 30]), slice(10, 14), np.array([1])):
        rows.append(where)
    assert rows.numbers(np.array([0, 2, 3, 6, 7])).tolist() == [7, 30, 10, 13, 1]
