"""What went wrong, in the words of the command line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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
    """Turn what the library refuses into one sentence, and its warnings into lines on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        except Problems as error:
            raise BadInput(printable(str(error), lines=True)) from error
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if isinstance(error, ImportError) and "pip install" not in str(error):
                raise  # not an extra that can be had, but something broken
            told = in_flags(" ".join(str(error).split()))
            raise BadInput(printable(told) or type(error).__name__) from error
        finally:
            for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
                click.echo(f"Warning: {printable(in_flags(' '.join(text.split())))}", err=True)
