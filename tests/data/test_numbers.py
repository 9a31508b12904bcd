"""Numbers that break sums of squares, and positions outside of a matrix: one sentence each."""

import numpy as np
import pytest
from scipy import sparse

from rlselect.data import open_coded, open_table

X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("dense", [True, False])
def test_huge_numbers_are_named_with_their_column(dense):
    huge = X.copy()
    huge[2, 1] = -1e150
    with pytest.raises(ValueError, match=r"beyond 1e\+130 in column 'x1' \(1 row\)"):
        open_table(huge if dense else sparse.csr_array(huge)).take()


def test_large_numbers_that_cancel_are_found():
    huge = X.copy()
    huge[0, 0], huge[1, 0] = 1e140, -1e140
    with pytest.raises(ValueError, match="beyond"):
        open_table(huge).take()


def test_large_numbers_below_the_limit_pass():
    large = X * 1e120
    np.testing.assert_array_equal(open_table(large).take().X, large)


def test_float32_has_no_room_for_huge_numbers():
    large = np.full((4, 3), np.finfo(np.float32).max)
    np.testing.assert_array_equal(open_table(large).take().X, large)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_positions_outside_of_a_sparse_matrix(form):
    broken = sparse.coo_array(X).asformat(form)
    if form == "coo":
        broken.coords = (broken.coords[0], broken.coords[1] + 10**6)
    else:
        broken.indices = broken.indices + 10**6
    for read in (open_table, open_coded):
        with pytest.raises(ValueError, match="indices do not fit its shape"):
            read(broken)


def test_pointers_outside_of_a_sparse_matrix():
    broken = sparse.csr_array(X)
    broken.indptr = broken.indptr.copy()
    broken.indptr[1] = 10**6
    with pytest.raises(ValueError, match="indices do not fit its shape"):
        open_table(broken)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ([1e300, 1, 1, 1], "sample_weight holds"),
        ([1e16, 1, 1, 1], "one row more would not show"),
        ([5e-324] * 4, "at most 4.94e-324"),
    ],
)
def test_weights_that_cannot_count(weight, said):
    with pytest.raises(ValueError, match=said):
        open_table(X, np.arange(4), sample_weight=weight)


def test_shares_are_warned_about():
    with pytest.warns(UserWarning, match="mean 0.025, so that 4 rows count as 0.1"):
        open_table(X, np.arange(4), sample_weight=[0.025] * 4)


def test_a_weight_that_counts_nothing_is_zero():
    weight = open_table(X, np.arange(4), sample_weight=[1.0, 1e-300, 1.0, 1.0]).sample_weight
    np.testing.assert_array_equal(weight, [1.0, 0.0, 1.0, 1.0])


def test_long_doubles_among_objects_are_numbers():
    values = np.array([[np.longdouble(0.5)], [2], [np.longdouble(-1)]], dtype=object)
    np.testing.assert_array_equal(open_table(values).take().X, [[0.5], [2.0], [-1.0]])


def test_a_row_beside_which_all_others_are_nothing_is_named():
    with pytest.raises(ValueError, match="1e\\+15 for one row and 3 for all others together"):
        open_table(X, sample_weight=[1.0, 1e15, 1.0, 1.0])
    assert open_table(X, sample_weight=[0.0, 1e14, 0.0, 0.0]).sample_weight.max() == 1e14
