"""Promises about errors: wrong answers among those given, and how many are given, on rows that set nothing.

python experiments/datumwise_max_error.py --replicates 10 --seed 100
python experiments/datumwise_max_error.py --scoring network --datasets switch --out max_error_networks.md
"""

import time
import warnings

import numpy as np
from _datumwise_common import Records, arguments, command_line, load, write

from rlselect import DatumwiseClassifier

REAL = ("breast_cancer", "spambase", "segment")
SIMULATED = ("switch", "noisy")
PROMISES = (0.02, 0.05, 0.1)
MOST = 1500


def simulate(name, n, rng):
    """A feature that says which other one counts; and a sum, in which 30 % of the labels are chance."""
    X = rng.normal(size=(n, 10))
    if name == "switch":
        hidden = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * rng.normal(size=n)
        return X, (hidden > 0).astype(int)
    y = X[:, 0] + 0.7 * X[:, 1] - 0.7 * X[:, 2] > 0
    return X, np.where(rng.random(n) < 0.3, rng.random(n) < 0.5, y).astype(int)


def rows_of(name, seed):
    """Rows to learn from, to set the promise by, and to judge."""
    rng = np.random.default_rng(seed)
    if name in SIMULATED:
        X, y = simulate(name, 5600, rng)
        parts = np.split(np.arange(5600), [300, 600])
    else:
        problem = load(name)
        X, y = problem.X, problem.y
        order = rng.permutation(len(y))
        n = min(len(y), MOST)
        # rows beyond those that are learned from and set the promise judge it
        parts = np.split(order, [int(0.4 * n), int(0.7 * n)])
    return [(X[part], y[part]) for part in parts]


def measure(name, seed, scoring):
    """One record per promise and way: share answered, share wrong among them, and features bought."""
    (X, y), cases, (X_test, y_test) = rows_of(name, seed)
    began = time.process_time()
    model = DatumwiseClassifier(scoring=scoring, feature_cost=0.005, random_state=seed).fit(X, y)
    seconds = time.process_time() - began
    plain = {"wrong": 1 - model.score(X_test, y_test), "bought": float(model.acquire(X_test).sum(1).mean())}
    out = {"seconds": seconds, "plain": plain, "promises": []}
    for max_error in PROMISES:
        for buy_more in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                careful = model.with_max_error(max_error, *cases, buy_more=buy_more)
            sure, bought = careful.decided(X_test), careful.acquire(X_test).sum(1)
            wrong = careful.predict(X_test) != y_test
            out["promises"].append(
                {
                    "max_error": max_error,
                    "buy_more": buy_more,
                    "answered": float(sure.mean()),
                    "wrong": float(wrong[sure].mean()) if sure.any() else None,
                    "given": int(sure.sum()),
                    "bought": float(bought.mean()),
                }
            )
    return out


def main():
    parser = arguments(__doc__.splitlines()[0], "datumwise_max_error", replicates=10)
    parser.add_argument("--scoring", default="bins", choices=("bins", "network", "auto"))
    parser.add_argument("--datasets", nargs="+", default=REAL + SIMULATED, choices=REAL + SIMULATED)
    args = parser.parse_args()
    records = Records(args.records, args.resume)
    seeds = range(args.seed, args.seed + args.replicates)
    runs = {
        name: [
            records.get((name, seed, args.scoring), lambda n=name, s=seed: measure(n, s, args.scoring))
            for seed in seeds
        ]
        for name in args.datasets
    }
    lines = [
        command_line(),
        "",
        f"Scoring: {args.scoring}, price .005, level .9, {args.replicates} splits from seed {args.seed}. "
        f"Real sets: of at most {MOST} rows 40 % to learn from and 30 % to set the promise by, all others "
        "judge; simulated ones: 300, 300 and 5,000 rows. Answered: mean share of the rows. Wrong: share of "
        "all answers of all splits that are wrong. Broken: splits in which more answers were wrong than "
        "promised, of those with any answer; up to a tenth is what the level allows, and chance in the rows "
        "that judge adds to it. "
        "Bought: features per case.",
        "",
        "| data | without: wrong, bought | promise | way | answered | wrong | broken | bought |",
        "|" + "---|" * 8,
    ]
    for name, found in runs.items():
        wrong = np.mean([run["plain"]["wrong"] for run in found])
        bought = np.mean([run["plain"]["bought"] for run in found])
        for k, first in enumerate(found[0]["promises"]):
            own = [run["promises"][k] for run in found]
            some = [one for one in own if one["given"]]
            given = sum(one["given"] for one in some)
            share = f"{sum(one['wrong'] * one['given'] for one in some) / given:.3f}" if given else "-"
            broken = sum(one["wrong"] > first["max_error"] for one in some)
            lines.append(
                f"| {name} | {wrong:.3f}, {bought:.1f} | {first['max_error']} | "
                f"{'buys more' if first['buy_more'] else 'stops'} | "
                f"{np.mean([one['answered'] for one in own]):.2f} | {share} | {broken} of {len(some)} | "
                f"{np.mean([one['bought'] for one in own]):.1f} |"
            )
    write(lines, args.out)


if __name__ == "__main__":
    main()
