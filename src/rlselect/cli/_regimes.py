"""What was said about randomisation on the command line."""

from typing import Any

__all__ = ["read_randomized"]


def read_randomized(given: tuple[str, ...]) -> Any:
    """The propensity that ``TrialData.from_long`` takes, from ratios for all stages or by stage."""
    if not given:
        return "estimate"
    if len(given) == 1 and "=" not in given[0]:
        return _ratio(given[0])
    alone = [one for one in given if "=" not in one]
    if alone:
        raise ValueError(
            f"--randomized {alone[0]!r} is for all stages, and others are given beside it; write STAGE=RATIO "
            "for each."
        )
    return {stage: _ratio(ratio) for stage, ratio in (one.rsplit("=", 1) for one in given)}


def _ratio(text: str) -> str:
    return "randomized" if text == "frequencies" else text
