import math
import pickle

import pytest

from rlselect.learn import Constant, LinearRamp, PowerDecay, as_schedule


@pytest.mark.parametrize(("exponent", "scale"), [(1.0, 1.0), (0.1, 1.0), (0.6, 3.0)])
def test_power_decay_is_the_formula(exponent, scale):
    schedule = PowerDecay(exponent, scale)
    for t in (1, 2, 7, 2000):
        assert schedule(t) == pytest.approx(scale / math.pow(t, exponent), rel=1e-15)


@pytest.mark.parametrize("t", [0, -1, 0.5, math.nan])
def test_power_decay_counts_from_one(t):
    with pytest.raises(ValueError, match="counts stages from 1"):
        PowerDecay(1.0)(t)


def test_paper_quantiles():
    ramp = LinearRamp(0.6, 1.0, 2000)
    for t in (1, 500, 1999):
        assert ramp(t) == pytest.approx(0.6 + 0.4 * t / 2000, rel=1e-14)
    assert ramp(0) == 0.6
    assert ramp(2000) == ramp(10**9) == 1.0


def test_ramp_may_fall_and_never_overshoots():
    ramp = LinearRamp(0.3, 0.1, 7)
    values = [ramp(t) for t in range(12)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == 0.1


@pytest.mark.parametrize("schedule", [PowerDecay(0.1), LinearRamp(0.6, 1.0, 2000), Constant(0.2)])
def test_schedules_are_values(schedule):
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    assert hash(schedule) == hash(eval(repr(schedule)))
    with pytest.raises(AttributeError):
        schedule.anything = 1.0


def test_as_schedule():
    assert as_schedule(2)(5) == 2.0
    assert as_schedule(0.25) == Constant(0.25)
    ramp = LinearRamp(0.0, 1.0, 10)
    assert as_schedule(ramp) is ramp
    assert as_schedule(lambda t: 1 / (1 + t))(1) == 0.5


@pytest.mark.parametrize("wrong", ["0.1", None, PowerDecay, True])
def test_as_schedule_says_what_is_allowed(wrong):
    with pytest.raises(TypeError, match=r"a number or a function of the stage t"):
        as_schedule(wrong)


@pytest.mark.parametrize(
    "build", [lambda: PowerDecay(math.nan), lambda: LinearRamp(0, math.inf, 3), lambda: Constant("a")]
)
def test_numbers_must_be_finite(build):
    with pytest.raises(ValueError, match="must be a finite number"):
        build()


def test_ramp_needs_a_length():
    with pytest.raises(ValueError, match="length must be positive"):
        LinearRamp(0.0, 1.0, 0)
