"""The actor: independent coin tosses, one for each variable, and the directions in which they learn.

``pi_theta(a) = prod_j theta_j^a_j (1 - theta_j)^(1 - a_j)``. Its Fisher matrix is diagonal,
``1 / (theta_j (1 - theta_j))``, so the natural gradient of the expected reward is the covariance of the
reward with ``a - theta``: no system has to be solved. Regressing the advantage on the scores, as the paper
does, estimates the same direction with less noise, for each variable given the others.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Array = NDArray[np.float64]
Masks = NDArray[np.bool_]

# a probability is kept this far from 0 and 1
EDGE = 0.005


def sample_masks(theta: Array, count: int, rng: np.random.Generator) -> Masks:
    """Draw actions."""
    return np.asarray(rng.random((count, len(theta))) < theta)


def score(masks: Masks, theta: Array) -> Array:
    """Gradient of ``log pi_theta(a)`` in theta, ``a / theta - (1 - a) / (1 - theta)``, one row per action."""
    return (masks - theta) / (theta * (1.0 - theta))


def natural_direction(masks: Masks, theta: Array, advantage: Array) -> Array:
    """``F^-1`` times the policy gradient: the mean of ``advantage * (a - theta)``.

    The Fisher matrix F, ``E[score score']``, is diagonal with the entries ``1 / (theta (1 - theta))``.
    """
    return np.asarray(advantage @ (masks - theta) / len(masks))


def ridge_direction(scores: Array, advantage: Array, gamma: float) -> Array:
    """Minimise ``mean((scores w - advantage)^2) + gamma |w|^2`` over w.

    Solved in the smaller of the two dimensions.
    """
    count, p = scores.shape
    if count < p:
        gram = scores @ scores.T
        gram[np.diag_indices(count)] += count * gamma
        return np.asarray(scores.T @ np.linalg.solve(gram, advantage))
    gram = scores.T @ scores
    gram[np.diag_indices(p)] += count * gamma
    return np.asarray(np.linalg.solve(gram, scores.T @ advantage))


class LogitActor:
    """Learns on the log odds of theta, from the last few batches together.

    In log odds the score is ``a - theta``; the regression of the advantage on it says how much each variable
    adds given the others. A variable that is nearly decided is hardly ever drawn the other way, so the ridge
    leaves it where it is.

    Parameters
    ----------
    theta : array of shape (p,)
        Where to start.
    step : float
        Change of the log odds for an advantage of one standard deviation.
    memory : int
        Batches kept for the regression.
    gamma : float
        Ridge of the regression.
    """

    def __init__(self, theta: Array, step: float, memory: int, gamma: float) -> None:
        self.logits = logit(np.clip(theta, EDGE, 1.0 - EDGE))
        self.step = step
        self.gamma = gamma
        self._open = np.ones(len(theta), dtype=bool)
        self._scores: deque[Array] = deque(maxlen=memory)
        self._advantages: deque[Array] = deque(maxlen=memory)

    @property
    def theta(self) -> Array:
        """Probabilities."""
        return np.asarray(expit(self.logits))

    def learn(self, masks: Masks, advantage: Array) -> Array:
        """Take one step; returns the direction."""
        self._scores.append(masks - self.theta)
        self._advantages.append(advantage)
        direction = ridge_direction(
            np.concatenate(self._scores), np.concatenate(self._advantages), self.gamma
        )
        limit = logit(1.0 - EDGE)
        self.logits = np.clip(self.logits + self.step * direction * self._open, -limit, limit)
        return direction

    def pin(self, variables: NDArray[np.intp], inside: bool) -> None:
        """Keep some variables in, or out, from now on."""
        self._open[variables] = False
        self.logits[variables] = logit(1.0 - EDGE) * (1.0 if inside else -1.0)

    def reopen(self, variables: NDArray[np.intp], theta: Array | float = 0.5) -> None:
        """Give some variables other probabilities, and forget what was learnt at other places."""
        self.logits[variables] = np.where(self._open[variables], logit(theta), self.logits[variables])
        self._scores.clear()
        self._advantages.clear()
