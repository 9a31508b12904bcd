"""The loop over removals, and squared losses of several columns."""

import numpy as np
import pytest

from rlselect._clock import Clock, stop_if_late
from rlselect.machines import (
    KernelProblem,
    SquaredKernelProblem,
    SquaredLabelLoss,
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


def test_several_columns_add_up_and_leave_the_cheapest():
    rng = np.random.default_rng(2)
    targets = np.where(rng.integers(0, 3, size=30)[:, None] == np.arange(3), 1.0, -1.0)
    problem = _problem(KernelProblem, targets, np.ones(30))
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
