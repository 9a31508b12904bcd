"""Does REVS stop too early on a million rows, and what does it cost beside one Gram pass on the same data?

A stop is wrong when the F1 of the answer is more than .05 below that of the same search on all rows (which a
`min_effect` below anything that could be seen asks for) although not all rows were used. Times are processor
seconds of one thread, the Gram pass and each fit in one process, one after the other on the same data.
"""

import argparse
import csv
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from peers import gram_forward
from rlselect import REVS

# name -> coefficients, correlation of neighbours (.r^|i-j|), noise variance, family
DESIGNS = {
    "25 of .008": ([0.008] * 25, 0.0, 1.0, "gaussian"),
    "25 of .008, noise 2": ([0.008] * 25, 0.0, 2.0, "gaussian"),
    "25 of .01, correlation .5": ([0.01] * 25, 0.5, 2.0, "gaussian"),
    "15 of .3 over 10 of .015": ([0.3] * 15 + [0.015] * 10, 0.8, 2.0, "gaussian"),
    "5 of .3 over 3 of .01": ([0.3] * 5 + [0.01] * 3, 0.0, 1.0, "gaussian"),
    "one of .01": ([0.01], 0.0, 1.0, "gaussian"),
    "pairs that cancel": ("pairs", 0.9, 1.0, "gaussian"),
    "25 strong": ([1.0] * 25, 0.8, 2.0, "gaussian"),
    "nothing": ([], 0.5, 1.0, "gaussian"),
    "half of all, .01": ("half", 0.0, 1.0, "gaussian"),
    "weak, .05 to .3": ([0.05] * 7 + [0.1] * 6 + [0.2] * 6 + [0.3] * 6, 0.8, 2.0, "gaussian"),
    "classes, 25 of .02": ([0.02] * 25, 0.0, 1.0, "binomial"),
    "classes, 10 strong": ([0.5] * 10, 0.5, 1.0, "binomial"),
    "counts, 25 of .01": ([0.01] * 25, 0.0, 1.0, "poisson"),
}
FIELDS = [
    "design",
    "n",
    "p",
    "seed",
    "source",
    "f1",
    "f1_all",
    "f1_gram",
    "rows",
    "seen",
    "reason",
    "seconds",
]
FIELDS += ["gram_seconds", "selected", "detectable"]


def rows(n, p, correlation, seed):
    """Single-precision rows, a block at a time; the same seed gives the same rows."""
    rng = np.random.default_rng([seed, n, p])
    X = np.empty((n, p), dtype=np.float32)
    rest = np.float32(np.sqrt(1.0 - correlation**2))
    for start in range(0, n, 8192):
        some = rng.standard_normal((p, min(8192, n - start)), dtype=np.float32)
        for j in range(1, p) if correlation else ():
            some[j] *= rest
            some[j] += np.float32(correlation) * some[j - 1]
        X[start : start + 8192] = some.T
    return X


def respond(X, design, seed):
    """Response and truth of a design on given rows, with places, signs and noise of its own."""
    coefficients, _, noise, family = DESIGNS[design]
    n, p = X.shape
    rng = np.random.default_rng([seed, n, p, 1])
    coef = np.zeros(p, dtype=np.float32)
    if coefficients == "pairs":
        # neighbours of opposite sign: what one adds the other takes away
        for j in rng.choice(p // 4, size=5, replace=False) * 4:
            coef[j], coef[j + 1] = 0.02, -0.02
    else:
        sizes = [0.01] * (p // 2) if coefficients == "half" else coefficients
        coef[rng.choice(p, len(sizes), replace=False)] = sizes * rng.choice([-1.0, 1.0], len(sizes))
    eta = X @ coef
    if family == "binomial":
        return (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(float), coef != 0
    if family == "poisson":
        return rng.poisson(np.exp(eta)).astype(float), coef != 0
    return (eta + np.sqrt(noise) * rng.standard_normal(n)).astype(float), coef != 0


def f1(found, truth):
    both = found.sum() + truth.sum()
    return 2.0 * (found & truth).sum() / both if both else 1.0


def timed(*works, repeats):
    """Least processor seconds of each work, done in turn so often, and what it returned.

    The system's part of them, mostly pages that are new to the process, differs by half from one time to the
    next on a busy machine.
    """
    least, answers = [np.inf] * len(works), [None] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            began = time.process_time()
            answers[i] = work()
            least[i] = min(least[i], time.process_time() - began)
    return list(zip(least, answers, strict=True))


def write_parquet(X, y, path):
    """Row groups of 65,536 rows, float32, as other tools write them by default."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(f"v{j}", pa.float32()) for j in range(X.shape[1])] + [("target", pa.float64())])
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, len(y), 65_536):
            rows = slice(start, start + 65_536)
            columns = {f"v{j}": X[rows, j] for j in range(X.shape[1])} | {"target": y[rows]}
            writer.write_table(pa.table(columns, schema=schema), row_group_size=65_536)


def gram_over_parquet(path, p):
    """The Gram route on a file: decode each row group, add its products, then forward selection."""
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    n, gram, xty, total = file.metadata.num_rows, np.zeros((p, p)), np.zeros(p), np.zeros(p)
    y_total = yty = 0.0
    names = [f"v{j}" for j in range(p)]
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, use_threads=False)
        X = np.empty((len(table), p), dtype=np.float32)
        for j, name in enumerate(names):
            X[:, j] = table.column(name).to_numpy()
        y = table.column("target").to_numpy()
        gram += X.T @ X
        xty += X.T @ y.astype(np.float32)
        total += X.sum(axis=0)
        y_total, yty = y_total + y.sum(), yty + y @ y
    mean = total / n
    gram -= n * np.outer(mean, mean)
    centred = xty - y_total * mean
    return gram_forward.forward_ebic(
        lambda j: gram[j], np.diag(gram).copy(), centred, yty - y_total**2 / n, n, gram_forward.MAX_SIZE
    )


def _gram_route(X, y, path):
    if path is not None:
        return gram_over_parquet(path, X.shape[1])
    return gram_forward.measure(X, y, "gaussian", seed=0)["support"]


def measure(X, design, seed, source, folder, *, gram, all_rows, repeats):
    """One data set: the Gram route if asked for, the fit, and the same search on all rows."""
    y, truth = respond(X, design, seed)
    n, p = X.shape
    family = DESIGNS[design][3]
    given = (X, y)
    path = str(folder / "rows.parquet")
    if source == "parquet":
        write_parquet(X, y, path)
        given = (path, "target")
    works = [lambda: REVS(family=family, random_state=seed).fit(*given)]
    if gram and family == "gaussian":
        works.append(partial(_gram_route, X, y, path if source == "parquet" else None))
    (seconds, fit), *rest = timed(*works, repeats=repeats)
    gram_seconds, f1_gram = float("nan"), float("nan")
    if rest:
        gram_seconds, found = rest[0]
        mask = np.zeros(p, dtype=bool)
        mask[found] = True
        f1_gram = f1(mask, truth)
    f1_all = f1(fit.support_, truth)
    if all_rows and fit.n_rows_read_ < n:
        whole = REVS(family=family, random_state=seed, min_effect=1e-12).fit(X, y)
        f1_all = f1(whole.support_, truth)
    return {
        "design": design,
        "n": n,
        "p": p,
        "seed": seed,
        "source": source,
        "f1": f1(fit.support_, truth),
        "f1_all": f1_all,
        "f1_gram": f1_gram,
        "rows": fit.n_rows_read_,
        "seen": fit.n_rows_seen_,
        "reason": fit.stop_reason_,
        "seconds": seconds,
        "gram_seconds": gram_seconds,
        "selected": int(fit.support_.sum()),
        "detectable": float(np.nanmax(fit.detectable_, initial=0.0)),
    }


def table(fits):
    """One line per cell."""
    head = (
        "design | source | n | p | seeds | wrong stops | F1 | F1, all rows | F1, Gram route | rows used % | "
        "rows seen % | detectable | s / Gram route | largest"
    )
    lines = [f"| {head} |", "|" + "---|" * 14]
    for cell in dict.fromkeys((f["design"], f["source"], f["n"], f["p"]) for f in fits):
        mine = [f for f in fits if (f["design"], f["source"], f["n"], f["p"]) == cell]
        values = {
            k: np.array([float(f[k]) for f in mine])
            for k in FIELDS
            if k not in ("design", "source", "reason")
        }
        ratio = values["seconds"] / values["gram_seconds"]
        wrong = np.sum((values["f1"] < values["f1_all"] - 0.05) & (values["rows"] < cell[2]))
        ratio = ratio[np.isfinite(ratio)]
        has_gram = len(ratio) > 0
        shown = [
            *cell[:2],
            f"{cell[2]:,}",
            cell[3],
            len(mine),
            wrong,
            f"{values['f1'].mean():.3f}",
            f"{values['f1_all'].mean():.3f}",
            f"{np.nanmean(values['f1_gram']):.3f}" if has_gram else "-",
            f"{100 * values['rows'].mean() / cell[2]:.1f}",
            f"{100 * values['seen'].mean() / cell[2]:.1f}",
            f"{np.median(values['detectable']):.2g}",
            f"{np.median(ratio):.2f}" if has_gram else "-",
            f"{ratio.max():.2f}" if has_gram else "-",
        ]
        lines.append("| " + " | ".join(map(str, shown)) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), help="names of designs")
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--columns", type=int, nargs="*", default=[200])
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=[0, 50], help="first seed, and the one after the last"
    )
    parser.add_argument(
        "--fresh", type=int, default=10, help="seeds that share their rows, not their response"
    )
    parser.add_argument("--gram", type=int, default=5, help="time the Gram route on every so manieth seed")
    parser.add_argument("--repeats", type=int, default=1, help="times of which the least counts, in turn")
    parser.add_argument("--source", choices=["memory", "parquet"], default="memory")
    parser.add_argument("--cost-only", action="store_true", help="leave out the search on all rows")
    parser.add_argument("--out", type=Path, help="write PATH.csv; lines that are there already are kept")
    parser.add_argument("--table", type=Path, help="print the table of such a file, and do nothing else")
    args = parser.parse_args()
    if args.table:
        with args.table.open() as file:
            print(table([{**f, "n": int(f["n"]), "p": int(f["p"])} for f in csv.DictReader(file)]))
        return
    warm = rows(30_000, 60, 0.8, 0)
    REVS(random_state=0).fit(warm, respond(warm, "25 strong", 0)[0])
    fits = []
    if args.out and not args.out.exists():
        args.out.write_text(",".join(FIELDS) + "\n")
    cells = [(n, p, c) for n in args.rows for p in args.columns for c in (0.0, 0.5, 0.8, 0.9)]
    with tempfile.TemporaryDirectory() as folder:
        for n, p, correlation in cells:
            designs = [d for d in args.designs if DESIGNS[d][1] == correlation]
            for seed in range(*args.seeds) if designs else ():
                if (seed - args.seeds[0]) % args.fresh == 0:
                    X = rows(n, p, correlation, seed)
                gram = (seed - args.seeds[0]) % args.gram == 0
                for design in designs:
                    fit = measure(
                        X,
                        design,
                        seed,
                        args.source,
                        Path(folder),
                        gram=gram,
                        all_rows=not args.cost_only,
                        repeats=args.repeats,
                    )
                    fits.append(fit)
                    if args.out:
                        with args.out.open("a", newline="") as file:
                            csv.DictWriter(file, FIELDS).writerow(fit)
    print(table(fits))


if __name__ == "__main__":
    main()
