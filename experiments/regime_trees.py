r"""Value and coverage of learnt regimes and of their short rules in a two-stage trial with curved contrasts.

python experiments/regime_trees.py --records experiments/results/regime_trees.jsonl \
    --out experiments/results/regime_trees.md
"""

import argparse
import json
from pathlib import Path

import numpy as np
from _regimes_common import deliver
from _regimes_curved import best, trial_of, value_of

from rlselect import QLearning

N = 300
COMMAND = (
    "python experiments/regime_trees.py --records experiments/results/regime_trees.jsonl "
    "--out experiments/results/regime_trees.md"
)


def one(seed):
    """Of the regime and of its rules: value, whether the interval held it, error, standard error."""
    learner = QLearning(model="anova", random_state=seed).fit(trial_of(N, seed))
    rows = []
    for policy, value in (
        (learner.predict, learner.value_),
        (learner.regime_.predict, learner.regime_.value_),
    ):
        truth = value_of(policy, 1, 20_000)
        inside = value.interval[0] <= truth <= value.interval[1]
        rows.append([truth, float(inside), value.value - truth, value.standard_error])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=17)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--records", type=Path, default=None, help="JSON lines; known ones are kept")
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    known = {}
    if args.records is not None and args.records.exists():
        for text in args.records.read_text(encoding="utf-8").splitlines():
            record = json.loads(text)
            known[record["seed"]] = record["rows"]
    for seed in range(args.seed, args.seed + args.replicates):
        if seed in known:
            continue
        known[seed] = one(seed)
        if args.records is not None:
            with args.records.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"seed": seed, "rows": known[seed]}) + "\n")
    found, optimum = np.array(list(known.values())), value_of(best, 1)
    lines = [
        f"`_regimes_curved.py`, n = {N}, {len(found)} trials, seeds {min(known)} to {max(known)}; the "
        f"optimum is worth {optimum:.3f}. Value on fresh subjects, coverage of the 95 % interval with twice "
        "its standard error, bias, spread of the errors and mean standard error.",
        "",
        f"`{COMMAND}`",
        "",
        "| regime | value | share of the optimum | coverage | bias | spread | standard error |",
        "|---|---|---|---|---|---|---|",
    ]
    for place, name in enumerate(("`predict`", "`regime_` (depth 2)")):
        value, inside, bias, error = found[:, place].mean(axis=0)
        margin = 2.0 * np.sqrt(inside * (1.0 - inside) / len(found))
        spread = found[:, place, 2].std()
        lines.append(
            f"| {name} | {value:.3f} | {value / optimum:.3f} | {inside:.3f} ({margin:.3f}) | {bias:+.3f} | "
            f"{spread:.3f} | {error:.3f} |"
        )
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
