"""Table 3.1: how often risk-RFE ranks every feature that matters before every other one, beside the lasso.

python experiments/table_3_1.py --replicates 20 --out experiments/results/table_3_1.md
"""

import time

import numpy as np
from _risk_rfe_common import arguments, coefficients, lasso_classifier, lasso_regressor, misses, write

from rlselect import RiskRFE
from rlselect.simulate import make_sparse_linear

# (d, d0, n) -> no error of RFE and (lasso) as printed
PAPER = {
    "SVM-RBF": {
        (15, 4): {100: (0.97, 0.94), 200: (1, 1), 400: (1, 1)},
        (30, 7): {100: (0.62, 0.46), 200: (1, 0.96), 400: (1, 1)},
        (50, 3): {100: (0.95, 0.97), 200: (1, 1), 400: (1, 1)},
    },
    "SVR-linear": {
        (15, 4): {100: (1, 0.93), 200: (1, 1), 400: (1, 1)},
        (30, 7): {100: (1, 0.47), 200: (1, 0.91), 400: (1, 1)},
        (50, 3): {100: (1, 0.98), 200: (1, 1), 400: (1, 1)},
    },
}


def one(machine, n, d, d0, seed):
    """Missed features of RFE and of the lasso, and the seconds RFE took."""
    classify = machine == "SVM-RBF"
    task = "classification" if classify else "regression"
    X, y, informative = make_sparse_linear(n, d, d0, task=task, random_state=seed)
    start = time.process_time()
    loss, kernel = ("hinge", "rbf") if classify else ("epsilon_insensitive", "linear")
    selector = RiskRFE.paper(loss=loss, kernel=kernel).fit(X, y)
    seconds = time.process_time() - start
    lasso = (lasso_classifier() if classify else lasso_regressor()).fit(X, y)
    order = np.argsort(-np.abs(coefficients(lasso)), kind="stable")
    return misses(np.argsort(selector.ranking_), informative), misses(order, informative), seconds


def main():
    parser = arguments(__doc__.splitlines()[0], replicates=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--machines", nargs="+", default=list(PAPER))
    args = parser.parse_args()
    lines = [
        f"Table 3.1, {args.replicates} replicates from seed {args.seed} (the dissertation: 100).",
        "",
        "| machine | d, d0 | n | RFE none / one / more errors | paper none | lasso none | paper lasso | "
        "s per fit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for machine in args.machines:
        for (d, d0), row in PAPER[machine].items():
            for n in args.sizes:
                runs = [one(machine, n, d, d0, args.seed + r) for r in range(args.replicates)]
                rfe, lasso = np.array([r[0] for r in runs]), np.array([r[1] for r in runs])
                cell = f"{np.mean(rfe == 0):.2f} / {np.mean(rfe == 1):.2f} / {np.mean(rfe > 1):.2f}"
                seconds = np.median([r[2] for r in runs])
                lines.append(
                    f"| {machine} | {d}, {d0} | {n} | {cell} | {row[n][0]:.2f} | {np.mean(lasso == 0):.2f} "
                    f"| {row[n][1]:.2f} | {seconds:.2f} |"
                )
                print(lines[-1], flush=True)
    write(lines, args.out)


if __name__ == "__main__":
    main()
