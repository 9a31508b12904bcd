"""Table 6: costs of features and of errors on the Pima diabetes data.

Glucose costs 17.61, insulin 22.78, every other feature 1; an error costs 400 or 800. The paper's average
costs only add up when a correct class is rewarded with 50, which is what is done here; five folds, as there.
Scores are looked up by bins, or linear in the values, as in the paper: risk rises steadily with most of these
features, and bins have to learn that from 614 rows. Every second climb is taught soft labels, or all are
taught the labels. paper() is the algorithm as published, auto the default, which learns networks too.

python experiments/datumwise_costs.py --resume --seed 2000 --replicates 5 --minutes 4
python experiments/datumwise_costs.py --resume --seed 2000 --replicates 1 --settings auto
python experiments/datumwise_costs.py --recorded --seed 2000 --replicates 5  # one table of both
"""

import itertools
import time

import numpy as np
from _datumwise_common import Records, arguments, command_line, load, mean_and_error, write
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from rlselect.datumwise import DatumwiseClassifier, PolicyIteration

PAPER = {400: (74, 0.76), 800: (181, 0.75)}
GOAL = {400: 75, 800: 175}
REWARD = 50.0
EXPENSIVE = {"glucose": 17.61, "insulin": 22.78}
# how each way is made, beside costs and seed
SETTINGS = {
    "bins, soft labels": {"scoring": "bins"},
    "bins": {"scoring": "bins", "search": PolicyIteration(soft_labels=False)},
    "linear, soft labels": {"scoring": "linear"},
    "linear": {"scoring": "linear", "search": PolicyIteration(soft_labels=False)},
    "paper()": {},
    "auto": {},
}


def one(problem, seed, penalty, setting):
    """Average cost, accuracy, features bought and CPU seconds, out of fold."""
    costs = np.array([EXPENSIVE.get(name, 1.0) for name in problem.feature_names])
    losses = np.full((2, 2), float(penalty))
    np.fill_diagonal(losses, -REWARD)
    total, right, bought, seconds, tree_total = [], [], [], [], []
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for train, test in folds.split(problem.X, problem.y):
        start = time.process_time()
        make = DatumwiseClassifier.paper if setting == "paper()" else DatumwiseClassifier
        model = make(costs=costs, error_costs=losses, random_state=seed, **SETTINGS[setting])
        model.fit(problem.X[train], problem.y[train])
        seconds.append(time.process_time() - start)
        labels, used = model.predict(problem.X[test]), model.acquire(problem.X[test])
        total += list(losses[labels, problem.y[test]] + used @ costs)
        right += list(labels == problem.y[test])
        bought += list(used.sum(axis=1))
        # a tree that buys everything, for scale
        tree = DecisionTreeClassifier(ccp_alpha=0.01, random_state=seed).fit(
            problem.X[train], problem.y[train]
        )
        tree_total += list(losses[tree.predict(problem.X[test]), problem.y[test]] + costs.sum())
    values = (np.mean(total), np.mean(right), np.mean(bought), np.mean(seconds), np.mean(tree_total))
    return [float(v) for v in values]


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_costs")
    usual = [name for name in SETTINGS if name != "auto"]
    parser.add_argument("--settings", nargs="+", default=usual, choices=list(SETTINGS))
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing after so many")
    parser.add_argument("--recorded", action="store_true", help="compute nothing, show what is recorded")
    args = parser.parse_args()
    records, problem = Records(args.records, args.resume or args.recorded), load("diabetes")
    seeds, until = range(args.seed, args.seed + args.replicates), time.time() + 60 * args.minutes
    keys = [] if args.recorded else itertools.product(seeds, PAPER, args.settings)
    for seed, penalty, setting in keys:
        if time.time() < until:
            records.get(
                (seed, penalty, setting),
                lambda own=(seed, penalty, setting): one(problem, *own),
            )
    lines = [
        f"Pima diabetes, five folds repeated with seeds from {args.seed}; reward {REWARD:g} for a correct "
        "class. Cost is what a case costs on average: features, error, reward (± standard error).",
        "",
        command_line(),
        "",
        "| error penalty | scoring | repeats | cost | goal | paper | accuracy | paper | features per case | "
        "all features and a tree: cost | s per fit |",
        "|" + "---|" * 11,
    ]
    for penalty, setting in itertools.product(PAPER, SETTINGS):
        runs = [records.done[key] for seed in seeds if (key := (seed, penalty, setting)) in records.done]
        if not runs:
            continue
        cost, accuracy, bought, seconds, tree = np.array(runs).T
        cells = [penalty, setting, len(runs), mean_and_error(cost), f"≤ {GOAL[penalty]}", PAPER[penalty][0]]
        cells += [mean_and_error(accuracy, digits=3), PAPER[penalty][1], f"{bought.mean():.2f}"]
        cells += [f"{tree.mean():.1f}", f"{seconds.mean():.2f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    write(lines, args.out)


if __name__ == "__main__":
    main()
