"""What RiskRFE finds by default: F1 and seconds on classes, waves, interactions and noise, and on real rows.

python experiments/risk_rfe_designs.py --out experiments/results/risk_rfe_designs.md
"""

import time
from collections import Counter

import numpy as np
import pandas as pd
from _risk_rfe_common import arguments, write
from sklearn.datasets import load_diabetes, make_classification
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from rlselect import RiskRFE
from rlselect.simulate import make_annulus


def scores(X, rng, n_classes=5):
    """Labels by the largest of five sums of five columns; the sums are the same in every replicate."""
    weights = np.random.default_rng(7).normal(size=(5, n_classes))
    return np.argmax(X[:, :5] @ weights + 0.3 * rng.normal(size=(len(X), n_classes)), axis=1)


def levels(X, rng):
    """Five ordered levels of a product and a sum."""
    return np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.2 * rng.normal(size=len(X)), [-1.3, -0.4, 0.4, 1.3])


def xor(X, rng):
    return np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0, 1, 0)


def xor_and_sum(X, rng):
    return np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0, 1, 0)


def wave(X, rng):
    return np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=len(X))


def short_wave(X, rng):
    return np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 / 2 + X[:, 2] + 0.5 * rng.normal(size=len(X))


def wave_of_a_product(X, rng):
    return np.sin(2.0 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.3 * rng.normal(size=len(X))


def linear(X, rng):
    return X[:, :5] @ [1.0, -1.0, 0.8, 0.5, 0.3] + rng.normal(size=len(X))


def product(X, rng):
    return X[:, 0] * X[:, 1]


def product_and_line(X, rng):
    return X[:, 0] * X[:, 1] + X[:, 2]


def product_of_three(X, rng):
    return X[:, 0] * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))


def ratio(X, rng):
    return X[:, 0] / (1.0 + X[:, 1] ** 2) + 0.3 * rng.normal(size=len(X))


def larger(X, rng):
    return np.maximum(X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=len(X))


def step(X, rng):
    return (X[:, 0] > 0) + 0.3 * rng.normal(size=len(X))


def short_product(X, rng):
    return X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=len(X))


def noise(X, rng):
    return rng.normal(size=len(X))


def noise_labels(X, rng):
    return rng.integers(0, 2, size=len(X))


def exponential(X, rng):
    return np.exp(1.5 * X[:, 0] + X[:, 1]) + 0.3 * rng.normal(size=len(X))


def far(truth, informative, df):
    """A design of columns with t of few degrees of freedom."""

    def make(n, d, rng):
        X = rng.standard_t(df, size=(n, d))
        return X, truth(X, rng), np.arange(d) < informative

    return make


def far_line(X, rng):
    return X[:, 0] - X[:, 1] + 2.0 * rng.normal(size=len(X))


def line_far_errors(X, rng):
    return X[:, 0] - X[:, 1] + rng.standard_t(1.5, size=len(X))


def far_product(X, rng):
    return X[:, 0] * X[:, 1] + rng.normal(size=len(X))


def far_noise(X, rng):
    return rng.standard_t(1.5, size=len(X))


def clusters(n, d, rng):
    """Five clusters of scikit-learn in five of the columns."""
    seed = int(rng.integers(2**31))
    X, y = make_classification(
        n,
        d,
        n_informative=5,
        n_redundant=0,
        n_classes=5,
        n_clusters_per_class=1,
        shuffle=False,
        random_state=seed,
    )
    return X, y, np.arange(d) < 5


def categories(n, d, rng):
    """A column of three levels that turns the slope of another; two more such columns without effect."""
    X = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{j}" for j in range(d)])
    levels = rng.integers(0, 3, size=(3, n))
    for j, codes in zip((0, 3, 4), levels, strict=True):
        X[f"x{j}"] = pd.Categorical.from_codes(codes, list("abc"))
    return X, (levels[0] - 1) * X["x1"].to_numpy() + 0.3 * rng.normal(size=n), np.arange(d) < 2


def normal(truth, informative):
    """A design of normal columns."""

    def make(n, d, rng):
        X = rng.normal(size=(n, d))
        return X, truth(X, rng), np.arange(d) < informative

    return make


DESIGNS = {
    "five classes, largest of five sums": (normal(scores, 5), 300, 20),
    "five classes, clusters": (clusters, 300, 20),
    "five classes, levels of a product and a sum": (normal(levels, 3), 300, 20),
    "XOR with noise": (normal(xor, 2), 200, 20),
    "XOR and a sum": (normal(xor_and_sum, 3), 200, 30),
    "sin 2x and a line": (normal(wave, 2), 200, 30),
    "sin 3x, a square and a line": (normal(short_wave, 3), 200, 30),
    "sin of a product and a line": (normal(wave_of_a_product, 3), 200, 20),
    "linear, 5 of 20": (normal(linear, 5), 150, 20),
    "product, no noise": (normal(product, 2), 200, 20),
    "product and a line, no noise": (normal(product_and_line, 3), 200, 20),
    "product of three, noise .1": (normal(product_of_three, 3), 400, 20),
    "product, 60 rows": (normal(short_product, 2), 60, 10),
    "x1 / (1 + x2^2)": (normal(ratio, 2), 200, 20),
    "larger of two": (normal(larger, 2), 200, 20),
    "a step": (normal(step, 1), 200, 30),
    "three categories turn a slope": (categories, 200, 12),
    "square in a square": (lambda n, d, rng: make_annulus(n, d, random_state=rng), 100, 10),
    "a line of columns that reach far (t, 1.5)": (far(far_line, 2, 1.5), 200, 15),
    "a line (t, 3), errors that reach far": (far(line_far_errors, 2, 3.0), 200, 15),
    "product of columns that reach far (t, 3)": (far(far_product, 2, 3.0), 200, 15),
    "exponential": (normal(exponential, 2), 200, 15),
    "noise that reaches far, columns too": (far(far_noise, 0, 1.5), 200, 15),
    "noise that reaches far": (normal(far_noise, 0), 200, 15),
    "noise": (normal(noise, 0), 150, 20),
    "noise, two classes": (normal(noise_labels, 0), 150, 20),
}


def f1(found, truth):
    """F1 of a set; of noise, whether the set is empty."""
    if not truth.any():
        return float(not found.any())
    return 2.0 * (found & truth).sum() / (found.sum() + truth.sum())


def timed(fit):
    start = time.process_time()
    fitted = fit()
    return fitted, time.process_time() - start


def recovery(args):
    yield "| design | n | d | F1 (noise: empty) | s | kernels | F1 RFECV | s |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, (make, n, d) in DESIGNS.items():
        ours, peer, kernels = [], [], Counter()
        for seed in range(args.seed, args.seed + args.replicates):
            X, y, truth = make(n, d, np.random.default_rng(seed))
            selector, seconds = timed(lambda X=X, y=y: RiskRFE().fit(X, y))
            ours.append((f1(selector.support_, truth), seconds))
            kernels[selector.kernel_] += 1
            if name.startswith("five"):
                rival, seconds = timed(lambda X=X, y=y: RFECV(LogisticRegression(), cv=5).fit(X, y))
                peer.append((f1(rival.support_, truth), seconds))
        value, seconds = np.mean(ours, axis=0)
        beside = "{:.3f} | {:.2f}".format(*np.mean(peer, axis=0)) if peer else " | "
        used = ", ".join(f"{kernel} {count}" for kernel, count in kernels.most_common())
        yield f"| {name} | {n} | {d} | {value:.3f} | {seconds:.2f} | {used} | {beside} |"


def diabetes(args):
    X, y = load_diabetes(return_X_y=True)
    yield f"Diabetes (442 rows, 10 columns), held-out R2 of five folds, shuffled with seed {args.seed}:"
    yield ""
    yield "| selection | R2 | columns |"
    yield "|---|---|---|"
    choices = {
        "default": {},
        "loo-2se, kernel rbf": {"stopping": "loo-2se", "kernel": "rbf"},
        "all": {"stopping": 10},
    }
    for name, options in choices.items():
        scored, sizes = [], []
        for train, test in KFold(5, shuffle=True, random_state=args.seed).split(X):
            selector = RiskRFE(loss="squared", **options).fit(X[train], y[train])
            scored.append(selector.score(X[test], y[test]))
            sizes.append(selector.n_features_)
        yield f"| {name} | {np.mean(scored):.3f} | {np.mean(sizes):.1f} |"


def regression_machine(args):
    rng = np.random.default_rng(args.seed)
    X = rng.normal(size=(400, 50))
    y = X[:, :3] @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=400)
    options = {"loss": "epsilon_insensitive", "kernel": "linear"}
    selector, seconds = timed(lambda: RiskRFE(**options).fit(X, y))
    found = np.flatnonzero(selector.support_).tolist()
    yield f"Linear support vector regression, n = 400, d = 50: {seconds:.1f} s, columns {found} of [0, 1, 2]."


def main():
    parser = arguments(__doc__.splitlines()[0], replicates=16, seed=8800)
    args = parser.parse_args()
    lines = [
        f"{args.replicates} replicates from seed {args.seed}, RiskRFE() with its defaults; CPU seconds. "
        f"Made by `{__doc__.splitlines()[-1]}`.",
        "",
    ]
    for part in (recovery, diabetes, regression_machine):
        for line in part(args):
            print(line, flush=True)
            lines.append(line)
        lines.append("")
    write(lines[:-1], args.out)


if __name__ == "__main__":
    main()
