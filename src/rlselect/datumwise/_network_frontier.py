"""How a policy did on rows left out, from the lowest price to the highest: what it was worth and cost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rlselect.datumwise._plan import NETWORK

__all__ = ["UNKNOWN", "PriceFrontier", "best_temperatures", "height", "upper_hull"]

# between the prices that were tried, others are looked at as well: so many times as many
_FINER = 8

# share of the range of what answers are worth by which settings are about as good as each other
_NEAR = 0.005

# temperatures that are tried, also those of networks that have learned their rows by heart, and how many
# prices on each side lend their rows to the choice
_TEMPERATURES = np.concatenate([np.geomspace(0.3, 5.0, 41), np.geomspace(5.0, 20.0, 21)[1:]])
_NEIGHBOURS = 2


@dataclass(frozen=True)
class PriceFrontier:
    """One entry per price, from low to high.

    Parameters
    ----------
    prices : (prices,) array
        In units of the reward, for a purchase of mean cost.
    worth : (prices,) array
        Minus the mean cost of the answers; the mean of what they cost, and of what an answer drawn from the
        class probabilities would cost, which is less rough.
    losses : (prices,) array
        Mean cost of the answers.
    spent : (prices,) array
        Mean cost of the purchases of a case, in units of the mean cost of a purchase.
    bought : (prices,) array
        Mean share of the units that are bought.
    temperatures : (prices,) array
        Class probabilities are taken to the power of one over this, which makes them as sure as they should
        be.
    """

    prices: NDArray
    worth: NDArray
    losses: NDArray
    spent: NDArray
    bought: NDArray
    temperatures: NDArray

    def temperature(self, price: float) -> float:
        """What fits a price of training."""
        return float(np.interp(np.log10(price), np.log10(self.prices), self.temperatures))

    def within(self, price: float, most_bought: float, most_spent: float) -> float:
        """A price of training, or a higher one at which no more than this is bought and spent on average.

        Where budgets end the purchases, cases know what they would at that price.
        """
        low = np.log10(self.prices)
        found = np.log10(price)
        for limit, known in ((most_bought, self.bought), (most_spent, self.spent)):
            falling = np.minimum.accumulate(known)
            if limit < falling[0]:
                found = max(found, np.interp(-limit, -falling, low))
        return float(10**found)

    def knowing(self, price: float, given: float) -> float:
        """A price of training, or a lower one at which as much is bought as is known where a share is given.

        What is given is taken to be a part of all like any other.
        """
        if given == 0:
            return price
        falling = np.minimum.accumulate(self.bought)
        low = np.log10(self.prices)
        known = given + (1 - given) * np.interp(np.log10(price), low, falling)
        return float(min(price, 10 ** np.interp(-known, -falling, low)))

    def height(self) -> float:
        """Of the whole of it, see `height`."""
        return height(1.0 - self.bought, self.worth)

    def price_for(self, price: float) -> float:
        """The price of training that earns most when a purchase of mean cost costs so much.

        It is a mean of prices, by how little less than the best they earn, so that it is different for
        different prices of purchases, and not by what chance made best.
        """
        log_price, worth, spent = self._fine()
        earned = worth - price * spent
        near = np.exp((earned - earned.max()) / (_NEAR * (np.ptp(worth) + 1e-12)))
        return float(10 ** np.average(log_price, weights=near))

    def at(self, price: float) -> tuple[float, float, float]:
        """Mean loss, spending and share bought at a price of training."""
        where, low = np.log10(price), np.log10(self.prices)
        losses, spent, bought = (np.interp(where, low, c) for c in (self.losses, self.spent, self.bought))
        return float(losses), float(spent), float(bought)

    def _fine(self) -> tuple[NDArray, NDArray, NDArray]:
        """Logarithms of many prices, with worth and spending between those known."""
        low = np.log10(self.prices)
        fine = np.linspace(low[0], low[-1], _FINER * (len(low) - 1) + 1)
        # the mean of neighbours: of points that differ by chance, the best looks better than it is
        smooth = np.convolve(np.pad(self.worth, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid")
        return fine, np.interp(fine, low, smooth), np.interp(fine, low, self.spent)


# of a policy that has not been judged yet
UNKNOWN = PriceFrontier(*(np.empty(0) for _ in range(6)))


def height(unused: NDArray, worth: NDArray) -> float:
    """Mean of the upper hull of worth against the share that is not bought, over the range that counts."""
    hull = upper_hull(unused, worth)
    return float(np.interp(np.linspace(*NETWORK.sparsities, 10), unused[hull], worth[hull]).mean())


def upper_hull(x: NDArray, y: NDArray) -> NDArray:
    """Positions of the points on the upper concave hull, from left to right."""
    hull: list[int] = []
    for i in np.lexsort((-y, x)):
        if hull and x[hull[-1]] == x[i]:
            continue
        while len(hull) > 1 and _above(x, y, hull[-2], hull[-1], i) >= 0:
            hull.pop()
        hull.append(int(i))
    return np.array(hull)


def best_temperatures(
    others: NDArray, labels: NDArray, weights: NDArray, losses: NDArray, flattered: float = 0.0
) -> NDArray:
    """Temperature at each price by which answers cost what they are expected to, with neighbouring prices.

    Of classes: by which they are as sure as they are right. `others` (prices, rows, classes) are log
    probabilities, `labels` (rows,), `weights` (prices, rows), `losses` (answers, classes). One where there
    is nothing to tell by; half a row is taken to cost most. Answers of policies that were chosen by these
    rows cost so many standard errors more than there (`flattered`).
    """
    near = np.abs(np.subtract.outer(np.arange(len(others)), np.arange(len(others)))) <= _NEIGHBOURS
    total = weights.sum(axis=1) @ near
    answers = (np.exp(others) @ losses.T).argmin(axis=2)
    cost = losses[answers, labels]
    paid = (cost * weights).sum(axis=1)
    mean = paid / np.maximum(weights.sum(axis=1), 1e-12)
    error = np.sqrt((np.square(cost - mean[:, None]) * weights).sum(axis=1))
    # neighbouring prices have the same rows, so that their errors are alike
    paid = (paid + flattered * error) @ near + 0.5 * np.ptp(losses)
    gap = np.empty((len(_TEMPERATURES), len(others)))
    for k, temperature in enumerate(_TEMPERATURES):
        expected = (special.softmax(others / temperature, axis=2) * losses[answers]).sum(axis=2)
        gap[k] = np.abs((expected * weights).sum(axis=1) @ near - paid)
    return np.where(total > 1, _TEMPERATURES[gap.argmin(axis=0)], 1.0)


def _above(x: NDArray, y: NDArray, a: int, b: int, c: int) -> float:
    return (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a])
