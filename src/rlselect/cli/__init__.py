"""The command line: a thin mirror of the Python interface."""

from rlselect.cli._main import (
    main,
    one_sentence,
    show_report,
)

__all__ = [
    "main",
    "one_sentence",
    "show_report",
]
