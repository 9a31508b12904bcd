"""REVS on the grid of Hastie, Tibshirani and Tibshirani: test errors, and rules that select.

Every fit of REVS gives the predictions (refit, average, what `predict` takes) and all decision rules. Peers:
lasso and relaxed lasso by cross-validation, abess by EBIC, SuSiE, and model-X knockoffs that know the true
covariance of the columns.
"""

import argparse
import csv
import sys
import time
import warnings
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.linear_model import LassoCV, lasso_path
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from _hastie import ALL_RATIOS, CORRELATIONS, RATIOS, SIZES, design
from _tables import environment
from peers import abess_ebic, knockoffs, susie
from rlselect import REVS

NUMBERS = ("error", "chosen", "f1", "wrong", "power", "seconds")
FIELDS = ("size", "correlation", "ratio", "seed", "method", *NUMBERS)
RULES = {
    "REVS, p > .5": {"threshold": 0.5},
    "REVS, f1": {"rule": "f1"},
    "REVS, fdr .05": {"fdr": 0.05},
    "REVS, fdr .1": {"fdr": 0.1},
    "REVS, fdr .2": {"fdr": 0.2},
}


def _judge(data, method, mask, error=np.nan, seconds=np.nan):
    truth = data.coef != 0
    hits, n = int((mask & truth).sum()), int(mask.sum())
    f1 = 2 * hits / (n + truth.sum())
    wrong = (n - hits) / n if n else 0.0
    return method, error, n, f1, wrong, hits / truth.sum(), seconds


def revs(data, seed, keep):
    """The refit, the average, what `predict` takes, and the rules."""
    start = time.process_time()
    model = REVS(random_state=seed).fit(data.X, data.y)
    seconds = time.process_time() - start
    keep["inclusion"] = model.inclusion_
    own = data.relative_error(model.coef_, model.intercept_)
    mean = data.relative_error(model.coef_average_, model.intercept_average_)
    yield _judge(data, "REVS, refit", model.support_, own, seconds)
    yield _judge(data, "REVS, average", model.coef_average_ != 0, mean, seconds)
    yield _judge(data, "REVS, predict", model.support_, mean if model.average_ else own, seconds)
    X, y = data.rows(1000, np.random.default_rng([seed, 1]))
    low, high = model.predict_interval(X).T
    # the share of new responses inside the 95 % interval stands in the place of the error
    covered = float(np.mean((low < y) & (y < high)))
    yield _judge(data, "REVS, interval", model.support_, covered)
    for name, rule in RULES.items():
        yield _judge(data, name, model.select(**rule))


def lasso(data, seed, keep):
    """Lasso, lambda by 5-fold cross-validation."""
    start = time.process_time()
    model = LassoCV(cv=KFold(5, shuffle=True, random_state=seed), max_iter=10_000).fit(data.X, data.y)
    seconds = time.process_time() - start
    error = data.relative_error(model.coef_, model.intercept_)
    yield _judge(data, "lasso, CV", model.coef_ != 0, error, seconds)


def relaxed(data, seed, keep):
    """Lasso and least squares on its columns, mixed; lambda and the mixture by 5-fold cross-validation."""
    start = time.process_time()
    X, y = data.X, data.y
    alphas = lasso_path(X - X.mean(axis=0), y - y.mean(), eps=1e-2, alphas=50)[0]
    shares = np.array([0.0, 0.5, 1.0])
    loss = np.zeros((len(alphas), len(shares)))
    for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
        for i, (coefs, intercepts) in enumerate(_mixed(X[train], y[train], alphas, shares)):
            loss[i] += ((y[test, None] - X[test] @ coefs.T - intercepts) ** 2).sum(axis=0)
    i, j = np.unravel_index(int(np.argmin(loss)), loss.shape)
    coefs, intercepts = _mixed(X, y, alphas, shares)[i]
    seconds = time.process_time() - start
    error = data.relative_error(coefs[j], intercepts[j])
    yield _judge(data, "relaxed lasso, CV", coefs[j] != 0, error, seconds)


def _mixed(X, y, alphas, shares):
    """Coefficients and intercepts for each penalty, a row for each share of least squares."""
    shift, centre = X.mean(axis=0), y.mean()
    Z, t = X - shift, y - centre
    out = []
    for coef in lasso_path(Z, t, alphas=alphas)[1].T:
        inside = np.flatnonzero(coef)
        plain = np.zeros(len(coef))
        if len(inside) < len(y) - 2:
            plain[inside] = np.linalg.lstsq(Z[:, inside], t, rcond=None)[0]
        else:
            plain = coef
        coefs = np.outer(1.0 - shares, coef) + np.outer(shares, plain)
        out.append((coefs, centre - coefs @ shift))
    return out


def abess(data, seed, keep):
    """abess, size by EBIC, and least squares on what it selects."""
    start = time.process_time()
    mask = np.asarray(abess_ebic.select(data.X, data.y, "gaussian", seed=seed), dtype=bool)
    A = np.column_stack([np.ones(len(data.y)), data.X[:, mask]])
    fit = np.linalg.lstsq(A, data.y, rcond=None)[0]
    seconds = time.process_time() - start
    coef = np.zeros(len(data.coef))
    coef[mask] = fit[1:]
    yield _judge(data, "abess, EBIC", mask, data.relative_error(coef, fit[0]), seconds)


def single_effects(data, seed, keep):
    """SuSiE: posterior mean, and probabilities above .5."""
    start = time.process_time()
    coef, inclusion, intercept = susie.posterior(data.X, data.y)
    seconds = time.process_time() - start
    yield _judge(data, "SuSiE", inclusion > 0.5, data.relative_error(coef, intercept), seconds)


def knockoff(data, seed, keep):
    """Knockoffs at three levels."""
    start = time.process_time()
    statistic = knockoffs.statistics(data.X, data.y, data.covariance(), seed=seed)
    seconds = time.process_time() - start
    for q in (0.05, 0.1, 0.2):
        name = f"knockoffs, fdr {q:g}".replace("0.", ".")
        yield _judge(data, name, knockoffs.choose(statistic, q), seconds=seconds)


METHODS = {
    "revs": revs,
    "lasso": lasso,
    "relaxed": relaxed,
    "abess": abess,
    "susie": single_effects,
    "knockoffs": knockoff,
}


def read(path):
    """Lines of a CSV file, numbers as numbers."""
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    texts = ("size", "method")
    return [{k: v if k in texts else float(v) for k, v in row.items()} for row in rows]


def run(args):
    """Fit what is not yet in the file."""
    path = args.out.with_suffix(".csv")
    if not (args.resume and path.exists()):
        with path.open("w", newline="") as handle:
            csv.writer(handle).writerow(FIELDS)
    done = {(r["size"], r["correlation"], r["ratio"], r["seed"], r["method"]) for r in read(path)}
    first = {name: next(iter(_names(name))) for name in METHODS}
    kept = {}
    seeds = range(args.seed, args.seed + args.replicates)
    ratios = ALL_RATIOS if args.all_ratios else RATIOS
    for seed, size, correlation, ratio in product(seeds, SIZES, CORRELATIONS, ratios):
        cell = (size, correlation, ratio, seed)
        data = None
        for name, method in METHODS.items():
            if not any(fnmatch(name, p) for p in args.methods.split(",")) or (*cell, first[name]) in done:
                continue
            data = data or design(size, correlation, ratio, seed)
            keep = {}
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lines = [(*cell, *line) for line in method(data, seed, keep)]
            with path.open("a", newline="") as handle:
                csv.writer(handle).writerows(
                    [f"{v:.6g}" if isinstance(v, float) else v for v in line] for line in lines
                )
            if "inclusion" in keep:
                kept["|".join(map(str, cell))] = keep["inclusion"].astype(np.float32)
        print(*cell, flush=True)
    if args.inclusion and kept:
        np.savez_compressed(args.inclusion, **kept)
    args.out.with_suffix(".md").write_text(table(args, read(path)))
    print(table(args, read(path)))


def export(args):
    """Write every data set as a file for tools in other languages: the response, then the columns."""
    args.export.mkdir(parents=True, exist_ok=True)
    ratios = ALL_RATIOS if args.all_ratios else RATIOS
    seeds = range(args.seed, args.seed + args.replicates)
    for seed, size, correlation, ratio in product(seeds, SIZES, CORRELATIONS, ratios):
        data = design(size, correlation, ratio, seed)
        path = args.export / f"{size}_{correlation:g}_{ratio:g}_{seed}.csv"
        np.savetxt(path, np.column_stack([data.y, data.X]), delimiter=",", fmt="%.7g")


def _names(name):
    """What a method calls itself first."""
    return {
        "revs": ["REVS, refit"],
        "lasso": ["lasso, CV"],
        "relaxed": ["relaxed lasso, CV"],
        "abess": ["abess, EBIC"],
        "susie": ["SuSiE"],
        "knockoffs": ["knockoffs, fdr .05"],
    }[name]


def _mean(rows, what):
    values = np.array([r[what] for r in rows], dtype=float)
    values = values[np.isfinite(values)]
    return f"{values.mean():.3f}" if len(values) else "-"


def table(args, rows):
    """Means over the grid, over its sizes, and over its ratios."""
    methods = list(dict.fromkeys(r["method"] for r in rows))
    seeds = sorted({int(r["seed"]) for r in rows})
    ratios = tuple(sorted({r["ratio"] for r in rows}))
    command = "python " + " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    lines = [
        "# The grid of Hastie, Tibshirani and Tibshirani",
        "",
        f"`{command}`; seeds {seeds[0]}-{seeds[-1]}; sizes {', '.join(SIZES)} with 5, 10 and 5 coefficients "
        f"of one; correlations {CORRELATIONS}; SNR {ratios}. Error: test error in units of the noise "
        "variance (one is the truth); in brackets the standard error of its difference from that of the "
        f"refit. {environment()}",
        "",
        "## Prediction",
        "",
        "| method | sets | error | " + " | ".join(SIZES) + " | " + " | ".join(f"SNR {q:g}" for q in ratios),
    ]
    lines[-1] += " | cpu s |"
    lines.append("|---|" + "---:|" * (3 + len(SIZES) + len(ratios)))
    key = ("size", "correlation", "ratio", "seed")
    refit = {tuple(r[k] for k in key): r["error"] for r in rows if r["method"] == "REVS, refit"}
    for method in methods:
        mine = [r for r in rows if r["method"] == method and np.isfinite(r["error"])]
        if not mine or method == "REVS, interval":
            continue
        apart = np.array([r["error"] - refit.get(tuple(r[k] for k in key), np.nan) for r in mine])
        doubt = np.nanstd(apart) / np.sqrt(len(apart))
        cells = [_mean([r for r in mine if r["size"] == s], "error") for s in SIZES]
        cells += [_mean([r for r in mine if r["ratio"] == q], "error") for q in ratios]
        lines.append(
            f"| {method} | {len(mine)} | {_mean(mine, 'error')} ({doubt:.3f}) | {' | '.join(cells)} "
            f"| {_mean(mine, 'seconds')} |"
        )
    inside = [r for r in rows if r["method"] == "REVS, interval"]
    if inside:
        parts = ", ".join(f"{s} {_mean([r for r in inside if r['size'] == s], 'error')}" for s in SIZES)
        lines += ["", f"95 % prediction intervals cover {_mean(inside, 'error')} of new responses ({parts})."]
    head = " | ".join(f"F1, SNR {q:g}" for q in ratios)
    lines += ["", "## Selection", "", f"| rule | sets | chosen | F1 | share wrong | power | {head} |"]
    lines.append("|---|" + "---:|" * (5 + len(ratios)))
    for method in methods:
        mine = [r for r in rows if r["method"] == method]
        if method in ("REVS, refit", "REVS, average", "REVS, predict", "REVS, interval"):
            continue
        cells = [_mean(mine, what) for what in ("chosen", "f1", "wrong", "power")]
        cells += [_mean([r for r in mine if r["ratio"] == q], "f1") for q in ratios]
        lines.append(f"| {method} | {len(mine)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=3, help="data sets per cell")
    parser.add_argument("--seed", type=int, default=5000, help="seed of the first data set")
    parser.add_argument("--methods", default="*", help=f"comma-separated patterns of {', '.join(METHODS)}")
    parser.add_argument("--out", type=Path, default=Path("results/revs_grid"), help="PATH.csv and PATH.md")
    parser.add_argument("--all-ratios", action="store_true", help="all ten ratios instead of five")
    parser.add_argument("--inclusion", type=Path, help="keep the inclusion probabilities in this .npz")
    parser.add_argument("--resume", action="store_true", help="keep the fits already in PATH.csv")
    parser.add_argument(
        "--export",
        type=Path,
        help="write the data sets into this folder and stop: `Rscript susie_grid.R FOLDER >> PATH.csv` adds "
        "lines of susieR, which --resume takes into the table",
    )
    args = parser.parse_args()
    (export if args.export else run)(args)


if __name__ == "__main__":
    main()
