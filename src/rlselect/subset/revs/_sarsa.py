"""Algorithms 1 and 2 of the REVS paper, read to the letter."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlselect._options import NONE, check_options, check_value, flag, number, one_of, take_settings, whole
from rlselect.learn import (
    EpsilonGreedy,
    LinearRamp,
    Policy,
    PowerDecay,
    Schedule,
    Trajectory,
    ValueTable,
    as_schedule,
    key_mask,
    subset_key,
)
from rlselect.subset.revs._sarsa_reward import Environment, RewardSet, Step, Take

Bools = NDArray[np.bool_]

_OPTIONS = {
    "n_train": whole(1),
    "n_valid": whole(1),
    "n_preliminary": whole(0),
    "max_stages": whole(1),
    "discount": number("a number of at least 0 and below 1", least=0.0, below=1.0),
    "price": number("a number of at least 0", least=0.0),
    "last_price": NONE | number("a number of at least 0", least=0.0),
    "patience": NONE | whole(1),
    "turned_down": one_of("draw again", "repeat"),
    "start": one_of("empty", "random", "last"),
    "stages_per_action": NONE | number("a positive number of main stages for each action", above=0.0),
    "reward_window": NONE | whole(1, "how many of the last rewards count"),
    "first_quantile": number("a number from 0 to 1", least=0.0, most=1.0),
    "only_gains": flag(),
    "n_screened": NONE | whole(1, "how many units are left before the search"),
}
# of the main stages, after which the last price is reached
_FALL = 0.7
# reading of the paper -> settings
READINGS: dict[str, dict[str, Any]] = {
    "literal": {},
    "published": {
        "stages_per_action": 20.0,
        "reward_window": 250,
        "first_quantile": 0.9,
        "only_gains": True,
    },
}


@dataclass(frozen=True, kw_only=True)
class Sarsa:
    r"""The search of [1]_: one random batch and one action per stage, values learnt by SARSA.

    The state is the current subset; an action adds one variable, removes one, or stays. The reward of an
    action is the change in validation performance it brings, minus ``price`` for adding and plus ``price``
    for removing. A random trajectory of ``n_preliminary`` stages collects a first set of rewards; the main
    trajectory then follows the ``policy`` of `REVS`, epsilon-greedy with :math:`\epsilon_t = t^{-0.1}` unless
    another one is given, and moves only when a reward exceeds a rising quantile of all rewards so far.

    Parameters
    ----------
    n_train, n_valid : int, default=200
        Rows of the training and the validation batch of a stage.
    n_preliminary : int, default=250
        Stages of the random trajectory (:math:`T_0`).
    max_stages : int, default=2000
        Largest number of stages of the main trajectory (:math:`T_{max}`).
    discount : float, default=0.99
        :math:`\gamma` of equation (6).
    price : float, default=0.2
        :math:`\lambda` of equation (3), on the scale of the squared response for "gaussian" and of a
        log-likelihood per row for the other families.
    last_price : float, default=None
        Price of the last main stages: over the first seven tenths of them it changes on a line from
        ``price``. None keeps ``price``. A fall to :math:`\sigma^2 \log(p) / n_{valid}` ("gaussian") lets
        strong ones in first and weak ones beside them, and keeps out noise that a low price lets in at the
        beginning.
    learning_rate : float or callable, default=PowerDecay(1.0)
        :math:`\alpha_t = 1/t`.
    quantile : float or callable, default=None
        :math:`\tau_t`; None is ``LinearRamp(0.6, 1.0, max_stages)``.
    patience : int, default=None
        The trajectory has converged when its state has not changed for this many main stages in a row. None
        is twice the number of actions, not above a quarter of ``max_stages``, and never below 100.
    turned_down : {"draw again", "repeat"}, default="draw again"
        What follows an action whose reward does not exceed the quantile: another draw in the same state
        (section 3.2), or the same action until it passes (the box).
    start : {"empty", "random", "last"}, default="empty"
        First state of the main trajectory: the empty set, each unit with probability one half, or the last
        state of the random trajectory.
    stages_per_action : float, default=None
        :math:`T_{max}` as a multiple of the number of actions, in place of ``max_stages``.
    reward_window : int, default=None
        The quantile is over the last so many rewards; None is all of them.
    first_quantile : float, default=0.6
        Where :math:`\tau_t` begins on its way to 1, if ``quantile`` is None.
    only_gains : bool, default=False
        Whether a reward must also be positive to move the trajectory.
    n_screened : int, default=None
        Before the search, all units but those with the so many largest correlations with the response (on
        ``n_train + n_valid`` rows) are left out. None keeps all.

    Notes
    -----
    A stage costs one fit, O(``n_train`` (k + 1)^2) operations with k columns in the state, whatever the
    number of rows; the number of variables enters through the stages needed to try every action. 2,000
    stages are two tries per variable at ``p = 1000``, and the useful range of ``price`` depends on the noise
    and the batch size: Theorem 1 of [1]_ wants it between the largest gain of a noise variable and the
    smallest gain of a true one. Use this search to reproduce the paper, and the default search of ``REVS``
    to select variables.

    Where [1]_ is silent or ambiguous, this is what is done.

    * *Stages* count from 1 in both trajectories (:math:`1/t` has no value at 0): :math:`T_0` and
      :math:`T_{max}` stages are played, and schedules start again with the main trajectory.
    * *Readings* that contradict each other, or print, are parameters: ``turned_down``, ``start``,
      ``stages_per_action``, ``reward_window``, ``first_quantile``, ``only_gains``, ``last_price``,
      ``n_screened``. The defaults are the text; ``REVS.paper(reading="published")``, for banded designs with
      a ``last_price``, is what comes nearest to the printed tables (experiments/results/revs_readings.md).
      Classes need ``price=0.01`` besides: no gain in log-likelihood per row is as large as 0.2.
    * *Initial states* of both trajectories are the empty set, plus the units that must always be in.
      :math:`Q_0 = 0`, and the main trajectory goes on with the Q of the preliminary one.
    * *Ties* in equation (5) share the mass of the best action; never-tried actions take part in the arg max
      with their value 0. With forced or forbidden units, ``p + 1`` is the number of actions that remain.
    * *Turned down*: when a reward does not exceed the quantile, the trajectory stays and a new action is
      drawn there, as section 3.2 says (the box, read literally, would repeat the same action until it
      passes). Equation (6) uses the proposed state and the action sampled there, entered or not.
    * *The reward set* takes in every reward, also that of a turned down action (section 3.2); the quantile of
      a stage is taken before its own reward is put in (the box). Quantiles interpolate linearly between order
      statistics, and ``tau`` close to 1 is the strict end.
    * *Action 0* has reward 0 by definition, so no batch is read for it.
    * *Batches* are uniform draws without replacement, disjoint when ``n_train + n_valid`` rows exist.
      Otherwise the two are drawn independently of each other, as the paper's 150 + 150 of 200 rows must be.
      No batch takes more than three quarters of the rows, the paper's share at ``n = 200``.
    * *Models* always have an intercept. Columns are standardised on the training batch and carry a ridge of
      1e-8 ("gaussian") or 1e-4 (others) per row, so that aliased columns, more columns than rows and
      separation have an answer. Row weights enter the fits and the validation means, not the sampling.
    * *Poisson* responses, not in the paper, are rewarded by the increase in mean log-likelihood.
    * *Groups* of columns are one unit and one action, with one ``price``: equation (3) counts actions.
    * *Other policies*, the paper's future work, choose from the same values; those that ask how sure a value
      is (UCB, Thompson sampling) are told how often the action was tried in that state.
    * *Convergence* is ``patience`` stages without a change of state; it ends the search.
    * *Step 4*, without convergence: among the states of the last half of the main stages where action 0 is an
      arg max of Q, one is drawn with probability proportional to the stages spent there. (Over all
      :math:`2^p` states, every one never visited would qualify.) If there is none, it is the last state. The
      same rule holds after a time limit or an interrupt; before the first main stage the answer is the
      initial state.

    References
    ----------
    .. [1] "Efficient Variable Selection Using Reinforcement Learning for Big Data" (REVS), Algorithms 1, 2.

    Examples
    --------
    >>> from rlselect.subset import Sarsa
    >>> Sarsa(n_train=150, n_valid=150).price
    0.2
    """

    n_train: int = 200
    n_valid: int = 200
    n_preliminary: int = 250
    max_stages: int = 2000
    discount: float = 0.99
    price: float = 0.2
    last_price: float | None = None
    learning_rate: float | Schedule = field(default_factory=lambda: PowerDecay(1.0))
    quantile: float | Schedule | None = None
    patience: int | None = None
    turned_down: Literal["draw again", "repeat"] = "draw again"
    start: Literal["empty", "random", "last"] = "empty"
    stages_per_action: float | None = None
    reward_window: int | None = None
    first_quantile: float = 0.6
    only_gains: bool = False
    n_screened: int | None = None

    def __post_init__(self) -> None:
        check_options(self, _OPTIONS)
        for schedule in (self.learning_rate, self.quantile):
            if schedule is not None:
                as_schedule(schedule)

    def quantile_schedule(self) -> Schedule:
        """The quantile level of each main stage."""
        if self.quantile is not None:
            return as_schedule(self.quantile)
        return LinearRamp(self.first_quantile, 1.0, self.max_stages)

    def price_schedule(self) -> Schedule:
        """The price of a variable at each main stage."""
        if self.last_price is None:
            return as_schedule(self.price)
        return LinearRamp(self.price, self.last_price, _FALL * self.max_stages)

    def for_actions(self, n_actions: int) -> "Sarsa":
        """The same search with its number of main stages as a number."""
        if self.stages_per_action is None:
            return self
        return replace(
            self, max_stages=max(1, round(self.stages_per_action * n_actions)), stages_per_action=None
        )

    def stages_to_converge(self, n_actions: int) -> int:
        """Stages without a change after which the main trajectory has converged."""
        if self.patience is not None:
            return self.patience
        return max(100, min(2 * n_actions, self.max_stages // 4))


def paper_search(reading: str, changes: dict[str, Any]) -> Sarsa:
    """The paper's search by one of its readings, with what is a setting of it taken out of the changes."""
    check_value("reading", reading, one_of(*READINGS))
    if "search" in changes and reading != "literal":
        raise ValueError(f"reading={reading!r} was given beside search; leave one of them out.")
    return Sarsa(**{**READINGS[reading], **take_settings(Sarsa, changes)})


StopReason = Literal["converged", "max_stages", "time_budget", "interrupted"]


class SarsaResult(NamedTuple):
    """What :func:`run_sarsa` found.

    ``support_units`` is a bool array over units; ``trajectory`` holds both trajectories as segments 0
    (preliminary) and 1 (main); ``table`` holds Q, keyed by the mask of the free units (allowed and not always
    in), where action ``j`` flips the ``j``-th free unit and the last action stays; ``n_rows_read`` counts
    distinct rows; ``n_stages`` counts the stages of both trajectories; ``inclusion`` is the share of the last
    half of the main stages in which a unit was in the state.
    """

    support_units: Bools
    trajectory: Trajectory
    table: ValueTable
    n_rows_read: int
    n_stages: int
    stop_reason: StopReason
    inclusion: NDArray[np.float64]


def run_sarsa(
    take: Take,
    n_rows: int,
    n_columns: int,
    *,
    family: str,
    settings: Sarsa,
    units: Sequence[NDArray[np.integer]],
    allowed: Bools,
    always: Bools,
    rng: np.random.Generator,
    policy: Policy | None = None,
    deadline: float | None = None,
    callback: Callable[[int, int], object] | None = None,
) -> SarsaResult:
    """Play the preliminary and the main trajectory and return the selected units.

    Parameters
    ----------
    take : callable
        ``take(rows) -> (X, y, weight or None, offset or None)``, the dense batch of these row indices, with
        ``y`` 0 or 1 for "binomial".
    n_rows, n_columns : int
        Shape of the design behind ``take``.
    family : {"gaussian", "binomial", "poisson"}
        Which model is fitted.
    settings : Sarsa
        The search.
    units : list of int arrays
        Design columns of each selectable unit.
    allowed, always : bool arrays of shape (n_units,)
        Units that may be selected, and units that are in every state.
    rng : numpy.random.Generator
        Source of all randomness.
    policy : Policy, default=EpsilonGreedy()
        How the main trajectory acts.
    deadline : float, default=None
        Instant of ``time.perf_counter()`` after which no stage begins.
    callback : callable, default=None
        Called as ``callback(stages played, largest number of stages)`` after each stage.

    Returns
    -------
    SarsaResult
        The selected units and the record of the search.
    """
    if settings.n_screened is not None:
        allowed = _screened(take, n_rows, settings, units, allowed, always, rng)
    environment = Environment(
        take,
        n_rows,
        n_columns,
        family=family,
        units=units,
        allowed=allowed,
        always=always,
        price=settings.price,
        batch_sizes=(settings.n_train, settings.n_valid),
        rng=rng,
    )
    policy = EpsilonGreedy() if policy is None else policy
    settings = settings.for_actions(environment.n_actions)
    walk = _Walk(environment, settings, rng, policy, deadline, callback)
    try:
        reason: StopReason = walk.play()
    except KeyboardInterrupt:
        reason = "interrupted"
    return walk.result(reason)


def _screened(
    take: Take,
    n_rows: int,
    settings: Sarsa,
    units: Sequence[NDArray[np.integer]],
    allowed: Bools,
    always: Bools,
    rng: np.random.Generator,
) -> Bools:
    """Units that may be selected and are among the largest correlations with the response."""
    rows = np.sort(rng.choice(n_rows, min(n_rows, settings.n_train + settings.n_valid), replace=False))
    X, y, *_ = take(rows)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    spread = np.maximum(X.std(axis=0), 1e-300)
    strength = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / spread
    of_units = np.array([strength[unit].max(initial=0.0) for unit in units])
    of_units[~(allowed & ~always)] = -1.0
    best = np.argsort(-of_units, kind="stable")[: settings.n_screened]
    return allowed & (always | np.isin(np.arange(len(units)), best))


class _Walk:
    """The two trajectories, their value table and their record."""

    def __init__(
        self,
        environment: Environment,
        settings: Sarsa,
        rng: np.random.Generator,
        policy: Policy,
        deadline: float | None,
        callback: Callable[[int, int], object] | None,
    ) -> None:
        self.environment, self.settings, self.rng, self.policy = environment, settings, rng, policy
        self.deadline = math.inf if deadline is None else deadline
        self.callback = callback
        self.table = ValueTable(environment.n_actions)
        self.rewards = RewardSet(settings.reward_window)
        self.rate = as_schedule(settings.learning_rate)
        self.trajectory = Trajectory(len(environment.units), start=environment.always)
        self.visits: list[bytes] = []
        self.state = np.zeros(environment.n_actions - 1, dtype=bool)

    def play(self) -> StopReason:
        """Steps 2 and 3 of the algorithm."""
        if self.environment.n_actions == 1:
            return "converged"
        if not self._preliminary():
            return "time_budget"
        if self.settings.start != "last":
            self.state = np.zeros(self.environment.n_actions - 1, dtype=bool)
        if self.settings.start == "random":
            self.state = self.rng.random(len(self.state)) < 0.5
        first = self.environment.always.copy()
        first[self.environment.free[self.state]] = True
        self.trajectory.restart(first)
        return self._main()

    def _preliminary(self) -> bool:
        """Step 2; returns False when time ran out."""
        n_actions = self.environment.n_actions
        action = int(self.rng.integers(n_actions))
        for t in range(1, self.settings.n_preliminary + 1):
            if time.perf_counter() >= self.deadline:
                return False
            following = self.environment.after(self.state, action)
            step = self.environment.step(self.state, action)
            next_action = int(self.rng.integers(n_actions))
            self._learn(t, action, step.reward, following, next_action)
            self.rewards.add(step.reward)
            self._record(action, step, moved=True)
            self.state, action = following, next_action
            self._report()
        return True

    def _main(self) -> StopReason:
        """Step 3."""
        tau, price = self.settings.quantile_schedule(), self.settings.price_schedule()
        patience = self.settings.stages_to_converge(self.environment.n_actions)
        action = self._act(self.state, 1)
        unchanged = 0
        for t in range(1, self.settings.max_stages + 1):
            if time.perf_counter() >= self.deadline:
                return "time_budget"
            following = self.environment.after(self.state, action)
            self.environment.price = price(t)
            step = self.environment.step(self.state, action)
            next_action = self._act(following, t)
            self._learn(t, action, step.reward, following, next_action)
            least = self.rewards.quantile(tau(t))
            transit = step.reward > (max(least, 0.0) if self.settings.only_gains else least)
            self.rewards.add(step.reward)
            stays = action == self.environment.n_actions - 1
            self._record(action, step, moved=transit)
            if transit:
                self.state, action = following, next_action
            elif self.settings.turned_down == "draw again":
                action = self._act(self.state, t)
            unchanged = unchanged + 1 if stays or not transit else 0
            self.visits.append(subset_key(self.state))
            self._report()
            if unchanged >= patience:
                return "converged"
        return "max_stages"

    def _act(self, state: Bools, t: int) -> int:
        """Equation (5), or what another policy does."""
        key = subset_key(state)
        return self.policy.choose(self.table.values(key), counts=self.table.counts(key), t=t, rng=self.rng)

    def _learn(self, t: int, action: int, reward: float, following: Bools, next_action: int) -> None:
        """Equation (6)."""
        self.table.sarsa(
            subset_key(self.state),
            action,
            reward=reward,
            next_key=subset_key(following),
            next_action=next_action,
            rate=self.rate(t),
            discount=self.settings.discount,
        )

    def _record(self, action: int, step: Step, *, moved: bool) -> None:
        signed = self.environment.signed(self.state, action)
        size = np.count_nonzero(self.state) + (np.sign(signed) if moved else 0)
        self.trajectory.append(
            signed,
            reward=step.reward,
            moved=moved,
            score=step.after if moved else step.before,
            cost=self.environment.price * float(size),
            rows=self.environment.n_read,
        )

    def _report(self) -> None:
        if self.callback is not None:
            self.callback(len(self.trajectory), self.settings.n_preliminary + self.settings.max_stages)

    def final_state(self, reason: StopReason) -> Bools:
        """Step 4."""
        if reason == "converged":
            return self.state
        if not self.visits:
            return np.zeros_like(self.state)
        stay = self.environment.n_actions - 1
        late = self.visits[len(self.visits) // 2 :]
        absorbing = {key for key in set(late) if self.table.is_best(key, stay)}
        stages = [key for key in late if key in absorbing]
        # A stage drawn at random is a state drawn in proportion to the stages spent there.
        return key_mask(stages[self.rng.integers(len(stages))], stay) if stages else self.state

    def result(self, reason: StopReason) -> SarsaResult:
        """Everything a caller wants to know."""
        support = self.environment.always.copy()
        support[self.environment.free[self.final_state(reason)]] = True
        begin, end = self.trajectory.segment_range(-1)
        if self.trajectory.n_segments == 2 and end > begin:
            inclusion = self.trajectory.inclusion((begin + end) // 2, end)
        else:
            inclusion = support.astype(float)
        return SarsaResult(
            support_units=support,
            trajectory=self.trajectory,
            table=self.table,
            n_rows_read=self.environment.n_read,
            n_stages=len(self.trajectory),
            stop_reason=reason,
            inclusion=inclusion,
        )
