"""Time, rows and memory of REVS as rows and columns grow: memory map and Parquet, one process per fit.

Every fit runs in a process of its own on one thread, so that its peak memory is its own. The data are
simulated once, a block at a time, into a scratch folder.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import _workers

ROWS = (50_000, 200_000, 500_000, 2_000_000, 5_000_000)
COLUMNS = (200, 1000, 5000, 20_000)
FIELDS = [
    *("source", "signal", "n", "p", "repeat", "seconds", "cpu_seconds"),
    *("rows_read", "rows_decoded", "exact", "stop", "peak_mb", "batch_mb"),
    *_workers.FIELDS,
]

FIT = """
import json, sys, time
import numpy as np
from rlselect import REVS
from rlselect.data import open_source
from rlselect.simulate import make_revs

def memory(kind):
    line = next(l for l in open("/proc/self/status") if l.startswith(kind))
    return int(line.split()[1]) / 1024

def sources(job):
    if job["source"] == "parquet":
        REVS(random_state=0).fit(job["warm"], "target")
        yield job["path"], "target"
    elif job["source"] == "memory map":
        X = np.lib.format.open_memmap(job["path"] + "-X.npy", mode="r")
        yield X, np.load(job["path"] + "-y.npy")
    else:
        import dask.dataframe as dd
        import distributed
        with (
            distributed.LocalCluster(
                n_workers=job["workers"], threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            job["client"] = client
            # the workers have the library loaded, and the data in memory, before the clock starts
            parts = dd.read_parquet(job["path"], split_row_groups=True).persist()
            distributed.wait(parts)
            REVS(random_state=99).fit(parts, "target")
            yield parts, "target"

def worker_cpu(job):
    return np.array(list(job["client"].run(time.process_time).values())) if "client" in job else np.zeros(1)

def counted(start, rounds):
    def counting(self, *args):
        rounds.append(1)
        return start(self, *args)
    return counting

def main():
    job = json.loads(sys.argv[1])
    warm = make_revs(6000, 60, random_state=0)
    REVS(random_state=0).fit(warm.X, warm.y)
    for X, y in sources(job):
        print(json.dumps([measure(job, X, y, repeat) for repeat in range(job["repeats"])]))

def measure(job, X, y, repeat):
    # what is mapped from a file counts as resident: only Parquet tells the memory that a fit needs
    open("/proc/self/clear_refs", "w").write("5")
    before = memory("VmRSS")
    theirs, rounds = worker_cpu(job), []
    if "client" in job:
        from rlselect.data import _dask
        _dask.Workers.start = counted(original := _dask.Workers.start, rounds)
    wall, cpu = time.perf_counter(), time.process_time()
    fit = REVS(random_state=repeat).fit(X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if "client" in job:
        _dask.Workers.start = original
    theirs = worker_cpu(job) - theirs
    exact = np.array_equal(np.flatnonzero(fit.support_), job["truth"])
    batch = open_source(X, "target").batch_bytes / 2**20 if job["source"] == "parquet" else float("nan")
    return dict(repeat=repeat, seconds=wall, cpu_seconds=cpu, rows_read=fit.n_rows_read_,
        rows_decoded=fit.n_rows_decoded_, stop=fit.stop_reason_, exact=bool(exact),
        peak_mb=memory("VmHWM") - before, batch_mb=batch, worker_cpu=float(theirs.sum()),
        busiest_cpu=float(theirs.max()), rounds=len(rounds))

if __name__ == "__main__":
    main()
"""


def coefficients(p, signal, rng):
    """The paper's runs of five, or weak ones at random places."""
    coef = np.zeros(p)
    if signal == "strong":
        for k in range(5):
            coef[10 * k : 10 * k + 5] = 1.0 if k % 2 == 0 else -1.0
    else:
        places = rng.choice(p, size=25, replace=False)
        coef[places] = rng.choice([0.05, 0.1, 0.2, 0.3], 25) * rng.choice([-1.0, 1.0], 25)
    return coef


def group_rows(p):
    """64k rows per row group, the largest that count as usual; fewer of wide data."""
    return int(min(65_536, 2**26 // p))


def blocks(n, p, coef, rng, signal):
    """Rows with covariance .8^|i-j| and noise variance 2, or of two classes, a block at a time."""
    step = group_rows(p)
    for start in range(0, n, step):
        size = min(step, n - start)
        X = rng.standard_normal((size, p), dtype=np.float32)
        for j in range(1, p):
            X[:, j] *= 0.6
            X[:, j] += 0.8 * X[:, j - 1]
        eta = X @ coef.astype(np.float32)
        if signal.endswith("logistic"):
            yield X, (rng.random(size, dtype=np.float32) < 1.0 / (1.0 + np.exp(-eta))).astype(np.float32)
        else:
            yield X, eta + np.sqrt(2.0) * rng.standard_normal(size, dtype=np.float32)


def write(kind, path, n, p, coef, seed, signal="strong"):
    """Write one data set."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(seed)
    if kind == "memory map":
        X = np.lib.format.open_memmap(path + "-X.npy", mode="w+", dtype=np.float32, shape=(n, p))
        y, done = np.empty(n), 0
        for part, target in blocks(n, p, coef, rng, signal):
            X[done : done + len(part)], y[done : done + len(part)] = part, target
            done += len(part)
        X.flush()
        np.save(path + "-y.npy", y)
        return
    schema = pa.schema([(f"v{j}", pa.float32()) for j in range(p)] + [("target", pa.float32())])
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for part, target in blocks(n, p, coef, rng, signal):
            columns = {f"v{j}": part[:, j] for j in range(p)} | {"target": target}
            writer.write_table(pa.table(columns, schema=schema), row_group_size=len(part))


def measure(kind, signal, n, p, folder, repeats, seed):
    """Simulate, fit in another process, and remove the data."""
    path = str(folder / f"{kind.split()[0].strip(',')}-{signal.replace(', ', '-')}-{n}-{p}")
    coef = coefficients(p, signal, np.random.default_rng(seed + 6))
    write(kind, path, n, p, coef, seed=seed, signal=signal)
    warm = str(folder / "warm.parquet")
    if not os.path.exists(warm):
        write("parquet", warm, 6000, 60, coefficients(60, "strong", None), seed=0)
    job = {
        "source": kind,
        "workers": int(kind.split()[1]) if kind.startswith("dask") else 0,
        "path": path,
        "warm": warm,
        "repeats": repeats,
        "truth": np.flatnonzero(coef).tolist(),
    }
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    # a file, since the workers of a cluster are started by importing it
    script = folder / "fit.py"
    script.write_text(FIT)
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(job)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **threads},
    )
    for file in folder.glob(Path(path).name + "*"):
        file.unlink()
    return [{"source": kind, "signal": signal, "n": n, "p": p, **fit} for fit in json.loads(done.stdout)]


def table(fits):
    """One line per cell: medians over the repeats, and times relative to the smallest n of the same line."""
    head = (
        "source | signal | n | p | s | cpu s | cpu / smallest n | rows read | rows decoded | exact | peak MB"
    )
    lines = [f"| {head} | peak / batch |", "|" + "---|" * 12]
    cells = list(dict.fromkeys((f["source"], f["signal"], f["n"], f["p"]) for f in fits))
    for cell in cells:
        mine = [f for f in fits if (f["source"], f["signal"], f["n"], f["p"]) == cell]
        first = min(c[2] for c in cells if (c[0], c[1], c[3]) == (cell[0], cell[1], cell[3]))
        base = [f for f in fits if (f["source"], f["signal"], f["n"], f["p"]) == (*cell[:2], first, cell[3])]

        def mid(name, some=mine):
            return float(np.median([float(f[name]) for f in some]))

        disk = cell[0] == "parquet"
        shown = [
            *cell[:2],
            f"{cell[2]:,}",
            f"{cell[3]:,}",
            f"{mid('seconds'):.2f}",
            f"{mid('cpu_seconds'):.2f}",
            f"{mid('cpu_seconds') / mid('cpu_seconds', base):.2f}",
            f"{mid('rows_read'):,.0f}",
            f"{mid('rows_decoded'):,.0f}",
            f"{sum(str(f['exact']) == 'True' for f in mine)}/{len(mine)}",
            f"{max(float(f['peak_mb']) for f in mine):.0f}" if disk else "-",
            f"{max(float(f['peak_mb']) / float(f['batch_mb']) for f in mine):.1f}" if disk else "-",
        ]
        lines.append("| " + " | ".join(map(str, shown)) + " |")
    return "\n".join(lines)


def draw(fits, path):
    """Processor seconds and rows read as rows or columns grow; nothing where matplotlib is not there."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    def median(cell, name):
        mine = [float(f[name]) for f in fits if (f["source"], f["signal"], f["n"], f["p"]) == cell]
        return float(np.median(mine))

    cells = list(dict.fromkeys((f["source"], f["signal"], f["n"], f["p"]) for f in fits))
    cells = [c for c in cells if not c[0].startswith("dask")]
    by_rows = len({c[2] for c in cells}) > 1
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for source, signal in dict.fromkeys(c[:2] for c in cells):
        line = sorted((c for c in cells if c[:2] == (source, signal)), key=lambda c: c[2:])
        x = [c[2] if by_rows else c[3] for c in line]
        style = {"marker": "o", "linestyle": "-" if signal == "strong" else "--"}
        style |= {"color": "tab:blue" if source == "parquet" else "tab:orange"}
        for axis, name in zip(axes, ("cpu_seconds", "rows_read"), strict=True):
            axis.plot(x, [median(c, name) for c in line], label=f"{source}, {signal}", **style)
    for axis, title in zip(axes, ("processor seconds", "rows read"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="rows" if by_rows else "columns", title=title)
        axis.set_ylim(bottom=axis.get_ylim()[0] / 3, top=axis.get_ylim()[1] * 3)
    axes[1].legend(fontsize=8, frameon=False, loc="center right")
    plt.rcParams["svg.hashsalt"] = "rlselect"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="n for p=100")
    parser.add_argument("--sources", nargs="*", default=["memory map", "parquet"], help="of these rows")
    parser.add_argument("--signals", nargs="*", default=["strong", "weak"], help="of these rows")
    parser.add_argument(
        "--columns", type=int, nargs="*", default=list(COLUMNS), help="p for n=50,000, Parquet"
    )
    parser.add_argument(
        "--workers", type=int, nargs="*", default=[1, 2], help="Dask workers, for the cells of _workers.py"
    )
    parser.add_argument("--repeats", type=int, default=3, help="fits per cell, each with its own seed")
    parser.add_argument("--seed", type=int, default=1, help="seed of the data")
    parser.add_argument("--scratch", type=Path, help="folder for the data; the system's by default")
    parser.add_argument("--out", type=Path, help="write PATH.csv and PATH.md, e.g. results/revs_scaling")
    args = parser.parse_args()
    cells = [(k, s, n, 100) for s in args.signals for k in args.sources for n in args.rows]
    cells += [("parquet", "strong", 50_000, p) for p in args.columns]
    names = [f"dask, {w} worker{'s' if w > 1 else ''}" for w in args.workers]
    cells += [(name, *cell) for cell in _workers.CELLS for name in names]
    only_workers = all(cell[0].startswith("dask") for cell in cells)
    fits = []
    with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
        for kind, signal, n, p in cells:
            fits += measure(kind, signal, n, p, Path(folder), args.repeats, args.seed)
            show = _workers.table if only_workers else table
            print(show(fits[-args.repeats :]).splitlines()[-1], flush=True)
            if args.out:
                with args.out.with_suffix(".csv").open("w", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    writer.writeheader()
                    writer.writerows(fits)
                command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
                title = f"# REVS as rows and columns grow\n\n`{command}`. One thread, banded design (.8), "
                title += f"noise variance 2, one data set per cell and {args.repeats} seeds of the search, "
                title += "medians (memory: maximum).\n\n"
                if only_workers:
                    title = title.replace("as rows and columns grow", "with one and two Dask workers")
                notes = _workers.NOTE if only_workers else ""
                args.out.with_suffix(".md").write_text(title + show(fits) + "\n" + notes)
    if args.out:
        (_workers.draw if only_workers else draw)(fits, args.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
