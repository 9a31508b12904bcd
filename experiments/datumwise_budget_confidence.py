"""How sure networks are within budgets on made data: as rows left out say for that number, and as prices say.

python experiments/datumwise_budget_confidence.py --resume --seed 31001 --replicates 3
"""

from dataclasses import replace

import numpy as np
from _datumwise_common import Records, arguments, command_line, write
from sklearn.datasets import make_classification

from rlselect import DatumwiseClassifier

# rows to learn from, columns, classes; 15 % of the labels are drawn anew
DESIGNS = {"100 x 30": (100, 30, 2), "135 x 13": (135, 13, 2), "180 x 12, 3 classes": (180, 12, 3)}
N_TEST = 2000
PRICES, BUDGETS = (0.001, 0.01), (1, 2, 3, 5, 8)


def draw(name, seed):
    """Rows to learn from and to judge by."""
    rows, columns, classes = DESIGNS[name]
    X, y = make_classification(
        rows + 4000, columns, n_informative=6, n_redundant=2, n_classes=classes, flip_y=0.15,
        class_sep=0.8, random_state=seed,
    )  # fmt: skip
    return X[:rows], y[:rows], X[rows : rows + N_TEST], y[rows : rows + N_TEST]


def run(name, seed):
    """Confidence minus accuracy at each price and budget, by both temperatures, and accuracy."""
    X, y, X_test, y_test = draw(name, seed)
    model = DatumwiseClassifier(scoring="network", feature_cost=0.01, random_state=seed).fit(X, y)
    found = []
    for price in PRICES:
        cheap = model.at(feature_cost=price)
        for budget in BUDGETS:
            fitted = cheap.with_budget(budget)._fitted
            codes, episodes = fitted.episodes(X_test)
            right = float(np.mean(model.classes_[episodes.answer] == y_test))
            by_price = replace(fitted.policy.frontier, numbers=(), limited=None)
            policies = fitted.policy, replace(fitted.policy, frontier=by_price)
            sure = [own.probabilities(codes, episodes.bought).max(axis=1).mean() for own in policies]
            found.append([*(round(float(one) - right, 4) for one in sure), right])
    return found


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_budget_confidence", replicates=3)
    parser.add_argument("--recorded", action="store_true", help="compute nothing, show what is recorded")
    args = parser.parse_args()
    records = Records(args.records, args.resume or args.recorded)
    for seed in range(args.seed, args.seed + args.replicates):
        for name in [] if args.recorded else DESIGNS:
            records.get((name, seed), lambda name=name, seed=seed: run(name, seed))
            write(table(records), args.out)
    write(table(records), args.out)


def table(records):
    """Lines of Markdown."""
    lines = [
        "Confidence minus accuracy of networks, made data with 15 % of the labels drawn anew, prices of "
        f"{' and '.join(map(str, PRICES))} with at most {', '.join(map(str, BUDGETS))} purchases, {N_TEST} "
        "rows to judge by. by number: as the library has it, as rows left out say at that number of "
        "purchases; by price: as at the price at which as little is bought. rms: over prices, budgets and "
        "data sets; mean: largest |mean over data sets|. Nothing was chosen on these seeds.",
        "",
        command_line(),
        "",
        "| data | data sets | accuracy | by number: rms | mean | by price: rms | mean |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in DESIGNS:
        runs = np.array([found for (own, _), found in records.done.items() if own == name])
        if len(runs):
            cells = [name, len(runs), f"{runs[:, :, 2].mean():.3f}"]
            for gap in (runs[:, :, 0], runs[:, :, 1]):
                cells += [f"{np.sqrt((gap**2).mean()):.3f}", f"{np.abs(gap.mean(axis=0)).max():.3f}"]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


if __name__ == "__main__":
    main()
