"""A given number of features per case on spambase and MNIST, beside published results of deep acquisition.

RLSELECT_DATA=... python experiments/datumwise_published.py --device cuda --jobs 3
"""

import time

import numpy as np
from _datumwise_common import Records, arguments, command_line, mean_and_error, write
from joblib import Parallel, delayed

from rlselect import DatumwiseClassifier
from rlselect.datasets import load_local
from rlselect.datumwise import NetworkTraining

# features per case and the accuracy that was published with so many, in percent
PUBLISHED = {"spambase": {5: 90.9, 10: 92.2}, "mnist": {10: 87.0, 20: 94.0}}
# pixels that are learned about
PIXELS = 200
N_PIXEL_ROWS, N_PIXEL_TEST = 10_000, 5000
PRICE = 1e-3


def split_of(name, seed):
    """Four fifths of spambase to learn from, or 10,000 of the training digits and 5,000 of the others."""
    rng = np.random.default_rng(seed)
    bunch = load_local(name)
    if name == "mnist":
        train = rng.permutation(60_000)[:N_PIXEL_ROWS]
        test = 60_000 + rng.permutation(10_000)[:N_PIXEL_TEST]
    else:
        train, test = np.split(rng.permutation(len(bunch.target)), [int(0.8 * len(bunch.target))])
    X, y = np.asarray(bunch.data), np.asarray(bunch.target)
    return X[train].astype(float), y[train], X[test].astype(float), y[test]


def run(key, device):
    """Accuracy with at most, and on average, so many features per case, after one fit."""
    name, seed = key
    X, y, X_test, y_test = split_of(name, seed)
    search = NetworkTraining(screen=PIXELS)
    start = time.perf_counter()
    model = DatumwiseClassifier(
        scoring="network", search=search, feature_cost=PRICE, random_state=seed, device=device
    ).fit(X, y)
    out = {"seconds": time.perf_counter() - start, "at most": {}, "mean": {}}
    for k in PUBLISHED[name]:
        limited = model.with_budget(k)
        out["at most"][k] = [float(limited.score(X_test, y_test)), float(limited.cost(X_test).mean() / PRICE)]
        mean = model.with_mean_cost(k * PRICE, X[:2000])
        out["mean"][k] = [float(mean.score(X_test, y_test)), float(mean.acquire(X_test).sum(axis=1).mean())]
    return key, out


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_published", replicates=2)
    parser.add_argument("--datasets", nargs="+", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    records = Records(args.records, args.resume)
    seeds = range(args.seed, args.seed + args.replicates)
    todo = [(name, seed) for seed in seeds for name in args.datasets if (name, seed) not in records.done]
    parallel = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1)
    for key, found in parallel(delayed(run)(key, args.device) for key in todo):
        records.get(key, lambda found=found: found)
    write(table(args, records), args.out)


def table(args, records):
    """Lines of Markdown."""
    lines = [
        "Accuracy in percent with so many features per case, from one fit of networks: at most so many "
        f"(`with_budget`, a price of {PRICE}), and on average (`with_mean_cost`, set on 2,000 training rows; "
        "in brackets the mean number that test rows then bought). spambase: four fifths of the rows to learn "
        f"from, the others to judge by; MNIST: {N_PIXEL_ROWS:,} training digits, of whose 784 pixels the "
        f"{PIXELS} that tell most are learned about, and {N_PIXEL_TEST:,} others to judge by. The published "
        "results had all training rows and their own splits. "
        f"Seeds from {args.seed}, {args.replicates} per set at most.",
        "",
        command_line(),
        "",
        "| data | runs | features | at most | on average | published |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, published in PUBLISHED.items():
        runs = [found for key, found in records.done.items() if key[0] == name]
        for k, accuracy in published.items() if runs else ():
            cells = [[run[way].get(k) or run[way][str(k)] for run in runs] for way in ("at most", "mean")]
            shown = [mean_and_error([100 * one[0] for one in cell]) for cell in cells]
            bought = np.mean([one[1] for one in cells[1]])
            lines.append(
                f"| {name} | {len(runs)} | {k} | {shown[0]} | {shown[1]} ({bought:.1f}) | {accuracy} |"
            )
    return lines


if __name__ == "__main__":
    main()
