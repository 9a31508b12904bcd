"""What landmarks cost in selection quality: RiskRFE exact and from landmarks, on products and squares.

python benchmarks/risk_rfe_landmarks.py --out benchmarks/results/risk_rfe_landmarks.md
"""

import argparse
import time
from pathlib import Path

import numpy as np

from rlselect import RiskRFE
from rlselect._parallel import one_thread

TRUE = (0, 1, 2)
ABOUT = """y = x0 x1 + x2^2 / 2 + noise of variance 1, ten columns, seeds from 100 on.
The risk is the smallest on the way, leaving one row out (1 is the noise), the kernel error the share of the
rows' kernel values that the landmarks do not reach with the columns of the final machine."""
# rows, landmarks and replicates
RUNS = [
    (1000, None, 3),
    (1000, 300, 3),
    (1000, 100, 3),
    (1500, None, 1),
    (1500, 300, 1),
    (1500, 100, 1),
    (20_000, 300, 1),
    (20_000, 100, 2),
    (50_000, 100, 1),
]
FIRST_SEED = 100


def rows(sizes: list[int]) -> list[list[str]]:
    """One row per number of rows and of landmarks, the mean of some seeds."""
    found = []
    for n, landmarks, seeds in RUNS:
        if n not in sizes:
            continue
        seconds, hits, others, errors, risks = [], [], [], [], []
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n, 10))
            y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 + rng.standard_normal(n)
            start = time.process_time()
            with one_thread():
                fitted = RiskRFE(n_landmarks=landmarks).fit(X, y)
            seconds.append(time.process_time() - start)
            chosen = set(np.flatnonzero(fitted.support_).tolist())
            hits.append(len(chosen & set(TRUE)))
            others.append(len(chosen - set(TRUE)))
            errors.append(fitted.kernel_error_)
            risks.append(fitted.path_["risk"].min())
        row = [str(n), str(landmarks or "all"), str(seeds), f"{np.mean(hits):g} of 3", f"{np.mean(others):g}"]
        row += [f"{np.mean(risks):.4f}", f"{np.mean(errors):.2g}", f"{np.mean(seconds):.1f}"]
        print(" | ".join(row), flush=True)
        found.append(row)
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = sorted({n for n, _, _ in RUNS})
    parser.add_argument("--rows", type=int, nargs="+", default=every, help="the sizes to run")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    head = ["rows", "landmarks", "replicates", "true variables", "others", "smallest risk", "kernel error"]
    head += ["seconds of the processor"]
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows(options.rows)]]
    if options.out is not None:
        sizes = " ".join(map(str, options.rows))
        command = f"    python benchmarks/risk_rfe_landmarks.py --rows {sizes} --out {options.out}"
        text = "\n".join([f"# Landmarks\n\n{command}\n\n{ABOUT}\n", *lines, ""])
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
