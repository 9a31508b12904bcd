"""Coverage of the 95 % intervals of the value of a regime, fixed and learnt, doubly robust and by weights.

python experiments/regime_coverage.py --out experiments/results/regime_coverage.md
"""

import argparse
from pathlib import Path

import numpy as np
from _regimes_common import deliver

from rlselect import QLearning, TrialData, regime_value
from rlselect.simulate import make_regime_trial

N, P = 200, 5
HALF = {-1: 0.5, 1: 0.5}


def best_of_one(history, stage):
    """The optimal regime of setting I."""
    if stage == 1:
        return np.where(history["X1_3"] > 0, 1, -1)
    return np.where(2 * history["X1_1"] + 1.5 * history["X1_2"] + history["R1"] > 0, 1, -1)


def always(history, stage):
    """Action 1 at both stages."""
    return np.ones(len(history["X1_1"]), dtype=int)


def trial_of(setting, seed, known):
    simulated = make_regime_trial(setting, N, P, random_state=seed)
    stages = [stage | ({"propensity": HALF} if known else {}) for stage in simulated.stages]
    return TrialData.from_wide(simulated.columns, stages)


def fresh_value(setting, policy, seed, n):
    fresh = make_regime_trial(setting, n, P, policy=policy, random_state=seed)
    return float(sum(fresh.columns[stage["reward"]] for stage in fresh.stages).mean())


def fixed(setting, policy, known, method, replicates, seed):
    """Intervals of a fixed regime against its value on a million subjects."""
    truth = fresh_value(setting, policy, 0, 1_000_000)
    found = [
        regime_value(trial_of(setting, s, known), policy, method=method, random_state=s)
        for s in range(seed, seed + replicates)
    ]
    return [(v.interval[0] <= truth <= v.interval[1], v.value - truth, v.standard_error) for v in found]


def learnt(setting, model, replicates, seed):
    """Intervals of ``value_`` against the value of the learnt regime on 20,000 fresh subjects."""
    rows = []
    for s in range(seed, seed + replicates):
        learner = QLearning(model=model, random_state=s).fit(trial_of(setting, s, True))
        truth = fresh_value(setting, learner.predict, 10_000 + s, 20_000)
        low, high = learner.value_.interval
        rows.append((low <= truth <= high, learner.value_.value - truth, learner.value_.standard_error))
    return rows


def line(label, rows):
    inside, error, standard_error = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    share = inside.mean()
    margin = 2.0 * np.sqrt(share * (1.0 - share) / len(rows))
    return (
        f"| {label} | {len(rows)} | {share:.3f} ({margin:.3f}) | {error.mean():+.3f} | {error.std():.3f} | "
        f"{standard_error.mean():.3f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--learnt", type=int, default=60, help="replicates of learnt regimes")
    parser.add_argument("--seed", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    lines = [
        f"Settings I to III, n = {N}, p = {P}, seeds from {args.seed}. Coverage with twice its binomial "
        "standard error; bias, spread of the estimates and mean standard error.",
        "",
        "| regime, method, probabilities | replicates | coverage | bias | spread | standard error |",
        "|---|---|---|---|---|---|",
    ]
    for setting, name, policy in [
        ("I", "optimal", best_of_one),
        ("I", "always 1", always),
        ("II", "always 1", always),
    ]:
        for method, known in [("dr", True), ("dr", False), ("ipw", True)]:
            rows = fixed(setting, policy, known, method, args.replicates, args.seed)
            lines.append(line(f"{setting}, {name}, {method}, {'known' if known else 'estimated'}", rows))
    for setting, model in [("I", "linear"), ("II", "linear"), ("III", "anova")]:
        rows = learnt(setting, model, args.learnt, args.seed)
        lines.append(line(f"{setting}, learnt ({model}, selection), dr, known", rows))
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
