"""Whether costs are even, by which ways to learn are compared."""

from dataclasses import replace

import numpy as np
import pytest
from problems import make_problem

EVEN, FLAT = 450.0 * (1 - np.eye(2)) - 50.0, np.full(4, 3.0)


@pytest.mark.parametrize(
    ("losses", "prices", "values", "expected"),
    [
        (EVEN, FLAT, None, True),
        (np.array([[0.0, 5.0], [1.0, 0.0]]), FLAT, None, False),
        (np.diag([-1.0, 0.0]), FLAT, None, False),
        (EVEN, np.array([1.0, 1.0, 17.0, 1.0]), None, False),
        (np.subtract.outer([-1.0, 0.5, 2.0], [-1.0, 0.5, 2.0]) ** 2, FLAT, np.array([-1.0, 0.5, 2.0]), True),
    ],
)
def test_costs_are_even_where_all_errors_and_purchases_cost_the_same(losses, prices, values, expected):
    rules = replace(make_problem(20, 4, 0.01).rules, losses=losses, prices=prices, values=values)
    assert rules.even_costs == expected
