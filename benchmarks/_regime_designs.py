"""Trials with a known best regime: three of our own, and setting I of the dissertation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rlselect.simulate import make_regime_trial

__all__ = ["DESIGNS", "Design"]

HALF = {-1: 0.5, 1: 0.5}


@dataclass(frozen=True)
class Design:
    """A trial: what is drawn, its stages, and what is known of it.

    Attributes
    ----------
    n : int
    draw : callable
        ``draw(n, rng, policy)`` gives columns; actions by ``policy(history, stage)``, at random without.
    stages : list of dict
    best : callable
        The best regime, ``best(history, stage)``.
    decisive : list of sets
        By stage: columns the best decision depends on.
    """

    n: int
    draw: Callable
    stages: list
    best: Callable
    decisive: list


def _curved(n, rng, policy=None):
    """Two stages, 8 + 2 covariates, randomised; contrasts are a parabola, a sine and an absolute value."""
    X, z = rng.normal(size=(n, 8)), rng.normal(size=(n, 2))
    coin = rng.choice([-1, 1], size=(2, n))
    table = {f"x{j}": X[:, j] for j in range(8)}
    table["A1"] = coin[0] if policy is None else np.asarray(policy(table, 1))
    table["R1"] = 0.5 * X[:, 1] + table["A1"] * 0.7 * (np.square(X[:, 0]) - 1.0) + rng.normal(size=n)
    table["z0"], table["z1"] = 0.5 * X[:, 0] + np.sqrt(0.75) * z[:, 0], z[:, 1]
    table["A2"] = coin[1] if policy is None else np.asarray(policy(table, 2))
    contrast = np.sin(1.5 * table["z0"]) + 0.4 * np.abs(table["z1"]) - 0.3
    table["R2"] = 0.5 * X[:, 2] + table["A2"] * contrast + rng.normal(size=n)
    return table


def _best_curved(table, stage):
    if stage == 1:
        return np.where(np.square(table["x0"]) > 1.0, 1, -1)
    return np.where(np.sin(1.5 * table["z0"]) + 0.4 * np.abs(table["z1"]) > 0.3, 1, -1)


def _observed(n, rng, policy=None):
    """Two stages, not randomised; contrasts are linear, main effects are not."""
    X = rng.normal(size=(n, 8))
    table = {f"x{j}": X[:, j] for j in range(8)}
    chance = expit(1.2 * X[:, 0] - 0.8 * X[:, 1])
    table["A1"] = (
        (rng.uniform(size=n) < chance).astype(int) if policy is None else np.asarray(policy(table, 1))
    )
    table["z"] = z = 0.5 * X[:, 0] + rng.normal(size=n)
    main = np.exp(0.7 * X[:, 0]) + np.square(X[:, 1])
    table["R1"] = main + table["A1"] * (0.5 + X[:, 0] - X[:, 2]) + rng.normal(size=n)
    chance = expit(1.2 * z)
    table["A2"] = (
        (rng.uniform(size=n) < chance).astype(int) if policy is None else np.asarray(policy(table, 2))
    )
    table["R2"] = np.square(z) + X[:, 3] + table["A2"] * (z - 0.5 * X[:, 1] + 0.3) + rng.normal(size=n)
    return table


def _best_observed(table, stage):
    if stage == 1:
        return (0.5 + table["x0"] - table["x2"] > 0).astype(int)
    return (table["z"] - 0.5 * table["x1"] + 0.3 > 0).astype(int)


def _arms(n, rng, policy=None):
    """One stage, four arms, 100 covariates, three of which decide."""
    X = rng.normal(size=(n, 100))
    table = {f"x{j}": X[:, j] for j in range(100)}
    table["A1"] = rng.integers(0, 4, size=n) if policy is None else np.asarray(policy(table, 1))
    gains = np.column_stack([np.zeros(n), 0.6 * X[:, :3]])
    table["R1"] = X[:, 3] + 0.5 * X[:, 4] + gains[np.arange(n), table["A1"]] + rng.normal(size=n)
    return table


def _best_arms(table, stage):
    return np.column_stack([np.zeros(len(table["x0"])), table["x0"], table["x1"], table["x2"]]).argmax(axis=1)


def _setting_one(n, rng, policy=None):
    return make_regime_trial("I", n, 10, policy=policy, random_state=rng).columns


def _best_one(table, stage):
    if stage == 1:
        return np.where(table["X1_3"] > 0, 1, -1)
    return np.where(2.0 * table["X1_1"] + 1.5 * table["X1_2"] + table["R1"] > 0, 1, -1)


def _stage(history, number, **more):
    return {"history": history, "action": f"A{number}", "reward": f"R{number}", **more}


_X = [f"x{j}" for j in range(8)]
DESIGNS = {
    "curved": Design(
        300,
        _curved,
        [_stage(_X, 1, propensity=HALF), _stage(["z0", "z1"], 2, propensity=HALF)],
        _best_curved,
        [{"x0"}, {"z0", "z1"}],
    ),
    "observational": Design(
        800, _observed, [_stage(_X, 1), _stage(["z"], 2)], _best_observed, [{"x0", "x2"}, {"z", "x1"}]
    ),
    "four arms": Design(
        400,
        _arms,
        [_stage([f"x{j}" for j in range(100)], 1, propensity="1:1:1:1")],
        _best_arms,
        [{"x0", "x1", "x2"}],
    ),
    "setting I": Design(
        200,
        _setting_one,
        [_stage([f"X1_{j}" for j in range(1, 11)], 1, propensity=HALF), _stage([], 2, propensity=HALF)],
        _best_one,
        [{"X1_3"}, {"X1_1", "X1_2", "R1"}],
    ),
}
