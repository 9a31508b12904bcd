"""Clocks of fits: when a budget begins, what a part of it may take, who is told that time is up."""

import math
import signal
import time
from typing import ClassVar

import pytest

from rlselect._clock import BEGAN, Clock, OutOfTime, fit_clock, stop_if_late, time_is_up, undisturbed
from rlselect._estimator import Estimator
from rlselect._options import NONE, number


class Slow(Estimator):
    """Takes a while to read its data, and notes what the clock has left then."""

    _options: ClassVar = {"time_budget": NONE | number("a positive number of seconds", above=0.0)}

    def __init__(self, time_budget=None):
        self.time_budget = time_budget

    def fit(self):
        return self._learn_aside()

    def _fit(self, progress):
        progress.begin(1)
        time.sleep(0.05)
        with fit_clock(self.time_budget) as clock:
            self.left_, self.late_ = clock.left, time_is_up()


def test_a_budget_begins_with_the_fit():
    assert Slow(time_budget=10.0).fit().left_ < 9.951
    assert Slow(time_budget=0.01).fit().late_
    assert Slow().fit().left_ is None
    assert BEGAN.get() is None


def test_a_clock_outside_of_a_fit_begins_at_once():
    assert fit_clock(10.0).left == pytest.approx(10.0, abs=1.0)


def test_the_extra_seconds_belong_to_the_whole():
    whole = Clock(10.0)
    part = whole.part(0.1)
    assert whole.grace == pytest.approx(1.3)
    assert part.grace == pytest.approx(0.1, abs=0.01)
    assert Clock(None).grace == Clock(None).part(0.5).grace == math.inf


def test_nothing_is_told_inside_of_what_must_not_be_disturbed():
    with Clock(1e-9):
        assert time_is_up()
        with undisturbed():
            assert not time_is_up()
            stop_if_late()
        with pytest.raises(OutOfTime):
            stop_if_late()
    assert not time_is_up()


def test_what_follows_a_search_has_the_rest_and_the_grace():
    search = Clock(10.0)
    assert search.afterwards().left == pytest.approx(10.0 + search.grace, abs=0.5)
    late = Clock(1e-9)
    with late.afterwards() as rest:
        assert late.look() == "time budget"
        assert not time_is_up()
        assert rest.left == pytest.approx(late.grace, abs=0.1)
    assert Clock(None).afterwards().left is None


def test_a_second_ctrl_c_interrupts_what_follows_a_search():
    search = Clock(None)
    search.reason = "interrupted"
    with search.afterwards(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with Clock(None).afterwards() as rest:
        signal.raise_signal(signal.SIGINT)
        assert rest.look() == "interrupted"
