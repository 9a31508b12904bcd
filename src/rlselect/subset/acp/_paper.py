"""Algorithms 1 and 2 of the paper, step by step."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rlselect._clock import Clock, present_clock, while_time
from rlselect._options import NONE, check_options, number, one_of
from rlselect.data import Units
from rlselect.learn import Critic, ridge_direction, sample_masks, score
from rlselect.subset.acp._inputs import Inputs
from rlselect.subset.acp._search import SURE_IN, SURE_OUT, Effort
from rlselect.subset.acp.masked import MaskedPredictor

Array = NDArray[np.float64]

# networks that are trained between two looks at a clock, and what is not sure of probabilities
_PARCEL, _UNSURE = 2, 0.4
_POSITIVE = number("a positive number", above=0.0)
_OPTIONS = {
    "actor": one_of("natural", "adam"),
    "learning_rate": _POSITIVE,
    "gamma": _POSITIVE,
    "baseline_weight": number("a number above 0 and at most 1", above=0.0, most=1.0),
    "rewards": one_of("raw", "standardised"),
    "step": _POSITIVE,
    "ridge": number("a number of at least 0", least=0.0),
    "most": NONE | _POSITIVE,
    "edge": number("a number above 0 and at most 0.5", above=0.0, most=0.5),
    "validation": number("a number between 0 and 1", above=0.0, below=1.0),
    "tolerance": number("a number of at least 0", least=0.0),
}


@dataclass(frozen=True, kw_only=True)
class PolicyGradient:
    """The paper's search: one random split per action, a dictionary of rewards, natural gradient steps.

    Where the paper is silent or says two things, the readings are parameters. The defaults are Algorithm 2 to
    the letter; `READINGS` has what comes closest to the printed tables.

    Parameters
    ----------
    actor : {"natural", "adam"}, default="natural"
        "natural" adds w to theta (Algorithm 2); "adam" gives w to Adam as the text of Appendix 2 says.
    learning_rate : float, default=0.01
        Of Adam. The paper is silent; 0.1 diverges.
    gamma : float, default=0.01
        Ridge of the regression for w. The paper calls it small.
    rewards : {"raw", "standardised"}, default="raw"
        Advantages: rewards less the critic's baseline, or less their mean in the batch in units of their
        standard deviation there.
    step : float, default=1.0
        What w is multiplied by when ``actor="natural"`` adds it to theta.
    most : float, optional
        Largest Euclidean norm of w (the paper's W), longer ones are shortened to it.
    ridge : float, default=0.0
        Penalty of the linear predictor's coefficients (standardised columns), for ``predictor="linear"``.
    baseline_weight : float, default=0.95
        Weight of the newest batch in the critic's moving average.
    edge : float, default=0.02
        Theta is clipped to [edge, 1 - edge].
    validation : float, default=0.3
        Share of the rows that judges a subset.
    tolerance : float, default=1e-3
        Stop when w changes less than this (Euclidean norm) from one iteration to the next.
    """

    actor: Literal["natural", "adam"] = "natural"
    learning_rate: float = 0.01
    gamma: float = 0.01
    rewards: Literal["raw", "standardised"] = "raw"
    step: float = 1.0
    most: float | None = None
    ridge: float = 0.0
    baseline_weight: float = 0.95
    edge: float = 0.02
    validation: float = 0.3
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        check_options(self, _OPTIONS)


# reading of the paper -> settings; the ridge is that of the linear predictor
READINGS: dict[str, dict[str, Any]] = {
    "literal": {},
    "published": {"rewards": "standardised", "step": 0.1, "ridge": 20.0},
}


class _Adam:
    """Adam on a direction of ascent."""

    def __init__(self, p: int, step: float) -> None:
        self.step, self.time = step, 0
        self.mean, self.square = np.zeros(p), np.zeros(p)

    def __call__(self, direction: Array) -> Array:
        self.time += 1
        self.mean = 0.9 * self.mean + 0.1 * direction
        self.square = 0.999 * self.square + 0.001 * np.square(direction)
        mean = self.mean / (1.0 - 0.9**self.time)
        square = self.square / (1.0 - 0.999**self.time)
        return np.asarray(self.step * mean / (np.sqrt(square) + 1e-8))


def split_rewards(
    predictor: MaskedPredictor, masks: NDArray[np.bool_], validation: float, rng: np.random.Generator
) -> Array:
    """Algorithm 1 for several actions, each with its own random split: minus the validation loss.

    Squared errors are in the units of y. Out of time, those of the first ones.
    """
    n = len(predictor.X)
    judge = min(max(round(validation * n), 1), n - 1)
    order = np.argsort(rng.random((len(masks), n)), axis=1)
    train = np.ones((len(masks), n), dtype=bool)
    np.put_along_axis(train, order[:, :judge], False, axis=1)
    # with a time budget some at a time, all at once otherwise
    size = len(masks) if present_clock().left is None else _PARCEL
    parts = (slice(start, start + size) for start in range(0, len(masks), size))
    each = [predictor.losses(masks[part], train[part]) for part in while_time(parts)]
    losses = np.concatenate(each)
    losses = np.where(train[: len(losses)], 0.0, losses).sum(axis=1) / judge
    return -losses if predictor.log_loss else -losses * predictor.target.scale**2


@dataclass
class PaperFound:
    """Theta of all allowed units, and how it ended."""

    theta: Array
    mean_theta: Array
    stop_reason: str
    iterations: int


def paper_search(
    predictor: MaskedPredictor,
    inputs: Inputs,
    search: PolicyGradient,
    *,
    batch_size: int,
    max_iter: int,
    rng: np.random.Generator,
    clock: Clock,
    effort: Effort,
) -> PaperFound:
    """Algorithm 2.

    Parameters
    ----------
    predictor : MaskedPredictor
        On the columns of the allowed units, in their order.
    inputs : Inputs
    search : PolicyGradient
    batch_size, max_iter : int
    rng : Generator
    clock : Clock
    effort : Effort

    Returns
    -------
    PaperFound
    """
    _, units = inputs.columns_of(inputs.allowed)
    theta = np.full(len(inputs.allowed), 0.5)
    critic = Critic(search.baseline_weight, start=0.0)
    adam = _Adam(len(theta), search.learning_rate)
    known: dict[bytes, float] = {}
    last: Array | None = None
    trail: list[Array] = []
    reason: str | None = "max iterations"
    for _ in range(max_iter):
        stop = clock.tick()
        if stop is not None:
            reason = stop
            break
        masks = sample_masks(theta, batch_size, rng)
        masks, rewards = _remembered(predictor, masks, units, known, search.validation, rng, effort)
        baseline = critic.observe(rewards)
        standard = search.rewards == "standardised"
        advantage = critic.standardize(rewards) if standard else rewards - baseline
        w = ridge_direction(score(masks, theta), advantage, search.gamma)
        if search.most is not None:
            w *= min(1.0, search.most / max(float(np.linalg.norm(w)), 1e-300))
        move = adam(w) if search.actor == "adam" else search.step * w
        theta = np.clip(theta + move, search.edge, 1.0 - search.edge)
        trail.append(theta)
        _record(effort, inputs, theta, rewards, baseline, predictor.name)
        if last is not None and np.linalg.norm(w - last) < search.tolerance:
            reason = "converged"
            break
        last = w
    mean = np.mean(trail[len(trail) // 2 :], axis=0) if trail else theta
    if clock.reason is not None and known and np.any(np.abs(theta - 0.5) < _UNSURE):
        # stopped before it was sure: the best action so far
        best = np.frombuffer(max(known, key=lambda key: known[key]), dtype=bool)
        theta = np.where(best, np.maximum(theta, SURE_IN), np.minimum(theta, SURE_OUT))
    return PaperFound(theta, mean, str(reason), len(trail))


def _remembered(
    predictor: MaskedPredictor,
    masks: NDArray[np.bool_],
    units: Units,
    known: dict[bytes, float],
    validation: float,
    rng: np.random.Generator,
    effort: Effort,
) -> tuple[NDArray[np.bool_], Array]:
    """Actions with their rewards; out of time, the first of them."""
    keys = [mask.tobytes() for mask in masks]
    fresh: dict[bytes, int] = {}
    for i, key in enumerate(keys):
        if key not in known:
            fresh.setdefault(key, i)
    if fresh:
        new = masks[list(fresh.values())]
        values = split_rewards(predictor, new[:, units.unit_of], validation, rng)
        known.update(zip(fresh, values.tolist(), strict=False))
    effort.fits += len(fresh)
    effort.cache_hits += len(keys) - len(fresh)
    judged = np.array([key in known for key in keys])
    return masks[judged], np.array([known[key] for key in keys if key in known])


def _record(effort: Effort, inputs: Inputs, theta: Array, rewards: Array, baseline: float, name: str) -> None:
    every = np.zeros(inputs.units.n_units)
    every[inputs.allowed] = theta
    effort.history.append(
        {
            "theta": inputs.to_features(every),
            "reward": float(rewards.mean()),
            "best": float(rewards.max()),
            "baseline": baseline,
            "size": float(theta.sum()),
            "price": 0.0,
            "predictor": name,
        }
    )
