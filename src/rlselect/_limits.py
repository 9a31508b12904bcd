"""What the machine has: a refusal before work that could not end, and how long a factorisation takes here."""

import math
import os
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from rlselect._compat import user_level

__all__ = [
    "available_memory",
    "count_in_time",
    "require_memory",
    "seconds_for",
    "slower_here",
    "warn_if_long",
]

# where nobody can say how much there is
_USUAL_MEMORY = 2**33
# other programs and the arrays that are made on the way need some too
_SHARE = 0.8
# where groups of processes are given less than the machine has: the limit, and what of it is in use
_CONTROL_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
# flops of a product that is timed once: some milliseconds
_TIMED = 384
_LONG = 600.0
# what there is no time for becomes fewer by this factor until there is
_LESS = 0.9
# small steps that are timed once, and the seconds they take on the machine of the benchmarks
_STEPS, _STEPS_SECONDS = 2000, 1.84e-3


def _number_in(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return None


def available_memory() -> int:
    """Bytes that new arrays may take, by what the system says is free or can be freed."""
    found = [_free_of_machine()]
    for limit, used in _CONTROL_GROUPS:
        most, now = _number_in(limit), _number_in(used)
        if most is not None and now is not None:
            found.append(max(most - now, 0))
    return min(found)


def _free_of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable"):
                return 1024 * int(line.split()[1])
    except (OSError, IndexError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _USUAL_MEMORY


def require_memory(needed: float, what: str, instead: str) -> None:
    """Refuse work whose arrays do not fit, before it starts.

    Parameters
    ----------
    needed : float
        Bytes of the arrays that are there at one time.
    what : str
        Whose they are: "the kernel matrices of 50000 rows".
    instead : str
        What to do, as the end of a sentence that begins with "use": "kernel='linear'".
    """
    free = _SHARE * available_memory()
    if needed > free:
        raise MemoryError(
            f"{what[0].upper()}{what[1:]} need {needed / 2**30:.3g} GB, and {free / 2**30:.3g} GB of memory "
            f"can be had here; use {instead}."
        )


@lru_cache(maxsize=1)
def _flops_per_second() -> float:
    block = np.random.default_rng(0).standard_normal((_TIMED, _TIMED))
    seconds = []
    # the best of some: others may be at work
    for _ in range(5):
        start = time.perf_counter()
        block @ block
        seconds.append(time.perf_counter() - start)
    return 2.0 * _TIMED**3 / max(min(seconds), 1e-6)


def seconds_for(flops: float) -> float:
    """About how long so many operations of matrix products take on this machine."""
    return flops / _flops_per_second()


def count_in_time(n: int, fewest: int, takes: Callable[[float], float], seconds: float) -> int:
    """How many of n rows or subjects there is time for, at least the `fewest` if there are so many.

    `takes` says about how many seconds a number of them takes.
    """
    count = float(n)
    while count > fewest and takes(count) > seconds:
        count *= _LESS
    return n if count == n else max(int(count), fewest)


@lru_cache(maxsize=1)
def slower_here() -> float:
    """How much longer than on the machine of the benchmarks steps take that are mostly Python."""
    x = np.linspace(0.0, 1.0, 64)
    seconds = []
    # the best of some: others may be at work
    for _ in range(5):
        start, y = time.perf_counter(), x
        for _ in range(_STEPS):
            y = y * 0.5 + x
        seconds.append(time.perf_counter() - start)
    return max(min(seconds), 1e-6) / _STEPS_SECONDS


def warn_if_long(seconds: float, owner: str, instead: str) -> None:
    """Say before work starts that it will take long, and what would be faster ("use ...")."""
    if seconds <= _LONG:
        return
    hours = seconds / 3600.0
    about = f"{math.ceil(hours * 60)} minutes" if hours < 2 else f"{hours:.0f} hours"
    warnings.warn(
        f"{owner} will take some {about} here; use {instead}, or a time_budget, which ends the search with "
        "the best it has found.",
        UserWarning,
        stacklevel=user_level(),
    )
