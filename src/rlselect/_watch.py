"""What a long piece of work tells whoever watches it: rows read, steps done, the best it has so far.

Nobody watches unless asked: telling then costs the look at one variable. A watcher belongs to the thread that
set it; what other threads and processes do goes untold.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypedDict, Unpack

__all__ = ["WATCHER", "Facts", "tell", "watched_by"]


class Facts(TypedDict, total=False):
    """What can be told; what is not told again still holds.

    Attributes
    ----------
    doing : str
        The piece of work, as a watcher reads it: "REVS, fold 2 of 5". A new one makes all before it void.
    share : float
        How much of the work is done, if it takes as long as it can.
    rows : int
        Rows read, or that the search goes by.
    features : int
        Size of the subset that the search stands in, or of what is left of an elimination.
    best : float
        The largest reward so far.
    """

    doing: str
    share: float
    rows: int
    features: int
    best: float


WATCHER: ContextVar[Callable[[Facts], None] | None] = ContextVar("watcher", default=None)


def tell(**facts: Unpack[Facts]) -> None:
    """Tell the watcher, if there is one."""
    watcher = WATCHER.get()
    if watcher is not None:
        watcher(facts)


@contextmanager
def watched_by(watcher: Callable[[Facts], None]) -> Iterator[None]:
    """Inside, what this thread does is told to a watcher.

    Examples
    --------
    >>> told = []
    >>> with watched_by(told.append):
    ...     tell(rows=5)
    >>> tell(rows=6)
    >>> told
    [{'rows': 5}]
    """
    outer = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(outer)
