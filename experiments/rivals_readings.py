"""ACP, Table 6: FUSE and FSTD on Madelon by readings of what their papers leave open.

Runs that are in the file of replicates are not repeated; --seconds stops before the next run that would begin
later. The table holds what there is.

    RLSELECT_DATA=folder python experiments/rivals_readings.py --replicates 1 --seconds 600 \\
        --out experiments/results/rivals_readings.md
"""

import time

import numpy as np
from _kept_runs import readings_parser, run_readings
from sklearn.preprocessing import StandardScaler

from _real import TOP, cv_score, load
from rlselect.subset import FSTD, FUSE

READINGS = {
    "FUSE, 5,000 games": (FUSE, {}),
    "FUSE, games go on with .99": (FUSE, {"continuation": 0.99}),
    "FSTD, 400 games": (FSTD, {"n_games": 400}),
    "FSTD, 400 games, 300 rows judge": (FSTD, {"n_games": 400, "n_judged": 300}),
}
PRINTED = {FUSE: 85.07, FSTD: 86.48}


def one(name, seed):
    """Accuracy of a Gaussian SVM with the first columns of two rankings, and what the games were like."""
    maker, settings = READINGS[name]
    X, y, family = load("madelon")
    start = time.process_time()
    found = maker(task="classification", random_state=seed, **settings).fit(
        StandardScaler().fit_transform(X), y
    )
    seconds = time.process_time() - start
    worth = found.rapid_values_ if maker is FUSE else found.values_
    orders = {
        "selected": np.argsort(found.ranking_),
        "mean": np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable"),
    }
    last = len(found.path_["score"]) // 4
    return {
        **{key: 100.0 * cv_score(X[:, order[:TOP]], y, family, seed) for key, order in orders.items()},
        "size": float(found.path_["size"].mean()),
        "reward": float(found.path_["score"][-last:].mean()),
        "seconds": seconds,
    }


def table(records):
    lines = [
        "| reading | replicates | selected first | by mean reward | print | size | reward | s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, (maker, _) in READINGS.items():
        runs = records.of(name)
        if runs:
            means = {key: float(np.mean([r[key] for r in runs])) for key in runs[0]}
            shown = f"{means['selected']:.2f} | {means['mean']:.2f} | {PRINTED[maker]}"
            games = f"{means['size']:.1f} | {means['reward']:.3f} | {means['seconds']:.0f}"
            lines.append(f"| {name} | {len(runs)} | {shown} | {games} |")
    return lines


def main():
    args = readings_parser(__doc__, seed=3000).parse_args()
    plan = ((name, args.seed + r) for r in range(args.replicates) for name in READINGS)
    title = [
        f"FUSE and FSTD on Madelon: accuracy in percent of a Gaussian SVM with {TOP} columns (five folds of",
        "the rows that ranked them, standardised columns, as in Table 6), by readings,",
    ]
    remarks = [
        "Size and reward: columns of a game, and the area under the curve in the last quarter of the games.",
        "Print is that of the paper of FSTD, which the ACP paper quotes. Longer games and more rows that",
        "judge bring both nearer to it; 500 columns want more games than these, which were not run.",
    ]
    run_readings(args, __doc__, plan, one, table, title=title, remarks=remarks)


if __name__ == "__main__":
    main()
