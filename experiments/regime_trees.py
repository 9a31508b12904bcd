"""Value and coverage of learnt regimes and of their short rules in a two-stage trial with curved contrasts.

python experiments/regime_trees.py --out experiments/results/regime_trees.md
"""

import argparse
from pathlib import Path

import numpy as np
from _regimes_common import deliver
from _regimes_curved import best, trial_of, value_of

from rlselect import QLearning

N = 300
COMMAND = "python experiments/regime_trees.py --out experiments/results/regime_trees.md"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=4000)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    rows = []
    for seed in range(args.seed, args.seed + args.replicates):
        learner = QLearning(model="anova", random_state=seed).fit(trial_of(N, seed))
        for policy, value in (
            (learner.predict, learner.value_),
            (learner.regime_.predict, learner.regime_.value_),
        ):
            truth = value_of(policy, 1)
            rows.append((truth, value.interval[0] <= truth <= value.interval[1], value.value - truth))
    found = np.array(rows, dtype=float).reshape(args.replicates, 2, 3)
    lines = [
        f"`_regimes_curved.py`, n = {N}, {args.replicates} trials, seeds from {args.seed}; the optimum is "
        f"worth {value_of(best, 1):.3f}. Value on fresh subjects, coverage of the 95 % interval, bias.",
        "",
        f"`{COMMAND}`",
        "",
        "| regime | value | share of the optimum | coverage | bias |",
        "|---|---|---|---|---|",
    ]
    for place, name in enumerate(("`predict`", "`regime_` (depth 2)")):
        value, inside, bias = found[:, place].mean(axis=0)
        share = value / value_of(best, 1)
        lines.append(f"| {name} | {value:.3f} | {share:.3f} | {inside:.3f} | {bias:+.3f} |")
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
