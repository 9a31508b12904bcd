"""Passes over the rows that several searches ask for, made in one."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any


@dataclass
class Pass:
    """What to compute of every block, and where to put it.

    Attributes
    ----------
    into : callable
        ``into(i, answer)`` takes the answer of block i; blocks come in order.
    function : callable
        ``function(block, *args)`` is the answer; a free function, which can be sent to who holds the block.
    args : tuple
        The same for every block.
    each : list, optional
        One more argument for each block that is here.
    """

    into: Callable[[int, Any], None]
    function: Callable[..., Any]
    args: tuple
    each: list | None = None
    done: bool = False
    error: BaseException | None = None


def answer_all(block: Any, calls: Sequence[tuple[Callable[..., Any], tuple]]) -> list[Any]:
    """Compute several functions of one block, where it lies."""
    return [function(block, *args) for function, args in calls]


def answer_here(block: Any, i: int, passes: Sequence[Pass]) -> list[Any]:
    """Compute what several passes want of block i, which is in memory."""
    more = [() if p.each is None else (p.each[i],) for p in passes]
    return [p.function(block, *p.args, *each) for p, each in zip(passes, more, strict=True)]


class Meeting:
    """Threads that search the same rows and wait for each other before each pass, so that it serves all.

    Every thread gets what it would get alone: only the number of passes depends on the others.

    Parameters
    ----------
    serve : callable
        ``serve(passes)`` makes one pass over the rows.
    n_threads : int
        How many come.
    """

    def __init__(self, serve: Callable[[list[Pass]], None], n_threads: int) -> None:
        self._serve = serve
        self._present = n_threads
        self._asked: list[Pass] = []
        self._change = threading.Condition()

    def ask(self, wanted: Pass) -> None:
        """Wait for the others, and return when the pass is done."""
        with self._change:
            self._asked.append(wanted)
            self._hold()
            while not wanted.done:
                self._change.wait()
        if wanted.error is not None:
            raise wanted.error

    def leave(self) -> None:
        """Let the others go on alone."""
        with self._change:
            self._present -= 1
            self._hold()

    def _hold(self) -> None:
        if not self._asked or len(self._asked) < self._present:
            return
        passes, self._asked = self._asked, []
        error: BaseException | None = None
        try:
            self._serve(passes)
        except BaseException as raised:
            error = raised
        for each in passes:
            each.done, each.error = True, error
        self._change.notify_all()

    def run(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run the jobs, a thread each; what they return, or the first error."""

        def work(job: Callable[[], Any]) -> Any:
            try:
                return job()
            finally:
                self.leave()

        with ThreadPoolExecutor(len(jobs), thread_name_prefix="rlselect-chain") as pool:
            return list(pool.map(work, jobs))
