"""What landmarks cost in selection quality: RiskRFE exact and from landmarks, on products and squares.

python benchmarks/risk_rfe_landmarks.py --out benchmarks/results/risk_rfe_landmarks.md
"""

import argparse
import time
from pathlib import Path

import numpy as np

from rlselect import RiskRFE

TRUE = (0, 1, 2)
RUNS = [(2000, None, 2), (2000, 300, 2), (2000, 100, 2), (20_000, 300, 2), (20_000, 100, 2), (50_000, 100, 1)]


def rows() -> list[list[str]]:
    """One row per number of rows and of landmarks, the mean of some seeds."""
    found = []
    for n, landmarks, seeds in RUNS:
        seconds, hits, others, errors, risks = [], [], [], [], []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n, 10))
            y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 + rng.standard_normal(n)
            start = time.perf_counter()
            fitted = RiskRFE(n_landmarks=landmarks).fit(X, y)
            seconds.append(time.perf_counter() - start)
            chosen = set(np.flatnonzero(fitted.support_).tolist())
            hits.append(len(chosen & set(TRUE)))
            others.append(len(chosen - set(TRUE)))
            errors.append(fitted.kernel_error_)
            risks.append(fitted.path_["risk"].min())
        row = [str(n), str(landmarks or "all"), f"{np.mean(hits):g} of 3", f"{np.mean(others):g}"]
        row += [f"{np.mean(risks):.4f}", f"{np.mean(errors):.2g}", f"{np.mean(seconds):.1f}"]
        print(" | ".join(row), flush=True)
        found.append(row)
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    head = ["rows", "landmarks", "true variables", "others", "smallest risk", "kernel error", "seconds"]
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows()]]
    if options.out is not None:
        options.out.write_text("# Landmarks\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
