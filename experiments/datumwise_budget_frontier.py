"""One fit, judged at prices alone and at prices with budgets: accuracy at mean sparsity .8 and .6.

RLSELECT_DATA=... python experiments/datumwise_budget_frontier.py --seed 4000 --device cuda --jobs 16
"""

import time
from pathlib import Path

import numpy as np
from _datumwise_common import Records, arguments, mean_and_error, mixed_at_sparsity, write
from datumwise_gates import GOALS, PRICE, PRICES, _priced, curve_of, split_of, with_budgets
from joblib import Parallel, delayed

from rlselect import DatumwiseClassifier

DATASETS = ("sonar", "vowel", "vehicle", "heart", "diabetes", "liver_disorders", "segment", "mnist49")


def run(key, args):
    """Both accuracies of one split; None when there is no time left."""
    if time.time() > args.until:
        return key, None
    name, seed = key
    split = split_of(name, seed, args.folder)
    model = DatumwiseClassifier(
        scoring="network", feature_cost=PRICE, random_state=seed, device=args.device
    ).fit(split.X_train, split.y_train)
    fitted = model._fitted

    plain = curve_of(fitted, lambda price: fitted.at(_priced(fitted.rules, price)), PRICES, split)
    whole = with_budgets(fitted, plain, split)
    return key, {
        f"{way} {goal}": 100 * mixed_at_sparsity(found, goal)[0]
        for way, found in (("prices", plain), ("budgets", whole))
        for goal in (0.8, 0.6)
    }


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_budget_frontier")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=list(GOALS))
    parser.add_argument("--jobs", type=int, default=1, help="splits at a time, each in a process")
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing after so many")
    parser.add_argument("--folder", type=Path, default=Path("build/datumwise/gates"), help="data as arrays")
    args = parser.parse_args()
    args.until = time.time() + 60 * args.minutes
    records = Records(args.records, args.resume)
    seeds = range(args.seed, args.seed + args.replicates)
    keys = [(name, seed) for seed in seeds for name in args.datasets]
    todo = [key for key in keys if key not in records.done]
    parallel = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1)
    for key, record in parallel(delayed(run)(key, args) for key in todo):
        if record is not None:
            records.get(key, lambda record=record: record)
    write(table(args, records), args.out)


def table(args, records):
    lines = [
        "Accuracy in percent (± standard error over splits) of one fit of networks: mixes of two settings "
        "that have the mean sparsity on one half of the test rows, judged on the other, both ways. "
        "prices: 20 prices; budgets: these, and 7 prices at budgets about what a sparsity of .8 leaves "
        f"(`frontier(budgets=...)`). Seeds from {args.seed}.",
        "",
        "    RLSELECT_DATA=... python experiments/datumwise_budget_frontier.py "
        f"--replicates {args.replicates} --seed {args.seed} --device {args.device} --jobs {args.jobs}",
        "",
        "| data | splits | prices .8 | budgets .8 | gain | goal | prices .6 | budgets .6 | goal |",
        "|---" + "|---:" * 8 + "|",
    ]
    for name in args.datasets:
        found = [record for key, record in records.done.items() if key[0] == name]
        if found:
            at = {what: [record[what] for record in found] for what in found[0]}
            gain = np.subtract(at["budgets 0.8"], at["prices 0.8"])
            cells = [name, len(found), *(mean_and_error(at[f"{way} 0.8"]) for way in ("prices", "budgets"))]
            cells += [mean_and_error(gain), GOALS[name][0]]
            cells += [mean_and_error(at[f"{way} 0.6"]) for way in ("prices", "budgets")]
            lines.append("| " + " | ".join(map(str, [*cells, GOALS[name][1] or ""])) + " |")
    return lines


if __name__ == "__main__":
    main()
