"""What a variable has to gain to be worth taking: more than the best of many useless ones would.

All prices are on the scale of n times a difference of log risks, where a useless variable gains a
chi-squared variable minus the 2 that a held-out error charges anyway.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f, norm

Array = NDArray[np.float64]

# expected share of useless variables among the selected ones
_FALSE_SHARE = 0.03
_LEAST = 0.5
# learnt prices: least mean gain believed, what a held-out error charges beyond doubt, and the floor
_WEAK, _CHARGED, _LEAST_LEARNT = 8.0, 1.3, 2.0
# shares of the gains of useless columns from which their tail is continued: far out, and to weigh it all
_RARE, _USUAL = 0.1, 0.25
# so many useful columns' worth of belief in a standard deviation of one of their log gains; points tried
_SPREAD_BELIEF, _STEPS = 4.0, 400


def least_prices(n: int, n_variables: int, n_responses: int, count: int) -> Array:
    """Least price of the first, second, ... column of a subset.

    The level at which a useless variable gets in is 3 % of the share of variables that are then selected, as
    in step-up tests: the first one has to beat all others, and where many matter, one more is believed
    sooner. Never less than BIC's price. With several responses (classes) the gain is their average.

    Parameters
    ----------
    n : int
        Rows.
    n_variables : int
        Variables to choose from, before any screening.
    n_responses : int
    count : int
        Columns to price.

    Returns
    -------
    array of shape (count,)
    """
    level = np.minimum(_FALSE_SHARE * np.arange(1, count + 1) / max(n_variables, 1), _FALSE_SHARE)
    # n log(RSS ratio) of one more column among normal errors: heavier than chi-squared for few rows
    free = np.maximum(n - 2.0 - np.arange(count), 3.0)
    tail = n * np.log1p(f.isf(level, n_responses, n_responses * free) / free)
    return np.maximum(np.maximum(tail, math.log(n) / n_responses) - 2.0, _LEAST)


def learnt_prices(size: float, n_variables: int, count: int) -> Array:
    """Prices of the first, second, ... column once it is known how much the selected ones gain.

    A variable is worth its price when it more probably belongs to the selected ones than to the useless
    ones: where those gain a lot, a small gain is no sign of a true one; where they gain little, it is. Twice
    the log of the odds of a normal effect of that size against none, with the share selected as prior odds.

    Parameters
    ----------
    size : float
        Mean gain of the selected columns.
    n_variables : int
        Variables to choose from, before any screening.
    count : int
        Columns to price.

    Returns
    -------
    array of shape (count,)
    """
    found = np.arange(count)
    prior = 2.0 * np.log(np.maximum(n_variables - found, 1) / (found + 1.0))
    evidence = math.log1p(max(size, _WEAK))
    return np.maximum(evidence + prior - _CHARGED, _LEAST_LEARNT)


def noise_price(gains: Array, n_variables: int, size: int, others: Array) -> float:
    """Price of a column beside a subset of some size, from what useless columns gain there.

    Two prices, of which the larger counts: that of the level of `least_prices`, and that from which on a
    column more probably is one of the useful ones than the luckiest useless one, as in `learnt_prices`. Gains
    of useful columns are taken as log-normal like those of others; with strong ones only, a gain that one of
    many useless columns may have is no sign of a weak one.

    Parameters
    ----------
    gains : array of shape (m,)
        Of useless columns.
    n_variables : int
        Variables to choose from, before any screening.
    size : int
        Columns of the subset.
    others : array of shape (k,)
        Gains of useful columns, none of them in doubt.

    Returns
    -------
    float
    """
    level = _FALSE_SHARE * (size + 1) / max(n_variables, size + 1)
    high, excess = _tail(gains, _RARE)
    price = high + excess * math.log(max(_RARE / level, 1.0))
    if not len(others):
        return price
    logs = np.log(np.maximum(others, 1.0))
    center = float(logs.mean())
    freedom = _SPREAD_BELIEF + len(logs) - 1
    spread = math.sqrt((_SPREAD_BELIEF + float(np.square(logs - center).sum())) / freedom)
    high, excess = _tail(gains, _USUAL)
    # log gains up to the usual one of a useful column
    steps = np.linspace(min(math.log(_LEAST), center), center, _STEPS)
    useful = norm.logpdf(steps, center, spread) - steps + math.log(size + 1)
    useless = math.log(_USUAL / excess) - np.maximum(np.exp(steps) - high, 0.0) / excess
    doubtful = np.flatnonzero(useful < useless + math.log(max(n_variables - size, 1)))
    return max(price, float(np.exp(steps[doubtful[-1]]))) if len(doubtful) else price


def _tail(gains: Array, share: float) -> tuple[float, float]:
    """Where the largest share of gains begins, and the mean of their exponential tail beyond."""
    high = float(np.quantile(gains, 1.0 - share))
    above = gains[gains > high]
    return high, max(float(np.mean(above - high)), 1e-9) if len(above) else 1e-9


class Tariff:
    """Prices of the columns of a subset, by their number.

    Parameters
    ----------
    steps : array of shape (m,)
        Price of the first, second, ... column.
    """

    def __init__(self, steps: Array) -> None:
        self._least = steps
        self.ask(0.0)

    def ask(self, level: float) -> None:
        """Let no column cost less than so much (nor less than it did at first)."""
        self.steps = np.maximum(self._least, level)
        self._total = np.concatenate([[0.0], np.cumsum(self.steps)])

    def total(self, count: NDArray[np.intp]) -> Array:
        """Price of subsets with so many columns."""
        return np.asarray(self._total[count])

    def next(self, count: int) -> float:
        """Price of one more column beside so many."""
        return float(self.steps[min(count, len(self.steps) - 1)])
