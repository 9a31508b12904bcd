"""ActorCriticPredictor by the words of the command line."""

from typing import Any, Literal

from rlselect.data import MissingMode
from rlselect.subset.acp import ActorCriticPredictor

_TASKS: dict[str, Literal["auto", "regression", "classification"]] = {
    "auto": "auto",
    "gaussian": "regression",
    "binomial": "classification",
}


def make_from_command(
    *, family: str, missing: MissingMode, time_budget: float | None, random_state: Any
) -> ActorCriticPredictor:
    """Translate the options that all methods share.

    Parameters
    ----------
    family : {"auto", "gaussian", "binomial"}
        "gaussian" is a regression, "binomial" a classification (of any number of classes).
    missing, time_budget, random_state
        As for the estimator.

    Returns
    -------
    ActorCriticPredictor
    """
    if family not in _TASKS:
        raise ValueError(f"--method acp knows the families {', '.join(_TASKS)}, not {family!r}.")
    return ActorCriticPredictor(
        task=_TASKS[family], missing=missing, time_budget=time_budget, random_state=random_state
    )
