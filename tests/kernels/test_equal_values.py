import numpy as np

from rlselect.kernels import rising_order, steps_of


def test_steps_follow_the_size_of_the_values_and_a_floor():
    rising = np.array([-1.0, 0.0, 1e-20, 1e-9, 1e-9 + 1e-19, 5.0, 5.0 + 1e-9])
    assert steps_of(rising, 0.0).tolist() == [0, 1, 2, 3, 3, 4, 4]
    assert steps_of(rising, 1e-15).tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert steps_of(np.array([]), 1.0).tolist() == []
    assert steps_of(np.array([-np.inf, -np.inf, 2.0, np.inf]), 1.0).tolist() == [0, 0, 1, 2]


def test_of_equals_the_first_place_comes_first():
    values = np.array([3.0, 1.0 + 2e-13, 2.0, 1.0, 1.0 + 1e-13])
    assert rising_order(values, 1e-12).tolist() == [1, 3, 4, 2, 0]
