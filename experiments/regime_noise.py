r"""Trials without any effect of an action, and one with: does a report claim that the regime is better?

python experiments/regime_noise.py --replicates 30 --seed 61000 \
    --records experiments/results/regime_noise.jsonl --out experiments/results/regime_noise.md
"""

import numpy as np
from _regimes_common import make_table

from rlselect import QLearning, TrialData

P, FRESH = 10, 20_000
FIRST, SECOND = ([f"{name}{j}" for j in range(P)] for name in "xz")
CHANCES = {"drug": 0.5, "placebo": 0.5}
STAGES = [
    {"history": FIRST, "action": "arm", "reward": "y", "propensity": CHANCES},
    {"history": SECOND, "action": "arm2", "reward": "y2", "propensity": CHANCES},
]
# subjects, stages, the slope of the outcome on the first column, whatever the arm, and that on the second one
# which the drug adds and the placebo takes away
DESIGNS = {
    "60 subjects": (60, 1, 0.0, 0.0),
    "60 subjects, one predicts": (60, 1, 1.0, 0.0),
    "200 subjects, one predicts": (200, 1, 1.0, 0.0),
    "60 subjects, two stages": (60, 2, 1.0, 0.0),
    "200 subjects, two stages": (200, 2, 1.0, 0.0),
    "200 subjects, one tailors": (200, 1, 1.0, 0.5),
}


def make(design, rng):
    """The trial of a design."""
    n, stages, slope, tailors = DESIGNS[design]
    table = dict(zip([*FIRST, *SECOND], rng.normal(size=(2 * P, n)), strict=True))
    for number, (arm, y, x) in enumerate((("arm", "y", "x"), ("arm2", "y2", "z"))[:stages]):
        table[arm] = rng.choice(["drug", "placebo"], size=n)
        sign = np.where(table[arm] == "drug", 1.0, -1.0)
        table[y] = slope * table[f"{x}0"] + rng.normal(size=n)
        if number == 0:
            table[y] += tailors * sign * table["x1"]
    return TrialData.from_wide(table, STAGES[:stages])


def true_gain(design, learner, rng):
    """What the learnt regime is worth beyond what was done."""
    tailors = DESIGNS[design][3]
    if not tailors:
        return 0.0
    columns = dict(zip(FIRST, rng.normal(size=(P, FRESH)), strict=True))
    return float(np.mean(tailors * np.where(learner.predict(columns) == "drug", 1.0, -1.0) * columns["x1"]))


def one(design, seed):
    """What the report of a trial says, and what is true."""
    rng = np.random.default_rng(seed)
    learner = QLearning(random_state=seed).fit(make(design, rng))
    gain = learner.value_.less(learner.observed_)
    truth = true_gain(design, learner, rng)
    slopes = [effect.interval for effects in learner.tailoring_effects_ for effect in effects]
    return {
        "truth": truth,
        "gain": gain.value,
        "error": gain.standard_error,
        "held": float(gain.interval[0] <= truth <= gain.interval[1]),
        "better": float(gain.interval[0] > 0.0),
        "worse": float(gain.interval[1] < 0.0),
        "tailors": float(any(learner.tailoring_)),
        "sure": float(any(low > 0.0 or high < 0.0 for low, high in slopes)),
    }


def line(runs):
    """The row of a design."""
    mean = {key: np.mean([run[key] for run in runs]) for key in runs[0] if key not in ("design", "seed")}
    shares = " | ".join(f"{mean[key]:.3f}" for key in ("held", "better", "worse", "tailors", "sure"))
    return (
        f"| {runs[0]['design']} | {len(runs)} | {mean['truth']:+.3f} | {mean['gain']:+.3f} | "
        f"{np.std([run['gain'] for run in runs]):.3f} | {mean['error']:.3f} | {shares} |"
    )


if __name__ == "__main__":
    make_table(
        __doc__,
        f"Two arms and {P} covariates at each stage, {{seeds}}. Arms do nothing but in the last design. What "
        "the regime is worth beyond what was done, in truth and as the report says, spread and mean standard "
        "error of that, share of intervals that hold the truth, and of trials told better or worse, that "
        "name a column to decide by, and where an interval of its slope leaves out 0.",
        [{"design": name} for name in DESIGNS],
        one,
        [
            *("trial", "trials", "truth", "gain", "spread", "standard error", "held", "better", "worse"),
            *("column named", "slope is sure"),
        ],
        line,
        replicates=30,
        seed=61000,
    )
