r"""Value and coverage of learnt regimes and of their short rules in two-stage trials with curved contrasts.

python experiments/regime_trees.py --replicates 8 --seed 8200000 \
    --records experiments/results/regime_trees.jsonl --out experiments/results/regime_trees.md
"""

import numpy as np
from _regimes_common import collect, deliver, make_parser, seeds_of
from _regimes_curved import CURVED

from rlselect import QLearning

N = 300
COMMAND = (
    "python experiments/regime_trees.py --replicates 8 --seed 8200000 "
    "--records experiments/results/regime_trees.jsonl --out experiments/results/regime_trees.md"
)


def one(design, seed):
    """Of the regime and of its rules: value, whether the interval held it, error, standard error."""
    curved = CURVED[design]
    learner = QLearning(model="anova", random_state=seed).fit(curved.trial(N, seed))
    rows = []
    for policy, value in (
        (learner.predict, learner.value_),
        (learner.regime_.predict, learner.regime_.value_),
    ):
        truth = curved.value(policy)
        inside = value.interval[0] <= truth <= value.interval[1]
        rows.append([truth, float(inside), value.value - truth, value.standard_error])
    return {"rows": rows, "luck": curved.luck(N, seed)}


def lines_of(name, records):
    """The two lines of a design."""
    mine = [record for record in records if record["design"] == name]
    found = np.array([record["rows"] for record in mine])
    optimum = CURVED[name].value(CURVED[name].best)
    lines = []
    for place, of in enumerate(("`predict`", "`regime_` (depth 2)") if len(found) else ()):
        value, inside, bias, error = found[:, place].mean(axis=0)
        own = found[:, place, 0].std(ddof=1) / np.sqrt(len(found))
        margin = 2.0 * np.sqrt(inside * (1.0 - inside) / len(found))
        spread = found[:, place, 2].std()
        luck = np.mean([record["luck"] for record in mine])
        lines.append(
            f"| {name} ({optimum:.2f}) | {of} | {len(found)} | {value:.3f} ({own:.3f}) | "
            f"{value / optimum:.3f} | {inside:.3f} ({margin:.3f}) | {bias:+.3f} | {luck:+.3f} | "
            f"{spread:.3f} | {error:.3f} |"
        )
    return lines


def main():
    parser = make_parser(__doc__, replicates=40, seed=6000)
    parser.add_argument("--designs", nargs="+", default=list(CURVED), choices=list(CURVED))
    args = parser.parse_args()
    records = collect(args, [{"design": name} for name in args.designs], one)
    lines = [
        f"`_regimes_curved.py`, n = {N}, {seeds_of(records)}, the optimum in brackets. Value "
        "on fresh subjects with its standard error, coverage of the 95 % interval with twice its standard "
        "error, bias, what the score of the best regime with everything known is too high by on the same "
        "subjects (luck), spread of the errors and mean standard error.",
        "",
        f"`{COMMAND}`",
        "",
        "| contrasts | regime | trials | value | of optimum | coverage | bias | luck | spread | "
        "standard error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in CURVED:
        lines += lines_of(name, records)
    deliver(lines, args.out)


if __name__ == "__main__":
    main()
