"""The change point of a curve."""

import numpy as np

from rlselect.kernels._change_point import change_point


def test_change_point_finds_the_knot():
    t = np.arange(30.0)
    curve = 1.0 + 0.01 * t + 0.02 * np.maximum(t - 22, 0) ** 2 + 0.1 * np.maximum(t - 22, 0)
    index, fitted = change_point(curve, 2)
    assert index == 22
    np.testing.assert_allclose(fitted, curve, atol=1e-8)
    assert change_point(1.0 + np.maximum(t - 12, 0), 1)[0] == 12
    assert change_point(1.0 + np.maximum(t - 9, 0) ** 3 + np.maximum(t - 9, 0), 3)[0] == 9


def test_change_point_on_too_few_points():
    index, fitted = change_point([1.0, 2.0], 2)
    assert index == 1
    np.testing.assert_array_equal(fitted, [1.0, 2.0])
