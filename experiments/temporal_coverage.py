"""How often do bands cover the whole true curve, and intervals single points, from few subjects to many?

python experiments/temporal_coverage.py --replicates 60 --seed 16511 --draws 500 --times 12 \
    --subjects 10 20 60 150 400
python experiments/temporal_coverage.py --replicates 40 --seed 16521 --draws 500 --times 16 \
    --subjects 20 60 --smoothed --name temporal_coverage_smoothed

A broken run goes on after the cells it has done, which a temporary file keeps until the table is written.
"""

import argparse
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from temporal_common import LINKS, curves, simulate, simulate_arms, write_table
from temporal_smoothing import truths as bent

from rlselect import TemporalProcessRegression
from rlselect.temporal import FlaggedTimeWarning, SmallSampleWarning

NAMES = ["Intercept", "x0", "x1"]


def designs(n_times, smoothed):
    """Name, how data are made, and the truth."""
    if smoothed:
        found = bent(n_times)
        return [(name, simulate, found[name]) for name in ("waves", "late")]
    rising = curves(n_times)
    rising[1] = np.linspace(0.0, 1.0, n_times)
    return [
        ("fading", simulate, curves(n_times)),
        ("rising", simulate, rising),
        ("arms, fading", simulate_arms, curves(n_times)),
    ]


def inside(band, truth):
    """Points of the truth that are covered; a flagged time has no band that could miss."""
    lower, upper = band.lower[NAMES].to_numpy(), band.upper[NAMES].to_numpy()
    return (lower <= truth.T) & (upper >= truth.T) | np.isnan(lower)


def mean_inside(model, truth, smoothed):
    """Whether the mean at x = (1, 1) lies in its interval, at each time."""
    rows = pd.DataFrame({"x0": 1.0, "x1": 1.0, "time": model.times_})
    found = model.predict_interval(rows, time="time", smoothed=smoothed)
    eta = truth[:, model.times_.astype(int)].sum(axis=0)
    mean = {"identity": eta, "logit": 1 / (1 + np.exp(-eta)), "log": np.exp(eta)}[model.link]
    hits = (found["lower"] <= mean) & (found["upper"] >= mean) | found["lower"].isna()
    return float(hits.mean())


def fitted(link, data, **options):
    x, y, ids, times = data
    table = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1]})
    return TemporalProcessRegression(link=link, **options).fit(table, y, id=ids, time=times)


def one(rng, n, make, truth, link, args):
    """Shares by method: three curves, and the mean where intervals of it are made."""
    data = make(rng, n, truth.shape[1], link, truth)
    draws = {"n_draws": args.draws, "random_state": int(rng.integers(2**31))}
    out = {}
    if args.smoothed:
        for name, options in (("splines", {"n_splines": 10}), ("kernel, cv", {"bandwidth": "cv"})):
            model = fitted(link, data, **options)
            out[f"{name}: band"] = [*inside(model.bands(smoothed=True, **draws), truth).all(axis=0), np.nan]
            points = inside(model.conf_int(smoothed=True), truth).mean(axis=0)
            out[f"{name}: points"] = [*points, mean_inside(model, truth, True)]
            shown = model.smoothed_coef_[NAMES].to_numpy()
            normal = np.abs(shown - truth.T) <= 1.96 * model.smoothed_se_[NAMES].to_numpy()
            out[f"{name}: points, 1.96 se"] = [*(normal | np.isnan(shown)).mean(axis=0), np.nan]
        return out
    model = fitted(link, data)
    out["band"] = [*inside(model.bands(**draws), truth).all(axis=0), np.nan]
    out["band, small_sample=False"] = [
        *inside(model.bands(**draws, small_sample=False), truth).all(axis=0),
        np.nan,
    ]
    points = inside(model.conf_int(), truth).mean(axis=0)
    out["points"] = [*points, mean_inside(model, truth, False)]
    normal = np.abs(model.coef_[NAMES].to_numpy() - truth.T) <= 1.96 * model.se_[NAMES].to_numpy()
    out["points, 1.96 se"] = [*(normal | model.coef_[NAMES].isna().to_numpy()).mean(axis=0), np.nan]
    return out


def one_cell(args, rng, n, make, truth, link):
    found = {}
    for _ in range(args.replicates):
        try:
            shares = one(rng, n, make, truth, link, args)
        except ValueError:
            continue  # no time could be estimated
        for method, row in shares.items():
            found.setdefault(method, []).append(row)
    return {method: np.mean(rows, axis=0).tolist() for method, rows in found.items()}


def all_cells(args):
    kept = Path(tempfile.gettempdir()) / f"{args.name}_{args.seed}_{args.replicates}.json"
    done = json.loads(kept.read_text()) if kept.exists() else {}
    rows = []
    for link in LINKS:
        for n in args.subjects:
            for k, (name, make, truth) in enumerate(designs(args.times, args.smoothed)):
                key = f"{link} {n} {name}"
                if key not in done:
                    rng = np.random.default_rng([args.seed, LINKS.index(link), n, k])
                    done[key] = one_cell(args, rng, n, make, truth, link)
                    print(key, done[key], flush=True)
                    kept.write_text(json.dumps(done))
                for method, shares in done[key].items():
                    rows.append([link, n, name, method, *shares[:3], float(np.mean(shares[:3])), shares[3]])
    kept.unlink()
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--subjects", type=int, nargs="+", default=[20, 60, 150, 300])
    parser.add_argument("--times", type=int, default=24)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--smoothed", action="store_true", help="curves of splines and kernels instead")
    parser.add_argument("--name", default="temporal_coverage")
    args = parser.parse_args()
    warnings.simplefilter("ignore", FlaggedTimeWarning)
    warnings.simplefilter("ignore", SmallSampleWarning)
    write_table(
        args.name,
        f"Coverage at level .95 ({args.times} times, {args.replicates} runs)",
        ["link", "n", "effect of x", "what", "intercept", "x", "other", "mean", "predicted mean"],
        all_cells(args),
        [
            "Rows of bands: share of whole true curves inside. Rows of points: share of true points inside "
            "`conf_int`, and of true means at (1, 1) inside `predict_interval`; `1.96 se` is what normal "
            "quantiles of `se_` around the shown curve would hold. The standard error of a whole curve's "
            f"entry near .95 is {np.sqrt(0.0475 / args.replicates):.3f}."
        ],
    )


if __name__ == "__main__":
    main()
