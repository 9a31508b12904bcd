"""How an action is picked from the values of all actions.

A policy sees one float per action, ``-inf`` where the action is not allowed, and where they are known the
standard errors of these values and how often each was tried. It never sees data.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rlselect.learn._schedules import PowerDecay, Schedule, as_schedule

Floats = NDArray[np.float64]


@runtime_checkable
class Policy(Protocol):
    """What every policy can do."""

    def probabilities(
        self, values: Floats, *, errors: Floats | None = None, counts: NDArray | None = None, t: float = 1
    ) -> Floats:
        """Probability of each action; zero where ``values`` is ``-inf``."""
        ...

    def choose(
        self,
        values: Floats,
        *,
        errors: Floats | None = None,
        counts: NDArray | None = None,
        t: float = 1,
        rng: np.random.Generator,
    ) -> int:
        """Index of the action picked at stage ``t``."""
        ...


@dataclass(frozen=True)
class EpsilonGreedy:
    r"""Equation (5) of [1]_: mostly the best action, now and then any action.

    With :math:`m` allowed actions, :math:`\pi(a) = \epsilon_t / m + (1 - \epsilon_t) / k` for the :math:`k`
    actions of largest value and :math:`\epsilon_t / m` for the others. The paper writes :math:`k = 1`, which
    with ties would add up to more than one; here the mass of the best action is shared equally between ties.

    Parameters
    ----------
    epsilon : float or callable, default=PowerDecay(0.1)
        Exploration probability at stage ``t``; clipped to [0, 1].

    References
    ----------
    .. [1] "Efficient Variable Selection Using Reinforcement Learning for Big Data" (REVS).

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.learn import EpsilonGreedy
    >>> EpsilonGreedy(0.3).probabilities(np.array([0.0, 2.0, -np.inf, 1.0]))
    array([0.1, 0.8, 0. , 0.1])
    """

    epsilon: float | Schedule = field(default_factory=lambda: PowerDecay(0.1))

    def __post_init__(self) -> None:
        as_schedule(self.epsilon)

    def _explore(self, t: float) -> float:
        return min(max(as_schedule(self.epsilon)(t), 0.0), 1.0)

    def probabilities(
        self, values: Floats, *, errors: Floats | None = None, counts: NDArray | None = None, t: float = 1
    ) -> Floats:
        """Probability of each action; ``errors`` and ``counts`` are not used."""
        best = _best(values)
        epsilon = self._explore(t)
        allowed, ties = values > -np.inf, values == best
        share = allowed * (epsilon / np.count_nonzero(allowed))
        share += ties * ((1.0 - epsilon) / np.count_nonzero(ties))
        return share

    def choose(
        self,
        values: Floats,
        *,
        errors: Floats | None = None,
        counts: NDArray | None = None,
        t: float = 1,
        rng: np.random.Generator,
    ) -> int:
        """Index of the action picked; ``errors`` and ``counts`` are not used."""
        best = _best(values)
        if rng.random() < self._explore(t):
            return _pick(values > -np.inf, rng)
        return _pick(values == best, rng)


@dataclass(frozen=True)
class Softmax:
    r"""Probabilities proportional to :math:`\exp(\text{value}_a / \text{temperature})`.

    When the values are changes of a log posterior, the default temperature of 2 uses half the log reward:
    this is the locally informed walk. Its visits follow the posterior when each is weighted by ``exp(-z)``,
    ``z`` being the :meth:`log_normaliser` there.

    Parameters
    ----------
    temperature : float or callable, default=2.0
        Positive; small is greedy, large is uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.learn import Softmax
    >>> Softmax(temperature=1.0).probabilities(np.log([1.0, 3.0]))
    array([0.25, 0.75])
    """

    temperature: float | Schedule = 2.0

    def __post_init__(self) -> None:
        if not callable(self.temperature):
            self._heat(1)

    def _heat(self, t: float) -> float:
        given = self.temperature
        # a plain number is asked for at every step of a walk
        heat = given if isinstance(given, float) else as_schedule(given)(t)
        if not 0 < heat < math.inf:
            raise ValueError(f"Softmax: temperature must be positive and finite, got {heat!r} at stage {t}")
        return heat

    def _weights(self, values: Floats, t: float) -> tuple[Floats, float, float]:
        best, heat = _best(values), self._heat(t)
        if best == np.inf:
            return (values == best).astype(float), best, heat
        # A spread beyond the float range is an honest zero weight.
        with np.errstate(over="ignore"):
            weights = np.subtract(values, best)
            weights /= heat
        return np.exp(weights, out=weights), best, heat

    def probabilities(
        self, values: Floats, *, errors: Floats | None = None, counts: NDArray | None = None, t: float = 1
    ) -> Floats:
        """Probability of each action; ``errors`` and ``counts`` are not used."""
        weights, _, _ = self._weights(values, t)
        weights /= weights.sum()
        return weights

    def log_normaliser(self, values: Floats, *, t: float = 1) -> float:
        """Log of the sum of ``exp(value / temperature)`` over the allowed actions."""
        weights, best, heat = self._weights(values, t)
        return float(best / heat + np.log(weights.sum()))

    def choose(
        self,
        values: Floats,
        *,
        errors: Floats | None = None,
        counts: NDArray | None = None,
        t: float = 1,
        rng: np.random.Generator,
    ) -> int:
        """Index of the action picked; ``errors`` and ``counts`` are not used."""
        return self.draw(values, t=t, rng=rng)[0]

    def draw(self, values: Floats, *, t: float = 1, rng: np.random.Generator) -> tuple[int, float]:
        """Index of the action picked, and the :meth:`log_normaliser`, in one pass."""
        weights, best, heat = self._weights(values, t)
        cumulative = np.cumsum(weights)
        # side="right" skips zero weights
        total = float(cumulative[-1])
        action = int(cumulative.searchsorted(rng.random() * total, side="right"))
        if action == len(cumulative):
            # a draw that rounds up to the total
            action = int(cumulative.searchsorted(total, side="left"))
        return action, float(best / heat) + math.log(total)


@dataclass(frozen=True)
class UCB:
    r"""The action of largest upper confidence bound; ties are broken at random.

    The bound is :math:`\text{value} + c \cdot \text{error}` when standard errors are known. When only counts
    are, it is :math:`\text{value} + c \sqrt{\log(1 + t) / \text{count}}`, made for rewards of about unit
    noise. Actions never tried (count 0 or an infinite error) come first.

    Parameters
    ----------
    c : float, default=2.0
        How optimistic, zero or more; 0 is greedy.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.learn import UCB
    >>> values, errors = np.array([1.0, 0.5]), np.array([0.1, 0.6])
    >>> UCB(c=2.0).choose(values, errors=errors, rng=np.random.default_rng(0))
    1
    """

    c: float = 2.0

    def __post_init__(self) -> None:
        if not 0 <= self.c < math.inf:
            raise ValueError(f"UCB: c must be zero or positive and finite, got {self.c!r}")

    def _bound(self, values: Floats, errors: Floats | None, counts: NDArray | None, t: float) -> Floats:
        _best(values)
        spread, untried = _spread("UCB", values, errors, counts)
        if errors is None:
            spread *= math.sqrt(math.log1p(t))
        return _optimistic(values, values + self.c * spread, untried)

    def probabilities(
        self, values: Floats, *, errors: Floats | None = None, counts: NDArray | None = None, t: float = 1
    ) -> Floats:
        """Probability of each action: equal shares for the actions of largest bound."""
        bound = self._bound(values, errors, counts, t)
        ties = bound == bound.max()
        return ties / np.count_nonzero(ties)

    def choose(
        self,
        values: Floats,
        *,
        errors: Floats | None = None,
        counts: NDArray | None = None,
        t: float = 1,
        rng: np.random.Generator,
    ) -> int:
        """Index of the action picked; ``errors`` or ``counts`` must be given."""
        bound = self._bound(values, errors, counts, t)
        return _pick(bound == bound.max(), rng)


@dataclass(frozen=True)
class ThompsonSampling:
    r"""Draw each value from its own normal distribution and take the best draw.

    The draw is :math:`N(\text{value}, (\text{scale} \cdot \text{error})^2)`. When only counts are known, the
    error is :math:`1 / \sqrt{\text{count}}`, made for rewards of about unit noise. Actions never tried (count
    0 or an infinite error) come first, in random order. The probabilities have no closed form.

    Parameters
    ----------
    scale : float, default=1.0
        Multiplies the errors, zero or more; 0 is greedy.

    Examples
    --------
    >>> import numpy as np
    >>> from rlselect.learn import ThompsonSampling
    >>> values, errors = np.array([1.0, 0.5]), np.array([0.01, 0.01])
    >>> ThompsonSampling().choose(values, errors=errors, rng=np.random.default_rng(0))
    0
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.scale < math.inf:
            raise ValueError(
                f"ThompsonSampling: scale must be zero or positive and finite, got {self.scale!r}"
            )

    def probabilities(
        self, values: Floats, *, errors: Floats | None = None, counts: NDArray | None = None, t: float = 1
    ) -> Floats:
        """Not available: the chance of being the best draw has no closed form."""
        raise NotImplementedError("ThompsonSampling has no closed-form probabilities; use choose(...)")

    def choose(
        self,
        values: Floats,
        *,
        errors: Floats | None = None,
        counts: NDArray | None = None,
        t: float = 1,
        rng: np.random.Generator,
    ) -> int:
        """Index of the action picked; ``errors`` or ``counts`` must be given."""
        _best(values)
        spread, untried = _spread("ThompsonSampling", values, errors, counts)
        draws = rng.standard_normal(len(values))
        draws *= spread
        draws *= self.scale
        draws += values
        draws = _optimistic(values, draws, untried)
        return _pick(draws == draws.max(), rng)


PolicyName: TypeAlias = Literal["auto", "softmax", "epsilon-greedy", "ucb", "thompson"]

_NAMED = {
    "softmax": Softmax,
    "epsilon-greedy": EpsilonGreedy,
    "ucb": UCB,
    "thompson": ThompsonSampling,
}


def as_policy(policy: str | Policy) -> Policy:
    """Read a name as the policy with its defaults, and leave a policy object as it is.

    Parameters
    ----------
    policy : {"softmax", "epsilon-greedy", "ucb", "thompson"} or object
        A name, or an object with the ``choose`` method of :class:`Policy`.

    Returns
    -------
    Policy
        The policy.

    Examples
    --------
    >>> from rlselect.learn import as_policy
    >>> as_policy("ucb")
    UCB(c=2.0)
    """
    if isinstance(policy, str) and policy in _NAMED:
        return cast(Policy, _NAMED[policy]())
    # an array has a method of that name, too
    if not isinstance(policy, str | type | np.ndarray) and callable(getattr(policy, "choose", None)):
        return policy
    names = ", ".join(map(repr, _NAMED))
    hint = f"; write {policy.__name__}() with parentheses" if isinstance(policy, type) else ""
    raise ValueError(
        f"policy must be one of {names}, or an object with a choose(values, ...) method such as UCB(c=1.0); "
        f"got {policy!r}{hint}"
    )


def _best(values: Floats) -> float:
    """Largest value, after the checks every policy needs."""
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"values must be a non-empty 1-D array with one entry per action, got {values.shape}"
        )
    best = float(values.max())
    if math.isnan(best):
        raise ValueError("values hold NaN; give a number per action, or -inf where an action is not allowed")
    if best == -math.inf:
        raise ValueError(
            f"no action is allowed: all {values.size} values are -inf; leave at least one finite"
        )
    return best


def _pick(candidates: NDArray[np.bool_], rng: np.random.Generator) -> int:
    """One of the true entries, each with the same chance."""
    places = np.flatnonzero(candidates)
    return int(places[0] if places.size == 1 else places[rng.integers(places.size)])


def _spread(name: str, values: Floats, errors: Floats | None, counts: NDArray | None) -> tuple[Floats, Any]:
    """Standard error of each value (zero where unknown) and which actions are still untried."""
    if errors is None and counts is None:
        raise ValueError(
            f"{name} needs errors (standard errors of the values) or counts (how often each was tried)"
        )
    untried = np.zeros(len(values), dtype=bool) if counts is None else np.asarray(counts) == 0
    if errors is None:
        spread = 1.0 / np.sqrt(np.where(untried, 1.0, np.asarray(counts, dtype=float)))
    else:
        known = np.isfinite(errors)
        spread = np.where(known, errors, 0.0)
        if spread.min() < 0:
            raise ValueError(
                f"{name}: errors are standard errors and cannot be negative, got {spread.min()!r}"
            )
        untried = untried | ~known
    return spread, untried


def _optimistic(values: Floats, scores: Floats, untried: NDArray[np.bool_]) -> Floats:
    """Put untried actions first and disallowed ones last."""
    scores[untried] = np.inf
    scores[values == -np.inf] = -np.inf
    return scores
