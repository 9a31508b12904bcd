"""Case study 3 on real sequences: which 3-mers tell splice junctions from other DNA?

The primate splice-junction set of the UCI repository (60 letters per row; file ``splice_uci.csv.gz``).

    python experiments/splice_junctions.py --data FOLDER --out experiments/results/splice_junctions.md
"""

from pathlib import Path

import numpy as np
import pandas as pd
from _risk_rfe_common import arguments, write

from rlselect import MismatchFeatures, RiskRFE


def main():
    parser = arguments(__doc__.splitlines()[0], replicates=3)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds splice_uci.csv.gz")
    parser.add_argument("--n-train", type=int, default=400)
    args = parser.parse_args()
    frame = pd.read_csv(args.data / "splice_uci.csv.gz")
    labels = np.where(frame["target"] == "N", "other", "junction")
    sequences = ["".join(row) for row in frame.drop(columns="target").to_numpy()]
    rows = []
    for seed in range(args.seed, args.seed + args.replicates):
        order = np.random.default_rng(seed).permutation(len(labels))
        train, test = order[: args.n_train], order[args.n_train :]
        features = MismatchFeatures(k=3, m=0, alphabet="ACGT").fit([sequences[i] for i in train])
        X_train = features.transform([sequences[i] for i in train])
        X_test = features.transform([sequences[i] for i in test])
        names = features.get_feature_names_out()
        selector = RiskRFE(loss="hinge", kernel="linear").fit(X_train, labels[train])
        everything = RiskRFE(loss="hinge", kernel="linear", stopping=X_train.shape[1]).fit(
            X_train, labels[train]
        )
        first = names[np.argsort(selector.ranking_)][:8]
        rows.append(
            f"| {seed} | {selector.n_features_} | {selector.score(X_test, labels[test]):.3f} "
            f"| {everything.score(X_test, labels[test]):.3f} | {' '.join(first)} |"
        )
    share = max(np.mean(labels == "other"), np.mean(labels == "junction"))
    lines = [
        f"Splice junctions against other DNA, {args.n_train} training rows, spectrum features (k = 3, 64 "
        f"columns), "
        f"hinge loss, linear kernel; the larger class holds {share:.3f} of the rows. "
        f"Made by `{__doc__.splitlines()[-1].strip()}`.",
        "",
        "| seed | 3-mers kept | test accuracy | with all 64 | first eight |",
        "|---|---|---|---|---|",
        *rows,
    ]
    write(lines, args.out)


if __name__ == "__main__":
    main()
