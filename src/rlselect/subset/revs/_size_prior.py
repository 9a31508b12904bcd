"""What one more unit costs."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

# a size from which prices change comes from a sum of weights, which rounds otherwise than a number of rows
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SizePrior:
    r"""Price of one more unit.

    ``penalty=None`` is the beta-binomial prior: all sizes are equally likely, so that adding to k of m units
    has the odds (k + 1) / (m - k). A search for few among many is strict, and grows lenient when many units
    prove their worth; but a unit always costs at least `least`, and from `most` units on it costs as much as
    the first one, since so many cannot be told apart. The empty subset is `nothing` times as likely
    as any other size: "nothing there" is an answer of its own, not one size among m.

    Parameters
    ----------
    n_units : int
        Number of units m that may be chosen.
    penalty : float, optional
        A fixed price in units of log evidence instead.
    least : float, default=log 2
        Lowest price.
    most : float, default=inf
        Size from which on every further unit has the odds 1 / m.
    nothing : float, default=20.0
        Prior odds of the empty subset against any other size.
    lenience : float, default=0.0
        Discount on every unit while a search warms up.
    """

    n_units: int
    penalty: float | None = None
    least: float = float(np.log(2.0))
    most: float = np.inf
    nothing: float = 20.0
    lenience: float = 0.0

    def add(self, k: int) -> float:
        """Log prior odds of k + 1 units against k."""
        if self.penalty is not None:
            return self.lenience - self.penalty
        if k >= self.most * (1.0 - _ROUNDING):
            return -math.log(max(self.n_units, 2))
        empty = math.log(self.nothing) if k == 0 else 0.0
        price = max(math.log(max(self.n_units - k, 1) / (k + 1.0)), self.least)
        return self.lenience - price - empty

    @property
    def log_total(self) -> float:
        """Log of the prior of all subsets together, that of the empty one being 1."""
        odds = np.array([0.0, *map(self.add, range(self.n_units))])
        sizes = np.arange(self.n_units + 1.0)
        choices = gammaln(self.n_units + 1.0) - gammaln(sizes + 1.0) - gammaln(self.n_units - sizes + 1.0)
        return float(logsumexp(np.cumsum(odds) + choices))

    def add_product(self, j: int, k: int) -> float:
        """Log prior odds of j + 1 products of two against j, beside k units that are no products.

        All numbers of those that the k units allow are equally likely, "none" twenty times as likely: units
        pay for the choice among all of them, products for the choice among those of the units alone.
        """
        if self.penalty is not None:
            return self.lenience - self.penalty
        eligible = max(k * (k - 1) // 2, j + 1)
        empty = math.log(self.nothing) if j == 0 else 0.0
        return self.lenience - max(math.log((eligible - j) / (j + 1.0)), self.least) - empty

    def products(self, j: int, k: int) -> float:
        """Log prior odds of j products against none."""
        return sum(self.add_product(i, k) for i in range(j))
