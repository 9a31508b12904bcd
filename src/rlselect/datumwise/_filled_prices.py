"""Prices of a frontier: more of them where the purchases of a case fall steeply from one to the next."""

import itertools
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

__all__ = ["fill_prices"]

Played = TypeVar("Played")

# Neighbours may differ by this share of the units; so many prices are tried between others at most, each
# between two that differ by more than this factor, as a policy may well jump, and kept where it tells more
# than they do.
_STEP, _MOST_TRIED, _NEAREST, _SAME = 0.1, 10, 1.005, 0.01


def fill_prices(
    prices: Iterable[float], play: Callable[[float], tuple[float, Played]]
) -> list[tuple[float, Played]]:
    """What is played at each price, and at others between those that differ most, from low to high.

    What earns most may go from many purchases to none within a narrow range of prices, above all where the
    first tell little without the others. `play` gives the mean share of the units that are bought, and what
    is kept.
    """
    given = [float(price) for price in prices]
    found = [(price, *play(price)) for price in given]
    for _ in range(_MOST_TRIED):
        gaps = [abs(a[1] - b[1]) if b[0] > _NEAREST * a[0] else 0.0 for a, b in itertools.pairwise(found)]
        if not gaps or max(gaps) <= _STEP:
            break
        place = int(np.argmax(gaps))
        price = float(np.sqrt(found[place][0] * found[place + 1][0]))
        found.insert(place + 1, (price, *play(price)))
    shares = [share for _, share, _ in found]
    return [
        (price, played)
        for k, (price, share, played) in enumerate(found)
        if price in given or min(abs(share - shares[k - 1]), abs(share - shares[k + 1])) > _SAME
    ]
