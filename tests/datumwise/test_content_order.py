"""The order in which networks meet units: it follows from what the columns hold."""

import numpy as np
import pytest

from rlselect import DatumwiseClassifier
from rlselect.datumwise import NetworkTraining
from rlselect.datumwise._content_order import by_content
from rlselect.datumwise._rules import PurchaseRules

QUICK = NetworkTraining(steps=(12, 20), n_members=4, hidden=12, batch=16)


def make_rules(groups):
    return PurchaseRules(list(range(len(groups))), groups, np.full(len(groups), 0.1), 1.0 - np.eye(2))


def test_columns_units_and_rows_in_any_order_give_the_same():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(40, 6)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels, weights = rng.integers(0, 2, 40), rng.integers(1, 3, 40).astype(float)
    groups = [np.array(g) for g in ([0, 3], [1], [2, 4, 5])]
    units = by_content(X, labels, weights, make_rules(groups), np.arange(3))
    for _ in range(5):
        columns, rows, places = (rng.permutation(n) for n in (6, 40, 3))
        where = np.argsort(columns)
        others = [where[groups[p]] for p in places]
        order = by_content(X[rows][:, columns], labels[rows], weights[rows], make_rules(others), np.arange(3))
        np.testing.assert_array_equal(places[order], units)


def test_a_weight_of_two_is_as_two_rows_and_minus_zero_is_zero():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    labels, weights = np.array([0, 1, 1, 0]), np.array([2.0, 1.0, 1.0, 1.0])
    rules = make_rules([np.array([0]), np.array([1])])
    twice = [0, 0, 1, 2, 3]
    wanted = by_content(X, labels, weights, rules, np.arange(2))
    got = by_content(X[twice] * -1 * -1, labels[twice], np.ones(5), rules, np.arange(2))
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(by_content(X + -0.0, labels, weights, rules, np.arange(2)), wanted)


def test_networks_do_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(1)
    names, order = np.array(list("abcde")), np.array([3, 0, 4, 2, 1])
    X = rng.normal(size=(60, 5))
    y = X[:, 0] * X[:, 1] > 0

    def fit(places):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X[:, places], columns=names[places])
        model = DatumwiseClassifier(scoring="network", search=QUICK, feature_cost=0.02, random_state=0)
        return model.fit(frame, y), frame

    (mine, frame), (other, turned) = fit(np.arange(5)), fit(order)
    np.testing.assert_array_equal(mine.predict_proba(frame), other.predict_proba(turned))
    np.testing.assert_array_equal(mine.acquire(frame)[:, order], other.acquire(turned))
    assert mine.acquisition_order(frame) == other.acquisition_order(turned)
    np.testing.assert_array_equal(mine.inclusion_[order], other.inclusion_)
