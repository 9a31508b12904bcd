"""REVS on large data with columns that nearly repeat each other: one climb, and several chains after it.

python benchmarks/revs_chains.py --out benchmarks/results/revs_chains.md
"""

import argparse
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from rlselect import REVS
from rlselect.subset.revs import _chains

N, P, EFFECTS = 20_000, 150, 25
CELLS = [
    ("gaussian", "band", 0.8),
    ("gaussian", "band", 0.98),
    ("gaussian", "block", 0.8),
    ("gaussian", "block", 0.95),
    ("binomial", "band", 0.8),
    ("binomial", "band", 0.98),
    ("binomial", "block", 0.95),
]


def make(family, structure, r, seed):
    """Neighbours, or blocks of five, with correlation r; effects of .3 (.6 for classes), random signs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P), dtype=np.float32)
    if structure == "band":
        for j in range(1, P):
            X[:, j] = r * X[:, j - 1] + np.sqrt(1 - r**2) * X[:, j]
    else:
        common = np.repeat(rng.standard_normal((N, P // 5), dtype=np.float32), 5, axis=1)
        X = np.float32(np.sqrt(r)) * common + np.float32(np.sqrt(1 - r)) * X
    coef = np.zeros(P, dtype=np.float32)
    size = 0.3 if family == "gaussian" else 0.6
    coef[rng.choice(P, EFFECTS, replace=False)] = size * rng.choice([-1.0, 1.0], EFFECTS)
    eta = X @ coef
    if family == "gaussian":
        return X, eta + np.sqrt(2.0) * rng.standard_normal(N), coef != 0
    return X, (rng.random(N) < 1.0 / (1.0 + np.exp(-eta))).astype(float), coef != 0


def one_fit(X, y, truth, seed, chains):
    """Exact or not, missed, too many, and processor seconds."""
    usual = _chains._TANGLED
    # a share that no column reaches: the search ends with its first climb
    _chains._TANGLED = usual if chains else np.inf
    try:
        start = time.process_time()
        fit = REVS(random_state=seed).fit(X, y)
        seconds = time.process_time() - start
    finally:
        _chains._TANGLED = usual
    found = fit.support_
    return np.array_equal(found, truth), np.sum(truth & ~found), np.sum(found & ~truth), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=20, help="data sets per cell; half for classes")
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first data set")
    parser.add_argument("--out", type=Path, help="Markdown file to write")
    args = parser.parse_args()
    lines = [
        "# REVS with several chains",
        "",
        f"{N:,} x {P}, {EFFECTS} effects, seeds from {args.seed}; means over the data sets.",
        "",
        "| family | columns | r | data sets | search | exact | missed | too many | cpu s |",
        "|" + "---|" * 9,
    ]
    for family, structure, r in CELLS:
        count = args.replicates if family == "gaussian" else args.replicates // 2
        fits = {"one climb": [], "chains": []}
        for seed in range(args.seed, args.seed + count):
            X, y, truth = make(family, structure, r, seed)
            with threadpool_limits(1):
                for name, done in fits.items():
                    done.append(one_fit(X, y, truth, seed, name == "chains"))
        for name, done in fits.items():
            exact, missed, extra, seconds = np.mean(np.array(done, dtype=float), axis=0)
            shown = [family, structure, r, count, name, f"{exact:.2f}", f"{missed:.2f}", f"{extra:.2f}"]
            lines.append("| " + " | ".join(map(str, [*shown, f"{seconds:.2f}"])) + " |")
            print(lines[-1], flush=True)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
