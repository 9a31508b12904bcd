"""Table 3.2: test error on the square inside a square, with and without elimination, beside L1 methods.

The dissertation does not say how many rows it trains on: several sizes are shown, each with its own procedure
(`RiskRFE.paper()`), our machines with its loss, and our default.

python experiments/table_3_2.py --sizes 100 200 --replicates 2 --out experiments/results/table_3_2.md
"""

import numpy as np
from _risk_rfe_common import arguments, l1_svm, lasso_classifier, misses, write

from rlselect import RiskRFE
from rlselect.simulate import make_annulus

PAPER = {
    "SVM with RFE": 0.051,
    "SVM without RFE": 0.242,
    "logistic lasso": 0.286,
    "L1-SVM": 0.262,
}
MODELS = {
    "SVM with RFE": lambda: RiskRFE(loss="hinge"),
    "SVM with RFE, `RiskRFE.paper()`": RiskRFE.paper,
    "kernel machine with RFE, all defaults": RiskRFE,
    "SVM without RFE": lambda: RiskRFE(loss="hinge", stopping=10),
    "SVM without RFE, `RiskRFE.paper(stopping=10)`": lambda: RiskRFE.paper(stopping=10),
    "logistic lasso": lasso_classifier,
    "L1-SVM": l1_svm,
}


def one_size(n_train, args):
    """Test errors of each model and what the eliminations selected, over the replicates."""
    errors, exact, ranked = {name: [] for name in MODELS}, {}, {}
    for seed in range(args.seed, args.seed + args.replicates):
        X, y, informative = make_annulus(n_train + args.n_test, random_state=seed)
        for name, make in MODELS.items():
            model = make().fit(X[:n_train], y[:n_train])
            errors[name].append(1.0 - model.score(X[n_train:], y[n_train:]))
            if isinstance(model, RiskRFE) and "with RFE" in name:
                exact.setdefault(name, []).append(np.array_equal(model.support_, informative))
                ranked.setdefault(name, []).append(misses(np.argsort(model.ranking_), informative) == 0)
    return errors, exact, ranked


def main():
    parser = arguments(__doc__.splitlines()[0], replicates=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--n-test", type=int, default=2000)
    args = parser.parse_args()
    lines = [
        f"Table 3.2, {args.replicates} replicates from seed {args.seed}, {args.n_test} test rows.",
        "",
        "| rows | method | test error | standard deviation | paper | two features exactly | ranked first |",
        "|---|---|---|---|---|---|---|",
    ]
    for n_train in args.sizes:
        errors, exact, ranked = one_size(n_train, args)
        for name, values in errors.items():
            paper = f"{PAPER[name]:.3f}" if name in PAPER else ""
            shares = " | ".join(
                f"{np.mean(share[name]):.2f}" if name in share else "" for share in (exact, ranked)
            )
            line = f"{np.mean(values):.3f} | {np.std(values, ddof=1):.3f} | {paper} | {shares}"
            lines.append(f"| {n_train} | {name} | {line} |")
            print(lines[-1], flush=True)
    write(lines, args.out)


if __name__ == "__main__":
    main()
