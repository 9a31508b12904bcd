"""How sure networks are and how often they are right on real data: at prices, within budgets, with gaps.

RLSELECT_DATA=... python experiments/datumwise_calibration_real.py --seed 7100 --datasets heart --replicates 2
python experiments/datumwise_calibration_real.py --resume --seed 7100 --datasets sonar --replicates 1
python experiments/datumwise_calibration_real.py --recorded --seed 7100 --datasets heart sonar  # one table
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
# share of the cells that are missing, and of the columns that are known from the start
GAPS, KNOWN = 0.2, 1 / 3


def run(name, seed, folder):
    """Rows to learn from; purchases per case, accuracy and confidence at prices, within budgets and so on.

    Within budgets, and with columns that are known from the start, there is a second confidence: with the
    temperature of the price, whatever is known.
    """
    split = split_of(name, seed, folder)
    X = np.concatenate([half for half, _ in split.halves])
    y = np.concatenate([labels for _, labels in split.halves])
    rng, draw = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    known = draw.permutation(X.shape[1])[: int(KNOWN * X.shape[1])].tolist()
    model, with_gaps = (
        DatumwiseClassifier(scoring="network", feature_cost=PRICE, random_state=seed) for _ in range(2)
    )
    model.fit(split.X_train, split.y_train)
    with_gaps.fit(holed(split.X_train, rng), split.y_train)
    X_gaps = holed(X, rng)
    low = model.at(feature_cost=LOW)
    return {
        "rows": len(split.y_train),
        "prices": [judge(model.at(feature_cost=price), X, y) for price in PRICES],
        "budgets": [judge(low.with_budget(budget), X, y) for budget in BUDGETS],
        "known": [judge(model.at(feature_cost=price, known=known), X, y) for price in PRICES],
        "gaps": [judge(with_gaps.at(feature_cost=price), X_gaps, y) for price in PRICES],
    }


def holed(X, rng):
    """The same rows with cells missing at random."""
    return np.where(rng.random(X.shape) < GAPS, np.nan, X)


def judge(model, X, y):
    """Purchases per case, accuracy, confidence, and confidence at the temperature of the price."""
    fitted = model._fitted
    codes, episodes = fitted.episodes(X)
    policy, free = fitted.policy, replace(fitted.policy.rules, budget=None)
    found = [float(episodes.bought.sum(axis=1).mean()), float(np.mean(model.predict(X) == y))]
    for own in (policy, replace(policy, rules=free, given=0)):
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
        "are judged. known: a third of the columns is known from the start; price's: with the temperature of "
        f"the price, whatever is known. gaps: {GAPS:.0%} of the cells are missing, also in training. How "
        "much is known where columns are known from the start was chosen among three ways on heart 7100 and "
        "7101 and sonar 7100.",
        "",
        command_line(),
        "",
        "| data | splits | rows | goal | prices: mean | one split | chance | budgets: mean | one split "
        "| price's: mean | one split | known: mean | one split | price's: mean | one split | gaps: mean "
        "| one split |",
        "|---" + "|---:" * 16 + "|",
    ]
    for name in datasets:
        runs = [run for (own, _), run in records.done.items() if own == name]
        if runs:
            n_rows = runs[0]["rows"]
            prices, budgets, known, with_gaps = (
                np.array([run[what] for run in runs]) for what in ("prices", "budgets", "known", "gaps")
            )
            prices, with_gaps = (one[:, one[:, :, 0].mean(axis=0) > 0.05] for one in (prices, with_gaps))
            right = prices[:, :, 1].mean()
            chance = np.sqrt(2 * right * (1 - right) / n_rows)
            cells = [name, len(runs), n_rows, ".06" if n_rows < 200 else ".03", *gaps(prices, 2)]
            cells += [f"{chance:.3f}", *gaps(budgets, 2), *gaps(budgets, 3)]
            cells += [*gaps(known, 2), *gaps(known, 3), *gaps(with_gaps, 2)]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def gaps(found, place):
    """Largest difference of the means over splits, and root mean square of those of single splits."""
    gap = found[:, :, place] - found[:, :, 1]
    return [f"{np.abs(gap.mean(axis=0)).max():.3f}", f"{np.sqrt((gap**2).mean()):.3f}"]


if __name__ == "__main__":
    main()
