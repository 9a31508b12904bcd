"""Error and coverage of smoothed curves: kernel, penalised splines, and a yardstick.

python experiments/temporal_smoothing.py --replicates 40 --seed 521 --draws 400
python experiments/temporal_smoothing.py --replicates 150 --seed 601 --bands-only

The yardstick does what ``mgcv::bam(y ~ s(t) + s(t, by = x) + ..., method = "fREML")`` does with its
defaults: ten cubic splines per curve, penalties by restricted likelihood with all rows taken as independent.
It is written here from the definitions with dense matrices, since R is not part of this project; B-splines
with second-order differences take the place of its thin plate basis.
"""

import argparse

import numpy as np
from scipy.interpolate import BSpline
from scipy.special import expit
from temporal_common import curves, simulate, write_table

from rlselect import TemporalProcessRegression

NAMES = ["Intercept", "x0", "x1"]


def truths(n_times):
    s = np.linspace(0.0, 1.0, n_times)
    return {
        "fading": curves(n_times),
        "rising": np.stack([-0.3 + 0.4 * s, 1.2 * s, np.full(n_times, -0.4)]),
        "waves": np.stack(
            [0.3 * np.sin(4 * s), 0.6 * np.sin(2 * np.pi * s), 0.5 * np.exp(-(((s - 0.3) / 0.15) ** 2))]
        ),
    }


def yardstick(x, y, times, n_splines=10):
    """Penalised logistic regression, penalties by Fellner and Schall; curves at the distinct times."""
    clock, place = np.unique(times, return_inverse=True)
    gap = (clock[-1] - clock[0]) / (n_splines - 3)
    knots = clock[0] + gap * np.arange(-3, n_splines + 1)
    basis = BSpline.design_matrix(np.minimum(clock, knots[n_splines] - 1e-9), knots, 3).toarray()
    columns = np.column_stack([np.ones(len(y)), x])
    p = columns.shape[1]
    z = np.einsum("ik,ij->ikj", columns, basis[place]).reshape(len(y), -1)
    d = np.diff(np.eye(n_splines), 2, axis=0)
    penalty, lam, c = d.T @ d, np.ones(p), np.zeros(p * n_splines)
    for _ in range(60):
        whole = np.kron(np.diag(lam), penalty)
        for _ in range(30):
            mu = expit(z @ c)
            hessian = (z * (mu * (1 - mu))[:, None]).T @ z
            step = np.linalg.solve(hessian + whole + 1e-9 * np.eye(len(c)), z.T @ (y - mu) - whole @ c)
            c = c + step
            if np.abs(step).max() < 1e-7:
                break
        inverse = np.linalg.inv(hessian + whole + 1e-9 * np.eye(len(c)))
        new = lam.copy()
        for k in range(p):
            own = slice(k * n_splines, (k + 1) * n_splines)
            used = n_splines - 2 - lam[k] * np.trace(inverse[own, own] @ penalty)
            new[k] = np.clip(used / max(c[own] @ penalty @ c[own], 1e-12), 1e-6, 1e9)
        near = np.abs(np.log(new / lam)).max() < 0.02
        lam = new
        if near:
            break
    return basis @ c.reshape(p, n_splines).T


def covered(band, truth):
    lower, upper = band.lower[NAMES].to_numpy(), band.upper[NAMES].to_numpy()
    return ((lower <= truth) & (upper >= truth)).all(axis=0)


def coverage(args):
    """Of the bands of splines alone, by curve."""
    rows = []
    for n in args.subjects:
        for rho in (0.5, 0.8):
            for k, (name, truth) in enumerate(truths(args.times).items()):
                rng, hits = np.random.default_rng([args.seed, n, int(10 * rho), k]), []
                for _ in range(args.replicates):
                    x, y, ids, times = simulate(rng, n, args.times, "logit", truth, rho=rho)
                    model = TemporalProcessRegression(link="logit", n_splines=10)
                    model.fit(x, y, id=ids, time=times)
                    seed = int(rng.integers(2**31))
                    band = model.bands(smoothed=True, n_draws=args.draws, random_state=seed)
                    hits.append(covered(band, truth.T))
                share = np.mean(hits, axis=0)
                rows.append([n, rho, name, *(float(v) for v in share), float(share.mean())])
                print(rows[-1], flush=True)
    write_table(
        "temporal_smoothing_coverage",
        f"Whole true curves inside bands of splines, level .95 ({args.replicates} replicates)",
        ["n", "correlation of neighbours", "curves", *NAMES, "mean"],
        rows,
        [
            f"Binary responses at {args.times} times. The standard error of one curve's entry is near "
            f"{np.sqrt(0.0475 / args.replicates):.3f}, that of a mean near "
            f"{np.sqrt(0.0475 / args.replicates / 2):.3f}."
        ],
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=150)
    parser.add_argument("--seed", type=int, default=501)
    parser.add_argument("--times", type=int, default=24)
    parser.add_argument("--subjects", type=int, nargs="+", default=[150, 300])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--bands-only", action="store_true", help="coverage of splines and nothing else")
    args = parser.parse_args()
    if args.bands_only:
        coverage(args)
        return
    rows = []
    for n in args.subjects:
        for rho in (0.5, 0.8):
            for k, (name, truth) in enumerate(truths(args.times).items()):
                rng = np.random.default_rng([args.seed, n, int(10 * rho), k])
                error = {"raw": 0.0, "kernel": 0.0, "splines": 0.0, "yardstick": 0.0}
                hits = {"raw": [], "kernel": [], "splines": []}
                width = {"raw": 0.0, "splines": 0.0}
                for _ in range(args.replicates):
                    x, y, ids, times = simulate(rng, n, args.times, "logit", truth, rho=rho)
                    seed = int(rng.integers(2**31))
                    kernel = TemporalProcessRegression(link="logit", bandwidth="cv")
                    kernel.fit(x, y, id=ids, time=times)
                    splines = TemporalProcessRegression(link="logit", n_splines=10).fit(
                        x, y, id=ids, time=times
                    )
                    estimates = {
                        "raw": kernel.coef_.to_numpy(),
                        "kernel": kernel.smoothed_coef_.to_numpy(),
                        "splines": splines.smoothed_coef_.to_numpy(),
                        "yardstick": yardstick(x, y, times),
                    }
                    for method, found in estimates.items():
                        error[method] += ((found - truth.T) ** 2).mean()
                    bands = {
                        "raw": splines.bands(n_draws=args.draws, random_state=seed),
                        "kernel": kernel.bands(smoothed=True, n_draws=args.draws, random_state=seed),
                        "splines": splines.bands(smoothed=True, n_draws=args.draws, random_state=seed),
                    }
                    for method, band in bands.items():
                        hits[method].append(covered(band, truth.T))
                    for method in width:
                        width[method] += float((bands[method].upper - bands[method].lower).to_numpy().mean())
                relative = [error[m] / error["yardstick"] for m in ("raw", "kernel", "splines")]
                cover = [float(np.mean(hits[m])) for m in hits]
                rows.append([n, rho, name, *relative, *cover, width["splines"] / width["raw"]])
                print(rows[-1], flush=True)
    rows.append(["mean", "", "", *(float(np.mean([row[k] for row in rows])) for k in range(3, 10))])
    write_table(
        "temporal_smoothing",
        f"Smoothed curves of binary responses ({args.times} times, {args.replicates} replicates)",
        [
            "n",
            "correlation of neighbours",
            "curves",
            "error of raw / yardstick",
            "kernel, cv / yardstick",
            "splines / yardstick",
            "whole true curve in band: raw",
            "kernel, cv",
            "splines",
            "width, splines / raw",
        ],
        rows,
        [
            "Errors are integrated and squared, over all three curves. The yardstick is the penalised "
            "regression that mgcv's `bam` with `s(t, by = x)` stands for, as written in the script: rows "
            "independent, "
            "penalties by restricted likelihood, ten splines. A band covers when the whole true curve lies "
            "inside; shares are over three curves, with a standard error near "
            f"{np.sqrt(0.0475 / args.replicates / 2):.3f}."
        ],
    )


if __name__ == "__main__":
    main()
