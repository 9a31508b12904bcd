"""The command line: a thin mirror of the Python interface."""

from rlselect.cli._errors import one_sentence
from rlselect.cli._main import main
from rlselect.cli._show import show_report

__all__ = [
    "main",
    "one_sentence",
    "show_report",
]
