"""From what a fit was given to a problem: options that need a word with each other, and the data."""

from typing import Any

import numpy as np

from rlselect._options import refuse_unused
from rlselect.data import DataSource, Table, category_order, load_source, open_source, require_rows
from rlselect.learn import EpsilonGreedy, Policy, Softmax, as_policy
from rlselect.subset.revs._checkpoint import Checkpoint
from rlselect.subset.revs._outcome_kind import OUTCOMES, check_pair, is_survival, survival_parts
from rlselect.subset.revs._problem import Problem, pose_problem
from rlselect.subset.revs._sarsa import Sarsa
from rlselect.subset.revs._structure_options import read_structure


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


def read_problem(
    selector: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    offset: Any,
    groups: Any,
    rng: np.random.Generator,
) -> Problem:
    """Open the data of a single response, and pose the problem that the options make of them."""
    name = type(selector).__name__
    family = "cox" if selector.family == "auto" and is_survival(y) else selector.family
    refuse_idle(selector, family, offset)
    refuse_together(selector, groups)
    extra = survival_parts(y) if family == "cox" else {}
    if groups is not None:
        extra["groups"] = groups
    if family == "cox" or selector.order == 2 or selector.time_ordered:
        why = "order=2" if selector.order == 2 else "time_ordered=True"
        why = "family='cox'" if family == "cox" else why
        X = load_source(X, f"{name}({why})")
    table = open_source(
        X,
        extra.pop("time") if family == "cox" else y,
        sample_weight=sample_weight,
        offset=offset,
        missing=selector.missing,
        validate=selector.validate,
        owner=name,
        extra=extra,
    )
    if isinstance(y, tuple) and family != selector.family:
        assert isinstance(table, Table)
        check_pair(y, table.targets(), table.extra["event"])
    weight = getattr(table, "sample_weight", None)
    # rows that count zero times are no rows
    require_rows(table.n_rows if weight is None else int(np.count_nonzero(weight)), 3, name)
    table.start(rng)
    problem = pose_problem(
        table,
        family=family,
        feature_groups=selector.feature_groups,
        always_select=selector.always_select,
        never_select=selector.never_select,
        ties=selector.ties,
        time_ordered=selector.time_ordered,
        order=category_order(X, y) if family in ("auto", "ordinal") else None,
        signed=selector.signs is not None,
    )
    problem.structure = read_structure(selector, problem)
    return problem


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


def refuse_together(selector: Any, groups: Any, responses: str = "") -> None:
    """Refuse searches and options that take every row for itself."""
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
