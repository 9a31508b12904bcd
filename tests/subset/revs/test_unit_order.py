import numpy as np

from rlselect import REVS
from rlselect.data import Units, open_table
from rlselect.subset.revs._unit_order import marks_of_units, order_units


def test_units_come_by_falling_reward_and_equals_by_their_marks():
    rewards = np.array([1.0, 3.0, 1.0 + 1e-13, -np.inf, 2.0, 1.0 - 1e-13])
    marks = np.array([7.0, 0.0, 6.0, 0.0, 0.0, 5.0])
    assert order_units(rewards, lambda: marks).tolist() == [1, 4, 5, 2, 0, 3]


def test_marks_are_not_asked_for_where_no_rewards_are_equal():
    def refuse():
        raise AssertionError

    assert order_units(np.array([1.0, 3.0, -np.inf, 2.0, -np.inf]), refuse).tolist() == [1, 3, 0, 2, 4]


def test_marks_follow_their_unit_through_orders_scales_and_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    weight = rng.integers(0, 4, 30)
    units = Units(np.array([0, 0, 1, 2, 3, 4]))
    marks = marks_of_units(open_table(X, sample_weight=weight), units)
    rows, columns = np.repeat(np.arange(30), weight), np.array([5, 3, 1, 2, 0, 4])
    other = open_table(-1024.0 * X[rng.permutation(rows)][:, columns] + 3.0)
    again = marks_of_units(other, Units(units.unit_of[columns]))
    np.testing.assert_allclose(again, marks, rtol=1e-8)
    assert len(np.unique(np.round(marks, 6))) == 5


def test_columns_that_explain_equally_much_do_not_depend_on_their_order():
    # the first three columns have the same counts beside y, and so the same reward
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 12)
    one = np.r_[np.ones(4), np.zeros(8), np.ones(7), np.zeros(5)]
    ties = [np.r_[rng.permutation(one[:12]), rng.permutation(one[12:])] for _ in range(3)]
    X = np.column_stack([*ties, rng.standard_normal((24, 12))])
    order = rng.permutation(15)
    first = REVS(random_state=0).fit(X, y).inclusion_
    np.testing.assert_allclose(REVS(random_state=0).fit(X[:, order], y).inclusion_, first[order], atol=1e-9)
