"""What columns say together: all pairs, and each beside all others, against a naive loop."""

import numpy as np

from rlselect.kernels import beside_all, pair_gains


def problem(p=7):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, p))
    X[:, 1] += 2.0 * X[:, 0]
    return rng.standard_normal(p), np.corrcoef(X.T)


def test_pairs_are_naive_solves():
    z, R = problem()
    gains = pair_gains(z, R)
    for i in range(len(z)):
        assert gains[i, i] == 0.0
        for j in range(i):
            both = [i, j]
            expected = z[both] @ np.linalg.solve(R[np.ix_(both, both)], z[both])
            np.testing.assert_allclose([gains[i, j], gains[j, i]], expected, atol=1e-10)


def test_columns_that_repeat_each_other_gain_nothing():
    assert not pair_gains(np.array([1.0, -1.0]), np.ones((2, 2))).any()


def test_beside_all_is_a_naive_solve():
    z, R = problem()
    for j in range(len(z)):
        rest = np.delete(np.arange(len(z)), j)
        pull = np.linalg.solve(R[np.ix_(rest, rest)], R[rest, j])
        expected = abs(z[j] - pull @ z[rest]) / np.sqrt(1.0 - pull @ R[rest, j])
        np.testing.assert_allclose(beside_all(z, R)[j], expected, atol=1e-10)
