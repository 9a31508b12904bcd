"""Table 3.2: test error on the square inside a square, with and without elimination, beside L1 methods.

python experiments/table_3_2.py --out experiments/results/table_3_2.md
"""

import numpy as np
from _risk_rfe_common import arguments, l1_svm, lasso_classifier, misses, write

from rlselect import RiskRFE
from rlselect.simulate import make_annulus

PAPER = {"SVM with RFE": 0.051, "SVM without RFE": 0.242, "logistic lasso": 0.286, "L1-SVM": 0.262}


def main():
    parser = arguments(__doc__.splitlines()[0], replicates=20)
    parser.add_argument("--n-train", type=int, default=400)
    parser.add_argument("--n-test", type=int, default=2000)
    args = parser.parse_args()
    errors = {name: [] for name in [*PAPER, "SVM with RFE, dissertation's rule"]}
    exact, ranked = [], []
    for seed in range(args.seed, args.seed + args.replicates):
        X, y, informative = make_annulus(args.n_train + args.n_test, random_state=seed)
        train, test = slice(0, args.n_train), slice(args.n_train, None)
        models = {
            "SVM with RFE": RiskRFE(loss="hinge"),
            "SVM without RFE": RiskRFE(loss="hinge", stopping=10),
            "logistic lasso": lasso_classifier(),
            "L1-SVM": l1_svm(),
            "SVM with RFE, dissertation's rule": RiskRFE(loss="hinge", stopping="change-point"),
        }
        for name, model in models.items():
            model.fit(X[train], y[train])
            errors[name].append(1.0 - model.score(X[test], y[test]))
        exact.append(np.array_equal(models["SVM with RFE"].support_, informative))
        ranked.append(misses(np.argsort(models["SVM with RFE"].ranking_), informative) == 0)
    lines = [
        f"Table 3.2, {args.replicates} replicates from seed {args.seed}, {args.n_train} training and "
        f"{args.n_test} test "
        "rows (the dissertation does not say how many).",
        "",
        "| method | test error | standard deviation | paper |",
        "|---|---|---|---|",
    ]
    for name, values in errors.items():
        paper = f"{PAPER[name]:.3f}" if name in PAPER else ""
        lines.append(f"| {name} | {np.mean(values):.3f} | {np.std(values, ddof=1):.3f} | {paper} |")
    lines += [
        "",
        f"Exactly the two features selected: {np.mean(exact):.2f}; ranked first: {np.mean(ranked):.2f}.",
    ]
    write(lines, args.out)


if __name__ == "__main__":
    main()
