import numpy as np
import pytest

from rlselect.kernels import standardise


def test_columns_have_mean_zero_and_unit_deviation_and_come_back():
    raw = np.random.default_rng(0).normal(3.0, 7.0, size=(40, 3))
    X, center, scale, constant = standardise(raw)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    np.testing.assert_allclose(X * scale + center, raw)
    assert not constant.any()


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e150])
def test_the_scale_of_a_column_does_not_matter(size):
    raw = np.random.default_rng(1).standard_normal((30, 2))
    np.testing.assert_allclose(standardise(raw * size).X, standardise(raw).X, rtol=1e-12)


def test_constant_columns_are_zero_and_marked():
    raw = np.column_stack([np.full(5, 0.1), np.arange(5.0)])
    found = standardise(raw)
    assert found.constant.tolist() == [True, False]
    assert not found.X[:, 0].any()
