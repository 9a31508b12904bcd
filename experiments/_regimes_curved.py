"""Two-stage trials with curved contrasts, of which short trees can say most but not all."""

from dataclasses import dataclass

import numpy as np

from rlselect import TrialData

__all__ = ["CURVED", "Curved"]

P = 8
_DRAWS = 200
HALF = {-1: 0.5, 1: 0.5}
STAGES = [
    {"history": [f"x{j}" for j in range(P)], "action": "A1", "reward": "R1", "propensity": HALF},
    {"history": ["z0", "z1"], "action": "A2", "reward": "R2", "propensity": HALF},
]


def _parabola(table, stage):
    if stage == 1:
        return 0.7 * (np.square(table["x0"]) - 1.0)
    return np.sin(1.5 * table["z0"]) + 0.4 * np.abs(table["z1"]) - 0.3


def _two_curves(table, stage):
    if stage == 1:
        return 0.8 * np.sin(1.2 * table["x0"]) + 0.35 * np.square(table["x1"]) - 0.35
    return 0.6 * (np.square(table["z0"]) - 1.0) + 0.4 * table["x0"]


def _waves(table, stage):
    if stage == 1:
        return 0.9 * np.cos(1.5 * table["x0"]) - 0.2
    return 0.9 * np.tanh(2.0 * table["z0"]) * np.where(table["z1"] > -0.5, 1.0, -0.5) + 0.2


@dataclass(frozen=True)
class Curved:
    """A trial of eight covariates and two more at the second stage, noise of unit variance.

    Attributes
    ----------
    contrast : callable
        ``contrast(table, stage)``: half of what action 1 is worth beside action -1.
    """

    contrast: callable

    def draw(self, n, rng, policy=None):
        """Columns of a trial; actions by `policy(history, stage)`, or at random."""
        X, z = rng.normal(size=(n, P)), rng.normal(size=(n, 2))
        table = {f"x{j}": X[:, j] for j in range(P)}
        coin = rng.choice([-1, 1], size=(2, n))
        table["A1"] = coin[0] if policy is None else np.asarray(policy(table, 1))
        table["R1"] = 0.5 * X[:, 1] + table["A1"] * self.contrast(table, 1) + rng.normal(size=n)
        table["z0"] = 0.5 * X[:, 0] + np.sqrt(0.75) * z[:, 0]
        table["z1"] = z[:, 1]
        table["A2"] = coin[1] if policy is None else np.asarray(policy(table, 2))
        table["R2"] = 0.5 * X[:, 2] + table["A2"] * self.contrast(table, 2) + rng.normal(size=n)
        return table

    def trial(self, n, seed):
        """A trial with randomised actions."""
        return TrialData.from_wide(self.draw(n, np.random.default_rng(seed)), STAGES)

    def luck(self, n, seed):
        """By how much a trial flatters the best regime: its score with all Q-functions known, less its value.

        The value of any good regime is over-estimated by about as much on the same subjects.
        """
        rng = np.random.default_rng(seed)
        table = self.draw(n, rng)
        gains = [self.contrast(table, t) for t in (1, 2)]
        follows = [table[f"A{t}"] == self.best(table, t) for t in (1, 2)]
        weights = np.cumprod(2.0 * np.array(follows), axis=0)
        # the mean of what stage 2 adds, given the first stage
        later = np.zeros(n)
        for _ in range(_DRAWS):
            z = rng.normal(size=(n, 2))
            drawn = table | {"z0": 0.5 * table["x0"] + np.sqrt(0.75) * z[:, 0], "z1": z[:, 1]}
            later += np.abs(self.contrast(drawn, 2)) / _DRAWS
        main = 0.5 * table["x1"], 0.5 * table["x2"]
        residuals = (
            table["R1"] + np.abs(gains[1]) - main[0] - table["A1"] * gains[0] - later,
            table["R2"] - main[1] - table["A2"] * gains[1],
        )
        scores = sum(main) + np.abs(gains[0]) + later + sum(weights * np.array(residuals))
        return float(scores.mean()) - self.value(self.best, n=200_000)

    def best(self, table, stage):
        """The optimal regime."""
        return np.where(self.contrast(table, stage) > 0.0, 1, -1)

    def value(self, policy, seed=1, n=20_000):
        """Value of a regime on fresh subjects; the main effects have mean 0, and are left out."""
        table = self.draw(n, np.random.default_rng(seed), policy)
        return float(sum(np.mean(table[f"A{t}"] * self.contrast(table, t)) for t in (1, 2)))


CURVED = {"parabola, sine": Curved(_parabola), "two curves": Curved(_two_curves), "waves": Curved(_waves)}
