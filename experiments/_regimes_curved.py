"""A two-stage trial with curved contrasts, of which short trees can say most but not all."""

import numpy as np

from rlselect import TrialData

P = 8
HALF = {-1: 0.5, 1: 0.5}
STAGES = [
    {"history": [f"x{j}" for j in range(P)], "action": "A1", "reward": "R1", "propensity": HALF},
    {"history": ["z0", "z1"], "action": "A2", "reward": "R2", "propensity": HALF},
]


def draw(n, rng, policy=None):
    """Columns of a trial; actions by `policy(history, stage)`, or at random."""
    X, z = rng.normal(size=(n, P)), rng.normal(size=(n, 2))
    table = {f"x{j}": X[:, j] for j in range(P)}
    coin = rng.choice([-1, 1], size=(2, n))
    table["A1"] = coin[0] if policy is None else np.asarray(policy(table, 1))
    contrast = 0.7 * (np.square(X[:, 0]) - 1.0)
    table["R1"] = 0.5 * X[:, 1] + table["A1"] * contrast + rng.normal(size=n)
    table["z0"] = 0.5 * X[:, 0] + np.sqrt(0.75) * z[:, 0]
    table["z1"] = z[:, 1]
    table["A2"] = coin[1] if policy is None else np.asarray(policy(table, 2))
    contrast = np.sin(1.5 * table["z0"]) + 0.4 * np.abs(table["z1"]) - 0.3
    table["R2"] = 0.5 * X[:, 2] + table["A2"] * contrast + rng.normal(size=n)
    return table


def trial_of(n, seed):
    """A trial with randomised actions."""
    return TrialData.from_wide(draw(n, np.random.default_rng(seed)), STAGES)


def best(history, stage):
    """The optimal regime."""
    if stage == 1:
        return np.where(np.square(history["x0"]) > 1.0, 1, -1)
    return np.where(np.sin(1.5 * history["z0"]) + 0.4 * np.abs(history["z1"]) > 0.3, 1, -1)


def value_of(policy, seed, n=50_000):
    """Value of a regime on fresh subjects."""
    table = draw(n, np.random.default_rng(seed), policy)
    return float(np.mean(table["R1"] + table["R2"]))
