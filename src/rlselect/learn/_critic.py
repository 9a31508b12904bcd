"""The critic: what reward to expect, and how much better than that an action was."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Critic:
    """Exponentially weighted moving average of the mean rewards of batches.

    Parameters
    ----------
    weight : float
        Weight of the newest batch.
    start : float or None
        First baseline; None starts at the first batch's mean.
    """

    def __init__(self, weight: float = 0.95, start: float | None = None) -> None:
        self.weight = weight
        self.baseline = start

    def observe(self, rewards: Array) -> float:
        """Take a batch into account; returns the baseline."""
        mean = float(np.mean(rewards))
        old = mean if self.baseline is None else self.baseline
        self.baseline = (1.0 - self.weight) * old + self.weight * mean
        return self.baseline

    @staticmethod
    def standardize(rewards: Array) -> Array:
        """Rewards minus their mean, in standard deviations; zeros when all are equal.

        All actions of a batch are judged on the same folds, so their mean also takes out the luck of those
        folds, which a baseline from earlier batches cannot.
        """
        spread = rewards.std()
        if not spread > 1e-12 * np.abs(rewards).max(initial=1e-300):
            return np.zeros_like(rewards)
        return np.asarray((rewards - rewards.mean()) / spread)
