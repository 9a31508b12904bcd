"""Selectors by the words of the command line."""

from importlib import import_module
from inspect import signature
from typing import Any

# what a family is to estimators that know tasks rather than likelihoods
_TASKS = {"auto": "auto", "gaussian": "regression", "binomial": "classification"}
_LOSSES = {"auto": "auto", "gaussian": "squared", "binomial": "squared_label"}
# method -> class (loaded when asked for), the option that says what the target is, its words for families
SELECTORS: dict[str, tuple[str | type, str, dict[str, str] | None]] = {
    "revs": ("REVS", "family", None),
    "acp": ("ActorCriticPredictor", "task", _TASKS),
    "risk-rfe": ("RiskRFE", "loss", _LOSSES),
    "thompson": ("ThompsonSelector", "task", _TASKS),
    "fuse": ("FUSE", "task", _TASKS),
    "fstd": ("FSTD", "task", _TASKS),
    "cfs": ("CorrelationFeatureSelection", "task", _TASKS),
}


# flags of what `read_rules` makes
_FLAGS = {"max_features": "--max-features", "order": "--order", "at_most": "--at-most", "signs": "--sign"}


def read_rules(
    max_features: int | None, at_most: tuple[str, ...], sign: tuple[str, ...], order: int
) -> dict[str, Any]:
    """Options of REVS about the structure of subsets; those that were not given are left out."""
    rules: dict[str, Any] = {} if max_features is None else {"max_features": max_features}
    if order != 1:
        rules["order"] = order
    limits = {}
    for text in at_most:
        count, colon, columns = text.partition(":")
        if not colon or not count.strip().isdecimal():
            raise ValueError(f"--at-most {text!r} is not understood; write a number and columns, as 1:a,b,c.")
        limits[tuple(name.strip() for name in columns.split(","))] = int(count)
    if limits:
        rules["at_most"] = limits
    if list(sign) in (["+"], ["-"]):
        rules["signs"] = sign[0]
    elif sign:
        rules["signs"] = {}
        for text in sign:
            # a name may hold the mark of equality
            name, _, given = text.rpartition("=")
            if not name or given not in ("+", "-"):
                raise ValueError(f"--sign {text!r} is not understood; write a column and its sign, as a=+.")
            rules["signs"][name] = given
    return rules


def make_selector(
    method: str,
    *,
    family: str,
    missing: str,
    time_budget: float | None,
    random_state: Any,
    rules: dict[str, Any] | None = None,
) -> Any:
    """A selector with the options that all methods share.

    Parameters
    ----------
    method : str
        One of `SELECTORS`.
    family : str
        "auto", "gaussian" or "binomial", which means any number of classes but for REVS; REVS knows more.
    missing, time_budget, random_state
        As for the estimators; a method without chance has no use for a seed.
    rules : dict, optional
        As `read_rules` makes it.
    """
    if method not in SELECTORS:
        raise ValueError(f"--method {method!r} is not known; use one of {', '.join(SELECTORS)}.")
    if rules and method != "revs":
        flags = ", ".join(_FLAGS[name] for name in rules)
        raise ValueError(f"--method {method} knows no {flags}; leave it out, or use --method revs.")
    kind, option, words = SELECTORS[method]
    if words is not None and family not in words:
        raise ValueError(f"--method {method} knows the families {', '.join(words)}, not {family!r}.")
    if isinstance(kind, str):
        kind = getattr(import_module("rlselect.subset"), kind)
    options = {option: family if words is None else words[family], "missing": missing}
    seed = {"random_state": random_state} if "random_state" in signature(kind).parameters else {}
    return kind(**options, **seed, **(rules or {}), time_budget=time_budget)


def refuse_others(
    method: str, event: str | None, groups: str | None, time_ordered: bool, responses: str, inference: str
) -> None:
    """Refuse what REVS alone knows."""
    given = {
        "--event": (event is not None, "knows no events"),
        "--groups": (groups is not None, "takes every row for itself"),
        "--time-ordered": (time_ordered, "takes every row for itself"),
        "--responses": (responses == "each", "takes one target"),
        "--inference": (inference == "split", "has no standard errors"),
    }
    for flag, (was_given, why) in given.items():
        if was_given:
            raise ValueError(f"--method {method} {why}; leave out {flag}, or use --method revs.")
