"""Numbers: R squared at 2, 3 and 5 features per case, beside a forest and a line on k columns.

RLSELECT_DATA=... python experiments/datumwise_regression.py --replicates 2 --seed 310 --device cuda --jobs 16
"""

import time

import numpy as np
from _datumwise_common import Records, arguments, command_line, write
from joblib import Parallel, delayed
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, lasso_path
from sklearn.metrics import r2_score

from rlselect.datasets import load_local
from rlselect.datumwise import DatumwiseRegressor

SETS = ("diabetes", "switch", "communities_crime", "linear", "friedman")
COUNTS = (2, 3, 5)
SHOWN = ("network", "bins", "forest", "lasso")


def rows_of(name, seed):
    """Training and test rows; of the simulated set, the first column says which of two others counts."""
    rng = np.random.default_rng(seed)
    if name == "switch":
        X = rng.normal(size=(2500, 10))
        y = np.where(X[:, 0] > 0, 2 * X[:, 1], 2 * X[:, 2]) + 0.5 * rng.normal(size=2500)
        n = 500
    elif name == "linear":
        X = rng.normal(size=(2500, 20))
        y = X[:, :6] @ [3, 2, 1.5, 1, 0.7, 0.5] + 1.5 * rng.normal(size=2500)
        n = 500
    elif name == "friedman":
        X, y = make_friedman1(2500, noise=1.0, random_state=seed)
        n = 500
    elif name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        n = 300
    else:
        bunch = load_local(name)
        X, y, n = np.asarray(bunch.data, float), np.asarray(bunch.target, float), 600
    order = rng.permutation(len(y))
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def forest(X, y, X_test, y_test, seed):
    """R squared with the k most important columns."""
    settings = {"n_estimators": 200, "min_samples_leaf": 3, "random_state": seed}
    best = np.argsort(-RandomForestRegressor(**settings).fit(X, y).feature_importances_)
    out = []
    for k in COUNTS:
        model = RandomForestRegressor(**settings).fit(X[:, best[:k]], y)
        out.append(r2_score(y_test, model.predict(X_test[:, best[:k]])))
    return out


def lasso(X, y, X_test, y_test):
    """R squared of least squares on the columns that the lasso takes up first, at most k."""
    mean, deviation = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-12)
    X_scaled, y_centred = (X - mean) / deviation, y - y.mean()
    penalties = np.abs(X_scaled.T @ y_centred).max() / len(y) * np.geomspace(1, 1e-3, 100)
    used = lasso_path(X_scaled, y_centred, alphas=penalties)[1] != 0
    out = []
    for k in COUNTS:
        columns = np.flatnonzero(used[:, np.flatnonzero(used.sum(axis=0) <= k).max()])
        model = LinearRegression().fit(X[:, columns], y)
        out.append(r2_score(y_test, model.predict(X_test[:, columns])))
    return out


def datumwise(model, X_test, y_test):
    """R squared between the prices of a frontier, at so many purchases per case on average."""
    curve = model.frontier(X_test, y_test)
    bought = (1 - curve["sparsity"]) * len(model.units_)
    order = np.argsort(bought, kind="stable")
    return [float(np.interp(k, bought[order], curve["r2"][order])) for k in COUNTS]


def measure(key, device):
    """What all ways reach on one split."""
    name, seed = key
    X, y, X_test, y_test = rows_of(name, seed)
    out = {"forest": forest(X, y, X_test, y_test, seed), "lasso": lasso(X, y, X_test, y_test)}
    ways = {
        "bins": DatumwiseRegressor(scoring="bins", random_state=seed),
        "network": DatumwiseRegressor(random_state=seed, device=device),
    }
    for way, model in ways.items():
        began = time.process_time()
        model.fit(X, y)
        out[way + " s"] = time.process_time() - began
        out[way] = datumwise(model, X_test, y_test)
        own = r2_score(y_test, model.predict(X_test))
        out[way + " own"] = [own, float(model.acquire(X_test).sum(axis=1).mean())]
    return key, out


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_regression", replicates=2)
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--jobs", type=int, default=1, help="splits at a time, each in a process")
    args = parser.parse_args()
    records = Records(args.records, args.resume)
    seeds = range(args.seed, args.seed + args.replicates)
    todo = [(name, seed) for seed in seeds for name in args.sets if (name, seed) not in records.done]
    parallel = Parallel(n_jobs=args.jobs, return_as="generator_unordered", batch_size=1)
    for key, found in parallel(delayed(measure)(key, args.device) for key in todo):
        records.get(key, lambda found=found: found)
        print(*key, flush=True)
    write(table(args, records), args.out)


def table(args, records):
    """Lines of Markdown."""
    lines = [
        command_line(),
        "",
        f"R squared on test rows at {', '.join(map(str, COUNTS))} features per case on average (between the "
        "prices of a frontier; where even the highest buys more, there: bins, linear and friedman), "
        f"means of {args.replicates} splits from seed {args.seed}; 300 rows to learn "
        "from (diabetes), 600 (communities_crime, 100 columns) and 500. switch: one column says which of two "
        "others counts; linear: 6 of 20 columns; friedman: Friedman's first, 5 of 10. Own price: R squared "
        "and features bought at the default price of .01, without any choice on test rows. Forest: 200 trees "
        "on the k columns that a first forest finds most important. Lasso: least squares on the first k "
        "columns of its path.",
        "",
        "| data | "
        + " | ".join(f"{way} {k}" for way in SHOWN for k in COUNTS)
        + " | network, own price | bins, own price | CPU s network, bins |",
        "|" + "---|" * (4 + len(SHOWN) * len(COUNTS)),
    ]
    for name in SETS:
        runs = [run for key, run in records.done.items() if key[0] == name]
        if not runs:
            continue
        cells = [np.mean([run[way] for run in runs], axis=0) for way in SHOWN]
        row = " | ".join(f"{value:.3f}" for value in np.concatenate(cells))
        own = [np.mean([run[f"{way} own"] for run in runs], axis=0) for way in SHOWN[:2]]
        said = " | ".join(f"{r2:.3f}, {bought:.1f}" for r2, bought in own)
        seconds = ", ".join(
            f"{np.mean([run[f'{way} s'] for run in runs]):.0f}" for way in ("network", "bins")
        )
        lines.append(f"| {name} ({len(runs)}) | {row} | {said} | {seconds} |")
    return lines


if __name__ == "__main__":
    main()
