r"""Trials of uncommon shape in which no action does anything: is anything confident and wrong?

python experiments/regime_unusual.py --replicates 6 --seed 71000 \
    --records experiments/results/regime_unusual.jsonl --out experiments/results/regime_unusual.md
"""

import warnings

import numpy as np
from _regimes_common import make_table

from rlselect import QLearning, TrialData


def _columns(n, p, rng, name="x"):
    return {f"{name}{j}": rng.normal(size=n) for j in range(p)}


def _arms(n, rng, share=0.5):
    return np.where(rng.uniform(size=n) < share, "drug", "placebo")


def _stage(history, number="", **more):
    return {
        "history": history,
        "action": f"a{number}",
        "reward": f"y{number}",
        "propensity": "randomized",
    } | more


def three_stages(rng, n=150):
    table, stages = {}, []
    for number in (1, 2, 3):
        table |= _columns(n, 2, rng, f"x{number}_") | {f"a{number}": _arms(n, rng)}
        table[f"y{number}"] = table[f"x{number}_0"] + rng.normal(size=n)
        stages.append(_stage([f"x{number}_0", f"x{number}_1"], number))
    return TrialData.from_wide(table, stages)


def rare_arm(rng, n=200):
    table = _columns(n, 5, rng)
    table |= {"a": _arms(n, rng, 0.05), "y": table["x0"] + rng.normal(size=n)}
    chances = {"drug": 0.05, "placebo": 0.95}
    return TrialData.from_wide(table, [_stage([f"x{j}" for j in range(5)], propensity=chances)])


def clusters(rng, n=240, size=12):
    site = np.repeat(np.arange(n // size), size)
    table = _columns(n, 5, rng) | {"site": site, "a": _arms(n // size, rng)[site]}
    table["y"] = table["x0"] + 0.7 * rng.normal(size=n // size)[site] + rng.normal(size=n)
    return TrialData.from_wide(table, [_stage([f"x{j}" for j in range(5)])], cluster="site")


def rare_events(rng, n=300):
    table = _columns(n, 5, rng) | {"a": _arms(n, rng), "y": (rng.uniform(size=n) < 0.05).astype(int)}
    return TrialData.from_wide(table, [_stage([f"x{j}" for j in range(5)])])


def responders(rng, n=200):
    table = _columns(n, 3, rng) | {"a1": _arms(n, rng), "z": rng.normal(size=n)}
    done = table["x0"] + rng.normal(size=n) > 0.0
    table["a2"] = np.where(done, None, _arms(n, rng))
    table["y2"] = 2.0 * done + table["z"] + rng.normal(size=n)
    first = {"history": ["x0", "x1", "x2"], "action": "a1", "propensity": "randomized"}
    return TrialData.from_wide(table, [first, _stage(["z"], 2)])


def censored(rng, n=250):
    table = _columns(n, 5, rng) | {"a": _arms(n, rng)}
    time, end = rng.exponential(np.exp(0.4 * table["x0"])), rng.exponential(0.7, size=n)
    table |= {"y": np.minimum(time, end), "lost": end < time}
    stage = _stage([f"x{j}" for j in range(5)], censored="lost")
    return TrialData.from_wide(table, [stage], horizon=1.0)


def doses(rng, n=200):
    table = _columns(n, 3, rng) | {"a": rng.uniform(0.0, 5.0, size=n)}
    table["y"] = table["x0"] + rng.normal(size=n)
    return TrialData.from_wide(table, [_stage(["x0", "x1", "x2"], action_type="dose")])


def gaps(rng, n=150):
    table = _columns(n, 6, rng) | {"a": _arms(n, rng)}
    table["y"] = table["x0"] + rng.normal(size=n)
    for j in range(6):
        table[f"x{j}"] = np.where(rng.uniform(size=n) < 0.2, np.nan, table[f"x{j}"])
    return TrialData.from_wide(table, [_stage([f"x{j}" for j in range(6)])], missing="indicator")


def wide(rng, n=40):
    table = _columns(n, 20, rng) | {"a": _arms(n, rng), "y": rng.normal(size=n)}
    return TrialData.from_wide(table, [_stage([f"x{j}" for j in range(20)])])


def heavy_tails(rng, n=150):
    table = _columns(n, 5, rng) | {"a": _arms(n, rng), "y": rng.standard_t(2.5, size=n)}
    return TrialData.from_wide(table, [_stage([f"x{j}" for j in range(5)])])


DESIGNS = {
    "three stages, 150 subjects": three_stages,
    "an arm of 5 %, 200 subjects": rare_arm,
    "20 sites of 12, randomised as a whole": clusters,
    "events of 5 %, 300 subjects": rare_events,
    "responders without a second stage, 200 subjects": responders,
    "survival, six in ten censored, 250 subjects": censored,
    "doses, 200 subjects": doses,
    "a fifth of all covariates missing, 150 subjects": gaps,
    "20 covariates, 40 subjects": wide,
    "heavy tails, 150 subjects": heavy_tails,
}


def one(design, seed):
    """What is told of the regime and of its rules beside what was done; the truth is that nothing differs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = QLearning(random_state=seed).fit(DESIGNS[design](np.random.default_rng(seed)))
    found = {}
    for name, value in (("regime", learner.value_), ("rules", learner.regime_.value_)):
        gain = value.less(learner.observed_)
        found |= {f"{name} gain": gain.value, f"{name} error": gain.standard_error}
        found |= {f"{name} low": gain.interval[0], f"{name} high": gain.interval[1]}
    intervals = [effect.interval for effects in learner.tailoring_effects_ for effect in effects]
    return found | {"sure": float(any(low > 0.0 or high < 0.0 for low, high in intervals))}


def line(runs):
    """The rows of a design: of the regimes and of their rules."""
    return [_line(runs, of) for of in ("regime", "rules")]


def _line(mine, of):
    gain, error, low, high = (
        np.array([r[f"{of} {k}"] for r in mine]) for k in ("gain", "error", "low", "high")
    )
    return (
        f"| {mine[0]['design']} | {of} | {len(mine)} | {gain.mean():+.3f} | {gain.std():.3f} | "
        f"{error.mean():.3f} | {np.mean(low > 0.0):.2f} | {np.mean(high < 0.0):.2f} | "
        f"{np.mean([r['sure'] for r in mine]):.2f} |"
    )


if __name__ == "__main__":
    make_table(
        __doc__,
        "Trials in which no action does anything, {seeds}: what the regime, or its rules, are said to be "
        "worth beyond what was done, spread and mean standard error of that, share of the 95 % intervals "
        "that say better, and worse, and of trials where an interval of a tailoring slope leaves out 0.",
        [{"design": name} for name in DESIGNS],
        one,
        [
            *("trial", "value of", "trials", "gain", "spread", "standard error", "better", "worse"),
            "slope is sure",
        ],
        line,
        replicates=20,
        seed=71000,
    )
