"""Trials whose contrasts are linear: sparse or dense, randomised or not, of one or two stages."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rlselect import TrialData

__all__ = ["LINEAR_TRIALS", "LinearTrial"]

P = 10
_SIGNS = np.where(np.arange(P) % 2, -1.0, 1.0)


@dataclass(frozen=True)
class LinearTrial:
    """Ten covariates, of which two or all decide, and main effects that are linear or not.

    Attributes
    ----------
    n : int
    n_stages : int
    dense : bool
        Whether all covariates decide at the first stage, or two.
    observed : bool
        Whether actions lean on the covariates that the main effects lean on.
    curved : bool
        Whether main effects are curved.
    """

    n: int
    n_stages: int = 1
    dense: bool = False
    observed: bool = False
    curved: bool = False

    def contrast(self, table, stage):
        """What action 1 is worth beside action 0."""
        if stage == 2:
            return 0.2 + 0.8 * table["z"] - 0.5 * table["x1"] + 0.4 * table["A1"]
        X = np.column_stack([table[f"x{j}"] for j in range(P)])
        return 0.2 + (X @ (0.3 * _SIGNS) if self.dense else 0.8 * X[:, 0] - 0.6 * X[:, 2])

    def draw(self, n, rng, policy=None):
        """Columns; actions by ``policy(history, stage)``, as they came about without."""
        X = rng.normal(size=(n, P))
        table = {f"x{j}": X[:, j] for j in range(P)}
        main = np.exp(0.7 * X[:, 0]) + np.square(X[:, 1]) if self.curved else X[:, 0] + 0.5 * X[:, 1]
        leans = 1.2 * X[:, 0] - 0.8 * X[:, 1]
        for stage in range(1, self.n_stages + 1):
            if stage == 2:
                table["z"] = 0.5 * X[:, 0] + rng.normal(size=n)
                main = np.square(table["z"]) if self.curved else table["z"] + 0.5 * X[:, 3]
                leans = 1.2 * table["z"]
            chance = expit(leans) if self.observed else np.full(n, 0.5)
            coin = (rng.uniform(size=n) < chance).astype(int)
            action = coin if policy is None else np.asarray(policy(dict(table), stage))
            gain = self.contrast(table, stage)
            table[f"A{stage}"] = action
            table[f"R{stage}"] = main + action * gain + rng.normal(size=n)
            table[f"gain{stage}"] = action * gain
        return table

    def trial(self, seed):
        """A trial to learn from."""
        table = self.draw(self.n, np.random.default_rng(seed))
        known = {} if self.observed else {"propensity": {0: 0.5, 1: 0.5}}
        new = ([f"x{j}" for j in range(P)], ["z"])
        stages = [
            {"history": new[t], "action": f"A{t + 1}", "reward": f"R{t + 1}", **known}
            for t in range(self.n_stages)
        ]
        return TrialData.from_wide(table, stages)

    def value(self, policy, n=20_000):
        """What a regime adds to action 0 for everyone, on fresh subjects."""
        table = self.draw(n, np.random.default_rng(10**6), policy)
        return float(sum(np.mean(table[f"gain{stage}"]) for stage in range(1, self.n_stages + 1)))


LINEAR_TRIALS = {
    "one stage, sparse, n = 200": LinearTrial(200),
    "one stage, dense, n = 200": LinearTrial(200, dense=True),
    "two stages, sparse, n = 200": LinearTrial(200, 2),
    "two stages, dense, n = 800": LinearTrial(800, 2, dense=True),
    "observational, one stage, sparse, n = 200": LinearTrial(200, observed=True),
    "observational, two stages, sparse, n = 800": LinearTrial(800, 2, observed=True),
    "observational, two stages, dense, n = 200": LinearTrial(200, 2, dense=True, observed=True),
    "observational, curved main effects, n = 800": LinearTrial(800, 2, observed=True, curved=True),
}
