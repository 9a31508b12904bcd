"""Runs methods side by side on the same data, in one process, on one thread."""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from _tables import Fit, Store, Summary, command_line, environment, mean, median


@dataclass(frozen=True)
class Cell:
    """One row group of a table: a name, a family, and a data set for each seed."""

    name: str
    family: str
    make: Callable[[int], Any]


def parser(description, *, replicates):
    """The arguments every benchmark has."""
    out = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    out.add_argument("--replicates", type=int, default=replicates, help="data sets per cell")
    out.add_argument(
        "--seed", type=int, default=1000, help="seed of the first data set; the next ones follow"
    )
    out.add_argument(
        "--jobs", type=int, default=1, help="data sets at a time, see joblib; times are fair with one only"
    )
    out.add_argument("--methods", default="*", help="comma-separated names or patterns, see --list")
    out.add_argument("--cells", default="*", help="comma-separated names or patterns, see --list")
    out.add_argument("--out", type=Path, help="write PATH.csv and PATH.md, e.g. results/revs_highdim")
    out.add_argument(
        "--resume", action="store_true", help="keep the fits already in PATH.csv and add the others"
    )
    out.add_argument("--list", action="store_true", help="show cells and methods, and stop")
    return out


def run(args, title, cells, methods, columns, *, reference=None, footer=None, most=None):
    """Run what the arguments ask for, print the table, and keep it on disk as it grows.

    ``most`` names methods that are too slow for all data sets, each with the number that it gets.
    """
    if args.list:
        print("cells:  ", *(c.name for c in cells))
        print("methods:", *(f"{k}{'' if m.available() else ' (not installed)'}" for k, m in methods.items()))
        return
    # A resumed table may hold cells that this run does not touch.
    names = [c.name for c in cells]
    cells = [c for c in cells if _wanted(c.name, args.cells)]
    chosen = {key: module for key, module in methods.items() if _wanted(key, args.methods)}
    if not cells or not chosen:
        sys.exit(
            f"nothing matches --cells {args.cells!r} --methods {args.methods!r}; --list shows what there is"
        )
    missing = [key for key, module in chosen.items() if not module.available()]
    if missing:
        print("left out, not installed:", ", ".join(missing), flush=True)
    chosen = {key: module for key, module in chosen.items() if key not in missing}
    store = Store(args.out, resume=args.resume) if args.out else None
    summary = Summary(title, columns, names, _preamble(args, store), reference, footer)
    if store:
        summary.fits += store.old
    try:
        with threadpool_limits(1):
            _run_cells(args, cells, chosen, summary, store, most or {})
    except KeyboardInterrupt:
        print("interrupted; the table holds what was finished", flush=True)
    # Also where nothing was left to fit: a resumed table then has the columns and lines of today.
    if store:
        store.write(summary.markdown())
    print("\n" + summary.markdown())


def _preamble(args, store):
    """Seeds, versions, and the command lines that made the table."""
    commands = store.commands() if store else [command_line()]
    if len(commands) == 1:
        seeds = f"{args.replicates} replicates, seeds {args.seed}-{args.seed + args.replicates - 1}."
    else:
        seeds = "Replicates and seeds as the commands say, from seed 1000 where none is named."
    return "\n".join([f"{seeds} {environment()} Made by", "", *(f"    {line}" for line in commands)])


def run_with_noise(description, methods, cells, n_true, title, columns, noise_title, noise_columns):
    """The main of a benchmark that has a truth, or with --noise none; `cells(n_true)` makes its cells."""
    out = parser(description, replicates=20)
    out.add_argument("--noise", action="store_true", help="responses without signal")
    args = out.parse_args()
    if args.noise:
        run(args, noise_title, cells(0), methods, noise_columns)
    else:
        run(args, title, cells(n_true), methods, columns)


def _wanted(name, patterns):
    return any(fnmatch(name, pattern.strip()) for pattern in patterns.split(","))


def _run_cells(args, cells, methods, summary, store, most):
    done = {(f.cell, f.method, f.seed) for f in summary.fits}
    fitted = set()
    begin = time.perf_counter()
    for i, cell in enumerate(cells):
        start = time.perf_counter()
        mine = {key: m for key, m in methods.items() if cell.family in m.FAMILIES}
        todo = {}
        for seed in range(args.seed, args.seed + args.replicates):
            left = {
                key: m
                for key, m in mine.items()
                if (cell.name, m.NAME, seed) not in done and seed - args.seed < most.get(key, args.replicates)
            }
            todo |= {seed: left} if left else {}
        # What a process has to load or compile counts for the first fit of a method only.
        fresh = [set(left) - fitted.union(*list(todo.values())[:i]) for i, left in enumerate(todo.values())]
        fitted.update(*todo.values())
        tasks = (
            delayed(_fit_all)(cell, left, seed, some)
            for (seed, left), some in zip(todo.items(), fresh, strict=True)
        )
        for fits in Parallel(n_jobs=args.jobs, return_as="generator")(tasks):
            for fit in fits:
                summary.fits.append(fit)
                if store:
                    store.append(fit)
            if store:
                store.write(summary.markdown())
        scores = (
            f"{name} {mean(summary.of(cell.name, name), 'f1', digits=3)} "
            f"{median(summary.of(cell.name, name), 'seconds')}s"
            for name in summary.methods(cell.name)
        )
        now = time.perf_counter()
        print(
            f"[{i + 1}/{len(cells)}] {cell.name} {now - start:.0f}s (total {now - begin:.0f}s) F1, time: "
            + ", ".join(scores),
            flush=True,
        )


def _fit_all(cell, methods, seed, fresh):
    """All methods on one data set, which is gone before the next one is made."""
    data = cell.make(seed)
    return [_fit(cell, module, data, seed, first=key in fresh) for key, module in methods.items()]


def _fit(cell, module, data, seed, *, first):
    """Time one fit; a method that fails leaves its reason in the table and the run goes on."""
    n, p = data.X.shape
    fit = Fit(cell.name, module.NAME, seed, n, p, first)
    # The limit is set anew for each fit, since a library loaded by an earlier one brings a pool of its own.
    with threadpool_limits(1), warnings.catch_warnings():
        # Convergence warnings at the far end of a path would drown the progress lines.
        warnings.simplefilter("ignore")
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            if hasattr(module, "measure"):
                result = module.measure(data.X, data.y, cell.family, seed=seed)
            else:
                result = {"support": module.select(data.X, data.y, cell.family, seed=seed)}
        except Exception as error:
            fit.fail(data.support)
            fit.note = f"failed: {type(error).__name__}: {error}"
            return fit
        fit.seconds, fit.cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    fit.seconds = result.get("seconds", fit.seconds)
    fit.cpu_seconds = result.get("cpu_seconds", fit.cpu_seconds)
    fit.rows_read = float(result.get("rows_read", n))
    fit.note = result.get("note", "")
    if result["support"] is not None:
        fit.score(np.asarray(result["support"], dtype=bool), data.support)
    return fit
