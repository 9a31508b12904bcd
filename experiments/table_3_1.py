"""Table 3.1: how often risk-RFE ranks every feature that matters before every other one, beside the lasso.

python experiments/table_3_1.py --replicates 100 100 100 --out experiments/results/table_3_1
"""

import time

import numpy as np
from _risk_rfe_common import (
    coefficients,
    collect,
    lasso_classifier,
    lasso_regressor,
    misses,
    table_arguments,
    write,
)

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
LOSS = {"SVM-RBF": ("hinge", "rbf"), "SVR-linear": ("epsilon_insensitive", "linear")}


def data(machine, n, d, d0, seed):
    """The dissertation's design for this machine."""
    task = "classification" if machine == "SVM-RBF" else "regression"
    return make_sparse_linear(n, d, d0, task=task, random_state=seed)


def elimination(machine):
    """The dissertation's procedure, unfitted."""
    loss, kernel = LOSS[machine]
    return RiskRFE.paper(loss=loss, kernel=kernel)


def one(n, machine, d, d0, seed):
    """Missed features of RFE and of the lasso, and the seconds RFE took."""
    X, y, informative = data(machine, n, d, d0, seed)
    start = time.process_time()
    selector = elimination(machine).fit(X, y)
    seconds = time.process_time() - start
    lasso = (lasso_classifier() if machine == "SVM-RBF" else lasso_regressor()).fit(X, y)
    order = np.argsort(-np.abs(coefficients(lasso)), kind="stable")
    return {
        "rfe": misses(np.argsort(selector.ranking_), informative),
        "lasso": misses(order, informative),
        "seconds": round(seconds, 3),
    }


def main():
    parser = table_arguments(__doc__.splitlines()[0], [100, 200, 400], [20, 5, 2])
    parser.add_argument("--machines", nargs="+", default=list(PAPER), choices=list(PAPER))
    args = parser.parse_args()
    cells = [(machine, d, d0) for machine, rows in PAPER.items() for d, d0 in rows]
    mine = [cell for cell in cells if cell[0] in args.machines]
    records = collect(args, lambda n, seed: [(n, *cell, seed) for cell in mine], one)
    lines = [
        f"Table 3.1, replicates from seed {args.seed} on, as many as are named (the dissertation: 100).",
        "Made by",
        "",
        *(f"    {command}" for command in __doc__.splitlines()[-1:]),
        "",
        "| machine | d, d0 | n | replicates | RFE none / one / more errors | paper none | lasso none | "
        "paper lasso | s per fit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for machine, d, d0 in cells:
        for n in args.sizes:
            found = records.of(n, machine, d, d0)
            if not found:
                continue
            rfe, lasso, seconds = (np.array([r[key] for r in found]) for key in ("rfe", "lasso", "seconds"))
            cell = f"{np.mean(rfe == 0):.2f} / {np.mean(rfe == 1):.2f} / {np.mean(rfe > 1):.2f}"
            printed = PAPER[machine][d, d0][n]
            lines.append(
                f"| {machine} | {d}, {d0} | {n} | {len(found)} | {cell} | {printed[0]:.2f} "
                f"| {np.mean(lasso == 0):.2f} | {printed[1]:.2f} | {np.median(seconds):.2f} |"
            )
    write(lines, args.out)


if __name__ == "__main__":
    main()
