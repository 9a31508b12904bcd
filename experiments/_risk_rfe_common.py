"""What the three risk-RFE tables share: the peers, replicates and a Markdown table."""

import argparse
from pathlib import Path

import numpy as np
from _kept_runs import Records
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

RESULTS = Path(__file__).parent / "results"


def arguments(description, replicates, seed=1000):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--replicates", type=int, default=replicates)
    parser.add_argument("--seed", type=int, default=seed, help="seed of the first replicate")
    parser.add_argument("--out", type=Path, default=None, help="Markdown file to write as well")
    return parser


def table_arguments(description, sizes, replicates):
    """The arguments of the three tables: each number of training rows has its own number of replicates."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes, help="training rows")
    parser.add_argument("--replicates", type=int, nargs="+", default=replicates, help="one for each size")
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first replicate")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="CPU seconds after which no run begins"
    )
    parser.add_argument(
        "--out", type=Path, default=None, help="Markdown file; the replicates beside it are kept and added to"
    )
    return parser


def collect(args, runs, one):
    """Records of the runs, kept in a file beside the table.

    ``runs(size, seed)`` names those of a replicate: tuples that begin with the size and end with the seed.
    """
    records = Records(None if args.out is None else args.out.with_suffix(".jsonl"))
    # by replicates, so that a run that is stopped has something in every cell
    plan = (
        run
        for r in range(max(args.replicates))
        for size, most in zip(args.sizes, args.replicates, strict=True)
        if r < most
        for run in runs(size, args.seed + r)
    )
    records.collect(plan, one, args.seconds)
    return records


def lasso_classifier():
    grid = {"C": np.logspace(-2, 2, 9)}
    return GridSearchCV(LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=500), grid, cv=5)


def lasso_regressor():
    return LassoCV(cv=5, max_iter=20_000)


def l1_svm():
    return GridSearchCV(
        LinearSVC(penalty="l1", dual=False, max_iter=20_000), {"C": np.logspace(-2, 2, 9)}, cv=5
    )


def coefficients(fitted):
    return np.ravel(getattr(fitted, "best_estimator_", fitted).coef_)


def misses(order, informative):
    """How many features that matter are not among the first d0 of an order (best first)."""
    first = np.asarray(order)[: int(informative.sum())]
    return int(informative.sum() - informative[first].sum())


def score(model, error, informative):
    """What a run of a model leaves: its error and, of an elimination, what it made of the true features."""
    found = {"error": round(float(error), 6)}
    if hasattr(model, "ranking_") and model.stopping != len(informative):
        found["exact"] = bool(np.array_equal(model.support_, informative))
        found["ranked"] = misses(np.argsort(model.ranking_), informative) == 0
    return found


def error_rows(args, records, models, heading, digits, paper):
    """A table with a row for each number of rows and model, printed figures beside ours."""
    lines = [
        f"| rows | method | replicates | {heading} | standard deviation | paper | true features exactly "
        "| ranked first |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n, name in ((n, name) for n in args.sizes for name in models):
        found = records.of(n, name)
        if found:
            errors = [r["error"] for r in found]
            spread = np.std(errors, ddof=min(1, len(errors) - 1))
            shares = (
                f"{np.mean([r[key] for r in found]):.2f}" if key in found[0] else ""
                for key in ("exact", "ranked")
            )
            lines.append(
                f"| {n} | {name} | {len(found)} | {np.mean(errors):.{digits}f} | {spread:.{digits}f} "
                f"| {paper.get(name, '')} | {' | '.join(shares)} |"
            )
    return lines


def write(lines, out):
    text = "\n".join(lines) + "\n"
    print(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.with_suffix(".md").write_text(text)
