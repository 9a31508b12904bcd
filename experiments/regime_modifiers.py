r"""First-stage effect modifiers that act through the second stage alone: three arms, a category.

Which arm of the first stage is best depends on x0 and on the site, but only through z, which the second stage
is decided by; the reward of the first stage knows nothing of it.

python experiments/regime_modifiers.py --replicates 8 --seed 1240000 \
    --records experiments/results/regime_modifiers.jsonl --out experiments/results/regime_modifiers.md
"""

import time

import numpy as np
from _regimes_common import make_table
from sklearn.linear_model import LassoCV

from rlselect import QLearning, TrialData

N, P, FRESH = 400, 8, 20_000
ARMS, SITES = np.array(["a", "b", "c"]), np.array(["east", "north", "west"])
FIRST = [*(f"x{j}" for j in range(P)), "site"]
MODIFIERS = {"x0", "site"}
STAGES = [
    {"history": FIRST, "action": "arm", "reward": "early", "propensity": "1:1:1"},
    {"history": ["z"], "action": "later", "reward": "late", "propensity": "1:1"},
]


def draw(n, rng, policy=None):
    """Columns of a trial; actions by `policy(history, stage)`, or at random."""
    table = {f"x{j}": rng.normal(size=n) for j in range(P)} | {"site": rng.choice(SITES, size=n)}
    table["arm"] = rng.choice(ARMS, size=n) if policy is None else np.asarray(policy(table, 1))
    table["early"] = 0.5 * table["x1"] + rng.normal(size=n)
    moved = (table["arm"] == "b") * table["x0"] + (table["arm"] == "c") * (
        2.0 * (table["site"] == "north") - 0.7
    )
    table["z"] = moved + 0.5 * rng.normal(size=n)
    table["later"] = rng.choice([0, 1], size=n) if policy is None else np.asarray(policy(table, 2))
    table["late"] = 0.5 * table["z"] + table["later"] * (table["z"] - 0.3) + rng.normal(size=n)
    return table


def best(table, stage):
    """The best regime: z is worth the more the larger it is."""
    if stage == 2:
        return (table["z"] > 0.3).astype(int)
    means = np.column_stack([0.0 * table["x0"], table["x0"], 2.0 * (table["site"] == "north") - 0.7])
    return ARMS[means.argmax(axis=1)]


def by_learner(trial, seed):
    """What `QLearning` recommends, and columns that decide at the first stage."""
    learner = QLearning(random_state=seed).fit(trial)
    return learner.predict, set(learner.tailoring_[0])


class Lasso:
    """Lasso Q-learning: columns, indicators of labels and actions, and products of both."""

    def __init__(self, trial):
        later = np.zeros(trial.n_subjects)
        self.models, self.stages = {}, trial.stages
        for t in (1, 0):
            stage, table = trial.stages[t], trial.history(t + 1)
            action = np.array(stage.labels)[stage.action]
            model = LassoCV(cv=5, random_state=0, max_iter=5000)
            self.models[t + 1] = model.fit(self._design(table, t + 1, action)[0], stage.reward + later)
            later = self._values(table, t + 1).max(axis=1)

    def _design(self, table, stage, action):
        """The design (n, d) and, of each column, the history column that it holds a product of."""
        parts, names = [], []
        for name in self.stages[stage - 1].names:
            values = np.asarray(table[name])
            numbers = values.dtype.kind in "if"
            each = [values] if numbers else [values == label for label in np.unique(values)[1:]]
            parts, names = [*parts, *each], [*names, *[name] * len(each)]
        H = np.column_stack(parts).astype(float)
        taken = [(np.asarray(action) == label).astype(float) for label in self.stages[stage - 1].labels[1:]]
        blocks = [H, np.column_stack(taken), *(H * one[:, None] for one in taken)]
        return np.column_stack(blocks), [None] * (H.shape[1] + len(taken)) + names * len(taken)

    def _values(self, table, stage):
        n, labels = len(table["x0"]), self.stages[stage - 1].labels
        each = (self._design(table, stage, np.full(n, label))[0] for label in labels)
        return np.column_stack([self.models[stage].predict(design) for design in each])

    def predict(self, table, stage):
        return np.array(self.stages[stage - 1].labels)[self._values(table, stage).argmax(axis=1)]

    def modifiers(self, trial):
        """Columns with a product that is not 0 at the first stage."""
        _, names = self._design(trial.history(1), 1, np.full(trial.n_subjects, ARMS[0]))
        return {name for name, slope in zip(names, self.models[1].coef_, strict=True) if name and slope}


def by_lasso(trial, seed):
    lasso = Lasso(trial)
    return lasso.predict, lasso.modifiers(trial)


METHODS = {"QLearning": by_learner, "lasso Q": by_lasso}


def one(method, seed):
    """Value on fresh subjects, modifiers found, other columns named, and seconds."""
    trial = TrialData.from_wide(draw(N, np.random.default_rng(seed)), STAGES)
    started = time.process_time()
    policy, named = METHODS[method](trial, seed)
    seconds = time.process_time() - started
    return {"value": _worth(policy), "named": sorted(named), "seconds": round(seconds, 2)}


def _worth(policy):
    table = draw(FRESH, np.random.default_rng(10**6), lambda table, stage: policy(dict(table), stage))
    return round(float(np.mean(table["early"] + table["late"])), 4)


def line(runs):
    """The row of a method."""
    method, named = runs[0]["method"], [set(run["named"]) for run in runs]
    values = np.array([run["value"] for run in runs])
    error = values.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
    found = [np.mean([name in mine for mine in named]) for name in sorted(MODIFIERS)]
    others = np.mean([len(mine - MODIFIERS) for mine in named])
    return (
        f"| {method} | {len(runs)} | {found[1]:.2f} | {found[0]:.2f} | {others:.2f} | {values.mean():.3f} "
        f"({error:.3f}) | {values.mean() / _worth(best):.3f} | {np.mean([r['seconds'] for r in runs]):.1f} |"
    )


if __name__ == "__main__":
    make_table(
        __doc__,
        f"Three arms, then two, n = {N}, {P} numbers and a category at the first stage, {{seeds}}: "
        "x0 and the site decide there, through the second stage alone. Share of trials in which each is "
        "named, other columns named, value on fresh subjects with the standard error of its mean, share of "
        "the best regime's, processor seconds. Named: by ours, columns that decide; by lasso, those with a "
        "product.",
        [{"method": method} for method in METHODS],
        one,
        ["method", "trials", "x0", "site", "others", "value", "of optimum", "seconds"],
        line,
        replicates=12,
        seed=1_240_000,
    )
