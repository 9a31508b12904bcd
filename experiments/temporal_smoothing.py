"""Error of smoothed curves, kernel and penalised splines, beside those of R's mgcv.

python experiments/temporal_smoothing.py --mgcv --replicates 100 --seed 733
python experiments/temporal_smoothing.py --replicates 100 --seed 733 --draws 400
python experiments/temporal_smoothing.py --replicates 60 --seed 1601 --bands-only
python experiments/temporal_smoothing.py --mgcv --replicates 80 --seed 8341 --subjects 150 --rho 0.8 \
    --curves waves --links logit --name temporal_smoothing_again
python experiments/temporal_smoothing.py --replicates 80 --seed 8341 --subjects 150 --rho 0.8 \
    --curves waves --links logit --name temporal_smoothing_again

The first needs R with mgcv (``Rscript``): it fits ``bam(y ~ s(time) + s(time, by = x0) + s(time, by = x1))``
by ``temporal_smoothing_mgcv.R`` and keeps its errors in ``results/temporal_smoothing_mgcv.csv``. The second
reads them from there, so that it needs no R. The third is about bands of splines alone; those of kernels, and
intervals, are in ``temporal_coverage.py``. The last two ask one design again.
"""

import argparse
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from temporal_common import RESULTS, curves, simulate, write_table

from rlselect import TemporalProcessRegression

NAMES = ["Intercept", "x0", "x1"]
FAMILIES = {"logit": "binomial", "identity": "gaussian", "log": "poisson"}
SCRIPT = Path(__file__).with_name("temporal_smoothing_mgcv.R")
KEY = ["link", "n", "rho", "curves", "replicate"]


def truths(n_times):
    s = np.linspace(0.0, 1.0, n_times)
    return {
        "fading": curves(n_times),
        "rising": np.stack([-0.3 + 0.4 * s, 1.2 * s, np.full(n_times, -0.4)]),
        "waves": np.stack(
            [0.3 * np.sin(4 * s), 0.6 * np.sin(2 * np.pi * s), 0.5 * np.exp(-(((s - 0.3) / 0.15) ** 2))]
        ),
        "late": np.stack([0.5 * s**2 - 0.2, 0.8 * expit(15 * (s - 0.6)), 0.5 * np.abs(s - 0.5)]),
    }


@dataclass
class Design:
    """A truth of shape (curves, times), and the data sets simulated from it."""

    link: str
    n: int
    rho: float
    curves: str
    truth: np.ndarray
    seed: list[int]

    def replicates(self, count):
        """X, y, ids, times and a seed for draws, `count` times."""
        rng = np.random.default_rng(self.seed)
        for _ in range(count):
            data = simulate(rng, self.n, self.truth.shape[1], self.link, self.truth, rho=self.rho)
            yield *data, int(rng.integers(2**31))

    def key(self, replicate):
        return self.link, self.n, self.rho, self.curves, replicate


def designs(args):
    """Binary ones of all sizes and correlations; of the other links the smallest size and one correlation."""
    cells = [("logit", n, rho) for n in args.subjects for rho in args.rho]
    if not args.bands_only:
        cells += [(link, args.subjects[0], 0.8) for link in ("identity", "log")]
    for link, n, rho in cells:
        more = [] if link == "logit" else [list(FAMILIES).index(link)]
        for k, (name, truth) in enumerate(truths(args.times).items()):
            if link not in args.links or (args.curves and name not in args.curves):
                continue
            yield Design(link, n, rho, name, truth, [args.seed, n, int(10 * rho), k, *more])


def fit_mgcv(args):
    """Fit mgcv to all data sets and keep errors, and what tells the data sets apart."""
    rows, versions = [], ""
    for design in designs(args):
        with tempfile.TemporaryDirectory() as folder:
            sets = list(design.replicates(args.replicates))
            for k, (x, y, _, times, _) in enumerate(sets):
                table = pd.DataFrame({"y": y, "x0": x[:, 0], "x1": x[:, 1], "time": times})
                table.to_csv(Path(folder) / f"{k:04}.csv", index=False)
            command = ["Rscript", str(SCRIPT), folder, FAMILIES[design.link]]
            versions = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            for k, (_, y, _, _, _) in enumerate(sets):
                found = pd.read_csv(Path(folder) / f"{k:04}.curves")
                off = found[NAMES].to_numpy() - design.truth.T
                inside = np.abs(off) <= 1.959964 * found[[f"se_{name}" for name in NAMES]].to_numpy()
                rows.append([*design.key(k), len(y), y.sum(), (off**2).mean(), inside.mean()])
        print(*design.key(args.replicates), flush=True)
    table = pd.DataFrame(rows, columns=[*KEY, "rows", "sum of y", "error", "pointwise"])
    head = f"# {versions}: {SCRIPT.name}, {args.times} times, seed {args.seed}\n"
    reference_of(args).write_text(head + table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def reference_of(args):
    """Where mgcv's errors are kept."""
    return RESULTS / f"{args.name}_mgcv.csv"


def read_mgcv(args):
    """What the reference file says of mgcv: its first line, and a row per data set."""
    with reference_of(args).open() as file:
        versions = file.readline().strip("# \n")
        return versions, pd.read_csv(file).set_index(KEY)


def mgcv_on(y, key, reference):
    """The row of a data set, which has to be the one that mgcv saw."""
    if key in reference.index:
        row = reference.loc[key]
        if np.allclose([len(y), y.sum()], [row["rows"], row["sum of y"]], rtol=1e-5):
            return row
    raise SystemExit("the reference file does not have this seed and replicate; make it anew with --mgcv")


def covered(band, truth):
    lower, upper = band.lower[NAMES].to_numpy(), band.upper[NAMES].to_numpy()
    return (lower <= truth.T) & (upper >= truth.T)


def coverage(args):
    """Of the bands of splines alone, by curve."""
    rows = []
    for design in designs(args):
        hits = []
        for x, y, ids, times, seed in design.replicates(args.replicates):
            model = TemporalProcessRegression(link="logit", n_splines=10).fit(x, y, id=ids, time=times)
            band = model.bands(smoothed=True, n_draws=args.draws, random_state=seed)
            hits.append(covered(band, design.truth).all(axis=0))
        share = np.mean(hits, axis=0)
        rows.append([design.n, design.rho, design.curves, *(float(v) for v in share), float(share.mean())])
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


def compare(design, args, reference):
    """One row of the table without its first columns."""
    errors, points = [], []
    for k, (x, y, ids, times, _) in enumerate(design.replicates(args.replicates)):
        mgcv = mgcv_on(y, design.key(k), reference)
        kernel = TemporalProcessRegression(link=design.link, bandwidth="cv").fit(x, y, id=ids, time=times)
        splines = TemporalProcessRegression(link=design.link, n_splines=10).fit(x, y, id=ids, time=times)
        found = [kernel.coef_, kernel.smoothed_coef_, splines.smoothed_coef_]
        errors.append([*(((f[NAMES].to_numpy() - design.truth.T) ** 2).mean() for f in found), mgcv["error"]])
        points.append(mgcv["pointwise"])
    errors = np.array(errors)
    ratio = errors[:, :3].sum(axis=0) / errors[:, 3].sum()
    # of a ratio of paired means, to first order
    rest = errors[:, 2] - ratio[2] * errors[:, 3]
    spread = rest.std(ddof=1) / errors[:, 3].mean() / np.sqrt(len(rest))
    return [float(v) for v in (*ratio, spread, np.mean(points))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=150)
    parser.add_argument("--seed", type=int, default=501)
    parser.add_argument("--times", type=int, default=24)
    parser.add_argument("--subjects", type=int, nargs="+", default=[150, 300])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--rho", type=float, nargs="+", default=[0.5, 0.8], help="of neighbours, logit link")
    parser.add_argument("--links", nargs="+", default=list(FAMILIES))
    parser.add_argument("--curves", nargs="+", help="these truths alone")
    parser.add_argument("--name", default="temporal_smoothing")
    parser.add_argument("--mgcv", action="store_true", help="fit mgcv and keep its errors; nothing else")
    parser.add_argument("--bands-only", action="store_true", help="coverage of splines and nothing else")
    args = parser.parse_args()
    if args.mgcv:
        fit_mgcv(args)
        return
    if args.bands_only:
        coverage(args)
        return
    versions, reference = read_mgcv(args)
    rows = []
    for design in designs(args):
        rows.append([*design.key(0)[:-1], *compare(design, args, reference)])
        print(rows[-1], flush=True)
    for link in args.links:
        own = np.array([row[4:] for row in rows if row[0] == link])
        mean = own.mean(axis=0)
        mean[3] = np.sqrt((own[:, 3] ** 2).sum()) / len(own)
        rows.append([link, "mean", "", "", *(float(v) for v in mean)])
    write_table(
        args.name,
        f"Smoothed curves beside mgcv's ({args.times} times, {args.replicates} replicates)",
        [
            "link",
            "n",
            "correlation of neighbours",
            "curves",
            "error of raw / mgcv",
            "kernel, cv / mgcv",
            "splines / mgcv",
            "its standard error",
            "true points in mgcv's intervals",
        ],
        rows,
        [
            "Errors are integrated and squared, over all three curves, and summed over replicates; every "
            "method has the same data sets, and the standard error is that of the paired ratio. mgcv is "
            "`bam(y ~ s(time) + s(time, by = x0) + s(time, by = x1))` with its defaults, from "
            f"`{reference_of(args).name}` ({versions}). Its intervals are pointwise, level .95, with its own "
            "standard errors; bands and intervals of ours are in temporal_coverage_smoothed.md."
        ],
    )


if __name__ == "__main__":
    main()
