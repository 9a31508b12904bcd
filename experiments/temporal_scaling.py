"""Seconds and peak memory of a fit by subjects x times, 20 covariates; one process per row.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/temporal_scaling.py
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from temporal_common import write_table

SIZES = ((1000, 50), (2000, 50), (2000, 100), (4000, 100), (4000, 200))


def one(n, n_times, p, link):
    from rlselect import TemporalProcessRegression

    rng = np.random.default_rng(0)
    x = rng.normal(size=(n * n_times, p))
    eta = x[:, :3].sum(axis=1) * 0.3
    y = (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float) if link == "logit" else eta
    y = y if link == "logit" else y + rng.normal(size=len(y))
    ids, times = np.repeat(np.arange(n), n_times), np.tile(np.arange(n_times), n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    TemporalProcessRegression(link=link).fit(x, y, id=ids, time=times)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, before / 2**20, peak / 2**20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--covariates", type=int, default=20)
    parser.add_argument("--link", default="logit")
    parser.add_argument("--one", type=int, nargs=2)
    args = parser.parse_args()
    if args.one:
        one(*args.one, args.covariates, args.link)
        return
    rows = []
    for n, n_times in SIZES:
        command = [sys.executable, __file__, "--one", str(n), str(n_times)]
        command += ["--covariates", str(args.covariates), "--link", args.link]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        seconds, before, peak = (float(v) for v in out)
        rows.append([n, n_times, seconds, 1e6 * seconds / (n * n_times), before, peak, peak - before])
    least, most = rows[0], rows[-1]
    per_cell = (most[6] - least[6]) / (most[0] * most[1] - least[0] * least[1])
    write_table(
        "temporal_scaling",
        f"A fit by size ({args.covariates} covariates, link {args.link}, one thread)",
        [
            "subjects",
            "times",
            "CPU seconds",
            "microseconds per cell",
            "GB before",
            "GB at the peak",
            "GB of the fit",
        ],
        rows,
        [
            f"Linear in subjects x times; at 20,000 x 500 the slope says {per_cell * 1e7:.1f} GB for the fit beside "
            "the data: the design and the influence functions, 21 numbers each per cell, stay in memory."
        ],
    )


if __name__ == "__main__":
    main()
