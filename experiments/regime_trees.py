r"""Value and coverage of learnt regimes and of their short rules in two-stage trials with curved contrasts.

python experiments/regime_trees.py --replicates 12 --seed 6000 \
    --records experiments/results/regime_trees.jsonl --out experiments/results/regime_trees.md
"""

import argparse
import json
from pathlib import Path

import numpy as np
from _regimes_common import deliver
from _regimes_curved import CURVED

from rlselect import QLearning

N = 300
COMMAND = (
    "python experiments/regime_trees.py --replicates 12 --seed 6000 "
    "--records experiments/results/regime_trees.jsonl --out experiments/results/regime_trees.md"
)


def one(design, seed):
    """Of the regime and of its rules: value, whether the interval held it, error, standard error."""
    learner = QLearning(model="anova", random_state=seed).fit(design.trial(N, seed))
    rows = []
    for policy, value in (
        (learner.predict, learner.value_),
        (learner.regime_.predict, learner.regime_.value_),
    ):
        truth = design.value(policy)
        inside = value.interval[0] <= truth <= value.interval[1]
        rows.append([truth, float(inside), value.value - truth, value.standard_error])
    return rows


def lines_of(name, known):
    """The two lines of a design."""
    found = np.array([rows for (mine, _), rows in known.items() if mine == name])
    optimum = CURVED[name].value(CURVED[name].best)
    lines = []
    for place, of in enumerate(("`predict`", "`regime_` (depth 2)") if len(found) else ()):
        value, inside, bias, error = found[:, place].mean(axis=0)
        own = found[:, place, 0].std(ddof=1) / np.sqrt(len(found))
        margin = 2.0 * np.sqrt(inside * (1.0 - inside) / len(found))
        spread = found[:, place, 2].std()
        lines.append(
            f"| {name} ({optimum:.2f}) | {of} | {len(found)} | {value:.3f} ({own:.3f}) | "
            f"{value / optimum:.3f} | {inside:.3f} ({margin:.3f}) | {bias:+.3f} | {spread:.3f} | "
            f"{error:.3f} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--seed", type=int, default=6000)
    parser.add_argument("--designs", nargs="+", default=list(CURVED), choices=list(CURVED))
    parser.add_argument("--records", type=Path, default=None, help="JSON lines; known ones are kept")
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    known = {}
    if args.records is not None and args.records.exists():
        for text in args.records.read_text(encoding="utf-8").splitlines():
            record = json.loads(text)
            known[record["design"], record["seed"]] = record["rows"]
    for seed in range(args.seed, args.seed + args.replicates):
        for name in args.designs:
            if (name, seed) in known:
                continue
            known[name, seed] = one(CURVED[name], seed)
            if args.records is not None:
                with args.records.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"design": name, "seed": seed, "rows": known[name, seed]}) + "\n")
    seeds = [seed for _, seed in known]
    lines = [
        f"`_regimes_curved.py`, n = {N}, seeds {min(seeds)} to {max(seeds)}, the optimum in brackets. Value "
        "on fresh subjects with its standard error, coverage of the 95 % interval with twice its standard "
        "error, bias, spread of the errors and mean standard error.",
        "",
        f"`{COMMAND}`",
        "",
        "| contrasts | regime | trials | value | of optimum | coverage | bias | spread | standard error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in CURVED:
        lines += lines_of(name, known)
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
