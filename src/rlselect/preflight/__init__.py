"""A look at the data before anything is selected: what is in the way, and which method suits them."""

from rlselect.preflight._check import DataCheck, check, look_over, tell
from rlselect.preflight._dates import expand_dates, find_date_texts, find_dates
from rlselect.preflight._findings import Finding
from rlselect.preflight._recommend import Recommendation

__all__ = [
    "DataCheck",
    "Finding",
    "Recommendation",
    "check",
    "expand_dates",
    "find_date_texts",
    "find_dates",
    "look_over",
    "tell",
]
