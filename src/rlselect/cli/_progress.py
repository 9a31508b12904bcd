"""One line on the terminal that says what is going on: how far, on how many rows, with which best so far."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from rlselect._watch import Facts, watched_by
from rlselect.report import printable

__all__ = ["be_quiet", "say", "shown_progress"]

_QUIET = "rlselect.quiet"
# seconds before the line is first shown, and between two looks at what was told
_PATIENCE, _EVERY = 0.4, 0.1
# seconds after which it is worth saying how to end the work
_LONG = 5.0
_BAR = 10
_HINT = "Ctrl-C ends it with what was found"


def be_quiet(context: click.Context, _: click.Parameter, given: bool) -> None:
    """Note that --quiet was given, for the command that runs now."""
    context.meta[_QUIET] = given


def say(text: str) -> None:
    """Say beside the result what was done, unless that is not wanted."""
    if not _is_quiet():
        click.echo(text, err=True)


def _is_quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


@contextmanager
def shown_progress(doing: str, time_budget: float | None = None) -> Iterator[None]:
    """Show on a terminal what the work inside tells; nothing is left of it in the end.

    Parameters
    ----------
    doing : str
        What is shown until the work says it better: "reading".
    time_budget : float, optional
        Seconds after which the work stops, for the bar.
    """
    if _is_quiet() or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    line = _Line(doing, time_budget)
    with watched_by(line.note):
        line.begin()
        try:
            yield
        finally:
            line.end()


class _Line:
    """The line; a thread of its own draws it, so that telling takes no time."""

    def __init__(self, doing: str, time_budget: float | None) -> None:
        self._facts: Facts = {"doing": doing}
        self._budget = time_budget
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._drawn = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self._draw("")

    def note(self, facts: Facts) -> None:
        """Take over what was told."""
        known: Facts = {} if "doing" in facts else self._facts
        best = max(known.get("best", facts.get("best", 0.0)), facts.get("best", -float("inf")))
        told: Facts = {**known, **facts}
        if "best" in told:
            told["best"] = best
        self._facts = told

    def _run(self) -> None:
        wait = _PATIENCE
        while not self._ended.wait(wait):
            self._draw(self._text())
            wait = _EVERY

    def _text(self) -> str:
        facts, seconds = self._facts, time.monotonic() - self._began
        share = facts.get("share")
        if self._budget:
            share = max(share or 0.0, min(seconds / self._budget, 1.0))
        pieces = [f"{seconds:.0f} s", printable(facts.get("doing", ""))]
        if share is not None:
            full = round(share * _BAR)
            pieces.append(f"[{'#' * full}{'-' * (_BAR - full)}] {share:.0%}")
        if "features" in facts:
            pieces.append(f"{facts['features']:,} variable{'' if facts['features'] == 1 else 's'}")
        if "rows" in facts:
            pieces.append(f"{facts['rows']:,} rows")
        if "best" in facts:
            pieces.append(f"best {facts['best']:.4g}")
        if seconds > _LONG and share is not None:
            pieces.append(_HINT)
        return "  ".join(piece for piece in pieces if piece)

    def _draw(self, text: str) -> None:
        """Write over what was drawn before; spaces, not escapes, so that any terminal can follow."""
        if not text and not self._drawn:
            return
        try:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            text = text[: max(width - 1, 0)]
            blank = " " * max(min(self._drawn, width - 1) - len(text), 0)
            sys.stderr.write(f"\r{text}{blank}" if text else f"\r{blank}\r")
            sys.stderr.flush()
        except (OSError, ValueError):  # a terminal that was closed
            pass
        self._drawn = len(text)
