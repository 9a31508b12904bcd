"""Stages by name or number, and the order of time among their names."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["find_stage", "order_stages"]


def find_stage(given: Any, names: Sequence[str]) -> int:
    """The number of a stage, counted from 1, that was given as such or by its name."""
    if isinstance(given, str) and given in names:
        return list(names).index(given) + 1
    if not isinstance(given, int | np.integer) or isinstance(given, bool) or not 1 <= given <= len(names):
        raise ValueError(
            f"stage={given!r} was given; it must be a whole number between 1 and {len(names)}, or one of the "
            f"names {list(names)}."
        )
    return int(given)


def order_stages(stages: Sequence[Any], wanted: Sequence[Any] | None) -> list[int]:
    """Positions of the stages of a table, sorted by value, in order of time.

    Numbers and dates are in order already, and so are names that differ by numbers only ("week 4" and
    "week 12"); ``wanted`` settles all else.
    """
    if wanted is not None:
        if isinstance(wanted, str) or sorted(map(str, wanted)) != sorted(map(str, stages)):
            raise ValueError(f"stage_order={wanted!r} was given; it must list each of {list(stages)} once.")
        texts = [str(stage) for stage in stages]
        return [texts.index(str(stage)) for stage in wanted]
    if len(stages) < 2 or not isinstance(stages[0], str):
        return list(range(len(stages)))
    parts = [re.split(r"(\d+(?:\.\d+)?)", stage) for stage in stages]
    words = {tuple(part.strip().casefold() for part in one[::2]) for one in parts}
    numbers = [tuple(map(float, one[1::2])) for one in parts]
    if len(words) > 1 or len(set(numbers)) < len(stages):
        raise ValueError(
            f"the stages are called {list(stages)}, which does not say which comes first; give stage_order, "
            f"such as stage_order={list(stages)}"
        )
    return sorted(range(len(stages)), key=numbers.__getitem__)
