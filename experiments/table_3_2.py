"""Table 3.2: test error on the square inside a square, with and without elimination, beside L1 methods.

The dissertation does not say how many rows it trains on: several sizes are shown, each with its own procedure
(`RiskRFE.paper()`), our machines with its loss, and our default.

python experiments/table_3_2.py --replicates 100 56 10 --out experiments/results/table_3_2.md
"""

from _risk_rfe_common import collect, error_rows, l1_svm, lasso_classifier, score, table_arguments, write

from rlselect import RiskRFE
from rlselect.simulate import make_annulus

PAPER = {
    "SVM with RFE": 0.051,
    "SVM with RFE, `RiskRFE.paper()`": 0.051,
    "SVM without RFE": 0.242,
    "SVM without RFE, `RiskRFE.paper(stopping=10)`": 0.242,
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
N_TEST = 2000


def one(n_train, name, seed):
    """Test error of a model and what it made of the two features."""
    X, y, informative = make_annulus(n_train + N_TEST, random_state=seed)
    model = MODELS[name]().fit(X[:n_train], y[:n_train])
    return score(model, 1.0 - model.score(X[n_train:], y[n_train:]), informative)


def main():
    args = table_arguments(__doc__.splitlines()[0], [100, 200, 400], [5, 3, 2]).parse_args()
    records = collect(args, lambda n, seed: [(n, name, seed) for name in MODELS], one)
    lines = [
        f"Table 3.2, replicates from seed {args.seed} on, as many as are named, {N_TEST} test rows.",
        "Made by `" + __doc__.splitlines()[-1] + "`.",
        "",
        *error_rows(args, records, MODELS, "test error", 3, PAPER),
    ]
    write(lines, args.out)


if __name__ == "__main__":
    main()
