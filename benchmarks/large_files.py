"""Folders larger than memory, from the command line: seconds and peak memory of check and select.

One file of 250 MB is linked into a folder many times, so that a folder of 50 GB takes 250 MB of disk. Each
command runs in a process of its own; what is told of it is its own time, its processor time and its largest
resident memory. Twenty columns of numbers and one of text, of which five matter; --messy adds a date, and
a target that is missing in one of twenty rows, which select is told to make numbers of and to leave out.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from rlselect import expand_dates

HERE = Path(__file__).resolve().parent
HEAD = """# Files larger than memory

`{command}`; one run per line, on {cores} cores that others used too: seconds are those of the clock, CPU
seconds those of the process. Own memory is what it has at most beside pages of files, resident memory counts
these too: rows of CSV files are kept in a temporary file, as large as their numbers, which is mapped and
whose pages the system takes back when others want them. The same 250 MB file is linked as often as a folder
needs.

| Kind | Size | Files | Rows | Command | Answer | Seconds | CPU seconds | Own memory | Resident |
|---|---:|---:|---:|---|---|---:|---:|---:|---:|
"""
COLUMNS, GROUP, TRUE = 20, 131_072, {"x0": 0.3, "x3": -0.2, "x7": 0.1, "x12": 0.1, "city": 0.2}


def write_one(folder, kind, megabytes, seed, messy):
    """A file of about so many megabytes; its path and its rows."""
    rng = np.random.default_rng(seed)
    path = folder / f"one.{kind}"
    # eight digits and a separator, or eight bytes
    n_rows = int(megabytes * 1e6 / (COLUMNS * (9.5 if kind == "csv" else 8)))
    X = rng.standard_normal((n_rows, COLUMNS)).round(5)
    city = rng.integers(0, 4, n_rows)
    y = X[:, [0, 3, 7, 12]] @ [TRUE[f"x{j}"] for j in (0, 3, 7, 12)] + TRUE["city"] * (city == 2)
    # by chance noise goes along with columns; in copies of the same rows that would be a true, small effect
    design = np.column_stack([X, city[:, None] == np.arange(4)])
    noise = rng.standard_normal(n_rows)
    told, dates = np.ones(n_rows, dtype=bool), {}
    if messy:
        told = rng.random(n_rows) >= 0.05
        dates = {"sold": pa.array(rng.integers(18_000, 20_000, n_rows).astype("datetime64[D]"))}
        made = expand_dates(pa.table(dates))
        design = np.column_stack([design, *(column.to_numpy() for column in made.columns)])
    for start in range(0, n_rows, GROUP):
        rows = np.flatnonzero(told[start : start + GROUP]) + start
        block = design[rows]
        noise[rows] -= block @ np.linalg.lstsq(block.T @ block, block.T @ noise[rows], rcond=None)[0]
    columns = {f"x{j}": X[:, j] for j in range(COLUMNS)}
    columns["city"] = np.array(["Bonn", "Graz", "Oslo", "Rome"])[city]
    columns |= dates
    columns["y"] = pa.array((y + noise).round(5), mask=~told)
    if kind == "csv":
        csv.write_csv(pa.table(columns), path)
    else:
        parquet.write_table(
            pa.table(columns), path, compression="none", use_dictionary=["city"], row_group_size=GROUP
        )
    return path, n_rows


def own_memory(pid):
    """Bytes of a process that are no pages of a file."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def run(words):
    """Answer in its first words, seconds, processor seconds, largest own and largest resident memory."""
    start, own = time.perf_counter(), 0
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "rlselect", *words, "--quiet"], stdout=told, stderr=subprocess.STDOUT
        )
        while True:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            own = max(own, own_memory(process.pid))
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        told.seek(0)
        text = told.read().decode()
    answer = " ".join(text.splitlines()[1:3]) if process.returncode == 0 else text
    answer = " ".join(answer.split(".")[0].split())
    return answer, seconds, used.ru_utime + used.ru_stime, own, used.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", default="parquet", choices=["parquet", "csv"])
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1, 50])
    parser.add_argument("--megabytes", type=float, default=250, help="of the one file")
    parser.add_argument("--commands", nargs="+", default=["check", "select"])
    parser.add_argument("--messy", action="store_true", help="a date, and gaps in the target")
    parser.add_argument("--time-budget", type=float)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        # in a process of its own: the memory of those that begin here counts what was in use before
        with ProcessPoolExecutor(1) as pool:
            job = pool.submit(write_one, Path(name), args.kind, args.megabytes, args.seed, args.messy)
            one, n_rows = job.result()
        size = one.stat().st_size
        for gigabytes in args.gigabytes:
            folder = Path(name) / f"{gigabytes:g}"
            folder.mkdir()
            count = max(1, round(gigabytes * 1e9 / size))
            for k in range(count):
                os.link(one, folder / f"part-{k:04d}.{args.kind}")
            for command in args.commands:
                words = [command, str(folder), "--target", "y"]
                budget = args.time_budget if command == "select" else None
                flags = [] if budget is None else ["--time-budget", f"{budget:g}"]
                flags += (
                    ["--drop-missing-target", "--expand-dates"] if args.messy and command == "select" else []
                )
                answer, seconds, cpu, own, peak = run([*words, *flags])
                shown = " ".join([command, *flags])
                lines.append(
                    f"| {args.kind} | {count * size / 1e9:.1f} GB | {count} | {count * n_rows:,} | {shown} "
                    f"| {answer} | {seconds:.0f} | {cpu:.1f} | {own / 1e6:.0f} MB | {peak / 1e6:.0f} MB |"
                )
                print(lines[-1], flush=True)
    words = " ".join(["python benchmarks/large_files.py", *sys.argv[1:]])
    table = HERE / f"results/large_files_{args.kind}{'_messy' if args.messy else ''}.md"
    table.write_text(HEAD.format(command=words, cores=os.cpu_count()) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
