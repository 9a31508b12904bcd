"""risk-RFE against a scikit-learn loop: same elimination order, and how much faster.

The loop refits a scikit-learn kernel machine for every candidate at every size. Times are process CPU
seconds of one process with one thread, ratios within the run.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \\
        python benchmarks/risk_rfe.py --resume --out benchmarks/results/risk_rfe.md
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from _tables import environment
from rlselect import RiskRFE

LOOP_CELLS = [(100, 30), (200, 60), (400, 60), (400, 155)]
OWN_CELLS = [(400, 155), (800, 155)]


def design(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + 0.3 * rng.normal(size=n)


def loop_squared(X, y, lam, gamma):
    """Elimination order of the squared loss without intercept, one KernelRidge per candidate."""
    left, order = list(range(X.shape[1])), []
    while len(left) > 1:
        values = []
        for j in left:
            keep = [k for k in left if k != j]
            machine = KernelRidge(alpha=len(y) * lam, kernel="rbf", gamma=1.0 / gamma**2).fit(X[:, keep], y)
            values.append(lam * (y @ machine.dual_coef_))
        order.append(left.pop(int(np.argmin(values))))
    return order + left


def loop_hinge(X, y, lam, gamma):
    """Elimination order of the hinge loss, one SVC per candidate."""
    left, order = list(range(X.shape[1])), []
    while len(left) > 1:
        values = []
        for j in left:
            keep = [k for k in left if k != j]
            machine = SVC(C=1.0 / (2 * len(y) * lam), gamma=1.0 / gamma**2, tol=1e-6).fit(X[:, keep], y)
            f = machine.decision_function(X[:, keep])
            a = machine.dual_coef_[0]
            smooth = f[machine.support_] - machine.intercept_
            values.append(lam * (a @ smooth) + np.maximum(0, 1 - y * f).mean())
        order.append(left.pop(int(np.argmin(values))))
    return order + left


def timed(run):
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


def ours(loss, X, y, lam, gamma):
    selector = RiskRFE(
        loss=loss, regularization=lam, bandwidth=gamma, fit_intercept=loss != "squared", stopping=5
    )
    return np.argsort(-selector.fit(X, y).ranking_).tolist()


def against_loop(loss, n, d, seed):
    """One line: the same elimination by ours and by a loop."""
    X, y = design(n, d, seed)
    y = np.where(y > 0, 1.0, -1.0) if loss == "hinge" else y
    lam, gamma = 1.0 / n, np.sqrt(2.0 * d)
    mine, seconds = timed(lambda: ours(loss, X, y, lam, gamma))
    loop, slow = timed(lambda: (loop_hinge if loss == "hinge" else loop_squared)(X, y, lam, gamma))
    return f"{mine == loop} | {seconds:.2f} | {slow:.2f} | {slow / seconds:.1f}"


def alone(given, n, d, seed):
    """One line: the seconds of ours, with parameters or with all defaults."""
    X, y = design(n, d, seed)
    if given:
        seconds = timed(lambda: ours("squared", X, y, 1.0 / n, np.sqrt(2.0 * d)))[1]
    else:
        seconds = timed(lambda: RiskRFE().fit(X, y))[1]
    return f"| {seconds:.2f} | |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--resume", action="store_true", help="keep the lines of the file and add the others")
    args = parser.parse_args()
    cells = {f"| squared | {n} | {d} |": (against_loop, "squared", n, d) for n, d in LOOP_CELLS}
    cells |= {f"| hinge | {n} | {d} |": (against_loop, "hinge", n, d) for n, d in LOOP_CELLS[:2]}
    for n, d in OWN_CELLS:
        cells[f"| squared, parameters given | {n} | {d} |"] = (alone, True, n, d)
        cells[f"| squared, all defaults | {n} | {d} |"] = (alone, False, n, d)
    old = args.out.read_text().splitlines() if args.resume and args.out.exists() else []
    lines = [
        "Risk-RFE against a scikit-learn loop, seconds of one processor, one data set per cell (seed "
        f"{args.seed}). Made by",
        "`OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/risk_rfe.py --resume --out "
        f"benchmarks/results/risk_rfe.md`. {environment()}",
        "",
        "| loss | n | d | same order | ours s | loop s | times faster |",
        "|---|---|---|---|---|---|---|",
    ]
    for head, (measure, *cell) in cells.items():
        known = [line for line in old if line.startswith(head)]
        lines.append(known[0] if known else f"{head} {measure(*cell, args.seed)} |")
        print(lines[-1], flush=True)
        if args.out is not None:
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
