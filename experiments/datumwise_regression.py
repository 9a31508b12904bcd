"""Numbers: R squared at 2, 3 and 5 features per case, beside a forest on its k most important columns.

python experiments/datumwise_regression.py --replicates 2 --wide 2 --seed 210
"""

import time

import numpy as np
from _datumwise_common import Records, arguments, write
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score

from rlselect.datasets import load_local
from rlselect.datumwise import DatumwiseRegressor, NetworkTraining

SETS = ("diabetes", "switch", "communities_crime")
COUNTS = (2, 3, 5)
SHOWN = ("network", "bins", "forest")
# quicker than the defaults, by about ten times
TRAINING = {"steps": (300, 1200), "hidden": 64, "n_members": 4}


def rows_of(name, seed):
    """Training and test rows; of the simulated set, the first column says which of two others counts."""
    rng = np.random.default_rng(seed)
    if name == "switch":
        X = rng.normal(size=(2500, 10))
        y = np.where(X[:, 0] > 0, 2 * X[:, 1], 2 * X[:, 2]) + 0.5 * rng.normal(size=2500)
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


def datumwise(model, X_test, y_test):
    """R squared between the prices of a frontier, at so many purchases per case on average."""
    curve = model.frontier(X_test, y_test)
    bought = (1 - curve["sparsity"]) * len(model.units_)
    order = np.argsort(bought, kind="stable")
    return [float(np.interp(k, bought[order], curve["r2"][order])) for k in COUNTS]


def measure(name, seed):
    X, y, X_test, y_test = rows_of(name, seed)
    out = {"forest": forest(X, y, X_test, y_test, seed)}
    ways = {
        "bins": DatumwiseRegressor(scoring="bins", random_state=seed),
        "network": DatumwiseRegressor(search=NetworkTraining(**TRAINING), random_state=seed),
    }
    for way, model in ways.items():
        began = time.process_time()
        model.fit(X, y)
        out[way + " s"] = time.process_time() - began
        out[way] = datumwise(model, X_test, y_test)
        own = r2_score(y_test, model.predict(X_test))
        out[way + " own"] = [own, float(model.acquire(X_test).sum(axis=1).mean())]
    return out


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_regression", replicates=3)
    parser.add_argument("--wide", type=int, default=1, help="splits of communities_crime, a minute each")
    args = parser.parse_args()
    records = Records(args.records, args.resume)
    lines = [
        f"python experiments/datumwise_regression.py --replicates {args.replicates} --wide {args.wide} "
        f"--seed {args.seed}",
        "",
        f"R squared on test rows at {', '.join(map(str, COUNTS))} features per case on average (between the "
        f"prices of a frontier), means of {args.replicates} splits from seed {args.seed} ({args.wide} of "
        "communities_crime, by the 60 of its 100 columns that tell most); 300, 500 and 600 "
        "rows to learn from. Network: 300 or 1,200 steps, 64 hidden units, 4 members. Own price: R squared "
        "and features bought at the default price of .01, without any choice on test rows. Forest: 200 trees "
        "on the k columns that a first forest finds most important.",
        "",
        "| data | "
        + " | ".join(f"{way} {k}" for way in SHOWN for k in COUNTS)
        + " | network, own price | bins, own price | CPU s network, bins |",
        "|" + "---|" * (4 + 3 * len(COUNTS)),
    ]
    for name in SETS:
        number = args.wide if name == "communities_crime" else args.replicates
        seeds = range(args.seed, args.seed + number)
        runs = [records.get((name, seed), lambda n=name, s=seed: measure(n, s)) for seed in seeds]
        cells = [np.mean([run[way] for run in runs], axis=0) for way in SHOWN]
        row = " | ".join(f"{value:.3f}" for value in np.concatenate(cells))
        own = [np.mean([run[f"{way} own"] for run in runs], axis=0) for way in SHOWN[:2]]
        said = " | ".join(f"{r2:.3f}, {bought:.1f}" for r2, bought in own)
        seconds = ", ".join(
            f"{np.mean([run[f'{way} s'] for run in runs]):.0f}" for way in ("network", "bins")
        )
        lines.append(f"| {name} | {row} | {said} | {seconds} |")
    write(lines, args.out)


if __name__ == "__main__":
    main()
