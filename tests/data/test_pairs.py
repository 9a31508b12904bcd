"""Products of columns, made when rows are taken."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rlselect.data import ColumnPairs, PairTable, open_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"a": rng.normal(size=12), "b": rng.normal(size=12), "city": rng.choice(["O", "P", "R"], size=12)}
    )


def test_columns_come_with_their_products(frame):
    table = open_table(frame, owner="test")
    plain = table.take().X
    centre = plain.mean(axis=0)
    pairs = ColumnPairs(np.array([0, 0]), np.array([1, 3]), centre)
    wide = PairTable(table, pairs)
    assert wide.columns == ["a", "b", "city=P", "city=R", "a:b", "a:city=R"]
    about = plain - centre
    expected = np.column_stack([plain, about[:, 0] * about[:, 1], about[:, 0] * about[:, 3]])
    np.testing.assert_array_equal(wide.take().X, expected)
    np.testing.assert_array_equal(wide.take(slice(2, 5), [5, 1, 4]).X, expected[2:5][:, [5, 1, 4]])
    some = wide.part(np.array([7, 1]))
    np.testing.assert_array_equal(some.take().X, expected[[7, 1]])
    assert some.n_columns == 6
    np.testing.assert_array_equal(pairs.sources(np.array([5])), [0, 3])
    few = np.concatenate([batch.X for batch in pairs.scan(table, np.array([4, 2]))])
    np.testing.assert_array_equal(few, expected[:, [4, 2]])
    last = np.concatenate([batch.X for batch in pairs.part(np.array([1])).scan(table)])
    np.testing.assert_array_equal(last, expected[:, [0, 1, 2, 3, 5]])


def test_products_of_a_sparse_table_are_dense():
    X = np.arange(12.0).reshape(4, 3)
    table = open_table(sparse.csr_array(X), owner="test")
    wide = PairTable(table, ColumnPairs(np.array([0]), np.array([2]), np.zeros(3)))
    assert not wide.is_sparse
    np.testing.assert_array_equal(wide.take().X, np.column_stack([X, X[:, 0] * X[:, 2]]))
