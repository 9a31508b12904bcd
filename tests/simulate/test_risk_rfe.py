"""Designs of the risk-RFE tables."""

import numpy as np
import pytest

from rlselect.simulate import make_rational, make_sparse_linear


def test_designs_are_seeded_and_checked():
    X, y, informative = make_sparse_linear(50, 6, 2, task="regression", random_state=1)
    again = make_sparse_linear(50, 6, 2, task="regression", random_state=1)
    np.testing.assert_array_equal(y, again[1])
    assert informative.tolist() == [True, True, False, False, False, False]
    assert np.abs(X).max() <= 1
    with pytest.raises(ValueError, match="task"):
        make_sparse_linear(task="ranking")
    with pytest.raises(ValueError, match="n_informative"):
        make_sparse_linear(n_features=3, n_informative=4)
    with pytest.raises(ValueError, match="pole"):
        make_rational(a2=0.5)
