"""One recipe from a `random_state` to a generator."""

from numbers import Integral
from typing import TypeAlias

import numpy as np

__all__ = ["RandomState", "as_generator"]

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """The generator that a `random_state` stands for.

    A Generator is used as it is and moves on; a RandomState gives the seed of a new one.

    Examples
    --------
    >>> int(as_generator(3).integers(10)) == int(as_generator(3).integers(10))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state={random_state!r} was given; it must be an int of at least 0, a NumPy Generator or "
        "RandomState, or None."
    )
