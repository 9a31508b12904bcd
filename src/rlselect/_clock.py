"""Time budget, Ctrl-C and progress of a long search, asked at every step."""

import signal
import threading
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

from rlselect._compat import user_level

PARTS = 100


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
        self, time_budget: float | None, expected: int, report: Callable[[], bool] | None = None
    ) -> None:
        self.deadline = None if time_budget is None else time.perf_counter() + time_budget
        self.reason: str | None = None
        self._every = max(expected // PARTS, 1)
        self._report = report
        self._steps = self._parts = 0
        self._lock = threading.Lock()
        self._previous: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # in another process: the time that is left, and nobody to report to
        left = None if self.deadline is None else self.deadline - time.perf_counter()
        return {"left": left, "reason": self.reason, "every": self._every}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["left"], PARTS * state["every"])  # type: ignore[misc]
        self.reason = state["reason"]

    def tick(self) -> str | None:
        """Count a step; the reason to stop, if there is one."""
        if self.reason is None and self.deadline is not None and time.perf_counter() > self.deadline:
            self.reason = "time budget"
        if self._report is not None:
            self._watch(self._report)
        return self.reason

    def _watch(self, report: Callable[[], bool]) -> None:
        with self._lock:
            self._steps += 1
            if self._steps % self._every == 0 and self._parts < PARTS:
                self._parts += 1
                if report() and self.reason is None:
                    self.reason = "callback"

    def __enter__(self) -> "Clock":
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
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _interrupt(self, number: int, frame: Any) -> None:
        if self.reason == "interrupted":
            signal.default_int_handler(number, frame)
        self.reason = "interrupted"
