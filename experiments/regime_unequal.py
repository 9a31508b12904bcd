r"""Trials of one stage whose arms have unequal shares: are the columns found that decide?

python experiments/regime_unequal.py --replicates 8 --seed 1970000 \
    --records experiments/results/regime_unequal.jsonl --out experiments/results/regime_unequal.md
"""

import numpy as np
from _regimes_common import make_table
from sklearn.linear_model import LassoCV

from regimes import PlainQ
from rlselect import QLearning, TrialData

N, P, FRESH = 200, 10, 20_000
NAMES = [f"x{j}" for j in range(P)]
RATIOS = ("1:1", "3:1", "1:3", "2:1:1", "6:3:1")


def gains(X, n_arms):
    """What each arm adds to the first one (m, K): each of the others leans on a column of its own."""
    return np.column_stack([np.zeros(len(X)), 0.1 + 0.8 * X[:, : n_arms - 1]])


def shares(ratio):
    parts = np.array(ratio.split(":"), dtype=float)
    return parts / parts.sum()


def draw(ratio, n, rng):
    """Columns of a trial; x3 and x4 predict."""
    X, chances = rng.normal(size=(n, P)), shares(ratio)
    arm = rng.choice(len(chances), size=n, p=chances)
    reward = X[:, 3] + 0.5 * X[:, 4] + gains(X, len(chances))[np.arange(n), arm] + rng.normal(size=n)
    return dict(zip(NAMES, X.T, strict=True)) | {"arm": arm, "reward": reward}


def one(ratio, seed):
    """Shares of what the best regime adds to the first arm, and columns that are kept and that decide."""
    chances = shares(ratio)
    known = dict(enumerate(chances.tolist()))
    stage = {"history": NAMES, "action": "arm", "reward": "reward", "propensity": known}
    trial = TrialData.from_wide(draw(ratio, N, np.random.default_rng(seed)), [stage])
    learner = QLearning(random_state=seed).fit(trial)
    lasso = PlainQ(lambda: LassoCV(cv=5, random_state=0, max_iter=5000), True).fit(trial)
    X = np.random.default_rng(10**6).normal(size=(FRESH, P))
    fresh, each = dict(zip(NAMES, X.T, strict=True)), gains(X, len(chances))
    named, kept = set(learner.tailoring_[0]), set(learner.selected_[0])
    policies = {"regime": learner.predict, "rules": learner.regime_.predict, "lasso": lasso.predict}
    worth = {
        name: round(float(each[np.arange(FRESH), policy(fresh, 1)].mean() / each.max(axis=1).mean()), 4)
        for name, policy in policies.items()
    }
    true = set(NAMES[: len(chances) - 1])
    return worth | {"missed": len(true - named), "others": len(named - true), "kept": len(kept)}


def line(runs):
    """The row of a ratio."""
    ratio = runs[0]["ratio"]
    mean = {name: np.mean([run[name] for run in runs]) for name in runs[0] if name not in ("ratio", "seed")}
    away = np.array([run["regime"] - run["lasso"] for run in runs])
    error = away.std(ddof=1) / np.sqrt(len(away)) if len(away) > 1 else np.nan
    return (
        f"| {ratio} | {len(runs)} | {mean['regime']:.3f} | {mean['rules']:.3f} | {mean['lasso']:.3f} | "
        f"{away.mean():+.4f} ({error:.4f}) | {mean['missed']:.2f} of {len(shares(ratio)) - 1} | "
        f"{mean['others']:.2f} | {mean['kept']:.1f} of {P} |"
    )


if __name__ == "__main__":
    make_table(
        __doc__,
        f"One stage, n = {N}, {P} covariates of which two predict and one for each arm but the first "
        "decides, {seeds}: share of what the best regime adds to the first arm, by `predict`, short rules "
        "and lasso Q-learning, paired difference from the latter with its standard error, columns of "
        "`tailoring_` that are missing and that do not belong there, columns kept.",
        [{"ratio": ratio} for ratio in RATIOS],
        one,
        ["arms", "trials", "regime", "rules", "lasso Q", "regime less lasso", "missed", "others", "kept"],
        line,
        replicates=10,
        seed=1_970_000,
    )
