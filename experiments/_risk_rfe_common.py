"""What the three risk-RFE tables share: the peers, replicates and a Markdown table."""

import argparse
from pathlib import Path

import numpy as np
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


def write(lines, out):
    text = "\n".join(lines) + "\n"
    print(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
