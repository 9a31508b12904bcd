r"""Rewards that are not normal: is anything said of their regimes confident and wrong?

python experiments/regime_rewards.py --replicates 10 --seed 2200000 \
    --records experiments/results/regime_rewards.jsonl --out experiments/results/regime_rewards.md
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from _regimes_common import make_table
from scipy.special import expit, ndtr
from sklearn.linear_model import LassoCV

from regimes import PlainQ
from rlselect import QLearning, TrialData

N, P, FRESH, HORIZON = 200, 5, 50_000, 2.0
NAMES = [f"x{j}" for j in range(P)]


def predictor(X, arm, tailors):
    """What arm and covariates say: x0 predicts, and x1 decides unless arms do nothing."""
    return X[:, 0] + tailors * arm * (0.3 + X[:, 1])


@dataclass(frozen=True)
class Rewards:
    """Rewards of a kind, given a predictor.

    Attributes
    ----------
    draw : callable
        From predictor and generator to rewards.
    mean : callable
        Their expectations.
    low, high : float
        What a reward can be.
    options : dict
        Of the trial.
    """

    draw: Callable
    mean: Callable
    low: float = -np.inf
    high: float = np.inf
    options: dict = field(default_factory=dict)


def _outlier(eta, rng):
    y = eta + rng.normal(size=len(eta))
    y[0] += 60.0
    return y


def _ceiling_mean(eta):
    # of min(y, 1), y normal of unit variance about eta
    a = 1.0 - eta
    return eta * ndtr(a) - np.exp(-0.5 * a**2) / np.sqrt(2.0 * np.pi) + 1.0 - ndtr(a)


KINDS = {
    "log-normal": Rewards(
        lambda eta, rng: np.exp(0.6 * eta + rng.normal(size=len(eta))),
        lambda eta: np.exp(0.6 * eta + 0.5),
        low=0.0,
    ),
    "events of 5 %": Rewards(
        lambda eta, rng: (rng.uniform(size=len(eta)) < expit(eta - 3.6)).astype(int),
        lambda eta: expit(eta - 3.6),
        low=0.0,
        high=1.0,
    ),
    "counts, two thirds zeros": Rewards(
        lambda eta, rng: rng.poisson(np.exp(0.5 * eta)) * (rng.uniform(size=len(eta)) < 0.5),
        lambda eta: 0.5 * np.exp(0.5 * eta),
        low=0.0,
        options={"reward_type": "count"},
    ),
    "a third at the ceiling": Rewards(
        lambda eta, rng: np.minimum(eta + rng.normal(size=len(eta)), 1.0), _ceiling_mean, high=1.0
    ),
    "one outlier": Rewards(_outlier, lambda eta: eta),
    "survival, four in ten censored": Rewards(
        lambda eta, rng: rng.exponential(np.exp(0.6 * eta)),
        lambda eta: np.exp(0.6 * eta) * -np.expm1(-HORIZON * np.exp(-0.6 * eta)),
        low=0.0,
        high=HORIZON,
        options={"horizon": HORIZON},
    ),
}


def make(kind, tailors, rng):
    """The trial."""
    X, arm, rewards = rng.normal(size=(N, P)), rng.integers(0, 2, N), KINDS[kind]
    table = dict(zip(NAMES, X.T, strict=True)) | {"arm": arm}
    table["y"] = rewards.draw(predictor(X, arm, tailors), rng)
    stage = {"history": NAMES, "action": "arm", "reward": "y", "propensity": {0: 0.5, 1: 0.5}}
    if "horizon" in rewards.options:
        end = rng.exponential(1.8, size=N)
        table |= {"lost": end < table["y"], "y": np.minimum(table["y"], end)}
        stage["censored"] = "lost"
    return TrialData.from_wide(table, [stage], **rewards.options)


def one(kind, tailors, seed):
    """What is said of regime and rules, what is true, and what lasso Q-learning is worth."""
    trial = make(kind, tailors, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = QLearning(random_state=seed).fit(trial)
        lasso = PlainQ(lambda: LassoCV(cv=5, random_state=0, max_iter=5000), True).fit(trial)
    X, rewards = np.random.default_rng(10**6).normal(size=(FRESH, P)), KINDS[kind]
    fresh = dict(zip(NAMES, X.T, strict=True))
    each = np.column_stack([rewards.mean(predictor(X, arm, tailors)) for arm in (0, 1)])
    chance, best = each.mean(), each.max(axis=1).mean()

    def worth(policy):
        return float(each[np.arange(FRESH), np.asarray(policy(fresh, 1))].mean())

    found = {"chance": chance, "best": best, "lasso": worth(lasso.predict)}
    for name, policy, value in (
        ("regime", learner.predict, learner.value_),
        ("rules", learner.regime_.predict, learner.regime_.value_),
    ):
        gain, truth = value.less(learner.observed_), worth(policy)
        said = [value.value, *value.interval]
        found |= {
            name: truth,
            f"{name} held": value.interval[0] <= truth <= value.interval[1],
            f"{name} bias": value.value - truth,
            f"{name} better": gain.interval[0] > 0.0,
            f"{name} worse": gain.interval[1] < 0.0,
            f"{name} beyond": min(said) < rewards.low or max(said) > rewards.high,
        }
    found["named"] = learner.tailoring_[0]
    return {key: float(value) if key != "named" else value for key, value in found.items()}


def line(runs):
    """The row of a kind of rewards, with or without an effect."""
    mean = {key: np.mean([run[key] for run in runs]) for key in runs[0] if key not in ("kind", "named")}
    tailors = runs[0]["tailors"]
    parts = [runs[0]["kind"], "x1 decides" if tailors else "nothing", str(len(runs))]
    for key in ("regime", "rules", "lasso"):
        share = (mean[key] - mean["chance"]) / (mean["best"] - mean["chance"]) if tailors else np.nan
        parts.append(f"{share:.2f}" if tailors else "")
    if tailors:
        away = np.array([(r["regime"] - r["lasso"]) / (r["best"] - r["chance"]) for r in runs])
        parts.append(f"{away.mean():+.3f} ({away.std(ddof=1) / np.sqrt(len(runs)):.3f})")
        parts.append(f"{np.mean(['x1' in run['named'] for run in runs]):.2f}")
    else:
        parts += ["", ""]
    parts.append(f"{np.mean([len(set(run['named']) - ({'x1'} if tailors else set())) for run in runs]):.2f}")
    for key in ("held", "better", "worse", "beyond"):
        parts.append(f"{mean[f'regime {key}']:.2f}, {mean[f'rules {key}']:.2f}")
    return f"| {' | '.join(parts)} |"


if __name__ == "__main__":
    make_table(
        __doc__,
        f"One stage of two arms, n = {N}, {P} covariates, of which x0 predicts, {{seeds}}. Share of what the "
        "best regime adds to chance, on fresh subjects: of the regime, its rules and lasso Q-learning on the "
        "rewards as they are (times as if none were censored), and the paired difference of the first from "
        "the last with its standard error; share of trials in which x1 is named, and other columns named. "
        "Of the regime and of its rules: share of 95 % intervals of the value that hold it, of trials told "
        "better, and worse, than what was done, and of values or intervals beyond what rewards can be.",
        [{"kind": kind, "tailors": tailors} for kind in KINDS for tailors in (1, 0)],
        one,
        [
            *(
                "rewards",
                "effect",
                "trials",
                "regime",
                "rules",
                "lasso Q",
                "regime less lasso",
                "x1",
                "others",
            ),
            *("held", "better", "worse", "beyond"),
        ],
        line,
        replicates=10,
        seed=2_200_000,
    )
