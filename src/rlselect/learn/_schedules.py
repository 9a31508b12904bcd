"""Numbers that change with the stage: learning rates, exploration, quantiles, penalties."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

Schedule: TypeAlias = Callable[[float], float]


def _require_finite(owner: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not isinstance(number, Real) or not math.isfinite(number):
            raise ValueError(f"{owner}: {name} must be a finite number, got {number!r}")


@dataclass(frozen=True)
class PowerDecay:
    """``scale * t ** -exponent`` for stages ``t = 1, 2, ...``.

    Parameters
    ----------
    exponent : float
        How fast it falls. A learning rate keeps the Robbins-Monro conditions for exponents in (1/2, 1].
    scale : float, default=1.0
        The value at ``t = 1``.

    Examples
    --------
    >>> from rlselect.learn import PowerDecay
    >>> PowerDecay(1.0)(4)
    0.25
    """

    exponent: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        _require_finite("PowerDecay", exponent=self.exponent, scale=self.scale)

    def __call__(self, t: float) -> float:
        """Value at stage ``t``."""
        if not t >= 1:
            raise ValueError(f"PowerDecay counts stages from 1, got t={t!r}")
        return float(self.scale * t**-self.exponent)


@dataclass(frozen=True)
class LinearRamp:
    """A straight line from ``start`` at ``t = 0`` to ``stop`` at ``t = length``, flat afterwards.

    Parameters
    ----------
    start, stop : float
        The two ends; a falling ramp is allowed.
    length : float
        Number of stages of the climb, positive.

    Examples
    --------
    >>> from rlselect.learn import LinearRamp
    >>> ramp = LinearRamp(0.6, 1.0, 2000)
    >>> ramp(1000), ramp(5000)
    (0.8, 1.0)
    """

    start: float
    stop: float
    length: float

    def __post_init__(self) -> None:
        _require_finite("LinearRamp", start=self.start, stop=self.stop, length=self.length)
        if self.length <= 0:
            raise ValueError(f"LinearRamp: length must be positive, got {self.length!r}")

    def __call__(self, t: float) -> float:
        """Value at stage ``t``."""
        share = min(max(t / self.length, 0.0), 1.0)
        # Written so that both ends are hit exactly: a quantile of 1.0000000000000002 would be an error.
        return float((1.0 - share) * self.start + share * self.stop)


@dataclass(frozen=True)
class Constant:
    """The same ``value`` at every stage.

    Parameters
    ----------
    value : float
        That value.

    Examples
    --------
    >>> from rlselect.learn import Constant
    >>> Constant(0.1)(1000)
    0.1
    """

    value: float

    def __post_init__(self) -> None:
        _require_finite("Constant", value=self.value)

    def __call__(self, t: float) -> float:
        """Value at stage ``t``."""
        return float(self.value)


def as_schedule(schedule: float | Schedule) -> Schedule:
    """Read a number as a constant, and leave a function of the stage as it is.

    Parameters
    ----------
    schedule : float or callable
        A number, or any function of the stage ``t``.

    Returns
    -------
    callable
        The schedule.

    Examples
    --------
    >>> from rlselect.learn import as_schedule
    >>> as_schedule(0.1)
    Constant(value=0.1)
    """
    if isinstance(schedule, Real) and not isinstance(schedule, bool):
        return Constant(float(schedule))
    if callable(schedule) and not isinstance(schedule, type):
        return schedule
    raise TypeError(
        "a schedule is a number or a function of the stage t, such as PowerDecay(0.1) or "
        f"LinearRamp(0.6, 1.0, 2000); got {schedule!r}"
    )
