"""Seconds and peak memory of a fit to a Parquet file, by subjects x times; processes of their own.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/temporal_scaling.py
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python experiments/temporal_scaling.py --full
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from temporal_common import write_table

SIZES = ((2000, 100), (4000, 200), (10000, 200), (10000, 400))
FULL = (20000, 500)


def write(path, n, n_times, p, link):
    """A study in row groups of some subjects each."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, writer, some = np.random.default_rng(0), None, max(1, 200_000 // n_times)
    for first in range(0, n, some):
        ids = np.repeat(np.arange(first, min(first + some, n)), n_times)
        x = rng.normal(size=(len(ids), p))
        eta = x[:, :3].sum(axis=1) * 0.3
        y = (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float)
        y = y if link == "logit" else eta + rng.normal(size=len(y))
        columns = {"id": ids, "time": np.tile(np.arange(n_times), len(ids) // n_times), "y": y}
        table = pa.table(columns | {f"x{k}": x[:, k] for k in range(p)})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def one(path, link):
    from rlselect import TemporalProcessRegression

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

    before, start = peak(), time.process_time()
    model = TemporalProcessRegression(link=link).fit(path, "y", id="id", time="time")
    fitted, fit_peak = time.process_time(), peak()
    model.test("x0")
    tested = time.process_time()
    print(fitted - start, tested - fitted, before, fit_peak, peak())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--covariates", type=int, default=20)
    parser.add_argument("--link", default="logit")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("--write", nargs=3)
    args = parser.parse_args()
    if args.one:
        one(args.one, args.link)
        return
    if args.write:
        write(args.write[0], int(args.write[1]), int(args.write[2]), args.covariates, args.link)
        return
    rows = []
    for n, n_times in (*SIZES, FULL) if args.full else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "visits.parquet")
            common = [sys.executable, __file__, "--covariates", str(args.covariates), "--link", args.link]
            subprocess.run([*common, "--write", path, str(n), str(n_times)], check=True)
            done = subprocess.run([*common, "--one", path], capture_output=True, text=True, check=True)
        seconds, test, before, fit_peak, peak = (float(v) for v in done.stdout.split())
        rows.append([n, n_times, seconds, 1e6 * seconds / (n * n_times), test, before, fit_peak, peak])
        print(rows[-1], flush=True)
    least, most = rows[0], rows[-1]
    per_cell = (most[7] - least[7]) / (most[0] * most[1] - least[0] * least[1])
    whole = least[7] + per_cell * (FULL[0] * FULL[1] - least[0] * least[1])
    write_table(
        "temporal_scaling",
        f"A fit to a Parquet file by size ({args.covariates} covariates, link {args.link}, one thread)",
        [
            "subjects",
            "times",
            "CPU seconds of the fit",
            "microseconds per cell",
            "CPU seconds of one test",
            "GB before",
            "GB at the peak of the fit",
            "GB at the peak, with the test",
        ],
        rows,
        [
            "Memory of the whole process. The design stays in memory, 8 bytes per subject, "
            "time and column; influence functions beyond 32 million numbers are worked out some times at a "
            f"time. The slope between the first and the last row says {whole:.1f} GB for 20,000 x 500."
        ],
    )


if __name__ == "__main__":
    main()
