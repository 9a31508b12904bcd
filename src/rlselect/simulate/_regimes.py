"""The three multi-stage trials of chapter 4 of the dissertation (Tables 4.1 to 4.3)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm, qmc

__all__ = ["SimulatedTrial", "make_regime_trial"]

_SETTINGS = ("I", "II", "III")
Policy = Callable[[dict[str, np.ndarray], int], Any]


@dataclass(frozen=True)
class SimulatedTrial:
    """A simulated trial with everything that is known about it.

    Attributes
    ----------
    columns : dict of arrays
        One entry per column of the wide table.
    stages : list of dict
        What ``TrialData.from_wide`` asks for.
    outcome_features : list of sets
        By stage: history columns the optimal Q-function depends on.
    direct_features : list of sets
        By stage: those of them that act through the stage's own reward (all, where only the last stage has
        one). At stage 1 of settings I and II the others act through stage 2 alone, in II too weakly for 200
        subjects.
    decision_features : list of sets
        By stage: history columns that decide through the stage's own reward. (In setting II the best first
        decision also depends a little on X1_4, X1_1 and X1_2 through stage 2; ignoring them costs 0.12 of
        5.6.)
    proxies : list of lists of sets
        By stage: sets of columns that stand for each other (correlation above .95): one of each is enough.
    optimal_value : float
        Expected sum of rewards under the optimal regime.
    """

    columns: dict[str, np.ndarray]
    stages: list[dict]
    outcome_features: list[set]
    direct_features: list[set]
    decision_features: list[set]
    proxies: list[list[set]] = field(default_factory=list)
    optimal_value: float = float("nan")

    def missed(self, selected: Any, stage: int, *, kind: str = "outcome") -> int:
        """How many features of a stage (counted from 1) are not in ``selected``.

        Parameters
        ----------
        selected : iterable of str
        stage : int
        kind : {"outcome", "direct", "decision"}
            Which features count.
        """
        truth = self._truth(stage, kind)
        missing = set(truth) - set(selected)
        for group in self.proxies[stage - 1]:
            if group & set(selected):
                missing -= group
            elif group & missing:
                missing = (missing - group) | {min(group)}
        return len(missing)

    def _truth(self, stage: int, kind: str) -> set:
        kinds = {
            "outcome": self.outcome_features,
            "direct": self.direct_features,
            "decision": self.decision_features,
        }
        if kind not in kinds:
            raise ValueError(f"kind={kind!r} is not known; use one of {list(kinds)}")
        return kinds[kind][stage - 1]

    def extra(self, selected: Any, stage: int, *, kind: str = "outcome") -> int:
        """How many columns in ``selected`` are not features of a stage; proxies of one are not counted."""
        truth = self._truth(stage, kind)
        return len(set(selected) - set(truth))


def make_regime_trial(
    setting: str = "I",
    n_subjects: int = 200,
    n_covariates: int = 10,
    *,
    policy: Policy | None = None,
    random_state: Any = None,
) -> SimulatedTrial:
    """Simulate setting I (two stages), II (two stages, new covariates in between) or III (three stages).

    Actions are -1 and 1. In setting III all of ``X_t,2 ... X_t,p`` are N(45, 25) and the last reward carries
    no noise of its own, as printed.

    Parameters
    ----------
    setting : {"I", "II", "III"}
    n_subjects, n_covariates : int
        Covariates a stage, at least 5.
    policy : callable, optional
        ``policy(history, stage) -> actions``, with the history as a dict of columns and stages counted from
        1. By default each action has probability one half.
    random_state : int, Generator or None

    Returns
    -------
    SimulatedTrial

    Examples
    --------
    >>> from rlselect.simulate import make_regime_trial
    >>> trial = make_regime_trial("III", 50, 10, random_state=0)
    >>> len(trial.stages), trial.optimal_value, sorted(trial.decision_features[0])
    (3, 20.0, ['X1_2'])
    """
    if setting not in _SETTINGS:
        raise ValueError(f"setting={setting!r} is not known; use one of {list(_SETTINGS)}")
    if n_covariates < 5 or n_subjects < 1:
        raise ValueError(
            f"n_covariates={n_covariates} must be at least 5 and n_subjects={n_subjects} at least 1"
        )
    rng = np.random.default_rng(random_state)
    make = {"I": _setting_one, "II": _setting_two, "III": _setting_three}[setting]
    return make(_Recorder(rng, n_subjects, n_covariates, policy))


class _Recorder:
    """Collects columns in the order in which a trial produces them."""

    def __init__(self, rng, n, p, policy):
        self.rng, self.n, self.p, self.policy = rng, n, p, policy
        self.columns: dict[str, np.ndarray] = {}
        self.stages: list[dict] = []

    def covariates(self, values):
        """Note the covariates of the next stage."""
        stage = len(self.stages) + 1
        names = [f"X{stage}_{j + 1}" for j in range(values.shape[1])]
        self.columns |= dict(zip(names, values.T, strict=True))
        self.stages.append({"history": names, "action": f"A{stage}", "reward": f"R{stage}"})

    def act(self):
        """Draw the action of the present stage."""
        stage = len(self.stages)
        if self.policy is None:
            action = self.rng.choice([-1, 1], size=self.n)
        else:
            action = np.asarray(self.policy(dict(self.columns), stage)).astype(int)
        self.columns[f"A{stage}"] = action
        return action

    def reward(self, values):
        """Note the reward of the present stage."""
        self.columns[f"R{len(self.stages)}"] = values
        return values

    def normal(self, n_columns=None):
        """Standard normal draws."""
        return self.rng.normal(size=self.n if n_columns is None else (self.n, n_columns))


def _setting_one(trial: _Recorder) -> SimulatedTrial:
    X = trial.normal(trial.p)
    trial.covariates(X)
    a1 = trial.act()
    r1 = trial.reward(2.0 * X[:, 2] * a1 + 1.5 * X[:, 3] + trial.normal())
    trial.covariates(np.empty((trial.n, 0)))
    a2 = trial.act()
    trial.reward((2.0 * X[:, 0] + 1.5 * X[:, 1] + r1) * a2 + X[:, 4] ** 2 + trial.normal())
    first = {f"X1_{j}" for j in (1, 2, 3, 4, 5)}
    return SimulatedTrial(
        trial.columns,
        trial.stages,
        [first, {"X1_1", "X1_2", "X1_5", "R1"}],
        [{"X1_3", "X1_4"}, {"X1_1", "X1_2", "X1_5", "R1"}],
        [{"X1_3"}, {"X1_1", "X1_2", "R1"}],
        [[], []],
        _value_one(),
    )


def _value_one() -> float:
    # The first decision is sign(X1_3); what follows is a folded normal with a shift of 2 |X1_3|.
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = 5.0 * (nodes + 1.0)
    density = 2.0 * norm.pdf(x) * 5.0 * weights
    return float(density @ (2.0 * x + _folded(2.0 * x, np.sqrt(9.5))) + 1.0)


def _folded(mean, deviation):
    """``E |N(mean, deviation^2)|``."""
    ratio = mean / deviation
    return 2.0 * deviation * norm.pdf(ratio) + mean * (2.0 * norm.cdf(ratio) - 1.0)


def _setting_two(trial: _Recorder) -> SimulatedTrial:
    X = trial.normal(trial.p)
    trial.covariates(X)
    a1 = trial.act()
    r1 = trial.reward((1.0 + 1.5 * X[:, 2]) * a1 + X[:, 3] + trial.normal())
    Z = trial.normal(trial.p)
    Z[:, 0] = 1.25 * X[:, 0] * a1 + Z[:, 0] > 0
    Z[:, 1] = -1.75 * X[:, 1] * a1 + Z[:, 1] > 0
    trial.covariates(Z)
    a2 = trial.act()
    inner = 0.5 + 1.5 * r1 + 1.5 * a1 + 2.0 * (Z[:, 0] - Z[:, 1])
    trial.reward(inner * a2 + Z[:, 2] + trial.normal())
    first = {f"X1_{j}" for j in (1, 2, 3, 4)}
    return SimulatedTrial(
        trial.columns,
        trial.stages,
        [first, {"R1", "A1", "X2_1", "X2_2", "X2_3"}],
        [{"X1_3", "X1_4"}, {"R1", "A1", "X2_1", "X2_2", "X2_3"}],
        [{"X1_3"}, {"R1", "A1", "X2_1", "X2_2"}],
        [[], []],
        _value_two(),
    )


def first_stage_two(X: np.ndarray, action: Any) -> np.ndarray:
    """Optimal Q-function of setting II at stage 1, for the covariates X1_1 ... X1_4."""
    one, two, three, four = X[:, :4].T
    outcome = (1.0 + 1.5 * three) * action + four
    chance = norm.cdf(1.25 * one * action), norm.cdf(-1.75 * two * action)
    value = outcome
    for high in (0, 1):
        for low in (0, 1):
            weight = np.where(high, chance[0], 1 - chance[0]) * np.where(low, chance[1], 1 - chance[1])
            value = value + weight * _folded(0.5 + 1.5 * outcome + 1.5 * action + 2.0 * (high - low), 1.5)
    return value


def _value_two() -> float:
    X = norm.ppf(qmc.Sobol(4, seed=0).random_base2(15))
    return float(np.maximum(first_stage_two(X, 1), first_stage_two(X, -1)).mean())


def _setting_three(trial: _Recorder) -> SimulatedTrial:
    loss = np.zeros(trial.n)
    lead = np.zeros(trial.n)
    # (slope and shift of the regret, mean of the stage's first covariate given the one before)
    for stage, (slope, shift, carry) in enumerate([(0.6, 35, None), (0.8, 60, 1.5), (1.4, 55, 0.5)]):
        X = 45.0 + 5.0 * trial.normal(trial.p)
        if carry is not None:
            X[:, 0] = carry * lead + trial.normal()
        lead = X[:, 0]
        trial.covariates(X)
        action = trial.act()
        loss += np.abs(slope * X[:, 0] - shift) * ((action > 0) != (X[:, 1] > 45.0))
        trial.reward(20.0 - loss if stage == 2 else np.zeros(trial.n))
    leads = [{f"X{t}_1" for t in range(1, stage + 1)} for stage in (1, 2, 3)]
    past = [set(), {"A1", "X1_2"}, {"A1", "X1_2", "A2", "X2_2"}]
    outcome = [leads[t] | past[t] | {f"X{t + 1}_2"} for t in range(3)]
    return SimulatedTrial(
        trial.columns,
        trial.stages,
        outcome,
        outcome,
        [{f"X{t}_2"} for t in (1, 2, 3)],
        [[], [leads[1]], [leads[2]]],
        20.0,
    )
