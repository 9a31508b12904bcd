"""How often do simultaneous bands cover the whole true curve?

python experiments/temporal_coverage.py --replicates 400 --seed 101
"""

import argparse

import numpy as np
from temporal_common import LINKS, curves, simulate, write_table

from rlselect import TemporalProcessRegression
from rlselect.temporal._smooth import Window, smoothing_matrix

NAMES = ["Intercept", "x0", "x1"]


def covered(band, truth):
    lower, upper = band.lower[NAMES].to_numpy(), band.upper[NAMES].to_numpy()
    return ((lower <= truth.T) & (upper >= truth.T)).all(axis=0)


def one(rng, n, n_times, link, bandwidth, n_draws, refit_draws):
    truth = curves(n_times)
    x, y, ids, times = simulate(rng, n, n_times, link, truth)
    model = TemporalProcessRegression(link=link, bandwidth=bandwidth).fit(x, y, id=ids, time=times)
    seed = int(rng.integers(2**31))
    matrix = smoothing_matrix(
        model.times_.astype(float), Window(bandwidth, "triangular"), np.ones(n_times, dtype=bool)
    )
    out = {
        "sup": covered(model.bands(n_draws=n_draws, random_state=seed), truth),
        "sup, normal tails": covered(
            model.bands(n_draws=n_draws, random_state=seed, small_sample=False), truth
        ),
        "dissertation": covered(
            model.bands(method="dissertation", n_draws=n_draws, random_state=seed), truth
        ),
        "sup, smoothed": covered(
            model.bands(smoothed=True, n_draws=n_draws, random_state=seed), truth @ matrix.T
        ),
        "pointwise interval": covered(model.conf_int(), truth),
    }
    if refit_draws:
        band = model.bands(resample="refit", n_draws=refit_draws, random_state=seed)
        out["sup, refit"] = covered(band, truth)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--times", type=int, default=24)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--refit-draws", type=int, default=0)
    parser.add_argument("--name", default="temporal_coverage")
    args = parser.parse_args()
    rows = []
    for link in LINKS:
        rng = np.random.default_rng([args.seed, LINKS.index(link)])
        runs = [
            one(rng, args.n, args.times, link, 3.0, args.draws, args.refit_draws)
            for _ in range(args.replicates)
        ]
        for method in runs[0]:
            share = np.mean([run[method] for run in runs], axis=0)
            rows.append([link, method, *(float(v) for v in share), float(share.mean())])
    write_table(
        args.name,
        f"Coverage of whole curves at level .95 (n={args.n}, {args.times} times, {args.replicates} runs)",
        ["link", "band", "intercept", "fading effect", "constant effect", "mean"],
        rows,
        [
            f"The standard error of an entry near .95 is {np.sqrt(0.0475 / args.replicates):.3f}. Smoothed "
            "bands are held against the smoothed truth. Pointwise intervals are shown to say what "
            "they do not cover."
        ],
    )


if __name__ == "__main__":
    main()
