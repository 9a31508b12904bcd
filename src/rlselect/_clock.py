"""Time budget, Ctrl-C and progress of a long search, asked at every step.

The clock of a fit is known to everything that runs inside of it, in the same thread: a loop deep down asks
`time_is_up`, or calls `stop_if_late`, which ends a step that cannot be finished in time.
"""

import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar

from rlselect._compat import user_level
from rlselect._watch import WATCHER, tell

PARTS = 100
# A step may end so much after the budget: a share of it, and seconds. What follows a search needs time too.
_LATE_SHARE, _LATE = 0.1, 0.3

Item = TypeVar("Item")


class OutOfTime(Exception):
    """A step was broken off; the search goes back to what it knew before."""


def warn_if_interrupted(stop_reason: str, owner: str, done: str) -> None:
    """Say that Ctrl-C ended a search, and that the fit is valid.

    Parameters
    ----------
    stop_reason : str
        Why the search ended; nothing is said unless it was interrupted.
    owner : str
        Name of the estimator.
    done : str
        What was done before, such as "40 stages".
    """
    if stop_reason == "interrupted":
        warnings.warn(
            f"{owner} was interrupted after {done}; the fit holds what was found so far.",
            UserWarning,
            stacklevel=user_level(),
        )


class Clock:
    """Tells a search when to stop, without ever breaking off in the middle of a step.

    Used as a context manager: inside, the first Ctrl-C only asks the search to stop, which leaves a valid
    fit; the second one interrupts as usual.

    Parameters
    ----------
    time_budget : float, optional
        Seconds from now.
    expected : int
        Steps that a whole search takes, for progress.
    report : callable, optional
        Called when another hundredth is done; true when a watcher asks to stop.
    """

    def __init__(
        self, time_budget: float | None, expected: int = PARTS, report: Callable[[], bool] | None = None
    ) -> None:
        self.deadline = None if time_budget is None else time.perf_counter() + time_budget
        self.reason: str | None = None
        self._late = 0.0 if time_budget is None else _LATE_SHARE * time_budget + _LATE
        self._every = max(expected // PARTS, 1)
        self._expected = expected
        self._report = report
        self._steps = self._parts = 0
        self._last = time.perf_counter()
        self._lock = threading.Lock()
        self._previous: Any = None
        self._outer: Clock | None = None
        self._asked = False

    def __getstate__(self) -> dict[str, Any]:
        # in another process: the time that is left, and nobody to report to
        return {"left": self.left, "reason": self.reason, "every": self._every}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["left"], PARTS * state["every"])  # type: ignore[misc]
        self.reason = state["reason"]

    @property
    def left(self) -> float | None:
        """Seconds that are left; None without a budget."""
        return None if self.deadline is None else self.deadline - time.perf_counter()

    @property
    def grace(self) -> float:
        """Seconds, from the end of a search on, that making an answer of what it found may take."""
        return math.inf if self.deadline is None else self._late

    def part(self, share: float, expected: int = PARTS, report: Callable[[], bool] | None = None) -> "Clock":
        """A clock for one part of the work, with a share of the time that is left."""
        seconds = None if self.left is None else max(share * self.left, 0.0)
        part = Clock(seconds, expected, report)
        # the extra seconds are for the whole
        part._late = 0.0 if seconds is None else _LATE_SHARE * seconds
        return part

    def afterwards(self) -> "Clock":
        """A clock for what makes an answer of a search that has ended: what is left, and the grace.

        Ctrl-C shortens the answer then, unless it has ended the search already.
        """
        clock = Clock(None if self.left is None else max(self.left, 0.0) + self.grace)
        clock._late = 0.0
        clock._asked = self.reason == "interrupted"
        return clock

    def tick(self, began: float | None = None) -> str | None:
        """Count a step; the reason to stop, if there is one: also that one more like it would be too late.

        ``began`` is when the step did, by `time.perf_counter`, if not at the last one's end.
        """
        self.late(self._last if began is None else began)
        self._last = time.perf_counter()
        if self._report is not None or WATCHER.get() is not None:
            self._count()
        return self.reason

    def late(self, began: float) -> str | None:
        """As `tick`, for what is no step of the search by itself."""
        now = time.perf_counter()
        if self.deadline is not None and 2.0 * now - began > self.deadline + self._late:
            self.reason = self.reason or "time budget"
        return self.look()

    def look(self) -> str | None:
        """The reason to stop, if there is one, in the middle of a step."""
        if self.reason is None and self.deadline is not None and time.perf_counter() > self.deadline:
            self.reason = "time budget"
        if self.reason is None and self._outer is not None:
            self.reason = self._outer.look()
        return self.reason

    def _count(self) -> None:
        with self._lock:
            self._steps += 1
            if self._outer is None:
                tell(share=min(self._steps / self._expected, 1.0))
            if self._steps % self._every == 0 and self._parts < PARTS:
                self._parts += 1
                if self._report is not None and self._report() and self.reason is None:
                    self.reason = "callback"

    def __enter__(self) -> "Clock":
        self._outer = PRESENT.get()
        PRESENT.set(self)
        self._last = time.perf_counter()
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if self._previous is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._interrupt)
            else:
                self._previous = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        PRESENT.set(self._outer)
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _interrupt(self, number: int, frame: Any) -> None:
        if self._asked:
            signal.default_int_handler(number, frame)
        self._asked, self.reason = True, "interrupted"


PRESENT: ContextVar[Clock | None] = ContextVar("clock", default=None)
# when the fit began that runs now, by `time.perf_counter`, and the seconds that it was given
BEGAN: ContextVar[float | None] = ContextVar("began", default=None)
BUDGET: ContextVar[float | None] = ContextVar("budget", default=None)
# reading may take this share of a budget, and seconds, before it is worth a word
_READ_SHARE, _READ = 0.2, 1.0


class Reading:
    """Reading that nothing can begin without: it is not counted, which is said if it takes long.

    Used as a context manager around it.
    """

    def __enter__(self) -> "Reading":
        self._start, self._told = time.perf_counter(), False
        return self

    def __exit__(self, *_: object) -> None:
        began = BEGAN.get()
        if began is not None:
            BEGAN.set(began + time.perf_counter() - self._start)

    def expect(self, share: float | None) -> None:
        """Say how long it will take, where so large a share of it is done; None where nothing tells."""
        budget, seconds = BUDGET.get(), time.perf_counter() - self._start
        if budget is None or self._told:
            return
        expected = seconds / share if share else seconds
        if expected > _READ_SHARE * budget + _READ:
            self._told = True
            about = f"about {expected:.2g} s" if share else f"more than {seconds:.2g} s"
            warnings.warn(
                f"X is read whole before the search begins, which takes {about} here and is not counted in "
                f"time_budget={budget:g}; Parquet files are read where they lie.",
                UserWarning,
                stacklevel=user_level(),
            )


def fit_clock(
    time_budget: float | None, expected: int = PARTS, report: Callable[[], bool] | None = None
) -> Clock:
    """A clock as `Clock`, whose budget counts from the beginning of the fit, but for `Reading`."""
    clock, began = Clock(time_budget, expected, report), BEGAN.get()
    if clock.deadline is not None and began is not None:
        clock.deadline -= time.perf_counter() - began
    return clock


def present_clock() -> Clock:
    """The clock of the fit that this runs in, or one that never stops."""
    return PRESENT.get() or Clock(None)


def time_is_up() -> bool:
    """Whether the fit that this runs in has to end."""
    clock = PRESENT.get()
    return clock is not None and clock.look() is not None


def stop_if_late() -> None:
    """End the present step, if the fit that it belongs to has to end."""
    if time_is_up():
        raise OutOfTime


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside, nothing that runs is told that time is up."""
    outer = PRESENT.set(None)
    try:
        yield
    finally:
        PRESENT.reset(outer)


def while_time(items: Iterable[Item], least: int = 1) -> Iterator[Item]:
    """The items, at least so many of them, as long as there is time for one more."""
    clock, began = present_clock(), time.perf_counter()
    for number, item in enumerate(items):
        if number >= least and clock.late(began) is not None:
            return
        began = time.perf_counter()
        yield item
