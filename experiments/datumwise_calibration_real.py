"""How sure networks are and how often they are right on real data: at twelve prices, and within budgets.

RLSELECT_DATA=... python experiments/datumwise_calibration_real.py --resume --seed 9100 --replicates 4
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from _datumwise_common import Records, arguments, command_line, write
from datumwise_gates import GOALS, PRICE, split_of

from rlselect import DatumwiseClassifier

DATASETS = ("heart", "sonar", "vowel")
PRICES = np.geomspace(3e-4, 0.3, 12)
BUDGETS = (1, 2, 3, 5)
# of a purchase within a budget: so little that most cases buy all that they may
LOW = 1e-3


def run(name, seed, folder):
    """Rows to learn from; at each price and budget purchases per case, accuracy and confidence.

    At budgets there is a second confidence: with the temperature of the price, whatever the budget.
    """
    split = split_of(name, seed, folder)
    X = np.concatenate([half for half, _ in split.halves])
    y = np.concatenate([labels for _, labels in split.halves])
    model = DatumwiseClassifier(scoring="network", feature_cost=PRICE, random_state=seed)
    model.fit(split.X_train, split.y_train)
    out = {"rows": len(split.y_train), "prices": [], "budgets": []}
    for what, settings in (("prices", PRICES), ("budgets", BUDGETS)):
        for setting in settings:
            at_price = what == "prices"
            other = model.at(feature_cost=setting if at_price else LOW)
            out[what].append(judge(other if at_price else other.with_budget(setting), X, y))
    return out


def judge(model, X, y):
    """Purchases per case, accuracy, confidence, and confidence at the temperature of the price."""
    fitted = model._fitted
    codes, episodes = fitted.episodes(X)
    policy, free = fitted.policy, replace(fitted.policy.rules, budget=None)
    found = [float(episodes.bought.sum(axis=1).mean()), float(np.mean(model.predict(X) == y))]
    for own in (policy, replace(policy, rules=free)):
        found.append(float(own.probabilities(codes, episodes.bought).max(axis=1).mean()))
    return [round(value, 4) for value in found]


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_calibration_real", replicates=4)
    parser.set_defaults(seed=9100)
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=list(GOALS))
    parser.add_argument("--folder", type=Path, default=Path("build/datumwise/gates"), help="data as arrays")
    parser.add_argument("--recorded", action="store_true", help="compute nothing, show what is recorded")
    args = parser.parse_args()
    records = Records(args.records, args.resume or args.recorded)
    for seed in range(args.seed, args.seed + args.replicates):
        for name in [] if args.recorded else args.datasets:
            records.get((name, seed), lambda name=name, seed=seed: run(name, seed, args.folder))
    write(table(records, args.datasets), args.out)


def table(records, datasets):
    """Lines of Markdown."""
    lines = [
        "mean: largest |mean over splits of confidence - accuracy| over those of 12 prices at which "
        f"something is bought, and over budgets of {', '.join(map(str, BUDGETS))} at a price of {LOW}; one "
        "split: root mean square of the difference of a single split. chance: about what the latter is where "
        "probabilities are right and only the rows differ, those that temperatures are set by and those that "
        "are judged. price's: budgets with the temperature of the price, as before; that they were amiss was "
        "seen on these seeds, which chose nothing else.",
        "",
        command_line(),
        "",
        "| data | splits | rows | goal | prices: mean | one split | chance | budgets: mean | one split "
        "| price's: mean | one split |",
        "|---" + "|---:" * 10 + "|",
    ]
    for name in datasets:
        runs = [run for (own, _), run in records.done.items() if own == name]
        if runs:
            n_rows = runs[0]["rows"]
            prices, budgets = (np.array([run[what] for run in runs]) for what in ("prices", "budgets"))
            prices = prices[:, prices[:, :, 0].mean(axis=0) > 0.05]
            right = prices[:, :, 1].mean()
            chance = np.sqrt(2 * right * (1 - right) / n_rows)
            cells = [name, len(runs), n_rows, ".06" if n_rows < 200 else ".03", *gaps(prices, 2)]
            cells += [f"{chance:.3f}", *gaps(budgets, 2), *gaps(budgets, 3)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def gaps(found, place):
    """Largest difference of the means over splits, and root mean square of those of single splits."""
    gap = found[:, :, place] - found[:, :, 1]
    return [f"{np.abs(gap.mean(axis=0)).max():.3f}", f"{np.sqrt((gap**2).mean()):.3f}"]


if __name__ == "__main__":
    main()
