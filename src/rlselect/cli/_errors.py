"""What went wrong, in the words of the command line."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from rlselect.report import printable

__all__ = ["BadInput", "Problems", "one_sentence"]


class BadInput(click.ClickException):
    """Something the user can correct: one sentence, exit code 2."""

    exit_code = 2


class Problems(ValueError):
    """Several things that are in the way, a line or two each."""


def _in_flags(text: str) -> str:
    """A sentence of the library in words of the command that is run: missing="drop" is --missing drop."""
    context = click.get_current_context(silent=True)
    if context is None:
        return text
    words = [word for option in context.command.params for word in option.opts if word.startswith("--")]
    flags = {word[2:].replace("-", "_"): word for word in words}
    if not flags:
        return text
    pattern = rf"(?<![\w.])({'|'.join(flags)})=(?:([\"'])([\w.-]+)\2|([\w.+-]*\w))"
    return re.sub(pattern, lambda found: f"{flags[found[1]]} {found[3] or found[4]}", text)


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
            told = _in_flags(" ".join(str(error).split()))
            raise BadInput(printable(told) or type(error).__name__) from error
        finally:
            for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
                click.echo(f"Warning: {printable(_in_flags(' '.join(text.split())))}", err=True)
