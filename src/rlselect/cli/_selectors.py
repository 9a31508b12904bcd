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


def make_selector(
    method: str, *, family: str, missing: str, time_budget: float | None, random_state: Any
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
    """
    if method not in SELECTORS:
        raise ValueError(f"--method {method!r} is not known; use one of {', '.join(SELECTORS)}.")
    kind, option, words = SELECTORS[method]
    if words is not None and family not in words:
        raise ValueError(f"--method {method} knows the families {', '.join(words)}, not {family!r}.")
    if isinstance(kind, str):
        kind = getattr(import_module("rlselect.subset"), kind)
    options = {option: family if words is None else words[family], "missing": missing}
    seed = {"random_state": random_state} if "random_state" in signature(kind).parameters else {}
    return kind(**options, **seed, time_budget=time_budget)
