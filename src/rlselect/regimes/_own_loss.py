r"""Binary and count rewards by their own loss: Q-functions that stay probabilities, or positive.

The Q-function of a bounded response is :math:`l + (u - l) / (1 + e^{-f(h, a)})`, that of counts is
:math:`e^{f(h, a)}`, and f minimises minus twice the (quasi-)log likelihood plus the penalty of the machine.
Columns are eliminated by squared loss, which is what these losses are to second order about a constant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rlselect.kernels import (
    CANONICAL_LINK,
    damped_newton,
    glm_problem,
    log_likelihood,
    mean_and_curvature,
    null_intercept,
    small_decrement,
)
from rlselect.regimes._stages import StageData

__all__ = ["REWARD_TYPES", "ResponseLink", "RewardType", "fit_linked", "read_reward_type", "response_links"]

RewardType = Literal["auto", "number", "binary", "count"]
REWARD_TYPES = ("auto", "number", "binary", "count")
# of the largest count that was seen, what an expected one may be at most
_REACH = 1.5


def read_reward_type(given: str, stages: Sequence[StageData]) -> str:
    """What the rewards of a trial are: "number", "binary" or "count"; "auto" sees 0 and 1 only."""
    if given not in REWARD_TYPES:
        raise ValueError(f"reward_type={given!r} was given; it must be one of {list(REWARD_TYPES)}.")
    seen = np.concatenate([stage.reward[stage.known] for stage in stages])
    binary = bool(np.isin(seen, (0.0, 1.0)).all())
    if given == "auto":
        return "binary" if binary and np.ptp(seen) > 0.0 else "number"
    if given == "binary" and not binary:
        strange = seen[~np.isin(seen, (0.0, 1.0))][0]
        raise ValueError(f"reward_type='binary' was given, but a reward is {strange:g}; it must be 0 or 1.")
    if given == "count" and ((seen < 0.0).any() or (seen != np.floor(seen)).any()):
        strange = seen[(seen < 0.0) | (seen != np.floor(seen))][0]
        raise ValueError(
            f"reward_type='count' was given, but a reward is {strange:g}; it must be a whole number of at "
            "least 0."
        )
    return given


@dataclass(frozen=True)
class ResponseLink:
    """Between the responses of a stage and a linear predictor.

    Attributes
    ----------
    family : {"binomial", "poisson"}
    low, high : float
        The response is ``low`` plus ``high - low`` times a number of the family's range, [0, 1] or [0, inf).
    """

    family: Literal["binomial", "poisson"]
    low: float
    high: float

    def to_unit(self, y: np.ndarray) -> np.ndarray:
        """Responses in the family's range."""
        unit = (y - self.low) / (self.high - self.low)
        return np.clip(unit, 0.0, 1.0 if self.family == "binomial" else np.inf)

    def within(self, fitted: np.ndarray) -> np.ndarray:
        """Predictions of a model that knows no link, cut off where the response is."""
        return self.low + (self.high - self.low) * self.to_unit(fitted)

    def mean(self, predictor: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Expected responses, counts not far beyond the largest response that was learnt from."""
        mean = mean_and_curvature(self.family, predictor)[0]
        if self.family == "poisson":
            mean = np.minimum(mean, _REACH * max(float(self.to_unit(y).max()), 1.0))
        return self.low + (self.high - self.low) * mean


def response_links(
    reward_type: str, stages: Sequence[StageData], discount: float, sign: float
) -> list[ResponseLink | None]:
    """The link of each stage's response, the reward plus what follows; None where rewards are numbers."""
    if reward_type == "number":
        return [None] * len(stages)
    if reward_type == "count":
        return [ResponseLink("poisson", 0.0, sign)] * len(stages)
    links: list[ResponseLink | None] = []
    low = high = 0.0
    for stage in reversed(stages):
        rewards = sign * stage.reward
        low = float(rewards.min()) + discount * low
        high = float(rewards.max()) + discount * high
        links.append(ResponseLink("binomial", low, high) if high > low else None)
    return links[::-1]


class LinkedFit(NamedTuple):
    """Coefficients (c,) and intercept of a predictor, and the ridge penalty they were found with."""

    coefficients: np.ndarray
    intercept: float
    lam: float


def fit_linked(
    Z: np.ndarray, y: np.ndarray, weights: np.ndarray, family: str, lams: Sequence[float]
) -> LinkedFit:
    """Penalised regression on columns (n, c), by the penalty with the smallest leave-one-out deviance.

    Minimises ``lam |b|^2 + sum_i w_i D(y_i, f_i) / sum_i w_i``, where D is minus twice the log likelihood.
    Leaving one out is one Newton step from the fit on all.
    """
    design = np.vstack([np.ones(len(y)), Z.T])[None]
    start = np.zeros((1, design.shape[1]))
    start[0, 0] = null_intercept(family, y, weights, None)
    best, found = np.inf, LinkedFit(start[0, 1:], float(start[0, 0]), float(lams[0]))
    for lam in lams:
        ridge = np.full(design.shape[1], lam * weights.sum())
        ridge[0] = 0.0
        problem = glm_problem(design, y[None], weights[None], CANONICAL_LINK[family], family, ridge=ridge)
        start = damped_newton(problem, start, small_decrement(1e-10, relative=True)).coef
        risk = 0.0
        if len(lams) > 1:
            risk = _left_out_deviance(design[0], y, weights, family, ridge, start[0])
        if risk < best:
            best, found = risk, LinkedFit(start[0, 1:], float(start[0, 0]), float(lam))
    return found


def _left_out_deviance(
    design: np.ndarray, y: np.ndarray, weights: np.ndarray, family: str, ridge: np.ndarray, coef: np.ndarray
) -> float:
    """Weighted mean deviance of rows that are left out one by one, from the fit on all rows (k, n)."""
    predictor = coef @ design
    mean, curvature = mean_and_curvature(family, predictor)
    information = (design * (weights * curvature)) @ design.T + np.diag(ridge)
    spread = np.einsum("kn,kn->n", design, np.linalg.solve(information, design))
    share = np.minimum(weights * curvature * spread, 1.0 - 1e-9)
    away = predictor - weights * (y - mean) * spread / (1.0 - share)
    losses = -2.0 * log_likelihood(family, y, away, constant=False)
    return float(weights @ losses / weights.sum())
