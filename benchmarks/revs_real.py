"""Public data sets: left-out loss and number of variables of REVS beside L1, L2 and abess.

Five folds, all methods on the same ones; columns are standardised on the rows that fit. The loss is the mean
minus log likelihood of classes, or the squared error in units of the variance of the response.
"""

import argparse
import shlex
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from _tables import environment
from peers import abess_ebic
from peers.lasso_cv import _coef as l1_coef
from rlselect import REVS
from rlselect.datasets import load_crime, load_local

SETS = {
    "breast cancer (30)": ("binomial", load_breast_cancer),
    "sonar": ("binomial", lambda: load_local("sonar")),
    "heart": ("binomial", lambda: load_local("heart")),
    "ionosphere": ("binomial", lambda: load_local("ionosphere")),
    "pima": ("binomial", lambda: load_local("diabetes")),
    "australian": ("binomial", lambda: load_local("australian")),
    "breast cancer (9)": ("binomial", lambda: load_local("breast_cancer")),
    "liver": ("binomial", lambda: load_local("liver_disorders")),
    "diabetes": ("gaussian", load_diabetes),
    "crime": ("gaussian", load_crime),
}
SEVERAL = {
    "wine": ("multinomial", lambda: load_local("wine")),
    "vehicle": ("multinomial", lambda: load_local("vehicle")),
    "vowel": ("multinomial", lambda: load_local("vowel")),
    "segment": ("multinomial", lambda: load_local("segment")),
}
LIMIT = 1e-12


def rows(name):
    """Columns, response (classes by their numbers) and family."""
    family, load = (SETS | SEVERAL)[name]
    data = load()
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target)
    return X, (y.astype(float) if family == "gaussian" else np.unique(y, return_inverse=True)[1]), family


def revs(X, y, T, family, seed):
    """The refit, the average and what `predict` takes."""
    model = REVS(family=family, random_state=seed).fit(X, y)
    for name, average in (("REVS, refit", False), ("REVS, average", True), ("REVS, predict", "auto")):
        if family != "gaussian":
            predicted = _told(model.predict_proba(T, average=average))
        else:
            predicted = model.predict(T, average=average)
        yield name, predicted, int(model.support_.sum())


def l1(X, y, T, family, seed):
    """L1 penalty by 5-fold cross-validation."""
    if family == "gaussian":
        model = LassoCV(cv=KFold(5, shuffle=True, random_state=seed), max_iter=10_000).fit(X, y)
        yield "L1, CV", model.predict(T), int(np.count_nonzero(model.coef_))
        return
    if family == "multinomial":
        # the one solver of L1 for several classes is slow: a few penalties, to two digits
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        how = {"l1_ratios": (1.0,), "solver": "saga", "max_iter": 300, "tol": 1e-2}
        model = LogisticRegressionCV(Cs=np.geomspace(1e-2, 1e2, 7), cv=folds, scoring="neg_log_loss", **how)
        predicted = model.fit(X, y).predict_proba(T)
        yield "L1, CV", predicted, int(np.count_nonzero(model.coef_.any(axis=0)))
        return
    coef = l1_coef(X, y, family, seed)
    # the peer returns slopes only; a free intercept beside them
    shift = LogisticRegression(C=1e6).fit((X @ coef)[:, None], y)
    eta = shift.decision_function((T @ coef)[:, None]) if coef.any() else np.full(len(T), _logit(y.mean()))
    yield "L1, CV", _expit(eta), int(np.count_nonzero(coef))


def l2(X, y, T, family, seed):
    """L2 penalty by cross-validation."""
    if family == "gaussian":
        model = RidgeCV(alphas=np.geomspace(1e-2, 1e4, 30)).fit(X, y)
        yield "L2, CV", model.predict(T), X.shape[1]
        return
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = LogisticRegressionCV(Cs=np.geomspace(1e-4, 1e3, 15), cv=folds, scoring="neg_log_loss")
    yield "L2, CV", _told(model.fit(X, y).predict_proba(T)), X.shape[1]


def abess(X, y, T, family, seed):
    """abess by EBIC, and maximum likelihood on what it selects."""
    if family == "multinomial" or not abess_ebic.available():
        return
    # it refuses constant columns
    mask = X.std(axis=0) > 0
    mask[mask] = abess_ebic.select(X[:, mask], y, family, seed=seed)
    if family == "gaussian":
        A, B = (np.column_stack([np.ones(len(v)), v[:, mask]]) for v in (X, T))
        predicted = B @ np.linalg.lstsq(A, y, rcond=None)[0]
    elif mask.any():
        predicted = (
            LogisticRegression(C=1e6, max_iter=5000).fit(X[:, mask], y).predict_proba(T[:, mask])[:, 1]
        )
    else:
        predicted = np.full(len(T), y.mean())
    yield "abess, EBIC", predicted, int(mask.sum())


def _told(probabilities):
    """Of the second of two classes, or of all."""
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def _expit(eta):
    return 1.0 / (1.0 + np.exp(-eta))


def _logit(p):
    return np.log(p / (1.0 - p))


def losses(y, predicted, family, scale):
    """Of each row."""
    if family == "gaussian":
        return (y - predicted) ** 2 / scale
    if family == "multinomial":
        return -np.log(np.clip(predicted[np.arange(len(y)), y], LIMIT, 1.0))
    return -np.log(np.clip(np.where(y == 1, predicted, 1.0 - predicted), LIMIT, 1.0))


def run(name, seeds):
    """Losses of all rows and numbers of variables, by method."""
    X, y, family = rows(name)
    out, sizes = {}, {}
    for seed in seeds:
        kind = KFold if family == "gaussian" else StratifiedKFold
        for train, test in kind(5, shuffle=True, random_state=seed).split(X, y):
            shift, scale = X[train].mean(axis=0), X[train].std(axis=0)
            A, B = ((X[part] - shift) / np.where(scale > 0, scale, 1.0) for part in (train, test))
            for method in (revs, l1, l2, abess):
                for label, predicted, size in method(A, y[train], B, family, seed):
                    one = losses(y[test], predicted, family, y.var())
                    out.setdefault(label, []).append(one)
                    sizes.setdefault(label, []).append(size)
    return {k: np.concatenate(v) for k, v in out.items()}, {k: np.mean(v) for k, v in sizes.items()}, X.shape


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=70, help="seed of the first deal of folds")
    parser.add_argument("--replicates", type=int, default=1, help="deals of five folds")
    parser.add_argument(
        "--sets", default=",".join(SETS), help="comma-separated names; also " + ", ".join(SEVERAL)
    )
    parser.add_argument("--out", type=Path, default=Path("results/revs_real.md"))
    args = parser.parse_args()
    command = shlex.join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    seeds = range(args.seed, args.seed + args.replicates)
    lines = [
        "# Public data sets",
        "",
        f"`{command}` (RLSELECT_DATA is the folder of the data); folds of seeds {list(seeds)}. Loss of rows "
        "left out in five folds: minus log likelihood of classes, squared error over the variance of the "
        "response otherwise. In brackets the standard error of the difference from the best of the other "
        f"methods. {environment()}",
        "",
        "| data | rows x columns | method | loss | variables | |",
        "|---|---|---|---:|---:|---|",
    ]
    for name in args.sets.split(","):
        start = time.perf_counter()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, sizes, shape = run(name, seeds)
        others = [k for k in found if not k.startswith("REVS")]
        best = min(others, key=lambda k: found[k].mean())
        for label, values in found.items():
            apart = values - found[best]
            doubt = apart.std() / np.sqrt(len(apart))
            behind = apart.mean() > 2.0 * doubt and label.startswith("REVS")
            mark = "behind" if behind else ("best peer" if label == best else "")
            lines.append(
                f"| {name} | {shape[0]} x {shape[1]} | {label} | {values.mean():.4f} ({doubt:.4f}) "
                f"| {sizes[label]:.1f} | {mark} |"
            )
        args.out.write_text("\n".join(lines) + "\n")
        print(
            name,
            f"{time.perf_counter() - start:.0f} s",
            {k: round(float(v.mean()), 4) for k, v in found.items()},
            flush=True,
        )


if __name__ == "__main__":
    main()
