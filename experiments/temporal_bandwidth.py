"""Mean squared error of smoothed curves, relative to the raw ones, by the way the bandwidth was chosen.

python experiments/temporal_bandwidth.py --replicates 60 --seed 31
"""

import argparse

import numpy as np
from temporal_common import curves, simulate, write_table

from rlselect import TemporalProcessRegression

LINKS = ("identity", "logit")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--times", type=int, default=48)
    args = parser.parse_args()
    rows = []
    for link in LINKS:
        for rho in (0.0, 0.8):
            rng = np.random.default_rng([args.seed, LINKS.index(link), int(10 * rho)])
            truth = curves(args.times).T
            error = {"raw": 0.0, "cv": 0.0, "cv-times": 0.0}
            width = {"cv": [], "cv-times": []}
            for _ in range(args.replicates):
                x, y, ids, times = simulate(rng, args.n, args.times, link, truth.T, rho=rho)
                for rule in ("cv", "cv-times"):
                    model = TemporalProcessRegression(link=link, bandwidth=rule).fit(x, y, id=ids, time=times)
                    error[rule] += ((model.smoothed_coef_.to_numpy() - truth) ** 2).mean()
                    width[rule].append(model.bandwidth_)
                error["raw"] += ((model.coef_.to_numpy() - truth) ** 2).mean()
            rows.append(
                [
                    link,
                    rho,
                    error["cv"] / error["raw"],
                    error["cv-times"] / error["raw"],
                    float(np.median(width["cv"])),
                    float(np.median(width["cv-times"])),
                ]
            )
    write_table(
        "temporal_bandwidth",
        f"Squared error relative to raw (n={args.n}, {args.times} times, {args.replicates} replicates)",
        [
            "link",
            "correlation of neighbours",
            "folds over subjects",
            "one time left out",
            "median width",
            "median width, one time left out",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
