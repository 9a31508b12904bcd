"""The loop over removals, and squared losses of several columns."""

import time

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from rlselect._clock import Clock, stop_if_late, undisturbed
from rlselect.machines import (
    EstimatorProblem,
    HingeLoss,
    KernelProblem,
    LogisticLoss,
    SquaredKernelProblem,
    SquaredLabelLoss,
    SquaredLoss,
    eliminate,
    make_kernel,
    make_state,
)


class Prices:
    """Groups whose removal costs what it says; counts what it is asked."""

    def __init__(self, prices):
        self.prices = prices
        self.active = list(range(len(prices)))
        self.lam = self.bandwidth = 1.0
        self.judged_weights, self.losses = np.ones(1), np.zeros(1)
        self.refreshed = 0

    @property
    def objective(self):
        return float(sum(self.prices) - sum(self.prices[g] for g in self.active))

    def refresh(self):
        self.refreshed += 1

    def removals(self, count):
        return [(g, self.prices[g]) for g in sorted(self.active, key=self.prices.__getitem__)[:count]]

    def drop(self, groups):
        self.active = [g for g in self.active if g not in groups]


def test_the_cheapest_leave_first():
    path = eliminate(Prices([3.0, 1.0, 2.0, 0.5]), lambda left: 1)
    assert path.order == [3, 1, 2, 0]
    assert path.sizes == [4, 3, 2, 1, 0]
    assert path.objective == [0.0, 0.5, 1.5, 3.5, 6.5]
    assert path.broken_off is None
    assert eliminate(Prices([3.0, 1.0, 2.0, 0.5]), lambda left: 3).sizes == [4, 1, 0]


def test_parameters_are_chosen_anew_when_the_set_has_halved():
    seen = []
    eliminate(Prices(np.arange(9.0)), lambda left: 1, lambda problem: seen.append(len(problem.active)))
    assert seen == [4, 2, 1]


class Stopped(Prices):
    """Groups of which some leave before the clock of the fit stops, in the middle of a step or at its end."""

    def __init__(self, prices, clock, at, in_the_middle=False):
        super().__init__(prices)
        self.clock, self.at, self.in_the_middle = clock, at, in_the_middle

    def removals(self, count):
        if self.refreshed == self.at:
            self.clock.reason = "time budget"
            if self.in_the_middle:
                stop_if_late()
        return super().removals(count)


@pytest.mark.parametrize("at", [1, 3, 4])
def test_a_reason_breaks_it_off(at):
    with Clock(None) as clock:
        path = eliminate(Stopped([3.0, 1.0, 2.0, 0.5], clock, at), lambda left: 1)
    assert sorted(path.order) == [0, 1, 2, 3]
    assert len(path.sizes) == (at if at < 4 else 5)
    # a reason that comes with the last removal has nothing to break off
    assert path.broken_off == ("time budget" if at < 4 else None)
    if at == 1:
        assert path.order == [3, 2, 1, 0]


def test_a_step_that_is_broken_off_removes_nothing():
    with Clock(None) as clock:
        path = eliminate(Stopped([3.0, 1.0, 2.0, 0.5], clock, 3, in_the_middle=True), lambda left: 1)
    assert path.sizes == [4, 3, 2]
    assert path.order == [3, 1, 2, 0]
    assert path.broken_off == "time budget"


class Ranked(Prices):
    """Groups that are ranked all at once in haste; a look at the present ones takes a while."""

    hasty = False

    def refresh(self):
        super().refresh()
        time.sleep(0.02)

    def removals(self, count):
        stop_if_late()
        return super().removals(count)


def test_in_a_hurry_most_leave_at_once_and_the_rest_keeps_its_rank():
    prices = [3.0, 1.0, 2.0, 0.5, *np.linspace(10.0, 20.0, 56)]
    problem = Ranked(prices)
    with Clock(1e-6):
        path = eliminate(problem, lambda left: 1, hurry=True)
    assert path.hurried
    assert path.broken_off == "time budget"
    # the first rank is waited for, and what it leaves is judged
    assert path.sizes == [60, 6]
    assert path.order == np.argsort(prices, kind="stable").tolist()


def test_with_enough_time_nobody_hurries():
    with Clock(60.0):
        path = eliminate(Ranked([3.0, 1.0, 2.0, 0.5]), lambda left: 1, hurry=True)
    assert path.sizes == [4, 3, 2, 1, 0]
    assert not path.hurried


@pytest.mark.parametrize("hasty", [False, True])
def test_bounds_alone_rank_removals_in_haste(hasty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    state = make_state(make_kernel("rbf"), X, [np.array([j]) for j in range(5)], 2.0)
    y = np.sign(X[:, 1] + 0.1 * rng.normal(size=60))[:, None]
    problem = KernelProblem(state, y, np.ones(60), HingeLoss(), 0.01, True, np.arange(60) % 3)
    problem.refresh()
    problem.hasty = hasty
    ranked = [group for group, _ in problem.removals(5)]
    assert ranked[-1] == 1
    assert sorted(ranked) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [DecisionTreeRegressor(max_depth=4, random_state=0), Ridge()])
def test_shuffled_columns_rank_removals_of_an_estimator_in_haste(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = 3.0 * X[:, 2] + X[:, 4] + 0.1 * rng.normal(size=300)
    groups = [np.array([j]) for j in range(6)]
    rows = (X, y, y[:, None], np.ones(300), SquaredLoss(), groups, np.arange(300) % 5)
    problem = EstimatorProblem(kind, *rows)
    problem.refresh()
    problem.hasty = True
    ranked = [group for group, _ in problem.removals(6)]
    assert ranked[-2:] == [4, 2]
    assert sorted(ranked) == list(range(6))


def test_an_estimator_is_judged_by_one_fold_where_time_is_short():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    rows = (X, X[:, 0], X[:, :1], np.ones(100), SquaredLoss(), [np.array([j]) for j in range(3)])
    with Clock(1e-6):
        problem = EstimatorProblem(Ridge(), *rows, np.arange(100) % 5)
        # as the first set is judged
        with undisturbed():
            problem.refresh()
    assert len(problem.losses) == len(problem.judged_weights) == 20
    with Clock(600.0):
        again = EstimatorProblem(Ridge(), *rows, np.arange(100) % 5)
        again.refresh()
    assert len(again.losses) == len(again.judged_weights) == 100
    np.testing.assert_allclose(problem.losses, again.losses[np.arange(100) % 5 == 0])


def _problem(kind, targets, weights, kernel="rbf"):
    X = np.random.default_rng(0).normal(size=(30, 5))
    state = make_state(make_kernel(kernel), X, [np.array([j]) for j in range(5)], 2.0)
    return kind(state, targets, weights, SquaredLabelLoss(), 0.05, True, None)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_one_column_is_the_same_whichever_way(kernel):
    rng = np.random.default_rng(1)
    targets, weights = np.sign(rng.normal(size=(30, 1))), rng.integers(1, 4, size=30).astype(float)
    plain, fast = (
        eliminate(_problem(kind, targets, weights, kernel), lambda left: 1)
        for kind in (KernelProblem, SquaredKernelProblem)
    )
    assert plain.order == fast.order
    np.testing.assert_allclose(plain.objective, fast.objective, rtol=1e-9)
    np.testing.assert_allclose(np.array(plain.losses), np.array(fast.losses), rtol=1e-7)


@pytest.mark.parametrize("kind", [KernelProblem, SquaredKernelProblem])
def test_several_columns_add_up_and_leave_the_cheapest(kind):
    rng = np.random.default_rng(2)
    targets = np.where(rng.integers(0, 3, size=30)[:, None] == np.arange(3), 1.0, -1.0)
    problem = _problem(kind, targets, np.ones(30))
    problem.refresh()
    single = [_problem(SquaredKernelProblem, column[:, None], np.ones(30)) for column in targets.T]
    for one in single:
        one.refresh()
    assert problem.objective == pytest.approx(sum(one.objective for one in single))
    np.testing.assert_allclose(problem.losses, np.sum([one.losses for one in single], axis=0))
    lams = [0.01, 0.1]
    np.testing.assert_allclose(
        problem.risk_at(lams, 1.5), np.sum([one.risk_at(lams, 1.5) for one in single], axis=0)
    )
    left = {
        group: sum(value for one in single for found, value in one.removals(5) if found == group)
        for group in range(5)
    }
    found = problem.removals(5)
    assert [group for group, _ in found] == sorted(left, key=left.__getitem__)
    np.testing.assert_allclose([value for _, value in found], sorted(left.values()))


@pytest.mark.parametrize("loss", [HingeLoss(), LogisticLoss()])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_what_larger_sets_have_shown_spares_machines_and_changes_no_order(loss, kernel):
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(40, 8)), rng.integers(1, 3, size=40).astype(float)
    targets = np.where(X[:, :1] - X[:, 1:2] + rng.normal(size=(40, 1)) > 0, 1.0, -1.0)

    def run(lams, nested=True):
        state = make_state(make_kernel(kernel), X, [np.array([j]) for j in range(8)], 3.0)
        problem = KernelProblem(state, targets, weights, loss, 0.02, True, np.arange(40) % 4)
        exact, solved = problem._without, []

        def count(group, limit):
            solved.append(group)
            return exact(group, limit)

        problem._without = count
        while problem.active:
            problem.lam = lams(len(problem.active))
            problem.refresh()
            every = sorted((exact(g, np.inf), g) for g in problem.active)
            problem._least = problem._least if nested else {}
            ((group, value),) = problem.removals(1)
            assert (group, value) == (every[0][1], pytest.approx(every[0][0], rel=1e-9))
            problem.drop([group])
        return len(solved)

    assert run(lambda size: 0.02) < run(lambda size: 0.02, nested=False)
    # what was known at another regularisation is known no more
    run(lambda size: 0.02 if size > 4 else 0.2)
