"""Which variables to keep if only so many may stay."""

import numpy as np

from rlselect import ActorCriticPredictor
from rlselect._clock import Clock
from rlselect.data._units import Units
from rlselect.subset.acp._order import elimination_order, places
from rlselect.subset.acp.masked._kernel import MaskedKernel
from rlselect.subset.acp.masked._linear import MaskedLinear
from rlselect.subset.acp.masked._predictor import make_target


def left_by(predictor, p, mode=None, clock=None):
    mode = np.ones(p, dtype=bool) if mode is None else mode
    return elimination_order(
        predictor, Units(np.arange(p)), mode, np.random.default_rng(0), clock or Clock(None, 1)
    )


def test_the_least_missed_leaves_first():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = X @ np.array([0.3, 3.0, 1.0, 2.0, 0.6]) + 0.5 * rng.standard_normal(300)
    left, judged = left_by(MaskedLinear(X, make_target(y, False)), 5)
    assert left.tolist() == [1, 5, 3, 4, 2]
    assert judged == 5 + 4 + 3 + 2


def test_of_two_that_stand_for_each_other_one_stays_to_the_end():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 3))
    X[:, 1] = X[:, 0] + 0.2 * X[:, 1]
    y = 2.0 * X[:, 0] + 1.5 * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.standard_normal(300)
    predictor = MaskedLinear(X, make_target(y, False))
    gains = predictor.criterion(~np.eye(3, dtype=bool))
    # the gain beside all others calls the third one the best
    assert np.argmax(gains) == 2
    left, _ = left_by(predictor, 3)
    assert np.argmax(left) in (0, 1)
    assert np.argmin(left) in (0, 1)


def test_partners_in_a_product_stay_together():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 5))
    y = 3.0 * X[:, 1] * X[:, 3] + X[:, 0] + 0.5 * X[:, 2] + 0.3 * X[:, 4] + 0.1 * rng.standard_normal(150)
    left, _ = left_by(MaskedKernel(X, make_target(y, False)), 5)
    assert set(np.argsort(-left)[:2]) == {1, 3}


def test_units_outside_have_no_place_and_groups_leave_as_one():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 5))
    y = X[:, :2].sum(axis=1) + 0.2 * X[:, 2] + X[:, 4] + 0.3 * rng.standard_normal(200)
    units = Units(np.array([0, 0, 1, 2, 3]))
    mode = np.array([True, True, True, False])
    predictor = MaskedLinear(X, make_target(y, False))
    left, _ = elimination_order(predictor, units, mode, np.random.default_rng(0), Clock(None, 1))
    assert left[3] == 0
    assert np.argmax(left) == 0


def test_many_units_leave_several_at_a_time():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 100))
    y = X @ np.linspace(0.0, 2.0, 100) + rng.standard_normal(400)
    left, judged = left_by(MaskedLinear(X, make_target(y, False)), 100)
    assert sorted(set(left)) == sorted(left)
    assert judged < 20 * 100 + 20 * 20 < 100 * 101 / 2
    assert np.corrcoef(left, np.arange(100))[0, 1] > 0.9


def test_a_stopped_clock_leaves_the_rest_together():
    X = np.random.default_rng(5).standard_normal((50, 4))
    left, judged = left_by(MaskedLinear(X, make_target(X[:, 0], False)), 4, clock=Clock(1e-9, 1))
    assert left.tolist() == [1, 1, 1, 1]
    assert judged == 0


def test_places_are_subset_then_judged_then_the_others():
    mode = np.array([False, True, True, False, False, False, False])
    left = np.array([0, 1, 2, 0, 0, 0, 0])
    gains = np.array([0.3, 0.05, 0.04, 0.2, 0.01, np.nan, np.nan])
    alone = np.array([2.0, 9.0, 9.0, 8.0, 1.0, 3.0, 7.0])
    got = places(mode, left, gains, np.zeros(7), alone, straight=True)
    # 3 is first alone and second beside the subset, 0 the other way round: the first of them wins
    assert np.argsort(-got).tolist() == [2, 1, 3, 0, 4, 6, 5]
    # a straight line has no say in what a kernel has judged
    got = places(mode, left, gains, np.zeros(7), alone, straight=False)
    assert np.argsort(-got).tolist() == [2, 1, 0, 3, 4, 6, 5]


def test_a_ranking_goes_on_where_screening_has_left_variables_out():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((100, 30))
    y = 2.0 * X[:, 3] + X[:, 7] + 0.5 * rng.standard_normal(100)
    fitted = ActorCriticPredictor(predictor="linear", screening=5, random_state=0).fit(X, y)
    assert np.argsort(fitted.ranking_)[:2].tolist() == [3, 7]
    behind = np.setdiff1d(np.arange(30), fitted.screening_["linear"])
    alone = np.abs([np.corrcoef(X[:, j], y)[0, 1] for j in behind])
    np.testing.assert_array_equal(np.argsort(fitted.ranking_)[5:], behind[np.argsort(-alone)])
