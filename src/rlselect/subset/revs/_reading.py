"""Options of REVS that need a word with each other."""

from typing import Any

from rlselect._options import refuse_unused
from rlselect.data import DataSource
from rlselect.learn import EpsilonGreedy, Policy, Softmax, as_policy
from rlselect.subset.revs._checkpoint import Checkpoint
from rlselect.subset.revs._outcome_kind import OUTCOMES
from rlselect.subset.revs._sarsa import Sarsa


def read_policy(selector: Any) -> Policy:
    """How actions are chosen; options that have no effect beside others are refused."""
    if isinstance(selector.search, Sarsa):
        idle = ("penalty", "rule", "min_effect", "checkpoint", "max_features", "at_most", "signs", "order")
        refuse_unused(selector, idle, "search=Sarsa(...)", "use Sarsa(price=...), or search='auto'")
        if selector.family == "negative_binomial":
            raise ValueError(
                "family='negative_binomial' was given with search=Sarsa(...), whose reward knows no "
                "dispersion; use family='poisson', or search='auto'."
            )
    if selector.inference == "split":
        refuse_unused(selector, ("checkpoint",), "inference='split'", "leave it out, or use 'refit'")
    if selector.order == 2:
        refuse_unused(selector, ("checkpoint",), "order=2", "leave it out, or use order=1")
    if isinstance(selector.policy, str) and selector.policy == "auto":
        return EpsilonGreedy() if isinstance(selector.search, Sarsa) else Softmax()
    return as_policy(selector.policy)


def refuse_idle(selector: Any, family: str, offset: Any) -> None:
    """Options that a family has no use for."""
    if family != "cox":
        refuse_unused(selector, ("ties",), f"family={family!r}", "leave it out, or use family='cox'")
    if family not in OUTCOMES:
        return
    what = f"family={family!r}"
    refuse_unused(
        selector, ("min_effect", "checkpoint"), what, "leave it out: numbers, two classes and counts have it"
    )
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
    if isinstance(selector.search, Sarsa):
        raise ValueError(
            f"{what} was given with search=Sarsa(...), which draws every row for itself; use search='auto'."
        )
    refuse_unused(selector, ("min_effect", "checkpoint"), what, "leave it out: all rows are used")


def open_checkpoint(selector: Any, table: DataSource) -> Checkpoint | None:
    """Where the progress of a search is kept, None if nowhere."""
    if selector.checkpoint is None:
        return None
    # time, threads and what `transform` returns do not decide the answer
    apart = ("checkpoint", "time_budget", "n_jobs", "validate", "transform_as", "rule")
    options = {k: v for k, v in selector.get_params(deep=False).items() if k not in apart}
    return Checkpoint(selector.checkpoint, table, options)
