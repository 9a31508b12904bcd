"""Which loss should RiskRFE take for classes? Recovery, test accuracy and seconds of the three it knows.

python experiments/risk_rfe_class_losses.py --replicates 10 --out experiments/results/risk_rfe_class_losses.md
"""

import time

import numpy as np
from _risk_rfe_common import arguments, write

from rlselect import RiskRFE
from rlselect.simulate import make_annulus

LOSSES = ("squared_label", "hinge", "logistic")


def normal(score, n, d, informative, rng):
    """Labels of normal columns: the largest of the scores."""
    X = rng.normal(size=(n, d))
    return X, np.argmax(score(X, rng), axis=1), np.isin(np.arange(d), informative)


def two(value):
    """Scores of two classes from the difference of theirs."""
    return np.column_stack([np.zeros(len(value)), value])


def product(X, rng):
    return two(X[:, 1] * X[:, 4] + 1.5 * np.sin(X[:, 6]) + 0.3 * rng.normal(size=len(X)))


def log_odds(X, rng):
    return two(2.0 * X[:, 0] - 2.0 * X[:, 1] + 1.5 * X[:, 2] + rng.logistic(size=len(X)))


def rare(X, rng):
    return two(2.5 * X[:, 0] + 2.0 * X[:, 1] - 3.0 + rng.logistic(size=len(X)))


def noiseless(X, rng):
    return two(X[:, :4] @ np.array([1.0, -1.0, 0.8, -0.8]))


def three(X, rng):
    return X[:, :3] + 0.5 * X[:, 1:4] + 0.3 * rng.normal(size=(len(X), 3))


def correlated(n, rng):
    """Neighbouring columns of correlation .7, the labels by every fourth one."""
    X = rng.normal(size=(n, 12))
    for j in range(1, 12):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
    return X, (2.0 * (X[:, 1] - X[:, 5] + X[:, 9]) + rng.logistic(size=n) > 0).astype(int)


def heavy(n, rng):
    """Columns of t with three degrees of freedom, on scales from .01 to 100."""
    X = rng.standard_t(3, size=(n, 12))
    y = (2.0 * X[:, 3] + 1.5 * np.abs(X[:, 8]) - 1.2 + rng.logistic(size=n) > 0).astype(int)
    return X * np.logspace(-2, 2, 12), y


def given(make, informative, n, rng):
    X, y = make(n, rng)
    return X, y, np.isin(np.arange(X.shape[1]), informative)


DESIGNS = {
    "square in a square (Table 3.2)": lambda n, rng: make_annulus(n, 10, random_state=rng),
    "product and sine": lambda n, rng: normal(product, n, 10, (1, 4, 6), rng),
    "log odds, 3 of 15": lambda n, rng: normal(log_odds, n, 15, (0, 1, 2), rng),
    "rare class, 2 of 10": lambda n, rng: normal(rare, n, 10, (0, 1), rng),
    "sign of a sum, 4 of 15": lambda n, rng: normal(noiseless, n, 15, (0, 1, 2, 3), rng),
    "correlated columns, 3 of 12": lambda n, rng: given(correlated, (1, 5, 9), n, rng),
    "heavy tails, unequal scales, 2 of 12": lambda n, rng: given(heavy, (3, 8), n, rng),
    "three classes, 4 of 8": lambda n, rng: normal(three, n, 8, (0, 1, 2, 3), rng),
}


def one(make, loss, n, seed):
    """Whether the selection is exact, features missed and too many, test accuracy, CPU seconds."""
    rng = np.random.default_rng(seed)
    X, y, informative = make(n, rng)
    X_test, y_test, _ = make(1000, rng)
    start = time.process_time()
    selector = RiskRFE(loss=loss).fit(X, y)
    seconds = time.process_time() - start
    missed, extra = (informative & ~selector.support_).sum(), (selector.support_ & ~informative).sum()
    return missed + extra == 0, missed, extra, selector.score(X_test, y_test), seconds


def main():
    parser = arguments(__doc__.splitlines()[0], replicates=10, seed=8000)
    parser.add_argument("--n", type=int, default=150)
    args = parser.parse_args()
    lines = [
        f"{args.n} rows, {args.replicates} replicates from seed {args.seed}, defaults but for the loss. "
        f"Made by `{__doc__.splitlines()[-1]}`.",
        "",
        "| design | loss | exact | missed | too many | test accuracy | s per fit |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, make in DESIGNS.items():
        for loss in LOSSES:
            runs = [one(make, loss, args.n, args.seed + r) for r in range(args.replicates)]
            exact, missed, extra, score, seconds = np.mean(np.array(runs, dtype=float), axis=0)
            counts = f"{exact:.2f} | {missed:.2f} | {extra:.2f}"
            lines.append(f"| {name} | {loss} | {counts} | {score:.3f} | {seconds:.2f} |")
            print(lines[-1], flush=True)
    write(lines, args.out)


if __name__ == "__main__":
    main()
