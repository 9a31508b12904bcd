"""What went wrong, in the words of the command line."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rlselect.cli._words import in_flags
from rlselect.report import printable

__all__ = ["BadInput", "Problems", "one_sentence"]


class BadInput(click.ClickException):
    """Something the user can correct: one sentence, exit code 2."""

    exit_code = 2


class Problems(ValueError):
    """Several things that are in the way, a line or two each."""


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what the library refuses into one sentence, and its warnings into lines on stderr, once each."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if issubclass(category, UserWarning) and text not in seen:
            seen.add(text)
            # over the line of progress, if there is one
            click.echo("\r" * sys.stderr.isatty() + f"Warning: {printable(in_flags(text))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        try:
            yield
        except Problems as error:
            raise BadInput(printable(str(error), lines=True)) from error
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if isinstance(error, ImportError) and "pip install" not in str(error):
                raise  # not an extra that can be had, but something broken
            told = in_flags(" ".join(str(error).split()))
            raise BadInput(printable(told) or type(error).__name__) from error
