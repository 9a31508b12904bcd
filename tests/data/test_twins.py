"""Copies among the columns of a table, as they are or in other units."""

import numpy as np
import pytest
from scipy import sparse

from rlselect.data import Units, find_twins, open_table


def twins(X):
    table = open_table(X, np.zeros(X.shape[0]))
    return find_twins(table, Units(np.arange(X.shape[1]))).tolist()


@pytest.mark.parametrize("n", [10, 2000])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_equal_columns_are_twins(container, n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6)) * (rng.random((n, 6)) < 0.5)
    X[:, 3], X[:, 5] = X[:, 1], X[:, 1]
    assert twins(container(X)) == [0, 1, 2, 1, 4, 1]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_single_value_makes_the_difference(container):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    X[:, 3], X[:, 4] = X[:, 1], X[:, 1]
    X[1999, 3] += 1e-12
    assert twins(container(X)) == [0, 1, 2, 3, 1]


def test_equal_at_a_glance_but_in_two_kinds():
    # the first rows are all zero, later two pairs part company
    X = np.zeros((1000, 4))
    X[500:, :2] = np.random.default_rng(0).standard_normal((500, 1))
    X[700:, 2:] = 1.0
    assert twins(X) == [0, 0, 2, 2]
    assert twins(sparse.csr_array(X)) == [0, 0, 2, 2]


def test_stored_zeros_and_negative_zeros_are_zeros():
    X = np.array([[1.0, 1.0, 2.0], [0.0, -0.0, 1.0], [3.0, 3.0, 0.0]])
    assert twins(X) == [0, 0, 2]
    stored = sparse.csr_array(
        (np.array([1.0, 1.0, 2.0, 0.0, 1.0, 3.0, 3.0]), [0, 1, 2, 1, 2, 0, 1], [0, 3, 5, 7])
    )
    assert stored.nnz == 7
    assert twins(stored) == [0, 0, 2]


@pytest.mark.parametrize("n", [10, 2000])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)])
def test_other_units_and_opposites_are_twins(container, n):
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(15.0, 8.0, size=(n, 9)), 1)
    X[:, 3] = 1.8 * X[:, 1] + 32.0  # Fahrenheit
    X[:, 4] = rng.random(n) < 0.4
    X[:, 5] = 1.0 - X[:, 4]
    X[:, 6] = -X[:, 1]
    X[:, 7] = 5.0
    X[:, 8] = X[:, 0] + 0.01 * rng.normal(size=n)  # nearly x0 is not x0
    assert twins(container(X)) == [0, 1, 2, 1, 4, 4, 1, 7, 8]
    table = open_table(X, np.zeros(n))
    alone = find_twins(table, Units(np.arange(9)), turned=False)
    assert alone.tolist() == list(range(9))


def test_a_late_row_parts_what_was_the_same():
    X = np.random.default_rng(2).normal(size=(1000, 3))
    X[:, 1], X[:, 2] = 3.0 - 2.0 * X[:, 0], 5.0 * X[:, 0]
    X[999, 1] += 1e-6
    assert twins(X) == [0, 1, 0]
