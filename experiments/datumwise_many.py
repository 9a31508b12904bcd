"""Many features: weak ones beside L1 logistic regression at equal count, 2,000 columns, Madelon in groups.

RLSELECT_DATA=... python experiments/datumwise_many.py --resume --replicates 4
python experiments/datumwise_many.py --resume --designs weak100 weak20of40 --device cuda --jobs 10
python experiments/datumwise_many.py --resume --designs wide2000 --replicates 2 --minutes 3
python experiments/datumwise_many.py --recorded  # one table of all that these have measured
"""

import itertools
import time
import warnings

import numpy as np
from _datumwise_common import Records, arguments, command_line, load, mean_and_error, write
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from rlselect import DatumwiseClassifier

N_TRAIN, N_TEST = 400, 4000
# columns, those that count, effect of each in units of the noise
WEAK = {"weak100": (100, 100, 0.3), "weak20of40": (40, 20, 0.5), "wide2000": (2000, 8, 1.0)}
DESIGNS = (*WEAK, "madelon")
# what is measured beside L1: very many columns as they come, by the default
SCORINGS = dict.fromkeys(DESIGNS, ("network", "bins")) | {"wide2000": ("auto",), "madelon": ("auto", "bins")}
PRICES = np.geomspace(3e-4, 0.2, 24)
COUNTS = {
    "weak100": (5, 10, 20, 40),
    "weak20of40": (5, 10, 15, 20),
    "wide2000": (3, 5, 8),
    "madelon": (1, 2, 4, 8),
}
N_GROUPS = 10


def draw(design, seed):
    """Training and test rows, and the groups if there are any."""
    rng = np.random.default_rng(seed)
    if design == "madelon":
        problem = load("madelon")
        rows, groups = rng.permutation(len(problem.y)), rng.permutation(np.arange(500) % N_GROUPS)
        train, test = rows[:2000], rows[2000:]
        return problem.X[train], problem.y[train], problem.X[test], problem.y[test], groups
    columns, acting, effect = WEAK[design]
    X = rng.normal(size=(N_TRAIN + N_TEST, columns))
    y = (effect * X[:, :acting].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:], None


def lasso_path(X, y, X_test, y_test, groups):
    """Columns (groups) in use and accuracy along a path of penalties."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    smallest = 1 / np.abs((y - y.mean()) @ X).max()
    out = []
    for multiple in np.concatenate([np.geomspace(1.05, 3.0, 15), np.geomspace(3.5, 100.0, 10)]):
        model = LogisticRegression(penalty="l1", C=multiple * smallest, solver="liblinear")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (ConvergenceWarning, FutureWarning, UserWarning))
            model.fit(X, y)
        used = np.flatnonzero(model.coef_[0])
        count = len(used) if groups is None else len(np.unique(groups[used]))
        out.append((count, float(model.score(X_test, y_test))))
    return out


def run(key, args):
    """Curves of one data set; None when there is no time left."""
    if time.time() > args.until:
        return key, None
    design, seed, scoring = key
    X, y, X_test, y_test, groups = draw(design, seed)
    if scoring == "lasso":
        return key, {"curve": lasso_path(X, y, X_test, y_test, groups)}
    names = {} if groups is None else {"feature_groups": groups}
    where = {} if scoring == "bins" else {"device": args.device}
    start = time.process_time()
    model = DatumwiseClassifier(scoring=scoring, feature_cost=0.01, random_state=seed, **names, **where)
    model.fit(X, y)
    record = {"seconds": time.process_time() - start, "scoring": model.scoring_, "curve": []}
    number = X.shape[1] if groups is None else N_GROUPS
    for price in PRICES:
        other = model.at(feature_cost=float(price))
        count = float(other.acquire(X_test).mean()) * number
        record["curve"].append((count, float(other.score(X_test, y_test))))
    return key, record


def at_count(curve, count):
    """Accuracy with so many columns on average, between neighbours of a curve."""
    points = np.array(sorted(curve))
    counts, first = np.unique(points[:, 0], return_index=True)
    best = np.maximum.reduceat(points[:, 1], first)
    return float(np.interp(count, counts, best))


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_many", replicates=5)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=DESIGNS)
    parser.add_argument("--scorings", nargs="+", default=["lasso", "bins", "network", "auto"])
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing after so many")
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--recorded", action="store_true", help="compute nothing, show what is recorded")
    args = parser.parse_args()
    args.until = time.time() + 60 * args.minutes
    records = Records(args.records, args.resume or args.recorded)
    seeds = range(args.seed, args.seed + args.replicates)
    keys = [(d, s, scoring) for s in seeds for d in args.designs for scoring in ("lasso", *SCORINGS[d])]
    keys = [key for key in keys if key[2] in args.scorings]
    todo = [] if args.recorded else [key for key in keys if key not in records.done]
    parallel = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1)
    for key, record in parallel(delayed(run)(key, args) for key in todo):
        if record is not None:
            records.get(key, lambda record=record: record)
            print(*key, round(record.get("seconds", 0)), flush=True)
    write(table(args, records), args.out)


def table(args, records):
    lines = [
        f"Accuracy in percent (± standard error) at equal mean counts of columns, for Madelon of {N_GROUPS} "
        f"random groups; {N_TRAIN} rows to learn from (Madelon 2,000), {N_TEST} to judge by (Madelon the "
        "rest). weak100: all of 100 columns count, .3 of the noise each; weak20of40: 20 of 40, .5 each; "
        "wide2000: 8 of 2,000, 1 each. One fit at a price of .01 and 24 prices after it; L1: logistic "
        f"regression at 25 penalties. Seeds from {args.seed}; the number of data sets is in the table.",
        "",
        command_line(),
        "",
        "| design | runs | scoring | count | datum-wise | bins | L1 | behind L1 | CPU s |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for design, scoring in itertools.product(DESIGNS, ("network", "auto")):
        own = {key[1]: one for key, one in records.done.items() if key[::2] == (design, scoring)}
        if not own:
            continue
        # on the same rows
        found = {scoring: list(own.values())}
        for other in ("bins", "lasso"):
            found[other] = [records.done[design, s, other] for s in own if (design, s, other) in records.done]
        seconds = np.mean([one["seconds"] for one in found[scoring]])
        for count in COUNTS[design]:
            at = {s: [100 * at_count(one["curve"], count) for one in runs] for s, runs in found.items()}
            cells = [design, len(own), scoring, count]
            # means over fewer data sets cannot be compared
            cells += [
                mean_and_error(at[s]) if len(at[s]) == len(own) else "" for s in (scoring, "bins", "lasso")
            ]
            whole = len(at["lasso"]) == len(own)
            cells += [f"{np.mean(at['lasso']) - np.mean(at[scoring]):.1f}" if whole else "", f"{seconds:.0f}"]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


if __name__ == "__main__":
    main()
