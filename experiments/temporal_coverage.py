"""How often do simultaneous bands cover the whole true curve, from few subjects to many?

python experiments/temporal_coverage.py --replicates 150 --seed 621 --draws 300 --times 12 \
    --subjects 20 60 150
"""

import argparse
import warnings

import numpy as np
from temporal_common import LINKS, curves, simulate, write_table

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

NAMES = ["Intercept", "x0", "x1"]


def truths(n_times):
    rising = curves(n_times)
    rising[1] = np.linspace(0.0, 1.0, n_times)
    return {"fading": curves(n_times), "rising": rising}


def covered(band, truth):
    lower, upper = band.lower[NAMES].to_numpy(), band.upper[NAMES].to_numpy()
    # a flagged time has no band that could miss
    inside = (lower <= truth.T) & (upper >= truth.T) | np.isnan(lower)
    return inside.all(axis=0)


def one(rng, n, truth, link, n_draws, refit_draws):
    x, y, ids, times = simulate(rng, n, truth.shape[1], link, truth)
    model = TemporalProcessRegression(link=link).fit(x, y, id=ids, time=times)
    options = {"n_draws": n_draws, "random_state": int(rng.integers(2**31))}
    out = {
        "default": covered(model.bands(**options), truth),
        "small_sample=False": covered(model.bands(**options, small_sample=False), truth),
        "dissertation": covered(model.bands(method="dissertation", **options), truth),
        "pointwise interval": covered(model.conf_int(), truth),
    }
    if refit_draws:
        band = model.bands(resample="refit", n_draws=refit_draws, random_state=options["random_state"])
        out["refit"] = covered(band, truth)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--subjects", type=int, nargs="+", default=[20, 60, 150, 300])
    parser.add_argument("--times", type=int, default=24)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--refit-draws", type=int, default=0)
    parser.add_argument("--name", default="temporal_coverage")
    args = parser.parse_args()
    warnings.simplefilter("ignore", FlaggedTimeWarning)
    warnings.simplefilter("ignore", SmallSampleWarning)
    rows = []
    for link in LINKS:
        for n in args.subjects:
            for k, (name, truth) in enumerate(truths(args.times).items()):
                rng = np.random.default_rng([args.seed, LINKS.index(link), n, k])
                runs = [
                    one(rng, n, truth, link, args.draws, args.refit_draws) for _ in range(args.replicates)
                ]
                for method in runs[0]:
                    share = np.mean([run[method] for run in runs], axis=0)
                    rows.append([link, n, name, method, *(float(v) for v in share), float(share.mean())])
    write_table(
        args.name,
        f"Coverage of whole curves at level .95 ({args.times} times, {args.replicates} runs)",
        ["link", "n", "effect of x", "band", "intercept", "effect of x", "constant effect", "mean"],
        rows,
        [
            f"The standard error of an entry near .95 is {np.sqrt(0.0475 / args.replicates):.3f}. Pointwise "
            "intervals are shown to say what they do not cover. Smoothed curves: temporal_smoothing.md."
        ],
    )


if __name__ == "__main__":
    main()
