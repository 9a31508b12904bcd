"""Options of REVS that have no use for one another."""

from typing import Any

from rlselect._options import refuse_unused
from rlselect.subset.revs._outcome_kind import OUTCOMES
from rlselect.subset.revs._sarsa import Sarsa


def refuse_with_search(selector: Any) -> None:
    """What the paper's search, or a part of the rows, has no use for."""
    if isinstance(selector.search, Sarsa):
        idle = ("penalty", "rule", "min_effect", "checkpoint")
        refuse_unused(selector, idle, "search=Sarsa(...)", "use Sarsa(price=...), or search='auto'")
        if selector.family == "negative_binomial":
            raise ValueError(
                "family='negative_binomial' was given with search=Sarsa(...), whose reward knows no "
                "dispersion; use family='poisson', or search='auto'."
            )
    if selector.inference == "split":
        refuse_unused(selector, ("checkpoint",), "inference='split'", "leave it out, or use 'refit'")


def refuse_idle(selector: Any, family: str, offset: Any) -> None:
    """Options that a family has no use for."""
    if family != "cox":
        refuse_unused(selector, ("ties",), f"family={family!r}", "leave it out, or use family='cox'")
    if family not in OUTCOMES:
        return
    what = f"family={family!r}"
    refuse_unused(selector, ("min_effect", "checkpoint"), what, "leave it out: all rows are used")
    if isinstance(selector.search, Sarsa):
        raise ValueError(
            f"{what} was given with search=Sarsa(...), which does not know it; use search='auto'."
        )
    if family == "multinomial" and offset is not None:
        raise ValueError(
            f"offset was given with {what}, where it would move all classes alike; leave it out."
        )


def refuse_together(selector: Any, family: str, groups: Any, responses: str = "") -> None:
    """Refuse families, searches and options that take every row for itself."""
    if groups is None and not selector.time_ordered:
        return
    what = "groups" if groups is not None else "time_ordered=True"
    if responses == "shared":
        raise ValueError(
            f"{what} was given with several responses that share a selection, which takes every row for "
            "itself; use responses='each'."
        )
    if family in OUTCOMES:
        raise ValueError(
            f"{what} was given with family={family!r}, whose rows each stand for themselves; leave it out."
        )
    if isinstance(selector.search, Sarsa):
        raise ValueError(
            f"{what} was given with search=Sarsa(...), which draws every row for itself; use search='auto'."
        )
    refuse_unused(selector, ("min_effect", "checkpoint"), what, "leave it out: all rows are used")
